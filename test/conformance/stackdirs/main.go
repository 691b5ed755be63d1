// Command stackdirs loads and validates every stack in a folder, unchanged, with stand-ins for
// the providers, and prints unexpected results.
//
//	go run ./stackdirs -bin FILE FOLDER
//
// Anything that is expected of a folder of fixtures, such as those of the reference runtime,
// is a list beside this file: PATH fails REGEXP, PATH skips REASON, or PATH differs REASON,
// for what is valid here and not there. All others are valid.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed providers.json
var providers []byte

//go:embed expected.txt
var expected string

var (
	engine  = flag.String("bin", "", "the engine")
	list    = flag.String("expected", "", "another list of what is expected")
	verbose = flag.Bool("v", false, "print what the engine said of those that don't come to what is expected")
	all     = flag.Bool("all", false, "print a line for every directory")
)

func main() {
	flag.Parse()
	if *engine == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: stackdirs -bin FILE FOLDER")
		os.Exit(2)
	}
	ok, err := run(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "stackdirs:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(from string) (bool, error) {
	bin, err := filepath.Abs(*engine)
	if err != nil {
		return false, err
	}
	wanted, err := expectations()
	if err != nil {
		return false, err
	}
	work, err := os.MkdirTemp("", "stackdirs")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	settings, err := standins(filepath.Join(work, "providers"))
	if err != nil {
		return false, err
	}
	home := filepath.Join(work, "stacks")
	if err := os.CopyFS(home, os.DirFS(from)); err != nil {
		return false, err
	}
	if err := rename(home); err != nil {
		return false, err
	}
	dirs, err := stacks(home)
	if err != nil {
		return false, err
	}
	good, failing, skipped, differing := 0, 0, 0, 0
	for _, dir := range dirs {
		name, _ := filepath.Rel(home, dir)
		want := wanted.of(name)
		output, fine := try(bin, settings, dir)
		verdict := want.judge(output, fine)
		switch {
		case want.kind == "differs" && verdict == "":
			differing++
			verdict = "valid, but " + want.text
		case want.kind == "skips" && verdict != "":
			skipped++
			verdict = "not judged: " + want.text
		case verdict == "":
			good++
			if !fine {
				failing++
				verdict = "fails as expected"
			}
		default:
			verdict = "WRONG: " + verdict
			if *verbose {
				verdict += "\n" + output
			}
		}
		if *all || strings.HasPrefix(verdict, "WRONG") {
			fmt.Printf("%s: %s\n", name, verdict)
		}
	}
	fmt.Printf("%d directories: %d as expected (%d valid, %d fail), %d not judged, %d valid here alone, %d wrong\n",
		len(dirs), good, good-failing, failing, skipped, differing, len(dirs)-good-skipped-differing)
	return good+skipped+differing == len(dirs), nil
}

// try initializes and validates one stack.
func try(bin, settings, dir string) (output string, fine bool) {
	var text bytes.Buffer
	for _, command := range []string{"init", "validate"} {
		c := exec.Command(bin, "stacks", command, "-no-color")
		c.Dir, c.Stdout, c.Stderr = dir, &text, &text
		c.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+settings, "TF_IN_AUTOMATION=1", "COLUMNS=1000")
		if err := c.Run(); err != nil {
			return text.String(), false
		}
	}
	return text.String(), true
}

// builtin are providers that the reference runtime has built in while its unit tests
// run. Nobody can install a built-in provider, so copies name others.
var builtin = regexp.MustCompile(`"terraform\.io/builtin/(test|testing|foo)"`)

func rename(home string) error {
	return filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !builtin.Match(data) {
			return err
		}
		return os.WriteFile(path, builtin.ReplaceAll(data, []byte(`"example.com/builtin/$1"`)), 0o666)
	})
}

// stacks are the directories that have files of components.
func stacks(from string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.Contains(e.Name(), ".tfcomponent.") && !slices.Contains(dirs, filepath.Dir(path)) {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	slices.Sort(dirs)
	return dirs, err
}

// An expectation is of the directories whose paths end in one.
type expectation struct {
	path string
	kind string
	text string
	says *regexp.Regexp
}

type expectationList []expectation

func expectations() (expectationList, error) {
	text := expected
	if *list != "" {
		data, err := os.ReadFile(*list)
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	var all expectationList
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if words[0] == "" {
			continue
		}
		if len(words) < 3 || !slices.Contains([]string{"fails", "skips", "differs"}, words[1]) {
			return nil, fmt.Errorf("expected PATH fails REGEXP, PATH skips REASON or PATH differs REASON: %s", line)
		}
		e := expectation{path: words[0], kind: words[1], text: words[2]}
		if e.kind == "fails" {
			var err error
			if e.says, err = regexp.Compile(words[2]); err != nil {
				return nil, err
			}
		}
		all = append(all, e)
	}
	return all, nil
}

func (all expectationList) of(name string) expectation {
	for _, e := range all {
		if name == e.path || strings.HasSuffix(name, "/"+e.path) {
			return e
		}
	}
	return expectation{}
}

// judge is empty for what is as expected.
func (e expectation) judge(output string, fine bool) string {
	switch {
	case e.says == nil && !fine:
		return "it should be valid"
	case e.says != nil && fine:
		return "it should fail, by " + e.says.String()
	case e.says != nil && !e.says.MatchString(strings.Join(strings.Fields(output), " ")):
		return "it should fail by " + e.says.String() + ", and fails by something else"
	case strings.Contains(output, "panic:"):
		return "it panics"
	}
	return ""
}

// standins builds the provider and has the settings of a user name it for all that
// there are to be. It returns the file of the settings.
func standins(dir string) (string, error) {
	described := map[string]json.RawMessage{}
	if err := json.Unmarshal(providers, &described); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	built := filepath.Join(dir, "standin")
	c := exec.Command("go", "build", "-o", built, "./standin")
	c.Dir, c.Stderr = "simcloud", os.Stderr // make runs this program in the kit's directory
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("building the stand-in: %w", err)
	}
	text := strings.Builder{}
	text.WriteString("provider_installation {\n  dev_overrides {\n")
	for address, description := range described {
		var same string
		if json.Unmarshal(description, &same) == nil {
			description = described[same]
		}
		place := filepath.Join(dir, address)
		file := filepath.Join(place, "terraform-provider-"+filepath.Base(address))
		if err := os.MkdirAll(place, 0o777); err != nil {
			return "", err
		}
		if err := os.Link(built, file); err != nil {
			return "", err
		}
		if err := os.WriteFile(file+".json", description, 0o666); err != nil {
			return "", err
		}
		for _, host := range hosts(address) {
			fmt.Fprintf(&text, "    %q = %q\n", host+address, place)
		}
	}
	text.WriteString("  }\n  direct {}\n}\n")
	settings := filepath.Join(dir, "settings.tfrc")
	return settings, os.WriteFile(settings, []byte(text.String()), 0o666)
}

// hosts are those of an address, which may name none.
func hosts(address string) []string {
	if strings.Count(address, "/") > 1 {
		return []string{""}
	}
	return []string{"registry.opentofu.org/", "registry.terraform.io/"}
}
