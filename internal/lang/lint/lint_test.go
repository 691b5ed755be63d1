package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

const declared = `
variable "n" { type = number }
variable "s" { type = string }
variable "any" {}
variable "list" { type = list(string) }
variable "o" { type = object({ port = number, names = list(string) }) }
locals {
  number = var.n + 1
  round  = local.trip
  trip   = local.round
}
resource "x_y" "a" {}
resource "x_y" "many" { count = 2 }
data "x_y" "d" {}
module "m" { source = "./m" }
`

// found are the rules that a configuration breaks, with the lines below what is declared.
func found(t *testing.T, file, text, rules string) []string {
	t.Helper()
	files := module.Memory{"main.tf": []byte(declared)}
	files[file] = []byte(text)
	source, diags := module.Load(files, ".", dialect.OpenTofu)
	p, more := compiler.Compile(source)
	if diags = append(diags, more...); diags.HasErrors() {
		t.Fatal(diags)
	}
	r, err := Parse(rules)
	if err != nil {
		t.Fatal(err)
	}
	object := cty.Object(map[string]cty.Type{"id": cty.String, "size": cty.Number, "tags": cty.Map(cty.String)})
	var out []string
	for _, d := range Check(&program.Tree{Program: p}, r, func(*program.Resource) cty.Type { return object }) {
		out = append(out, fmt.Sprint(strings.TrimPrefix(d.Code, "core:"), " ", d.Subject.Start.Line))
	}
	return out
}

func TestRules(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{`output "o" { value = [var.n == "3", "3" != var.n, var.n == 3, var.any == 3, var.n == var.any] }`, []string{"ineffeq 1", "ineffeq 1"}},
		{`output "o" { value = [var.list == [], var.list == tolist([]), var.list == null, length(var.list) == 0] }`, []string{"ineffeq 1"}},
		{`output "o" { value = [var.o.port == "80", var.o.names == "a", var.o.names[0] == "a", var.o == {}] }`, []string{"ineffeq 1", "ineffeq 1"}},
		{`output "o" { value = [local.number == "4", "${var.n}" == 4, local.round == 3, (var.s) == -1, !true == "a"] }`, []string{"ineffeq 1", "ineffeq 1", "ineffeq 1"}},
		{`output "o" { value = [x_y.a.size == "1", x_y.a.id == "1", x_y.a.tags["b"] == 1, x_y.many[0].size == true, x_y.many == 3] }`, []string{"ineffeq 1", "ineffeq 1", "ineffeq 1"}},
		{"resource \"x_y\" \"b\" {\n  count = 2\n  a = count.index == \"1\" ? 1 : var.n == (true ? \"a\" : \"b\") ? 1 : 2\n}", []string{"ineffeq 3", "ineffeq 3"}},
		{`output "o" { value = ["var.n", "local.number", "x_y.a", "x_y.a.id", "data.x_y.d", "module.m", "x_y.many[0].id", "module.m.out"] }`, slices.Repeat([]string{"quotedref 1"}, 8)},
		{`output "o" { value = ["var.zz", "n", "a.b", "example.com", "x_y.none", "var.n is", "${var.s}", "data.x_y", "1.2.3", ""] }`, nil},
		{"resource \"x_y\" \"b\" {\n  a = x_y.a.id\n  depends_on = [x_y.a, x_y.many, data.x_y.d]\n}", []string{"unuseddeps 3"}},
		{"resource \"x_y\" \"b\" {\n  a = x_y.many[0].id\n  c = module.m\n  depends_on = [x_y.many, module.m]\n}", nil},
		{"data \"x_y\" \"b\" {\n  a = x_y.a.id\n  depends_on = [x_y.a]\n}", nil},
		{"output \"o\" {\n  value = x_y.a\n  depends_on = [x_y.a]\n}", []string{"unuseddeps 3"}},
		{"resource \"x_y\" \"b\" {\n  a = timestamp()\n  b = plantimestamp()\n  c {\n    d = \"${uuid()}\"\n  }\n}", []string{"impurefunc 2", "impurefunc 5"}},
		{"resource \"x_y\" \"b\" {\n  a = timestamp()\n  b = bcrypt(\"x\")\n  lifecycle {\n    ignore_changes = [a]\n  }\n}", []string{"impurefunc 3"}},
		{"resource \"x_y\" \"b\" {\n  a = uuid()\n  lifecycle {\n    ignore_changes = all\n  }\n}", nil},
		{"module \"n\" {\n  source = \"./m\"\n  a = core::timestamp()\n}\nlocals {\n  t = timestamp()\n}", []string{"impurefunc 3"}},
	} {
		if got := found(t, "next.tf", test.text, "all"); !slices.Equal(got, test.want) {
			t.Errorf("%s\n%q, not %q", test.text, got, test.want)
		}
	}
	inJSON := `{"resource": {"x_y": {"b": {"a": "var.n", "c": "${uuid()}", "d": "${var.n == \"3\"}"}}}}`
	if got := found(t, "next.tf.json", inJSON, "core:all"); len(got) != 3 {
		t.Errorf("in JSON: %q", got)
	}
}

// TestChoice: rules are chosen by name, group and namespace.
func TestChoice(t *testing.T) {
	const text = "resource \"x_y\" \"b\" {\n  a = [x_y.a.id, timestamp(), \"var.n\", var.n == \"3\"]\n  depends_on = [x_y.a]\n}"
	for rules, want := range map[string]int{
		"all": 4, "core:all": 4, "core:mistake": 2, "core:confusing": 2, "core:noconverge": 1, "core:unuseddeps": 1,
		"all,!core:mistake": 2, "core:mistake,!core:quotedref": 1, "other:all": 0, "core:later,core:ineffeq": 1, "all,!all": 0, "all, !core:all": 0,
	} {
		if got := found(t, "next.tf", text, rules); len(got) != want {
			t.Errorf("%s: %q", rules, got)
		}
	}
	for _, wrong := range []string{"", "!all", "core", "core:", ":x", "core:Upper", "core:a b", "all,", "!", "-a:b", "core:a:b"} {
		if r, err := Parse(wrong); err == nil {
			t.Errorf("%q is %v", wrong, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("all,!core:quotedref")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := Parse(text); err == nil && len(r.wanted) == 0 {
			t.Errorf("%q chooses nothing", text)
		}
	})
}
