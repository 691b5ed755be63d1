package simtest

import (
	"fmt"
	"maps"
	"slices"

	"weir.dev/weir/internal/core/addr"
)

// A Model is a configuration before it is text. Whatever it refers to that
// isn't there is left out of the text, so that any part can be taken away.
type Model struct {
	Modules []Module // the first one is the root
	// Objects are in an order in which references go back only.
	Objects []Object
	Moved   []Moved
	Removed []Removed
	Imports []string // labels of objects
	// Endpoint has, by alias, the label of an object that the provider
	// configuration needs, and by "password of ALIAS" that of a token.
	Endpoint map[string]string
	// Kit: the text is for the provider of the conformance kit, which has more
	// to draw; see kit.go.
	Kit    bool
	Secret int // what the root's sensitive variable is
}

// A Module is a module that is called once. Its label stays when it is
// renamed.
type Module struct {
	Label, Name string
	Parent      string // a label, empty for the root
	Repeat      Repeat
	DependsOn   []string // labels of modules beside it
	Other       string   // the alias of the provider configuration it gets
	More        []string // of moduleFeatures, for the kit
	Size        int      // an argument with a validation, which allows up to 4
}

// An Object is a resource, or a data source or ephemeral resource about one.
type Object struct {
	Label, Name string
	Module      string
	Data        string   // lookup, find, token or, for the kit, echo, for what isn't managed
	Thing       bool     // of the other type
	Store       bool     // terraform_data, for the kit
	More        []string // of features, for the kit
	Repeat      Repeat
	Value, Key  int
	Refs        []Ref
	Parent      *Ref
	ValueFrom   *Ref
	Secret      *Ref // to a token
	Sensitive   bool // the value

	CBD         bool
	Prevent     bool
	Keep        bool   // destroy = false
	Ignore      string // value or all
	Condition   Condition
	Provision   string // create, destroy, or one of the two and " fails"
	Other       string // alias of its provider configuration
	DependsOn   []string
	TriggeredBy []string // labels of objects of the same module
	ByValue     bool     // triggered by their values only

	Output   Condition // a root output that reports it: plain, sensitive or pre
	Watching Condition // is reported in a check block
}

// A Condition is one about an object.
type Condition struct {
	Kind string // empty for none; pre or post; data or plain in check blocks
	Bad  bool   // it isn't met
	Late bool   // that isn't known before apply
}

// A Ref is a reference to the instances of an object.
type Ref struct {
	To    string
	Local bool // through a local value
	Index bool // to one instance, where that makes sense
	Late  bool // to what is known after apply only, for the kit
}

// A Repeat is count, for_each or enabled.
type Repeat struct {
	// Kind is empty, count, each, enabled, length (count of the instances of
	// To), late: instances that follow from the ids of To, or, for the kit,
	// secret: a count that follows from a sensitive variable.
	Kind string
	N    int
	Keys string // one letter each
	To   string
}

// form is the argument that a repetition is written with.
func (r Repeat) form() string {
	switch {
	case r.Kind == "length" || r.Kind == "secret" || r.Kind == "late" && r.N > 0:
		return "count"
	case r.Kind == "late":
		return "each"
	}
	return r.Kind
}

// A Moved is a moved block of a module. Each is its for_each.
type Moved struct{ In, From, To, Each string }

// A Removed is a removed block of a module.
type Removed struct {
	In, From string
	Keep     bool
}

// Clone makes a copy that shares nothing.
func (m *Model) Clone() *Model {
	if m == nil {
		return nil
	}
	c := &Model{
		Endpoint: maps.Clone(m.Endpoint), Modules: slices.Clone(m.Modules), Objects: slices.Clone(m.Objects),
		Moved: slices.Clone(m.Moved), Removed: slices.Clone(m.Removed), Imports: slices.Clone(m.Imports),
		Kit: m.Kit, Secret: m.Secret,
	}
	for i := range c.Modules {
		c.Modules[i].DependsOn = slices.Clone(c.Modules[i].DependsOn)
		c.Modules[i].More = slices.Clone(c.Modules[i].More)
	}
	for i := range c.Objects {
		o := &c.Objects[i]
		o.Refs, o.DependsOn, o.TriggeredBy = slices.Clone(o.Refs), slices.Clone(o.DependsOn), slices.Clone(o.TriggeredBy)
		o.More = slices.Clone(o.More)
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

func (m *Model) root() string { return m.Modules[0].Label }

func (m *Model) object(label string) (o *Object, position int) {
	for i := range m.Objects {
		if m.Objects[i].Label == label && m.module(m.Objects[i].Module) != nil {
			return &m.Objects[i], i
		}
	}
	return nil, -1
}

// serves reports whether a provider configuration needs an object.
func (m *Model) serves(label string) bool {
	for _, needed := range m.Endpoint {
		if needed == label {
			return true
		}
	}
	return false
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

// depth is how many modules a module is in.
func (m *Model) depth(label string) int {
	n := 0
	for mod := m.module(label); mod != nil && mod != &m.Modules[0]; mod = m.module(mod.Parent) {
		n++
	}
	return n
}

// attached reports whether a module can be reached from the root.
func (m *Model) attached(label string) bool { return m.within(label, m.root()) }

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

// An Instance is an instance of an object: its address and its name in the
// cloud.
type Instance struct{ Addr, Name string }

// instances lists those of an object that follow from the model alone.
func (m *Model) instances(o *Object) []Instance {
	if o.Data != "" || !m.attached(o.Module) {
		return nil
	}
	list := o.Repeat.instances(m.address(o), o.Label)
	for mod := m.module(o.Module); mod.Label != m.root(); mod = m.module(mod.Parent) {
		var outer []Instance
		for _, around := range mod.Repeat.instances("module."+mod.Name, mod.Label) {
			for _, i := range list {
				outer = append(outer, Instance{around.Addr + "." + i.Addr, around.Name + "." + i.Name})
			}
		}
		list = outer
	}
	return list
}

func (r Repeat) instances(address, label string) []Instance {
	var list []Instance
	switch r.Kind {
	case "":
		list = []Instance{{address, label}}
	case "enabled":
		list = make([]Instance, r.N, 1)
		if r.N > 0 {
			list[0] = Instance{address, label}
		}
	case "count":
		for n := range r.N {
			list = append(list, Instance{fmt.Sprintf("%s[%d]", address, n), fmt.Sprintf("%s-%d", label, n)})
		}
	case "each":
		for _, k := range r.Keys {
			list = append(list, Instance{fmt.Sprintf("%s[%q]", address, string(k)), fmt.Sprintf("%s-%c", label, k)})
		}
	}
	return list
}

// declares finds the object that has an instance with that address, whatever
// its key.
func (m *Model) declares(i addr.Instance) *Object {
	in := m.root()
steps:
	for _, s := range i.Module.Steps() {
		for _, mod := range m.Modules[1:] {
			if mod.Parent == in && mod.Name == s.Name {
				in = mod.Label
				continue steps
			}
		}
		return nil
	}
	for n := range m.Objects {
		if o := &m.Objects[n]; o.Module == in && m.address(o) == i.Name.String() {
			return o
		}
	}
	return nil
}

func (m *Model) address(o *Object) string {
	switch {
	case m.Kit:
		return m.kitType(o) + "." + o.Name
	case o.Data == "token":
		return "ephemeral.sim_token." + o.Name
	case o.Data != "":
		return "data.sim_" + o.Data + "." + o.Name
	case o.Thing:
		return "sim_thing." + o.Name
	}
	return "sim_object." + o.Name
}

// checkData lets what isn't managed have the instances of what it is about,
// and drops what is about nothing.
func (m *Model) checkData(o *Object, at int) {
	if o.Data == "" {
		return
	}
	if len(o.Refs) > 0 {
		to, p := m.object(o.Refs[0].To)
		if to != nil && p < at && to.Module == o.Module && to.Data == "" && to.Repeat.Kind != "length" && to.Repeat.Kind != "late" {
			o.Repeat = to.Repeat
			if o.second(to) {
				o.Repeat = Repeat{}
			}
			return
		}
	}
	if o.Data == "token" {
		o.Refs, o.Repeat = nil, Repeat{}
		return
	}
	o.Label, o.Module = "", ""
}

// second reports whether a data source is about the second instance only,
// whether there is one or not.
func (o *Object) second(to *Object) bool {
	return o.Data == "find" && o.Key > 0 && to.Repeat.Kind == "count"
}
