package syntax

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// FuzzBoth reads a value from JSON, writes it in native syntax, and reads the same value again.
// Blocks with it have the same labels and attributes in both.
func FuzzBoth(f *testing.F) {
	for _, text := range []string{
		`1`, `"x"`, `[1, "a", null, true]`, `{"a": {"b c": ["$${x}", "é\n"]}}`, `1e300`, `-0.5`, `"%%{ if }"`, `{}`, `""`, `"\u0000"`,
	} {
		f.Add(text)
	}
	schema := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "b", LabelNames: []string{"l"}}}}
	f.Fuzz(func(t *testing.T, text string) {
		file, diags := Parse("x.tf.json", []byte(`{"b": {"l": {"a": `+text+`}}}`))
		if diags.HasErrors() {
			return
		}
		read := func(body hcl.Body) (label string, expr hcl.Expression) {
			content, _ := body.Content(schema)
			if len(content.Blocks) != 1 {
				return "", nil
			}
			attrs, _ := content.Blocks[0].Body.JustAttributes()
			if len(attrs) != 1 || attrs["a"] == nil {
				return "", nil
			}
			return content.Blocks[0].Labels[0], attrs["a"].Expr
		}
		label, expr := read(file.Body)
		if expr == nil {
			return // the text closes the value and adds more
		}
		v, problems := expr.Value(nil)
		if problems.HasErrors() || !v.IsWhollyKnown() || strings.Contains(text, "$$") && strings.Contains(text, "$$$") {
			return
		}
		w := hclwrite.NewEmptyFile()
		w.Body().AppendNewBlock("b", []string{label}).Body().SetAttributeValue("a", v)
		native, diags := Parse("x.tf", w.Bytes())
		if diags.HasErrors() {
			t.Fatalf("%s: %s: %v", text, w.Bytes(), diags)
		}
		other, again := read(native.Body)
		if again == nil || other != label {
			t.Fatalf("%s: the block is missing from %s", text, w.Bytes())
		}
		got, problems := again.Value(nil)
		if problems.HasErrors() || !got.RawEquals(v) {
			t.Errorf("%s: %#v, and from %s: %#v, %v", text, v, w.Bytes(), got, problems)
		}
	})
}
