// Package brief puts the changes of a plan that are alike into one row each, the
// most dangerous ones first, so that a plan of five hundred changes can be read.
//
// It owns what counts as alike, and the order. It refuses to know where rows are
// shown: on a terminal or in a page for reviews.
package brief

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/front/view/jsonplan"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/word/addr"
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
	// have the same ones. Objects that are made or that end have none.
	Differences []Difference
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

// Rows puts the changes of a plan in rows.
func Rows(p *plan.Plan) []*Row {
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
	for _, c := range jsonplan.Shown(p.Changes) {
		if c.Action == plan.NoOp && !c.Moved() && c.Importing == nil {
			continue
		}
		r := &Row{
			Action: c.Action, Reason: c.Reason, Outside: outside[c.Addr],
			Moved: c.Moved(), Imported: c.Importing != nil,
			Differences: differences(p, c),
		}
		key := r.key(c)
		if known := byKey[key]; known != nil {
			known.add(c, r.Differences)
			continue
		}
		r.Changes = []*plan.Change{c}
		byKey[key] = r
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(Danger(a.Action), Danger(b.Action)) })
	return rows
}

// key is the same for changes that belong in one row.
func (r *Row) key(c *plan.Change) string {
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

// add takes a further change into a row.
func (r *Row) add(c *plan.Change, differences []Difference) {
	r.Changes = append(r.Changes, c)
	for i, d := range differences {
		if own := &r.Differences[i]; own.Before != d.Before || own.After != d.After {
			own.Various = true
		}
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
