// Package diff finds the differences between two values and prints them in the form of a plan:
// `+`, `-` and `~` at the left, unchanged parts counted and hidden, secrets never shown.
//
// It owns that form. It doesn't know what the values belong to; plans, states and outputs all
// come here.
package diff

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctymarks"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
)

// A Node is the difference between two forms of one value. Its action is NoOp,
// Create, Update or Delete.
type Node struct {
	Action  plan.Action
	replace bool // it forces the object's replacement
	body    body
}

// Of compares two values without a schema, as those of outputs; NilVal stands
// for no value. Maps are set like objects, and sets like lists.
func Of(before, after cty.Value) *Node {
	d := differ{loose: true}
	return d.value(pair{before: secretsOnly(present(before)), after: secretsOnly(present(after))})
}

// Typed compares two values of one type, such as attributes; NilVal stands for
// no value.
func Typed(before, after cty.Value) *Node {
	d := differ{}
	return d.value(pair{before: secretsOnly(present(before)), after: secretsOnly(present(after))})
}

// Object compares two forms of an object by its schema. Null stands for no
// object. Replace are the paths that force a replacement. Unless relevant is
// nil, only differences at or below its paths count.
func Object(before, after cty.Value, b *schema.Block, replace, relevant []cty.Path) *Node {
	d := differ{}
	p := pair{before: secretsOnly(present(before)), after: secretsOnly(present(after)), replace: newTrail(replace)}
	if relevant != nil {
		p.relevant = newTrail(relevant)
		p.filtered = true
	}
	return d.block(p, b)
}

// present turns null into NilVal.
func present(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	if bare, _ := v.Unmark(); bare.IsNull() {
		return cty.NilVal
	}
	return v
}

// secretsOnly takes off all marks but those that hide a value.
func secretsOnly(v cty.Value) cty.Value {
	if v == cty.NilVal || !value.ContainsMarked(v) {
		return v
	}
	v, _ = v.WrangleMarksDeep(func(mark any, _ cty.Path) (ctymarks.WrangleAction, error) {
		if mark == value.Sensitive || mark == value.Ephemeral {
			return nil, nil
		}
		return ctymarks.WrangleDrop, nil
	})
	return v
}

// A pair is the two forms of one value, NilVal without one.
type pair struct {
	before, after cty.Value
	replace       *trail
	relevant      *trail
	filtered      bool // only what is relevant counts
}

// A trail is the rest of paths that lead to a value.
type trail struct {
	paths []cty.Path
	depth int
}

func newTrail(paths []cty.Path) *trail {
	if len(paths) == 0 {
		return nil
	}
	return &trail{paths: paths}
}

// ends reports whether a path leads exactly here.
func (t *trail) ends() bool {
	return t != nil && slices.ContainsFunc(t.paths, func(p cty.Path) bool { return len(p) == t.depth })
}

// below leaves out the paths that lead exactly here.
func (t *trail) below() *trail {
	if !t.ends() {
		return t
	}
	longer := slices.DeleteFunc(slices.Clone(t.paths), func(p cty.Path) bool { return len(p) == t.depth })
	if len(longer) == 0 {
		return nil
	}
	return &trail{longer, t.depth}
}

func (t *trail) step(s cty.PathStep) *trail {
	if t == nil {
		return nil
	}
	var out []cty.Path
	for _, p := range t.paths {
		if len(p) > t.depth && stepName(p[t.depth]) == stepName(s) {
			out = append(out, p)
		}
	}
	if out == nil {
		return nil
	}
	return &trail{out, t.depth + 1}
}

// stepName is the same for an attribute and an index of that name: providers
// mix the two up.
func stepName(s cty.PathStep) string {
	switch s := s.(type) {
	case cty.GetAttrStep:
		return s.Name
	case cty.IndexStep:
		key, _ := s.Key.Unmark()
		switch {
		case key.IsNull() || !key.IsKnown():
		case key.Type() == cty.String:
			return key.AsString()
		case key.Type() == cty.Number:
			return "#" + key.AsBigFloat().Text('f', -1)
		}
	}
	return "\x00"
}

// child narrows the pair to a part of it.
func (p pair) child(before, after cty.Value, s cty.PathStep) pair {
	c := pair{before: before, after: after, replace: p.replace.step(s), filtered: p.filtered}
	if !p.filtered {
		return c
	}
	if p.relevant.ends() {
		// Anything that lies below something relevant is relevant.
		c.filtered = false
		return c
	}
	c.relevant = p.relevant.step(s)
	if c.relevant == nil {
		c.after = c.before
		c.filtered = false
	}
	return c
}

// element is child for a part of a sequence or set, by either index.
func (p pair) element(before, after cty.Value, index int) pair {
	c := p.child(before, after, cty.IndexStep{Key: cty.NumberIntVal(int64(index))})
	if p.filtered {
		c.after, c.filtered = after, false
	}
	return c
}

// change is what happens to the value as a whole, if its parts don't differ.
func (p pair) change() plan.Action {
	switch {
	case p.before == cty.NilVal && p.after == cty.NilVal:
		return plan.NoOp
	case p.before == cty.NilVal:
		return plan.Create
	case p.after == cty.NilVal:
		return plan.Delete
	}
	return plan.NoOp
}

// combine is the action of a whole whose part has the given action.
func combine(whole, part plan.Action) plan.Action {
	if whole == plan.NoOp && part != plan.NoOp {
		return plan.Update
	}
	return whole
}

type differ struct {
	loose bool // values without a schema
}

func (p pair) node(action plan.Action, b body) *Node {
	return &Node{Action: action, replace: p.replace.ends(), body: b}
}

// value compares two values by their own types.
func (d differ) value(p pair) *Node {
	if n := d.hidden(p, d.value); n != nil {
		return n
	}
	if n := d.unknown(p, d.value); n != nil {
		return n
	}
	kind := kindOf(p.before, d.loose)
	if p.before == cty.NilVal || kind == nullKind && p.after != cty.NilVal {
		kind = kindOf(p.after, d.loose)
	}
	if p.before != cty.NilVal && p.after != cty.NilVal {
		if other := kindOf(p.after, d.loose); other != kind && other != nullKind && kindOf(p.before, d.loose) != nullKind {
			from := d.value(pair{before: p.before})
			to := d.value(pair{after: p.after})
			return p.node(plan.Update, &typeChange{from, to})
		}
		// A null that stands for nothing, beside a collection.
		if kind.isCollection() && (isNull(p.before) || isNull(p.after)) {
			from, to := d.value(pair{before: p.before}), d.value(pair{after: p.after})
			if isNull(p.before) && isNull(p.after) {
				return p.node(plan.NoOp, &scalar{"null", "null"})
			}
			return p.node(plan.Update, &typeChange{from, to})
		}
	}
	switch kind {
	case objectKind:
		return d.object(p)
	case mapKind:
		return d.mapping(p)
	case listKind:
		return d.list(p)
	case tupleKind:
		return d.tuple(p)
	case setKind:
		return d.set(p, d.value, false)
	}
	return d.scalar(p)
}

type kind uint8

const (
	nullKind kind = iota
	stringKind
	numberKind
	boolKind
	otherKind
	objectKind
	mapKind
	listKind
	tupleKind
	setKind
)

func (k kind) isCollection() bool { return k >= objectKind }

func kindOf(v cty.Value, loose bool) kind {
	if v == cty.NilVal {
		return nullKind
	}
	ty := v.Type()
	switch {
	case v.IsNull():
		return nullKind
	case ty == cty.String:
		return stringKind
	case ty == cty.Number:
		return numberKind
	case ty == cty.Bool:
		return boolKind
	case ty.IsObjectType(), ty.IsMapType() && loose:
		return objectKind
	case ty.IsMapType():
		return mapKind
	case ty.IsListType(), (ty.IsSetType() || ty.IsTupleType()) && loose:
		return listKind
	case ty.IsTupleType():
		return tupleKind
	case ty.IsSetType():
		return setKind
	}
	return otherKind
}

func isNull(v cty.Value) bool { return v != cty.NilVal && v.IsNull() }

// hidden answers with a node that keeps the value secret, or nil.
func (d differ) hidden(p pair, compare func(pair) *Node) *Node {
	beforeHidden, afterHidden := isHidden(p.before), isHidden(p.after)
	if !beforeHidden && !afterHidden {
		return nil
	}
	inner := p
	inner.before, inner.after = bare(p.before), bare(p.after)
	if beforeHidden && afterHidden {
		// A part that is hidden with the whole may have a mark of its own, on one side only.
		inner.before, inner.after = uncovered(p.before), uncovered(p.after)
	}
	n := compare(inner)
	action := n.Action
	if action == plan.NoOp && beforeHidden != afterHidden {
		action = plan.Update
	}
	return p.node(action, &secret{n, beforeHidden, afterHidden})
}

func isHidden(v cty.Value) bool {
	return v != cty.NilVal && (v.HasMark(value.Sensitive) || v.HasMark(value.Ephemeral))
}

func bare(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	v, _ = v.Unmark()
	return v
}

func uncovered(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	v, _ = v.UnmarkDeep()
	return v
}

// unknown answers with a node for a value that isn't known yet, or nil.
func (d differ) unknown(p pair, compare func(pair) *Node) *Node {
	if p.after == cty.NilVal || p.after.IsKnown() {
		if p.before == cty.NilVal || p.before.IsKnown() {
			return nil
		}
		return p.node(plan.Update, &later{})
	}
	if p.before == cty.NilVal {
		return p.node(plan.Create, &later{})
	}
	// The whole says that it forces a replacement; the old value doesn't repeat it.
	return p.node(plan.Update, &later{before: compare(pair{before: p.before, replace: p.replace.below()})})
}

func (d differ) scalar(p pair) *Node {
	action := p.change()
	if action == plan.NoOp && p.before != cty.NilVal && !same(p.before, p.after) {
		action = plan.Update
	}
	if kindOf(p.before, d.loose) == stringKind || kindOf(p.after, d.loose) == stringKind {
		return p.node(action, &text{stringOf(p.before), stringOf(p.after)})
	}
	return p.node(action, &scalar{scalarText(p.before), scalarText(p.after)})
}

func same(a, b cty.Value) bool {
	if a.IsNull() && b.IsNull() {
		return true
	}
	return a.RawEquals(b)
}

func scalarText(v cty.Value) string {
	switch {
	case v == cty.NilVal || v.IsNull():
		return "null"
	case v.Type() == cty.Number:
		return NumberText(v.AsBigFloat())
	case v.Type() == cty.Bool:
		return strconv.FormatBool(v.True())
	}
	return "(" + v.Type().FriendlyName() + ")"
}

// mostBits is how far from 1 a number may be to be written with all its digits: nobody
// counts more of them, and one of a few characters may have millions.
const mostBits = 10_000

// NumberText is a number as it is shown.
func NumberText(n *big.Float) string {
	if e := n.MantExp(nil); e > mostBits || e < -mostBits {
		return n.Text('p', 10) // it needs no decimal digits
	}
	return n.Text('f', -1)
}

// stringOf returns the text of a string, nil for null or nothing.
func stringOf(v cty.Value) *string {
	if v == cty.NilVal || v.IsNull() || v.Type() != cty.String {
		return nil
	}
	s := v.AsString()
	return &s
}

// fingerprint is equal for equal values only.
func fingerprint(v cty.Value) string {
	var b strings.Builder
	appendFingerprint(&b, v)
	return b.String()
}

func appendFingerprint(b *strings.Builder, v cty.Value) {
	if isHidden(v) {
		b.WriteByte('!')
	}
	v = bare(v)
	switch ty := v.Type(); {
	case v == cty.NilVal || v.IsNull():
		b.WriteString("null")
	case !v.IsKnown():
		b.WriteString("?")
	case ty == cty.String:
		b.WriteString(strconv.Quote(v.AsString()))
	case ty.IsPrimitiveType():
		b.WriteString(scalarText(v))
	case v.CanIterateElements():
		b.WriteByte('(')
		for key, element := range v.Elements() {
			if !ty.IsSetType() && !ty.IsListType() && !ty.IsTupleType() {
				b.WriteString(strconv.Quote(key.AsString()) + "=")
			}
			appendFingerprint(b, element)
			b.WriteByte(',')
		}
		b.WriteByte(')')
	default:
		b.WriteString(v.GoString())
	}
}
