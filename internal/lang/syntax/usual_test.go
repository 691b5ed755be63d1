package syntax

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// usualTexts are read by parseUsual.
var usualTexts = []string{
	"",
	"\n\n",
	"# only a comment",
	"  // one comment\n\n# and one more\n",
	"a = 1\n",
	"  a = 1",
	"a = 1 # why\nb=2//x",
	"a-b_2 = [] \n_ = {}\n",
	"a = true\nb = false\nc = null\nd = nullx\ne = true-x\n",
	"resource \"terraform_data\" \"r_0\" {\n  input = \"value\"\n}\n\n",
	"resource a \"\" {}\nlocals {\n\n}\nb { # why\n  c {\n\td = 1\n  }\n  // last\n  }",
	"a = x.y.z-1.w\nb = \"\"\nc = \"${x}\"\nd = \"${ x.y }-${z}${f(\"a\", [1,\n 2])} \"\n",
	"a = \"${\n x # why\n}b\"\n",
	"a = f()\nb = f(g(1), x,)\nc = f( # why\n 1,\n\n 2\n)\n",
	"a = [1, \"b\", [x], {},]\nb = [\n  1, # one\n  2,\n]\n",
	"a = { b = 1, c : 2, \"d e\" = x.y, \"${f}\" = {}, 5 = 6 }\nb = {\n  # why\n  c = 1 // one\n  d = [\n    { e = 1 }, { e = 2 }]\n\n  f(x) = 3,\n  }\n",
	"variable \"size\" {\n  type    = number\n  default = 123456789012345678901234567890\n}\n",
}

// otherTexts are left to hclsyntax, or are read alike.
var otherTexts = []string{
	"a = 1 + 2\n", "a = -1\n", "a = 1.5\n", "a = 1e3\n", "a = (1)\n", "a = x[0]\n", "a = x[*].y\n", "a = x.0\n", "a = x ? 1 : 2\n", "a = !x\n",
	"a = [for x in y : x]\n", "a = { for x in y : x => x }\n", "a = [\n for x in y : x]\n", "a = {\n for x in y : x => x }\n", "a = f(x...)\n", "a = a::b(1)\n", "a = f (1)\n",
	"a = <<X\nb\nX\n", "a = \"b\\n\"\n", "a = \"$${b}\"\n", "a = \"%{if x}b%{endif}\"\n", "a = \"${~ x ~}\"\n", "a = \"$\"\n", "a = \"100%\"\n", "a = \"ä\"\n", "a = 1\r\n",
	"a { b = 1 }\n", "/* c */ a = 1\n", "a = 1 /* c */\n", "a = 1\na = 2\n", "a = b c\n", "a = [1 2]\n", "a = {b = 1 c = 2}\n", "a = {b\n= 1}\n", "a = {b =\n1}\n", "a =\n1\n",
	"a {\n", "}\n", "a = [\n", "a = f(\n", "a = \"b\n\"\n", "a = \"b", "a \"b\nc\" {\n}\n", "a \"${b}\" {}\n", "a = 1 b = 2\n", "a {} b {}\n", "a == 1\n", "a = { b == 1 }\n", "a = { b => 1 }\n",
	"a = { b :: 1 }\n", "a = { (b) = 1 }\n", "a = x\n  .y\n", "a = [x\n .y]\n", "a = f(1,,2)\n", "a = f(,)\n", "a = [,]\n", "a = {,}\n", "a = x.for\nfor = 1\n", "a = [ford]\n", "a = 1_000\n", "a = 1-2\n", "a = \"a\"\"b\"\n", "a \"b\" = 1\n",
}

// alike holds parseUsual to hclsyntax: what it reads has no problem, and the same tree.
func alike(t *testing.T, src []byte, start hcl.Pos) (usual bool) {
	t.Helper()
	body, usual := parseUsual("x.tf", src, start)
	if !usual {
		return false
	}
	file, diags := hclsyntax.ParseConfig(src, "x.tf", start)
	if len(diags) > 0 {
		t.Fatalf("read, but hclsyntax says %s:\n%s", diags, src)
	}
	if !reflect.DeepEqual(body, file.Body) {
		t.Fatalf("another tree than that of hclsyntax:\n%s", src)
	}
	return true
}

func TestUsual(t *testing.T) {
	start := hcl.Pos{Line: 7, Column: 1, Byte: 300}
	for _, text := range usualTexts {
		if !alike(t, []byte(text), hcl.InitialPos) || !alike(t, []byte(text), start) {
			t.Errorf("not read: %q", text)
		}
	}
	for _, text := range otherTexts {
		alike(t, []byte(text), hcl.InitialPos)
	}
}

// TestUsualChanged makes small changes to texts: pieces of others, and what is left out.
func TestUsualChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := append(append([]string{}, usualTexts...), otherTexts...)
	read := 0
	for range 60_000 {
		src := texts[random.IntN(len(texts))]
		for range 1 + random.IntN(3) {
			from := random.IntN(len(src) + 1)
			to := min(len(src), from+random.IntN(3))
			other := texts[random.IntN(len(texts))]
			start := random.IntN(len(other) + 1)
			src = src[:from] + other[start:min(len(other), start+random.IntN(6))] + src[to:]
		}
		if alike(t, []byte(src), hcl.InitialPos) {
			read++
		}
	}
	if read < 2_000 {
		t.Errorf("only %d were read", read)
	}
}

func FuzzUsual(f *testing.F) {
	for _, text := range append(append([]string{}, usualTexts...), otherTexts...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) { alike(t, src, hcl.InitialPos) })
}
