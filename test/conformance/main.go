// Command conformance runs a corpus of cases against an infrastructure-as-code program and
// prints which of them pass. See README.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	casesDir = flag.String("cases", "cases", "directory of the cases, one folder for each area")
	runOnly  = flag.String("run", "", "run only the cases whose AREA/NAME matches this regexp")
	parallel = flag.Int("p", runtime.NumCPU()+1, "how many cases run at once; some only wait")
	timeout  = flag.Duration("timeout", 2*time.Minute, "time limit of one case")
	update   = flag.Bool("update", false, "record what the engine does into the cases")
	verbose  = flag.Bool("v", false, "print every case's log")
	keep     = flag.String("keep", "", "keep the cases' work directories in this directory")
	results  = flag.String("json", "", "write the results to this file")
	dialect  = flag.String("dialect", "", "tofu or terraform; by default from the program's version output")
	simBin   = flag.String("sim", "", "a built simcloud provider; by default it is built from ./simcloud")
	expected = flag.String("expected", "", "file that lists the cases known to fail; a listed case that passes is a failure too")
	warm     = flag.Bool("daemon", false, "have a daemon of the engine do what it does of each case")
	revise   = flag.Bool("revise", false, "bring the file of -expected in line with this run's results")
)

// A result is the outcome of one case.
type result struct {
	Case    string  `json:"case"`
	Area    string  `json:"area"`
	Status  status  `json:"status"`
	Seconds float64 `json:"seconds"`
	Log     string  `json:"log,omitempty"`
}

type status string

const (
	passed  status = "passed"
	failed  status = "failed"
	skipped status = "skipped"
)

func main() {
	flag.Parse()
	ok, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run() (ok bool, err error) {
	bin := os.Getenv("IAC_BIN")
	if bin == "" {
		return false, fmt.Errorf("set IAC_BIN to the engine's binary")
	}
	if bin, err = exec.LookPath(bin); err != nil {
		return false, err
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return false, err
	}
	ask := exec.Command(bin, "version")
	ask.Env = []string{"TF_CLI_CONFIG_FILE=" + os.DevNull, "CHECKPOINT_DISABLE=1"}
	version, err := ask.Output()
	if err != nil {
		return false, fmt.Errorf("%s version: %w", bin, err)
	}
	headline, _, _ := strings.Cut(strings.TrimSpace(string(version)), "\n")
	if *dialect == "" {
		*dialect = "tofu"
		if strings.HasPrefix(headline, "Terraform") {
			*dialect = "terraform"
		}
	}
	files, err := findCases(*casesDir, *runOnly)
	if err != nil {
		return false, err
	}
	expect, err := loadExpectation()
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	mirror, err := buildMirror(filepath.Join(scratch, "mirror"), *simBin)
	if err != nil {
		return false, err
	}
	// Other programs begin like OpenTofu for the sake of wrappers, and say afterwards what
	// they are.
	original := !strings.Contains(string(version), "\nThis is ")
	box := sandbox{bin: bin, mirrors: []string{mirror}, dialect: *dialect, opentofu: strings.HasPrefix(headline, "OpenTofu") && original}
	if real := os.Getenv("IAC_MIRROR"); real != "" {
		if real, err = filepath.Abs(real); err != nil {
			return false, err
		}
		box.mirrors = append(box.mirrors, real)
	}

	fmt.Printf("%d cases, %s\n", len(files), headline)
	all := runAll(files, box, expect)
	if *warm {
		fmt.Printf("%d commands were done by daemons\n", served.Load())
	}
	count := map[status]int{}
	for _, r := range all {
		count[r.Status]++
	}
	if *results != "" {
		err := writeResults(*results, headline, all, count)
		if err != nil {
			return false, err
		}
	}
	v := expect.judge(all)
	if *expected != "" {
		v.print(*expected)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", count[passed], count[failed], count[skipped])
	if *revise {
		err := expect.revise(all).write(*expected)
		return err == nil, err
	}
	return v.ok(), nil
}

// loadExpectation reads the file that -expected names, if it names one. Names in
// it are checked against the whole corpus, also when only a part of it runs.
func loadExpectation() (expectation, error) {
	if *expected == "" {
		if *revise {
			return nil, fmt.Errorf("-revise needs -expected FILE")
		}
		return nil, nil
	}
	corpus, err := findCases(*casesDir, "")
	if err != nil {
		return nil, err
	}
	return readExpectation(*expected, corpus)
}

// findCases returns the case files below dir, sorted.
func findCases(dir, pattern string) (files []string, err error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".txtar") && match.MatchString(caseName(path)) {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no case in %s matches %q", dir, pattern)
	}
	slices.Sort(files)
	return files, err
}

// caseName is AREA/NAME.
func caseName(file string) string {
	area := filepath.Base(filepath.Dir(file))
	return area + "/" + strings.TrimSuffix(filepath.Base(file), ".txtar")
}

func runAll(files []string, box sandbox, expect expectation) []result {
	all := make([]result, len(files))
	next := make(chan int)
	var workers sync.WaitGroup
	var printing sync.Mutex
	for range max(1, *parallel) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := range next {
				all[i] = runCase(files[i], box)
				printing.Lock()
				_, known := expect[all[i].Case]
				report(all[i], known)
				printing.Unlock()
			}
		}()
	}
	for i := range files {
		next <- i
	}
	close(next)
	workers.Wait()
	return all
}

// report prints how a case went, with its log when it failed and is not known to.
func report(r result, known bool) {
	note := ""
	if known && r.Status == failed {
		note = "  (expected)"
	}
	fmt.Printf("%-7s %-45s %5.1fs%s\n", r.Status, r.Case, r.Seconds, note)
	if r.Status == failed && !known || *verbose {
		for line := range strings.Lines(r.Log) {
			fmt.Print("    ", line)
		}
		fmt.Println()
	}
}

func writeResults(file, engine string, all []result, count map[status]int) error {
	data, err := json.MarshalIndent(struct {
		Engine string         `json:"engine"`
		Count  map[status]int `json:"count"`
		Cases  []result       `json:"cases"`
	}{engine, count, all}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
