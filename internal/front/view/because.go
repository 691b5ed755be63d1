package view

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/front/view/brief"
	"weir.dev/weir/internal/front/view/clean"
	"weir.dev/weir/internal/plan/why"
)

const (
	// mostAsked is how many changes of a row are asked for their causes.
	mostAsked = 20
	// mostCauses is how many are named.
	mostCauses = 2
)

// because says what the changes of a row come from, as far as that isn't in the row
// itself; empty where it isn't known, or isn't the same for those that are asked: the
// first ones and the last.
func (o Options) because(r *brief.Row) string {
	if o.Because == nil {
		return ""
	}
	asked := r.Changes
	if len(asked) > mostAsked {
		asked = append(slices.Clone(asked[:mostAsked-1]), asked[len(asked)-1])
	}
	var common []string
	for i, c := range asked {
		own := origins(o.Because(c))
		if i == 0 {
			common = own
		}
		common = slices.DeleteFunc(common, func(text string) bool { return !slices.Contains(own, text) })
		if len(common) == 0 {
			return ""
		}
	}
	if len(common) > mostCauses {
		common = append(common[:mostCauses:mostCauses], "…")
	}
	return "because of " + strings.Join(common, ", ")
}

// origins are where chains lead that tell more than a row does: other objects, variables
// and what is outside of the configuration.
func origins(chains []why.Chain) []string {
	var all []string
	add := func(text string) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, chain := range chains {
		if slices.ContainsFunc(chain, func(l why.Link) bool { return l.Maybe }) {
			continue
		}
		// What changes beside it is nearer than what that comes from.
		if i := slices.IndexFunc(chain[1:], func(l why.Link) bool { return l.Kind == why.Change }); i >= 0 {
			add(clean.Line(chain[1+i].Subject))
			continue
		}
		switch end := chain[len(chain)-1]; end.Kind {
		case why.Given, why.Default:
			add(clean.Line(end.Subject) + given(end))
		case why.NewData:
			add(clean.Line(end.Subject))
		case why.Impure:
			add(end.Name + "()")
		case why.Workspace:
			add("terraform.workspace")
		}
	}
	return all
}

// given says in a word where the value of a variable comes from.
func given(l why.Link) string {
	switch l.Name {
	case "argument":
		return " (-var)"
	case "environment":
		return " (environment)"
	case "file":
		return " (file)"
	case "plan", "input":
		return ""
	}
	return " (default)"
}
