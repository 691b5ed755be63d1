package simtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"weir.dev/weir/internal/module"
)

// Shrink makes a failing case smaller, as long as the smaller one fails in
// the same way.
func Shrink(c Case, seed uint64, failure *Failure) Case {
	fails := func(c Case) bool {
		f := c.Run(seed, &Stats{})
		return f != nil && f.Kind == failure.Kind
	}
	if failure.Step+1 < len(c) && fails(c[:failure.Step+1]) {
		c = c[:failure.Step+1]
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
		change(func(c Case) bool { had := c[i].Fail != nil; c[i].Fail = nil; return had })
		change(func(c Case) bool { had := c[i].Drift != nil; c[i].Drift = nil; return had })
		change(func(c Case) bool { had := c[i].Replace != nil; c[i].Replace = nil; return had })
		change(func(c Case) bool { had := c[i].SkipRefresh; c[i].SkipRefresh = false; return had })
		change(func(c Case) bool { had := c[i].Model.Moved != nil; c[i].Model.Moved = nil; return had })
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

// simpler are ways to make an object simpler; they report whether it wasn't.
var simpler = []func(*Object) bool{
	func(o *Object) bool {
		had := len(o.Refs) > 0 && o.Data == ""
		o.Refs = o.Refs[:len(o.Refs)-min(len(o.Refs), 1)]
		return had
	},
	func(o *Object) bool { had := len(o.Refs) > 1; o.Refs = o.Refs[min(len(o.Refs), 1):]; return had },
	func(o *Object) bool { had := o.Parent != nil; o.Parent = nil; return had },
	func(o *Object) bool { had := o.ValueFrom != nil; o.ValueFrom = nil; return had },
	func(o *Object) bool { had := o.DependsOn != nil; o.DependsOn = nil; return had },
	func(o *Object) bool { had := o.TriggeredBy != nil; o.TriggeredBy = nil; return had },
	func(o *Object) bool { had := o.Repeat.Kind != ""; o.Repeat = Repeat{}; return had },
	func(o *Object) bool { had := o.Repeat.N > 1; o.Repeat.N = min(o.Repeat.N, 1); return had },
	func(o *Object) bool { had := o.Output; o.Output = false; return had },
	func(o *Object) bool { had := o.Other; o.Other = false; return had },
	func(o *Object) bool { had := o.CBD; o.CBD = false; return had },
	func(o *Object) bool { had := o.Key > 0; o.Key = 0; return had },
	func(o *Object) bool { had := o.Value > 0; o.Value = 0; return had },
	func(o *Object) bool { had := o.Module != "root"; o.Module = "root"; return had },
	func(o *Object) bool {
		had := false
		for i := range o.Refs {
			had = had || o.Refs[i].Local || o.Refs[i].Index
			o.Refs[i].Local, o.Refs[i].Index = false, false
		}
		return had
	},
}

func (m *Model) simplify(label string, n int) bool {
	if o, _ := m.object(label); o != nil {
		if o.Data != "" && n < 2 {
			return false
		}
		return simpler[n](o)
	}
	mod := m.module(label)
	if mod == nil {
		return false
	}
	was := *mod
	switch n {
	case 0:
		mod.DependsOn = nil
		return was.DependsOn != nil
	case 1:
		mod.Repeat = Repeat{}
		return was.Repeat.Kind != ""
	case 2:
		mod.Other = false
		return was.Other
	}
	return false
}

// Text is the case as a txtar archive: the files of each step in a folder of
// their own, with what else happens in a file named options.
func (c Case) Text(comment string) []byte {
	a := &txtar.Archive{Comment: []byte(comment + "\n\n")}
	for i, step := range c {
		folder := fmt.Sprintf("%d/", i+1)
		var options []string
		for _, r := range step.Replace {
			options = append(options, "replace "+r)
		}
		for _, f := range step.Fail {
			options = append(options, "fail "+f)
		}
		for _, d := range step.Drift {
			options = append(options, "drift "+d)
		}
		if step.SkipRefresh {
			options = append(options, "skip-refresh")
		}
		if options != nil {
			a.Files = append(a.Files, txtar.File{Name: folder + "options", Data: []byte(strings.Join(options, "\n") + "\n")})
		}
		files := step.Files()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			a.Files = append(a.Files, txtar.File{Name: folder + name, Data: files[name]})
		}
	}
	return txtar.Format(a)
}

// Parse reads what Text has written.
func Parse(text []byte) Case {
	var c Case
	for _, f := range txtar.Parse(text).Files {
		folder, name, _ := strings.Cut(f.Name, "/")
		for fmt.Sprint(len(c)) != folder {
			c = append(c, Step{Text: module.Memory{}})
		}
		step := &c[len(c)-1]
		if name != "options" {
			step.Text[name] = f.Data
			continue
		}
		for line := range strings.Lines(string(bytes.TrimSpace(f.Data))) {
			kind, what, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch kind {
			case "replace":
				step.Replace = append(step.Replace, what)
			case "fail":
				step.Fail = append(step.Fail, what)
			case "drift":
				step.Drift = append(step.Drift, what)
			case "skip-refresh":
				step.SkipRefresh = true
			}
		}
	}
	return c
}
