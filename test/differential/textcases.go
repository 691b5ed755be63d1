package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

// A textCase is one plan of random types: the configuration, the state before it, and what the
// simulated cloud's provider answers (simcloud/scripted.go).
type textCase struct {
	config        string
	state, script []byte
}

// Nesting modes, as the protocol numbers those of attributes. Blocks have the same with these
// names, by other numbers.
const (
	plain = iota
	single
	list
	set
	mapping
)

// blockNesting has the protocol's numbers for blocks.
var blockNesting = map[int]int{single: 1, list: 2, set: 3, mapping: 4}

// A shape is an attribute of a schema. Its JSON is what the scripted provider reads.
type shape struct {
	Name                                               string
	Type                                               json.RawMessage
	Nesting                                            int
	Attributes                                         []shape
	Required, Optional, Computed, Sensitive, WriteOnly bool

	leaf  cty.Type
	inSet bool
}

func (a shape) object() cty.Type {
	types := map[string]cty.Type{}
	for _, inner := range a.Attributes {
		types[inner.Name] = inner.ty()
	}
	return cty.Object(types)
}

func (a shape) ty() cty.Type {
	if a.Nesting == plain {
		return a.leaf
	}
	return nested(a.Nesting, a.object())
}

func nested(nesting int, ty cty.Type) cty.Type {
	switch nesting {
	case list:
		return cty.List(ty)
	case set:
		return cty.Set(ty)
	case mapping:
		return cty.Map(ty)
	}
	return ty
}

// A blockShape is the content of a resource or of a nested block.
type blockShape struct {
	Attributes []shape
	Blocks     []nestedShape
}

type nestedShape struct {
	Name    string
	Nesting int // as the protocol numbers it
	Block   blockShape

	mode int
}

func (b blockShape) ty() cty.Type {
	types := map[string]cty.Type{}
	for _, a := range b.Attributes {
		types[a.Name] = a.ty()
	}
	for _, n := range b.Blocks {
		types[n.Name] = nested(n.mode, n.Block.ty())
	}
	return cty.Object(types)
}

// texts draws cases from one source. Secrets have texts of their own: weir hides every value
// that repeats one.
type texts struct {
	*rand.Rand
	secret bool
	// oneLine: the reference pairs objects and texts of several lines in lists with an unchanged
	// neighbour ("Inserted elements leave others as they are").
	oneLine bool
}

// hiding draws what belongs to a sensitive value.
func (s texts) hiding(sensitive bool) texts {
	s.secret = s.secret || sensitive
	return s
}

// chance is true once in n times.
func (s texts) chance(n int) bool { return s.IntN(n) == 0 }

func pick[T any](s texts, from ...T) T { return from[s.IntN(len(from))] }

// shapes draws some attributes. Write-only ones are only those of blocks: inside attributes the
// reference prints them or not, by chance. In a set none is sensitive: a mark inside it is one
// of the whole set, and weir hides what repeats a part of it.
func (s texts) shapes(depth int, top, inSet bool) (out []shape) {
	names := []string{"alpha", "beta_long", "c", "delta", "id", "name"}
	s.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:1+s.IntN(4)] {
		a := shape{Name: name}
		if depth > 0 && s.chance(2) {
			a.Nesting = 1 + s.IntN(4)
			a.Attributes = s.shapes(depth-1, false, inSet || a.Nesting == set)
			a.Type = json.RawMessage(`"string"`)
		} else {
			a.leaf = pick(s, cty.String, cty.String, cty.String, cty.Number, cty.Bool, cty.List(cty.String), cty.Set(cty.String), cty.Map(cty.String),
				cty.Set(cty.Number), cty.Map(cty.Object(map[string]cty.Type{"key": cty.String, "n": cty.Number})))
			a.Type, _ = json.Marshal(a.leaf)
		}
		switch s.IntN(6) {
		case 0:
			a.Required = true
		case 1:
			a.Computed = true
		case 2, 3:
			a.Optional, a.Computed = true, true
		default:
			a.Optional = true
		}
		a.Sensitive, a.inSet = !inSet && s.chance(10), inSet
		if a.Nesting == plain && !a.Computed && top && !inSet && s.chance(8) {
			a.WriteOnly = true
		}
		out = append(out, a)
	}
	return out
}

func (s texts) block(depth int) blockShape {
	b := blockShape{Attributes: s.shapes(2, true, false)}
	if depth == 0 || !s.chance(3) {
		return b
	}
	for _, name := range []string{"rule", "tag"}[:1+s.IntN(2)] {
		n := nestedShape{Name: name, mode: 1 + s.IntN(4)}
		n.Nesting = blockNesting[n.mode]
		n.Block = blockShape{Attributes: s.shapes(1, true, n.mode == set)}
		b.Blocks = append(b.Blocks, n)
	}
	return b
}

var words = []string{"a", "b", "web", "10.0.0.0/16", "longer text with spaces", "", "ünïcode", "${not}", "two\nlines\n", "two\nother\n", `{"a":1,"b":["x"]}`, `{"a":2,"b":["x","y"]}`}

func (s texts) word() cty.Value {
	if s.secret {
		return cty.StringVal(pick(s, "a first secret", "a second secret"))
	}
	word := pick(s, words...)
	for s.oneLine && strings.Contains(word, "\n") {
		word = pick(s, words...)
	}
	return cty.StringVal(word)
}

// fresh draws a value of a type.
func (s texts) fresh(ty cty.Type) cty.Value {
	switch {
	case ty == cty.String:
		return s.word()
	case ty == cty.List(cty.String):
		s.oneLine = true
	case ty == cty.Number:
		return pick(s, cty.NumberIntVal(0), cty.NumberIntVal(int64(s.IntN(5))), cty.NumberFloatVal(1.5), cty.NumberIntVal(123456789012))
	case ty == cty.Bool:
		return cty.BoolVal(s.chance(2))
	case ty.IsObjectType():
		values := map[string]cty.Value{}
		for _, name := range sortedKeys(ty.AttributeTypes()) {
			values[name] = s.fresh(ty.AttributeType(name))
		}
		return cty.ObjectVal(values)
	}
	return s.collect(ty, s.IntN(4), func(int, string) cty.Value { return s.fresh(ty.ElementType()) })
}

// collect makes a list, set or map of n elements.
func (s texts) collect(ty cty.Type, n int, element func(i int, key string) cty.Value) cty.Value {
	var elements []cty.Value
	byKey := map[string]cty.Value{}
	for i := range n {
		key := []string{"k1", "key two", "third"}[i%3]
		v := element(i, key)
		elements = append(elements, v)
		byKey[key] = v
	}
	return collection(ty, elements, byKey)
}

func collection(ty cty.Type, elements []cty.Value, byKey map[string]cty.Value) cty.Value {
	switch {
	case ty.IsMapType():
		if len(byKey) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(byKey)
	case len(elements) == 0 && ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case len(elements) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(elements)
	}
	return cty.ListVal(elements)
}

// prior draws what the state has for an attribute.
func (s texts) prior(a shape) cty.Value {
	s = s.hiding(a.Sensitive)
	if a.WriteOnly || !a.Required && s.chance(5) {
		return cty.NullVal(a.ty())
	}
	if a.Nesting == plain {
		return s.fresh(a.leaf)
	}
	one := func() cty.Value { return s.priorObject(a.Attributes) }
	if a.Nesting == single {
		return one()
	}
	return s.collect(a.ty(), s.IntN(4), func(int, string) cty.Value { return one() })
}

func (s texts) priorObject(attributes []shape) cty.Value {
	values := map[string]cty.Value{}
	for _, a := range attributes {
		values[a.Name] = s.prior(a)
	}
	return cty.ObjectVal(values)
}

func (s texts) priorBlock(b blockShape) cty.Value {
	values := s.priorObject(b.Attributes).AsValueMap()
	if values == nil {
		values = map[string]cty.Value{}
	}
	for _, n := range b.Blocks {
		one := func() cty.Value { return s.priorBlock(n.Block) }
		switch {
		case n.mode != single:
			values[n.Name] = s.collect(nested(n.mode, n.Block.ty()), s.IntN(4), func(int, string) cty.Value { return one() })
		case s.chance(3):
			values[n.Name] = cty.NullVal(n.Block.ty())
		default:
			values[n.Name] = one()
		}
	}
	return cty.ObjectVal(values)
}

// An argument is what the configuration has for an attribute, "null" for nothing, and what
// is planned for it.
type argument struct {
	text    string
	planned cty.Value
}

// later is a value of any type that isn't known yet.
const later = "jsondecode(terraform_data.later.id)"

// plan draws an argument beside what the state has.
func (s texts) plan(a shape, prior cty.Value) argument {
	s = s.hiding(a.Sensitive)
	ty := a.ty()
	if a.WriteOnly {
		text := "null"
		if a.Required || s.chance(2) {
			text = literal(s.fresh(ty))
		}
		return argument{text, cty.NullVal(ty)}
	}
	if !a.Required && !a.Optional || a.Optional && a.Computed && s.chance(2) {
		return argument{"null", s.computed(a, prior)}
	}
	if a.Optional && s.chance(6) {
		if a.Computed {
			return argument{"null", s.computed(a, prior)}
		}
		return argument{"null", cty.NullVal(ty)}
	}
	if s.chance(12) {
		if ty == cty.String && s.chance(2) {
			return argument{`"vpc-${terraform_data.later.id}"`, cty.UnknownVal(ty).Refine().NotNull().StringPrefixFull("vpc-").NewValue()}
		}
		return argument{later, cty.UnknownVal(ty)}
	}
	if a.Nesting == plain {
		if ty == cty.String && !a.inSet && s.chance(15) {
			v := s.hiding(true).word()
			return argument{"sensitive(" + literal(v) + ")", v}
		}
		v := prior
		if prior.IsNull() || s.chance(3) {
			v = s.edit(prior, ty)
		}
		return argument{literal(v), v}
	}
	one := func(prior cty.Value) argument { return s.planObject(a, prior) }
	if a.Nesting == single {
		if prior.IsNull() {
			prior = cty.NullVal(a.object())
		}
		return one(prior)
	}
	return s.planElements(a.Nesting, ty, prior, one)
}

func (s texts) planObject(a shape, prior cty.Value) argument {
	values := map[string]cty.Value{}
	var b strings.Builder
	b.WriteString("{\n")
	for _, inner := range a.Attributes {
		arg := s.plan(inner, member(prior, inner.Name, inner.ty()))
		values[inner.Name] = arg.planned
		fmt.Fprintf(&b, "%s = %s\n", inner.Name, arg.text)
	}
	b.WriteString("}")
	return argument{b.String(), cty.ObjectVal(values)}
}

func member(object cty.Value, name string, ty cty.Type) cty.Value {
	if object.IsNull() {
		return cty.NullVal(ty)
	}
	return object.GetAttr(name)
}

// planElements draws the elements of a list, set or map: some of the state's, some new.
func (s texts) planElements(mode int, ty cty.Type, before cty.Value, one func(prior cty.Value) argument) argument {
	var elements []cty.Value
	var parts []string
	byKey := map[string]cty.Value{}
	none := cty.NullVal(ty.ElementType())
	add := func(key string, old cty.Value) {
		arg := one(old)
		elements = append(elements, arg.planned)
		byKey[key] = arg.planned
		if mode == mapping {
			arg.text = fmt.Sprintf("%q = %s", key, arg.text)
		}
		parts = append(parts, arg.text)
	}
	if !before.IsNull() {
		for it := before.ElementIterator(); it.Next(); {
			key, old := it.Element()
			if s.chance(5) {
				continue // it goes
			}
			if mode != mapping && s.chance(8) {
				add("", none) // one comes before it
			}
			name := ""
			if mode == mapping {
				name = key.AsString()
			}
			add(name, old)
		}
	}
	for s.chance(3) {
		if key := pick(s, "k1", "new", "third"); byKey[key] == cty.NilVal {
			add(key, none)
		}
	}
	open, end := "[", "]"
	if mode == mapping {
		open, end = "{", "}"
	}
	separator := ",\n"
	if mode == mapping {
		separator = "\n"
	}
	return argument{open + strings.Join(parts, separator) + end, collection(ty, elements, byKey)}
}

// computed draws what the provider plans for an attribute without a configuration.
func (s texts) computed(a shape, prior cty.Value) cty.Value {
	ty := a.ty()
	switch s.IntN(10) {
	case 0, 1, 2, 3:
		return prior
	case 4, 5:
		return cty.UnknownVal(ty)
	case 6:
		return s.refined(ty)
	}
	if a.Nesting == plain {
		return s.fresh(ty)
	}
	known := a
	known.Required = true
	return s.partly(s.prior(known))
}

// refined is an unknown value of which something is known.
func (s texts) refined(ty cty.Type) cty.Value {
	b := cty.UnknownVal(ty).Refine().NotNull()
	switch {
	case ty == cty.String && s.chance(2):
		b = b.StringPrefixFull("vpc-")
	case ty == cty.Number && s.chance(2):
		b = b.NumberRangeLowerBound(cty.NumberIntVal(1), true).NumberRangeUpperBound(cty.NumberIntVal(9), true)
	case ty.IsCollectionType() && s.chance(2):
		b = b.CollectionLengthLowerBound(1).CollectionLengthUpperBound(5)
	}
	return b.NewValue()
}

// partly makes some parts of a value unknown.
func (s texts) partly(v cty.Value) cty.Value {
	if v.IsNull() || !s.chance(2) {
		return v
	}
	// Objects are walked in the order of a Go map, so the path decides.
	salt := s.Uint64()
	out, err := cty.Transform(v, func(p cty.Path, v cty.Value) (cty.Value, error) {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %#v", salt, p)
		if len(p) > 0 && !v.IsNull() && v.Type().IsPrimitiveType() && h.Sum64()%3 == 0 {
			return cty.UnknownVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// edit changes something about a value.
func (s texts) edit(v cty.Value, ty cty.Type) cty.Value {
	s.oneLine = ty == cty.List(cty.String)
	if v.IsNull() || ty.IsPrimitiveType() || ty.IsObjectType() || s.chance(3) {
		return s.fresh(ty)
	}
	var elements []cty.Value
	byKey := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		key, e := it.Element()
		if s.chance(5) {
			continue
		}
		if s.chance(5) {
			e = s.fresh(ty.ElementType())
		}
		elements = append(elements, e)
		if ty.IsMapType() {
			byKey[key.AsString()] = e
		}
	}
	if s.chance(3) {
		e := s.fresh(ty.ElementType())
		elements = slices.Insert(elements, s.IntN(len(elements)+1), e)
		byKey["new"] = e
	}
	return collection(ty, elements, byKey)
}

// planBlock draws the body of a resource or block.
func (s texts) planBlock(b blockShape, prior cty.Value) argument {
	values := map[string]cty.Value{}
	var text strings.Builder
	for _, a := range b.Attributes {
		arg := s.plan(a, member(prior, a.Name, a.ty()))
		values[a.Name] = arg.planned
		if arg.text != "null" {
			fmt.Fprintf(&text, "%s = %s\n", a.Name, arg.text)
		}
	}
	for _, n := range b.Blocks {
		ty := nested(n.mode, n.Block.ty())
		old := member(prior, n.Name, ty)
		write := func(label string, arg argument) {
			fmt.Fprintf(&text, "%s%s {\n%s}\n", n.Name, label, arg.text)
		}
		if n.mode == single {
			if s.chance(4) {
				values[n.Name] = cty.NullVal(ty)
				continue
			}
			arg := s.planBlock(n.Block, old)
			write("", arg)
			values[n.Name] = arg.planned
			continue
		}
		var bodies []argument
		all := s.planElements(n.mode, ty, old, func(prior cty.Value) argument {
			arg := s.planBlock(n.Block, prior)
			bodies = append(bodies, arg)
			return argument{fmt.Sprintf("\x00%d", len(bodies)-1), arg.planned}
		})
		values[n.Name] = all.planned
		for _, part := range strings.FieldsFunc(strings.Trim(all.text, "[]{}"), func(r rune) bool { return r == '\n' || r == ',' }) {
			label, place, _ := strings.Cut(part, "\x00")
			var i int
			fmt.Sscan(place, &i)
			if label = strings.TrimSuffix(label, " = "); label != "" {
				label = " " + label
			}
			write(label, bodies[i])
		}
	}
	return argument{text.String(), cty.ObjectVal(values)}
}

// literal writes a value as an expression.
func literal(v cty.Value) string { return string(hclwrite.TokensForValue(v).Bytes()) }

// drawText draws the case of a seed: two to four objects of types of their own.
func drawText(seed uint64) textCase {
	s := texts{Rand: rand.New(rand.NewPCG(seed, 31))}
	var config strings.Builder
	config.WriteString("terraform {\n  required_providers {\n    sim = {\n      source = \"weir/sim\"\n    }\n  }\n}\n\nresource \"terraform_data\" \"later\" {\n  input = timestamp()\n}\n")
	types := map[string]any{}
	resources := []any{}
	for i := range 2 + s.IntN(3) {
		name := fmt.Sprintf("sim_%c", 'a'+i)
		b := s.block(1)
		t := map[string]any{"Schema": b}
		types[name] = t
		if s.chance(6) {
			b.knownInside()
			s.data(&config, name, b)
			continue
		}
		kind := pick(s, "create", "update", "update", "update", "replace", "delete")
		prior := cty.NullVal(b.ty())
		if kind != "create" {
			prior = s.priorBlock(b)
			resources = append(resources, storedObject(name, b, prior))
			if s.chance(6) {
				// Something else changed it meanwhile.
				prior = s.planBlock(b, prior).planned
				prior = cty.UnknownAsNull(prior)
				t["Read"] = packed(prior, b.ty())
			}
		}
		if kind == "delete" {
			continue
		}
		arg := s.planBlock(b, prior)
		fmt.Fprintf(&config, "\nresource %q \"x\" {\n%s}\n", name, arg.text)
		if !s.chance(3) {
			t["Planned"] = packed(arg.planned, b.ty())
		} else {
			t["Keep"] = s.chance(2)
		}
		if kind == "replace" {
			t["Replace"] = s.replacing(b)
		}
	}
	return textCase{config.String(), document(map[string]any{
		"version": 4, "terraform_version": "1.12.0", "serial": 1, "lineage": "texts", "outputs": map[string]any{}, "resources": resources, "check_results": nil,
	}), document(map[string]any{"Types": types})}
}

// knownInside leaves nothing computed inside nested attributes and blocks: the reference plans null there for
// a data source that is read during the apply ("Nested computed attributes of data are unknown").
func (b blockShape) knownInside() {
	for _, a := range b.Attributes {
		notComputed(a.Attributes)
	}
	for _, n := range b.Blocks {
		notComputed(n.Block.Attributes)
	}
}

func notComputed(list []shape) {
	for i := range list {
		if list[i].Computed {
			list[i].Computed, list[i].Optional = false, true
		}
		notComputed(list[i].Attributes)
	}
}

// data writes a data source that is read during the apply: it waits for the managed resource.
func (s texts) data(config *strings.Builder, name string, b blockShape) {
	arg := s.planBlock(b, cty.NullVal(b.ty()))
	fmt.Fprintf(config, "\ndata %q \"x\" {\n%sdepends_on = [terraform_data.later]\n}\n", name, arg.text)
}

// replacing draws paths that force a replacement.
func (s texts) replacing(b blockShape) (paths [][]any) {
	for _, a := range b.Attributes {
		if a.WriteOnly || !s.chance(2) {
			continue
		}
		path := []any{a.Name}
		// An element may not exist, and a path to none is an error.
		for a.Nesting == single && s.chance(2) {
			a = pick(s, a.Attributes...)
			path = append(path, a.Name)
		}
		paths = append(paths, path)
	}
	return paths
}

// storedObject is an object as the state has it.
func storedObject(name string, b blockShape, v cty.Value) any {
	data, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		panic(err)
	}
	// Inside a set the whole set is sensitive.
	_, marked := v.MarkWithPaths(b.secrets(v, nil)).UnmarkDeepWithPaths()
	secrets := []any{}
	for _, m := range marked {
		var steps []any
		for _, step := range m.Path {
			switch step := step.(type) {
			case cty.GetAttrStep:
				steps = append(steps, map[string]any{"type": "get_attr", "value": step.Name})
			case cty.IndexStep:
				key := map[string]any{"type": "number"}
				if step.Key.Type() == cty.String {
					key["value"], key["type"] = step.Key.AsString(), "string"
				} else {
					key["value"], _ = step.Key.AsBigFloat().Int64()
				}
				steps = append(steps, map[string]any{"type": "index", "value": key})
			}
		}
		secrets = append(secrets, steps)
	}
	// Paths come in the order of a Go map.
	slices.SortFunc(secrets, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return map[string]any{
		"mode": "managed", "type": name, "name": "x", "provider": `provider["registry.opentofu.org/weir/sim"]`,
		"instances": []any{map[string]any{"schema_version": 0, "attributes": json.RawMessage(data), "sensitive_attributes": secrets}},
	}
}

// secrets are the paths of a value that its schema calls sensitive.
func (b blockShape) secrets(v cty.Value, at cty.Path) []cty.PathValueMarks {
	paths := attributeSecrets(b.Attributes, v, at)
	for _, n := range b.Blocks {
		inner := append(slices.Clone(at), cty.GetAttrStep{Name: n.Name})
		paths = append(paths, eachSecret(n.mode, v.GetAttr(n.Name), inner, n.Block.secrets)...)
	}
	return paths
}

func attributeSecrets(attributes []shape, v cty.Value, at cty.Path) (paths []cty.PathValueMarks) {
	for _, a := range attributes {
		inner := append(slices.Clone(at), cty.GetAttrStep{Name: a.Name})
		if a.Sensitive {
			paths = append(paths, cty.PathValueMarks{Path: inner, Marks: cty.NewValueMarks("sensitive")})
		}
		if a.Nesting != plain {
			paths = append(paths, eachSecret(a.Nesting, v.GetAttr(a.Name), inner, func(v cty.Value, at cty.Path) []cty.PathValueMarks {
				return attributeSecrets(a.Attributes, v, at)
			})...)
		}
	}
	return paths
}

func eachSecret(mode int, v cty.Value, at cty.Path, one func(v cty.Value, at cty.Path) []cty.PathValueMarks) (paths []cty.PathValueMarks) {
	if v.IsNull() {
		return nil
	}
	if mode == single {
		return one(v, at)
	}
	for it := v.ElementIterator(); it.Next(); {
		key, e := it.Element()
		paths = append(paths, one(e, append(slices.Clone(at), cty.IndexStep{Key: key}))...)
	}
	return paths
}

func packed(v cty.Value, ty cty.Type) []byte {
	data, err := msgpack.Marshal(v, ty)
	if err != nil {
		panic(err)
	}
	return data
}

func document(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}
