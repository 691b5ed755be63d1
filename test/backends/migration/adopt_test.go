package migration

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAdopt kills runs that move all objects of two roots to a stack, or back, at random moments: after the
// next run each object is in exactly one state, and the plan is empty.
func TestAdopt(t *testing.T) {
	bin := os.Getenv("IAC_BIN")
	if bin == "" {
		t.Skip("IAC_BIN isn't set")
	}
	kills, _ := strconv.Atoi(os.Getenv("ADOPTIONS"))
	if kills == 0 {
		kills = 10
	}
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	r := rand.New(rand.NewPCG(seed, 35))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"network/main.tf": fmt.Sprintf("terraform {\n  backend \"local\" {}\n}\nresource \"terraform_data\" \"a\" {\n  count = %d\n  input = count.index\n}\noutput \"ids\" {\n  value = terraform_data.a[*].id\n}\n", moved/2),
		"apps/main.tf":    fmt.Sprintf("terraform {\n  backend \"local\" {}\n}\ndata \"terraform_remote_state\" \"net\" {\n  backend = \"local\"\n  config  = { path = \"../network/terraform.tfstate\" }\n}\nresource \"terraform_data\" \"b\" {\n  count = %d\n  input = data.terraform_remote_state.net.outputs.ids[count.index]\n}\n", moved/2),
	} {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(bin, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "TF_INPUT=0", "HOME="+dir)
		return c
	}
	run := func(args ...string) time.Duration {
		t.Helper()
		begin := time.Now()
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("weir %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return time.Since(begin)
	}
	run("init", "-all")
	run("apply", "-all", "-auto-approve")
	takes := run("stacks", "adopt", "-auto-approve")
	inStack, unfinished := true, 0
	before := inOneState(t, dir)
	if len(before) != moved {
		t.Fatalf("%d objects", len(before))
	}
	for done := 0; done < kills; {
		args := []string{"stacks", "adopt", "-auto-approve"}
		if inStack {
			args = append(args, "-undo")
		}
		c := command(args...)
		must(t, c.Start())
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(takes))), func() { _ = c.Process.Kill() })
		err := c.Wait()
		timer.Stop()
		switch {
		case err == nil:
			inStack = !inStack
			continue
		case c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL:
			t.Fatalf("weir %s: %v", strings.Join(args, " "), err)
		}
		done++
		out, err := command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("after kill %d, weir %s: %v\n%s", done, strings.Join(args, " "), err, out)
		}
		if strings.Contains(string(out), "Finished a move between states") {
			unfinished++
		}
		inStack = !inStack
		for id := range inOneState(t, dir) {
			if !before[id] {
				t.Fatalf("after kill %d: %s is new", done, id)
			}
		}
		if len(inOneState(t, dir)) != moved {
			t.Fatalf("after kill %d: %d objects are left", done, len(inOneState(t, dir)))
		}
		if inStack {
			run("-chdir=stack", "stacks", "plan", "-detailed-exitcode")
		} else {
			run("plan", "-all", "-detailed-exitcode")
		}
	}
	t.Logf("%d runs killed, %d of them between the writes: no object in neither or in both states, and no plan with changes", kills, unfinished)
}

// inOneState are the objects of all states below a directory, each of which is in one.
func inOneState(t *testing.T, dir string) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == ".terraform" {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".tfstate") {
			return nil
		}
		if index, err := os.ReadFile(filepath.Join(filepath.Dir(path), "index.json")); err == nil && !strings.Contains(string(index), `"`+entry.Name()+`"`) {
			return nil // a part of the stack's state that was dropped before the run was killed
		}
		data, err := os.ReadFile(path)
		must(t, err)
		var s readState
		must(t, json.Unmarshal(data, &s))
		if s.Transfer != nil {
			t.Errorf("%s has a record of a move", path)
		}
		for _, r := range s.Resources {
			if r.Name == "net" {
				continue // a read
			}
			for _, i := range r.Instances {
				if id := r.Name + " " + i.Attributes.ID; ids[id] {
					t.Errorf("%s is in two states, one of them %s", id, path)
				} else {
					ids[id] = true
				}
			}
		}
		return nil
	}))
	return ids
}
