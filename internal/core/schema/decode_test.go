package schema

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/value"
)

func body(t testing.TB, text string) hcl.Body {
	t.Helper()
	f, diags := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return f.Body
}

func stringAttr() *Attribute { return &Attribute{Type: cty.String, Optional: true} }

// everything has a block of each nesting, plain and nested attributes.
func everything() *Block {
	inner := func() *Block {
		return &Block{Attributes: map[string]*Attribute{
			"a": stringAttr(),
			"o": {Optional: true, Nested: &Object{Nesting: List, Attributes: map[string]*Attribute{
				"r": {Type: cty.String, Required: true}, "s": stringAttr(),
			}}},
		}}
	}
	return &Block{
		Attributes: map[string]*Attribute{"name": {Type: cty.String, Required: true}, "tags": {Type: cty.Map(cty.String), Optional: true}},
		Blocks: map[string]*NestedBlock{
			"single": {Block: inner(), Nesting: Single},
			"group":  {Block: inner(), Nesting: Group},
			"list":   {Block: inner(), Nesting: List, Max: 3},
			"set":    {Block: &Block{Attributes: map[string]*Attribute{"a": stringAttr()}}, Nesting: Set},
			"map":    {Block: inner(), Nesting: Map},
			"any":    {Block: &Block{Attributes: map[string]*Attribute{"v": {Type: cty.DynamicPseudoType, Optional: true}}}, Nesting: List},
		},
	}
}

var evalContext = &hcl.EvalContext{Variables: map[string]cty.Value{
	"unknown": cty.UnknownVal(cty.List(cty.String)),
	"secret":  cty.ListVal([]cty.Value{cty.StringVal("x")}).Mark(value.Sensitive),
	"two":     cty.ListVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")}),
}}

func TestDecodeValues(t *testing.T) {
	b := everything()
	inner := func(a string) cty.Value {
		v := b.Blocks["list"].Block.EmptyValue().AsValueMap()
		v["a"] = cty.StringVal(a)
		return cty.ObjectVal(v)
	}
	onlyA := func(a string) cty.Value { return cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(a)}) }
	any := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"v": v}) }
	tests := map[string]struct {
		text, name string
		want       cty.Value
	}{
		"nothing":          {``, "list", b.Blocks["list"].EmptyValue()},
		"no group":         {``, "group", b.Blocks["group"].EmptyValue()},
		"no single":        {``, "single", b.Blocks["single"].EmptyValue()},
		"converted":        {`tags = { n = 1 }`, "tags", cty.MapVal(map[string]cty.Value{"n": cty.StringVal("1")})},
		"single":           {`single { a = "x" }`, "single", inner("x")},
		"list":             {"list { a = \"x\" }\nlist { a = \"y\" }", "list", cty.ListVal([]cty.Value{inner("x"), inner("y")})},
		"map":              {"map \"k\" { a = \"x\" }", "map", cty.MapVal(map[string]cty.Value{"k": inner("x")})},
		"different":        {"any { v = 1 }\nany { v = \"x\" }", "any", cty.TupleVal([]cty.Value{any(cty.NumberIntVal(1)), any(cty.StringVal("x"))})},
		"dynamic":          {"dynamic \"list\" {\n for_each = two" + "\n content { a = list.value }\n}", "list", cty.ListVal([]cty.Value{inner("x"), inner("y")})},
		"dynamic iterator": {"dynamic \"set\" {\n for_each = two" + "\n iterator = i\n content { a = i.value }\n}", "set", cty.SetVal([]cty.Value{onlyA("x"), onlyA("y")})},
		"unknown list":     {"dynamic \"list\" {\n for_each = unknown" + "\n content { a = list.value }\n}", "list", cty.UnknownVal(b.Blocks["list"].ImpliedType())},
		"unknown set":      {"dynamic \"set\" {\n for_each = unknown" + "\n content { a = set.value }\n}", "set", cty.UnknownVal(b.Blocks["set"].ImpliedType())},
		"unknown map":      {"dynamic \"map\" {\n for_each = unknown" + "\n labels = [\"k\"]\n content { a = \"x\" }\n}", "map", cty.UnknownVal(b.Blocks["map"].ImpliedType())},
		"nested attribute": {`list {` + "\n o = [{ r = 1 }]\n}", "list", cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
			"a": cty.NullVal(cty.String),
			"o": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"r": cty.StringVal("1"), "s": cty.NullVal(cty.String)})}),
		})})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v, diags := b.Decode(body(t, "name = \"n\"\n"+test.text), evalContext)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if errs := v.Type().TestConformance(b.ImpliedType()); errs != nil {
				t.Fatal(errs)
			}
			if got := v.GetAttr(test.name); !got.RawEquals(test.want) {
				t.Errorf("got  %#v\nwant %#v", got, test.want)
			}
		})
	}
}

// Blocks made from something sensitive are sensitive, not an error.
func TestDecodeMarkedKeys(t *testing.T) {
	b := everything()
	for _, typ := range []string{"list", "set"} {
		v, diags := b.Decode(body(t, `name = "n"`+"\n"+`dynamic "`+typ+"\" {\n for_each = secret"+"\n content { a = \"plain\" }\n}"), evalContext)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if !value.IsSensitive(v.GetAttr(typ)) || value.IsSensitive(v.GetAttr("name")) {
			t.Errorf("%s: %#v", typ, v)
		}
	}
}

func TestDecodeMistakes(t *testing.T) {
	b := everything()
	for text, want := range map[string]string{
		`nam = "x"`:            `An argument named "nam" is not expected here. Did you mean "name"?`,
		`name = []`:            `Inappropriate value for attribute "name": string required`,
		`tags = 1`:             `Inappropriate value for attribute "tags": map of string required`,
		"name = \"n\"\nlst {}": `Blocks of type "lst" are not expected here. Did you mean `,
		"name = \"n\"\nlist {}\nlist{}\nlist{}\nlist{}": `No more than 3 "list" blocks are allowed`,
		"name = \"n\"\nsingle {}\nsingle {}":            `Only one block of type "single" is allowed`,
		"name = \"n\"\nlist {\n o = [{}]\n}":            `attribute "r" is required`,
		``:                                              `The argument "name" is required, but no definition was found.`,
		"name = \"n\"\ndynamic \"other\" {\n for_each = []\n content {}\n}": `Blocks of type "other" are not expected here.`,
	} {
		v, diags := b.Decode(body(t, text), evalContext)
		found := false
		for _, d := range diags {
			found = found || strings.Contains(d.Detail, want)
			if d.Subject == nil || d.Subject.Filename == "" {
				t.Errorf("%s: %s has no place", text, d.Detail)
			}
		}
		if !found {
			t.Errorf("%s: %v", text, diags)
		}
		if !v.Type().IsObjectType() {
			t.Errorf("%s: beside the mistake: %#v", text, v)
		}
	}
}

// TestMissingBlocks: the place of a missing block is the body that lacks it.
func TestMissingBlocks(t *testing.T) {
	for nesting, want := range map[Nesting]string{List: "At least 1 \"x\" blocks are required", Set: "At least 1 \"x\" blocks are required", Single: `A block of type "x" is required`} {
		b := &Block{Blocks: map[string]*NestedBlock{"x": {Nesting: nesting, Min: 1, Max: 1, Block: &Block{}}}}
		_, diags := b.Decode(body(t, ""), evalContext)
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) || diags[0].Subject == nil || diags[0].Subject.Filename == "" {
			t.Errorf("%v: %v", nesting, diags)
		}
	}
}

// old is a schema of the old SDK: rules can be written as blocks.
func old() *Block {
	return &Block{
		Attributes: map[string]*Attribute{
			"rule": {Type: cty.List(cty.Object(map[string]cty.Type{
				"port": cty.Number, "to": cty.Set(cty.Object(map[string]cty.Type{"ip": cty.String})),
			})), Optional: true, Computed: true},
		},
		Blocks: map[string]*NestedBlock{"in": {Nesting: List, Block: &Block{Attributes: map[string]*Attribute{
			"rule": {Type: cty.Set(cty.Object(map[string]cty.Type{"port": cty.Number})), Optional: true},
		}}}},
	}
}

func TestAttributesAsBlocks(t *testing.T) {
	b := old()
	to := func(ips ...string) cty.Value {
		var all []cty.Value
		for _, ip := range ips {
			all = append(all, cty.ObjectVal(map[string]cty.Value{"ip": cty.StringVal(ip)}))
		}
		if all == nil {
			return cty.NullVal(cty.Set(cty.Object(map[string]cty.Type{"ip": cty.String})))
		}
		return cty.SetVal(all)
	}
	rule := func(port int64, to cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(port), "to": to})
	}
	ty := b.ImpliedType().AttributeType("rule")
	for text, want := range map[string]cty.Value{
		``:          cty.NullVal(ty),
		`rule = []`: cty.ListValEmpty(ty.ElementType()),
		"rule {\n port = 1\n to {\n ip = \"a\"\n }\n}\nrule {\n port = 2\n}": cty.ListVal([]cty.Value{rule(1, to("a")), rule(2, to())}),
		"rule = [{ port = 1, to = null }]":                                   cty.ListVal([]cty.Value{rule(1, to())}),
		"dynamic \"rule\" {\n for_each = two\n content {\n port = rule.key\n dynamic \"to\" {\n for_each = two\n content {\n ip = to.value\n }\n }\n }\n}": cty.ListVal([]cty.Value{rule(0, to("x", "y")), rule(1, to("x", "y"))}),
		"dynamic \"rule\" {\n for_each = []\n content {}\n}":                    cty.NullVal(ty),
		"dynamic \"rule\" {\n for_each = unknown\n content {\n port = 1\n }\n}": cty.UnknownVal(ty),
	} {
		v, diags := b.Decode(body(t, text), evalContext)
		if diags.HasErrors() {
			t.Errorf("%s: %v", text, diags)
			continue
		}
		if got := v.GetAttr("rule"); !got.RawEquals(want) {
			t.Errorf("%s\ngot  %#v\nwant %#v", text, got, want)
		}
	}
	v, diags := b.Decode(body(t, "in {\n rule {\n port = 1\n }\n}"), evalContext)
	if diags.HasErrors() || v.GetAttr("in").LengthInt() != 1 || v.GetAttr("in").Index(cty.Zero).GetAttr("rule").LengthInt() != 1 {
		t.Errorf("nested: %#v, %v", v, diags)
	}
	f, diags := hcljson.Parse([]byte(`{"rule":[{"port":1,"to":null}]}`), "main.tf.json")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if v, diags := b.Decode(f.Body, evalContext); diags.HasErrors() || !v.GetAttr("rule").RawEquals(cty.ListVal([]cty.Value{rule(1, to())})) {
		t.Errorf("JSON: %#v, %v", v, diags)
	}
	// A schema that the old SDK can't have made has no such leniency.
	b = old()
	b.Attributes["new"] = &Attribute{Type: cty.Object(map[string]cty.Type{"x": cty.String}), Optional: true}
	if _, diags := b.Decode(body(t, "rule {\n port = 1\n}"), evalContext); !diags.HasErrors() {
		t.Error("a block in place of an attribute is accepted")
	}
}

func TestMarks(t *testing.T) {
	b := everything()
	b.Blocks["set"].Attributes["a"].Sensitive = true
	b.Blocks["list"].Attributes["o"].Nested.Attributes["s"].Sensitive = true
	b.Attributes["tags"].Deprecated, b.Attributes["tags"].DeprecationMessage = true, "Use labels."
	v, diags := b.Decode(body(t, "name = \"n\"\ntags = {}\nset {\n a = \"x\"\n}\nlist {\n o = [{ r = 1 }]\n}"), nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	marked := b.MarkSensitive(v)
	if bare, _ := marked.UnmarkDeep(); !bare.RawEquals(v) {
		t.Errorf("the value is another one: %#v", bare)
	}
	_, where := value.UnmarkDeepPaths(marked)
	var texts []string
	for _, w := range where {
		texts = append(texts, value.PathName(w.Path))
	}
	if got := strings.Join(texts, " "); got != "list[0].o[0].s set" {
		t.Errorf("sensitive: %s", got)
	}
	if !b.HasDeprecated() {
		t.Error("nothing deprecated")
	}
}

func TestFindRange(t *testing.T) {
	text := `name = "n"
tags = { a = 1, b = [1, 22] }
list {
  a = "one"
}
list {
  a = "two"
}
map "k" {
  a = "three"
}
dynamic "set" {
  for_each = []
  content {
    a = "four"
  }
}
`
	path := func(steps ...any) cty.Path {
		var p cty.Path
		for _, s := range steps {
			switch s := s.(type) {
			case string:
				p = p.GetAttr(s)
			case int:
				p = p.IndexInt(s)
			case cty.Value:
				p = p.Index(s)
			}
		}
		return p
	}
	f := body(t, text)
	for _, test := range []struct {
		path cty.Path
		want string
	}{
		{path("name"), `"n"`},
		{path("tags"), `{ a = 1, b = [1, 22] }`},
		{path("tags", cty.StringVal("b"), 1), `22`},
		{path("tags", "a"), `1`},
		{path("tags", cty.StringVal("zz")), `{ a = 1, b = [1, 22] }`},
		{path("list", 1, "a"), `"two"`},
		{path("list", 0), `list`},
		{path("map", cty.StringVal("k"), "a"), `"three"`},
		{path("set", 4, "a"), `"four"`},
		{path("set", cty.EmptyObjectVal, "a"), `"four"`},
		{path("list", 1, "o"), ``},
		{path("nowhere"), ``},
		{path(), ``},
	} {
		r := FindRange(f, test.path)
		if got := string(r.SliceBytes([]byte(text))); got != test.want {
			t.Errorf("%s: %q", value.PathName(test.path), got)
		}
	}
	if r := FindRange(f, path("list", 1, "o")); r.Start.Line != 6 {
		t.Errorf("a missing argument is at %s", r)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("name = \"n\"\nlist {\n a = two[0]\n}\nrule {\n port = 1\n}")
	f.Add("dynamic \"rule\" {\n for_each = unknown\n labels = []\n content {\n port = rule.key\n}\n}")
	f.Add("dynamic \"map\" {\n for_each = secret\n labels = [map.value]\n content {}\n}")
	blocks := []*Block{everything(), old()}
	f.Fuzz(func(t *testing.T, text string) {
		file, diags := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
		if diags.HasErrors() {
			return
		}
		for _, b := range blocks {
			v, diags := b.Decode(file.Body, evalContext)
			if diags.HasErrors() {
				continue
			}
			if errs := v.Type().TestConformance(b.ImpliedType()); errs != nil {
				t.Fatalf("%s gives %#v: %v", text, v, errs)
			}
			b.MarkSensitive(v)
		}
	})
}
