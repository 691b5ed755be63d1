package syntax

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Strict is the content of a body that may have nothing but what a schema names. Other names are a problem that lists the valid ones, or, for the names of
// instead, what to do instead; "*" stands for all other names there.
func Strict(b hcl.Body, s *hcl.BodySchema, instead map[string]string) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Content(s)
	native, ok := b.(*hclsyntax.Body)
	if !ok || !diags.HasErrors() {
		return content, diags
	}
	names := map[hcl.Range]string{}
	for name, a := range native.Attributes {
		names[a.NameRange] = name
	}
	for _, block := range native.Blocks {
		names[block.TypeRange] = block.Type
	}
	arguments, blocks := may(s)
	for _, d := range diags {
		if d.Subject == nil {
			continue
		}
		name := names[*d.Subject]
		if name == "" || slices.Contains(arguments, name) || slices.Contains(blocks, name) {
			continue
		}
		way := instead[name]
		if way == "" {
			way = instead["*"]
		}
		if way == "" {
			way = listed(arguments, blocks)
		}
		d.Detail += " " + way
	}
	return content, diags
}

// may are the names in a schema.
func may(s *hcl.BodySchema) (arguments, blocks []string) {
	for _, a := range s.Attributes {
		arguments = append(arguments, a.Name)
	}
	for _, b := range s.Blocks {
		blocks = append(blocks, b.Type)
	}
	slices.Sort(arguments)
	slices.Sort(blocks)
	return arguments, blocks
}

func listed(arguments, blocks []string) string {
	var parts []string
	if len(arguments) > 0 {
		parts = append(parts, plural("the argument", arguments))
	}
	if len(blocks) > 0 {
		parts = append(parts, plural("blocks of the type", blocks))
	}
	return "There may be " + strings.Join(parts, ", and ") + "."
}

func plural(what string, names []string) string {
	last := len(names) - 1
	if last == 0 {
		return what + " " + names[0]
	}
	return what + "s " + strings.Join(names[:last], ", ") + " and " + names[last]
}
