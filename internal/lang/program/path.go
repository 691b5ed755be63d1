package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Paths turns relative traversals, such as those of ignore_changes, into paths.
func Paths(ts []hcl.Traversal) []cty.Path {
	var paths []cty.Path
	for _, t := range ts {
		paths = append(paths, Path(t))
	}
	return paths
}

// Path turns a relative traversal into a path.
func Path(t hcl.Traversal) cty.Path {
	var p cty.Path
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			p = p.GetAttr(s.Name)
		case hcl.TraverseAttr:
			p = p.GetAttr(s.Name)
		case hcl.TraverseIndex:
			p = p.Index(s.Key)
		}
	}
	return p
}
