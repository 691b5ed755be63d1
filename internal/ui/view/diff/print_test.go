package diff

import (
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The quick way to tell words agrees with the library.
func TestWords(t *testing.T) {
	for c := range rune(128) {
		for _, name := range []string{string(c), "a" + string(c)} {
			if isWord(name) && !hclsyntax.ValidIdentifier(name) {
				t.Errorf("%q is taken for a word", name)
			}
		}
	}
	if !isWord("a-B_9") || isWord("") {
		t.Error("words aren't told from others")
	}
}
