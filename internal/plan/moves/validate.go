package moves

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
)

// An Object is what one end of a statement names in one instance of its
// module: a module, a resource or an instance of one of them. Whole is set
// where all instances are meant.
type Object struct {
	Module addr.Module
	Name   addr.Name // zero for a module
	Key    addr.Key  // of a resource
	Whole  bool
}

func (o Object) String() string {
	if (o.Name == addr.Name{}) {
		return o.Module.String()
	}
	return addr.Resource{Module: o.Module, Name: o.Name}.Instance(o.Key).String()
}

// noun is what the object is, and short the same in one word.
func (o Object) noun() (long, short string) {
	switch {
	case o.Name != addr.Name{} && o.Whole:
		return "resource", "resource"
	case o.Name != addr.Name{}:
		return "resource instance", "instance"
	case o.Whole:
		return "module call", "call"
	}
	return "module instance", "instance"
}

// Validate checks the statements against what the configuration has after expansion. Instances
// lists the instances of a module that is given without keys; declared reports whether the
// configuration has the object, and where.
func (t *Table) Validate(instances func(addr.Module) []addr.Module, declared func(Object) (hcl.Range, bool)) diag.List {
	var diags diag.List
	check := contradictions{}
	for _, s := range t.statements {
		if s.Implied {
			continue
		}
		for _, in := range instances(s.Module) {
			from, to := s.ends(in)
			if from == to {
				continue // Compile has reported
			}
			if r, still := declared(from); still {
				long, short := from.noun()
				where := ""
				if r.Filename != "" {
					where = " at " + start(r)
				}
				diags.Add(StillThere.Error(s.Range, "By this statement %s has moved, but the %s is still declared%s.\n\nChange the configuration so that the %s is declared as %s instead, or remove the statement.",
					from, long, where, short, to))
			}
			check.add(&diags, s, from, to)
		}
	}
	return diags
}

// ends are the objects that the statement names in an instance of its module.
func (s *statement) ends(in addr.Module) (from, to Object) {
	steps := in.Steps()
	object := func(p pattern) Object {
		full := append(append([]addr.Step{}, steps...), p.steps[s.depth:]...)
		o := Object{Name: p.name, Key: p.key, Whole: s.whole}
		if s.whole {
			o.Key = addr.NoKey
			if p.isModule() {
				full[len(full)-1].Key = addr.NoKey
			}
		}
		o.Module = addr.FromSteps(full)
		return o
	}
	return object(s.from), object(s.to)
}

// contradictions are found among statements of the same module without
// knowing its instances: what holds in one of them holds in all.
func (t *Table) contradictions() diag.List {
	var diags diag.List
	checks := make(map[addr.Module]contradictions)
	for _, s := range t.statements {
		if s.from.equal(s.to) {
			from, _ := s.ends(s.Module)
			diags.Add(diag.BadMoved.As("Redundant move statement").Error(s.Range, "This statement moves %s to the address that it has already. Remove the statement.", from))
			continue
		}
		if s.Implied {
			continue
		}
		check := checks[s.Module]
		if check == nil {
			check = contradictions{}
			checks[s.Module] = check
		}
		from, to := s.ends(s.Module)
		check.add(&diags, s, from, to)
	}
	return diags
}

// contradictions are statements that move one object to two places.
type contradictions map[Object]claim

type claim struct {
	to Object
	at hcl.Range
}

func (c contradictions) add(diags *diag.List, s *statement, from, to Object) {
	first, ok := c[from]
	if !ok {
		c[from] = claim{to, s.Range}
	} else if first.to != to {
		long, short := from.noun()
		diags.Add(Ambiguous.Error(s.Range, "By the statement at %s %s moved to %s, by this one it moved to %s.\n\nA %s can move to one %s only.",
			start(first.at), from, first.to, to, long, short))
	}
}
