package view

import (
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
)

// TestDeployments: a line for each deployment, and for each component with changes.
func TestDeployments(t *testing.T) {
	parts := map[addr.Module]plan.Counts{"component.net": {Add: 2, Destroy: 1}, `component.app["a"]`: {Change: 1}, "component.same": {}}
	got := Deployments([]Sum{{Name: "dev", Components: parts}, {Name: "production", Code: 1}, {Name: "test", Code: 2, Planned: true, Components: parts}})
	want := `
Deployments:
  dev         done
    component.app["a"]: 1 changed
    component.net: 2 added, 1 destroyed
  production  not done: see above
  test        has changes
    component.app["a"]: 1 to change
    component.net: 2 to add, 1 to destroy
`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := Deployments([]Sum{{Name: "dev", Components: parts}}); got != "\nComponents:\n    component.app[\"a\"]: 1 changed\n    component.net: 2 added, 1 destroyed\n" {
		t.Errorf("of one: %s", got)
	}
	delete(parts, "component.net")
	if got := Deployments([]Sum{{Name: "dev", Components: parts}}); got != "" {
		t.Errorf("of one with one component: %s", got)
	}
}
