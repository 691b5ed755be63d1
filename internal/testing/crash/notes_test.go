//go:build unix

package crash

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
)

var anyDoubt = regexp.MustCompile(`(?m)^  world_object\.o\[(\d+)\]`)

// TestOtherMachine kills an apply whose state is at a server and continues from another
// folder, as on another machine: whatever exists is in the state or named, and nothing is made
// twice. Then the same with the data directory gone.
func TestOtherMachine(t *testing.T) {
	for point, elsewhere := range map[int]bool{15: true, 60: true, 61: false, 140: true} {
		w, r := start(t)
		at := httptest.NewServer(&testservers.Google{})
		defer at.Close()
		backend := fmt.Sprintf("terraform {\n  backend \"gcs\" {\n    bucket = \"states\"\n    access_token = \"t\"\n    storage_custom_endpoint = \"%s/storage/v1/\"\n  }\n}\n", at.URL)
		if err := os.WriteFile(filepath.Join(r.dir, "backend.tf"), []byte(backend), 0o600); err != nil {
			t.Fatal(err)
		}
		r.must("init")
		if out, err := r.apply(fmt.Sprintf("%s=%d", pointEnv, point)); err == nil {
			t.Fatalf("it wasn't killed:\n%s", out)
		}
		live := w.live()
		next := r
		if elsewhere {
			next = &run{t: t, dir: t.TempDir(), reattach: r.reattach}
			for _, name := range []string{"main.tf", "backend.tf"} {
				text, err := os.ReadFile(filepath.Join(r.dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(next.dir, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		} else if err := os.RemoveAll(filepath.Join(r.dir, "data")); err != nil {
			t.Fatal(err)
		}
		next.must("init")
		out := next.must("recover", "-no-color")
		doubted := map[string]bool{}
		for _, m := range anyDoubt.FindAllStringSubmatch(out, -1) {
			doubted["n"+m[1]] = true
		}
		state := next.must("state", "pull")
		args := []string{"recover", "-no-color", "-forget-all"}
		for id, name := range live {
			switch {
			case strings.Contains(state, `"`+id+`"`):
			case !doubted[name]:
				t.Errorf("point %d: %s (%s) exists, and nobody knows of it:\n%s", point, id, name, out)
			default:
				args = append(args, fmt.Sprintf("-import=world_object.o[%s]=%s", name[1:], id))
			}
		}
		if len(doubted) > 0 {
			if out, err := next.apply(); err == nil || !strings.Contains(out, "Objects in doubt") || !strings.Contains(out, "noted") {
				t.Errorf("point %d: applying beside doubts: %v\n%s", point, err, out)
			}
		}
		next.must(args...)
		next.must("apply", "-auto-approve")
		for n := range objects {
			idOf(t, w.live(), fmt.Sprintf("n%d", n))
		}
		if n := len(w.live()); n != objects {
			t.Errorf("point %d: %d objects exist", point, n)
		}
		if out := next.must("state", "verify"); !strings.Contains(out, "note: none") || !strings.Contains(out, "lock: nobody holds it") {
			t.Errorf("point %d: left behind:\n%s", point, out)
		}
		if elsewhere {
			// The journal of the first folder is of no use any more, and does no harm.
			// Where nothing had been saved the state is another one now.
			out, err := r.weir(nil, "plan", "-detailed-exitcode", "-no-color")
			if err != nil && !strings.Contains(out, "Journal of another state") {
				t.Errorf("point %d: the first folder: %v\n%s", point, err, out)
			}
		}
	}
}
