package simtest

import (
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/module"
)

// A Model is a configuration before it is text. Whatever it refers to that
// isn't there is left out of the text, so that any part can be taken away.
type Model struct {
	Modules []Module // the first one is the root
	// Objects are in an order in which references go back only.
	Objects []Object
	Moved   []Moved
	// Endpoint is the label of an object that the second provider
	// configuration needs.
	Endpoint string
}

// A Module is a module that is called once. Its label stays when it is
// renamed.
type Module struct {
	Label, Name string
	Parent      string // a label, empty for the root
	Repeat      Repeat
	DependsOn   []string // labels of modules beside it
	Other       bool     // gets the second provider configuration
}

// An Object is a resource, or a data source about one.
type Object struct {
	Label, Name string
	Module      string
	Data        string // lookup or find for a data source
	Repeat      Repeat
	Value, Key  int
	CBD         bool
	Other       bool
	Refs        []Ref
	Parent      *Ref
	ValueFrom   *Ref
	DependsOn   []string // labels of objects
	TriggeredBy []string // labels of objects of the same module
	Output      bool     // is told in a root output
}

// A Ref is a reference to the instances of an object.
type Ref struct {
	To    string
	Local bool // through a local value
	Index bool // to one instance, where that makes sense
}

// A Repeat is count or for_each.
type Repeat struct {
	Kind string // empty, count, each, or length: count of the instances of To
	N    int
	Keys string // one letter each
	To   string
}

// A Moved is a moved block of a module.
type Moved struct{ In, From, To string }

// Clone makes a copy that shares nothing.
func (m *Model) Clone() *Model {
	c := &Model{Endpoint: m.Endpoint, Modules: slices.Clone(m.Modules), Objects: slices.Clone(m.Objects), Moved: slices.Clone(m.Moved)}
	for i := range c.Modules {
		c.Modules[i].DependsOn = slices.Clone(c.Modules[i].DependsOn)
	}
	for i := range c.Objects {
		o := &c.Objects[i]
		o.Refs, o.DependsOn, o.TriggeredBy = slices.Clone(o.Refs), slices.Clone(o.DependsOn), slices.Clone(o.TriggeredBy)
	}
	return c
}

func (m *Model) module(label string) *Module {
	for i := range m.Modules {
		if m.Modules[i].Label == label {
			return &m.Modules[i]
		}
	}
	return nil
}

func (m *Model) object(label string) (o *Object, position int) {
	for i := range m.Objects {
		if m.Objects[i].Label == label && m.module(m.Objects[i].Module) != nil {
			return &m.Objects[i], i
		}
	}
	return nil, -1
}

// within reports whether a module is another one or below it.
func (m *Model) within(label, ancestor string) bool {
	for mod := m.module(label); mod != nil; mod = m.module(mod.Parent) {
		if mod.Label == ancestor {
			return true
		}
		if mod == &m.Modules[0] {
			break
		}
	}
	return false
}

// attached reports whether a module can be reached from the root.
func (m *Model) attached(label string) bool { return m.within(label, m.Modules[0].Label) }

// span is the first and last position of the objects in and below a module.
func (m *Model) span(label string) (first, last int) {
	first, last = len(m.Objects), -1
	for i, o := range m.Objects {
		if m.within(o.Module, label) {
			first, last = min(first, i), i
		}
	}
	return first, last
}

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
	for i := range m.Modules[1:] {
		if mod := &m.Modules[i+1]; m.attached(mod.Label) {
			r.call(mod)
		}
	}
	for _, mv := range m.Moved {
		if m.module(mv.In) != nil {
			r.of(mv.In).add("moved %s %s", "\nmoved {\n  from = %s\n  to   = %s\n}\n", mv.From, mv.To)
		}
	}
	files := module.Memory{}
	for _, mod := range m.Modules {
		if !m.attached(mod.Label) {
			continue
		}
		path, head := "main.tf", "provider \"sim\" {}\n\nprovider \"sim\" {\n  alias = \"other\"\n"+r.endpoint()+"}\n"
		if mod.Label != m.Modules[0].Label {
			path, head = mod.Label+"/main.tf", "variable \"prefix\" {}\n"
		}
		files[path] = []byte(head + r.of(mod.Label).text.String())
	}
	return files
}

// endpoint is the argument of the second provider configuration. It isn't
// taken from modules that are repeated, of which all outputs are read at once.
func (r *renderer) endpoint() string {
	o, _ := r.m.object(r.m.Endpoint)
	if o == nil {
		return ""
	}
	if _, plain := r.m.path(o.Module); !plain {
		return ""
	}
	return "  endpoint = try((" + r.list(r.m.Modules[0].Label, o, "echo") + ")[0], null)\n"
}

// other reports whether the second provider configuration can be used from a
// position on.
func (r *renderer) other(at int) bool {
	o, p := r.m.object(r.m.Endpoint)
	return o == nil || p < at
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

func address(o *Object) string {
	if o.Data != "" {
		return "data.sim_" + o.Data + "." + o.Name
	}
	return "sim_object." + o.Name
}

// list is an expression in a module for an attribute of all instances of an
// object, as a list.
func (r *renderer) list(in string, o *Object, attr string) string {
	if in == o.Module {
		switch o.Repeat.Kind {
		case "count", "length":
			return address(o) + "[*]." + attr
		case "each":
			return "[for x in " + address(o) + " : x." + attr + "]"
		}
		return "[" + address(o) + "." + attr + "]"
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
		if child.Repeat.Kind == "" {
			return "module." + child.Name + "." + name
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
	if to == nil || position >= at || !r.m.attached(to.Module) || to.Data != "" && attr == "id" {
		return ""
	}
	for mod := r.m.module(to.Module); mod.Label != r.m.Modules[0].Label; mod = r.m.module(mod.Parent) {
		// All outputs of all instances are read at once.
		if _, last := r.m.span(mod.Label); mod.Repeat.Kind != "" && last >= at && !r.m.within(from.Module, mod.Label) {
			return ""
		}
	}
	if ref.Index && to.Module == from.Module {
		a, b := from.Repeat, to.Repeat
		switch {
		case a.Kind == "count" && b.Kind == "count" && a.N <= b.N:
			return "[" + address(to) + "[count.index]." + attr + "]"
		case b.Kind == "count" && b.N > 0:
			return "[" + address(to) + "[0]." + attr + "]"
		case a.Kind == "each" && b.Kind == "each" && strings.Trim(a.Keys, b.Keys) == "":
			return "[" + address(to) + "[each.key]." + attr + "]"
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

func repeat(b *strings.Builder, rep Repeat, length string) {
	switch rep.Kind {
	case "count":
		fmt.Fprintf(b, "  count = %d\n", rep.N)
	case "each":
		var keys []string
		for _, k := range rep.Keys {
			keys = append(keys, fmt.Sprintf("%q", string(k)))
		}
		fmt.Fprintf(b, "  for_each = toset([%s])\n", strings.Join(keys, ", "))
	case "length":
		if length == "" {
			length = "[]"
		}
		fmt.Fprintf(b, "  count = length(%s)\n", length)
	}
}

// suffix is what tells instances apart in a name.
func suffix(rep Repeat) string {
	switch rep.Kind {
	case "count", "length":
		return "-${count.index}"
	case "each":
		return "-${each.key}"
	}
	return ""
}

func (r *renderer) prefix(label string) string {
	if label == r.m.Modules[0].Label {
		return ""
	}
	return "${var.prefix}"
}

func (r *renderer) object(o *Object, at int) {
	if o.Data != "" {
		r.data(o, at)
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nresource \"sim_object\" %q {\n", o.Name)
	repeat(&b, o.Repeat, r.refer(o, at, Ref{To: o.Repeat.To}, "id"))
	if o.Other && o.Module == r.m.Modules[0].Label && r.other(at) {
		b.WriteString("  provider = sim.other\n")
	}
	fmt.Fprintf(&b, "  name = \"%s%s%s\"\n", r.prefix(o.Module), o.Label, suffix(o.Repeat))
	value := ""
	if o.ValueFrom != nil {
		attr := "echo"
		if to, _ := r.m.object(o.ValueFrom.To); to != nil && to.Data != "" {
			attr = "value"
		}
		if expr := r.refer(o, at, *o.ValueFrom, attr); expr != "" {
			value = fmt.Sprintf("  value = join(\",\", concat([\"v%d\"], [for x in %s : x == null ? \"-\" : x]))\n", o.Value, expr)
		}
	}
	if value == "" {
		value = fmt.Sprintf("  value = \"v%d\"\n", o.Value)
	}
	b.WriteString(value)
	if o.Key > 0 {
		fmt.Fprintf(&b, "  key = \"k%d\"\n", o.Key)
	}
	if o.Parent != nil {
		if expr := r.refer(o, at, *o.Parent, "id"); expr != "" {
			fmt.Fprintf(&b, "  parent = try((%s)[0], null)\n", expr)
		}
	}
	var lists []string
	for _, ref := range o.Refs {
		if expr := r.refer(o, at, ref, "id"); expr != "" && !slices.Contains(lists, expr) {
			lists = append(lists, expr)
		}
	}
	if len(lists) > 0 {
		fmt.Fprintf(&b, "  refs = concat(%s)\n", strings.Join(lists, ", "))
	}
	r.depends(&b, o, at)
	r.lifecycle(&b, o, at)
	b.WriteString("}\n")
	r.of(o.Module).text.WriteString(b.String())
	if o.Output {
		root := r.m.Modules[0].Label
		expr := r.list(root, o, "echo")
		r.of(root).add("output %s", "\noutput %q {\n  value = %s\n}\n", "echo_"+o.Label, expr)
	}
}

func (r *renderer) lifecycle(b *strings.Builder, o *Object, at int) {
	var triggers []string
	for _, label := range o.TriggeredBy {
		if to, p := r.m.object(label); to != nil && p < at && to.Module == o.Module && to.Data == "" {
			triggers = append(triggers, address(to))
		}
	}
	if !o.CBD && triggers == nil {
		return
	}
	b.WriteString("  lifecycle {\n")
	if o.CBD {
		b.WriteString("    create_before_destroy = true\n")
	}
	if triggers != nil {
		fmt.Fprintf(b, "    replace_triggered_by = [%s]\n", strings.Join(triggers, ", "))
	}
	b.WriteString("  }\n")
}

// depends writes depends_on: of objects of the module, and of the calls that
// have others in them.
func (r *renderer) depends(b *strings.Builder, o *Object, at int) {
	var list []string
	for _, label := range o.DependsOn {
		to, p := r.m.object(label)
		if to == nil || p >= at || !r.m.attached(to.Module) {
			continue
		}
		if to.Module == o.Module {
			list = append(list, address(to))
			continue
		}
		for i, child := range r.m.Modules {
			if i == 0 || child.Parent != o.Module || !r.m.within(to.Module, child.Label) {
				continue
			}
			if _, last := r.m.span(child.Label); last < at {
				list = append(list, "module."+child.Name)
			}
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > 0 {
		fmt.Fprintf(b, "  depends_on = [%s]\n", strings.Join(list, ", "))
	}
}

// checkData lets data sources have the instances of what they are about, and
// drops those about nothing.
func (m *Model) checkData(o *Object, at int) {
	if o.Data == "" {
		return
	}
	if len(o.Refs) > 0 {
		to, p := m.object(o.Refs[0].To)
		if to != nil && p < at && to.Module == o.Module && to.Data == "" && to.Repeat.Kind != "length" {
			o.Repeat = to.Repeat
			if o.second(to) {
				o.Repeat = Repeat{}
			}
			return
		}
	}
	o.Label, o.Module = "", ""
}

// second reports whether a data source is about the second instance only,
// whether there is one or not.
func (o *Object) second(to *Object) bool {
	return o.Data == "find" && o.Key > 0 && to.Repeat.Kind == "count"
}

// data writes a data source about one object of the same module.
func (r *renderer) data(o *Object, at int) {
	to, _ := r.m.object(o.Refs[0].To)
	var b strings.Builder
	fmt.Fprintf(&b, "\ndata \"sim_%s\" %q {\n", o.Data, o.Name)
	repeat(&b, o.Repeat, "")
	if o.Other && o.Module == r.m.Modules[0].Label && r.other(at) {
		b.WriteString("  provider = sim.other\n")
	}
	if o.Data == "find" {
		which := suffix(to.Repeat)
		if o.second(to) {
			which = "-1"
		}
		fmt.Fprintf(&b, "  name = \"%s%s%s\"\n  depends_on = [%s]\n", r.prefix(to.Module), to.Label, which, address(to))
	} else {
		key := map[string]string{"": "", "count": "[count.index]", "each": "[each.key]"}[to.Repeat.Kind]
		fmt.Fprintf(&b, "  id = %s%s.id\n", address(to), key)
	}
	b.WriteString("}\n")
	r.of(o.Module).text.WriteString(b.String())
}

func (r *renderer) call(mod *Module) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nmodule %q {\n  source = \"./%s\"\n", mod.Name, strings.Repeat("../", r.depth(mod.Parent))+mod.Label)
	repeat(&b, mod.Repeat, "")
	fmt.Fprintf(&b, "  prefix = \"%s%s%s.\"\n", r.prefix(mod.Parent), mod.Label, suffix(mod.Repeat))
	for _, arg := range r.of(mod.Label).args {
		b.WriteString(arg)
	}
	if first, _ := r.m.span(mod.Label); mod.Other && mod.Parent == r.m.Modules[0].Label && r.other(first) {
		b.WriteString("  providers = {\n    sim = sim.other\n  }\n")
	}
	var list []string
	first, _ := r.m.span(mod.Label)
	for _, label := range mod.DependsOn {
		other := r.m.module(label)
		if other == nil || other.Label == mod.Label || other.Parent != mod.Parent {
			continue
		}
		if _, last := r.m.span(label); last < first {
			list = append(list, "module."+other.Name)
		}
	}
	if len(list) > 0 {
		fmt.Fprintf(&b, "  depends_on = [%s]\n", strings.Join(list, ", "))
	}
	b.WriteString("}\n")
	r.of(mod.Parent).text.WriteString(b.String())
}

// depth is 1 for all modules but the root: their directories are beside each
// other.
func (r *renderer) depth(label string) int {
	if label == r.m.Modules[0].Label {
		return 0
	}
	return 1
}
