package addr

import (
	"cmp"
	"slices"
	"strings"
)

// A Module is the address of a module instance: its canonical text such as
// `module.a["x"].module.b`, or empty for the root module. Only values made by
// this package are canonical.
type Module string

// Root is the root module.
const Root Module = ""

// A Kind is what a call makes instances of.
type Kind uint8

// Kinds of calls.
const (
	ModuleCall Kind = iota
	Component
	Stack
)

var kindTexts = [...]string{ModuleCall: "module", Component: "component", Stack: "stack"}

// ParseKind is the kind whose blocks have that type.
func ParseKind(text string) (Kind, bool) {
	k := slices.Index(kindTexts[:], text)
	return Kind(max(k, 0)), k >= 0 // #nosec G115 -- an index of kindTexts
}

// String is the type of the blocks of that kind.
func (k Kind) String() string { return kindTexts[k] }

// A Call names a call within its caller.
type Call struct {
	Kind Kind
	Name string
}

// Mod names a module call.
func Mod(name string) Call { return Call{Name: name} }

// String is the call as addresses and references write it.
func (c Call) String() string { return c.Kind.String() + "." + c.Name }

// Compare orders calls by kind and name.
func (c Call) Compare(o Call) int {
	return cmp.Or(cmp.Compare(c.Kind, o.Kind), cmp.Compare(c.Name, o.Name))
}

// path is the call in the key form of modules.json.
func (c Call) path() string {
	if c.Kind == ModuleCall {
		return c.Name
	}
	return c.String()
}

// A Step is one call on the way from the root, with its instance key.
type Step struct {
	Call
	Key Key
}

func (s Step) String() string { return s.Call.String() + s.Key.String() }

// Child is the address of an instance of a call in m.
func (m Module) Child(c Call, key Key) Module {
	return Module(m.prefix() + c.String() + key.String())
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
		m = m.Child(s.Call, s.Key)
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

// HasAny reports whether m stands for others whose keys aren't known.
func (m Module) HasAny() bool {
	// The text alone doesn't tell: a key may be "[*]".
	return strings.Contains(string(m), "[*]") && slices.ContainsFunc(m.Steps(), func(s Step) bool { return s.Key.IsAny() })
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

// Component is the component instance that a module is in or is itself, and the
// stack that the component belongs to; ok is false for a module of no component.
func (m Module) Component() (stack, instance Module, ok bool) {
	steps := m.Steps()
	for i, s := range steps {
		if s.Kind == Component {
			return FromSteps(steps[:i]), FromSteps(steps[:i+1]), true
		}
	}
	return Root, Root, false
}

// CallPath is the erased address as names joined by dots, the key form of
// modules.json; empty for the root.
func (m Module) CallPath() string {
	var names []string
	for _, s := range m.Steps() {
		names = append(names, s.path())
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
		names = append(names, s.path()+s.Key.String())
	}
	return strings.Join(names, ".")
}

// Contains reports whether o is m or lies below it.
func (m Module) Contains(o Module) bool {
	return m == Root || m == o || strings.HasPrefix(string(o), string(m)+".")
}

// Compare orders modules by how deep they are, then step by step.
func (m Module) Compare(o Module) int {
	if m == o {
		return 0
	}
	p, q := parser{text: string(m)}, parser{text: string(o)}
	first := 0 // difference
	for {
		a, more, _ := p.step(true)
		b, others, _ := q.step(true)
		switch {
		case !more && !others:
			return first
		case !more:
			return -1
		case !others:
			return 1
		case first == 0 && a != b:
			first = cmp.Or(a.Call.Compare(b.Call), a.Key.Compare(b.Key))
		}
	}
}
