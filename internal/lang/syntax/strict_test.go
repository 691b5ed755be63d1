package syntax

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// TestStrict: what isn't expected is notified of with what is, or what to do instead.
func TestStrict(t *testing.T) {
	s := &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "b"}, {Name: "a"}, {Name: "need", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "rule", LabelNames: []string{"name"}}},
	}
	instead := map[string]string{"count": "Use b.", "old": "Use rule."}
	const may = " There may be the arguments a, b and need, and blocks of the type rule."
	for text, want := range map[string]string{
		"need = 1\nzzz = 1\n":       `An argument named "zzz" is not expected here.` + may,
		"need = 1\nzzz {}\n":        `Blocks of type "zzz" are not expected here.` + may,
		"need = 1\ncount = 1\n":     `An argument named "count" is not expected here. Use b.`,
		"need = 1\nold {}\n":        `Blocks of type "old" are not expected here. Use rule.`,
		"a = 1\n":                   `The argument "need" is required, but no definition was found.`,
		"need = 1\nrule {}\n":       `All rule blocks must have 1 labels (name).`,
		"need = 1\na {}\n":          `Blocks of type "a" are not expected here. Did you mean to define argument "a"? If so, use the equals sign to assign it a value.`,
		"need = 1\nrule \"x\" {}\n": "",
	} {
		f, diags := Parse("a.hcl", []byte(text))
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, problems := Strict(f.Body, s, instead)
		got := ""
		for _, d := range problems {
			got += d.Detail
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	one := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "a"}}}
	f, _ := Parse("a.hcl", []byte("zzz = 1\n"))
	if _, problems := Strict(f.Body, one, nil); problems[0].Detail != `An argument named "zzz" is not expected here. There may be the argument a.` {
		t.Errorf("one argument: %v", problems)
	}
	if _, problems := Strict(f.Body, one, map[string]string{"*": "Not here."}); problems[0].Detail != `An argument named "zzz" is not expected here. Not here.` {
		t.Errorf("all others: %v", problems)
	}
}
