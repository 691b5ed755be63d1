package lsp

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/ui/lsp/project"
)

// A written is a reference as it stands in a file of a module.
type written struct {
	hcl.Traversal
	path  string
	block *hclsyntax.Block // of the top level
	attr  *hclsyntax.Attribute
}

// name is the address that a reference begins with, and how many steps that takes; empty for
// names of each, count, self, path and terraform.
func (w written) name() (name string, steps int) {
	steps = 2
	switch w.RootName() {
	case "each", "count", "self", "path", "terraform", "tofu":
		return "", 0
	case "data", "ephemeral":
		steps = 3
	}
	if len(w.Traversal) < steps {
		return "", 0
	}
	name = w.RootName()
	for _, step := range w.Traversal[1:steps] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok {
			return "", 0
		}
		name += "." + attr.Name
	}
	return name, steps
}

// span is where the first steps of a reference stand.
func (w written) span(steps int) (start, end int) {
	return w.Traversal[0].SourceRange().Start.Byte, w.Traversal[steps-1].SourceRange().End.Byte
}

// references are all that the files of a module have; ok is false for a module with a JSON file, whose
// expressions have other places.
func references(m *project.Module) (list []written, ok bool) {
	for _, f := range m.Source.Files {
		parsed, _ := syntax.Parse(f.Name, f.Bytes) // compiling has taken the expressions out of f.Body
		body, native := parsed.Body.(*hclsyntax.Body)
		if !native {
			return nil, false
		}
		for _, b := range body.Blocks {
			within(b.Body, func(a *hclsyntax.Attribute) {
				for _, t := range hclsyntax.Variables(a.Expr) {
					list = append(list, written{t, f.Name, b, a})
				}
			})
		}
	}
	return list, true
}

// within calls f for the arguments of a block and of those in it.
func within(body *hclsyntax.Body, f func(*hclsyntax.Attribute)) {
	for _, a := range body.Attributes {
		f(a)
	}
	for _, b := range body.Blocks {
		within(b.Body, f)
	}
}

// addressed is the address of the objects of a block, or of a module; empty for other blocks.
func addressed(b *hclsyntax.Block) string {
	switch {
	case b.Type == "resource" && len(b.Labels) == 2:
		return strings.Join(b.Labels, ".")
	case b.Type == "data" && len(b.Labels) == 2, b.Type == "module" && len(b.Labels) == 1:
		return b.Type + "." + strings.Join(b.Labels, ".")
	}
	return ""
}

// headerAt is the top-level block whose header has a byte.
func headerAt(body *hclsyntax.Body, at int) *hclsyntax.Block {
	for _, b := range body.Blocks {
		if b.TypeRange.Start.Byte <= at && at <= b.OpenBraceRange.End.Byte {
			return b
		}
	}
	return nil
}
