package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir.dev/weir/internal/module"
)

// A source draws configurations and edits of them.
type source struct {
	*rand.Rand
	last int // of the numbers in labels and names
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
	m := &Model{Modules: []Module{{Label: "root"}}}
	for range s.IntN(3) {
		s.addModule(m)
	}
	if s.chance(3) {
		m.Endpoint = s.fresh("e")
		m.Objects = append(m.Objects, Object{Label: m.Endpoint, Name: m.Endpoint, Module: pick(s, m.Modules).Label})
	}
	for range 2 + s.IntN(4) {
		s.addObject(m)
	}
	return m
}

func (s *source) repeat() Repeat {
	switch s.IntN(6) {
	case 0, 1:
		return Repeat{Kind: "count", N: s.IntN(3) + 1 - s.IntN(2)}
	case 2:
		return Repeat{Kind: "each", Keys: pick(s, []string{"a", "b", "ab", "bc", "abc", ""})}
	}
	return Repeat{}
}

func (s *source) addModule(m *Model) {
	mod := Module{Label: s.fresh("m"), Parent: pick(s, m.Modules).Label, Other: s.chance(3)}
	mod.Name = mod.Label
	if s.chance(3) {
		mod.Repeat = s.repeat()
	}
	if len(m.Modules) > 1 && s.chance(3) {
		mod.DependsOn = []string{pick(s, m.Modules[1:]).Label}
	}
	m.Modules = append(m.Modules, mod)
}

func (s *source) addObject(m *Model) {
	o := Object{Label: s.fresh("n"), Module: pick(s, m.Modules).Label, Other: s.chance(4), Output: s.chance(4)}
	o.Name = o.Label
	if len(m.Objects) > 0 && s.chance(5) {
		to := pick(s, m.Objects)
		o.Data, o.Module, o.Refs = pick(s, []string{"lookup", "find"}), to.Module, []Ref{{To: to.Label}}
		o.Output = false
		m.Objects = append(m.Objects, o)
		return
	}
	o.Repeat = s.repeat()
	if len(m.Objects) > 0 && s.chance(10) {
		o.Repeat = Repeat{Kind: "length", To: pick(s, m.Objects).Label}
	}
	o.CBD = s.chance(4)
	s.references(m, &o)
	m.Objects = append(m.Objects, o)
}

// references gives an object new ones.
func (s *source) references(m *Model, o *Object) {
	o.Refs, o.Parent, o.ValueFrom, o.DependsOn, o.TriggeredBy = nil, nil, nil, nil, nil
	if len(m.Objects) == 0 {
		return
	}
	ref := func() Ref { return Ref{To: pick(s, m.Objects).Label, Local: s.chance(4), Index: s.chance(2)} }
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
	if s.chance(6) {
		o.DependsOn = []string{pick(s, m.Objects).Label}
	}
	if s.chance(12) {
		o.TriggeredBy = []string{pick(s, m.Objects).Label}
	}
}

// edit changes a configuration at a few places.
func (s *source) edit(before *Model) *Model {
	m := before.Clone()
	if s.chance(2) {
		m.Moved = nil
	}
	for range 1 + s.IntN(4) {
		s.editOnce(m)
	}
	return m
}

func (s *source) editOnce(m *Model) {
	if len(m.Objects) == 0 {
		s.addObject(m)
		return
	}
	o := &m.Objects[s.IntN(len(m.Objects))]
	kind := s.IntN(16)
	if o.Label == m.Endpoint && kind >= 2 && kind <= 4 {
		// What the provider's own objects may be in has to stay.
		kind = 0
	}
	switch kind {
	case 0, 1:
		o.Value++
	case 2, 3, 4:
		o.Key++
	case 5:
		o.CBD = !o.CBD
	case 6:
		o.Repeat = s.repeat()
	case 7, 8:
		m.Objects = slices.DeleteFunc(m.Objects, func(other Object) bool { return other.Label == o.Label })
	case 9:
		s.addObject(m)
	case 10, 11:
		if o.Label != m.Endpoint {
			s.references(m, o)
		}
	case 12:
		o.Other = !o.Other
	case 13:
		s.move(m, o)
	case 14:
		s.editModule(m)
	case 15:
		i, j := s.IntN(len(m.Objects)), s.IntN(len(m.Objects))
		if m.Objects[i].Label == m.Endpoint || m.Objects[j].Label == m.Endpoint {
			return
		}
		m.Objects[i], m.Objects[j] = m.Objects[j], m.Objects[i]
	}
}

// move renames an object, with or without a moved block, or takes it to
// another module.
func (s *source) move(m *Model, o *Object) {
	if o.Data != "" {
		return
	}
	old := *o
	o.Name = s.fresh("r")
	if s.chance(3) {
		return
	}
	if s.chance(2) {
		m.Moved = append(m.Moved, Moved{old.Module, address(&old), address(o)})
		return
	}
	to := pick(s, m.Modules).Label
	from, ok := m.path(old.Module)
	target, ok2 := m.path(to)
	if ok && ok2 {
		o.Module = to
		m.Moved = append(m.Moved, Moved{m.Modules[0].Label, from + address(&old), target + address(o)})
	}
}

// path is the address of a module followed by a dot, as far as it has one
// without keys.
func (m *Model) path(label string) (string, bool) {
	path := ""
	for mod := m.module(label); mod != nil && mod != &m.Modules[0]; mod = m.module(mod.Parent) {
		if mod.Repeat.Kind != "" {
			return "", false
		}
		path = "module." + mod.Name + "." + path
	}
	return path, m.attached(label)
}

func (s *source) editModule(m *Model) {
	if len(m.Modules) == 1 {
		s.addModule(m)
		return
	}
	i := 1 + s.IntN(len(m.Modules)-1)
	mod := &m.Modules[i]
	switch s.IntN(6) {
	case 0:
		m.Modules = slices.Delete(m.Modules, i, i+1)
	case 1:
		mod.Repeat = s.repeat()
	case 2:
		mod.Other = !mod.Other
	case 3:
		mod.DependsOn = []string{pick(s, m.Modules[1:]).Label}
	case 4:
		old := mod.Name
		mod.Name = s.fresh("c")
		if !s.chance(3) {
			m.Moved = append(m.Moved, Moved{mod.Parent, "module." + old, "module." + mod.Name})
		}
	case 5:
		s.addModule(m)
	}
}

// A Case is a history: configurations, one after the other, and what happens
// beside them.
type Case []Step

// A Step is one plan and apply.
type Step struct {
	Model   *Model
	Text    module.Memory // instead of Model
	Replace []string      // addresses for -replace
	// Fail are operations that fail, as "KIND NAME".
	Fail []string
	// Drift are changes behind the engine's back before the step: "drop NAME"
	// or "set NAME". Names that don't exist, and drops of objects in use,
	// mean nothing.
	Drift       []string
	SkipRefresh bool
}

// Random draws the case of a seed.
func Random(seed uint64) Case {
	s := &source{Rand: rand.New(rand.NewPCG(seed, 1))}
	m := s.model()
	steps := Case{{Model: m}}
	for range 1 + s.IntN(2) {
		m = s.edit(m)
		step := Step{Model: m, SkipRefresh: s.chance(6)}
		if o, name := s.someObject(m); o != nil && s.chance(5) {
			step.Fail = []string{pick(s, []string{"create", "update", "delete", "taint"}) + " " + name}
		}
		if o, name := s.someObject(m); o != nil && s.chance(6) {
			step.Drift, step.SkipRefresh = []string{pick(s, []string{"drop", "set"}) + " " + name}, false
		}
		if o, _ := s.someObject(m); o != nil && o.Module == "root" && o.Repeat.Kind == "" && o.Label != m.Endpoint && s.chance(6) {
			step.Replace = []string{address(o)}
		}
		steps = append(steps, step)
	}
	return steps
}

// someObject picks an object and the name of one of its instances.
func (s *source) someObject(m *Model) (*Object, string) {
	if len(m.Objects) == 0 {
		return nil, ""
	}
	o := &m.Objects[s.IntN(len(m.Objects))]
	if o.Data != "" {
		return nil, ""
	}
	name := o.Label
	switch o.Repeat.Kind {
	case "count":
		name += "-0"
	case "each":
		if o.Repeat.Keys == "" {
			return nil, ""
		}
		name += "-" + o.Repeat.Keys[:1]
	case "length":
		return nil, ""
	}
	mod := m.module(o.Module)
	for mod != nil && mod.Label != "root" {
		label := mod.Label
		if mod.Repeat.Kind == "count" {
			label += "-0"
		}
		if mod.Repeat.Kind == "each" && mod.Repeat.Keys != "" {
			label += "-" + mod.Repeat.Keys[:1]
		}
		name = label + "." + name
		mod = m.module(mod.Parent)
	}
	return o, strings.TrimSpace(name)
}
