package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A source draws configurations and edits of them.
type source struct {
	*rand.Rand
	last int  // of the numbers in labels and names
	kit  bool // for the provider of the conformance kit
}

func (s *source) fresh(prefix string) string {
	s.last++
	return fmt.Sprintf("%s%d", prefix, s.last)
}

// chance is true once in n times.
func (s *source) chance(n int) bool { return s.IntN(n) == 0 }

func pick[T any](s *source, list []T) T { return list[s.IntN(len(list))] }

// model draws a configuration of a few objects.
func (s *source) model() *Model {
	m := &Model{Modules: []Module{{Label: "root"}}, Endpoint: map[string]string{}, Kit: s.kit}
	for range s.IntN(3) {
		s.addModule(m)
	}
	for _, alias := range []string{"other", "third"} {
		if !s.chance(3) {
			continue
		}
		label := s.fresh("e")
		m.Endpoint[alias] = label
		m.Objects = append(m.Objects, Object{Label: label, Name: label, Module: pick(s, m.Modules).Label})
		if alias == "third" && s.chance(2) {
			m.Objects[len(m.Objects)-1].Other = "other" // a chain of providers
		}
	}
	if s.chance(6) {
		m.Endpoint["each"] = ""
	}
	for range 2 + s.IntN(4) {
		s.addObject(m)
	}
	for _, o := range m.Objects {
		if o.Data == "token" && o.Module == m.root() && s.chance(3) {
			m.Endpoint["password of other"] = o.Label
		}
	}
	return m
}

func (s *source) repeat() Repeat {
	switch s.IntN(14) {
	case 0, 1, 2, 3:
		return Repeat{Kind: "count", N: s.IntN(3) + 1 - s.IntN(2)}
	case 4, 5:
		return Repeat{Kind: "each", Keys: pick(s, []string{"a", "b", "ab", "bc", "abc", ""})}
	case 6:
		return Repeat{Kind: "enabled", N: s.IntN(2)}
	}
	return Repeat{}
}

// following draws a repetition that follows from an object, or another one.
func (s *source) following(m *Model) Repeat {
	if len(m.Objects) == 0 || !s.chance(7) || s.kit && !s.chance(3) {
		return s.repeat()
	}
	return Repeat{Kind: pick(s, []string{"length", "late"}), N: s.IntN(2), To: pick(s, m.Objects).Label}
}

// alias draws a provider configuration, mostly the usual one.
func (s *source) alias(m *Model) string {
	if !s.chance(4) {
		return ""
	}
	return pick(s, []string{"other", "other", "third", "each"})
}

func (s *source) addModule(m *Model) {
	mod := Module{Label: s.fresh("m"), Parent: pick(s, m.Modules).Label, Other: s.alias(m)}
	mod.Name = mod.Label
	if s.chance(3) {
		mod.Repeat = s.following(m)
	}
	if len(m.Modules) > 1 && s.chance(3) {
		mod.DependsOn = []string{pick(s, m.Modules[1:]).Label}
	}
	if s.kit {
		s.moduleMore(&mod)
	}
	m.Modules = append(m.Modules, mod)
}

func (s *source) addObject(m *Model) {
	o := Object{Label: s.fresh("n"), Module: pick(s, m.Modules).Label, Other: s.alias(m)}
	o.Name = o.Label
	if len(m.Objects) > 0 && s.chance(5) {
		to := pick(s, m.Objects)
		kinds := []string{"lookup", "find", "token"}
		if s.kit {
			kinds = append(kinds, "echo", "find")
		}
		o.Data, o.Module, o.Refs = pick(s, kinds), to.Module, []Ref{{To: to.Label}}
		if s.chance(6) {
			o.Condition = Condition{Kind: pick(s, []string{"pre", "post"}), Bad: s.chance(4), Late: true}
		}
		m.Objects = append(m.Objects, o)
		return
	}
	o.Repeat = s.following(m)
	o.Sensitive, o.Thing = s.chance(8), s.chance(10)
	o.Output = s.output()
	s.references(m, &o)
	s.rules(&o)
	if s.kit {
		s.more(&o)
	}
	if o.Refs == nil && o.Parent == nil && s.chance(10) {
		o.Ignore = "all" // nothing that it uses may ever go
	}
	m.Objects = append(m.Objects, o)
}

func (s *source) output() Condition {
	if !s.chance(4) {
		return Condition{}
	}
	return Condition{Kind: pick(s, []string{"plain", "plain", "sensitive", "pre"}), Bad: s.chance(4), Late: s.chance(2)}
}

// references gives an object new ones.
func (s *source) references(m *Model, o *Object) {
	o.Refs, o.Parent, o.ValueFrom, o.Secret, o.DependsOn, o.TriggeredBy = nil, nil, nil, nil, nil, nil
	if len(m.Objects) == 0 {
		return
	}
	ref := func() Ref {
		r := Ref{To: pick(s, m.Objects).Label, Local: s.chance(4), Index: s.chance(2)}
		r.Late = s.kit && s.chance(4)
		return r
	}
	for range s.IntN(3) {
		o.Refs = append(o.Refs, ref())
	}
	if s.chance(5) {
		r := ref()
		o.Parent = &r
	}
	if s.chance(3) {
		r := ref()
		o.ValueFrom = &r
	}
	for _, token := range m.Objects {
		if token.Data == "token" && token.Module == o.Module && s.chance(2) {
			o.Secret = &Ref{To: token.Label, Local: s.chance(4), Index: s.chance(2)}
		}
	}
	if s.chance(6) {
		o.DependsOn = []string{pick(s, m.Objects).Label}
	}
	if s.chance(12) {
		o.TriggeredBy, o.ByValue = []string{pick(s, m.Objects).Label}, s.chance(2)
	}
}

// rules gives an object what its lifecycle block says, and other things that
// make no difference to its arguments.
func (s *source) rules(o *Object) {
	o.CBD, o.Prevent, o.Keep = s.chance(4), s.chance(20), s.chance(16)
	o.Ignore, o.Condition, o.Watching, o.Provision = "", Condition{}, Condition{}, ""
	if s.chance(14) {
		o.Ignore = "value"
	}
	if s.chance(8) {
		o.Condition = Condition{Kind: pick(s, []string{"pre", "post"}), Bad: s.chance(4), Late: s.chance(2)}
	}
	if s.chance(12) {
		o.Watching = Condition{Kind: pick(s, []string{"plain", "data"}), Bad: s.chance(3)}
	}
	if s.chance(40) {
		o.Provision = pick(s, []string{"create", "destroy", "create fails", "destroy fails"})
	}
}

// Random draws the case of a seed.
func Random(seed uint64) Case {
	s := &source{Rand: rand.New(rand.NewPCG(seed, 1))}
	m := s.model()
	steps := Case{{Model: m}}
	for range 1 + s.IntN(2) {
		var before []string
		old := m
		m, before = s.edit(m)
		steps = append(steps, s.steps(old, m, before)...)
	}
	return steps
}

// steps draws how a changed configuration comes about: at once, or a part of
// it first.
func (s *source) steps(old, m *Model, before []string) []Step {
	last := Step{Model: m, SkipRefresh: s.chance(6), Defer: s.chance(3)}
	if _, i := s.instance(m); i.Name != "" && s.chance(4) {
		last.Fail = []string{pick(s, []string{"create", "update", "delete", "delete", "taint"}) + " " + i.Name}
	}
	if s.chance(12) {
		last.Fail = []string{fmt.Sprintf("stop %d", 1+s.IntN(4))}
	}
	var drift []string
	if o, i := s.instance(m); i.Name != "" && s.chance(4) && !m.serves(o.Label) {
		kinds := []string{"drop", "set", "taint"}
		if !s.kit {
			kinds = append(kinds, "age")
		}
		drift = []string{pick(s, kinds) + " " + i.Name}
		last.SkipRefresh = last.SkipRefresh && strings.HasPrefix(drift[0], "age ")
	}
	if o, i := s.instance(m); i.Addr != "" && !m.serves(o.Label) && s.chance(6) {
		last.Replace = []string{i.Addr}
	}
	first := Step{Model: m, Defer: last.Defer}
	switch s.IntN(16) {
	case 0:
		first.RefreshOnly, first.Drift, drift = true, drift, nil
	case 1, 2:
		first.Targets = s.targets(m)
	case 3:
		first.Excludes = s.targets(m)
	case 4:
		first.Model, first.Destroy, first.Targets = old, true, s.targets(old)
	case 5:
		first.Model, first.Destroy, first.Excludes = old, true, s.targets(old)
	}
	last.Drift = drift
	list := []Step{last}
	if first.partial() {
		list = []Step{first, last}
	}
	list[0].Drift = append(before, list[0].Drift...)
	return list
}

// targets draws addresses for -target and -exclude.
func (s *source) targets(m *Model) []string {
	var list []string
	for range 1 + s.IntN(2) {
		o, i := s.instance(m)
		switch {
		case i.Addr == "":
		case s.chance(3) && o.Module == m.root():
			list = append(list, m.address(o))
		default:
			list = append(list, i.Addr)
		}
	}
	if len(m.Modules) > 1 && s.chance(3) {
		mod := pick(s, m.Modules[1:])
		if path, ok := m.path(mod.Parent); ok {
			list = append(list, path+"module."+mod.Name)
		}
	}
	return list
}

// instance picks an object and one of its instances, which is empty without one.
func (s *source) instance(m *Model) (*Object, Instance) {
	if len(m.Objects) == 0 {
		return nil, Instance{}
	}
	o := &m.Objects[s.IntN(len(m.Objects))]
	if m.module(o.Module) == nil {
		return nil, Instance{}
	}
	list := m.instances(o)
	if len(list) == 0 {
		return nil, Instance{}
	}
	return o, pick(s, list)
}

// imported lists what has to be made for the imports of an object, none when
// it can't be imported.
func (m *Model) imported(o *Object) []string {
	if o.Other != "" || o.Thing || o.Store || slices.ContainsFunc(m.Modules, func(mod Module) bool { return mod.Other != "" && m.within(o.Module, mod.Label) }) {
		return nil
	}
	var made []string
	for _, i := range m.instances(o) {
		made = append(made, "make "+i.Name)
	}
	return made
}
