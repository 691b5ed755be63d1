package compiler

import (
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
)

// TestManyChecks counts what compiling many blocks of checks makes: no block is compared
// with all before it.
func TestManyChecks(t *testing.T) {
	const n = 2000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "check \"c%d\" {\n  assert {\n    condition = 1 == 2\n    error_message = \"no\"\n  }\n}\n", i)
	}
	src, diags := module.Load(module.Memory{"main.tf": []byte(b.String())}, ".", dialect.OpenTofu)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if made := testing.AllocsPerRun(1, func() { Compile(src) }) / n; made > 300 {
		t.Errorf("%v things were made for each of %d checks", made, n)
	}
}
