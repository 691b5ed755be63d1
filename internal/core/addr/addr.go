// Package addr defines the addresses of modules, resources, their instances and providers.
//
// Addresses are comparable values that always carry instance keys and print
// in the form users write. The package owns their syntax; it knows nothing of
// configurations or states.
package addr

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A Key reports one instance of a repeated block from the others. The zero Key is NoKey, the
// key of the only instance of a block that isn't repeated.
type Key struct {
	kind keyKind
	n    int
	s    string
}

type keyKind uint8

const (
	noKey keyKind = iota
	intKey
	stringKey
	anyKey
)

// NoKey is the key of an instance of a block without repetition.
var NoKey = Key{}

// AnyKey stands for all instances of a block whose keys aren't known yet.
var AnyKey = Key{kind: anyKey}

// IntKey is the key of an instance made by count.
func IntKey(n int) Key { return Key{kind: intKey, n: n} }

// StringKey is the key of an instance made by for_each.
func StringKey(s string) Key { return Key{kind: stringKey, s: s} }

// Int returns the number of a key made by IntKey.
func (k Key) Int() (int, bool) { return k.n, k.kind == intKey }

// Str returns the text of a key made by StringKey.
func (k Key) Str() (string, bool) { return k.s, k.kind == stringKey }

// IsAny reports whether the key is AnyKey.
func (k Key) IsAny() bool { return k.kind == anyKey }

// String is the key in brackets as in an address: empty, [0], ["a"] or [*].
func (k Key) String() string {
	switch k.kind {
	case intKey:
		return "[" + strconv.Itoa(k.n) + "]"
	case stringKey:
		return "[" + Quote(k.s) + "]"
	case anyKey:
		return "[*]"
	}
	return ""
}

// Compare orders keys: none, numbers by value, texts, any.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.n, o.n), cmp.Compare(k.s, o.s))
}

// Quote writes a text as a quoted HCL string without interpolation.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Mode is the kind of a resource.
type Mode uint8

const (
	Managed Mode = iota
	Data
	Ephemeral
	// Action is something that a provider does when it is asked to, and that leaves
	// nothing in a state.
	Action
	// List is what finds objects that exist, for queries.
	List
)

// rank orders modes: data sources come first.
var rank = [...]int{Data: 0, Managed: 1, Ephemeral: 2, Action: 3, List: 4}

// IsStored reports whether states have objects of the mode.
func (m Mode) IsStored() bool { return m == Managed || m == Data }

func (m Mode) String() string {
	switch m {
	case Data:
		return "data"
	case Ephemeral:
		return "ephemeral"
	case Action:
		return "action"
	case List:
		return "list"
	}
	return "managed"
}

// prefix is what stands before the type in an address.
func (m Mode) prefix() string {
	if m == Managed {
		return ""
	}
	return m.String() + "."
}

// A Name names a resource within its module: mode, type and name.
type Name struct {
	Mode Mode
	Type string
	Name string
}

// ImpliedProvider is the local name of the provider that a type belongs to where nothing else
// is said.
func ImpliedProvider(typ string) string {
	name, _, _ := strings.Cut(typ, "_")
	return name
}

func (n Name) String() string {
	if n.Mode == Managed {
		switch n.Type {
		case "data", "ephemeral", "module", "resource":
			return "resource." + n.Type + "." + n.Name // else the type reads as the word that begins an address
		}
	}
	return n.Mode.prefix() + n.Type + "." + n.Name
}

// Compare orders by mode, type and name.
func (n Name) Compare(o Name) int {
	switch {
	case n.Mode != o.Mode:
		return cmp.Compare(rank[n.Mode], rank[o.Mode])
	case n.Type != o.Type:
		return cmp.Compare(n.Type, o.Type)
	}
	return cmp.Compare(n.Name, o.Name)
}

// A Resource is a resource block in one module instance, with all its
// instances.
type Resource struct {
	Module Module
	Name   Name
}

func (r Resource) String() string { return r.Module.prefix() + r.Name.String() }

// Instance returns the address of one instance.
func (r Resource) Instance(k Key) Instance { return Instance{r, k} }

// Erase is the resource without the instance keys of its modules: the form
// that configuration uses.
func (r Resource) Erase() Resource { return Resource{r.Module.Erase(), r.Name} }

// Compare orders by module, then name.
func (r Resource) Compare(o Resource) int {
	if c := r.Module.Compare(o.Module); c != 0 {
		return c
	}
	return r.Name.Compare(o.Name)
}

// An Instance is one resource instance.
type Instance struct {
	Resource
	Key Key
}

// HasAny reports whether the instance stands for others whose keys, or whose
// modules' keys, aren't known.
func (i Instance) HasAny() bool { return i.Key.IsAny() || i.Module.HasAny() }

func (i Instance) String() string { return i.Resource.String() + i.Key.String() }

// Compare orders by resource, then key.
func (i Instance) Compare(o Instance) int {
	if c := i.Resource.Compare(o.Resource); c != 0 {
		return c
	}
	return i.Key.Compare(o.Key)
}

// An Object is an object of a resource instance in a state: the current one,
// or one that was deposed under a key of 8 hexadecimal digits.
type Object struct {
	Instance
	Deposed string
}

func (o Object) String() string {
	if o.Deposed == "" {
		return o.Instance.String()
	}
	return o.Instance.String() + " (deposed object " + o.Deposed + ")"
}

// Compare orders by instance, current object first.
func (o Object) Compare(p Object) int {
	if c := o.Instance.Compare(p.Instance); c != 0 {
		return c
	}
	return cmp.Compare(o.Deposed, p.Deposed)
}
