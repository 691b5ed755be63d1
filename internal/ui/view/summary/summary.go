// Package summary groups similar changes of a plan in one row each, the most dangerous first, so
// that a plan of five hundred changes stays readable.
//
// It owns what counts as alike, and the order. It doesn't know where rows are shown: on a
// terminal or in a page for reviews.
package summary

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/ui/view/naturalsort"
)

// A Row stands for changes of one block that do the same for the same reason: what
// differs between before and after has the same places in all of them.
type Row struct {
	Action  plan.Action
	Reason  plan.Reason
	Outside Outside
	// Moved and Imported: the objects also get another address, or are taken over.
	Moved, Imported bool
	// Changes are ordered by address; there is at least one.
	Changes []*plan.Change
	// Differences are the places that differ, with the values where all changes
	// have the same ones. Objects that are created or that end have none.
	Differences []Difference
	// Attributes are what objects have that are created or that end: those first by which
	// people distinguish objects. Before is empty in them.
	Attributes []Difference
}

// Outside says what happened to objects outside of weir since the last apply.
type Outside uint8

const (
	Untouched Outside = iota
	Changed
	Deleted
)

// A Difference is one place of an object.
type Difference struct {
	Path string // such as tags.name or rule[2].port
	// Before and After are the values on one line. Various: they aren't the same in
	// all changes, and those of the first are given.
	Before, After string
	Various       bool
	// Forces: it is why the object is replaced.
	Forces bool
}

// Rows puts changes in one row that do the same at the same places.
func Rows(p *plan.Plan) []*Row { return rows(p, (*Row).places) }

// Equal puts changes in one row that do the same with the same values.
func Equal(p *plan.Plan) []*Row { return rows(p, (*Row).values) }

// rows puts changes of which a key is the same in one row.
func rows(p *plan.Plan, key func(*Row, *plan.Change) string) []*Row {
	outside := map[addr.Object]Outside{}
	for _, c := range p.Drift {
		switch c.Action {
		case plan.Delete:
			outside[c.Addr] = Deleted
		case plan.Update:
			outside[c.Addr] = Changed
		}
	}
	var rows []*Row
	byKey := map[string]*Row{}
	for _, c := range Changes(p) {
		r := &Row{
			Action: c.Action, Reason: c.Reason, Outside: outside[c.Addr],
			Moved: c.Moved(), Imported: c.Importing != nil,
			Differences: differences(p, c), Attributes: attributes(p, c),
		}
		key := key(r, c)
		if known := byKey[key]; known != nil {
			known.add(c, r)
			continue
		}
		r.Changes = []*plan.Change{c}
		byKey[key] = r
		rows = append(rows, r)
	}
	return rows
}

// Changes are those that people decide about: what is lost comes first, and then they
// are ordered by address.
func Changes(p *plan.Plan) []*plan.Change {
	list := slices.DeleteFunc(jsonplan.Shown(p.Changes), func(c *plan.Change) bool {
		return c.Action == plan.NoOp && !c.Moved() && c.Importing == nil
	})
	names := make(map[*plan.Change]string, len(list))
	for _, c := range list {
		names[c] = c.Addr.String()
	}
	slices.SortStableFunc(list, func(a, b *plan.Change) int {
		return cmp.Or(cmp.Compare(Danger(a.Action), Danger(b.Action)), naturalsort.Compare(names[a], names[b]))
	})
	return list
}

// places is the same for changes that do the same at the same places.
func (r *Row) places(c *plan.Change) string {
	var b strings.Builder
	for _, part := range []string{c.Addr.Resource.Erase().String(), c.Action.String(), string(c.Reason)} {
		b.WriteString(part + "\x00")
	}
	for i, yes := range []bool{c.Addr.Deposed != "", r.Moved, r.Imported, r.Outside == Changed, r.Outside == Deleted} {
		if yes {
			b.WriteByte('a' + byte(i))
		}
	}
	for _, d := range r.Differences {
		b.WriteString("\x00" + d.Path)
		if d.Forces {
			b.WriteByte(0)
		}
	}
	return b.String()
}

// values is the same for changes that also have the same values.
func (r *Row) values(c *plan.Change) string {
	var b strings.Builder
	b.WriteString(r.places(c))
	for _, list := range [][]Difference{r.Differences, r.Attributes} {
		b.WriteByte(0)
		for _, d := range list {
			b.WriteString("\x00" + d.Path + "\x00" + d.Before + "\x00" + d.After)
		}
	}
	return b.String()
}

// add takes a further change into a row.
func (r *Row) add(c *plan.Change, of *Row) {
	r.Changes = append(r.Changes, c)
	for i, d := range of.Differences {
		if own := &r.Differences[i]; own.Before != d.Before || own.After != d.After {
			own.Various = true
		}
	}
	for i := range r.Attributes {
		own := &r.Attributes[i]
		same := func(d Difference) bool { return d.Path == own.Path && d.After == own.After }
		if i < len(of.Attributes) && same(of.Attributes[i]) {
			continue // as nearly always
		}
		own.Various = own.Various || !slices.ContainsFunc(of.Attributes, same)
	}
}

// Danger orders actions: what is lost comes first.
func Danger(a plan.Action) int {
	return slices.Index([]plan.Action{
		plan.Delete, plan.DeleteThenCreate, plan.CreateThenDelete, plan.ForgetThenCreate, plan.Forget,
		plan.Update, plan.Create, plan.Read, plan.NoOp,
	}, a)
}

// Addresses is one text for the addresses of all changes of a row.
func (r *Row) Addresses() string {
	all := make([]addr.Object, len(r.Changes))
	for i, c := range r.Changes {
		all[i] = c.Addr
	}
	return addresses(all)
}

// A Block is objects of one block.
type Block struct {
	Objects []addr.Object
}

// Blocks puts objects together that are of one block, in the order of the first ones.
func Blocks(objects []addr.Object) []Block {
	var list []Block
	at := map[addr.Object]int{}
	for _, o := range objects {
		of := addr.Object{Instance: o.Resource.Erase().Instance(addr.NoKey), Deposed: o.Deposed}
		n, known := at[of]
		if !known {
			n, at[of] = len(list), len(list)
			list = append(list, Block{})
		}
		list[n].Objects = append(list[n].Objects, o)
	}
	return list
}

// String is one text for all addresses, with their number where there are several.
func (b Block) String() string {
	if n := len(b.Objects); n > 1 {
		return addresses(b.Objects) + " ×" + strconv.Itoa(n)
	}
	return addresses(b.Objects)
}

// addresses is one text for addresses of one block: what differs in them are instance
// keys.
func addresses(all []addr.Object) string {
	first := all[0]
	if len(all) == 1 {
		return first.String()
	}
	var b strings.Builder
	for i, step := range first.Module.Steps() {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step.Call.String())
		b.WriteString(keys(all, func(a addr.Object) addr.Key { return a.Module.Steps()[i].Key }))
	}
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString(first.Name.String())
	b.WriteString(keys(all, func(a addr.Object) addr.Key { return a.Key }))
	if first.Deposed != "" {
		b.WriteString(" (deposed)")
	}
	return b.String()
}

// keys is one text for the keys at one place of all addresses: numbers as ranges,
// a few names, else [*].
func keys(objects []addr.Object, at func(addr.Object) addr.Key) string {
	var all []addr.Key
	for _, o := range objects {
		all = append(all, at(o))
	}
	slices.SortFunc(all, addr.Key.Compare)
	all = slices.Compact(all)
	slices.SortStableFunc(all, func(a, b addr.Key) int {
		first, _ := a.Str()
		second, _ := b.Str()
		return naturalsort.Compare(first, second)
	})
	switch {
	case len(all) == 1:
		return all[0].String()
	case len(all) > 1 && all[0] == addr.NoKey:
		return "[*]"
	}
	var parts []string
	for i := 0; i < len(all); {
		from, isNumber := all[i].Int()
		if !isNumber {
			text, _ := all[i].Str()
			parts = append(parts, addr.Quote(text))
			i++
			continue
		}
		n := 1
		for i+n < len(all) {
			if next, ok := all[i+n].Int(); !ok || next != from+n {
				break
			}
			n++
		}
		text := strconv.Itoa(from)
		if n > 1 {
			text += "…" + strconv.Itoa(from+n-1)
		}
		parts = append(parts, text)
		i += n
	}
	if text := strings.Join(parts, ", "); len(parts) <= 4 && len(text) <= 40 {
		return "[" + text + "]"
	}
	return "[*]"
}
