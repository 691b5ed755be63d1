package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// An asker runs a binary in an empty directory.
type asker struct {
	bin    string
	dir    string
	compat string // WEIR_COMPAT
}

func newAsker(bin string) (*asker, error) {
	path, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "parity")
	return &asker{bin: path, dir: dir}, err
}

func (a *asker) close() { _ = os.RemoveAll(a.dir) }

// run gives all that is printed, whatever the outcome.
func (a *asker) run(dir string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.bin, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + a.dir, "PATH=" + os.Getenv("PATH"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0", "WEIR_COMPAT=" + a.compat, "NO_COLOR=1"}
	out, _ := cmd.CombinedOutput() // most questions are answered by an error
	return string(out)
}

var versionLine = regexp.MustCompile(`v?(\d+\.\d+\S*)`)

func (a *asker) version() string {
	if m := versionLine.FindStringSubmatch(a.run(a.dir, "version")); m != nil {
		return m[1]
	}
	return "unknown"
}

// command returns what help says of a command, and whether there is one.
func (a *asker) command(name string) (help string, there bool) {
	out := a.run(a.dir, append(strings.Fields(name), "-help")...)
	return out, strings.Contains(out, "Usage: ") && strings.Contains(strings.SplitN(out, "\n", 2)[0], " "+name)
}

// unknown is a flag that nobody has.
const unknown = "zzz-unknown"

// accepts reports whether a command has a flag: then the problem is the one after it, or
// its value.
func (a *asker) accepts(command, name string) bool {
	out := a.run(a.dir, append(strings.Fields(command), "-"+name+"=1", "-"+unknown+"=1")...)
	flat := strings.Join(strings.Fields(strings.NewReplacer("│", "", "╷", "", "╵", "").Replace(out)), " ")
	if !strings.Contains(flat, "-"+name) || strings.Contains(flat, "-"+unknown) {
		return strings.Contains(flat, "-"+unknown)
	}
	return !strings.Contains(flat, "not defined: -"+name)
}

// helpFlag is a flag where a help text begins to tell of it.
var helpFlag = regexp.MustCompile(`(?m)^\s+-([a-z][a-z-]*)`)

// documented are the flags that the help of a command reports. Peers are believed, which saves
// a run for each.
func documented(help string) map[string]bool {
	all := map[string]bool{}
	for _, m := range helpFlag.FindAllStringSubmatch(help, -1) {
		all[m[1]] = true
	}
	return all
}

// flags asks for flags by command, two at once.
func (a *asker) flags(wanted map[string][]string) map[string][]string {
	out := map[string][]string{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	turn := make(chan struct{}, 2)
	add := func(command, name string) {
		mu.Lock()
		defer mu.Unlock()
		out[command] = append(out[command], name)
	}
	for c, names := range wanted {
		help, _ := a.command(c)
		told := documented(help)
		for _, n := range names {
			if told[n] {
				add(c, n)
				continue
			}
			wait.Go(func() {
				turn <- struct{}{}
				defer func() { <-turn }()
				if a.accepts(c, n) {
					add(c, n)
				}
			})
		}
	}
	wait.Wait()
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// A kind is something that configurations name, with a configuration that does so. The
// binary lacks it if it says so.
type kind struct {
	title   string
	names   []string
	config  string // %s is the name
	command string
	lacking *regexp.Regexp
}

var kinds = []kind{
	{"Backends", strings.Fields("local remote s3 azurerm gcs http pg consul kubernetes cos oss oci inmem"),
		"terraform {\n  backend %q {}\n}\n", "init -input=false", regexp.MustCompile(`no backend type|nsupported backend type|There is no backend`)},
	{"Key providers", strings.Fields("pbkdf2 aws_kms gcp_kms azure_vault openbao external"),
		"terraform {\n  encryption {\n    key_provider %q \"a\" {}\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.%[1]s.a\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n",
		"init -input=false", regexp.MustCompile(`nsupported key_provider|Error fetching key_provider`)},
	{"Provisioners", strings.Fields("local-exec remote-exec file"),
		"resource \"terraform_data\" \"a\" {\n  provisioner %q {}\n}\n", "validate", regexp.MustCompile(`no provisioner named`)},
	{"Sources of modules", []string{"./local", "git::file:///nowhere", "http://127.0.0.1:1/a.zip", "s3::https://s3.amazonaws.com/a/b.zip", "gcs::https://www.googleapis.com/storage/v1/a/b.zip", "hg::file:///nowhere", "oci://127.0.0.1:1/a"},
		"module \"a\" {\n  source = %q\n}\n", "get", regexp.MustCompile(`are not supported yet`)},
}

// write asks for each name.
func (k kind) write(b *bytes.Buffer, a *asker) {
	a.compat = ""
	var has, lacks []string
	for _, name := range k.names {
		dir, err := os.MkdirTemp(a.dir, "kind")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "main.tf"), fmt.Appendf(nil, k.config, name), 0o600)
		}
		if err != nil {
			panic(err) // there is nothing to ask in
		}
		out := strings.Join(strings.Fields(a.run(dir, strings.Fields(k.command)...)), " ")
		if k.lacking.MatchString(out) {
			lacks = append(lacks, "`"+name+"`")
		} else {
			has = append(has, "`"+name+"`")
		}
	}
	fmt.Fprintf(b, "## %s: %d of %d\n\n%s.\n\n", k.title, len(has), len(k.names), strings.Join(has, ", "))
	if len(lacks) > 0 {
		fmt.Fprintf(b, "Not yet: %s.\n\n", strings.Join(lacks, ", "))
	}
}
