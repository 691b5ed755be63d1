//go:build linux

// Package evil holds the engine to its word about providers that misbehave: whatever a
// provider does in whichever call, the engine ends in time and in bounded memory with a
// diagnostic that names the provider, and loses no object.
package evil

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir.dev/weir/internal/provider/plugin/tfplugin5"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

var (
	full  = flag.Bool("full", false, "each behavior of each call with both protocols, not with one of them")
	table = flag.String("table", "", "the page that gets the table, between two marks")
	only  = flag.String("only", "", "CALL:BEHAVIOR:PROTOCOL, of which each part may be empty; prints what the engine says")
)

const (
	mostTime   = 30 * time.Second // also on a busy machine; silent calls end after 2 s
	mostMemory = 1 << 30
)

func TestMain(m *testing.M) {
	if !role() {
		// Most cells wait for processes and time limits, so that many run side by side.
		if err := flag.Set("test.parallel", strconv.Itoa(6*runtime.NumCPU())); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
}

// engine is the program: the one that WEIR names, or one that is built.
var engine = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("WEIR"); bin != "" {
		return filepath.Abs(bin)
	}
	dir, err := os.MkdirTemp("", "evil")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "weir")
	out, err := exec.Command("go", "build", "-o", bin, "weir.dev/weir/cmd/weir").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

const settings = `
terraform {
  required_providers {
    evil = { source = "proof/evil" }
  }
}
provider "evil" {
  region = "north"
}
`

const everything = settings + `
resource "evil_thing" "old" {
  name = "old"
}
resource "evil_thing" "moved" {
  name = "moved"
}
moved {
  from = evil_other.moved
  to   = evil_thing.moved
}
resource "evil_thing" "imported" {
  name = "imported"
}
import {
  to = evil_thing.imported
  id = "imported"
}
data "evil_look" "d" {
  name = "d"
}
ephemeral "evil_token" "t" {
  name = "t"
}
action "evil_act" "a" {
  config {
    name = "a"
  }
}
resource "evil_thing" "slow" {
  name   = "slow"
  secret = ephemeral.evil_token.t.id
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.evil_act.a]
    }
  }
}
resource "evil_thing" "after" {
  name = "after-${data.evil_look.d.id}"
  tags = [evil_thing.slow.id]
}
output "shout" {
  value = provider::evil::shout("a")
}
`

// prior is a state of version 0 of both schemas, so that both are upgraded.
const prior = `{"version": 4, "terraform_version": "1.11.0", "serial": 1, "lineage": "0f9b2d0a-75a4-40a5-9b37-6a2ad5a1c4a1", "outputs": {},
 "resources": [
  {"mode": "managed", "type": "evil_thing", "name": "old", "provider": "provider[\"registry.opentofu.org/proof/evil\"]",
   "instances": [{"schema_version": 0, "attributes": {"id": "old", "label": "old"}, "identity": {"id": "old"}, "identity_schema_version": 0}]},
  {"mode": "managed", "type": "evil_other", "name": "moved", "provider": "provider[\"registry.opentofu.org/proof/evil\"]",
   "instances": [{"schema_version": 2, "attributes": {"id": "moved", "name": "moved"}}]}
 ]}
`

// A scene is a folder and a command in which a provider gets calls.
type scene struct {
	files     map[string]string
	before    [][]string // commands in which the provider is honest
	args      []string
	interrupt bool   // when the creation of the object "stop" has started
	mode      string // WEIR_COMPAT
}

var (
	apply = scene{files: map[string]string{"main.tf": everything, "terraform.tfstate": prior}, args: []string{"apply", "-auto-approve", "-no-color", "-input=false"}}
	query = scene{files: map[string]string{"main.tf": settings, "all.tfquery.hcl": "list \"evil_thing\" \"all\" {\n  provider         = evil\n  include_resource = true\n}\n"}, args: []string{"query", "-no-color"}}
	stop  = scene{files: map[string]string{"main.tf": settings + "resource \"evil_thing\" \"stop\" {\n  name = \"stop\"\n}\nresource \"evil_thing\" \"then\" {\n  name = evil_thing.stop.name\n  tags = [evil_thing.stop.id]\n}\n"}, args: []string{"apply", "-auto-approve", "-no-color", "-input=false"}, interrupt: true}
)

const inStore = settings + `
terraform {
  state_store "evil_store" {
    provider "evil" {
      region = "north"
    }
    name = "net"
  }
}
resource "evil_thing" "stored" {
  name = "stored"
}
`

// inAStore is a scene with a state store, which only Terraform has.
func inAStore(before [][]string, args ...string) scene {
	return scene{files: map[string]string{"main.tf": inStore}, before: append([][]string{{"init", "-no-color"}}, before...), args: args, mode: "terraform"}
}

var (
	storing  = inAStore(nil, "apply", "-auto-approve", "-no-color", "-input=false")
	listing  = inAStore(nil, "workspace", "list")
	deleting = inAStore([][]string{{"workspace", "new", "more"}, {"workspace", "select", "default"}}, "workspace", "delete", "more")
)

// since6 are the calls that protocol 5 lacks.
func since6() []string {
	var old []string
	for _, m := range tfplugin5.Provider_ServiceDesc.Methods {
		old = append(old, cmp.Or(names5[m.MethodName], m.MethodName))
	}
	for _, s := range tfplugin5.Provider_ServiceDesc.Streams {
		old = append(old, s.StreamName)
	}
	return slices.DeleteFunc(calls(), func(call string) bool { return slices.Contains(old, call) })
}

func sceneOf(call string) scene {
	switch call {
	case "GetStates":
		return listing
	case "DeleteState":
		return deleting
	case "ValidateStateStoreConfig", "ConfigureStateStore", "ReadStateBytes", "WriteStateBytes", "LockState", "UnlockState":
		return storing
	case "ListResource", "ValidateListResourceConfig":
		return query
	case "StopProvider":
		return stop
	}
	return apply
}

// neverCalled are calls of the protocol that the engine doesn't make.
var neverCalled = []string{"GetMetadata", "GenerateResourceConfig", "GetFunctions"}

// meant has answers that the protocol allows, by call and behavior.
var meant = map[[2]string]string{
	{"CallFunction", "unknown"}:                     "a function may answer that its result isn't known yet",
	{"GetResourceIdentitySchemas", "nil"}:           "no resource has an identity",
	{"GetResourceIdentitySchemas", "unimplemented"}: "the provider is older than identities",
	{"InvokeAction", "twice"}:                       "nobody reads on after the end of an action",
	{"ListResource", "endless"}:                     "the limit of the query ends it",
	{"LockState", "nil"}:                            "the store has no locks",
	{"ReadResource", "nil"}:                         "the object is gone",
	{"ReadStateBytes", "nil"}:                       "there is no state yet",
	{"RenewEphemeralResource", "nil"}:               "nothing more is to be kept",
	{"UpgradeResourceIdentity", "nil"}:              "the object has no identity",
}

// calls are all calls of the protocol.
func calls() []string {
	var names []string
	for _, m := range tfplugin6.Provider_ServiceDesc.Methods {
		names = append(names, m.MethodName)
	}
	for _, s := range tfplugin6.Provider_ServiceDesc.Streams {
		names = append(names, s.StreamName)
	}
	slices.Sort(names)
	return names
}

// An outcome is how a run went.
type outcome struct {
	code   int
	output string
	took   time.Duration
	memory int64
	calls  []string // what the plugin's log has
	wrong  []string
}

func (o *outcome) fail(format string, args ...any) {
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

// world are the folders of one run.
type world struct {
	t               *testing.T
	dir, cloud, log string
	state           string // its file
	env             []string
	id              string
}

func newWorld(t *testing.T, s scene) *world {
	base := t.TempDir()
	w := &world{t: t, dir: filepath.Join(base, "work"), cloud: filepath.Join(base, "cloud"), log: filepath.Join(base, "log"), id: base}
	bin := filepath.Join(base, "bin")
	for _, dir := range []string{w.dir, w.cloud, bin, filepath.Join(base, "tmp")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "terraform-provider-evil"))
	}
	if err != nil {
		t.Fatal(err)
	}
	rc := filepath.Join(base, "rc")
	s.files = mapsWith(s.files, rc, "provider_installation {\n  dev_overrides {\n    \"proof/evil\" = "+strconv.Quote(bin)+"\n  }\n}\n")
	for name, content := range s.files {
		if !filepath.IsAbs(name) {
			name = filepath.Join(w.dir, name)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"old", "moved"} {
		if s.files["terraform.tfstate"] == "" {
			break
		}
		if err := os.WriteFile(filepath.Join(w.cloud, id), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "TMPDIR=" + filepath.Join(base, "tmp"), "TF_CLI_CONFIG_FILE=" + rc, "WEIR_DAEMON=off",
		"TF_IN_AUTOMATION=1", "WEIR_INTERRUPT_GRACE=2s", cloudEnv + "=" + w.cloud, logEnv + "=" + w.log, "WEIR_COMPAT=" + s.mode}
	w.state = filepath.Join(w.dir, "terraform.tfstate")
	if s.before != nil {
		w.state = filepath.Join(w.cloud+".states", "default")
	}
	for _, args := range s.before {
		if o := w.run(false, []string{protocolEnv + "=6"}, args...); o.code != 0 {
			t.Fatalf("%v: %s", args, o.output)
		}
	}
	return w
}

func mapsWith(m map[string]string, key, value string) map[string]string {
	all := map[string]string{key: value}
	for k, v := range m {
		all[k] = v
	}
	return all
}

// run runs the engine until its end.
func (w *world) run(interrupt bool, env []string, args ...string) *outcome {
	w.t.Helper()
	bin, err := engine()
	if err != nil {
		w.t.Fatal(err)
	}
	o := &outcome{}
	ctx, cancel := context.WithTimeout(context.Background(), mostTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir, cmd.Env = w.dir, append(slices.Clone(w.env), env...)
	out, err := os.Create(filepath.Join(w.id, "output"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			if n := peak(cmd.Process.Pid); n > o.memory {
				o.memory = n
			}
			if made, _ := filepath.Glob(filepath.Join(w.cloud, "stop-*")); interrupt && len(made) > 0 {
				interrupt = false
				_ = cmd.Process.Signal(os.Interrupt)
			}
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	_ = cmd.Wait()
	close(ended)
	watching.Wait()
	o.took, o.code = time.Since(begun), cmd.ProcessState.ExitCode()
	if ctx.Err() != nil {
		o.fail("not done after %v", mostTime)
	}
	if o.memory > mostMemory {
		o.fail("%d MiB of memory", o.memory>>20)
	}
	text, _ := os.ReadFile(out.Name())
	o.output = string(text)
	lines, _ := os.ReadFile(w.log)
	o.calls = strings.Split(strings.TrimSpace(string(lines)), "\n")
	return o
}

// peak is the most memory that a process has had.
func peak(pid int) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, ok := bytes.Cut(data, []byte("VmHWM:"))
	if !ok {
		return 0
	}
	kib, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	return kib << 10
}

// left are the processes of a run that are still there.
func (w *world) left() []string {
	var left []string
	entries, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, e := range entries {
		if data, err := os.ReadFile(e); err == nil && bytes.Contains(data, []byte(cloudEnv+"="+w.cloud+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(e), "cmdline"))
			name, _, _ := strings.Cut(string(line), "\x00")
			left = append(left, filepath.Base(filepath.Dir(e))+" "+filepath.Base(name))
		}
	}
	return left
}

// objects are the objects in the cloud that the state doesn't have.
func (w *world) objects() ([]string, error) {
	entries, err := os.ReadDir(w.cloud)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(w.state)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if len(data) > 0 && !json.Valid(data) {
		return nil, errors.New("the state is damaged")
	}
	var unknown []string
	for _, e := range entries {
		if !bytes.Contains(data, []byte(strconv.Quote(e.Name()))) {
			unknown = append(unknown, e.Name())
		}
	}
	return unknown, nil
}

// TestEvil plays each behavior in each call. With -short each call has a quarter of the
// behaviors, and each behavior a quarter of the calls.
func TestEvil(t *testing.T) {
	if _, err := engine(); err != nil {
		t.Fatal(err)
	}
	want := strings.Split(*only+"::", ":")
	since6 := since6()
	results := map[string]map[string]*outcome{}
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for i, call := range calls() {
			if slices.Contains(neverCalled, call) || *only != "" && want[0] != "" && want[0] != call {
				continue
			}
			for j, b := range behaviors {
				if *only != "" && want[1] != "" && want[1] != b.name {
					continue
				}
				turn := i + j
				if testing.Short() && *only == "" {
					if turn%16 != 0 {
						continue
					}
					turn /= 16
				}
				for _, protocol := range []string{"5", "6"} {
					if slices.Contains(since6, call) {
						if protocol == "5" {
							continue
						}
					} else if !*full && *only == "" && turn%2 != int(protocol[0]-'5') || *only != "" && want[2] != "" && want[2] != protocol {
						continue
					}
					t.Run(call+"/"+b.name+"/"+protocol, func(t *testing.T) {
						t.Parallel()
						o := play(t, call, b.name, protocol, b.bearable)
						mu.Lock()
						defer mu.Unlock()
						if results[call] == nil {
							results[call] = map[string]*outcome{}
						}
						if old := results[call][b.name]; old == nil || len(o.wrong) > 0 {
							results[call][b.name] = o
						}
					})
				}
			}
		}
	})
	if *table != "" {
		if err := writeTable(*table, results); err != nil {
			t.Fatal(err)
		}
	}
}

// play has a provider misbehave in one call, and judges what the engine does.
func play(t *testing.T, call, does, protocol string, bearable bool) *outcome {
	s := sceneOf(call)
	w := newWorld(t, s)
	if does == "silence" || does == "endless" {
		w.env = append(w.env, "WEIR_CALL_TIMEOUT=2s")
	}
	o := w.run(s.interrupt, []string{callEnv + "=" + call, doesEnv + "=" + does, protocolEnv + "=" + protocol}, s.args...)
	time.Sleep(20 * time.Millisecond)
	left := slices.DeleteFunc(w.left(), func(line string) bool {
		stray := does == "stray" && strings.HasSuffix(line, "sleeper")
		if pid, err := strconv.Atoi(strings.Fields(line)[0]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return stray // nobody finds a process in a session of its own
	})
	if len(left) > 0 {
		o.fail("left: %v", left)
	}
	changed := slices.Contains(o.calls, call+" changed")
	switch {
	case strings.Contains(o.output, "goroutine ") && does != "panic":
		o.fail("the engine panics")
	case !slices.Contains(o.calls, call+" asked"):
		o.fail("the call isn't made: %v", o.calls)
	case s.interrupt: // an interrupted apply is no success, whatever the provider says of it
		if o.code != 1 {
			o.fail("exit code %d of an interrupted apply", o.code)
		}
	case meant[[2]string{call, does}] != "":
	case bearable || !changed:
		if o.code != 0 {
			o.fail("exit code %d", o.code)
		}
	case o.code == 0:
		o.fail("success")
	case does == "many": // what a provider says of an object stands beside the object's name
	case !strings.Contains(o.said(), "proof/evil"):
		o.fail("the provider isn't named")
	case !strings.Contains(o.output, "Error: "):
		o.fail("no error is printed")
	}
	if strings.Contains(o.output, "\a") || strings.Contains(o.output, "\x1b") {
		o.fail("control characters reach the terminal")
	}
	if len(o.output) > 64<<20 {
		o.fail("%d MiB are printed", len(o.output)>>20)
	}
	w.judge(o, protocol)
	if *only != "" {
		t.Logf("exit code %d after %v with %d MiB\n%v\n%.6000s", o.code, o.took, o.memory>>20, o.calls, o.output)
	}
	for _, text := range o.wrong {
		t.Errorf("%s", text)
	}
	if len(o.wrong) > 0 && *only == "" {
		t.Logf("%.1500s", o.output)
	}
	return o
}

// judge looks whether all objects are in the state, or are named as in doubt afterwards.
func (w *world) judge(o *outcome, protocol string) {
	unknown, err := w.objects()
	if err != nil {
		o.fail("%v", err)
		return
	}
	if len(unknown) == 0 {
		return
	}
	after := w.run(false, []string{protocolEnv + "=" + protocol}, "recover", "-no-color")
	now, err := w.objects()
	if err != nil {
		o.fail("%v", err)
	}
	for _, id := range now {
		name, _, _ := strings.Cut(id, "-")
		if !strings.Contains(after.output, "evil_thing."+name) && !w.has(name) {
			o.fail("the object %s is in neither the state nor a doubt: %s", id, after.output)
		}
	}
}

// said is what is printed without the warning that providers are from a folder, which
// names them.
func (o *outcome) said() string {
	var lines []string
	for line := range strings.Lines(o.output) {
		if !strings.HasPrefix(line, " - proof/evil in ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// has reports whether the state has a resource, whose provider may have said too little.
func (w *world) has(name string) bool {
	var state struct{ Resources []struct{ Name string } }
	data, err := os.ReadFile(w.state)
	if err != nil || json.Unmarshal(data, &state) != nil {
		return false
	}
	for _, r := range state.Resources {
		if r.Name == name {
			return true
		}
	}
	return false
}

// TestHonest: the scenes make every call, and succeed.
func TestHonest(t *testing.T) {
	for _, protocol := range []string{"5", "6"} {
		var made []string
		scenes := map[string]scene{"apply": apply, "query": query, "stop": stop}
		if protocol == "6" {
			maps.Copy(scenes, map[string]scene{"storing": storing, "listing": listing, "deleting": deleting})
		}
		for name, s := range scenes {
			w := newWorld(t, s)
			o := w.run(s.interrupt, []string{protocolEnv + "=" + protocol}, s.args...)
			if (o.code != 0) != s.interrupt || len(o.wrong) > 0 {
				t.Errorf("%s: exit code %d, %v\n%s", name, o.code, o.wrong, o.output)
			}
			made = append(made, o.calls...)
		}
		for _, call := range calls() {
			never := slices.Contains(neverCalled, call) || protocol == "5" && slices.Contains(since6(), call)
			if slices.Contains(made, call) == never {
				t.Errorf("protocol %s: %s is called: %v", protocol, call, slices.Contains(made, call))
			}
		}
	}
}

// writeTable puts the table of all outcomes between the marks of a page.
func writeTable(page string, results map[string]map[string]*outcome) error {
	var b strings.Builder
	b.WriteString("| behavior | |\n|---|---|\n")
	for _, does := range behaviors {
		fmt.Fprintf(&b, "| %s | %s |\n", does.name, does.text)
	}
	b.WriteString("\n| call |")
	for _, does := range behaviors {
		fmt.Fprintf(&b, " %s |", does.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(behaviors)) + "\n")
	for _, call := range calls() {
		fmt.Fprintf(&b, "| `%s` |", call)
		for _, does := range behaviors {
			fmt.Fprintf(&b, " %s |", results[call][does.name].cell(call))
		}
		b.WriteString("\n")
	}
	const begin, end = "<!-- evil providers -->\n", "<!-- end of evil providers -->\n"
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no marks for the table", page)
	}
	return os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644)
}

// cell is an outcome in a word.
func (o *outcome) cell(call string) string {
	switch {
	case o == nil:
		return "–"
	case len(o.wrong) > 0:
		return "**" + o.wrong[0] + "**"
	case o.code == 0 && slices.Contains(o.calls, call+" changed"):
		return "accepted"
	case o.code == 0:
		return "works"
	}
	return "error"
}
