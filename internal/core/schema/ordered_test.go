package schema

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// TestProposals: what is proposed for a wrong name is the nearest one, and the
// same each time.
func TestProposals(t *testing.T) {
	b := &Block{
		Attributes: map[string]*Attribute{},
		Blocks: map[string]*NestedBlock{
			"rag": {Nesting: List, Block: &Block{Attributes: map[string]*Attribute{
				"pore": {Type: cty.String, Optional: true}, "port": {Type: cty.String, Optional: true},
			}}},
			"tag": {Nesting: List, Block: &Block{}},
		},
	}
	for _, name := range []string{"id", "mode", "mood", "made"} {
		b.Attributes[name] = &Attribute{Type: cty.String, Optional: true}
	}
	tests := []struct{ body, want string }{
		{`mod = ""`, `An argument named "mod" is not expected here. Did you mean "mode"?`},
		{`tage {}`, `Blocks of type "tage" are not expected here. Did you mean "tag"?`},
		{`bag {}`, `Blocks of type "bag" are not expected here. Did you mean "rag"?`},
		{`tag = ""`, `An argument named "tag" is not expected here. Did you mean to define a block of type "tag"?`},
		{`quite_other = ""`, `An argument named "quite_other" is not expected here.`},
		{"rag {\n por = \"\"\n}", `An argument named "por" is not expected here. Did you mean "pore"?`},
	}
	for _, test := range tests {
		for range 20 {
			f, diags := hclsyntax.ParseConfig([]byte(test.body), "t.hcl", hcl.InitialPos)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			_, diags = b.Decode(f.Body, nil)
			if len(diags) != 1 || diags[0].Detail != test.want {
				t.Errorf("%s: got %v, want %s", test.body, diags, test.want)
				break
			}
		}
	}
}
