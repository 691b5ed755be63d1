package syntax

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// TestSplit takes the same out of a body in both syntaxes, and leaves the rest.
func TestSplit(t *testing.T) {
	schema := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "a"}}, Blocks: []hcl.BlockHeaderSchema{{Type: "b"}}}
	for name, text := range map[string]string{
		"main.tf":      "a = 1\nx = 2\nb {}\ny {}\n",
		"main.tf.json": `{"a": 1, "x": 2, "b": {}, "y": {}}`,
	} {
		body, diags := Parse(name, []byte(text))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, of := range []hcl.Body{body.Body, &UnionBody{Parts: []hcl.Body{body.Body}}} {
			content, rest, problems := Split(of, schema)
			if problems.HasErrors() || content.Attributes["a"] == nil || len(content.Attributes) != 1 || len(content.Blocks) != 1 {
				t.Errorf("%s: %v %v", name, content, problems)
			}
			again, _, _ := Split(rest, schema)
			if len(again.Attributes)+len(again.Blocks) > 0 {
				t.Errorf("%s: what was taken out is there again", name)
			}
			left, _, problems := Split(rest, &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "x", Required: true}}, Blocks: []hcl.BlockHeaderSchema{{Type: "y"}}})
			if problems.HasErrors() || left.Attributes["x"] == nil || len(left.Blocks) != 1 {
				t.Errorf("%s: what is left is %v %v", name, left, problems)
			}
		}
	}
}

func TestUnion(t *testing.T) {
	a, _ := Parse("a.tf", []byte("x = 1\n"))
	b, _ := Parse("b.tf", []byte("y = 1\nx = 2\n"))
	u := &UnionBody{Parts: []hcl.Body{a.Body, b.Body}}
	attrs, diags := u.JustAttributes()
	if diags.HasErrors() || len(attrs) != 2 {
		t.Errorf("attributes %v %v", attrs, diags)
	}
	if u.MissingItemRange().Filename != "a.tf" || (&UnionBody{}).MissingItemRange().Filename != "" {
		t.Error("what is missing isn't at the first part")
	}
}

// TestOrder: what comes of maps is put in the order of the source.
func TestOrder(t *testing.T) {
	f, _ := Parse("a.tf", []byte("z = 1\ny = 2\nx = 3\n"))
	attrs, _ := f.Body.JustAttributes()
	var names []string
	for _, a := range InOrder(attrs) {
		names = append(names, a.Name)
	}
	if !slices.Equal(names, []string{"z", "y", "x"}) {
		t.Errorf("got %v", names)
	}
	at := func(file string, byte int) *hcl.Diagnostic {
		return &hcl.Diagnostic{Subject: &hcl.Range{Filename: file, Start: hcl.Pos{Byte: byte}}}
	}
	none, first, second, other := &hcl.Diagnostic{}, at("a", 1), at("a", 2), at("b", 0)
	if got := SortDiagnostics(hcl.Diagnostics{other, second, none, first, &hcl.Diagnostic{Summary: "x"}}); got[0] != none || got[2] != first || got[3] != second || got[4] != other {
		t.Errorf("got %v", got)
	}
}

func TestSuggest(t *testing.T) {
	for name, want := range map[string]string{"nmae": ` Did you mean "name"?`, "name": ` Did you mean "name"?`, "else": ""} {
		if got := Suggest(name, []string{"zone", "name"}); got != want {
			t.Errorf("%s:%s", name, got)
		}
	}
	if got := Suggest("a", make([]string, 2000)); got != "" {
		t.Errorf("among thousands:%s", got)
	}
}

// TestTexts has traversals and keys as users write them.
func TestTexts(t *testing.T) {
	path := hcl.Traversal{hcl.TraverseRoot{Name: "a"}, hcl.TraverseAttr{Name: "b"}, hcl.TraverseIndex{Key: cty.StringVal("k")}, hcl.TraverseIndex{Key: cty.NumberIntVal(1)}, hcl.TraverseSplat{}}
	if got := TraversalText(path); got != `a.b["k"][1][*]` {
		t.Errorf("got %s", got)
	}
	for _, v := range []cty.Value{cty.NullVal(cty.String), cty.UnknownVal(cty.String), cty.True} {
		if got := KeyText(v); got != "..." {
			t.Errorf("%#v: %s", v, got)
		}
	}
}

// TestDiscarded has the attributes that conversion to a type leaves out.
func TestDiscarded(t *testing.T) {
	object := cty.Object(map[string]cty.Type{"a": cty.String})
	for _, c := range []struct {
		text string
		to   cty.Type
		want string
	}{
		{`{a = "x"}`, object, ""},
		{`{a = "x", b = 1}`, object, "b"},
		{`[{b = 1}]`, cty.List(object), "b at [0]"},
		{`{k = {b = 1}}`, cty.Map(object), `b at ["k"]`},
		{`{o = {b = 1}}`, cty.Object(map[string]cty.Type{"o": object}), "b at .o"},
		{`[for x in [1] : {b = x}]`, cty.List(object), "b at [...]"},
		{`true ? {b = 1} : {c = 1}`, object, ""},
		{`{(x) = 1}`, object, ""},
		{`x`, object, ""},
	} {
		e, diags := ParseExpression([]byte(c.text), "main.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(c.text, diags)
		}
		var got []string
		for _, d := range DiscardedAttributes(e, c.to) {
			text := d.Name
			for i, step := range d.Path {
				if i == 0 {
					text += " at "
				}
				switch step := step.(type) {
				case cty.GetAttrStep:
					text += "." + step.Name
				case cty.IndexStep:
					text += "[" + KeyText(step.Key) + "]"
				}
			}
			got = append(got, text)
			if w := d.Warning("this variable"); !strings.Contains(w.Detail, d.Name) || w.Subject == nil {
				t.Errorf("%s: warning %v", c.text, w)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", c.text, text, c.want)
		}
	}
}

// TestStringExpr: a string of JSON is a template, a reference or a call, as it is asked.
func TestStringExpr(t *testing.T) {
	f, diags := Parse("main.tf.json", []byte(`{"ref": "a.b", "call": "f(1)", "text": "x", "template": "v ${w}", "broken": "${", "deep": "a b"}`))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	attrs, _ := f.Body.JustAttributes()
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"w": cty.StringVal("!")}}
	expr := func(name string) hcl.Expression { return attrs[name].Expr }
	if v, _ := expr("template").Value(nil); v.AsString() != "v ${w}" {
		t.Errorf("without a context: %#v", v)
	}
	if v, _ := expr("template").Value(ctx); v.AsString() != "v !" {
		t.Errorf("with a context: %#v", v)
	}
	if got := expr("template").Variables(); len(got) != 1 {
		t.Errorf("variables %v", got)
	}
	if _, diags := expr("broken").Value(ctx); !diags.HasErrors() {
		t.Error("a broken template has a value")
	}
	for name, want := range map[string]bool{"ref": true, "text": true, "call": false, "deep": false} {
		if _, diags := hcl.AbsTraversalForExpr(expr(name)); diags.HasErrors() == want {
			t.Errorf("%s is a reference: %t", name, !want)
		}
	}
	for name, want := range map[string]bool{"call": true, "ref": false, "broken": false} {
		if _, diags := hcl.ExprCall(expr(name)); diags.HasErrors() == want {
			t.Errorf("%s is a call: %t", name, !want)
		}
	}
	if expr("text").StartRange().Start.Line != 1 {
		t.Error("a string is nowhere")
	}
}
