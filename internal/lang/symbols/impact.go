package symbols

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
)

// Chosen are the declarations with an address, or below a module of that address; all for no
// address. Missing are addresses that none exist for.
func Chosen(all []*Declaration, addresses []string) (list []*Declaration, missing []string) {
	if len(addresses) == 0 {
		return all, nil
	}
	found := map[string]bool{}
	for _, d := range all {
		for _, a := range addresses {
			if named(d, a) {
				found[a] = true
				if len(list) == 0 || list[len(list)-1] != d {
					list = append(list, d)
				}
			}
		}
	}
	for _, a := range addresses {
		if !found[a] {
			missing = append(missing, a)
		}
	}
	return list, missing
}

// named reports whether an address means a declaration. Instance keys don't matter:
// a declaration stands for all instances.
func named(d *Declaration, address string) bool {
	if d.Address() == address {
		return true
	}
	t, err := addr.ParsePattern(address)
	switch {
	case err != nil:
		return false
	case t.IsPattern():
		return (t.IsModule() || d.ResourceName() != addr.Name{}) && t.Names(addr.Resource{Module: d.Module, Name: d.ResourceName()})
	case t.IsModule():
		m := t.Module.Erase()
		return d.Address() == m.String() || slices.Contains(ancestors(d.Module), m)
	}
	return d.Module == t.Module.Erase() && d.ResourceName() == t.Name
}

func ancestors(m addr.Module) (list []addr.Module) {
	for ; !m.IsRoot(); m, _, _ = m.Parent() {
		list = append(list, m)
	}
	return list
}

// A Hop leads from a declaration to one that depends on it: by a reference; because it
// stands in a module and what it leads from is the call, with the argument "module"; or
// because it is a resource and what it leads from the configuration of its provider,
// with the argument "provider".
type Hop struct {
	From, To *Declaration
	Argument string
	// Range is where To says so, without a file where nobody writes it.
	Range hcl.Range
}

// A Way leads to a declaration that depends on others, by the fewest hops; the last one
// ends at it.
type Way []Hop

// To is the declaration that the way leads to.
func (w Way) To() *Declaration { return w[len(w)-1].To }

// Impact has a way to each declaration that depends on one of those given, nearer ones first:
// what may give another result if these do. Instances make no difference.
func Impact(all, of []*Declaration) []Way {
	next := hops(all)
	ways := map[*Declaration]Way{}
	for _, d := range of {
		ways[d] = nil
	}
	var list []Way
	for todo := slices.Clone(of); len(todo) > 0; todo = todo[1:] {
		way := ways[todo[0]]
		for _, hop := range next[todo[0]] {
			if _, known := ways[hop.To]; known {
				continue
			}
			longer := append(way[:len(way):len(way)], hop)
			ways[hop.To] = longer
			list = append(list, longer)
			todo = append(todo, hop.To)
		}
	}
	return list
}

// hops are those that lead from each declaration.
func hops(all []*Declaration) map[*Declaration][]Hop {
	next := map[*Declaration][]Hop{}
	byAddress := map[string]*Declaration{}
	for _, d := range all {
		if d.Kind == program.KindCall || d.Kind == program.KindProvider {
			byAddress[d.Address()] = d
		}
	}
	for _, d := range all {
		for _, r := range d.Refers {
			next[r.To] = append(next[r.To], Hop{r.To, d, r.Argument, r.Range})
		}
		if d.isResource() {
			if p := byAddress[d.Provider.String()]; p != nil {
				next[p] = append(next[p], Hop{p, d, "provider", d.ServedAt})
			}
		}
		if parent, step, ok := d.Module.Parent(); ok {
			if call := byAddress[address(parent, step.Call.String())]; call != nil {
				next[call] = append(next[call], Hop{call, d, "module", hcl.Range{}})
			}
		}
	}
	return next
}
