package contract

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
)

type object = map[string]cty.Value

func str(s string) cty.Value         { return cty.StringVal(s) }
func obj(values object) cty.Value    { return cty.ObjectVal(values) }
func list(vs ...cty.Value) cty.Value { return cty.ListVal(vs) }
func set(vs ...cty.Value) cty.Value  { return cty.SetVal(vs) }
func path(name string, steps ...any) cty.Path {
	p := cty.GetAttrPath(name)
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			p = p.IndexString(s)
		case int:
			p = p.IndexInt(s)
		case cty.PathStep:
			p = append(p, s)
		}
	}
	return p
}

var (
	null    = cty.NullVal(cty.String)
	unknown = cty.UnknownVal(cty.String)
)

// server has an argument, something computed, something of both, a secret,
// and disks as nested blocks of the given nesting.
func server(n schema.Nesting) *schema.Block {
	return &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"name":  {Type: cty.String, Required: true},
			"id":    {Type: cty.String, Computed: true},
			"size":  {Type: cty.String, Optional: true, Computed: true},
			"token": {Type: cty.String, Optional: true, Sensitive: true},
			"tags":  {Type: cty.Map(cty.String), Optional: true},
		},
		Blocks: map[string]*schema.NestedBlock{
			"disk": {Nesting: n, Block: &schema.Block{Attributes: map[string]*schema.Attribute{
				"gb": {Type: cty.String, Optional: true},
				"id": {Type: cty.String, Computed: true},
			}}},
		},
	}
}

func disk(gb, id cty.Value) cty.Value { return obj(object{"gb": gb, "id": id}) }

// with is a server value; what isn't given is null.
func with(b *schema.Block, values object) cty.Value {
	all := b.EmptyValue().AsValueMap()
	for name, v := range values {
		all[name] = v
	}
	return cty.ObjectVal(all)
}

func TestProposedNewPairsDisks(t *testing.T) {
	a, b, c := str("a"), str("b"), str("c")
	tests := map[string]struct {
		nesting             schema.Nesting
		prior, config, want cty.Value
	}{
		"list by index": {
			schema.List,
			list(disk(a, str("1")), disk(b, str("2"))),
			list(disk(b, null)),
			list(disk(b, str("1"))),
		},
		"list grows": {
			schema.List,
			list(disk(a, str("1"))),
			list(disk(a, null), disk(b, null)),
			list(disk(a, str("1")), disk(b, null)),
		},
		"set by what is configured": {
			schema.Set,
			set(disk(a, str("1")), disk(b, str("2"))),
			set(disk(b, null), disk(c, null)),
			set(disk(b, str("2")), disk(c, null)),
		},
		"set uses a prior element once": {
			schema.Set,
			set(disk(null, str("1"))),
			set(disk(null, null), disk(a, null)),
			set(disk(null, str("1")), disk(a, null)),
		},
		"map by key": {
			schema.Map,
			cty.MapVal(object{"x": disk(a, str("1")), "y": disk(b, str("2"))}),
			cty.MapVal(object{"y": disk(c, null), "z": disk(c, null)}),
			cty.MapVal(object{"y": disk(c, str("2")), "z": disk(c, null)}),
		},
		"group": {schema.Group, disk(a, str("1")), disk(b, null), disk(b, str("1"))},
		"unknown blocks": {
			schema.List,
			list(disk(a, str("1"))),
			cty.UnknownVal(cty.List(cty.Object(map[string]cty.Type{"gb": cty.String, "id": cty.String}))),
			cty.UnknownVal(cty.List(cty.Object(map[string]cty.Type{"gb": cty.String, "id": cty.String}))),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := server(test.nesting)
			prior := with(s, object{"name": str("n"), "id": str("i"), "size": str("s"), "disk": test.prior})
			config := with(s, object{"name": str("m"), "disk": test.config})
			want := with(s, object{"name": str("m"), "id": str("i"), "size": str("s"), "disk": test.want})
			if got := ProposedNew(s, prior, config); !got.RawEquals(want) {
				t.Errorf("got  %#v\nwant %#v", got, want)
			}
		})
	}
}

// TestProposedNewPairsByMaps: an element of a set is that of before only if its nested map has
// the keys and arguments of before.
func TestProposedNewPairsByMaps(t *testing.T) {
	nested := &schema.Object{Nesting: schema.Map, Attributes: map[string]*schema.Attribute{
		"gb": {Type: cty.String, Optional: true},
		"id": {Type: cty.String, Computed: true},
	}}
	b := &schema.Block{Blocks: map[string]*schema.NestedBlock{"server": {Nesting: schema.Set, Block: &schema.Block{Attributes: map[string]*schema.Attribute{
		"disks": {Nested: nested, Optional: true},
		"id":    {Type: cty.String, Computed: true},
	}}}}}
	servers := func(id cty.Value, key string, d cty.Value) cty.Value {
		return obj(object{"server": set(obj(object{"disks": cty.MapVal(object{key: d}), "id": id}))})
	}
	prior := servers(str("i"), "x", disk(str("a"), str("1")))
	for name, test := range map[string]struct{ config, want cty.Value }{
		"equal":          {servers(null, "x", disk(str("a"), null)), prior},
		"other key":      {servers(null, "y", disk(str("a"), null)), servers(null, "y", disk(str("a"), null))},
		"other argument": {servers(null, "x", disk(str("b"), null)), servers(null, "x", disk(str("b"), null))},
	} {
		if got := ProposedNew(b, prior, test.config); !got.RawEquals(test.want) {
			t.Errorf("%s: got  %#v\nwant %#v", name, got, test.want)
		}
	}
}

// An element of a set whose computed set has a value isn't paired, as in OpenTofu and Terraform.
func TestProposedNewPairsNoSetsInSets(t *testing.T) {
	b := &schema.Block{Blocks: map[string]*schema.NestedBlock{"disk": {Nesting: schema.Set, Block: &schema.Block{Attributes: map[string]*schema.Attribute{
		"gb":   {Type: cty.String, Optional: true},
		"id":   {Type: cty.String, Computed: true},
		"uses": {Type: cty.Set(cty.String), Computed: true},
	}}}}}
	none := cty.NullVal(cty.Set(cty.String))
	one := func(id, uses cty.Value) cty.Value {
		return obj(object{"disk": set(obj(object{"gb": str("a"), "id": id, "uses": uses}))})
	}
	for name, pair := range map[string][2]cty.Value{
		"no value": {one(str("1"), none), one(str("1"), none)},
		"a value":  {one(str("1"), set(str("x"))), one(null, none)},
	} {
		if got := ProposedNew(b, pair[0], one(null, none)); !got.RawEquals(pair[1]) {
			t.Errorf("%s: got %#v", name, got)
		}
	}
}

// An element of a set is that of before if the configuration has everything that it had. Nested
// objects may come in addition.
func TestProposedNewPairsNested(t *testing.T) {
	in := map[string]*schema.Attribute{"in": {Type: cty.String, Optional: true}}
	single, many, mapped := &schema.Object{Nesting: schema.Single, Attributes: in}, &schema.Object{Nesting: schema.List, Attributes: in}, &schema.Object{Nesting: schema.Map, Attributes: in}
	chosen := &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"out": {Type: cty.String, Computed: true}}}
	b := &schema.Block{Blocks: map[string]*schema.NestedBlock{"disk": {Nesting: schema.Set, Block: &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"id":     {Type: cty.String, Computed: true},
			"own":    {Nested: single, Optional: true},
			"list":   {Nested: many, Optional: true},
			"map":    {Nested: mapped, Optional: true},
			"chosen": {Nested: chosen, Optional: true, Computed: true},
		},
		Blocks: map[string]*schema.NestedBlock{"mount": {Nesting: schema.List, Block: &schema.Block{Attributes: in}}},
	}}}}
	none := b.Blocks["disk"].Block.EmptyValue().AsValueMap()
	disk := func(values object) cty.Value {
		all := maps.Clone(none)
		maps.Copy(all, values)
		return cty.ObjectVal(all)
	}
	x, y := obj(object{"in": str("x")}), obj(object{"in": str("y")})
	for name, test := range map[string]struct {
		prior, config object
		paired        bool
	}{
		"an object comes":     {object{}, object{"own": x}, true},
		"an object goes":      {object{"own": x}, object{}, false},
		"another object":      {object{"own": x}, object{"own": y}, false},
		"a list comes":        {object{}, object{"list": list(x)}, true},
		"a list grows":        {object{"list": list(x)}, object{"list": list(x, y)}, true},
		"a list shrinks":      {object{"list": list(x, y)}, object{"list": list(x)}, false},
		"a map grows":         {object{"map": cty.MapVal(object{"a": x})}, object{"map": cty.MapVal(object{"a": x, "b": y})}, true},
		"a map shrinks":       {object{"map": cty.MapVal(object{"a": x, "b": y})}, object{"map": cty.MapVal(object{"a": x})}, false},
		"a block comes":       {object{}, object{"mount": list(x)}, true},
		"a block goes":        {object{"mount": list(x)}, object{}, false},
		"the provider's own":  {object{"chosen": obj(object{"out": str("o")})}, object{}, false},
		"an unknown object":   {object{}, object{"own": cty.UnknownVal(single.ImpliedType())}, true},
		"unknown where it is": {object{"own": x}, object{"own": cty.UnknownVal(single.ImpliedType())}, false},
	} {
		before := maps.Clone(test.prior)
		before["id"] = str("1")
		after := maps.Clone(test.config)
		if test.paired {
			after["id"] = str("1")
		}
		got := ProposedNew(b, obj(object{"disk": set(disk(before))}), obj(object{"disk": set(disk(test.config))}))
		if want := obj(object{"disk": set(disk(after))}); !got.RawEquals(want) {
			t.Errorf("%s: got  %#v\nwant %#v", name, got, want)
		}
	}
}

// Taking away an argument whose object can't have been computed unsets it.
func TestProposedNewDropsWhatWasConfigured(t *testing.T) {
	nested := &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{
		"in":  {Type: cty.String, Optional: true},
		"out": {Type: cty.String, Computed: true},
	}}
	b := &schema.Block{Attributes: map[string]*schema.Attribute{"o": {Nested: nested, Optional: true, Computed: true}}}
	config := b.EmptyValue()
	configured := obj(object{"o": obj(object{"in": str("x"), "out": str("y")})})
	computed := obj(object{"o": obj(object{"in": null, "out": str("y")})})
	if got := ProposedNew(b, configured, config); !got.RawEquals(config) {
		t.Errorf("kept %#v", got)
	}
	if got := ProposedNew(b, computed, config); !got.RawEquals(computed) {
		t.Errorf("dropped to %#v", got)
	}
}

func TestPlanValidMessages(t *testing.T) {
	s := server(schema.List)
	one := list(disk(str("a"), null))
	config := with(s, object{"name": str("n"), "token": str("t"), "disk": one})
	edit := func(values object) cty.Value {
		all := config.AsValueMap()
		for name, v := range values {
			all[name] = v
		}
		return cty.ObjectVal(all)
	}
	none := cty.NullVal(s.ImpliedType())
	tests := map[string]struct {
		prior, planned cty.Value
		want           string
	}{
		"as configured":   {none, config, ""},
		"computed":        {none, edit(object{"id": str("x"), "size": unknown, "disk": list(disk(str("a"), unknown))}), ""},
		"kept prior":      {edit(object{"name": str("N")}), edit(object{"name": str("N")}), ""},
		"absent":          {none, none, "planned for absence but config wants existence"},
		"changed":         {none, edit(object{"name": str("x")}), `name: planned value cty.StringVal("x") does not match config value cty.StringVal("n")`},
		"changed again":   {config, edit(object{"name": str("x")}), `name: planned value cty.StringVal("x") does not match config value cty.StringVal("n") nor prior value cty.StringVal("n")`},
		"secret":          {config, edit(object{"token": str("x")}), "token: sensitive planned value does not match config value nor prior value"},
		"invented":        {none, edit(object{"tags": cty.MapValEmpty(cty.String)}), "tags: planned value cty.MapValEmpty(cty.String) for a non-computed attribute"},
		"unknown blocks":  {none, edit(object{"disk": cty.UnknownVal(one.Type())}), "disk: attribute representing nested block must not be unknown itself; set nested attribute values to unknown instead"},
		"null blocks":     {none, edit(object{"disk": cty.NullVal(one.Type())}), "disk: attribute representing a list of nested blocks must be empty to indicate no blocks, not null"},
		"too many blocks": {none, edit(object{"disk": list(disk(str("a"), null), disk(str("b"), null))}), "disk: block count in plan (2) disagrees with count in config (1)"},
		"in a block":      {none, edit(object{"disk": list(disk(str("b"), null))}), `disk[0].gb: planned value cty.StringVal("b") does not match config value cty.StringVal("a")`},
		"unknown element": {none, edit(object{"disk": list(cty.UnknownVal(one.Type().ElementType()))}), "disk[0]: element representing nested block must not be unknown itself; set nested attribute values to unknown instead"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { compare(t, PlanValid(s, test.prior, config, test.planned), test.want) })
	}
	dynamic := edit(object{"disk": cty.UnknownVal(one.Type())})
	compare(t, PlanValid(s, none, dynamic, config), `disk: planned value `+dump(one)+` for unknown dynamic block`)
}

// TestPlanValidNested has blocks by key, and attributes with objects in them.
func TestPlanValidNested(t *testing.T) {
	nested := func(n schema.Nesting) *schema.Block {
		return &schema.Block{Attributes: map[string]*schema.Attribute{"disk": {Optional: true, Nested: &schema.Object{Nesting: n, Attributes: map[string]*schema.Attribute{
			"gb": {Type: cty.String, Optional: true}, "id": {Type: cty.String, Computed: true},
		}}}}}
	}
	keyed := func(pairs ...any) cty.Value {
		all := object{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i].(string)] = pairs[i+1].(cty.Value)
		}
		return cty.MapVal(all)
	}
	a, b := disk(str("a"), null), disk(str("b"), null)
	made := disk(str("a"), unknown)
	for name, c := range map[string]struct {
		block           *schema.Block
		config, planned cty.Value
		want            string
	}{
		"block kept":              {server(schema.Map), keyed("x", a), keyed("x", made), ""},
		"block key invented":      {server(schema.Map), keyed("x", a), keyed("x", a, "y", a), `disk: block key "y" from plan is not present in config`},
		"block key lost":          {server(schema.Map), keyed("x", a, "y", a), keyed("x", a), `disk: block key "y" from config is not present in plan`},
		"block changed":           {server(schema.Map), keyed("x", a), keyed("x", b), `disk["x"].gb: planned value cty.StringVal("b") does not match config value cty.StringVal("a")`},
		"blocks null":             {server(schema.Map), keyed("x", a), cty.NullVal(keyed("x", a).Type()), "disk: attribute representing a map of nested blocks must be empty to indicate no blocks, not null"},
		"list kept":               {nested(schema.List), list(a), list(made), ""},
		"list changed":            {nested(schema.List), list(a), list(b), `disk[0].gb: planned value cty.StringVal("b") does not match config value cty.StringVal("a")`},
		"list longer":             {nested(schema.List), list(a), list(a, b), "disk: count in plan (2) disagrees with count in config (1)"},
		"list unknown":            {nested(schema.List), list(a), cty.UnknownVal(list(a).Type()), "disk: planned unknown for configured value"},
		"map kept":                {nested(schema.Map), keyed("x", a), keyed("x", made), ""},
		"map with another key":    {nested(schema.Map), keyed("x", a), keyed("y", a), "disk: map key \"y\" from plan is not present in config\ndisk: map key \"x\" from config is not present in plan"},
		"set as long":             {nested(schema.Set), set(a), set(made), ""},
		"set longer":              {nested(schema.Set), set(a), set(a, b), "disk: count in plan (2) disagrees with count in config (1)"},
		"object kept":             {nested(schema.Single), a, made, ""},
		"object changed":          {nested(schema.Single), a, b, `disk.gb: planned value cty.StringVal("b") does not match config value cty.StringVal("a")`},
		"object that isn't there": {nested(schema.Single), cty.NullVal(a.Type()), a, `disk: planned value ` + dump(a) + ` for a non-computed attribute`},
	} {
		t.Run(name, func(t *testing.T) {
			config, planned := with(c.block, object{"disk": c.config}), with(c.block, object{"disk": c.planned})
			compare(t, PlanValid(c.block, cty.NullVal(c.block.ImpliedType()), config, planned), c.want)
		})
	}
}

func compare(t *testing.T, errs []error, want string) {
	t.Helper()
	var lines []string
	for _, err := range errs {
		lines = append(lines, value.ErrorString("", err))
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCompatibleMessages(t *testing.T) {
	s := server(schema.Set)
	planned := with(s, object{
		"name": str("n"), "id": cty.UnknownVal(cty.String).RefineNotNull(), "token": str("t"),
		"tags": cty.MapVal(object{"a": str("1")}), "disk": set(disk(str("a"), unknown), disk(str("b"), unknown)),
	})
	fine := object{
		"name": str("n"), "id": str("i"), "token": str("t"),
		"tags": cty.MapVal(object{"a": str("1")}), "disk": set(disk(str("a"), str("1")), disk(str("b"), str("2"))),
	}
	tests := map[string]struct {
		change object
		want   string
	}{
		"completed":     {nil, ""},
		"changed":       {object{"name": str("m")}, `name: was cty.StringVal("n"), but now cty.StringVal("m")`},
		"lost":          {object{"name": null}, `name: was cty.StringVal("n"), but now null`},
		"invented":      {object{"size": str("s")}, `size: was null, but now cty.StringVal("s")`},
		"broken hint":   {object{"id": null}, "id: final value cty.NullVal(cty.String) does not conform to planning placeholder cty.UnknownVal(cty.String).RefineNotNull()"},
		"secret":        {object{"token": str("x")}, "token: inconsistent values for sensitive attribute"},
		"key lost":      {object{"tags": cty.MapVal(object{"b": str("1")})}, "tags: element \"a\" has vanished\ntags: new element \"b\" has appeared"},
		"type":          {object{"tags": list(str("x"))}, "tags: wrong final value type: map of string required"},
		"still unknown": {object{"name": unknown}, "name: was known, but now unknown"},
		"element lost":  {object{"disk": set(disk(str("a"), str("1")))}, `disk: planned set element ` + dump(disk(str("b"), unknown)) + ` does not correlate with any element in actual`},
		"element new": {
			object{"disk": set(disk(str("a"), str("1")), disk(str("b"), str("2")), disk(str("c"), str("3")))},
			`disk: actual set element ` + dump(disk(str("c"), str("3"))) + " does not correlate with any element in plan\ndisk: block set length changed from 2 to 3",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			actual := make(object)
			for k, v := range fine {
				actual[k] = v
			}
			for k, v := range test.change {
				actual[k] = v
			}
			compare(t, Compatible(s, planned, with(s, actual)), test.want)
		})
	}
	compare(t, Compatible(s, planned, cty.NullVal(s.ImpliedType())), "root object was present, but now absent")
	compare(t, Compatible(s, cty.NullVal(s.ImpliedType()), planned), "root object was absent, but now present")

	lists := server(schema.List)
	two := with(lists, object{"name": str("n"), "disk": list(disk(str("a"), unknown), disk(str("b"), unknown))})
	one := with(lists, object{"name": str("n"), "disk": list(disk(str("a"), str("1")))})
	compare(t, Compatible(lists, two, one), "disk: block count changed from 2 to 1")

	// Blocks can't be null, elements of a set that is an argument can.
	plain := &schema.Block{Attributes: map[string]*schema.Attribute{"disks": {Type: cty.Set(disk(null, null).Type()), Optional: true}}}
	a, b, nothing := disk(str("a"), str("1")), disk(str("b"), str("2")), cty.NullVal(disk(null, null).Type())
	disks := func(v cty.Value) cty.Value { return obj(object{"disks": v}) }
	compare(t, Compatible(plain, disks(cty.SetValEmpty(nothing.Type())), disks(set(a))),
		"disks: actual set element "+dump(a)+" does not correlate with any element in plan\ndisks: length changed from 0 to 1")
	compare(t, Compatible(plain, disks(set(nothing, a)), disks(set(nothing, b))),
		"disks: planned set element "+dump(a)+" does not correlate with any element in actual")
}

// Nested attributes keep their secrets too.
func TestMessagesTellNoSecrets(t *testing.T) {
	for _, n := range []schema.Nesting{schema.Single, schema.List, schema.Set, schema.Map} {
		o := &schema.Object{Nesting: n, Attributes: map[string]*schema.Attribute{"key": {Type: cty.String, Optional: true, Sensitive: true}}}
		b := &schema.Block{Attributes: map[string]*schema.Attribute{"o": {Nested: o, Optional: true}}}
		value := func(text string) cty.Value {
			v := obj(object{"key": str(text)})
			switch n {
			case schema.List:
				v = list(v)
			case schema.Set:
				v = set(v)
			case schema.Map:
				v = cty.MapVal(object{"k": v})
			}
			return obj(object{"o": v})
		}
		null := b.EmptyValue()
		for _, errs := range [][]error{
			Compatible(b, value("hush1"), value("hush2")), Compatible(b, null, value("hush1")), Compatible(b, value("hush1"), null),
			PlanValid(b, cty.NilVal, null, value("hush1")), PlanValid(b, cty.NilVal, value("hush1"), null),
		} {
			if len(errs) == 0 {
				t.Errorf("%d: a change isn't seen", n)
			}
			for _, err := range errs {
				if strings.Contains(err.Error(), "hush") {
					t.Errorf("%d: told: %s", n, err)
				}
			}
		}
	}
}

func TestNormalizeLegacy(t *testing.T) {
	s := server(schema.List)
	ty := s.Blocks["disk"].ImpliedType()
	null := with(s, object{"name": str("n"), "disk": cty.NullVal(ty)})
	if got := NormalizeLegacy(s, null); !got.GetAttr("disk").RawEquals(cty.ListValEmpty(ty.ElementType())) {
		t.Errorf("null blocks become %#v", got.GetAttr("disk"))
	}
	unknownDisks := with(s, object{"name": str("n"), "disk": cty.UnknownVal(ty)})
	if got := NormalizeLegacy(s, unknownDisks); !got.GetAttr("disk").RawEquals(list(disk(unknown, unknown))) {
		t.Errorf("unknown blocks become %#v", got.GetAttr("disk"))
	}
	if got := NormalizeLegacy(s, cty.NilVal); !got.RawEquals(cty.NullVal(s.ImpliedType())) {
		t.Errorf("nothing becomes %#v", got)
	}
}

func TestIgnoreChangesInMaps(t *testing.T) {
	s := server(schema.List)
	tags := func(v object) cty.Value {
		if v == nil {
			return cty.NullVal(cty.Map(cty.String))
		}
		if len(v) == 0 {
			return cty.MapValEmpty(cty.String)
		}
		return cty.MapVal(v)
	}
	tests := map[string]struct {
		prior, config object
		path          cty.Path
		want          object
	}{
		"whole":             {object{"a": str("1")}, object{"a": str("2")}, path("tags"), object{"a": str("1")}},
		"changed":           {object{"a": str("1"), "b": str("1")}, object{"a": str("2"), "b": str("2")}, path("tags", "a"), object{"a": str("1"), "b": str("2")}},
		"removed":           {object{"a": str("1")}, object{"b": str("2")}, path("tags", "a"), object{"a": str("1"), "b": str("2")}},
		"added":             {object{"b": str("2")}, object{"a": str("1"), "b": str("3")}, path("tags", "a"), object{"b": str("3")}},
		"removed with all":  {object{"a": str("1")}, nil, path("tags", "a"), object{"a": str("1")}},
		"added as only one": {nil, object{"a": str("1")}, path("tags", "a"), object{}},
		"never there":       {nil, nil, path("tags", "a"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			prior := with(s, object{"name": str("n"), "tags": tags(test.prior)})
			config := with(s, object{"name": str("m"), "tags": tags(test.config)})
			want := with(s, object{"name": str("m"), "tags": tags(test.want)})
			if got := IgnoreChanges(prior, config, []cty.Path{test.path}); !got.RawEquals(want) {
				t.Errorf("got  %#v\nwant %#v", got, want)
			}
			if got := IgnoreChanges(cty.NullVal(s.ImpliedType()), config, []cty.Path{test.path}); !got.RawEquals(config) {
				t.Errorf("a creation ignores: %#v", got)
			}
		})
	}
	prior := with(s, object{"name": str("n"), "id": str("i"), "size": str("s"), "disk": list(disk(str("a"), str("1")))})
	want := with(s, object{"name": str("n"), "size": str("s"), "disk": list(disk(str("a"), null))})
	if got := IgnoreAllChanges(s, prior, with(s, object{"name": str("m")})); !got.RawEquals(want) {
		t.Errorf("all: %#v", got)
	}
	inner := IgnoreChanges(prior, with(s, object{"name": str("m"), "disk": list(disk(str("b"), null))}), []cty.Path{path("disk", 0, cty.GetAttrStep{Name: "gb"})})
	if got := inner.GetAttr("disk"); !got.RawEquals(list(disk(str("a"), null))) {
		t.Errorf("in a block: %#v", got)
	}
}

func TestRequiresReplaceAndAction(t *testing.T) {
	s := server(schema.List)
	s.Attributes["secret"] = &schema.Attribute{Type: cty.String, Optional: true, WriteOnly: true}
	prior := with(s, object{"name": str("n"), "size": str("s"), "tags": cty.MapVal(object{"a": str("1")}), "disk": list(disk(str("a"), null))})
	planned := with(s, object{"name": str("m"), "size": str("s"), "id": unknown})
	kept, errs := RequiresReplace(s, prior, planned, []cty.Path{
		path("name"), path("name"), path("size"), path("id"), path("secret"), path("disk", 0, cty.GetAttrStep{Name: "gb"}), path("tags", "a"), path("token"),
	})
	var texts []string
	for _, p := range kept {
		texts = append(texts, value.PathString(p))
	}
	if got, want := strings.Join(texts, " "), `.name .id .secret .disk[0].gb .tags["a"]`; got != want || errs != nil {
		t.Errorf("kept %s, errors %v", got, errs)
	}
	if _, errs := RequiresReplace(s, prior, planned, []cty.Path{path("nowhere")}); len(errs) != 1 {
		t.Errorf("a path to nowhere gives %v", errs)
	}
	within := with(s, object{"tags": cty.MapVal(object{"a": null})})
	for _, pair := range [][2]cty.Value{{with(s, nil), within}, {within, with(s, nil)}} {
		if kept, errs := RequiresReplace(s, pair[0], pair[1], []cty.Path{path("tags", "a")}); len(kept) != 1 || errs != nil {
			t.Errorf("a null in nothing gives %v %v", kept, errs)
		}
	}
	nothing := cty.NullVal(s.ImpliedType())
	for _, test := range []struct {
		prior, planned cty.Value
		paths          []cty.Path
		force          bool
		want           Change
	}{
		{nothing, planned, kept, true, Create},
		{prior, nothing, nil, true, Delete},
		{prior, prior, nil, false, None},
		{prior, prior, nil, true, Replace},
		{prior, planned, nil, false, Update},
		{prior, planned, kept, false, Replace},
		{nothing, nothing, nil, true, None},
	} {
		if got := Action(test.prior, test.planned, test.paths, test.force); got != test.want {
			t.Errorf("%v instead of %v", got, test.want)
		}
	}
}

func TestWriteOnlyIsFoundEverywhere(t *testing.T) {
	secret := map[string]*schema.Attribute{"w": {Type: cty.String, Optional: true, WriteOnly: true}}
	b := &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"w": secret["w"],
			"o": {Nested: &schema.Object{Attributes: secret, Nesting: schema.Map}, Optional: true},
		},
		Blocks: map[string]*schema.NestedBlock{"b": {Nesting: schema.List, Block: &schema.Block{Attributes: secret}}},
	}
	w := obj(object{"w": str("s")})
	v := obj(object{"w": str("s"), "o": cty.MapVal(object{"k": w}), "b": list(w)})
	text := "write-only attribute must be null in a result"
	compare(t, WriteOnlyNull(b, v), "b[0].w: "+text+"\no[\"k\"].w: "+text+"\nw: "+text)
	compare(t, WriteOnlyNull(b, StripWriteOnly(b, v)), "")
}

func TestCoerceValue(t *testing.T) {
	s := server(schema.List)
	got, err := CoerceValue(s, obj(object{"name": cty.NumberIntVal(5), "disk": cty.TupleVal([]cty.Value{obj(object{"gb": cty.True})})}))
	want := with(s, object{"name": str("5"), "disk": list(disk(str("true"), null))})
	if err != nil || !got.RawEquals(want) {
		t.Errorf("got %#v, %v", got, err)
	}
	for want, v := range map[string]cty.Value{
		`attribute "name" is required`:          obj(object{"token": str("x")}),
		`unexpected attribute "shape"`:          obj(object{"shape": str("x")}),
		`an object is required`:                 str("x"),
		`tags: map of string required`:          obj(object{"name": str("n"), "tags": str("x")}),
		`disk: must be a list`:                  obj(object{"name": str("n"), "disk": str("x")}),
		`disk[0]: unexpected attribute "shape"`: obj(object{"name": str("n"), "disk": list(obj(object{"shape": str("x")}))}),
	} {
		out, err := CoerceValue(s, v)
		if err == nil || !strings.HasPrefix(value.ErrorString("", err), want) {
			t.Errorf("%v instead of %s", err, want)
		}
		if !out.RawEquals(cty.UnknownVal(s.ImpliedType())) {
			t.Errorf("beside an error: %#v", out)
		}
	}
}

func TestIdentity(t *testing.T) {
	o := &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"id": {Type: cty.String, Required: true}}}
	for _, test := range []struct {
		v       cty.Value
		planned bool
		ok      bool
	}{
		{cty.NilVal, false, true},
		{obj(object{"id": str("x")}), false, true},
		{obj(object{"id": unknown}), false, false},
		{obj(object{"id": unknown}), true, true},
		{obj(object{"id": cty.True}), true, false},
	} {
		if errs := Identity(o, test.v, test.planned); (errs == nil) != test.ok {
			t.Errorf("%#v: %v", test.v, errs)
		}
	}
}

func TestStripUnknownAttributes(t *testing.T) {
	ty := server(schema.List).ImpliedType()
	for in, want := range map[string]string{
		`{"name":"n","old":1}`:                      `{"name":"n"}`,
		`{"name": "n"}`:                             `{"name": "n"}`,
		`{"disk":[{"gb":"1","old":{}},{"gb":"2"}]}`: `{"disk":[{"gb":"1"},{"gb":"2"}]}`,
		`{"tags":{"any":"1"}}`:                      `{"tags":{"any":"1"}}`,
		`{"name":{"old":1}}`:                        `{"name":{"old":1}}`,
		`null`:                                      `null`,
		`{"old":`:                                   `{"old":`,
		`{"id":12345678901234567890,"old":1}`:       `{"id":12345678901234567890}`,
	} {
		if got := string(StripUnknownAttributes([]byte(in), ty)); got != want {
			t.Errorf("%s becomes %s", in, got)
		}
	}
}

func FuzzStripUnknownAttributes(f *testing.F) {
	f.Add(`{"name":"n","old":1,"disk":[{"x":[]}]}`)
	f.Add(`[null]`)
	ty := server(schema.Set).ImpliedType()
	f.Fuzz(func(t *testing.T, in string) {
		out := StripUnknownAttributes([]byte(in), ty)
		if json.Valid([]byte(in)) && !json.Valid(out) {
			t.Fatalf("%s becomes %s", in, out)
		}
		if again := StripUnknownAttributes(out, ty); string(again) != string(out) {
			t.Fatalf("not stable: %s, %s", out, again)
		}
		if before, err := ctyjson.Unmarshal([]byte(in), ty); err == nil {
			after, err := ctyjson.Unmarshal(out, ty)
			if err != nil || !after.RawEquals(before) {
				t.Fatalf("%s becomes %s", in, out)
			}
		}
	})
}

// Many disks in a set are paired by their hashes: comparing each with each, value by
// value, would take longer than tests may.
func TestManyElements(t *testing.T) {
	s := server(schema.Set)
	var priors, configs, planneds []cty.Value
	for i := range 1_000 {
		gb, id := str(strconv.Itoa(i)), str("id"+strconv.Itoa(i))
		priors = append(priors, disk(gb, id))
		configs = append(configs, disk(gb, null))
		planneds = append(planneds, disk(gb, unknown))
	}
	prior := with(s, object{"name": str("n"), "disk": set(priors...)})
	config := with(s, object{"name": str("n"), "disk": set(configs...)})
	planned := with(s, object{"name": str("n"), "disk": set(planneds...)})
	if got := ProposedNew(s, prior, config); !got.RawEquals(prior) {
		t.Error("prior elements weren't found")
	}
	compare(t, PlanValid(s, prior, config, planned), "")
	compare(t, Compatible(s, planned, prior), "")
}

// Nothing that a provider computes is planned as null for a data source that is read later.
func TestPlannedDataInside(t *testing.T) {
	inner := map[string]*schema.Attribute{"set": {Type: cty.String, Optional: true}, "found": {Type: cty.String, Computed: true}}
	for _, nesting := range []schema.Nesting{schema.List, schema.Set, schema.Map} {
		b := &schema.Block{Attributes: map[string]*schema.Attribute{"parts": {Optional: true, Nested: &schema.Object{Nesting: nesting, Attributes: inner}}}}
		part := cty.ObjectVal(map[string]cty.Value{"set": cty.StringVal("a"), "found": cty.NullVal(cty.String)})
		var parts cty.Value
		switch nesting {
		case schema.List:
			parts = cty.ListVal([]cty.Value{part})
		case schema.Set:
			parts = cty.SetVal([]cty.Value{part})
		default:
			parts = cty.MapVal(map[string]cty.Value{"k": part})
		}
		planned := PlannedDataObject(b, cty.ObjectVal(map[string]cty.Value{"parts": parts}))
		for it := planned.GetAttr("parts").ElementIterator(); it.Next(); {
			if _, v := it.Element(); v.GetAttr("found").IsKnown() {
				t.Errorf("nesting %d: %#v", nesting, planned)
			}
		}
	}
}
