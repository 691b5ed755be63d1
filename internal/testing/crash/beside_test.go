//go:build unix

package crash

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A pair is a working directory with two objects that don't depend on each other. The apply of
// the first waits for a file named "go".
const pair = `
variable "a" { default = "1" }
variable "b" { default = "1" }
resource "terraform_data" "a" {
  triggers_replace = var.a
  provisioner "local-exec" {
    command = "echo ${var.a} >> ran; while [ ! -e go ]; do sleep 0.05; done"
  }
}
resource "terraform_data" "b" {
  count = 2
  input = "${var.b}-${count.index}"
}
output "a" { value = terraform_data.a.id }
`

func newPair(t *testing.T, backend string) *site {
	s := &site{run{t: t, dir: t.TempDir(), reattach: "{}"}}
	if err := os.WriteFile(filepath.Join(s.dir, "main.tf"), []byte("terraform {\n  "+backend+"\n}\n"+pair), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("init", "-no-color")
	return s
}

// An output is what a command has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a command in the background.
func (s *site) start(args ...string) (*exec.Cmd, *output) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], append(args, "-no-color", "-input=false")...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), roleEnv+"=1", "TF_IN_AUTOMATION=1", "TF_DATA_DIR="+filepath.Join(s.dir, "data"))
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// TestBesideApply has plans and applies of other objects beside an apply. Commands that need the
// same objects, or the whole state, wait or fail. A plan that has read what the apply changed is stale,
// and the message names what.
func TestBesideApply(t *testing.T) {
	for name, place := range places(t) {
		if name != "sqlite" && name != "postgres" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPair(t, place(t))
			s.release()
			s.must("apply", "-auto-approve", "-no-color")
			if err := os.Remove(filepath.Join(s.dir, "go")); err != nil {
				t.Fatal(err)
			}
			applying, out := s.start("apply", "-auto-approve", "-var=a=2", "-target=terraform_data.a")
			s.ran(2)
			s.must("plan", "-no-color", "-out=b", "-var=b=2", "-target=terraform_data.b[0]")
			s.must("plan", "-no-color", "-out=again", "-var=b=4", "-target=terraform_data.b[0]")
			s.must("plan", "-no-color", "-out=a", "-var=a=3", "-target=terraform_data.a")
			s.must("plan", "-no-color", "-out=all", "-var=a=3", "-var=b=5")
			s.must("apply", "-no-color", "b")
			s.must("apply", "-no-color", "-auto-approve", "-var=b=3", "-target=terraform_data.b[1]")
			for _, c := range []struct{ args, want string }{
				{"apply a", "that run works on output.a, terraform_data.a"},
				{"apply -auto-approve -target=terraform_data.a -var=a=9", "that run works on output.a, terraform_data.a"},
				{"apply -auto-approve", "that run works on parts of workspace"},
				{"state rm terraform_data.b[0]", "that run works on parts of workspace"},
			} {
				text, err := s.weir(nil, append(strings.Fields(c.args), "-no-color")...)
				if c.args == "apply a" {
					text, err = s.weir(nil, "apply", "-no-color", "a")
				}
				if err == nil || !strings.Contains(text, "Error acquiring the state lock") || !strings.Contains(text, c.want) || !strings.Contains(text, "Operation: apply") {
					t.Errorf("%s: %v\n%s", c.args, err, text)
				}
			}
			waiting, second := s.start("apply", "-auto-approve", "-var=a=4", "-target=terraform_data.a", "-lock-timeout=60s")
			for range 400 {
				if strings.Contains(second.String(), "Waiting for it") {
					break
				}
				time.Sleep(25 * time.Millisecond)
			}
			s.release()
			if err := applying.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := waiting.Wait(); err != nil || !strings.Contains(second.String(), "Planning again") {
				t.Fatalf("%v\n%s", err, second)
			}
			for plan, changed := range map[string][]string{
				"again": {"terraform_data.b[0]"},
				"a":     {"output.a", "terraform_data.a"},
				"all":   {"output.a", "terraform_data.a", "terraform_data.b[0]", "terraform_data.b[1]"},
			} {
				text, err := s.weir(nil, "apply", "-no-color", plan)
				var named []string
				for line := range strings.Lines(text) {
					if _, one, ok := strings.Cut(line, "  - "); ok {
						named = append(named, strings.TrimSpace(one))
					}
				}
				slices.Sort(named)
				if err == nil || !strings.Contains(text, "Saved plan is stale") || !slices.Equal(named, changed) {
					t.Errorf("%s: %v, named %q, want %q\n%s", plan, err, named, changed, text)
				}
			}
			if got := strings.Join(s.ran(3), " "); got != "1 2 4" {
				t.Errorf("ran: %s", got)
			}
			state := s.must("state", "pull")
			for _, want := range []string{`"value": "4"`, `"2-0"`, `"3-1"`} {
				if !strings.Contains(state, want) {
					t.Errorf("no %s in\n%s", want, state)
				}
			}
			left, _ := filepath.Glob(filepath.Join(s.dir, "data", "journals", "*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestPlanAfterKill has a plan after a killed apply take the lock, and save what the journal
// has.
func TestPlanAfterKill(t *testing.T) {
	for name, place := range places(t) {
		if name != "sqlite" && name != "postgres" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPair(t, place(t))
			applying, _ := s.start("apply", "-auto-approve", "-parallelism=1")
			s.ran(1)
			if err := applying.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = applying.Wait()
			out := s.must("plan", "-no-color")
			if !strings.Contains(out, "Lock taken over") || !strings.Contains(out, "terraform_data.a is tainted") {
				t.Errorf("not recovered:\n%s", out)
			}
			if out := s.must("plan", "-no-color"); strings.Contains(out, "Lock taken over") {
				t.Errorf("recovered twice:\n%s", out)
			}
		})
	}
}

// TestScope has saved plans of parts of a configuration, and changes of other parts before they are
// applied.
func TestScope(t *testing.T) {
	s := &site{run{t: t, dir: t.TempDir(), reattach: "{}"}}
	config := fmt.Sprintf("terraform {\n  backend \"database\" {\n    url = \"sqlite:%s\"\n  }\n}\n", filepath.Join(t.TempDir(), "states.db"))
	for name, input := range map[string]string{"a": "var.a", "b": "var.b", "c": `"${var.c} ${terraform_data.a.output}"`} {
		config += fmt.Sprintf("variable %q { default = \"1\" }\nresource \"terraform_data\" %[1]q { input = %s }\n", name, input)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("init", "-no-color")
	s.must("apply", "-no-color", "-auto-approve")
	for _, c := range []struct{ plan, change, stale string }{
		{"-target=terraform_data.c -var=c=2", "-target=terraform_data.b -var=b=2 -var=c=1", ""},
		{"-target=terraform_data.c -var=c=3", "-target=terraform_data.a -var=a=3", "terraform_data.a"},
		{"-exclude=terraform_data.b -var=c=4", "-target=terraform_data.b -var=b=4", ""},
		{"-exclude=terraform_data.b -var=c=5", "-target=terraform_data.a -var=a=5", "terraform_data.a"},
		{"-destroy -target=terraform_data.a", "-target=terraform_data.b -var=b=6", ""},
		{"-target=terraform_data.a -var=a=7", "-target=terraform_data.a -var=a=8", "terraform_data.a"},
		{"-destroy -target=terraform_data.a", "-target=terraform_data.c -var=c=9 -var=a=8", "terraform_data.c"},
		{"-refresh-only -target=terraform_data.a", "-target=terraform_data.b -var=b=10", ""},
	} {
		s.must(append([]string{"plan", "-no-color", "-out=p"}, strings.Fields(c.plan)...)...)
		s.must(append([]string{"apply", "-no-color", "-auto-approve"}, strings.Fields(c.change)...)...)
		text, err := s.weir(nil, "apply", "-no-color", "p")
		if (err != nil) != (c.stale != "") || c.stale != "" && !strings.Contains(text, "  - "+c.stale+"\n") {
			t.Errorf("%s, then %s: %v\n%s", c.plan, c.change, err, text)
		}
	}
}
