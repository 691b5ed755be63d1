//go:build unix

package crash

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLimits: an apply that runs out of descriptors, or of what a file may have, loses
// nothing: what exists is in the state or named, and without the limit all is made.
func TestLimits(t *testing.T) {
	w, r := start(t)
	failed := 0
	for _, limit := range []string{"-n 8", "-n 10", "-n 12", "-n 16", "-n 64", "-f 1", "-f 8", "-f 16", "-f 40"} {
		r.forget(w)
		cmd := exec.Command("sh", "-c", "ulimit "+limit+`; exec "$0" "$@"`, os.Args[0], "apply", "-auto-approve", "-no-color", "-input=false", "-lock-timeout=0s")
		cmd.Dir = r.dir
		cmd.Env = slices.Concat(os.Environ(), []string{roleEnv + "=1", "TF_REATTACH_PROVIDERS=" + r.reattach, "TF_IN_AUTOMATION=1", "TF_DATA_DIR=" + r.dir + "/data"})
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "goroutine ") {
			t.Fatalf("%s: %s", limit, out)
		}
		if err != nil {
			failed++
		} else if !strings.Contains(string(out), fmt.Sprintf("%d added", objects)) {
			t.Errorf("%s: %s", limit, out)
		}
		t.Logf("%s: %v, %d made", limit, err, len(w.live()))
		r.settle(w)
		if out, err := r.apply(); err != nil {
			t.Fatalf("%s: %v\n%s", limit, err, out)
		}
		r.whole(w)
	}
	if failed < 3 {
		t.Errorf("only %d limits were met", failed)
	}
}
