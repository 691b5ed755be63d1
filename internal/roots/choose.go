package roots

import (
	"context"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
)

// A Choice says which roots a command works on. The zero value is all of them.
type Choice struct {
	Patterns []string // of names or paths
	// Affected is the Git revision since which something changed that the roots read; empty for
	// whatever changed.
	Affected string
	// WithUpstream and WithDownstream add the roots that those need, or that need those.
	WithUpstream, WithDownstream bool
}

// Everything reports whether nothing was chosen.
func (c Choice) Everything() bool { return len(c.Patterns) == 0 && c.Affected == "" }

// Choose finds the roots of a choice, upstream roots first.
func (e *Estate) Choose(ctx context.Context, c Choice) ([]*Root, diag.List) {
	chosen := map[*Root]bool{}
	var diags diag.List
	for _, p := range c.Patterns {
		found := false
		for _, r := range e.Roots {
			if p := clean(p); matches(p, r.Path) || matches(p, r.Name) {
				chosen[r], found = true, true
			}
		}
		if !found {
			diags.Add(NoRoots.As("No root of that name").New(diag.Error, "No root matches %q.%s The roots are: %s.", p, suggested(p, Names(e.Roots)), strings.Join(Names(e.Roots), ", ")))
		}
	}
	if len(c.Patterns) == 0 {
		for _, r := range e.Roots {
			chosen[r] = true
		}
	}
	if c.Affected != "" {
		diags.Append(e.affect(ctx, c.Affected))
		for _, r := range e.Roots {
			chosen[r] = chosen[r] && r.IsAffected()
		}
	}
	first := within(e.Roots, chosen)
	if c.WithUpstream {
		e.spread(chosen, first, (*Root).Upstreams)
	}
	if c.WithDownstream {
		e.spread(chosen, first, e.Downstreams)
	}
	list, more := Order(within(e.Roots, chosen))
	return list, append(diags, more...)
}

func suggested(name string, names []string) string {
	if best := suggest.Proper(name, names); best != "" {
		return " Did you mean \"" + best + "\"?"
	}
	return ""
}

// within are the roots of a list that are in a set.
func within(list []*Root, set map[*Root]bool) []*Root {
	return slices.DeleteFunc(slices.Clone(list), func(r *Root) bool { return !set[r] })
}

// spread adds to a set all roots that some lead to.
func (e *Estate) spread(set map[*Root]bool, from []*Root, next func(*Root) []*Root) {
	seen := map[*Root]bool{}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		for _, r := range next(queue[0]) {
			if !seen[r] {
				seen[r], set[r] = true, true
				queue = append(queue, r)
			}
		}
	}
}

// Downstreams are the roots directly downstream of one.
func (e *Estate) Downstreams(of *Root) []*Root {
	var list []*Root
	for _, r := range e.Roots {
		if slices.Contains(r.Upstreams(), of) {
			list = append(list, r)
		}
	}
	return list
}
