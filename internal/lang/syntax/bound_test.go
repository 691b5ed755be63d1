package syntax

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// measured is what the tokens of a file say of its depth.
func measured(src string) int {
	tokens, _ := lexFile([]byte(src), "", hcl.InitialPos)
	d := depthMeter{levels: []level{{}}}
	deepest := 0
	for i, t := range tokens {
		deepest = max(deepest, d.token(t, tokens[i+1:]))
	}
	return deepest
}

func FuzzDepthBound(f *testing.F) {
	for _, src := range []string{
		"a = 1\nb = [1, 2, { c = \"x\" }]\n",
		"r \"a\" \"b\" {\n  x = a.b[c.d] + -!(1 ? 2 : 3) # {{{ [[\n}\n",
		"a = \"${b}\"", "a = <<E\n{{\nE\n", "/* { */ a = {", "// (\na = 1", "a = \"\\\"\"", "a }}}}) {{", "a = [for k, v in m : k => v...]",
		"a = \"x\" + \"y\" + \"z\"\n", "é = 1", "\ufeffa = 1", "a = 1 # no end", "\"", "a = x.y.z.*.w[*].v", "a = @`';~^&|",
		"\r0", "a = 1\r\nb = 2", "a = [\n1 + 2 +\n3\n]",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if !utf8.ValidString(src) {
			return // rejected before
		}
		if bound, ok := depthBound([]byte(src)); ok && measured(src) > bound {
			t.Errorf("%q is %d deep, the bound is %d", src, measured(src), bound)
		}
	})
}

func TestDepthBoundOfBigBlocks(t *testing.T) {
	big := "locals {\n  m = {\n" + strings.Repeat("    k = { a = \"x\", b = [1, 2], c = f.g(\"y\") } # (\n", 5000) + "  }\n}\n"
	if bound, ok := depthBound([]byte(big)); !ok || bound > 100 {
		t.Errorf("bound %d, %v", bound, ok)
	}
	if bound, ok := depthBound([]byte("a = " + strings.Repeat("[", 1000))); !ok || bound < maxDepth {
		t.Errorf("bound %d, %v", bound, ok)
	}
	if bound, ok := depthBound([]byte("a = " + strings.Repeat("1 + ", 10_000))); !ok || bound < maxDepth {
		t.Errorf("bound %d, %v", bound, ok)
	}
}
