package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/testing/simtest"
)

// limit is how long one command may take.
const limit = 2 * time.Minute

// A player plays one step of a history from what was there before it.
type player interface {
	play(before world, step simtest.Step) (outcome, error)
}

// A world is what a step begins and ends with: the files of the cloud and the
// state, by their path.
type world map[string][]byte

// An outcome is what a step came to.
type outcome struct {
	Results []result
	After   world
}

// result finds that of a command, if there is one.
func (o outcome) result(command string) (result, bool) {
	for _, r := range o.Results {
		if r.Command == command {
			return r, true
		}
	}
	return result{}, false
}

// A result is what one command came to.
type result struct {
	Command string // plan, show, apply, or as the step has it
	Exit    int
	Diags   []diagnostic    `json:",omitempty"`
	Plan    json.RawMessage `json:",omitempty"`
	Events  []event         `json:",omitempty"`
}

// An event is an operation in the cloud, see simcloud/cloud.
type event struct {
	Seq   int    `json:"seq"`
	Phase string `json:"phase"`
	Span  int    `json:"span"`
	Op    string `json:"op"`
	Type  string `json:"type"`
	Name  string `json:"name"`
	Error string `json:"error"`
}

// An engine is a binary, with what it needs to work without a network.
type engine struct {
	bin, version string
	env          []string
	ready        string // an initialized directory
	scratch      string
	// provider is the program of the provider where one process serves all commands of a step:
	// half of the time of short commands goes into starting it. Empty: each command starts it.
	provider string
}

// newEngine initializes a directory once, so that the steps needn't.
func newEngine(name, bin, mirror, scratch string) (*engine, error) {
	bin, err := exec.LookPath(bin)
	if err != nil {
		return nil, err
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	e := &engine{bin: bin, ready: filepath.Join(scratch, name, "ready"), scratch: filepath.Join(scratch, name)}
	if err := os.MkdirAll(e.ready, 0o755); err != nil {
		return nil, err
	}
	config := filepath.Join(e.scratch, "cli.tfrc")
	text := fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	e.env = []string{
		"HOME=" + e.scratch, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + config, "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"CHECKPOINT_DISABLE=1", "NO_COLOR=1", "GRPC_GO_LOG_LEVEL=error", "TMPDIR=" + e.scratch,
	}
	out, _, err := e.run(e.ready, nil, "version", "-json")
	if err != nil {
		return nil, err
	}
	var version struct {
		Peer string `json:"terraform_version"`
		Weir string `json:"weir_version"`
	}
	if err := json.Unmarshal(out, &version); err != nil {
		return nil, fmt.Errorf("%s version: %w", bin, err)
	}
	e.version = name + " " + version.Peer + version.Weir
	main := "terraform {\n  required_providers {\n    sim = {\n      source = \"weir/sim\"\n    }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(e.ready, "main.tf"), []byte(main), 0o644); err != nil {
		return nil, err
	}
	if out, exit, err := e.run(e.ready, nil, "init", "-no-color"); err != nil || exit != 0 {
		return nil, fmt.Errorf("%s init: exit %d, %v\n%s", bin, exit, err, out)
	}
	return e, nil
}

// run runs the engine and returns what it printed to both streams.
func (e *engine) run(dir string, env []string, args ...string) (out []byte, exit int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.bin, args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(e.env, env)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) && ctx.Err() == nil {
		return b.Bytes(), failed.ExitCode(), nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", e.bin, strings.Join(args, " "), err)
	}
	return b.Bytes(), 0, nil
}

// A site is where an engine plays one step.
type site struct {
	*engine
	dir, cloud string
	env        []string // in addition to the engine's
}

// serve starts the provider and has the commands of the step use it.
func (s *site) serve() (stop func(), err error) {
	cmd := exec.Command(s.provider)
	cmd.Env = append(slices.Concat(s.engine.env, s.env), "PLUGIN_PROTOCOL_VERSIONS=6",
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Split(strings.TrimSpace(line), "|") // 1|6|unix|/tmp/plugin123|grpc|
	if err != nil || len(fields) < 5 {
		stop()
		return nil, fmt.Errorf("%s doesn't start as a provider: %q, %v", s.provider, line, err)
	}
	attach, err := json.Marshal(map[string]any{"registry.opentofu.org/weir/sim": map[string]any{
		"Protocol": "grpc", "ProtocolVersion": 6, "Pid": cmd.Process.Pid, "Test": true,
		"Addr": map[string]string{"Network": fields[2], "String": fields[3]},
	}})
	s.env = append(s.env, "TF_REATTACH_PROVIDERS="+string(attach))
	return stop, err
}

// play lays out what is there before a step, plays it and reads what it leaves.
func (e *engine) play(before world, step simtest.Step) (o outcome, err error) {
	root, err := os.MkdirTemp(e.scratch, "step")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(root)
	s := site{engine: e, dir: filepath.Join(root, "work"), cloud: filepath.Join(root, "work", cloudDir)}
	s.env = []string{"SIM_CLOUD=" + s.cloud}
	if err := s.prepare(before, step.Files()); err != nil {
		return o, err
	}
	if err := s.drift(step.Drift); err != nil {
		return o, err
	}
	if e.provider != "" {
		stop, err := s.serve()
		if err != nil {
			return o, err
		}
		defer stop()
	}
	for _, command := range step.Commands {
		r, err := s.command(command)
		if err != nil {
			return o, err
		}
		o.Results = append(o.Results, r)
	}
	for _, f := range step.Fail {
		op, name, _ := strings.Cut(f, " ")
		if err := os.WriteFile(s.fault(op, name), nil, 0o644); err != nil {
			return o, err
		}
	}
	plan := append([]string{"plan"}, planFlags(step)...)
	r, err := s.json(plan...)
	if err != nil {
		return o, err
	}
	if o.Results = append(o.Results, r); r.Exit == 0 {
		out, exit, err := s.run(s.dir, s.env, "show", "-json", "-no-color", "tfplan")
		if err != nil {
			return o, err
		}
		show := result{Command: "show", Exit: exit}
		if exit == 0 {
			show.Plan = bytes.TrimSpace(out)
		}
		if r, err = s.json("apply", "-json", "tfplan"); err != nil {
			return o, err
		}
		o.Results = append(o.Results, show, r)
	}
	for _, f := range step.Fail {
		op, name, _ := strings.Cut(f, " ")
		if err := os.Remove(s.fault(op, name)); err != nil {
			return o, err
		}
	}
	o.After, err = s.world()
	return o, err
}

// planFlags are the arguments that a step is planned with.
func planFlags(step simtest.Step) []string {
	flags := []string{"-json", "-out=tfplan"}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"-replace=", step.Replace}, {"-target=", step.Targets}, {"-exclude=", step.Excludes}} {
		for _, v := range list.values {
			flags = append(flags, list.flag+v)
		}
	}
	for _, mode := range []struct {
		on   bool
		flag string
	}{{step.SkipRefresh, "-refresh=false"}, {step.RefreshOnly, "-refresh-only"}, {step.Destroy, "-destroy"}} {
		if mode.on {
			flags = append(flags, mode.flag)
		}
	}
	return flags
}

const (
	stateFile = "terraform.tfstate"
	cloudDir  = ".cloud"
)

// prepare lays out the directory.
func (s site) prepare(before world, files module.Memory) error {
	put := func(name string, data []byte) error {
		file := filepath.Join(s.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, data, 0o644)
	}
	for _, all := range []map[string][]byte{before, files} {
		for name, data := range all {
			if err := put(name, data); err != nil {
				return err
			}
		}
	}
	for _, sub := range []string{"objects", "faults"} {
		if err := os.MkdirAll(filepath.Join(s.cloud, sub), 0o755); err != nil {
			return err
		}
	}
	if err := put(".terraform/modules/modules.json", installed(files)); err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(s.ready, ".terraform.lock.hcl"))
	if err != nil {
		return err
	}
	if err := put(".terraform.lock.hcl", lock); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(s.ready, ".terraform", "providers"), filepath.Join(s.dir, ".terraform", "providers"))
}

var callBlock = regexp.MustCompile(`(?m)^module "([^"]+)" \{\n  source = "([^"]+)"`)

// installed is the record of installed modules. All of them are local, so that
// it follows from the text.
func installed(files module.Memory) []byte {
	type entry struct{ Key, Source, Dir string }
	list := []entry{{"", "", "."}}
	for i := 0; i < len(list); i++ {
		from := list[i]
		text := files[path.Join(from.Dir, "main.tf")]
		for _, call := range callBlock.FindAllSubmatch(text, -1) {
			key := strings.TrimPrefix(from.Key+"."+string(call[1]), ".")
			dir, source := path.Join(from.Dir, string(call[2])), path.Clean(string(call[2]))
			if !strings.HasPrefix(source, "../") {
				source = "./" + source
			}
			list = append(list, entry{key, source, dir})
		}
	}
	data, err := json.Marshal(map[string]any{"Modules": list})
	if err != nil {
		panic(err)
	}
	return data
}

// world reads what the step left.
func (s site) world() (world, error) {
	after := world{}
	err := filepath.WalkDir(s.cloud, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" {
			return err
		}
		data, err := os.ReadFile(file)
		after[cloudDir+"/"+strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(file, s.cloud)), "/")] = data
		return err
	})
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(s.dir, stateFile))
	if err == nil {
		after[stateFile] = data
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return after, nil
}

func (s site) fault(op, name string) string {
	return filepath.Join(s.cloud, "faults", op+"."+name)
}

// json runs a command that prints JSON messages, and takes what happened in the
// cloud meanwhile.
func (s site) json(args ...string) (result, error) {
	r := result{Command: args[0]}
	out, exit, err := s.run(s.dir, s.env, args...)
	if err != nil {
		return r, err
	}
	r.Exit, r.Diags = exit, readDiags(out)
	log := filepath.Join(s.cloud, "events.jsonl")
	data, err := os.ReadFile(log)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	for line := range bytes.Lines(data) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return r, err
		}
		r.Events = append(r.Events, e)
	}
	return r, os.Remove(log)
}

// command runs one that a step has in addition.
func (s site) command(command string) (result, error) {
	args := strings.Fields(command)
	if args[0] == "validate" {
		return s.json("validate", "-json")
	}
	verb := 1
	if args[0] == "state" {
		verb = 2
	}
	args = slices.Insert(args, verb, "-no-color")
	r, err := s.json(args...)
	r.Command = command
	return r, err
}

// drift changes the cloud behind the engine's back.
func (s site) drift(list []string) error {
	for _, d := range list {
		kind, name, _ := strings.Cut(d, " ")
		objects, err := s.objects()
		if err != nil {
			return err
		}
		if kind == "make" {
			if err := s.make(name); err != nil {
				return err
			}
		}
		for _, file := range slices.Sorted(maps.Keys(objects)) {
			o := objects[file]
			switch id := o["id"]; {
			case o["name"] != name:
			case kind == "drop" && !inUse(objects, id):
				err = os.Remove(file)
			case kind == "set":
				o["attributes"].(map[string]any)["value"] = "drifted"
				err = writeJSON(file, o)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// make adds an object as if the provider had made it.
func (s site) make(name string) error {
	id := "object-" + name + "-1"
	err := writeJSON(filepath.Join(s.cloud, "objects", id+".json"), map[string]any{
		"type": "sim_object", "id": id, "name": name, "region": "home", "generation": 1,
		"attributes": map[string]any{"mode": "standard", "assigned": "assigned-" + id, "computed_later": "later-" + id + "-1"},
	})
	if err != nil {
		return err
	}
	file, counters := filepath.Join(s.cloud, "counters.json"), map[string]int{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &counters)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	counters["id.object-"+name]++
	return writeJSON(file, counters)
}

func (s site) objects() (map[string]map[string]any, error) {
	files, err := filepath.Glob(filepath.Join(s.cloud, "objects", "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var o map[string]any
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		all[file] = o
	}
	return all, nil
}

func inUse(objects map[string]map[string]any, id any) bool {
	for _, o := range objects {
		if refs, _ := o["refs"].([]any); o["id"] != id && slices.Contains(refs, id) {
			return true
		}
	}
	return false
}

func writeJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// buildMirror lays out a provider mirror with the simulated cloud's provider,
// built from source when bin is empty.
func buildMirror(dir, bin string) (string, error) {
	for _, host := range []string{"registry.opentofu.org", "registry.terraform.io"} {
		file := providerIn(dir, host)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if bin == "" {
			bin = filepath.Join(dir, "simcloud")
			build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
			build.Dir = filepath.Join("test", "conformance", "simcloud")
			if out, err := build.CombinedOutput(); err != nil {
				return "", fmt.Errorf("cannot build simcloud: %w\n%s", err, out)
			}
		}
		data, err := os.ReadFile(bin)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(file, data, 0o755); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// providerIn is the program of the simulated cloud's provider in a mirror.
func providerIn(mirror, host string) string {
	return filepath.Join(mirror, host, "weir", "sim", "1.0.0", runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-sim_v1.0.0")
}
