package view

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
)

// TestListings: objects stand below one another, and nothing of their names steers the
// terminal.
func TestListings(t *testing.T) {
	listing := func(at string, ids ...string) *plan.Listing {
		a, err := addr.ParseInstance(at)
		if err != nil {
			t.Fatal(err)
		}
		l := &plan.Listing{Addr: a}
		for _, id := range ids {
			l.Found = append(l.Found, &plan.Found{Name: "name\x1b[2J of " + id, Identity: cty.ObjectVal(map[string]cty.Value{
				"region": cty.NullVal(cty.String), "id": cty.StringVal(id), "n": cty.NumberIntVal(1),
			})})
		}
		return l
	}
	var b strings.Builder
	if err := Listings(&b, []*plan.Listing{listing("list.sim_object.a", "x", "longer"), listing(`list.sim_object.b["k"]`)}, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "list.sim_object.a   id=x,n=1,region=<null>        name␛[2J of x\n" +
		"list.sim_object.a   id=longer,n=1,region=<null>   name␛[2J of longer\n\n" +
		"Warning: Nothing was found by list.sim_object.b[\"k\"].\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
