package addr

import (
	"cmp"
	"strings"
)

// A Module is the address of a module instance: its canonical text such as
// `module.a["x"].module.b`, or empty for the root module. Only values made by
// this package are canonical.
type Module string

// Root is the root module.
const Root Module = ""

// A Step is one module call on the way from the root, with its instance key.
// The name of a component or stack begins with its kind and a dot, as in
// component.net; in addresses it stands without "module.".
type Step struct {
	Name string
	Key  Key
}

// Child is the address of an instance of a module call in m.
func (m Module) Child(name string, key Key) Module {
	return Module(m.prefix() + CallName(name) + key.String())
}

// CallName is how the call with that name is written in addresses and
// references.
func CallName(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return "module." + name
}

func (m Module) prefix() string {
	if m == Root {
		return ""
	}
	return string(m) + "."
}

// IsRoot reports whether m is the root module.
func (m Module) IsRoot() bool { return m == Root }

// String is the canonical text, empty for the root module.
func (m Module) String() string { return string(m) }

// Steps lists the calls from the root to m.
func (m Module) Steps() []Step {
	if m == Root {
		return nil
	}
	steps, rest, err := parseSteps(string(m), true)
	if err != nil || rest != "" {
		panic("addr: not canonical: " + string(m))
	}
	return steps
}

// FromSteps is the inverse of Steps.
func FromSteps(steps []Step) Module {
	m := Root
	for _, s := range steps {
		m = m.Child(s.Name, s.Key)
	}
	return m
}

// Parent returns the calling module and the last step. The root has no parent.
func (m Module) Parent() (Module, Step, bool) {
	steps := m.Steps()
	if len(steps) == 0 {
		return Root, Step{}, false
	}
	last := len(steps) - 1
	return FromSteps(steps[:last]), steps[last], true
}

// Erase drops all instance keys: the form that configuration uses.
func (m Module) Erase() Module {
	if !strings.Contains(string(m), "[") {
		return m
	}
	steps := m.Steps()
	for i := range steps {
		steps[i].Key = NoKey
	}
	return FromSteps(steps)
}

// CallPath is the erased address as names joined by dots, the key form of
// modules.json; empty for the root.
func (m Module) CallPath() string {
	var names []string
	for _, s := range m.Steps() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ".")
}

// InstancePath is the names of the calls with their keys, joined by dots: the
// key form of modules.json where instances of a call load different modules.
// Keys that stand for all instances are left out.
func (m Module) InstancePath() string {
	var names []string
	for _, s := range m.Steps() {
		if s.Key.IsAny() {
			s.Key = NoKey
		}
		names = append(names, s.Name+s.Key.String())
	}
	return strings.Join(names, ".")
}

// Contains reports whether o is m or lies below it.
func (m Module) Contains(o Module) bool {
	return m == Root || m == o || strings.HasPrefix(string(o), string(m)+".")
}

// Compare orders modules step by step, a parent before its children.
func (m Module) Compare(o Module) int {
	if m == o {
		return 0
	}
	p, q := parser{text: string(m)}, parser{text: string(o)}
	for {
		a, more, _ := p.step(true)
		b, others, _ := q.step(true)
		switch {
		case !more && !others:
			return 0
		case !more:
			return -1
		case !others:
			return 1
		case a.Name != b.Name:
			return cmp.Compare(a.Name, b.Name)
		case a.Key != b.Key:
			return a.Key.Compare(b.Key)
		}
	}
}
