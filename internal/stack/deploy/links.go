package deploy

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// An UpstreamOutput is what the inputs of a deployment read of another stack.
type UpstreamOutput struct {
	*Upstream
	Output string // empty for any of them
}

// Reads are the published outputs of other stacks that the inputs of a deployment refer to, also through
// locals.
func (s *Stack) Reads(d *Deployment) []UpstreamOutput {
	var list []UpstreamOutput
	s.references(d.inputs, func(t hcl.Traversal) {
		if u := s.Upstreams[word(t, 1)]; t.RootName() == "upstream_input" && u != nil {
			if one := (UpstreamOutput{u, word(t, 2)}); !slices.Contains(list, one) {
				list = append(list, one)
			}
		}
	})
	return list
}

// Publishers are the deployments whose outputs are in a published output; without a name they are those of
// all published outputs.
func (s *Stack) Publishers(output string) []*Deployment {
	named := map[string]bool{}
	for _, p := range s.Published {
		if output == "" || p.Name == output {
			s.references(p.Value, func(t hcl.Traversal) { named[word(t, 1)] = named[word(t, 1)] || t.RootName() == "deployment" })
		}
	}
	return slices.DeleteFunc(slices.Clone(s.Deployments), func(d *Deployment) bool { return !named[d.Name] })
}

// references gives the references of an expression, and those of the locals that it refers to.
func (s *Stack) references(e hcl.Expression, give func(hcl.Traversal)) {
	seen := map[string]bool{}
	var walk func(e hcl.Expression)
	walk = func(e hcl.Expression) {
		if e == nil {
			return
		}
		for _, t := range e.Variables() {
			give(t)
			if l := s.locals[word(t, 1)]; t.RootName() == "local" && l != nil && !seen[word(t, 1)] {
				seen[word(t, 1)] = true
				walk(l.expr)
			}
		}
	}
	walk(e)
}

// word is the name at a place of a reference, empty for anything else.
func word(t hcl.Traversal, i int) string {
	if attr, ok := at(t, i); ok {
		return attr.Name
	}
	if i < len(t) {
		if index, ok := t[i].(hcl.TraverseIndex); ok && index.Key.Type() == cty.String {
			return index.Key.AsString()
		}
	}
	return ""
}
