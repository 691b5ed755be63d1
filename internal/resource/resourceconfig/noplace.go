package resourceconfig

import (
	"fmt"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
)

// NoPlace says why the configuration has no such instance, and what to do.
func NoPlace(root *program.Tree, a addr.Instance) string {
	var res *program.Resource
	var names []string
	if tree := root.At(a.Module); tree != nil && tree.Program != nil {
		res = tree.Program.ResourceByName[a.Name]
		for name := range tree.Program.ResourceByName {
			if name.Mode == a.Name.Mode && name.Type == a.Name.Type {
				names = append(names, name.Name)
			}
		}
	}
	block := a.Name.String()
	switch {
	case res == nil:
		return "Write the resource block, or let weir write one with -generate-config-out=FILE." + eval.Suggestion(a.Name.Name, names)
	case res.Repeat.IsSingle():
		return fmt.Sprintf("%s has neither count nor for_each, so it has no instance with a key.", block)
	case res.Repeat.Count != nil && a.Key == addr.NoKey:
		return fmt.Sprintf("%s has count, so its instances have numbers: write %s[0], for instance.", block, block)
	case res.Repeat.ForEach != nil && a.Key == addr.NoKey:
		return fmt.Sprintf("%s has for_each, so its instances have keys: write %s[\"KEY\"].", block, block)
	}
	return fmt.Sprintf("The count or for_each of %s has no such instance.", block)
}
