//go:build unix

package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var doubtedTest = regexp.MustCompile(`world_object\.o\[(\d+)\]`)

// TestTests crashes a test with real objects at points spread over all of it: the
// next -cleanup destroys what exists, but for what it names as in doubt.
func TestTests(t *testing.T) {
	w, r := start(t)
	text := "run \"made\" {}\nrun \"again\" {\n  plan_options {\n    replace = [world_object.o[0]]\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(r.dir, "main.tftest.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	count := filepath.Join(t.TempDir(), "count")
	if out, err := r.weir([]string{countEnv + "=" + count}, "test", "-no-color"); err != nil {
		t.Fatal(err, out)
	}
	data, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(string(data))
	crashed, destroyed := 0, 0
	for point := 1; point <= n; point += stride(point, max(1, n/8)) {
		w.clear()
		if _, err := r.weir([]string{fmt.Sprintf("%s=%d", pointEnv, point)}, "test"); err != nil {
			crashed++
		}
		before := len(w.live())
		out, err := r.weir(nil, "test", "-cleanup", "-no-color")
		left := w.live()
		doubted := map[string]bool{}
		for _, m := range doubtedTest.FindAllStringSubmatch(out, -1) {
			doubted["n"+m[1]] = true
		}
		for id, name := range left {
			if !doubted[name] {
				t.Errorf("%s (%s) exists, and nothing says so:\n%s", id, name, out)
			}
		}
		if (err != nil) != (len(doubted) > 0) {
			t.Errorf("%d objects are in doubt, but: %v\n%s", len(doubted), err, out)
		}
		destroyed += before - len(left)
		if err != nil { // a person has looked
			w.clear()
			r.must("test", "-cleanup", "-forget")
		}
		if kept, _ := filepath.Glob(filepath.Join(r.dir, "data", "tests", "*")); len(kept) > 0 {
			t.Errorf("left behind: %v", kept)
		}
		if t.Failed() {
			t.Fatalf("at point %d of %d", point, n)
		}
	}
	t.Logf("%d points, %d tests crashed, %d objects destroyed afterwards", n, crashed, destroyed)
	if crashed == 0 || destroyed == 0 {
		t.Error("nothing was left to be destroyed")
	}
}
