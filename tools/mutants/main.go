// Command mutants changes the engine in many places, one at a time, and prints the changes
// that no test notices.
//
// All changes are in one build. Each is behind a switch, so the packages and their test
// binaries are compiled once. A first round runs every test and conformance case by itself, and
// records which changes it reaches; then each change meets only the tests that reach it, those
// of its own package first, until one fails. A survivor is a test that is missing, or a change
// without a difference. docs/proofs/mutants.txt has the reasons of the second kind.
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const module = "weir.dev/weir"

//go:embed mutant.txt
var switches string

// line are the packages whose changes could lose or invent an object, from text to state.
const line = "state/encryption state/encryption/... workspace/... resource/contract resource/lifecycle state/journal state/statefile state/storage state/storage/local " +
	"state/storage/http ui/cli ui/exit apply plan/planner plan/prior plan/graphbuilder plan/order eval lang/compiler sys/durable"

type options struct {
	root, packages, at, dir string
	tests                   string
	n, workers              int
	seed                    uint64
	budget                  time.Duration
	table, commit           string
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "-keep" {
		keep(os.Args[2], os.Args[3])
		return
	}
	var o options
	flag.StringVar(&o.root, "root", "..", "directory of the module")
	flag.StringVar(&o.packages, "packages", line, "packages below internal that are changed")
	flag.StringVar(&o.tests, "tests", "", "only tests of packages that match this regular expression (default: all that link a changed package)")
	flag.StringVar(&o.at, "at", "", "only changes whose FILE:LINE matches this regular expression, all of them")
	flag.StringVar(&o.dir, "dir", "", "directory of the build (default: a temporary one)")
	flag.IntVar(&o.n, "n", 100, "number of changes")
	flag.IntVar(&o.workers, "workers", 2, "changes that are tested at the same time")
	flag.Uint64Var(&o.seed, "seed", 1, "picks the changes")
	flag.DurationVar(&o.budget, "budget", 90*time.Second, "tests that one change meets at most, by the time that they usually take")
	flag.StringVar(&o.table, "table", "", "write the result between the marks of this page")
	flag.StringVar(&o.commit, "commit", "", "of the source, for the page")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "mutants"); err != nil {
			return err
		}
		defer os.RemoveAll(o.dir)
	}
	list, total, err := o.choose()
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d changes, seed %d\n", len(list), total, o.seed)
	binaries, err := o.build(&list)
	if err != nil {
		return err
	}
	tests, err := o.record(binaries, len(list))
	if err != nil {
		return err
	}
	results := o.play(list, tests)
	return o.report(list, results)
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// choose finds all sites of the packages and picks some.
func (o *options) choose() (list []*site, total int, err error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module", "./...")
	cmd.Dir, cmd.Stderr = o.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var own []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, 0, err
		}
		exports[l.ImportPath] = l.Export
		if l.Module != nil && l.Module.Main && o.wanted(l.ImportPath) {
			own = append(own, l)
		}
	}
	fset := token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	var all []*site
	for _, l := range own {
		found, err := sites(fset, o.root, &config, l)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, found...)
	}
	total = len(all)
	if o.at != "" {
		at, err := regexp.Compile(o.at)
		if err != nil {
			return nil, 0, err
		}
		all = slices.DeleteFunc(all, func(s *site) bool { return !at.MatchString(fmt.Sprintf("%s:%d", s.file, s.line)) })
		return all, total, nil
	}
	random := rand.New(rand.NewPCG(o.seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(o.n, len(all))]
	slices.SortFunc(all, func(a, b *site) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.start, b.start)) })
	return all, total, nil
}

func (o *options) wanted(path string) bool {
	for p := range strings.FieldsSeq(o.packages) {
		p = module + "/internal/" + p
		if folder, all := strings.CutSuffix(p, "/..."); path == p || all && (path == folder || strings.HasPrefix(path, folder+"/")) {
			return true
		}
	}
	return false
}

// overlay writes the changed files and what go build needs to find them.
func (o *options) overlay(list []*site) (string, error) {
	replace := map[string]string{}
	put := func(file, text string) error {
		to := filepath.Join(o.dir, "src", strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(o.root, file)] = to
		return os.WriteFile(to, []byte(text), 0o600)
	}
	if err := os.MkdirAll(filepath.Join(o.dir, "src"), 0o700); err != nil {
		return "", err
	}
	if err := put("internal/testing/mutant/mutant.go", switches); err != nil {
		return "", err
	}
	files := map[string][]int{}
	for i, s := range list {
		files[s.file] = append(files[s.file], i)
	}
	clause := regexp.MustCompile(`(?m)^package \w+`)
	for file, numbers := range files {
		text, err := os.ReadFile(filepath.Join(o.root, file))
		if err != nil {
			return "", err
		}
		var own []*site
		for _, i := range numbers {
			own = append(own, list[i])
		}
		changed := string(apply(text, numbers, own))
		at := clause.FindStringIndex(changed)
		if err := put(file, changed[:at[1]]+`; import mutant0 "`+module+`/internal/testing/mutant"`+changed[at[1]:]); err != nil {
			return "", err
		}
	}
	out, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(o.dir, "overlay.json")
	return name, os.WriteFile(name, out, 0o600)
}

// A binary is the tests of one package, or the program that conformance cases run.
type binary struct {
	path, dir string
	runner    string // of the cases; empty for a package
}

// command runs tests by their names.
func (b binary) command(program string, names []string, limit time.Duration) *exec.Cmd {
	pattern := "^(" + strings.Join(names, "|") + ")$"
	if b.runner == "" {
		return exec.Command(program, "-test.run", pattern, "-test.count=1", "-test.failfast", "-test.timeout", limit.String())
	}
	cmd := exec.Command(b.runner, "-run", pattern, "-p", "1", "-timeout", limit.String(), "-sim", filepath.Join(filepath.Dir(b.runner), "simcloud"))
	cmd.Env = append(os.Environ(), "IAC_BIN="+program)
	return cmd
}

// names lists the tests.
func (b binary) names() (list []string, err error) {
	if b.runner != "" {
		cases, err := filepath.Glob(filepath.Join(b.dir, "cases", "*", "*.txtar"))
		for _, path := range cases {
			list = append(list, filepath.Base(filepath.Dir(path))+"/"+strings.TrimSuffix(filepath.Base(path), ".txtar"))
		}
		return list, err
	}
	cmd := exec.Command(b.path, "-test.list", "^Test")
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", b.dir, err, out)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "Test") {
			list = append(list, name)
		}
	}
	return list, nil
}

var refused = regexp.MustCompile(`(?m)^(?:vet: )?([^\s:]+\.go):(\d+):\d+: `)

// build compiles all tests with all changes. A change that doesn't compile leaves the list.
func (o *options) build(list *[]*site) ([]binary, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for range 6 {
		name, err := o.overlay(*list)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		kept := filepath.Join(o.dir, "tests")
		if err := os.RemoveAll(kept); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(kept, 0o700); err != nil {
			return nil, err
		}
		packages, err := o.testing(*list)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command("go", append([]string{"test", "-count=1", "-vet=off", "-gcflags=" + module + "/...=-e", "-overlay", name, "-exec", self + " -keep " + kept}, packages...)...)
		cmd.Dir = o.root
		out, err := cmd.CombinedOutput()
		if err == nil {
			binaries, err := found(kept)
			if wanted, _ := regexp.MatchString(o.tests, "conformance"); wanted && err == nil {
				var cases binary
				cases, err = o.cases(name)
				binaries = append(binaries, cases)
			}
			fmt.Printf("%d test binaries in %.0f s\n", len(binaries), time.Since(start).Seconds())
			return binaries, err
		}
		bad := map[string]bool{}
		for _, match := range refused.FindAllStringSubmatch(string(out), -1) {
			bad[filepath.Base(match[1])+":"+match[2]] = true
		}
		before := len(*list)
		*list = slices.DeleteFunc(*list, func(s *site) bool { return bad[filepath.Base(s.file)+":"+strconv.Itoa(s.line)] })
		if len(*list) == before {
			return nil, fmt.Errorf("the changed source doesn't compile: %s", out)
		}
		fmt.Printf("%d changes don't compile\n", before-len(*list))
	}
	return nil, errors.New("the changed source doesn't compile after six attempts")
}

// cases builds what the conformance cases need.
func (o *options) cases(overlay string) (binary, error) {
	b := binary{
		path: filepath.Join(o.dir, "conformance", "weir"), dir: filepath.Join(o.root, "test", "conformance"),
		runner: filepath.Join(o.dir, "conformance", "run"),
	}
	for _, build := range []struct {
		dir  string
		args []string
	}{
		{o.root, []string{"-overlay", overlay, "-o", b.path, "./cmd/weir"}},
		{b.dir, []string{"-o", b.runner, "."}},
		{filepath.Join(b.dir, "simcloud"), []string{"-o", filepath.Join(o.dir, "conformance", "simcloud"), "."}},
	} {
		cmd := exec.Command("go", append([]string{"build"}, build.args...)...)
		cmd.Dir = build.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("%s: %w: %s", build.dir, err, out)
		}
	}
	return b, nil
}

// skipped are packages whose tests measure, read the source, or draw so many histories that
// each change would take minutes.
var skipped = regexp.MustCompile(`/(bench|lint|surface|differential|chaos)(/|$)`)

// testing lists the packages whose tests link a changed package.
func (o *options) testing(list []*site) ([]string, error) {
	wanted, err := regexp.Compile(o.tests)
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for _, s := range list {
		changed[s.pkg] = true
	}
	cmd := exec.Command("go", "list", "-test", "-json=ImportPath,ForTest,Deps", "./...")
	cmd.Dir, cmd.Stderr = o.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var packages []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l struct {
			ImportPath string
			Deps       []string
		}
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		path, ok := strings.CutSuffix(l.ImportPath, ".test")
		if !ok || skipped.MatchString(path) || !wanted.MatchString(path) {
			continue
		}
		if slices.ContainsFunc(l.Deps, func(dep string) bool { dep, _, _ = strings.Cut(dep, " "); return changed[dep] }) {
			packages = append(packages, path)
		}
	}
}

// keep stores a test binary in place of running it, for go test -exec.
func keep(dir, program string) {
	err := func() error {
		wd, err := os.Getwd()
		if err != nil {
			return err
		}
		to, err := os.MkdirTemp(dir, "")
		if err != nil {
			return err
		}
		text, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(program)), text, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, "dir"), []byte(wd), 0o600)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func found(kept string) (list []binary, err error) {
	dirs, err := filepath.Glob(filepath.Join(kept, "*", "dir"))
	if err != nil {
		return nil, err
	}
	for _, name := range dirs {
		wd, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		tests, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*.test"))
		if err != nil || len(tests) != 1 {
			return nil, fmt.Errorf("%s: %d test binaries: %w", name, len(tests), err)
		}
		list = append(list, binary{path: tests[0], dir: string(wd)})
	}
	slices.SortFunc(list, func(a, b binary) int { return cmp.Compare(a.dir, b.dir) })
	return list, nil
}

// A test is one test function, and the changes that it reaches.
type test struct {
	binary
	name    string
	took    time.Duration
	reaches map[int]bool
}

// place gives a worker its own copies of the test binaries, each with a switch beside it.
func (o *options) place(worker int, b binary) (program, active string, err error) {
	dir := filepath.Join(o.dir, "w"+strconv.Itoa(worker), filepath.Base(filepath.Dir(b.path)))
	program, active = filepath.Join(dir, filepath.Base(b.path)), filepath.Join(dir, "active")
	if _, err := os.Stat(program); err == nil {
		return program, active, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	return program, active, os.Link(b.path, program)
}

// start runs tests of a binary with a change, or records what they reach.
func (o *options) start(worker int, b binary, state string, limit time.Duration, names ...string) (out []byte, took time.Duration, err error) {
	program, active, err := o.place(worker, b)
	if err != nil {
		return nil, 0, err
	}
	if err := os.WriteFile(active, []byte(state), 0o600); err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	cmd := b.command(program, names, limit)
	cmd.Dir = b.dir
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(limit+5*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err = cmd.CombinedOutput()
	return out, time.Since(begin), err
}

// record runs each test by itself. Tests that fail without a change are of no use.
func (o *options) record(binaries []binary, n int) ([]*test, error) {
	begin := time.Now()
	var tests []*test
	for _, b := range binaries {
		names, err := b.names()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			tests = append(tests, &test{binary: b, name: name})
		}
	}
	var failed sync.Map
	parallel(o.workers, len(tests), func(worker, i int) {
		t := tests[i]
		log := filepath.Join(o.dir, "reached"+strconv.Itoa(worker))
		_ = os.Remove(log)
		out, took, err := o.start(worker, t.binary, log, 4*time.Minute, t.name)
		t.took = took
		if err != nil {
			failed.Store(t, fmt.Sprintf("%s %s fails without a change: %s", t.dir, t.name, lastLines(out)))
			return
		}
		text, _ := os.ReadFile(log) // absent where it reaches nothing
		t.reaches = map[int]bool{}
		for line := range strings.FieldsSeq(string(text)) {
			if k, err := strconv.Atoi(line); err == nil && k < n {
				t.reaches[k] = true
			}
		}
	})
	failed.Range(func(_, text any) bool { fmt.Println(text); return true })
	var total time.Duration
	for _, t := range tests {
		total += t.took
	}
	fmt.Printf("%d tests record what they reach in %.0f s (%.0f s one after the other)\n", len(tests), time.Since(begin).Seconds(), total.Seconds())
	return tests, nil
}

func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// A result says what became of a change.
type result struct {
	killer        string // the test that failed
	own           bool   // it is one of the change's package
	reaching, ran int    // tests
}

// play runs the tests that reach a change until one fails.
func (o *options) play(list []*site, tests []*test) []result {
	results := make([]result, len(list))
	var mu sync.Mutex
	done := 0
	parallel(o.workers, len(list), func(worker, i int) {
		results[i] = o.one(worker, i, list[i], tests)
		mu.Lock()
		defer mu.Unlock()
		done++
		if r := results[i]; r.killer == "" {
			fmt.Printf("%4d/%d ALIVE %s:%d %s (%d of %d tests)\n", done, len(list), list[i].file, list[i].line, list[i].key(), r.ran, r.reaching)
		} else if done%20 == 0 {
			fmt.Printf("%4d/%d\n", done, len(list))
		}
	})
	return results
}

func (o *options) one(worker, i int, s *site, tests []*test) (r result) {
	var reach []*test
	for _, t := range tests {
		if t.reaches[i] {
			reach = append(reach, t)
		}
	}
	own := func(t *test) int {
		if t.dir == filepath.Join(o.root, filepath.Dir(s.file)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(reach, func(a, b *test) int { return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(a.took, b.took)) })
	r.reaching = len(reach)
	var spent time.Duration
	for at := 0; at < len(reach); {
		// Tests of one binary in a row start it once.
		group := reach[at : at+1]
		usual := reach[at].took
		for at+len(group) < len(reach) && reach[at+len(group)].path == reach[at].path && len(group) < 12 {
			usual += reach[at+len(group)].took
			group = reach[at : at+len(group)+1]
		}
		if spent += usual; spent > o.budget && r.ran > 0 {
			return r
		}
		var names []string
		for _, t := range group {
			names = append(names, t.name)
		}
		out, _, err := o.start(worker, group[0].binary, strconv.Itoa(i), 20*time.Second+6*usual, names...)
		r.ran += len(group)
		at += len(group)
		if err != nil {
			r.killer, r.own = killer(group, out), own(group[0]) == 0
			return r
		}
	}
	return r
}

var failing = regexp.MustCompile(`(?m)^(?:--- FAIL: |failed +)(\S+)`)

func killer(group []*test, out []byte) string {
	name := group[0].name
	if match := failing.FindSubmatch(out); match != nil {
		name = string(match[1])
	}
	return filepath.Base(group[0].dir) + " " + name
}

func parallel(workers, n int, do func(worker, i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range next {
				do(w, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
