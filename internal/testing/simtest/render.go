package simtest

import (
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/module"
)

// Files are the text of the configuration.
func (m *Model) Files() module.Memory {
	m = m.Clone()
	r := &renderer{m: m, sections: map[string]*sections{}}
	for i := range m.Objects {
		m.checkData(&m.Objects[i], i)
	}
	for i := range m.Objects {
		if o := &m.Objects[i]; m.module(o.Module) != nil && m.attached(o.Module) {
			r.object(o, i)
		}
	}
	calls := slices.Clone(m.Modules[1:])
	slices.SortStableFunc(calls, func(a, b Module) int { return m.depth(b.Label) - m.depth(a.Label) }) // those within others first
	for i := range calls {
		if m.attached(calls[i].Label) {
			r.call(&calls[i])
		}
	}
	r.refactoring()
	head := "provider \"sim\" {}\n"
	if m.Kit {
		head = kitRequirement + "\n" + head
	}
	for _, alias := range []string{"other", "third"} {
		if alias == "other" || r.uses(alias) {
			head += "\nprovider \"sim\" {\n  alias = \"" + alias + "\"\n" + r.endpoint(alias) + "}\n"
		}
	}
	if r.uses("each") {
		head += "\nprovider \"sim\" {\n  alias = \"each\"\n  for_each = toset([\"a\", \"b\", \"c\"])\n" + r.kitOnly("  region = each.key\n") + "}\n"
	}
	files := module.Memory{"main.tf": []byte(head + r.of(m.root()).text.String())}
	for _, mod := range m.Modules[1:] {
		if m.attached(mod.Label) {
			files[mod.Label+"/main.tf"] = []byte(r.kitOnly(kitRequirement+"\n") + "variable \"prefix\" {}\n" + r.of(mod.Label).text.String())
		}
	}
	return files
}

// uses reports whether something may have a provider configuration, also
// something that was in the model before.
func (r *renderer) uses(alias string) bool {
	_, ok := r.m.Endpoint[alias]
	return ok
}

// refactoring writes the blocks about what was there before.
func (r *renderer) refactoring() {
	for _, mv := range r.m.Moved {
		if r.m.attached(mv.In) {
			each := ""
			if mv.Each != "" {
				each = "  for_each = " + mv.Each + "\n"
			}
			r.of(mv.In).add("moved %[1]s %[2]s", "\nmoved {\n  from = %s\n  to   = %s\n%s}\n", mv.From, mv.To, each)
		}
	}
	for _, rm := range r.m.Removed {
		if r.m.attached(rm.In) {
			r.of(rm.In).add("removed %[1]s", "\nremoved {\n  from = %s\n  lifecycle {\n    destroy = %t\n  }\n}\n", rm.From, !rm.Keep)
		}
	}
	for _, label := range r.m.Imports {
		o, _ := r.m.object(label)
		if o == nil {
			continue
		}
		list := r.m.instances(o)
		root := r.of(r.m.root())
		if path, plain := r.m.path(o.Module); plain && o.Repeat.Kind == "each" {
			var ids []string
			for _, i := range list {
				ids = append(ids, fmt.Sprintf("%q = %q", i.Name[len(i.Name)-1:], r.id(i)))
			}
			root.add("import %[1]s", "\nimport {\n  for_each = { %[2]s }\n  to = %[1]s[each.key]\n  id = each.value\n}\n", path+r.m.address(o), strings.Join(ids, ", "))
			continue
		}
		for _, i := range list {
			root.add("import %[1]s", "\nimport {\n  to = %s\n  id = %q\n}\n", i.Addr, r.id(i))
		}
	}
}

// id is that of the first object with the name of an instance.
func (r *renderer) id(i Instance) string { return r.word(i.Name+"#1", "object-"+i.Name+"-1") }

// endpoint has the arguments of a provider configuration. They aren't taken
// from modules that are repeated, of which all outputs are read at once.
func (r *renderer) endpoint(alias string) string {
	text := ""
	if o, _ := r.m.object(r.m.Endpoint[alias]); o != nil {
		if _, plain := r.m.path(o.Module); plain {
			text += "  " + r.word("endpoint", "region") + " = try((" + r.list(r.m.root(), o, "echo") + ")[0], null)\n"
		}
	}
	if o, _ := r.m.object(r.m.Endpoint["password of "+alias]); o != nil && o.Module == r.m.root() && o.Repeat.Kind == "" {
		text += "  " + r.word("password", "token") + " = " + r.m.address(o) + "." + r.word("value", "token") + "\n"
	}
	return text
}

// provider is the provider configuration of an object or module at a position
// of the root, empty for the usual one.
func (r *renderer) provider(alias string, rep Repeat, module string, at int) string {
	switch {
	case alias == "" || module != r.m.root() || alias != "other" && !r.uses(alias):
		return ""
	case alias == "each":
		if rep.Kind == "each" && strings.Trim(rep.Keys, "abc") == "" {
			return "sim.each[each.key]"
		}
		return "sim.each[\"a\"]"
	}
	for _, needed := range []string{alias, "password of " + alias} {
		if o, p := r.m.object(r.m.Endpoint[needed]); o != nil && p >= at {
			return ""
		}
	}
	return "sim." + alias
}

// A renderer writes the text of a model.
type renderer struct {
	m        *Model
	sections map[string]*sections
}

// sections is the text of one module, with what others need of it.
type sections struct {
	text strings.Builder
	done map[string]bool
	args []string // of its call
}

func (r *renderer) of(label string) *sections {
	s := r.sections[label]
	if s == nil {
		s = &sections{done: map[string]bool{}}
		r.sections[label] = s
	}
	return s
}

// add writes a block once.
func (s *sections) add(name, format string, args ...any) {
	key := fmt.Sprintf(name, args...)
	if !s.done[key] {
		s.done[key] = true
		fmt.Fprintf(&s.text, format, args...)
	}
}

// list is an expression in a module for an attribute of all instances of an
// object, as a list.
func (r *renderer) list(in string, o *Object, attr string) string {
	if in == o.Module && r.m.Kit {
		return kitList(r.m.address(o), o, attr)
	}
	if in == o.Module {
		switch o.Repeat.form() {
		case "count", "enabled":
			return r.m.address(o) + "[*]." + attr
		case "each":
			return "[for x in " + r.m.address(o) + " : x." + attr + "]"
		}
		return "[" + r.m.address(o) + "." + attr + "]"
	}
	for i := range r.m.Modules {
		child := &r.m.Modules[i]
		if i == 0 || child.Parent != in || !r.m.within(o.Module, child.Label) {
			continue
		}
		name := "o_" + o.Label + "_" + attr
		if s := r.of(child.Label); !s.done["output "+name] {
			s.done["output "+name] = true
			expr := r.list(child.Label, o, attr)
			fmt.Fprintf(&s.text, "\noutput %q {\n  value = %s\n}\n", name, expr)
		}
		switch child.Repeat.form() {
		case "":
			return "module." + child.Name + "." + name
		case "enabled":
			return "flatten(module." + child.Name + "[*]." + name + ")"
		}
		return "flatten([for x in module." + child.Name + " : x." + name + "])"
	}
	name := "v_" + o.Label + "_" + attr
	if s := r.of(in); !s.done["variable "+name] {
		s.done["variable "+name] = true
		fmt.Fprintf(&s.text, "\nvariable %q {}\n", name)
		s.args = append(s.args, "  "+name+" = "+r.list(r.m.module(in).Parent, o, attr)+"\n")
	}
	return "var." + name
}

// refer is an expression for a reference from an object at a position, or
// empty when there is nothing to refer to.
func (r *renderer) refer(from *Object, at int, ref Ref, attr string) string {
	to, position := r.m.object(ref.To)
	if to == nil || position >= at || !r.m.attached(to.Module) || to.Data != "" && attr == "id" || (to.Data == "token") != (attr == "secret") {
		return ""
	}
	if attr == "secret" {
		if to.Module != from.Module {
			return ""
		}
		attr = "value"
	}
	for mod := r.m.module(to.Module); mod.Label != r.m.root(); mod = r.m.module(mod.Parent) {
		// All outputs of all instances are read at once.
		if _, last := r.m.span(mod.Label); mod.Repeat.Kind != "" && last >= at && !r.m.within(from.Module, mod.Label) {
			return ""
		}
	}
	if r.m.Kit && ref.Late && attr == "echo" {
		attr = "late"
	}
	if ref.Index && to.Module == from.Module {
		a, b, key := from.Repeat, to.Repeat, ""
		switch {
		case a.Kind == "count" && b.Kind == "count" && a.N <= b.N:
			key = "[count.index]"
		case b.Kind == "count" && b.N > 0:
			key = "[0]"
		case a.Kind == "each" && b.Kind == "each" && strings.Trim(a.Keys, b.Keys) == "":
			key = "[each.key]"
		}
		switch {
		case key != "" && r.m.Kit:
			return "[" + to.kitAttr(r.m.address(to)+key, attr) + "]"
		case key != "":
			return "[" + r.m.address(to) + key + "." + attr + "]"
		}
	}
	expr := r.list(from.Module, to, attr)
	if !ref.Local {
		return expr
	}
	name := "l_" + to.Label + "_" + attr
	r.of(from.Module).add("local %s", "\nlocals {\n  %s = %s\n}\n", name, expr)
	return "local." + name
}

// repeat writes count or for_each; enabled stands in the lifecycle block. ids
// are those of what a repetition follows from.
func repeat(b *strings.Builder, rep Repeat, ids string) {
	if ids == "" {
		ids = "[]"
	}
	switch rep.Kind {
	case "count":
		fmt.Fprintf(b, "  count = %d\n", rep.N)
	case "secret":
		fmt.Fprintf(b, "  count = var.secret == \"s0\" ? %d : 1\n", rep.N)
	case "each":
		var keys []string
		for _, k := range rep.Keys {
			keys = append(keys, fmt.Sprintf("%q", string(k)))
		}
		fmt.Fprintf(b, "  for_each = toset([%s])\n", strings.Join(keys, ", "))
	case "length":
		fmt.Fprintf(b, "  count = length(%s)\n", ids)
	case "late":
		if rep.N > 0 {
			fmt.Fprintf(b, "  count = length([for x in %s : x if x != \"\"])\n", ids)
		} else {
			fmt.Fprintf(b, "  for_each = toset([for x in %s : replace(x, \".\", \"_\")])\n", ids)
		}
	}
}

func enabled(rep Repeat) string {
	if rep.Kind != "enabled" {
		return ""
	}
	return fmt.Sprintf("    enabled = %t\n", rep.N > 0)
}

// suffix is what distinguishes instances in a name.
func suffix(rep Repeat) string {
	switch rep.form() {
	case "count":
		return "-${count.index}"
	case "each":
		return "-${each.key}"
	}
	return ""
}

func (r *renderer) prefix(label string) string {
	if label == r.m.root() {
		return ""
	}
	return "${var.prefix}"
}

func (r *renderer) call(mod *Module) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nmodule %q {\n  source = \"./%s\"\n", mod.Name, r.up(mod.Parent)+mod.Label)
	first, _ := r.m.span(mod.Label)
	r.secret(mod.Parent, mod.Repeat.Kind == "secret")
	repeat(&b, mod.Repeat, r.refer(&Object{Module: mod.Parent}, first, Ref{To: mod.Repeat.To}, "id"))
	if text := enabled(mod.Repeat); text != "" {
		b.WriteString("  lifecycle {\n" + text + "  }\n")
	}
	fmt.Fprintf(&b, "  prefix = \"%s%s%s.\"\n", r.prefix(mod.Parent), mod.Label, suffix(mod.Repeat))
	r.moduleMore(&b, mod)
	for _, arg := range r.of(mod.Label).args {
		b.WriteString(arg)
	}
	if p := r.provider(mod.Other, mod.Repeat, mod.Parent, first); p != "" {
		b.WriteString("  providers = {\n    sim = " + p + "\n  }\n")
	}
	var list []string
	for _, label := range mod.DependsOn {
		other := r.m.module(label)
		if other == nil || other.Label == mod.Label || other.Parent != mod.Parent {
			continue
		}
		if _, last := r.m.span(label); last >= 0 && last < first {
			list = append(list, "module."+other.Name)
		}
	}
	if len(list) > 0 {
		fmt.Fprintf(&b, "  depends_on = [%s]\n", strings.Join(list, ", "))
	}
	b.WriteString("}\n")
	r.of(mod.Parent).text.WriteString(b.String())
}

// up is the way from the directory of a module to the root's: the others are
// beside each other there.
func (r *renderer) up(label string) string {
	if label == r.m.root() {
		return ""
	}
	return "../"
}
