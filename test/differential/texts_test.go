package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A seed always draws the same case, and its configuration can be read.
func TestDrawText(t *testing.T) {
	for seed := range uint64(200) {
		c, again := drawText(seed), drawText(seed)
		if c.config != again.config || !bytes.Equal(c.state, again.state) || !bytes.Equal(c.script, again.script) {
			t.Fatalf("seed %d draws two cases", seed)
		}
		if _, diags := hclsyntax.ParseConfig([]byte(c.config), "main.tf", hcl.InitialPos); diags.HasErrors() {
			t.Fatalf("seed %d: %s\n%s", seed, diags, c.config)
		}
	}
}

// A known difference is taken out, and nothing else is.
func TestKnownTexts(t *testing.T) {
	const end = "      ~ c = [\n          - {\n              - d = 1\n            },\n          - {},\n        ] -> (known after apply) # forces replacement"
	peer := strings.Split("      ~ a = 1 # forces replacement -> (known after apply) # forces replacement\n"+
		strings.NewReplacer("- {\n", "- { # forces replacement\n", "- {},", "- {} # forces replacement,").Replace(end), "\n")
	weir := strings.Split("      ~ a = 1 -> (known after apply) # forces replacement\n"+end, "\n")
	explained := map[string]bool{}
	w, p := knownTexts(weir, peer, explained)
	if !slices.Equal(w, p) || !explained["An unknown value forces a replacement once"] {
		t.Errorf("not explained: %q beside %q", w, p)
	}
	last := len(weir) - 1
	weir[last] = strings.TrimSuffix(weir[last], forces)
	if w, p = knownTexts(weir, peer, explained); slices.Equal(w, p) {
		t.Error("a missing replacement of several lines is explained")
	}
	weir[last] += forces
	secret := []string{"  ~ a = \"a first secret\" -> \"b\"", "    c = 1"}
	hidden := []string{"  # Warning: this attribute value will no longer be marked as sensitive", "  # after applying this change.", "  ~ a = (sensitive value)", "    c = 1"}
	if w, p = knownTexts(hidden, secret, explained); !slices.Equal(w, p) || !explained["Repeated secrets are hidden too"] {
		t.Errorf("a repeated secret isn't explained: %q beside %q", w, p)
	}
	secret[0] = "  ~ a = \"no secret\" -> \"b\""
	if w, p = knownTexts(hidden, secret, explained); slices.Equal(w, p) {
		t.Error("any hidden text is explained")
	}
	weir[0] = strings.Replace(weir[0], "1", "2", 1)
	if w, p = knownTexts(weir, peer, explained); slices.Equal(w, p) {
		t.Error("another value is explained")
	}
	weir[0] = strings.TrimSuffix(weir[0], forces)
	if w, p = knownTexts(weir, peer, explained); slices.Equal(w, p) {
		t.Error("a missing replacement is explained")
	}
}
