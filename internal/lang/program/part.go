package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/lang/syntax"
)

// At lists the references in what a body says of the part at a path: those of
// an argument, or of the blocks that the path leads to. Without a path it is
// all of them. JSON doesn't tell arguments from blocks, so there the path ends
// at its first step.
func (b *Body) At(path hcl.Traversal) []*Ref {
	if b == nil {
		return nil
	}
	if len(path) == 0 {
		return b.Refs
	}
	return partOf(b.Body, path)
}

func partOf(b hcl.Body, path hcl.Traversal) []*Ref {
	var refs []*Ref
	switch b := b.(type) {
	case *hclsyntax.Body:
		if len(path) == 0 {
			hclsyntax.VisitAll(b, func(n hclsyntax.Node) hcl.Diagnostics {
				refs = append(refs, referencesOf(n)...)
				return nil
			})
			return refs
		}
		name, ok := stepName(path[0])
		if !ok {
			return nil
		}
		if attr := b.Attributes[name]; attr != nil {
			return References(attr.Expr)
		}
		return blocksAt(b, name, path[1:])
	case *syntax.JSONBody:
		name, ok := "", len(path) == 0
		if !ok {
			if name, ok = stepName(path[0]); !ok {
				return nil
			}
		}
		for _, m := range b.Members {
			if len(path) == 0 || m.Name == name {
				refs = append(refs, References(m.Value.Expr)...)
			}
		}
	case *syntax.UnionBody:
		for _, part := range b.Parts {
			refs = append(refs, partOf(part, path)...)
		}
	}
	return refs
}

// blocksAt goes into the blocks of a type: into one of a list, into those with
// a label, or into all of them.
func blocksAt(b *hclsyntax.Body, name string, path hcl.Traversal) []*Ref {
	var blocks []*hclsyntax.Block
	labelled := false
	for _, block := range b.Blocks {
		if block.Type == name || isDynamic(block) && block.Labels[0] == name {
			blocks = append(blocks, block)
			labelled = labelled || block.Type == name && len(block.Labels) > 0
		}
	}
	if len(path) > 0 {
		key, isKey := stepName(path[0])
		if n, ok := stepIndex(path[0]); ok {
			blocks, path = element(blocks, n), path[1:]
		} else if labelled && isKey {
			var chosen []*hclsyntax.Block
			for _, block := range blocks {
				if isDynamic(block) || len(block.Labels) > 0 && block.Labels[0] == key {
					chosen = append(chosen, block)
				}
			}
			blocks, path = chosen, path[1:]
		}
	}
	var refs []*Ref
	for _, block := range blocks {
		if !isDynamic(block) {
			refs = append(refs, partOf(block.Body, path)...)
			continue
		}
		for _, argument := range []string{"for_each", "labels"} {
			if attr := block.Body.Attributes[argument]; attr != nil {
				refs = append(refs, References(attr.Expr)...)
			}
		}
		for _, content := range block.Body.Blocks {
			refs = append(refs, partOf(content.Body, path)...)
		}
	}
	return refs
}

func isDynamic(b *hclsyntax.Block) bool { return b.Type == "dynamic" && len(b.Labels) == 1 }

// element chooses the block at an index. How many blocks a dynamic one makes
// isn't known, so from the first one on it may be any.
func element(blocks []*hclsyntax.Block, n int) []*hclsyntax.Block {
	for i, block := range blocks {
		if isDynamic(block) {
			return blocks[i:]
		}
		if i == n {
			return blocks[i : i+1]
		}
	}
	return nil
}

func stepName(step hcl.Traverser) (string, bool) {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if key := step.Key; key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
			return key.AsString(), true
		}
	}
	return "", false
}

func stepIndex(step hcl.Traverser) (int, bool) {
	index, ok := step.(hcl.TraverseIndex)
	if !ok {
		return 0, false
	}
	key, err := convert.Convert(index.Key, cty.Number)
	if err != nil || !key.IsKnown() || key.IsNull() {
		return 0, false
	}
	n, _ := key.AsBigFloat().Int64()
	return int(n), true
}
