package statefile

import (
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
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

// TestRoomOfModules: the room for a state is about as large as the state, also where the large
// objects are the same one in each module.
func TestRoomOfModules(t *testing.T) {
	s := state.Empty()
	for m := range 4000 {
		for n := range 10 {
			text := strings.Repeat("x", 1+500*(n/9))
			at := addr.Resource{Module: addr.Root.Child(addr.Mod("m"), addr.IntKey(m)), Name: addr.Name{Type: "a", Name: fmt.Sprint("b", n)}}
			s.Objects[addr.Object{Instance: at.Instance(addr.NoKey)}] = &state.Object{JSON: []byte(`{"text":"` + text + `"}`)}
		}
	}
	p := &printer{}
	if err := p.snapshot(s); err != nil {
		t.Fatal(err)
	}
	if size, room := p.out.Len(), p.out.Cap(); room > size+size/4 {
		t.Errorf("%d bytes for a state of %d", room, size)
	}
}
