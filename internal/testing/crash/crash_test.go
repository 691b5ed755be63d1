//go:build unix

// Package crash ends the program at every moment in which a file is half written, and checks
// that nothing is lost or done twice.
package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"weir.dev/weir/internal/sys/failpoint"
	"weir.dev/weir/internal/ui/cli"
)

// The test binary is also the program, which ends itself at the point with the
// number in pointEnv, or counts the points into the file of countEnv.
const (
	roleEnv  = "WEIR_TEST_PROGRAM"
	pointEnv = "WEIR_TEST_POINT"
	countEnv = "WEIR_TEST_COUNT"
	// powerEnv makes the machine fail and not just the program: what the
	// journal has in the kernel's memory alone is lost, too.
	powerEnv = "WEIR_TEST_POWER"
)

// A memory knows what of the journal is on disk.
type memory struct{ syncing, onDisk int64 }

const journalFile = "terraform.tfstate.journal"

func (m *memory) hit(point string) {
	switch point {
	case "journal: started", "journal: syncing": // nobody writes just then
		if info, err := os.Stat(journalFile); err == nil {
			m.syncing = info.Size()
		}
	}
	switch point {
	case "journal: started", "journal: synced":
		m.onDisk = m.syncing
	}
}

// lose forgets what isn't on disk.
func (m *memory) lose() {
	if info, err := os.Stat(journalFile); err == nil && info.Size() > m.onDisk {
		_ = os.Truncate(journalFile, m.onDisk)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run())
	}
	var hits atomic.Int64
	at, _ := strconv.ParseInt(os.Getenv(pointEnv), 10, 64)
	var mu sync.Mutex
	var disk memory
	failpoint.Hit = func(point string) {
		mu.Lock() // for good, where the program ends
		disk.hit(point)
		if hits.Add(1) == at {
			if os.Getenv(powerEnv) != "" {
				disk.lose()
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		mu.Unlock()
	}
	code := cli.Run(cli.Process{
		Context: context.Background(),
		Args:    append([]string{"weir"}, os.Args[1:]...), Environ: os.Environ(),
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getwd: os.Getwd, Chdir: os.Chdir,
	})
	if file := os.Getenv(countEnv); file != "" {
		_ = os.WriteFile(file, fmt.Append(nil, hits.Load()), 0o600)
	}
	os.Exit(code)
}

// A run is a working directory.
type run struct {
	t        *testing.T
	dir      string
	reattach string
}

func (r *run) weir(env []string, args ...string) (string, error) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), roleEnv+"=1", "TF_REATTACH_PROVIDERS="+r.reattach, "TF_IN_AUTOMATION=1", "TF_DATA_DIR="+filepath.Join(r.dir, "data"))
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (r *run) must(args ...string) string {
	r.t.Helper()
	out, err := r.weir(nil, args...)
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func (r *run) apply(env ...string) (string, error) {
	return r.weir(env, "apply", "-auto-approve", "-no-color", "-input=false")
}

// ids are the objects of the state by id.
func (r *run) ids() map[string]string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "terraform.tfstate"))
	if err != nil {
		r.t.Fatal(err)
	}
	if bytes.Contains(data, []byte("encrypted_data")) {
		data = r.pull()
	}
	var s struct {
		Resources []struct {
			Instances []struct {
				Attributes struct{ ID, Name string }
			}
		}
	}
	if err := json.Unmarshal(data, &s); err != nil {
		r.t.Fatalf("the state is torn: %v", err)
	}
	all := map[string]string{}
	for _, res := range s.Resources {
		for _, i := range res.Instances {
			all[i.Attributes.ID] = i.Attributes.Name
		}
	}
	return all
}

// pull is the state in clear, without what is said beside it.
func (r *run) pull() []byte {
	r.t.Helper()
	out := r.must("state", "pull")
	var state json.RawMessage
	if err := json.NewDecoder(strings.NewReader(out[max(0, strings.Index(out, "{\n")):])).Decode(&state); err != nil {
		r.t.Fatalf("no state: %v\n%s", err, out)
	}
	return state
}

const objects = 50

func start(t *testing.T) (*world, *run) {
	w, reattach := serve(t)
	r := &run{t: t, dir: t.TempDir(), reattach: reattach}
	config := fmt.Sprintf(`terraform {
  required_providers {
    world = { source = %q }
  }
}
resource "world_object" "o" {
  count = %d
  name  = "n${count.index}"
}
`, source, objects)
	if err := os.WriteFile(filepath.Join(r.dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r.must("init")
	return w, r
}

// forget makes the world and the directory new.
func (r *run) forget(w *world) {
	w.clear()
	files, _ := filepath.Glob(filepath.Join(r.dir, "*tfstate*"))
	hidden, _ := filepath.Glob(filepath.Join(r.dir, ".terraform.tfstate*"))
	for _, f := range append(files, hidden...) {
		os.Remove(f)
	}
}

// complete checks that the state file, if there is one, is a whole state for any
// program that reads it now, and that nothing was taken for a state to go back to.
func (r *run) complete() {
	r.t.Helper()
	if _, err := os.Stat(filepath.Join(r.dir, "terraform.tfstate")); err == nil {
		r.ids()
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "terraform.tfstate.backup"))
	if err == nil && !bytes.Contains(data, []byte("world_object")) {
		r.t.Errorf("a backup of nothing:\n%s", data)
	}
}

var doubtLine = regexp.MustCompile(`(?m)^  world_object\.o\[(\d+)\]$`)

// settle recovers, holds what exists to what is known, and says of what is in
// doubt what a person would find out.
func (r *run) settle(w *world) {
	r.t.Helper()
	out := r.must("recover", "-no-color")
	live := w.live()
	known := map[string]string{}
	if _, err := os.Stat(filepath.Join(r.dir, "terraform.tfstate")); err == nil {
		known = r.ids()
	}
	args := []string{"recover", "-no-color"}
	doubted := map[string]bool{}
	for _, m := range doubtLine.FindAllStringSubmatch(out, -1) {
		doubted["n"+m[1]] = true
		if id := idOf(r.t, live, "n"+m[1]); id != "" {
			args = append(args, "-import=world_object.o["+m[1]+"]="+id)
		} else {
			args = append(args, "-forget=world_object.o["+m[1]+"]")
		}
	}
	if (len(doubted) > 0) != strings.Contains(out, "Objects in doubt") {
		r.t.Fatalf("%d objects are in doubt, and the warning with what to do about them is missing or too much:\n%s", len(doubted), out)
	}
	for id, name := range live {
		if known[id] == "" && !doubted[name] {
			r.t.Fatalf("%s (%s) exists, and neither the state nor the journal knows it:\n%s", id, name, out)
		}
	}
	for id, name := range known {
		if live[id] == "" {
			r.t.Fatalf("the state has %s (%s), which doesn't exist", id, name)
		}
	}
	if len(doubted)%2 == 0 { // what isn't imported isn't there, in one word
		args = append(slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-forget=") }), "-forget-all")
	}
	if len(doubted) > 0 {
		// Without an answer nothing is made twice.
		if out, err := r.apply(); err == nil || !strings.Contains(out, "Objects in doubt") {
			r.t.Fatalf("applying beside doubts: %v\n%s", err, out)
		}
		for i := range objects {
			idOf(r.t, w.live(), fmt.Sprintf("n%d", i))
		}
		r.must(r.listed(args)...)
	}
}

// listed moves what is to be imported to a file, where it is several objects.
func (r *run) listed(args []string) []string {
	r.t.Helper()
	list := "# found in the cloud\n\n"
	rest := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		one, ok := strings.CutPrefix(arg, "-import=")
		if ok {
			list += one + "\n"
		}
		return ok
	})
	if len(args)-len(rest) < 2 {
		return args
	}
	file := filepath.Join(r.t.TempDir(), "found")
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return append(rest, "-import-from="+file)
}

// whole checks that there is each object once, and the state has them all.
func (r *run) whole(w *world) {
	r.t.Helper()
	live := w.live()
	if len(live) != objects {
		r.t.Errorf("%d objects exist", len(live))
	}
	known := r.ids()
	for i := range objects {
		id := idOf(r.t, live, fmt.Sprintf("n%d", i))
		if id == "" || known[id] == "" {
			r.t.Errorf("n%d: %q exists, the state has %q", i, id, known[id])
		}
	}
	left, _ := filepath.Glob(filepath.Join(r.dir, "*.journal*"))
	if len(left) > 0 {
		r.t.Errorf("left behind: %v", left)
	}
}

// points counts the moments of an apply that are worth a crash.
func (r *run) points() int {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "count")
	if out, err := r.apply(countEnv + "=" + file); err != nil {
		r.t.Fatal(err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	n, _ := strconv.Atoi(string(text))
	return n
}

// stride leads over the points: all until the first object is made, and then
// each step-th.
func stride(point, step int) int {
	const early = 12
	if point < early {
		return 1
	}
	return step
}

// TestEveryPoint crashes an apply once at each point, which takes minutes, or
// at some points spread over all if WEIR_TEST_ALL isn't set, fewer with -short.
func TestEveryPoint(t *testing.T) {
	for name, env := range map[string]string{"process": "X=", "machine": powerEnv + "=1"} {
		t.Run(name, func(t *testing.T) {
			w, r := start(t)
			n := r.points()
			r.whole(w)
			step := max(1, n/20)
			if testing.Short() {
				step = max(1, n/3)
			}
			if os.Getenv("WEIR_TEST_ALL") != "" {
				step = 1
			}
			crashed := 0
			for point := 1; point <= n; point += stride(point, step) {
				r.forget(w)
				_, err := r.apply(fmt.Sprintf("%s=%d", pointEnv, point), env)
				if err != nil {
					crashed++
				}
				r.complete()
				r.settle(w)
				if out, err := r.apply(); err != nil {
					t.Fatalf("point %d: %v\n%s", point, err, out)
				}
				r.whole(w)
				if t.Failed() {
					t.Fatalf("at point %d of %d", point, n)
				}
			}
			t.Logf("%d points, %d runs crashed", n, crashed)
			if crashed == 0 {
				t.Error("no run crashed")
			}
		})
	}
}

const encryption = `terraform {
  encryption {
    key_provider "pbkdf2" "key" {
      passphrase = "a long enough passphrase"
      iterations = 200000
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.key
    }
    state {
      method = method.aes_gcm.m
    }
  }
}
`

// TestEncrypted crashes an apply whose state is encrypted: nothing is lost, and nothing that
// it leaves behind reports what it was about.
func TestEncrypted(t *testing.T) {
	w, r := start(t)
	if err := os.WriteFile(filepath.Join(r.dir, "encryption.tf"), []byte(encryption), 0o600); err != nil {
		t.Fatal(err)
	}
	n := r.points()
	r.whole(w)
	journals := 0
	for point := 3; point <= n; point += max(1, n/3) {
		r.forget(w)
		_, _ = r.apply(fmt.Sprintf("%s=%d", pointEnv, point))
		files, _ := filepath.Glob(filepath.Join(r.dir, "terraform.tfstate*"))
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte("world_object")) {
				t.Errorf("point %d: %s is readable:\n%s", point, f, data)
			}
			if strings.HasSuffix(f, ".journal") {
				journals++
			}
		}
		r.settle(w)
		if out, err := r.apply(); err != nil {
			t.Fatalf("point %d: %v\n%s", point, err, out)
		}
		r.whole(w)
		if t.Failed() {
			t.Fatalf("at point %d of %d", point, n)
		}
	}
	if journals < 2 {
		t.Errorf("only %d runs left a journal", journals)
	}
}

// TestPlan crashes a plan while it holds the lock of a state that isn't there
// yet. Its remains mean the same as no state.
func TestPlan(t *testing.T) {
	w, r := start(t)
	for point := 1; point <= 6; point++ {
		r.forget(w)
		_, err := r.weir([]string{fmt.Sprintf("%s=%d", pointEnv, point)}, "plan", "-no-color")
		r.complete()
		if out := r.must("apply", "-auto-approve", "-no-color"); strings.Contains(out, "earlier run") {
			t.Errorf("point %d: %s", point, out)
		}
		r.whole(w)
		r.complete()
		if point == 1 && err == nil {
			t.Error("no plan crashed")
		}
	}
	r.forget(w)
	r.must("plan", "-no-color")
	if files, _ := filepath.Glob(filepath.Join(r.dir, "*tfstate*")); len(files) > 0 {
		t.Errorf("planning leaves %v", files)
	}
}

// TestDestroy crashes a destruction: what was deleted isn't in the state any
// more after the next one, and what wasn't is.
func TestDestroy(t *testing.T) {
	w, r := start(t)
	for point := 20; point < 200; point += 60 {
		r.forget(w)
		if out, err := r.apply(); err != nil {
			t.Fatal(err, out)
		}
		_, _ = r.weir([]string{fmt.Sprintf("%s=%d", pointEnv, point)}, "destroy", "-auto-approve", "-no-color")
		r.must("recover")
		known := r.ids()
		for id := range w.live() {
			if known[id] == "" {
				t.Errorf("point %d: %s exists and isn't in the state", point, id)
			}
		}
		r.must("destroy", "-auto-approve", "-no-color")
		if n := len(w.live()); n > 0 || len(r.ids()) > 0 {
			t.Errorf("point %d: %d objects left, %d in the state", point, n, len(r.ids()))
		}
	}
}
