package simtest

import "slices"

// A change is made to one object, or to something else where that is not
// what it is about.
type change struct {
	weight int
	do     func(*source, *Model, *Object)
}

// edits are the ways to change a configuration at one place, with how often
// they are chosen. Each gets an object of the model.
var edits = []change{
	{6, func(_ *source, _ *Model, o *Object) { o.Value++ }},
	{9, func(_ *source, m *Model, o *Object) {
		if m.serves(o.Label) {
			o.Value++ // what the provider's own objects may be in has to stay
			return
		}
		o.Key++
	}},
	{3, func(_ *source, _ *Model, o *Object) { o.CBD = !o.CBD && o.Data == "" }},
	{3, func(s *source, m *Model, o *Object) { o.Repeat = s.following(m) }},
	{7, (*source).remove},
	{3, func(s *source, m *Model, _ *Object) { s.addObject(m) }},
	{6, func(s *source, m *Model, o *Object) {
		if !m.serves(o.Label) && o.Data == "" && o.Ignore != "all" {
			s.references(m, o)
		}
	}},
	{3, func(s *source, m *Model, o *Object) { o.Other = s.alias(m) }},
	{3, (*source).rename},
	{2, (*source).rekey},
	{1, (*source).retype},
	{3, func(s *source, m *Model, _ *Object) { s.editModule(m) }},
	{3, func(s *source, m *Model, _ *Object) {
		i, j := s.IntN(len(m.Objects)), s.IntN(len(m.Objects))
		if !m.serves(m.Objects[i].Label) && !m.serves(m.Objects[j].Label) {
			m.Objects[i], m.Objects[j] = m.Objects[j], m.Objects[i]
		}
	}},
	{4, func(s *source, m *Model, o *Object) {
		if o.Data == "" && o.Ignore != "all" {
			s.rules(o)
		}
	}},
	{1, func(_ *source, _ *Model, o *Object) { o.Sensitive = !o.Sensitive }},
	{1, func(s *source, _ *Model, o *Object) { o.Output = s.output() }},
}

// edit changes a configuration at a few places, and lists what has to be made
// before.
func (s *source) edit(before *Model) (*Model, []string) {
	m := before.Clone()
	if s.chance(2) {
		m.Moved = nil
	}
	if s.chance(2) {
		m.Removed = nil
	}
	m.Imports = nil // what becomes of these objects is drawn here
	for range 1 + s.IntN(4) {
		s.editOnce(m)
	}
	if s.chance(6) {
		s.addObject(m)
		o := &m.Objects[len(m.Objects)-1]
		if made := m.imported(o); made != nil {
			m.Imports = append(m.Imports, o.Label)
			return m, made
		}
	}
	return m, nil
}

func (s *source) editOnce(m *Model) {
	if len(m.Objects) == 0 {
		s.addObject(m)
		return
	}
	choices := edits
	if s.kit {
		choices = slices.Concat(edits, kitEdits)
	}
	total := 0
	for _, e := range choices {
		total += e.weight
	}
	n := s.IntN(total)
	for _, e := range choices {
		if n -= e.weight; n < 0 {
			e.do(s, m, &m.Objects[s.IntN(len(m.Objects))])
			return
		}
	}
}

// remove takes an object out, with or without a removed block.
func (s *source) remove(m *Model, o *Object) {
	old := *o
	m.Objects = slices.DeleteFunc(m.Objects, func(other Object) bool { return other.Label == old.Label })
	if old.Data != "" || s.chance(2) {
		return
	}
	in, from := old.Module, m.address(&old)
	if path, plain := m.path(old.Module); plain && s.chance(2) {
		in, from = m.root(), path+from
	}
	m.Removed = append(m.Removed, Removed{In: in, From: from, Keep: s.chance(2)})
}

// rename gives an object another name, with or without a moved block, or
// takes it to another module.
func (s *source) rename(m *Model, o *Object) {
	if o.Data != "" {
		return
	}
	old := *o
	o.Name = s.fresh("r")
	if s.chance(3) {
		return
	}
	if s.chance(2) {
		mv := Moved{In: old.Module, From: m.address(&old), To: m.address(o)}
		if o.Repeat.Kind == "each" && s.chance(2) {
			mv.Each, mv.From, mv.To = `toset(["a", "b", "c"])`, mv.From+"[each.key]", mv.To+"[each.key]"
		}
		m.Moved = append(m.Moved, mv)
		return
	}
	to := pick(s, m.Modules).Label
	from, ok := m.path(old.Module)
	target, ok2 := m.path(to)
	if ok && ok2 {
		o.Module = to
		m.Moved = append(m.Moved, Moved{In: m.root(), From: from + m.address(&old), To: target + m.address(o)})
	}
}

// rekey changes how an object is repeated and reports where its instances go.
func (s *source) rekey(m *Model, o *Object) {
	if o.Data != "" {
		return
	}
	old := o.Repeat
	o.Repeat = s.repeat()
	m.Moved = append(m.Moved, s.keyMoves(o.Module, m.address(o), old, o.Repeat)...)
}

// keyMoves are moved blocks from the instances of one repetition to those of
// another one.
func (s *source) keyMoves(in, address string, from, to Repeat) []Moved {
	var list []Moved
	old, now := from.instances(address, ""), to.instances(address, "")
	s.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
	for n := range min(len(old), len(now)) {
		if old[n].Addr != now[n].Addr {
			list = append(list, Moved{In: in, From: old[n].Addr, To: now[n].Addr})
		}
	}
	return list
}

// retype makes an object one of the other type.
func (s *source) retype(m *Model, o *Object) {
	if o.Data != "" {
		return
	}
	if o.Store {
		return
	}
	old := *o
	o.Thing = !o.Thing
	m.Moved = append(m.Moved, Moved{In: o.Module, From: m.address(&old), To: m.address(o)})
}

func (s *source) editModule(m *Model) {
	if len(m.Modules) == 1 {
		s.addModule(m)
		return
	}
	i := 1 + s.IntN(len(m.Modules)-1)
	mod := &m.Modules[i]
	switch s.IntN(8) {
	case 0:
		if s.chance(2) {
			m.Removed = append(m.Removed, Removed{In: mod.Parent, From: "module." + mod.Name, Keep: s.chance(2)})
		}
		m.Modules = slices.Delete(m.Modules, i, i+1)
	case 1:
		mod.Repeat = s.following(m)
	case 2:
		mod.Other = s.alias(m)
	case 3:
		mod.DependsOn = []string{pick(s, m.Modules[1:]).Label}
	case 4:
		old := mod.Name
		mod.Name = s.fresh("c")
		if !s.chance(3) {
			m.Moved = append(m.Moved, Moved{In: mod.Parent, From: "module." + old, To: "module." + mod.Name})
		}
	case 5:
		s.addModule(m)
	case 6:
		to := pick(s, m.Modules)
		from, ok := m.path(mod.Parent)
		target, ok2 := m.path(to.Label)
		if ok && ok2 && !m.within(to.Label, mod.Label) && to.Label != mod.Parent {
			mod.Parent = to.Label
			m.Moved = append(m.Moved, Moved{In: m.root(), From: from + "module." + mod.Name, To: target + "module." + mod.Name})
		}
	case 7:
		old := mod.Repeat
		mod.Repeat = s.repeat()
		m.Moved = append(m.Moved, s.keyMoves(mod.Parent, "module."+mod.Name, old, mod.Repeat)...)
	}
}
