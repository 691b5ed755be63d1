package statefile

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyOutputs counts what reading outputs makes: the same for each, however many
// there are.
func TestManyOutputs(t *testing.T) {
	each := func(n int) float64 {
		var b strings.Builder
		b.WriteString(`{"version":4,"serial":1,"lineage":"l","resources":[],"outputs":{`)
		for i := range n {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `"o%d":{"value":["a",%d],"type":["tuple",["string","number"]]}`, i, i)
		}
		b.WriteString("}}")
		src := []byte(b.String())
		return testing.AllocsPerRun(1, func() {
			s, diags := Read(src, "x.tfstate")
			if diags.HasErrors() || len(s.Outputs) != n {
				t.Fatal(diags)
			}
		}) / float64(n)
	}
	if few, many := each(500), each(50_000); many > 1.2*few {
		t.Errorf("%v things are made for each of 50,000 outputs, %v for each of 500", many, few)
	}
}
