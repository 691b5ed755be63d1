//go:build unix

package crash

import (
	"fmt"
	"strings"
	"testing"
)

// TestDoubtIsNoSuccess: beside objects in doubt neither apply nor destroy succeeds,
// both say so before anything else of what they did, and the workspace stays, whose
// journal alone knows.
func TestDoubtIsNoSuccess(t *testing.T) {
	_, r := start(t)
	r.must("workspace", "new", "other")
	doubts := 0
	for point := 60; doubts == 0 && point < 200; point += 7 {
		_, _ = r.apply(fmt.Sprintf("%s=%d", pointEnv, point))
		doubts = len(doubtLine.FindAllString(r.must("recover", "-no-color"), -1))
	}
	if doubts == 0 {
		t.Fatal("nothing came into doubt")
	}
	r.must("workspace", "select", "default")
	for _, args := range [][]string{{"workspace", "delete", "other"}, {"workspace", "delete", "-force", "other"}} {
		if out, err := r.weir(nil, args...); err == nil || !strings.Contains(out, fmt.Sprintf("has %d objects in doubt", doubts)) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	r.must("workspace", "select", "other")
	for _, command := range []string{"apply", "destroy"} {
		out, err := r.weir(nil, command, "-auto-approve", "-no-color")
		said, total := strings.Index(out, "Error: Objects in doubt"), strings.Index(out, "Not complete, because objects are in doubt.")
		if err == nil || said < 0 || total < said || strings.Contains(out, "complete!") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if n := len(doubtLine.FindAllString(r.must("recover", "-no-color"), -1)); n != doubts {
		t.Errorf("%d objects are in doubt, there were %d", n, doubts)
	}
	if out := r.must("recover", "-no-color", "-forget-all"); strings.Contains(out, "Objects in doubt") || strings.Count(out, "doesn't exist; it may be created again") != doubts {
		t.Errorf("answered questions come again:\n%s", out)
	}
	r.must("destroy", "-auto-approve")
	r.must("workspace", "select", "default")
	r.must("workspace", "delete", "other")
}
