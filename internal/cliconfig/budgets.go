package cliconfig

import (
	"time"

	"weir.dev/weir/internal/core/addr"
)

// A Budget says how often the service of a provider may be asked, or about one type; 0 is
// for no limit.
type Budget struct {
	AtOnce    int
	PerSecond float64
}

// leastRate is the least number of calls in a second that can be allowed: one in 1,000 seconds.
const leastRate = 0.001

// BudgetOf is what a budget is for; Type is "" for all types together.
type BudgetOf struct {
	Provider addr.Provider
	Type     string
}

// A Look says how objects of a type are inspected when a state is refreshed.
type Look struct {
	// ByList: what a list of all objects has unchanged isn't read. From is how many
	// objects there have to be, 0 for the usual number.
	ByList bool
	From   int
	// After is how long objects aren't looked at again where only what is old is inspected;
	// nil where nothing is said.
	After *time.Duration
}

// look reads an argument about refreshing; it reports whether it is one.
func (r *reader) look(arg item, of BudgetOf) bool {
	l := r.config.Looks[of]
	switch {
	case of.Type != "" && arg.name == "by_list":
		r.value(arg, &l.ByList)
	case of.Type != "" && arg.name == "by_list_from":
		if r.value(arg, &l.From) && l.From <= 0 {
			r.fail(arg.pos, "Invalid CLI configuration", "by_list_from in a provider_budget block has to be more than 0. Leave it out for the usual number.")
		}
	case arg.name == "refresh_after":
		text := ""
		if r.value(arg, &text) {
			after, err := time.ParseDuration(text)
			if err != nil || after < 0 {
				r.fail(arg.pos, "Invalid CLI configuration", "refresh_after in a provider_budget block has to be a duration such as \"90s\", \"15m\" or \"12h\", and it is %q.", text)
			}
			l.After = &after
		}
	case arg.name == "by_list" || arg.name == "by_list_from":
		r.fail(arg.pos, "Invalid CLI configuration", "%s in a provider_budget block has to be in a type block: lists are trusted type by type.", arg.name)
	default:
		return false
	}
	if r.config.Looks == nil {
		r.config.Looks = map[BudgetOf]Look{}
	}
	r.config.Looks[of] = l
	return true
}

// budgets reads blocks of the name provider_budget.
func (r *reader) budgets(it item) {
	if !it.json && len(it.labels) != 1 {
		r.fail(it.pos, "Invalid CLI configuration", "A provider_budget block needs the address of a provider: provider_budget \"hashicorp/aws\" { ... }.")
		return
	}
	for _, at := range it.children() {
		p, err := r.registry.ParseProvider(at.name)
		if err != nil {
			r.fail(at.pos, "Invalid CLI configuration", "The provider_budget block %q isn't for the address of a provider: %s.", at.name, err)
			continue
		}
		r.budget(at, BudgetOf{Provider: p}, func(arg item) bool {
			if arg.name != "type" {
				return false
			}
			if !arg.json && len(arg.labels) != 1 {
				r.fail(arg.pos, "Invalid CLI configuration", "A type block in provider_budget needs the name of a type: type \"aws_instance\" { ... }.")
				return true
			}
			for _, typ := range arg.children() {
				r.budget(typ, BudgetOf{p, typ.name}, func(item) bool { return false })
			}
			return true
		})
	}
}

// budget reads the arguments of a budget; other is requested what else there is. Another file's budget for the same provider adds to it, and counts where both say something.
func (r *reader) budget(it item, of BudgetOf, other func(item) bool) {
	if first, twice := r.budgetAt[of]; twice {
		what := "for this provider"
		if of.Type != "" {
			what = "for " + of.Type
		}
		r.fail(it.pos, "Duplicate provider budget", "There is a budget %s on line %d already. Write it as one.", what, first.Line)
		return
	}
	r.budgetAt[of] = it.pos
	b := r.config.Budgets[of]
	for _, arg := range it.children() {
		bad := false
		switch {
		case arg.name == "at_once":
			bad = r.value(arg, &b.AtOnce) && b.AtOnce <= 0
		case arg.name == "per_second":
			bad = r.value(arg, &b.PerSecond) && b.PerSecond <= 0
			if b.PerSecond > 0 && b.PerSecond < leastRate {
				r.fail(arg.pos, "Invalid CLI configuration", "per_second in a provider_budget block has to be at least %g.", leastRate)
			}
		case r.look(arg, of):
		case !other(arg):
			r.unknown(arg, "a provider_budget block")
		}
		if bad {
			r.fail(arg.pos, "Invalid CLI configuration", "%s in a provider_budget block has to be more than 0. Leave it out for no limit.", arg.name)
		}
	}
	if r.config.Budgets == nil {
		r.config.Budgets = map[BudgetOf]Budget{}
	}
	r.config.Budgets[of] = b
}
