package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func TestDepthIsLimited(t *testing.T) {
	const n = 20_000
	tests := map[string]string{
		"brackets":        "a = " + strings.Repeat("[", 5*n),
		"closed":          "a = " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"parens":          "a = " + strings.Repeat("(", n),
		"objects":         "a = " + strings.Repeat("{a=", n),
		"blocks":          strings.Repeat("a {\n", n),
		"not":             "a = " + strings.Repeat("!", n) + "true",
		"minus":           "a = " + strings.Repeat("-", n) + "1",
		"sums":            "a = 1" + strings.Repeat("+1", n),
		"sums over lines": "a = (1" + strings.Repeat("\n+1", n) + ")",
		"conditionals":    "a = " + strings.Repeat("true?1:", n) + "1",
		"templates":       "a = " + strings.Repeat(`"${`, n),
		"directives":      `a = "` + strings.Repeat(`%{if true}`, n) + `"`,
		"heredoc":         "a = <<E\n" + strings.Repeat(`%{for x in y}`, n) + "\nE\n",
		"calls":           "a = " + strings.Repeat("f(", n),
		"indices":         "a = b" + strings.Repeat("[b.c]", n),
		"splats":          "a = b" + strings.Repeat("[*]", n),
		"attributes":      "a = b()" + strings.Repeat(".c.*", n),
		"hidden closers":  "a = " + strings.Repeat(`["]]]]",`, n),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			f, diags := Parse("main.tf", []byte(text))
			if f.Body == nil || len(diags) != 1 || diags[0].Summary != "Too deeply nested" {
				t.Errorf("got %v, want one error about nesting", diags.Err())
			}
		})
	}
	for name, text := range map[string]string{
		"array":    strings.Repeat("[", n),
		"object":   strings.Repeat(`{"a":`, n),
		"template": `{"a": "${` + strings.Repeat("[", n) + `}"}`,
	} {
		t.Run("JSON "+name, func(t *testing.T) {
			f, diags := Parse("main.tf.json", []byte(text))
			if name == "template" {
				diags = f.Body.(*JSONBody).Members[0].Value.Expr.(*StringExpr).Problems
			}
			if len(diags) != 1 || diags[0].Summary != "Too deeply nested" {
				t.Errorf("got %v, want one error about nesting", diags.Err())
			}
		})
	}
}

func TestOrdinaryDepthIsAllowed(t *testing.T) {
	const n = 900
	for _, text := range []string{
		"a = " + strings.Repeat("[", n) + strings.Repeat("]", n),
		strings.Repeat("resource \"a\" \"b\" {\n  x = [1, -2, {a = !true}]\n}\n", 5_000),
		"a = [\n" + strings.Repeat("  \"${f(x[0], -1)}\" ,\n", 5_000) + "]",
		"a = 1" + strings.Repeat("+1", 5000),
		"a = <<E\n" + strings.Repeat("%{if true}x%{else}y%{endif}\n", 5_000) + "E\n",
	} {
		if _, diags := Parse("main.tf", []byte(text)); diags.HasErrors() {
			t.Errorf("%.40s…: %v", text, diags.Err())
		}
	}
}

// TestChunks compares big files, divided, with what one parse makes of them.
func TestChunks(t *testing.T) {
	block := "# é\nresource \"a\" \"b\" {\n  x = 1\n}\n"
	n := minToDivide/len(block) + 100
	tests := map[string]struct {
		text    string
		divided bool
	}{
		"blocks":  {strings.Repeat(block, n), true},
		"heredoc": {strings.Repeat(block, n/2) + "a {\n  x = <<E\n" + strings.Repeat("${1}\n}\n", n) + "E\n}\n" + strings.Repeat(block, n/2), false},
		"comment": {strings.Repeat(block, n/2) + "/*\n" + strings.Repeat("\n}\n", 3*n) + "*/\n" + strings.Repeat(block, n/2), false},
		"error":   {strings.Repeat(block, n) + "x = = 1\n" + strings.Repeat(block, n), false},
		"twice":   {"x = 1\n" + strings.Repeat(block, n) + "x = 1\n", false},
		"values":  {"x = 1\n" + strings.Repeat(block, n) + "y = 1\n", true},
		"no end":  {strings.Repeat(block, n) + "a {\n  x = 1", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			body, divided := parseChunks("m.tf", []byte(tt.text))
			if divided != tt.divided {
				t.Fatalf("divided is %v", divided)
			}
			whole, diags := hclsyntax.ParseConfig([]byte(tt.text), "m.tf", hcl.InitialPos)
			f, got := Parse("m.tf", []byte(tt.text))
			if len(got) != len(diags) {
				t.Errorf("%d diagnostics, want %d", len(got), len(diags))
			}
			if divided {
				f.Body = body
			}
			if got, want := outline(f.Body.(*hclsyntax.Body)), outline(whole.Body.(*hclsyntax.Body)); got != want {
				t.Errorf("trees differ: %d and %d bytes", len(got), len(want))
			}
		})
	}
}

func outline(b *hclsyntax.Body) string {
	text := b.SrcRange.String() + b.EndRange.String()
	for _, block := range b.Blocks {
		text += fmt.Sprintln(block.Type, block.DefRange(), block.Body.SrcRange, block.Body.SrcRange.End.Byte)
		for _, attr := range block.Body.Attributes {
			text += fmt.Sprintln(attr.Name, attr.Expr.Range(), attr.Expr.Range().Start.Byte)
		}
	}
	return text
}

func TestEncoding(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xfea\x00":       "UTF-16",
		"a = 1\nb = \"\xe9\"": "UTF-8",
		"\xef\xbb\xbfa = 1":   "",
	} {
		f, diags := Parse("main.tf", []byte(text))
		switch {
		case want == "" && len(diags) == 0:
			if attrs, _ := f.Body.JustAttributes(); len(attrs) != 1 {
				t.Errorf("%q: %d attributes", text, len(attrs))
			}
		case want == "" || len(diags) != 1 || !strings.Contains(diags[0].Detail, want):
			t.Errorf("%q: got %v, want %q", text, diags, want)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "1,1-1: error: Missing JSON value",
		"[1":                 "1,1-3: error: Unclosed array",
		`{"a": 1,}`:          "1,8-9: error: Trailing comma in object",
		`{"a" 1}`:            "1,6-7: error: Missing property value colon",
		"{\n  a: 1}":         "2,3-4: error: Invalid object property name",
		`{"a": tru}`:         "1,7-10: error: Invalid JSON keyword",
		`{"a": 01}`:          "1,7-9: error: Invalid JSON number",
		`{"a": "x}`:          "1,7-10: error: Unclosed string",
		`{"a": "\x"}`:        "1,7-11: error: Invalid JSON string",
		`{"a": 1} 2`:         "1,10-11: error: Extraneous data after value",
		`{"a": 1 "b": 2}`:    "1,9-10: error: Missing separator in object",
		`"text"`:             "1,1-7: error: Root value must be object",
		`{"é": "ü", "a": !}`: "1,17-18: error: Invalid start of value",
	} {
		f, diags := Parse("m.tf.json", []byte(text))
		if len(diags) != 1 || f.Body == nil {
			t.Errorf("%s: got %v, want one error", text, diags)
			continue
		}
		if got := diags[0].String(); !strings.HasPrefix(got, "m.tf.json:"+want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestJSONBody(t *testing.T) {
	f, diags := Parse("m.tf.json", []byte(`[{"//": 1, "a": "x${1+1}", "n": 12345678901234567890.5}, {
  "b": {"l1": {"l2": [{"x": 1}, {"x": 2}]}, "l3": [{"l4": {}}]},
  "c": [{}, null, {}], "d": null
}]`))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	content, hclDiags := f.Body.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "a"}, {Name: "n"}},
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "b", LabelNames: []string{"one", "two"}}, {Type: "c"}, {Type: "d"},
		},
	})
	if hclDiags.HasErrors() {
		t.Fatal(hclDiags)
	}
	var got []string
	for _, b := range content.Blocks {
		got = append(got, b.Type+" "+strings.Join(b.Labels, " ")+" "+b.DefRange.String())
	}
	want := []string{
		"b l1 l2 m.tf.json:2,16-20", "b l1 l2 m.tf.json:2,16-20", "b l3 l4 m.tf.json:2,53-57",
		"c  m.tf.json:3,9-10", "c  m.tf.json:3,19-20",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("blocks are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	a := content.Attributes["a"]
	if v, _ := a.Expr.Value(&hcl.EvalContext{}); v.RawEquals(cty.StringVal("x2")) == false {
		t.Errorf("a is %#v", v)
	}
	if v, _ := a.Expr.Value(nil); v.AsString() != "x${1+1}" {
		t.Errorf("a is %#v without context", v)
	}
	if got := a.Expr.Range().String(); got != "m.tf.json:1,17-26" {
		t.Errorf("a is at %s", got)
	}
	if v, _ := content.Attributes["n"].Expr.Value(nil); v.AsBigFloat().Text('f', 1) != "12345678901234567890.5" {
		t.Errorf("n is %#v", v)
	}
}

func TestMergeBodies(t *testing.T) {
	base, _ := Parse("a.tf", []byte("a = 1\nb = 1\nx {\n}\ny {\n}\ndynamic \"z\" {\n}\nlifecycle {\n}"))
	over, _ := Parse("b.tf.json", []byte(`{"b": 2, "c": 3, "x": [{}, {}], "z": {}, "lifecycle": {}}`))
	merged := Merge(base.Body, over.Body, "lifecycle")
	schema := &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "a"}, {Name: "b", Required: true}, {Name: "c"}, {Name: "d", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "x"}, {Type: "y"}, {Type: "z"}, {Type: "lifecycle"}, {Type: "dynamic", LabelNames: []string{"type"}}},
	}
	content, diags := merged.Content(schema)
	if len(diags) != 1 || diags[0].Summary != "Missing required argument" {
		t.Errorf("diagnostics are %v", diags)
	}
	var blocks []string
	for _, b := range content.Blocks {
		blocks = append(blocks, b.DefRange.Filename+" "+b.Type)
	}
	if got, want := strings.Join(blocks, ", "), "a.tf y, a.tf lifecycle, b.tf.json x, b.tf.json x, b.tf.json z, b.tf.json lifecycle"; got != want {
		t.Errorf("blocks are %s, want %s", got, want)
	}
	if v, _ := content.Attributes["b"].Expr.Value(nil); !v.RawEquals(cty.NumberIntVal(2)) {
		t.Errorf("b is %#v", v)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("main.tf", `a "b" { c = "${d[e].f}" }`)
	f.Add("main.tf.json", `{"a": {"b": ["${c}", null, 1e5, "\u00e9"]}}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		for _, name := range []string{"main.tf", "main.tf.json"} {
			file, diags := Parse(name, []byte(text))
			if file.Body == nil {
				t.Fatal("no tree")
			}
			if body, ok := file.Body.(*hclsyntax.Body); ok && body == nil {
				t.Fatal("no tree")
			}
			for _, d := range diags {
				if d.Subject == nil {
					t.Errorf("no place: %s", d)
				}
			}
			_, _ = file.Body.JustAttributes()
			_, _ = file.Body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "a", LabelNames: []string{"x"}}}})
		}
	})
}
