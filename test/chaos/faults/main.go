//go:build linux

// Command faults runs the engine on a file system on which each operation of the engine
// fails once, or from then on, and on which the engine is killed before and after each. It
// exits with 1 if anything is lost, shown in clear, left behind, or hangs.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	iofs "io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	binary  = flag.String("bin", "", "the engine")
	faults  = flag.Int("faults", 5000, "about so many faults, spread over all commands")
	kills   = flag.Int("kills", 1000, "about so many kills")
	seed    = flag.Uint64("seed", 1, "which operations are picked where there are more")
	only    = flag.String("only", "", "commands whose name matches")
	workers = flag.Int("workers", 2, "so many at the same time")
	table   = flag.String("table", "", "the page that gets the table, between two marks")
	commit  = flag.String("commit", "", "of the engine, for the table")
	most    = flag.Duration("for", 0, "about how long all may take; 0 is no limit")
	limit   = flag.Duration("limit", 60*time.Second, "how long a command may take")
)

// errnos are the errors. An interrupted call is made again, so that one that is always
// interrupted never ends, and that isn't what a kernel does.
var errnos = []struct {
	name    string
	errno   syscall.Errno
	lasting bool
}{
	{"ENOSPC", syscall.ENOSPC, true}, {"EIO", syscall.EIO, true}, {"EROFS", syscall.EROFS, true}, {"EMFILE", syscall.EMFILE, true},
	{"EINTR", syscall.EINTR, false}, {"EACCES", syscall.EACCES, true}, {"EDQUOT", syscall.EDQUOT, true},
}

// A site is a folder in which a command runs: real is where it is, seen is where the
// engine sees it.
type site struct {
	real, seen, log string
	env             []string
}

func (s *site) write(name, content string) error {
	file := filepath.Join(s.real, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}

func (s *site) begin(config string) error {
	if err := s.write("main.tf", config); err != nil {
		return err
	}
	return s.must("init")
}

// run runs the engine in the folder as it is seen or as it is.
func (s *site) run(in string, args ...string) (code int, output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, *binary, args...)
	cmd.Dir = in
	base := filepath.Dir(in)
	cmd.Env = append(slices.Clone(s.env), "HOME="+filepath.Join(base, "home"), "TMPDIR="+filepath.Join(base, "tmp"),
		"TF_PLUGIN_CACHE_DIR="+filepath.Join(base, "cache"), "TF_CLI_CONFIG_FILE="+filepath.Join(base, "rc"))
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, runErr := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return -1, string(out), errHang
	}
	var exited *exec.ExitError
	if runErr != nil && !errors.As(runErr, &exited) && !errors.Is(runErr, exec.ErrWaitDelay) {
		return -1, string(out), runErr
	}
	return cmd.ProcessState.ExitCode(), string(out), nil
}

var errHang = errors.New("hangs")

func (s *site) must(args ...string) error {
	code, out, err := s.run(s.real, args...)
	if err != nil || code != 0 {
		return fmt.Errorf("%v: exit code %d, %w\n%s", args, code, err, out)
	}
	return nil
}

// files are all files around the site by name.
func (s *site) files() map[string]bool {
	all := map[string]bool{}
	base := filepath.Dir(s.real)
	_ = filepath.WalkDir(base, func(path string, e iofs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(base, path)
			all[name] = true
		}
		return nil
	})
	return all
}

// lines are those of a log.
func (s *site) lines(name string) []string {
	data, _ := os.ReadFile(filepath.Join(s.log, name))
	return strings.Fields(string(data))
}

// ids are the objects "a" of the states.
func (s *site) ids(c *command) (map[string]bool, error) {
	found := map[string]bool{}
	names := c.states
	if names == nil {
		names = []string{"terraform.tfstate"}
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(s.real, name))
		if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
			continue
		}
		if err == nil && c.encrypted {
			_, out, pullErr := s.run(s.real, "state", "pull")
			data, err = []byte(out[max(0, strings.Index(out, "{\n")):]), pullErr // after warnings
		}
		var state struct {
			Resources []struct {
				Name      string
				Instances []struct {
					Attributes struct{ ID string }
				}
			}
		}
		if err == nil {
			err = json.Unmarshal(data, &state)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, r := range state.Resources {
			for _, i := range r.Instances {
				if r.Name == "a" {
					found[i.Attributes.ID] = true
				}
			}
		}
	}
	return found, nil
}

// lost are the objects that were made, weren't destroyed, and are neither in a state nor
// named.
func (s *site) lost(c *command, said string) ([]string, error) {
	have, err := s.ids(c)
	if err != nil {
		return nil, err
	}
	gone := s.lines("gone")
	var lost []string
	for _, id := range s.lines("made") {
		if !have[id] && !slices.Contains(gone, id) && !strings.Contains(said, "[id="+id+"]") {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

// clear are the files that have the secret in clear.
func (s *site) clear() []string {
	var found []string
	base := filepath.Dir(s.real)
	for name := range s.files() {
		if data, err := os.ReadFile(filepath.Join(base, name)); err == nil && bytes.Contains(data, []byte(secret)) {
			found = append(found, name)
		}
	}
	return found
}

// A trial is one fault of one command.
type trial struct {
	command *command
	fault   Fault
	label   string // of the error, for the table
}

// A verdict is what came of a trial.
type verdict struct {
	trial
	fired bool
	where string
	wrong map[string]string // by rule
	out   string
}

// A bench plays trials, one after the other, on a file system of its own.
type bench struct {
	base string
	fs   *rpc.Client
	n    int
}

// site copies a template to a new folder.
func (b *bench) site() *site {
	b.n++
	return b.named(fmt.Sprint("t", b.n))
}

func (b *bench) named(name string) *site {
	return &site{
		real: filepath.Join(b.base, "real", name, "work"), seen: filepath.Join(b.base, "mnt", name, "work"), log: filepath.Join(b.base, "log"),
		env: []string{"PATH=" + os.Getenv("PATH"), "WEIR_DAEMON=off", "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_VAR_secret=" + secret, "NO_COLOR=1"},
	}
}

// template sets a command up, and runs it once without a fault.
func (b *bench) template(c *command) (t *site, good map[string]bool, counts map[string]int, err error) {
	b.n++
	t = b.named(fmt.Sprint("template", b.n))
	_ = os.RemoveAll(t.log)
	for _, dir := range []string{t.log, t.real, filepath.Join(filepath.Dir(t.real), "home"), filepath.Join(filepath.Dir(t.real), "tmp"), filepath.Join(filepath.Dir(t.real), "cache")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := t.write("../rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", "../mirror")); err != nil {
		return nil, nil, nil, err
	}
	if err := c.setup(t); err != nil {
		return nil, nil, nil, err
	}
	for _, name := range []string{"made", "gone"} { // for each trial
		data, _ := os.ReadFile(filepath.Join(t.log, name))
		if err := os.WriteFile(filepath.Join(b.base, name), data, 0o644); err != nil {
			return nil, nil, nil, err
		}
	}
	s, err := b.copied(t)
	if err != nil {
		return nil, nil, nil, err
	}
	code, out, counted, err := b.armed(s, Fault{}, c.args...)
	counts = counted.Counts
	if err != nil || code != 0 {
		return nil, nil, nil, fmt.Errorf("%s without a fault: exit code %d, %w\n%s", c.name, code, err, out)
	}
	if c.applies && c.setup != nil && c.name != "destroy" {
		_, _, _ = s.run(s.real, "apply", "-auto-approve")
	}
	good = s.files()
	maps.Copy(good, t.files())
	return t, good, counts, os.RemoveAll(filepath.Dir(s.real))
}

// armed runs the engine on the file system with a fault.
func (b *bench) armed(s *site, x Fault, args ...string) (code int, out string, c Count, err error) {
	if err := b.fs.Call("Faults.Arm", x, &struct{}{}); err != nil {
		return -1, "", c, err
	}
	code, out, err = s.run(s.seen, args...)
	if failed := b.fs.Call("Faults.Disarm", struct{}{}, &c); failed != nil {
		err = failed
	}
	return code, out, c, err
}

// copied is a copy of a template, with the log as it was.
func (b *bench) copied(t *site) (*site, error) {
	s := b.site()
	if err := os.CopyFS(filepath.Dir(s.real), os.DirFS(filepath.Dir(t.real))); err != nil {
		return nil, err
	}
	for _, name := range []string{"made", "gone"} {
		data, err := os.ReadFile(filepath.Join(b.base, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.log, name), data, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// done are the words for what was done before.
var done = regexp.MustCompile(`already exists|doesn't exist|does not exist|no workspace`)

var kept = regexp.MustCompile(`(^|/)\.terraform/|(^|/)history|home/|^tmp/|errored(_test)?\.tfstate$|\.backup$|cache/`)

// extra are the files that a run without a fault doesn't have, but for those that are kept
// on purpose.
func (s *site) extra(good map[string]bool) []string {
	var extra []string
	for name := range s.files() {
		if !good[name] && !kept.MatchString(name) {
			extra = append(extra, name)
		}
	}
	slices.Sort(extra)
	return extra
}

// play has one fault happen, and looks what it left.
func (b *bench) play(t *site, good map[string]bool, x trial) (*verdict, error) {
	s, err := b.copied(t)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(filepath.Dir(s.real))
	v := &verdict{trial: x, wrong: map[string]string{}}
	c := x.command
	code, out, counted, err := b.armed(s, x.fault, c.args...)
	v.fired, v.where, v.out = counted.Fired > 0, counted.Where, out
	if errors.Is(err, errHang) {
		v.wrong["hung"] = out
		return v, nil
	} else if err != nil {
		return nil, err
	}
	killed := x.fault.Errno == 0
	said := regexp.MustCompile(`(?m)^(│ |\[\w+\] )?Error(: | )`).MatchString(out)
	switch {
	case strings.Contains(out, "panic: ") || strings.Contains(out, "goroutine "):
		v.wrong["panic"] = out
	case killed:
	case code == 0 && said:
		v.wrong["exit code"] = "an error is printed, and the exit code is 0"
	case code != 0 && !said && c.name != "test":
		v.wrong["exit code"] = fmt.Sprintf("no error is printed, and the exit code is %d", code)
	}
	if c.encrypted {
		if found := s.clear(); len(found) > 0 {
			v.wrong["in clear"] = fmt.Sprint(found)
		}
	}
	again := []string{"apply", "-auto-approve"}
	if slices.Contains(c.args, "stacks") {
		again = c.args
	} else if !c.applies || c.name == "destroy" {
		again = c.args
	}
	if strings.HasPrefix(c.name, "plan -out") {
		again = c.args
	}
	code2, out2 := 0, ""
	if killed || code != 0 || len(s.extra(good)) > 0 {
		code2, out2, err = s.run(s.real, again...)
	}
	all := out + out2
	switch doubt := strings.Contains(out2, "in doubt"); {
	case errors.Is(err, errHang):
		v.wrong["hung"] = out2
	case code2 != 0 && !c.applies && done.MatchString(out2):
		// The command had already finished.
	case code2 != 0 && !doubt:
		v.wrong["stuck"] = out2
	case doubt:
		// recover names the objects in doubt.
		_, more, _ := s.run(s.real, "recover")
		all += more
	}
	if c.applies {
		lost, err := s.lost(c, all)
		if err != nil {
			v.wrong["lost"] = err.Error()
		} else if len(lost) > 0 && !strings.Contains(all, "in doubt") {
			v.wrong["lost"] = fmt.Sprint(lost)
		}
	}
	if code2 == 0 || !c.applies {
		left := s.extra(good)
		if len(left) > 0 {
			v.wrong["left"] = fmt.Sprint(left)
		}
	}
	if len(v.wrong) > 0 {
		v.out = out + "\n--- again:\n" + out2
	}
	return v, nil
}

// trials picks faults and kills for a command whose operations were counted.
func trials(c *command, counts map[string]int, faults, kills int, r *rand.Rand) []trial {
	var all []trial
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		for n := 1; n <= counts[op]; n++ {
			for _, e := range errnos {
				all = append(all, trial{c, Fault{Op: op, Nth: n, Errno: e.errno}, e.name})
				if e.lasting {
					all = append(all, trial{c, Fault{Op: op, Nth: n, Errno: e.errno, Lasting: true}, e.name})
				}
			}
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), faults)]
	total := 0
	for _, n := range counts {
		total += n
	}
	var ends []trial
	for n := 1; n <= total; n++ {
		ends = append(ends, trial{c, Fault{Nth: n}, "kill before"}, trial{c, Fault{Nth: n, After: true}, "kill after"})
	}
	r.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	all = append(all, ends[:min(len(ends), kills)]...)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// served starts the process of a file system, which ends with the connection.
func served(base string) (*rpc.Client, error) {
	socket := filepath.Join(base, "socket")
	cmd := exec.Command(os.Args[0], "serve", filepath.Join(base, "real"), filepath.Join(base, "mnt"), filepath.Base(*binary), socket)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go cmd.Wait()
	for range 100 {
		if conn, err := net.Dial("unix", socket); err == nil {
			return rpc.NewClient(conn), nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.New("the file system doesn't come up")
}

func main() {
	if len(os.Args) == 6 && os.Args[1] == "serve" {
		if err := serve(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		fmt.Println("There is no FUSE here, so nothing is run:", err)
		return nil
	}
	bin, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	*binary = bin
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	var picked []*command
	for i := range commands {
		if match.MatchString(commands[i].name) {
			picked = append(picked, &commands[i])
		}
	}
	sums := &summary{cells: map[[2]string]*cell{}, errors: map[string]*cell{}}
	queue := make(chan *command, len(picked))
	for _, c := range picked {
		queue <- c
	}
	close(queue)
	var wg sync.WaitGroup
	errs := make([]error, *workers)
	for w := range *workers {
		wg.Go(func() { errs[w] = work(queue, len(picked), sums) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return sums.end()
}

// work takes commands from the queue.
func work(queue <-chan *command, many int, sums *summary) error {
	base, err := os.MkdirTemp("", "faults")
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Join(base, "real"))
	for _, dir := range []string{"real", "mnt", "log"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			return err
		}
	}
	served, err := served(base)
	if err != nil {
		return err
	}
	defer served.Close()
	b := &bench{base: base, fs: served}
	for c := range queue {
		t, good, counts, err := b.template(c)
		if err != nil {
			return err
		}
		r := rand.New(rand.NewPCG(*seed, uint64(len(c.name))))
		begun := time.Now()
		list := trials(c, counts, (*faults+many-1)/many, (*kills+many-1)/many, r)
		for i, x := range list {
			if *most > 0 && time.Since(begun) > *most*time.Duration(*workers)/time.Duration(many) {
				list = list[:i]
				break
			}
			v, err := b.play(t, good, x)
			if err != nil {
				return err
			}
			sums.add(v)
		}
		fmt.Printf("%-22s %4d trials in %s, of operations %v\n", c.name, len(list), time.Since(begun).Round(time.Second), counts)
	}
	return nil
}
