package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "weir")
	code := 1
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", binary, "./cmd/weir").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "weir doesn't build: %s\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// mirror is the directory of real providers.
func mirror(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WEIR_MIRROR")
	given := dir != ""
	if !given {
		dir = "../../../.cache/mirror"
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	hosts, _ := filepath.Glob(filepath.Join(abs, "*", "hashicorp", "*"))
	switch {
	case len(hosts) > 0:
		return abs
	case given:
		t.Fatalf("WEIR_MIRROR is %q, and there are no providers in it; \"make providers\" builds them", dir)
	}
	t.Skip("there are no providers: run \"make providers\" to build them, or set WEIR_MIRROR to a mirror")
	return ""
}

// A folder is a working directory.
type folder struct {
	t   *testing.T
	dir string
	env []string
}

// newFolder makes a working directory. Providers come from the mirror alone;
// an empty one leaves the built-in provider.
func newFolder(t *testing.T, mirror string) folder {
	t.Helper()
	top := t.TempDir()
	f := folder{t: t, dir: filepath.Join(top, "work")}
	settings := filepath.Join(top, "settings.tfrc")
	if mirror == "" {
		mirror = top
	}
	f.write("../settings.tfrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
	f.env = append(clean(os.Environ()),
		"TF_CLI_CONFIG_FILE="+settings, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "HOME="+top)
	return f
}

// clean leaves out variables that would change what commands do.
func clean(environ []string) []string {
	var out []string
	for _, pair := range environ {
		if !strings.HasPrefix(pair, "TF_") && !strings.HasPrefix(pair, "WEIR_") && !strings.HasPrefix(pair, "HOME=") {
			out = append(out, pair)
		}
	}
	return out
}

func (f folder) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) read(name string) string {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// run runs weir, which has to end with an exit code, and returns its standard
// output.
func (f folder) run(code int, args ...string) string {
	f.t.Helper()
	cmd := exec.Command(binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.dir, f.env, &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		f.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		f.t.Fatalf("weir %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// A change is what a test looks at of a planned change.
type change struct {
	Address string
	Deposed string
	Change  struct{ Actions []string }
	Reason  string `json:"action_reason"`
}

// String is address, "deposed", actions and reason, as far as there are any.
func (c change) String() string {
	words := []string{c.Address}
	if c.Deposed != "" {
		words = append(words, "deposed")
	}
	words = append(words, strings.Join(c.Change.Actions, "+"))
	if c.Reason != "" {
		words = append(words, c.Reason)
	}
	return strings.Join(words, " ")
}

// changes reads the changes of a saved plan, one a line; those that change
// nothing only if all are wanted.
func (f folder) changes(plan string, all bool) string {
	f.t.Helper()
	var doc struct {
		Changes []change `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(f.run(0, "show", "-json", plan)), &doc); err != nil {
		f.t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range doc.Changes {
		if all || c.Change.Actions[0] != "no-op" {
			fmt.Fprintln(&b, c)
		}
	}
	return b.String()
}

func (f folder) same(what, got, want string) {
	f.t.Helper()
	if got != want {
		f.t.Errorf("%s:\n--- got\n%s--- want\n%s", what, got, want)
	}
}
