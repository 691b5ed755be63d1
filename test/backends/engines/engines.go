// Package engines runs two programs on one state in turn: weir, named by IAC_BIN, and another
// one, named by PEER. Without PEER weir takes both parts.
package engines

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Place is where states are: the backend block, and the same as the
// configuration of terraform_remote_state, both without the name of the state.
type Place struct {
	Kind string
	// Arguments are lines of the block, with %s for the name.
	Arguments string
	Env       []string
	// Remote is what terraform_remote_state takes where these aren't Arguments.
	Remote string
	// Settings are those of the user, as the file of the command line has them.
	Settings string
	// Lock finds the id in what is said of a lock; nil finds that of the holder.
	Lock *regexp.Regexp
	// Only: there is one state for each name.
	Only bool
	// Content is what is stored for the default workspace of a name.
	Content func(t *testing.T, name string) []byte
}

// Block is the configuration of the backend for a name.
func (p Place) Block(name string) string {
	kind := fmt.Sprintf("backend %q", p.Kind)
	if p.Kind == "cloud" {
		kind = p.Kind
	}
	return fmt.Sprintf("terraform {\n  %s {\n%s\n  }\n}\n", kind, strings.ReplaceAll(p.Arguments, "%s", name))
}

// configuration is what the engines apply: an object that can be made to wait.
const configuration = `
variable "size" { default = 1 }
variable "wait" { default = "" }
resource "terraform_data" "a" {
  input = var.size
  triggers_replace = var.size
  provisioner "local-exec" {
    command = var.wait == "" ? "true" : "touch ${var.wait}.started; for i in $(seq 600); do [ -e ${var.wait} ] && exit 0; sleep 0.1; done; exit 1"
  }
}
output "size" { value = terraform_data.a.output }
`

// An engine is a program in a directory of its own.
type engine struct {
	t           *testing.T
	name, bin   string
	dir         string
	environment []string
	lock        *regexp.Regexp
}

func start(t *testing.T, name, bin string, p Place, files map[string]string) *engine {
	t.Helper()
	e := &engine{t: t, name: name, bin: bin, dir: t.TempDir(), lock: p.Lock}
	if e.lock == nil {
		e.lock = id
	}
	e.environment = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_CLI_CONFIG_FILE="+filepath.Join(e.dir, "none"), "TF_DATA_DIR=")
	e.environment = append(e.environment, p.Env...)
	if err := os.WriteFile(filepath.Join(e.dir, "none"), []byte(p.Settings), 0o666); err != nil {
		t.Fatal(err)
	}
	e.write(files)
	return e
}

func (e *engine) write(files map[string]string) {
	e.t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(content), 0o666); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *engine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e.bin, args...)
	cmd.Dir, cmd.Env = e.dir, e.environment
	return cmd
}

// ends runs a command that has to end with that code, and returns what it says.
func (e *engine) ends(code int, args ...string) string {
	e.t.Helper()
	out, err := e.command(args...).CombinedOutput()
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		e.t.Fatal(err)
	}
	if got != code {
		e.t.Fatalf("%s %v ended with %d instead of %d:\n%s", e.name, args, got, code, out)
	}
	return string(out)
}

func (e *engine) run(args ...string) string { e.t.Helper(); return e.ends(0, args...) }

func (e *engine) apply(args ...string) string {
	e.t.Helper()
	return e.run(append([]string{"apply", "-auto-approve", "-input=false", "-no-color"}, args...)...)
}

// settled wants a plan without changes.
func (e *engine) settled(args ...string) {
	e.t.Helper()
	e.run(append([]string{"plan", "-detailed-exitcode", "-input=false", "-no-color"}, args...)...)
}

// holding has the engine in the middle of an apply. It ends with release or a kill.
func (e *engine) holding(size string) (cmd *exec.Cmd, out *bytes.Buffer, release func()) {
	e.t.Helper()
	wait := filepath.Join(e.t.TempDir(), "go")
	cmd, out = e.command("apply", "-auto-approve", "-input=false", "-no-color", "-var=size="+size, "-var=wait="+wait), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	deadline := time.Now().Add(time.Minute)
	for {
		if _, err := os.Stat(wait + ".started"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("%s doesn't begin:\n%s", e.name, out)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return cmd, out, func() {
		if err := os.WriteFile(wait, nil, 0o666); err != nil {
			e.t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			e.t.Fatalf("%s: %v\n%s", e.name, err, out)
		}
	}
}

// id finds the id of a lock in a message.
var id = regexp.MustCompile(`\bID: +(\S+)`)

func (e *engine) locked(args ...string) (holder string) {
	e.t.Helper()
	out := e.ends(1, append([]string{"apply", "-auto-approve", "-input=false", "-no-color"}, args...)...)
	m := e.lock.FindStringSubmatch(out)
	if !strings.Contains(out, "Error acquiring the state lock") || m == nil {
		e.t.Fatalf("%s doesn't learn who holds the lock:\n%s", e.name, out)
	}
	return m[1]
}

// Run runs everything.
func Run(t *testing.T, p Place) {
	weir := os.Getenv("IAC_BIN")
	if weir == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	other := os.Getenv("PEER")
	if other == "" {
		other = weir
	}
	pair := func(t *testing.T, name string) (a, b *engine) {
		files := map[string]string{"main.tf": configuration, "backend.tf": p.Block(name)}
		a, b = start(t, "weir", weir, p, files), start(t, "the other engine", other, p, files)
		a.run("init", "-input=false", "-no-color")
		b.run("init", "-input=false", "-no-color")
		return a, b
	}
	t.Run("in turn", func(t *testing.T) { inTurn(pair(t, "turn")) })
	t.Run("one waits for the other", func(t *testing.T) { oneWaits(pair(t, "wait")) })
	t.Run("killed", func(t *testing.T) { killed(pair(t, "kill")) })
	if !p.Only {
		t.Run("workspaces", func(t *testing.T) { workspaces(pair(t, "space")) })
	}
	for _, sealed := range []bool{false, true} {
		name := map[bool]string{false: "migration", true: "migration sealed"}[sealed]
		t.Run(name, func(t *testing.T) {
			migration(start(t, "weir", weir, p, map[string]string{"main.tf": configuration}), p, sealed)
		})
	}
	t.Run("read by another configuration", func(t *testing.T) {
		a, b := pair(t, "remote")
		b.apply("-var=size=7")
		reader := start(t, "weir", weir, p, map[string]string{"main.tf": remote(p, "remote")})
		reader.run("init", "-input=false", "-no-color")
		reader.apply()
		if got := strings.TrimSpace(reader.run("output", "-raw", "size")); got != "7" {
			t.Errorf("read %q", got)
		}
		_ = a
	})
}

// Beside runs what two programs do with one state that each reaches in its own way.
func Beside(t *testing.T, open func(t *testing.T) (mine, others Place)) {
	weir := os.Getenv("IAC_BIN")
	if weir == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	other := os.Getenv("PEER")
	if other == "" {
		t.Log("PEER names no other program, so weir takes both parts")
		other = weir
	}
	for name, run := range map[string]func(a, b *engine){"in turn": inTurn, "one waits for the other": oneWaits, "killed": killed} {
		t.Run(name, func(t *testing.T) {
			mine, others := open(t)
			files := func(p Place) map[string]string {
				return map[string]string{"main.tf": configuration, "backend.tf": p.Block("default")}
			}
			a, b := start(t, "weir", weir, mine, files(mine)), start(t, "the other engine", other, others, files(others))
			a.run("init", "-input=false", "-no-color")
			b.run("init", "-input=false", "-no-color")
			run(a, b)
		})
	}
}

func inTurn(a, b *engine) {
	a.t.Helper()
	a.apply("-var=size=1")
	b.settled("-var=size=1")
	for n := 2; n < 6; n++ {
		a, b = b, a
		size := fmt.Sprintf("-var=size=%d", n)
		a.apply(size)
		b.settled(size)
	}
	a.run("apply", "-destroy", "-auto-approve", "-input=false", "-no-color")
	if out := b.run("state", "list"); strings.TrimSpace(out) != "" {
		b.t.Errorf("left: %s", out)
	}
}

func oneWaits(a, b *engine) {
	a.apply()
	for n := 2; n < 4; n++ {
		_, _, release := a.holding(fmt.Sprint(n))
		b.locked("-var=size=100")
		release()
		b.settled(fmt.Sprintf("-var=size=%d", n))
		a, b = b, a
	}
	// Anyone who has time gets the lock when it is released.
	_, _, release := a.holding("4")
	waiting := b.command("apply", "-auto-approve", "-input=false", "-no-color", "-lock-timeout=60s", "-var=size=5")
	var out bytes.Buffer
	waiting.Stdout, waiting.Stderr = &out, &out
	if err := waiting.Start(); err != nil {
		a.t.Fatal(err)
	}
	release()
	if err := waiting.Wait(); err != nil {
		a.t.Fatalf("%v\n%s", err, &out)
	}
	a.settled("-var=size=5")
}

func killed(weir, other *engine) {
	t := weir.t
	weir.apply("-var=size=1")
	cmd, _, _ := weir.holding("2")
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	if other.bin != weir.bin {
		other.locked("-var=size=100")
	}
	weir.apply("-var=size=3") // takes its own lock over
	other.settled("-var=size=3")
	if other.bin == weir.bin {
		return
	}
	cmd, _, _ = other.holding("4")
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	holder := weir.locked("-var=size=5")
	if out := weir.ends(1, "force-unlock", "-force", "1234567"); !strings.Contains(out, "Failed to unlock state") {
		t.Errorf("wrong id: %s", out)
	}
	if got := other.locked("-var=size=5"); got != holder {
		t.Errorf("one says %s, the other %s", holder, got)
	}
	weir.run("force-unlock", "-force", holder)
	weir.apply("-var=size=5")
	other.settled("-var=size=5")
	// The other way round.
	cmd, _, _ = weir.holding("6")
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	other.run("force-unlock", "-force", other.locked())
	weir.apply("-var=size=7")
	other.settled("-var=size=7")
}

func workspaces(a, b *engine) {
	list := func(want string) {
		a.t.Helper()
		for _, e := range []*engine{a, b} {
			if got := strings.Join(strings.Fields(strings.ReplaceAll(e.run("workspace", "list"), "*", "")), " "); got != want {
				a.t.Errorf("%s lists %q, want %q", e.name, got, want)
			}
		}
	}
	list("default")
	a.run("workspace", "new", "dev")
	list("default dev")
	b.run("workspace", "new", "qa")
	list("default dev qa")
	a.run("workspace", "select", "qa")
	a.apply("-var=size=3")
	b.settled("-var=size=3")
	b.run("workspace", "select", "default")
	if out := strings.TrimSpace(b.run("output", "-json")); out != "{}" {
		a.t.Errorf("default has %s", out)
	}
	b.ends(1, "workspace", "delete", "qa") // isn't empty
	a.run("workspace", "select", "default")
	a.ends(1, "workspace", "delete", "qa")
	a.ends(1, "workspace", "delete", "default")
	a.run("workspace", "delete", "dev")
	list("default qa")
	b.run("workspace", "delete", "-force", "qa")
	list("default")
}

// migration brings states of two workspaces to the place and back.
func migration(e *engine, p Place, sealed bool) {
	name := "move"
	if sealed {
		name = "moveseal"
		e.write(map[string]string{"encryption.tf": fast})
	}
	e.run("init", "-input=false", "-no-color")
	e.apply("-var=size=314159")
	e.run("workspace", "new", "dev")
	e.apply("-var=size=2")
	if p.Only { // the selected one only is brought there
		e.run("workspace", "select", "default")
	}
	e.write(map[string]string{"backend.tf": p.Block(name)})
	e.run("init", "-input=false", "-no-color", "-migrate-state", "-force-copy")
	if !p.Only {
		e.settled("-var=size=2")
		e.run("workspace", "select", "default")
	}
	e.settled("-var=size=314159")
	if clear := bytes.Contains(p.Content(e.t, name), []byte("314159")); clear == sealed {
		e.t.Errorf("stored in clear: %v", clear)
	}
	e.apply("-var=size=271828")
	if err := os.Remove(filepath.Join(e.dir, "backend.tf")); err != nil {
		e.t.Fatal(err)
	}
	e.run("init", "-input=false", "-no-color", "-migrate-state", "-force-copy")
	e.settled("-var=size=271828")
	if p.Only {
		return
	}
	e.run("workspace", "select", "dev")
	e.settled("-var=size=2")
}

func remote(p Place, name string) string {
	if p.Remote != "" {
		p.Kind, p.Arguments = "remote", p.Remote
	}
	return fmt.Sprintf("data \"terraform_remote_state\" \"s\" {\n  backend = %q\n  config = {\n%s\n  }\n}\noutput \"size\" { value = data.terraform_remote_state.s.outputs.size }\n",
		p.Kind, strings.ReplaceAll(p.Arguments, "%s", name))
}
