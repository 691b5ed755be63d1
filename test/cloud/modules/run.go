package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// An Engine is a binary with the results that it had.
type Engine struct {
	Name string
	bin  string
	sum  string
	dir  string // of results
}

func newEngine(name, bin, work string) (*Engine, error) {
	path, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return &Engine{Name: name, bin: path, sum: hex.EncodeToString(h.Sum(nil))[:16], dir: filepath.Join(work, "results", name)}, nil
}

// A Result is what an engine made of an example.
type Result struct {
	Engine string // sum of the binary
	Tag    string
	Steps  map[string]Step
}

// A Step is one command.
type Step struct {
	Exit     int // -1 when it took too long
	CPU, Sec float64
}

func (r Result) ok(step string) bool {
	s, ran := r.Steps[step]
	return ran && s.Exit == 0
}

func (r Result) summary() string {
	var words []string
	for _, name := range steps {
		if s, ran := r.Steps[name]; ran {
			words = append(words, fmt.Sprintf("%s %d (%.1f s)", name, s.Exit, s.CPU))
		}
	}
	return strings.Join(words, ", ")
}

var steps = []string{"fmt", "init", "validate", "plan", "show"}

func (e *Engine) path(x Example) string { return filepath.Join(e.dir, x.File()) }

func (e *Engine) load(x Example) (Result, bool) {
	var r Result
	b, err := os.ReadFile(filepath.Join(e.path(x), "result.json"))
	if err != nil || json.Unmarshal(b, &r) != nil {
		return Result{}, false
	}
	return r, true
}

// has reports whether the result of this very binary is there.
func (e *Engine) has(x Example) bool {
	r, ok := e.load(x)
	return ok && r.Engine == e.sum && r.Tag == x.Tag
}

// output is what a step printed.
func (e *Engine) output(x Example, step string) []byte {
	f, err := os.Open(filepath.Join(e.path(x), step+".gz"))
	if err != nil {
		return nil
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil
	}
	b, _ := io.ReadAll(z)
	return b
}

type runner struct {
	work  string
	env   []string
	limit time.Duration
}

// run makes a copy of the example's repository, always at the same place, and
// goes through the commands in it.
func (r runner) run(e *Engine, x Example) error {
	top := filepath.Join(r.work, "run", x.File())
	if err := os.RemoveAll(top); err != nil {
		return err
	}
	defer os.RemoveAll(top)
	if err := os.MkdirAll(filepath.Dir(top), 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", x.tree, top).CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %s", err, out)
	}
	dir := filepath.Join(top, x.Dir)
	to := e.path(x)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	plan := []string{"plan", "-json", "-input=false", "-out=tfplan"}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.tfvars")); len(files) > 0 {
		slices.Sort(files)
		for _, f := range files {
			if name := filepath.Base(f); name != "terraform.tfvars" && !strings.HasSuffix(name, ".auto.tfvars") {
				plan = append(plan, "-var-file="+name)
				break
			}
		}
	}
	result := Result{Engine: e.sum, Tag: x.Tag, Steps: map[string]Step{}}
	for _, args := range [][]string{
		{"fmt", "-check", "-recursive"}, {"init", "-input=false", "-no-color"}, {"validate", "-json"}, plan, {"show", "-json", "tfplan"},
	} {
		s, err := r.step(e, dir, to, args)
		if err != nil {
			return err
		}
		result.Steps[args[0]] = s
		if s.Exit != 0 && (args[0] == "init" || args[0] == "plan") {
			break
		}
	}
	b, err := json.MarshalIndent(result, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "result.json"), b, 0o644)
}

func (r runner) step(e *Engine, dir, to string, args []string) (Step, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.bin, args...)
	cmd.Dir, cmd.Env = dir, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the plugins end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	_ = cmd.Run() // the exit status reports
	if cmd.ProcessState == nil {
		return Step{}, fmt.Errorf("%s did not start", e.bin)
	}
	s := Step{
		Exit: cmd.ProcessState.ExitCode(), Sec: time.Since(start).Seconds(),
		CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
	}
	if err := pack(filepath.Join(to, args[0]+".gz"), out.Bytes()); err != nil {
		return s, err
	}
	return s, pack(filepath.Join(to, args[0]+".err.gz"), errs.Bytes())
}

func pack(path string, b []byte) error {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(b) // to memory
	_ = z.Close()
	return os.WriteFile(path, buf.Bytes(), 0o644)
}

// environment is what both engines see: the mirror, the registry and the small
// AWS, and git sources that lead to the clones.
func environment(work, repos, mirror, server string) ([]string, error) {
	repos, err := filepath.Abs(repos)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(work, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	config := filepath.Join(home, fmt.Sprintf("cli-%d.tfrc", os.Getpid())) // it names this process's registry
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	for _, host := range []string{"registry.opentofu.org", "registry.terraform.io"} {
		text += fmt.Sprintf("host %q {\n  services = { \"modules.v1\" = %q }\n}\n", host, server+"/modreg/")
	}
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TF_CLI_CONFIG_FILE=" + config, "CHECKPOINT_DISABLE=1",
		"AWS_ENDPOINT_URL=" + server, "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "AWS_MAX_ATTEMPTS=2",
		"GIT_TERMINAL_PROMPT=0",
	}
	if gogc, set := os.LookupEnv("GOGC"); set {
		env = append(env, "GOGC="+gogc)
	}
	entries, err := os.ReadDir(repos)
	if err != nil {
		return nil, err
	}
	settings := [][2]string{{"safe.directory", "*"}}
	for _, entry := range entries {
		path := "github.com/" + strings.Replace(entry.Name(), "+", "/", 1)
		for _, prefix := range []string{"https://" + path + ".git", "https://" + path, "ssh://git@" + path, "git@" + strings.Replace(path, "/", ":", 1)} {
			settings = append(settings, [2]string{"url." + filepath.Join(repos, entry.Name()) + ".insteadOf", prefix})
		}
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for n, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s[1]))
	}
	return env, nil
}
