package eval

import (
	"maps"
	"math/big"
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

// MaxInstances is the largest count: more instances than any machine holds
// are a mistake that deserves an error rather than an exhausted machine.
const MaxInstances = 10_000_000

// Each is what each and count mean in one instance of a block. It isn't changed.
type Each struct {
	Key   addr.Key
	Value cty.Value // each.value, NilVal for count and with a source
	// Element is each.key where it isn't the text of Key: in import blocks, whose
	// for_each takes lists and sets of anything.
	Element cty.Value

	source *source // of the block, nil for most
}

// index is count.index, NilVal where it has no meaning.
func (e *Each) index() cty.Value {
	if n, ok := e.Key.Int(); ok {
		return cty.NumberIntVal(int64(n))
	}
	if e.Key.IsAny() {
		return cty.UnknownVal(cty.Number).RefineNotNull()
	}
	return cty.NilVal
}

// key is each.key, NilVal where it has no meaning.
func (e *Each) key() cty.Value {
	if e.Element != cty.NilVal {
		return e.Element
	}
	if s, ok := e.Key.Str(); ok {
		return cty.StringVal(s)
	}
	if e.Key.IsAny() {
		return cty.UnknownVal(cty.String).RefineNotNull()
	}
	return cty.NilVal
}

// Kind is how a block is repeated.
type Kind uint8

const (
	Single Kind = iota
	Counted
	Keyed
)

// An Expansion is the instances of a block: their keys and, for for_each,
// their values.
type Expansion struct {
	Kind Kind
	// Unknown: the keys aren't known. The block then has one placeholder
	// instance with the key Any, unless the host says otherwise.
	Unknown bool
	// Count is the number of instances of a Counted block; for a Single one
	// it is 0 or 1.
	Count int
	// Keys are those of a Keyed block, in order, with Values.
	Keys   []string
	Values map[string]cty.Value

	source *source // what the instances read their values from, instead of Values
}

// Each lists what each and count mean, instance by instance.
func (e Expansion) Each() []*Each {
	if e.Unknown {
		return []*Each{{Key: addr.AnyKey, Value: cty.DynamicVal}}
	}
	if e.Kind == Keyed {
		all := make([]*Each, len(e.Keys))
		for i, k := range e.Keys {
			all[i] = &Each{Key: addr.StringKey(k), source: e.source}
			if v, ok := e.Values[k]; ok {
				all[i].Value = v
			} else if e.source == nil {
				all[i].Value = cty.DynamicVal
			}
		}
		return all
	}
	all := make([]*Each, e.Count)
	for i := range all {
		all[i] = only
		if e.Kind == Counted {
			all[i] = &Each{Key: addr.IntKey(i), source: e.source}
		}
	}
	return all
}

// only is of the instance of a block without repetition: nothing has a meaning there.
var only = &Each{}

// members are the instances of one block in one frame.
type members[T any] struct {
	Expansion
	list  []T // in the order of their keys
	byKey map[string]T
}

// index makes byKey, where it is of use.
func (m *members[T]) index() {
	if m.Kind == Keyed && !m.Unknown {
		m.byKey = make(map[string]T, len(m.Keys))
		for i, k := range m.Keys {
			m.byKey[k] = m.list[i]
		}
	}
}

// find returns the one with that key, or nil.
func (m *members[T]) find(k addr.Key) (none T) {
	if m.Unknown {
		if len(m.list) == 0 {
			return none // a circle
		}
		return m.list[0]
	}
	switch m.Kind {
	case Counted:
		if n, ok := k.Int(); ok && n >= 0 && n < len(m.list) {
			return m.list[n]
		}
	case Keyed:
		if s, ok := k.Str(); ok {
			return m.byKey[s]
		}
	case Single:
		if k == addr.NoKey && len(m.list) == 1 {
			return m.list[0]
		}
	}
	return none
}

// has reports whether there is an instance with that key.
func (m *members[T]) has(k addr.Key) bool {
	switch m.Kind {
	case Counted:
		n, ok := k.Int()
		return ok && n < m.Count
	case Keyed:
		s, ok := k.Str()
		_, there := m.byKey[s]
		return ok && there
	}
	return k == addr.NoKey && m.Count == 1
}

// expand lets the host decide, on the ground of the block's repetition.
func (f *Frame) expand(t *promise.Task, b Block) (e Expansion, ok bool) {
	r := b.repeat()
	pending := false
	ok = t.Amend(func(l diag.List) diag.List {
		expr := r.Expr()
		for i := range l {
			if expr != nil && l.HasErrors() && l[i].Values == nil && l[i].Subject != nil && *l[i].Subject == expr.Range() {
				l[i].Values = expressionValues(expr, f.Context(t, nil, cty.NilVal), pending)
			}
		}
		return l
	}, func() {
		e, ok = f.ev.Host.Expand(t, b, func() (Expansion, bool) {
			e, ok := evaluateRepeat(f, t, r)
			pending = e.Unknown && ok
			e.Unknown = e.Unknown || !ok
			return e, ok
		})
	}) && ok
	if !ok {
		t.Fail()
		e.Kind, e.Unknown = kindOf(r), true
	}
	return e, ok
}

func kindOf(r program.Repeat) Kind {
	switch {
	case r.Count != nil:
		return Counted
	case r.ForEach != nil:
		return Keyed
	}
	return Single
}

func evaluateRepeat(f *Frame, t *promise.Task, r program.Repeat) (Expansion, bool) {
	expr := r.Expr()
	if expr == nil {
		return Expansion{Count: 1}, true
	}
	kind := kindOf(r)
	if f.ev.Creates {
		if s := f.sourceOf(kind, expr); s != nil {
			if e, ok := s.expand(t, kind); ok {
				return e, true
			}
		}
	}
	v, ok := Evaluate(t, expr, f.Context(t, nil, cty.NilVal))
	if !ok {
		return Expansion{Kind: kind, Unknown: true}, false
	}
	var e Expansion
	var diags diag.List
	switch kind {
	case Counted:
		e, diags = countOf(v, expr)
	case Keyed:
		e, diags = ForEach(v, expr, "for_each")
	default:
		e, diags = enabled(v, expr)
	}
	e.Kind = kind
	return e, t.Report(diags...)
}

// hidden rejects sensitive values where they would show in instance keys.
func hidden(v cty.Value, expr hcl.Expression, summary, argument string) diag.List {
	var diags diag.List
	if value.HasMark(v, value.Sensitive) {
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), "Sensitive values, or values derived from sensitive values, cannot be used as %s arguments. If used, the sensitive value could be exposed as a resource instance key.", argument))
	}
	return append(diags, fleeting(v, expr, summary, argument)...)
}

// fleeting rejects ephemeral values. A sensitive count is fine: how many instances there are
// doesn't tell what it was made of.
func fleeting(v cty.Value, expr hcl.Expression, summary, argument string) diag.List {
	var diags diag.List
	if value.HasMark(v, value.Ephemeral) {
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), "The given %q value is derived from an ephemeral value, which can't decide which instances exist from one run to the next.", argument))
	}
	return diags
}

func countOf(v cty.Value, expr hcl.Expression) (Expansion, diag.List) {
	const summary = "Invalid count argument"
	diags := fleeting(v, expr, summary, "count")
	if diags.HasErrors() {
		return Expansion{}, diags
	}
	v, _ = v.Unmark()
	if v.IsNull() {
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "count" argument value is null. An integer is required.`))
		return Expansion{}, diags
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil {
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "count" argument value is unsuitable: %s.`, value.ErrorString("", err)))
		return Expansion{}, diags
	}
	if !n.IsKnown() {
		return Expansion{Unknown: true}, diags
	}
	f := n.AsBigFloat()
	switch {
	case !f.IsInt():
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "count" argument value is unsuitable: must be a whole number.`))
	case f.Sign() < 0:
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "count" argument value is unsuitable: must be greater than or equal to zero.`))
	case f.Cmp(big.NewFloat(MaxInstances)) > 0:
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "count" argument value is unsuitable: more than %d instances of one block aren't supported. Is the number meant to be this large?`, MaxInstances))
	}
	if diags.HasErrors() {
		return Expansion{}, diags
	}
	count, _ := f.Int64()
	return Expansion{Count: int(count)}, diags
}

// ForEach reads the value of a for_each argument.
func ForEach(v cty.Value, expr hcl.Expression, argument string) (Expansion, diag.List) {
	const summary = "Invalid for_each argument"
	e := Expansion{Kind: Keyed}
	diags := hidden(v, expr, summary, argument)
	if diags.HasErrors() {
		return e, diags
	}
	v, _ = v.Unmark()
	ty := v.Type()
	isSet := ty.IsSetType()
	switch {
	case ty == cty.DynamicPseudoType && !v.IsKnown():
		e.Unknown = true
		return e, diags
	case v.IsNull():
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "for_each" argument value is unsuitable: the given "for_each" argument value is null. A map or a set of strings is allowed.`))
		return e, diags
	case !isSet && !ty.IsMapType() && !ty.IsObjectType():
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "for_each" argument value is unsuitable: the "for_each" argument must be a map or a set of strings, and you have provided a value of type %s.`, ty.FriendlyName()))
		return e, diags
	case !v.IsKnown():
		e.Unknown = true
		return e, diags
	}
	e.Values = make(map[string]cty.Value, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		k, element := it.Element()
		if isSet {
			k = element
			if diags = setElement(k, expr, &e); diags.HasErrors() || e.Unknown {
				return e, diags
			}
		}
		k, _ = k.Unmark()
		e.Keys = append(e.Keys, k.AsString())
		e.Values[k.AsString()] = element
	}
	sort.Strings(e.Keys)
	return e, diags
}

// ImportEach reads the for_each of an import block. It takes what ForEach takes, and
// also lists, tuples and sets of anything: it makes no instances, so each.key may be an
// index or an element. Without a list, the elements aren't known.
func ImportEach(v cty.Value, expr hcl.Expression) (each []*Each, known bool, diags diag.List) {
	plain, _ := v.Unmark()
	ty := plain.Type()
	lists := ty.IsListType() || ty.IsTupleType()
	sets := ty.IsSetType() && ty.ElementType() != cty.String
	if !lists && !sets {
		e, diags := ForEach(v, expr, "for_each")
		return e.Each(), !e.Unknown, diags
	}
	diags = hidden(v, expr, "Invalid for_each argument", "for_each")
	switch {
	case diags.HasErrors():
		return nil, false, diags
	case plain.IsNull():
		diags.Add(diag.BadRepetition.As("Invalid for_each argument").Error(expr.Range(), `The given "for_each" argument value is null. A map, a set or a list is allowed.`))
		return nil, false, diags
	case !plain.IsKnown():
		return nil, false, diags
	}
	for it := plain.ElementIterator(); it.Next(); {
		k, element := it.Element()
		if sets && !element.IsWhollyKnown() {
			return nil, false, diags
		}
		each = append(each, &Each{Value: element, Element: k})
	}
	return each, true, diags
}

// setElement checks an element of a set that gives keys.
func setElement(k cty.Value, expr hcl.Expression, e *Expansion) diag.List {
	const summary = "Invalid for_each set argument"
	diags := hidden(k, expr, summary, "for_each")
	switch {
	case diags.HasErrors():
	case k.Type() != cty.String && k.IsKnown():
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "for_each" argument value is unsuitable: "for_each" supports maps and sets of strings, but you have provided a set containing type %s.`, k.Type().FriendlyName()))
	case !k.IsKnown():
		e.Unknown = true
	case k.IsNull():
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "for_each" argument value is unsuitable: "for_each" sets must not contain null values.`))
	}
	return diags
}

func enabled(v cty.Value, expr hcl.Expression) (Expansion, diag.List) {
	const summary = "Invalid enabled argument"
	diags := hidden(v, expr, summary, "enabled")
	if diags.HasErrors() {
		return Expansion{}, diags
	}
	v, _ = v.Unmark()
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "enabled" argument value is unsuitable: %s.`, value.ErrorString("", err)))
	case b.IsNull():
		diags.Add(diag.BadRepetition.As(summary).Error(expr.Range(), `The given "enabled" argument value is null. A boolean is required.`))
	case !b.IsKnown():
		return Expansion{Unknown: true}, diags
	case b.True():
		return Expansion{Count: 1}, diags
	}
	return Expansion{}, diags
}

// WithKeys is an expansion that also has the given keys, as far as they are
// of the kind that the configuration makes.
func (e Expansion) WithKeys(keys []addr.Key) Expansion {
	out := Expansion{Kind: e.Kind}
	switch e.Kind {
	case Single:
		out.Count = 1
		if !e.Unknown {
			out.Count = e.Count
		}
		for _, k := range keys {
			if k == addr.NoKey {
				out.Count = 1
			}
		}
	case Counted:
		if !e.Unknown {
			out.Count = e.Count
		}
		for _, k := range keys {
			if n, ok := k.Int(); ok {
				out.Count = max(out.Count, n+1)
			}
		}
	case Keyed:
		out.Values = map[string]cty.Value{}
		maps.Copy(out.Values, e.Values)
		for _, k := range keys {
			if s, ok := k.Str(); ok && out.Values[s] == cty.NilVal {
				out.Values[s] = cty.DynamicVal
			}
		}
		out.Keys = slices.Sorted(maps.Keys(out.Values))
	}
	return out
}
