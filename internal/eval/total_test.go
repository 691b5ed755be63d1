package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
)

// TestTotal: values that are allowed one by one are bounded together, and what only
// refers to them counts for nothing.
func TestTotal(t *testing.T) {
	defer func(total int64) { value.MaxTotal = total }(value.MaxTotal)
	text := source(`
locals {
  a = upper("` + strings.Repeat("x", 1000) + `")
  b = local.a
  c = local.b
  d = "${local.c}y"
}
output "x" {
  value = local.d
}
`)
	value.MaxTotal = 4000
	if _, _, diags := run(newHost(t, text)); diags != nil {
		t.Errorf("%v", diags)
	}
	value.MaxTotal = 2000
	_, _, diags := run(newHost(t, text))
	if len(diags) != 1 || diags[0].Summary != "Values too large together" || diags[0].Subject.Start.Line != 6 {
		t.Errorf("%v", diags)
	}
}

// TestTooLargeOnce: what is made of a value that was rejected isn't made larger and larger
// again, and nothing more is said of it.
func TestTooLargeOnce(t *testing.T) {
	defer func(size int) { value.MaxSize = size }(value.MaxSize)
	value.MaxSize = 1 << 16
	text := "locals {\n  a0 = { x = \"y\" }\n"
	for i := range 60 {
		text += fmt.Sprintf("  a%d = { l = local.a%d, r = local.a%d }\n", i+1, i, i)
	}
	h := newHost(t, source(text+"}\n"))
	root, _, diags := run(h)
	if len(diags) != 1 || diags[0].Summary != "Value too large" {
		t.Errorf("%v", diags)
	}
	promise.NewRuntime(1).Do(func(task *promise.Task) {
		if v, _ := root.Local(task, root.Program.Locals[40], nil); v.IsKnown() || v.Type() != cty.DynamicPseudoType {
			t.Errorf("%d bytes", value.Size(v, value.MaxSize))
		}
	})
}
