package function

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestBounds calls functions for results that no machine has room for, and for
// large ones that it has.
func TestBounds(t *testing.T) {
	text := func(n int) cty.Value { return cty.StringVal(strings.Repeat("x", n)) }
	numbers := make([]cty.Value, 1000)
	for i := range numbers {
		numbers[i] = cty.NumberIntVal(int64(i))
	}
	list := cty.ListVal(numbers)
	doubled := cty.ListVal([]cty.Value{text(1 << 20)})
	for range 10 {
		doubled = cty.TupleVal([]cty.Value{doubled, doubled})
	}
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	huge := cty.MustParseNumberVal("1e100000000")
	texts := make([]cty.Value, 1000)
	for i := range texts {
		texts[i] = cty.StringVal(fmt.Sprint(i))
	}
	turned := func(key int) cty.Value {
		return cty.MapVal(map[string]cty.Value{strings.Repeat("k", key): cty.ListVal(texts)})
	}
	for _, call := range []struct {
		name  string
		args  []cty.Value
		works bool
	}{
		{"setproduct", []cty.Value{list, list, list}, false},
		{"setproduct", []cty.Value{list, cty.ListVal(numbers[:9])}, true},
		{"format", []cty.Value{cty.StringVal("%2147483647s"), text(1)}, false},
		{"format", []cty.Value{cty.StringVal("%.2147483647f"), cty.NumberIntVal(1)}, false},
		{"format", []cty.Value{cty.StringVal(strings.Repeat("%[1]s", 1000)), text(1 << 20)}, false},
		{"format", []cty.Value{cty.StringVal("%f"), huge}, false},
		{"format", []cty.Value{cty.StringVal("%1000s"), text(1)}, true},
		{"formatlist", []cty.Value{cty.StringVal("%s%s"), list, text(1 << 20)}, false},
		{"formatlist", []cty.Value{cty.StringVal("%s%s"), list, text(1 << 10)}, true},
		{"join", []cty.Value{text(1 << 20), list}, false},
		{"join", []cty.Value{text(1 << 10), list}, true},
		{"replace", []cty.Value{text(1 << 20), text(1), text(1 << 10)}, false},
		{"replace", []cty.Value{text(1 << 20), cty.StringVal("/x/"), text(1 << 10)}, false},
		{"replace", []cty.Value{text(1 << 20), cty.StringVal("/x*/"), cty.StringVal(strings.Repeat("$0", 1000))}, false},
		{"replace", []cty.Value{text(1 << 20), text(1), text(2)}, true},
		{"indent", []cty.Value{cty.NumberIntVal(1e9), cty.StringVal("a\nb")}, false},
		{"indent", []cty.Value{cty.NumberIntVal(1e9), cty.StringVal("a")}, true},
		{"concat", []cty.Value{doubled, doubled}, false},
		{"flatten", []cty.Value{doubled}, false},
		{"jsonencode", []cty.Value{doubled}, false},
		{"jsonencode", []cty.Value{huge}, false},
		{"yamlencode", []cty.Value{doubled}, false},
		{"tostring", []cty.Value{huge}, false},
		{"transpose", []cty.Value{turned(1 << 20)}, false},
		{"transpose", []cty.Value{turned(1 << 10)}, true},
		{"yamldecode", []cty.Value{cty.StringVal(laughs)}, false},
		{"yamldecode", []cty.Value{cty.StringVal("a: &a [1]\nb: *a")}, true},
	} {
		fn := called(Context(Env{}))[call.name]
		if call.name == "concat" || call.name == "flatten" {
			for i, arg := range call.args {
				call.args[i] = cty.CapsuleVal(viewType, &view{arg})
			}
		}
		_, err := fn.Call(call.args)
		switch {
		case call.works && err != nil:
			t.Errorf("%s: %v", call.name, err)
		case !call.works && (err == nil || !strings.Contains(err.Error(), "more than")):
			t.Errorf("%s of what is too large: %v", call.name, err)
		}
	}
}

// TestTemplateRounds: loops in templates have the bounds of those in configurations.
func TestTemplateRounds(t *testing.T) {
	numbers := make([]cty.Value, 1100)
	for i := range numbers {
		numbers[i] = cty.Zero
	}
	text := cty.StringVal("%{ for a in l }%{ for b in l }%{ endfor }%{ endfor }")
	_, err := called(Context(Env{}))["templatestring"].Call([]cty.Value{text, cty.ObjectVal(map[string]cty.Value{"l": cty.TupleVal(numbers)})})
	if err == nil || !strings.Contains(err.Error(), "more than 1048576 rounds") {
		t.Errorf("%v", err)
	}
}

// TestHashingTime: bcrypt doubles its work with each cost, up to days.
func TestHashingTime(t *testing.T) {
	bcrypt := called(Context(Env{}))["bcrypt"]
	for cost, works := range map[int64]bool{4: true, 25: false, 31: false} {
		_, err := bcrypt.Call([]cty.Value{cty.StringVal("x"), cty.NumberIntVal(cost)})
		if works != (err == nil) || err != nil && !strings.Contains(err.Error(), "WEIR_MAX_TIME") {
			t.Errorf("%d: %v", cost, err)
		}
	}
}
