package why

import (
	"slices"
	"strconv"
)

// Origins are where chains lead that tell more than the change itself: other objects,
// variables with where their values come from, and what is outside of the configuration.
func Origins(chains []Chain) []string {
	var all []string
	add := func(text string) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, chain := range chains {
		if slices.ContainsFunc(chain, func(l Link) bool { return l.Maybe }) {
			continue
		}
		// Anything that changes beside it is nearer than what that comes from.
		if i := slices.IndexFunc(chain[1:], func(l Link) bool { return l.Kind == Change }); i >= 0 {
			add(chain[1+i].Subject)
			continue
		}
		switch end := chain[len(chain)-1]; end.Kind {
		case Given, Default:
			add(end.Subject + given(end))
		case NewData:
			add(end.Subject)
		case Impure:
			add(end.Name + "()")
		case Workspace:
			add("terraform.workspace")
		case Removed:
			add("the removed block at " + end.Range.Filename + ":" + strconv.Itoa(end.Range.Start.Line))
		}
	}
	return all
}

// given says in a word where the value of a variable comes from.
func given(l Link) string {
	switch l.Name {
	case "argument":
		return " (-var)"
	case "environment":
		return " (environment)"
	case "file":
		return " (file)"
	case "deployment":
		return " (deployment)"
	case "plan", "input":
		return ""
	}
	return " (default)"
}
