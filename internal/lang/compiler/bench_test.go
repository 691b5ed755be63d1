package compiler

import (
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
)

const benchBlocks = 20_000

func benchText() []byte {
	var b strings.Builder
	b.WriteString("variable \"v\" {}\n")
	for i := range benchBlocks {
		fmt.Fprintf(&b, "resource \"x_y\" \"r%d\" {\n  name  = \"n-${var.v}\"\n  refs  = [x_y.r%d.id, x_y.r%d.id]\n  count = 2\n}\n", i, benchBlocks, benchBlocks)
	}
	fmt.Fprintf(&b, "resource \"x_y\" \"r%d\" {}\n", benchBlocks)
	return []byte(b.String())
}

// BenchmarkCompile reports the cost of a block, from text to program.
func BenchmarkCompile(b *testing.B) {
	text := benchText()
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			syntax.Parse("main.tf", text)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/benchBlocks, "µs/block")
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			src, diags := module.Load(module.Memory{"main.tf": text}, ".", dialect.OpenTofu)
			_, more := Compile(src)
			if len(diags)+len(more) > 0 {
				b.Fatal(diags, more[:1])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/benchBlocks, "µs/block")
	})
}
