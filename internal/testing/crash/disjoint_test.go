//go:build unix

package crash

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// These are larger in "make disjoint".
var (
	disjointRuns    = flag.Int("disjoint", 8, "How many applies work on one state at once.")
	disjointObjects = flag.Int("disjoint-objects", 400, "How many objects that state has.")
	disjointRounds  = flag.Int("disjoint-rounds", 2, "How often the applies are killed.")
)

var groupDoubt = regexp.MustCompile(`(?m)^  (world_object\.g(\d+)\[(\d+)\])`)

// A crowd are working directories with the same configuration and state.
type crowd struct {
	*world
	t    *testing.T
	runs []*run
}

func newCrowd(t *testing.T, backend string, runs, objects int) *crowd {
	w, reattach := serve(t)
	c := &crowd{world: w, t: t}
	config := fmt.Sprintf("terraform {\n  %s\n  required_providers {\n    world = { source = %q }\n  }\n}\nresource \"terraform_data\" \"seed\" {}\n", backend, source)
	for n := range runs {
		config += fmt.Sprintf("resource \"world_object\" \"g%d\" {\n  count = %d\n  name  = \"n%[1]d-${count.index}\"\n}\noutput \"g%[1]d\" { value = length(world_object.g%[1]d) }\n", n, objects/runs)
	}
	for range runs {
		r := &run{t: t, dir: t.TempDir(), reattach: reattach}
		if err := os.WriteFile(filepath.Join(r.dir, "main.tf"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		r.must("init", "-no-color")
		c.runs = append(c.runs, r)
	}
	c.runs[0].must("apply", "-auto-approve", "-no-color", "-target=terraform_data.seed")
	return c
}

// all applies one group in each directory at once.
func (c *crowd) all(env func() string, check func(n int, out string, err error)) {
	var wait sync.WaitGroup
	for n, r := range c.runs {
		wait.Go(func() {
			out, err := r.weir([]string{env()}, "apply", "-auto-approve", "-no-color", "-input=false", "-lock-timeout=8m", fmt.Sprintf("-target=world_object.g%d", n))
			check(n, out, err)
		})
	}
	wait.Wait()
	c.quiet(c.t)
}

// overlap replaces one object from several directories at once: one after the other does.
func (c *crowd) overlap(runs int) {
	c.t.Helper()
	var wait sync.WaitGroup
	before := c.created()
	for _, r := range c.runs[:runs] {
		wait.Go(func() {
			if out, err := r.weir(nil, "apply", "-auto-approve", "-no-color", "-input=false", "-lock-timeout=8m", "-target=world_object.g0", "-replace=world_object.g0[0]"); err != nil {
				c.t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	if n := c.created() - before; n != runs {
		c.t.Errorf("%d applies have created %d objects", runs, n)
	}
}

func (c *crowd) created() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// settle finishes what the journals have, and says of what is in doubt what a person would find out.
func (c *crowd) settle() {
	c.t.Helper()
	for _, r := range c.runs { // any directory may have the journal that knows more
		r.must("recover", "-no-color")
	}
	for _, r := range c.runs {
		out := r.must("recover", "-no-color")
		args := []string{"recover", "-no-color"}
		for _, m := range groupDoubt.FindAllStringSubmatch(out, -1) {
			if id := idOf(c.t, c.live(), "n"+m[2]+"-"+m[3]); id != "" {
				args = append(args, "-import="+m[1]+"="+id)
			}
		}
		if strings.Contains(out, "Objects in doubt") {
			r.must(append(r.listed(args), "-forget-all")...)
		}
	}
}

// stored are the names of the objects in the state by id.
func (c *crowd) stored() map[string]string {
	c.t.Helper()
	var s struct {
		Resources []struct {
			Type      string
			Instances []struct {
				Attributes struct{ ID, Name string }
			}
		}
	}
	if err := json.Unmarshal(c.runs[0].pull(), &s); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if r.Type == "world_object" {
				all[i.Attributes.ID] = i.Attributes.Name
			}
		}
	}
	return all
}

// TestDisjointApplies has applies of different objects work on one state at once, and kills each
// of them. Nothing is lost, and nothing is created twice.
func TestDisjointApplies(t *testing.T) {
	if testing.Short() {
		*disjointRuns, *disjointObjects, *disjointRounds = 3, 60, 1
	}
	for name, place := range places(t) {
		if name != "sqlite" && name != "postgres" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, place(t), *disjointRuns, *disjointObjects)
			killed := 0
			var mu sync.Mutex
			for range *disjointRounds {
				c.all(func() string { return fmt.Sprintf("%s=%d", pointEnv, 5+rand.IntN(3**disjointObjects / *disjointRuns)) }, func(_ int, _ string, err error) {
					if err != nil {
						mu.Lock()
						killed++
						mu.Unlock()
					}
				})
				c.settle()
				known, live := c.stored(), c.live()
				for id, name := range live {
					if known[id] != name {
						t.Fatalf("%s (%s) exists, and the state doesn't have it", id, name)
					}
				}
				for id, name := range known {
					if live[id] != name {
						t.Fatalf("the state has %s (%s), which doesn't exist", id, name)
					}
				}
			}
			if killed < *disjointRuns/2 {
				t.Errorf("%d applies were killed", killed)
			}
			c.all(func() string { return "X=" }, func(n int, out string, err error) {
				if err != nil {
					t.Errorf("group %d: %v\n%s", n, err, out)
				}
			})
			c.overlap(min(3, *disjointRuns))
			known, names := c.stored(), map[string]bool{}
			for id, name := range c.live() {
				if names[name] || known[id] != name {
					t.Errorf("%s (%s) exists, and the state has %q", id, name, known[id])
				}
				names[name] = true
			}
			if want := *disjointObjects / *disjointRuns * *disjointRuns; len(known) != want || len(names) != want {
				t.Errorf("%d objects exist, and the state has %d", len(names), len(known))
			}
			if out := c.runs[0].must("state", "verify", "-no-color"); !strings.Contains(out, "note: none") || !strings.Contains(out, "lock: nobody holds it") {
				t.Errorf("left behind:\n%s", out)
			}
		})
	}
}
