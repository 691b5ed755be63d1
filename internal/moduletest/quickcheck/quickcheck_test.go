package quickcheck_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/quickcheck"
)

func variables(t *testing.T, text string) []*program.Variable {
	t.Helper()
	return compile(t, text).Variables
}

func compile(t *testing.T, text string) *program.Program {
	t.Helper()
	src, diags := module.Load(module.Memory{"main.tf": []byte(text)}, ".", dialect.OpenTofu)
	p, more := compiler.Compile(src)
	if diags.Append(more); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return p
}

// TestNext: values have the type of the variable, the same each time for a seed
// and others for another, and those that validations speak of are among them.
func TestNext(t *testing.T) {
	const samples = 300
	for _, v := range variables(t, `
variable "choice" {
  type = string
  validation {
    condition     = contains(["first", "second"], var.choice)
    error_message = "x"
  }
}
variable "pattern" {
  type = string
  validation {
    condition     = can(regex("^(ab|c)[0-9]{2,3}x?$", var.pattern))
    error_message = "x"
  }
}
variable "number" {
  type = number
  validation {
    condition     = var.number >= 700 && var.number < 710
    error_message = "x"
  }
}
variable "all" {
  type = object({
    list = list(string), set = set(number), map = map(bool), tuple = tuple([string, bool])
    inner = optional(object({ a = string, b = optional(number, 3) }))
  })
}
variable "any" { default = "x" }
variable "list" { type = list(object({ a = optional(string) })) }
`) {
		g, again, other := quickcheck.New(v, 1, "run"), quickcheck.New(v, 1, "run"), quickcheck.New(v, 2, "run")
		suits, differ := 0, 0
		for range samples {
			value := g.Next()
			if same := again.Next(); !same.RawEquals(value) {
				t.Fatalf("%s: %#v and %#v", v.Name, value, same)
			}
			if !other.Next().RawEquals(value) {
				differ++
			}
			prepared, diags := eval.PrepareVariable(v, value, v.Range)
			if diags.HasErrors() {
				t.Fatalf("%s: %#v: %s", v.Name, value, diags.Err())
			}
			switch v.Name {
			case "choice":
				if s := prepared.AsString(); s == "first" || s == "second" {
					suits++
				}
			case "pattern":
				if regexp.MustCompile("^(ab|c)[0-9]{2,3}x?$").MatchString(prepared.AsString()) {
					suits++
				}
			case "number":
				if f, _ := prepared.AsBigFloat().Float64(); f >= 700 && f < 710 {
					suits++
				}
			default:
				suits++
			}
		}
		if differ < samples/4 {
			t.Errorf("%s: the seed changes %d of %d values", v.Name, differ, samples)
		}
		if suits < samples/4 {
			t.Errorf("%s: %d of %d values suit its validation", v.Name, suits, samples)
		}
	}
}

// TestSimpler: simpler values end, and to the simplest that a property allows.
func TestSimpler(t *testing.T) {
	list := func(texts ...string) cty.Value {
		var values []cty.Value
		for _, s := range texts {
			values = append(values, cty.StringVal(s))
		}
		return cty.TupleVal(values)
	}
	for name, tt := range map[string]struct {
		value, want cty.Value
		fails       func(cty.Value) bool
	}{
		"number": {cty.NumberIntVal(907), cty.NumberIntVal(70), func(v cty.Value) bool { return v.GreaterThanOrEqualTo(cty.NumberIntVal(70)).True() }},
		"below":  {cty.NumberFloatVal(-3.5), cty.NumberIntVal(-2), func(v cty.Value) bool { return v.LessThan(cty.NumberIntVal(-1)).True() }},
		"text":   {cty.StringVal("x-yZ9"), cty.StringVal("aaa"), func(v cty.Value) bool { return len(v.AsString()) > 2 }},
		"bool":   {cty.True, cty.False, func(cty.Value) bool { return true }},
		"list":   {list("p", "qq", "r", "s"), list("", ""), func(v cty.Value) bool { return v.LengthInt() > 1 }},
		"object": {cty.ObjectVal(map[string]cty.Value{"k": cty.StringVal("bb"), "l": cty.True}), cty.ObjectVal(map[string]cty.Value{"k": cty.StringVal("a")}),
			func(v cty.Value) bool { return v.Type().HasAttribute("k") && v.GetAttr("k").AsString() != "" }},
	} {
		v, steps := tt.value, 0
		for again := true; again; {
			again = false
			for _, simple := range quickcheck.Simpler(v) {
				if steps++; tt.fails(simple) {
					v, again = simple, true
					break
				}
			}
		}
		if !v.RawEquals(tt.want) || steps > 200 {
			t.Errorf("%s: %#v after %d steps", name, v, steps)
		}
	}
}

// Numbers that say how many instances there are stay small, whatever validations
// mention.
func TestCounts(t *testing.T) {
	for _, v := range variables(t, `
variable "n" { type = number }
variable "big" {
  type = number
  validation {
    condition     = var.big <= 5000
    error_message = "x"
  }
}
`) {
		g := quickcheck.New(v, 1, "")
		g.Counts = true
		most := int64(0)
		for range 300 {
			n, _ := g.Next().AsBigFloat().Int64()
			most = max(most, n)
		}
		if bound := map[string]int64{"n": 100, "big": 1000}[v.Name]; most > bound || most < bound/2 {
			t.Errorf("%s: up to %d", v.Name, most)
		}
	}
}

func TestCounting(t *testing.T) {
	root := compile(t, `
variable "count_of" {}
variable "through" {}
variable "keys" {}
variable "below" {}
variable "port" {}
variable "other" {}
locals { n = var.through + 1 }
resource "terraform_data" "a" {
  count = var.count_of + local.n
}
resource "terraform_data" "b" {
  for_each = toset([for i in range(var.keys) : tostring(i)])
  input    = var.other
}
resource "terraform_data" "c" {
  count = var.port > 0 ? 1 : 0
}
module "m" {
  source = "./m"
  n      = var.below
  o      = var.other
}
`)
	child := compile(t, `
variable "n" {}
variable "o" {}
resource "terraform_data" "a" { count = var.n }
output "o" { value = var.o }
`)
	tree := &program.Tree{Program: root, Children: map[addr.Call]*program.Tree{root.Calls[0].Call: {Program: child}}}
	if got := slices.Sorted(maps.Keys(quickcheck.Counting(tree))); strings.Join(got, " ") != "below count_of keys through" {
		t.Errorf("%q", got)
	}
}
