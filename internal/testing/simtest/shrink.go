package simtest

import (
	"maps"
	"reflect"
	"slices"
)

// Shrink makes a case that failed at a step smaller, as long as the smaller one
// fails too.
func Shrink(c Case, step int, fails func(Case) bool) Case {
	if step+1 < len(c) && fails(c[:step+1]) {
		c = c[:step+1]
	}
	for smaller := true; smaller; {
		smaller = false
		for _, candidate := range reductions(c) {
			if fails(candidate) {
				c, smaller = candidate, true
				break
			}
		}
	}
	return c
}

func (c Case) clone() Case {
	out := slices.Clone(c)
	for i := range out {
		out[i].Model = out[i].Model.Clone()
	}
	return out
}

// reductions are cases with one thing less, the large things first.
func reductions(c Case) []Case {
	var list []Case
	change := func(edit func(Case) bool) {
		if smaller := c.clone(); edit(smaller) {
			list = append(list, smaller)
		}
	}
	for i := range c {
		if len(c) > 1 {
			list = append(list, slices.Delete(c.clone(), i, i+1))
		}
	}
	labels := map[string]bool{}
	for _, step := range c {
		for _, mod := range step.Model.Modules[1:] {
			labels[mod.Label] = true
		}
		for _, o := range step.Model.Objects {
			labels[o.Label] = true
		}
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		change(func(c Case) bool {
			for i := range c {
				c[i].Model.remove(label)
			}
			return true
		})
	}
	for i := range c {
		for _, label := range slices.Sorted(maps.Keys(labels)) {
			change(func(c Case) bool { return c[i].Model.remove(label) })
		}
		for _, simplify := range plainer {
			change(func(c Case) bool { return simplify(&c[i]) })
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(c[0].Model.Endpoint)) {
		change(func(c Case) bool {
			for i := range c {
				delete(c[i].Model.Endpoint, alias)
			}
			return true
		})
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		for n := range simpler {
			change(func(c Case) bool {
				done := false
				for i := range c {
					done = c[i].Model.simplify(label, n) || done
				}
				return done
			})
			for i := range c {
				change(func(c Case) bool { return c[i].Model.simplify(label, n) })
			}
		}
	}
	return list
}

// remove takes an object or module out.
func (m *Model) remove(label string) bool {
	before := len(m.Modules) + len(m.Objects)
	m.Modules = slices.DeleteFunc(m.Modules, func(mod Module) bool { return mod.Label == label })
	m.Objects = slices.DeleteFunc(m.Objects, func(o Object) bool { return o.Label == label })
	return len(m.Modules)+len(m.Objects) < before
}

// empty empties a value and reports whether it wasn't empty.
func empty[T any](v *T) bool {
	had := !reflect.ValueOf(v).Elem().IsZero()
	*v = *new(T)
	return had
}

// shorter takes the first or last element off a list.
func shorter[T any](list *[]T, first bool) bool {
	had := len(*list) > 0
	switch {
	case had && first:
		*list = (*list)[1:]
	case had:
		*list = (*list)[:len(*list)-1]
	}
	return had
}

// plainer are ways to make a step simpler; they report whether it wasn't.
var plainer = []func(*Step) bool{
	func(s *Step) bool { return empty(&s.Fail) },
	func(s *Step) bool { return empty(&s.Drift) },
	func(s *Step) bool { return shorter(&s.Commands, true) },
	func(s *Step) bool { return shorter(&s.Commands, false) },
	func(s *Step) bool { return empty(&s.Replace) },
	func(s *Step) bool { return empty(&s.SkipRefresh) },
	func(s *Step) bool { return empty(&s.Defer) },
	func(s *Step) bool { return empty(&s.RefreshOnly) },
	func(s *Step) bool { return empty(&s.Destroy) },
	func(s *Step) bool { return len(s.Targets) > 1 && shorter(&s.Targets, true) },
	func(s *Step) bool { return len(s.Targets) > 1 && shorter(&s.Targets, false) },
	func(s *Step) bool { return len(s.Excludes) > 1 && shorter(&s.Excludes, true) },
	func(s *Step) bool { return len(s.Excludes) > 1 && shorter(&s.Excludes, false) },
	func(s *Step) bool { return shorter(&s.Model.Moved, true) },
	func(s *Step) bool { return shorter(&s.Model.Moved, false) },
	func(s *Step) bool { return shorter(&s.Model.Removed, true) },
	func(s *Step) bool { return shorter(&s.Model.Removed, false) },
	func(s *Step) bool { return shorter(&s.Model.Imports, true) },
	func(s *Step) bool { return shorter(&s.Model.Imports, false) },
}

// simpler are ways to make an object simpler; they report whether it wasn't.
var simpler = []func(*Object) bool{
	func(o *Object) bool { return o.Data == "" && shorter(&o.Refs, false) },
	func(o *Object) bool { return len(o.Refs) > 1 && shorter(&o.Refs, true) },
	func(o *Object) bool { return empty(&o.Parent) },
	func(o *Object) bool { return empty(&o.ValueFrom) },
	func(o *Object) bool { return empty(&o.Secret) },
	func(o *Object) bool { return empty(&o.DependsOn) },
	func(o *Object) bool { return empty(&o.TriggeredBy) },
	func(o *Object) bool { return empty(&o.ByValue) },
	func(o *Object) bool { return empty(&o.Repeat) },
	func(o *Object) bool {
		had := o.Repeat.Kind == "count" && o.Repeat.N > 1
		if had {
			o.Repeat.N = 1
		}
		return had
	},
	func(o *Object) bool { return empty(&o.Output) },
	func(o *Object) bool { return empty(&o.Sensitive) },
	func(o *Object) bool { return empty(&o.Thing) },
	func(o *Object) bool { return empty(&o.Store) },
	func(o *Object) bool { return shorter(&o.More, true) },
	func(o *Object) bool { return shorter(&o.More, false) },
	func(o *Object) bool { return empty(&o.Other) },
	func(o *Object) bool { return empty(&o.CBD) },
	func(o *Object) bool { return empty(&o.Prevent) },
	func(o *Object) bool { return empty(&o.Keep) },
	func(o *Object) bool { return empty(&o.Ignore) },
	func(o *Object) bool { return empty(&o.Condition) },
	func(o *Object) bool { return empty(&o.Watching) },
	func(o *Object) bool { return empty(&o.Provision) },
	func(o *Object) bool { return empty(&o.Key) },
	func(o *Object) bool { return empty(&o.Value) },
	func(o *Object) bool { had := o.Module != "root"; o.Module = "root"; return had },
	func(o *Object) bool {
		had := false
		for i := range o.Refs {
			had = had || o.Refs[i].Local || o.Refs[i].Index || o.Refs[i].Late
			o.Refs[i].Local, o.Refs[i].Index, o.Refs[i].Late = false, false, false
		}
		return had
	},
}

func (m *Model) simplify(label string, n int) bool {
	if o, _ := m.object(label); o != nil {
		return simpler[n](o)
	}
	mod := m.module(label)
	switch {
	case mod == nil:
		return false
	case n == 0:
		return empty(&mod.DependsOn)
	case n == 1:
		return empty(&mod.Repeat)
	case n == 2:
		return empty(&mod.Other)
	case n == 3:
		return shorter(&mod.More, true)
	case n == 4:
		return shorter(&mod.More, false)
	}
	return false
}
