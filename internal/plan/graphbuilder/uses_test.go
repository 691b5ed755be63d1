package graphbuilder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/testing/testkit"
)

// narrowed checks what is kept of the uses of each object, "all" where they aren't narrowed.
func narrowed(want ...string) func(*testing.T, *engine.Config, *plan.Plan) {
	return func(t *testing.T, _ *engine.Config, p *plan.Plan) {
		var got []string
		for _, c := range p.Changes {
			text := "all"
			if uses := p.UsesOf(c); uses != nil {
				text = fmt.Sprint(uses)
			}
			got = append(got, c.Addr.String()+" "+text)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("uses\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestUses is about which dependencies are narrowed to instances.
func TestUses(t *testing.T) {
	const chain = `resource "sim_object" "b" {
  name   = "b"
  parent = sim_object.a.id
}
resource "sim_object" "c" {
  name   = "c"
  parent = sim_object.b.id
}
`
	const none = "resource \"sim_object\" \"b\" {\n  count = 0\n  name  = \"b\"\n}\n"
	const created = "create sim_object.a\ncreate sim_object.b\ncreate sim_object.c"
	testkit.Rules(t, []testkit.Rule{
		{Rule: "nothing is narrowed where each resource has one object", After: "resource \"sim_object\" \"a\" { name = \"a\" }\n" + chain,
			Want: created, See: narrowed("sim_object.a all", "sim_object.b all", "sim_object.c all")},
		{Rule: "what is behind a narrowed resource is left to it", After: "resource \"sim_object\" \"a\" {\n  count = 2\n  name  = \"a\"\n}\n" + strings.Replace(chain, "a.id", "a[0].id", 1),
			Want: strings.Replace(created, "object.a", "object.a[0]\ncreate sim_object.a[1]", 1),
			See:  narrowed("sim_object.a[0] all", "sim_object.a[1] all", "sim_object.b [{sim_object.a false [sim_object.a[0]]}]", "sim_object.c [{sim_object.a false []}]")},
		{Rule: "the only object of a block needs no word that it uses nothing", After: "resource \"sim_object\" \"a\" { name = join(\"-\", sim_object.b[*].id) }\n" + none,
			Want: "create sim_object.a", See: narrowed("sim_object.a all")},
		{Rule: "an instance that uses nothing says so, as others of its block may", After: "resource \"sim_object\" \"a\" {\n  count = 1\n  name  = join(\"-\", sim_object.b[*].id)\n}\n" + none,
			Want: "create sim_object.a[0]", See: narrowed("sim_object.a[0] []")},
	})
}
