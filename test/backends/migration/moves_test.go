package migration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

// moved is how many objects move.
const moved = 50

// A trigger kills a process at a request to a server.
type trigger struct {
	left   atomic.Int64 // requests until then
	before bool         // the request isn't done any more
	kill   func()
}

// watch serves with the trigger that is set.
func watch(set *atomic.Pointer[trigger], to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := set.Load()
		last := t != nil && t.left.Add(-1) == 0
		if last && t.before {
			t.kill()
			return
		}
		to.ServeHTTP(w, r)
		if last {
			t.kill()
		}
	})
}

// A trial is one move between two kinds of states.
type trial struct {
	t        *testing.T
	bin      string
	r        *rand.Rand
	from, to engines.Place
	name     string
	env      []string
}

func (k *trial) block(root string) string {
	place := k.from
	if root == "b" {
		place = k.to
	}
	return place.Block(k.name + root)
}

// write writes both roots, with the objects in one of them.
func (k *trial) write(dir, in string) {
	for _, root := range []string{"a", "b"} {
		text := k.block(root) + "resource \"terraform_data\" \"stays\" {\n  count = 3\n  input = \"" + root + "\"\n}\n"
		if root == in {
			text += fmt.Sprintf("resource \"terraform_data\" \"x\" {\n  count = %d\n  input = count.index\n}\n", moved)
		}
		must(k.t, os.MkdirAll(filepath.Join(dir, root), 0o700))
		must(k.t, os.WriteFile(filepath.Join(dir, root, "main.tf"), []byte(text), 0o600))
	}
}

func (k *trial) command(dir string, args ...string) *exec.Cmd {
	c := exec.Command(k.bin, args...)
	c.Dir, c.Env = dir, k.env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

var unlock = regexp.MustCompile(`force-unlock ([0-9a-f-]{36})`)

// must runs a command. A lock that a killed apply or recover has left at a server stays there for other
// machines, so it is released as the message says.
func (k *trial) must(dir string, args ...string) {
	k.t.Helper()
	out, err := k.command(dir, args...).CombinedOutput()
	for range 2 {
		lock := unlock.FindSubmatch(out)
		if err == nil || lock == nil {
			break
		}
		for _, root := range []string{"a", "b"} {
			_ = k.command(dir, "-chdir="+root, "force-unlock", "-force", string(lock[1])).Run()
		}
		out, err = k.command(dir, args...).CombinedOutput()
	}
	if err != nil {
		k.t.Fatalf("%s: weir %s: %v\n%s", k.name, strings.Join(args, " "), err, out)
	}
}

// killed runs a command that is killed at a random moment, and reports whether it was.
func (k *trial) killed(set *atomic.Pointer[trigger], within time.Duration, dir string, args ...string) bool {
	c := k.command(dir, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	kill := func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	var at *trigger
	if k.r.IntN(2) == 0 { // at a request; states in files and databases have none
		at = &trigger{before: k.r.IntN(2) == 0, kill: kill}
		at.left.Store(1 + k.r.Int64N(30))
	}
	must(k.t, c.Start())
	set.Store(at)
	timer := time.AfterFunc(time.Duration(k.r.Int64N(int64(within))), kill)
	if at != nil && (k.from.Kind == "http" || k.from.Kind == "s3") && (k.to.Kind == "http" || k.to.Kind == "s3") {
		timer.Stop()
	}
	err := c.Wait()
	timer.Stop()
	set.Store(nil)
	if err != nil && c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		k.t.Fatalf("%s: weir %s: %v\n%s", k.name, strings.Join(args, " "), err, out.String())
	}
	return err != nil
}

// a stored state as any engine reads it.
type readState struct {
	Version   int
	Transfer  json.RawMessage
	Resources []struct {
		Name      string
		Instances []struct {
			Attributes struct{ ID string }
		}
	}
}

func (k *trial) read(p engines.Place, root string) (ids map[string]bool, transfer bool) {
	k.t.Helper()
	var s readState
	content := p.Content(k.t, k.name+root)
	if err := json.Unmarshal(content, &s); err != nil || s.Version != 4 {
		k.t.Fatalf("%s: the state of %s isn't valid, from %s to %s: %v\n%s", k.name, root, k.from.Kind, k.to.Kind, err, content)
	}
	ids = map[string]bool{}
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			ids[r.Name+" "+i.Attributes.ID] = true
		}
	}
	return ids, s.Transfer != nil
}

// inOne checks that each object is in exactly one state, and returns how many moved.
func (k *trial) inOne(before map[string]bool) (there int) {
	k.t.Helper()
	a, unfinished := k.read(k.from, "a")
	b, other := k.read(k.to, "b")
	if unfinished || other {
		k.t.Errorf("%s: a record is left", k.name)
	}
	for id := range before {
		if a[id] == b[id] {
			k.t.Errorf("%s: object %s is in the source: %v, in the destination: %v", k.name, id, a[id], b[id])
		}
	}
	if len(a)+len(b) != len(before)+3 {
		k.t.Errorf("%s: %d and %d objects, and there were %d", k.name, len(a), len(b), len(before)+3)
	}
	return len(b) - 3
}

// TestMoves kills moves at random points, the next run on another machine: no object is in neither or
// in both states afterwards, and nothing was destroyed.
func TestMoves(t *testing.T) {
	bin := os.Getenv("IAC_BIN")
	if bin == "" {
		t.Skip("IAC_BIN isn't set")
	}
	kills, _ := strconv.Atoi(os.Getenv("MOVES"))
	if kills == 0 {
		kills = 10
	}
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	var set atomic.Pointer[trigger]
	web := &many{all: map[string]*testservers.HTTP{}}
	wrap = func(h http.Handler) http.Handler { return watch(&set, h) }
	defer func() { wrap = nil }()
	address := serve(t, web)
	places := []engines.Place{
		engines.Local(t.TempDir()),
		{
			Kind:      "http",
			Arguments: fmt.Sprintf("    address = \"%[1]s/%%s\"\n    lock_address = \"%[1]s/%%s\"\n    unlock_address = \"%[1]s/%%s\"", address),
			Content:   func(_ *testing.T, name string) []byte { return web.at("/" + name).State() },
		},
		bucket(t),
	}
	if server, stop, err := testservers.Postgres(); err == nil {
		t.Cleanup(stop)
		places = append(places, postgres(server))
	} else {
		t.Logf("without pg: %v", err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	count, attempts, again, between := map[string]int{}, 0, 0, 0
	for n := 0; n < kills; attempts++ {
		if attempts > 4*kills+20 {
			t.Fatalf("only %d of %d moves were killed", n, attempts)
		}
		k := &trial{t: t, bin: bin, r: r, from: places[r.IntN(len(places))], to: places[r.IntN(len(places))], name: fmt.Sprintf("m%d", attempts)}
		k.env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_CLI_CONFIG_FILE="+os.DevNull, "TF_DATA_DIR=")
		k.env = append(append(k.env, k.from.Env...), k.to.Env...)
		died, inside, twice := k.run(&set)
		if died {
			n++
			count[k.from.Kind+" to "+k.to.Kind]++
		}
		if twice {
			again++
		}
		if inside {
			between++
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("seed %d: %d moves of %d objects killed, %d of them between the writes, and %d of the next runs; %d moves ended first; %v", seed, kills, moved, between, again, attempts-kills, count)
}

func (k *trial) run(set *atomic.Pointer[trigger]) (died, inside, twice bool) {
	first, other, third := k.t.TempDir(), k.t.TempDir(), k.t.TempDir()
	k.write(first, "a")
	k.must(first, "init", "-all")
	k.must(first, "apply", "-all", "-auto-approve")
	before, _ := k.read(k.from, "a")
	k.write(first, "b")
	began := time.Now()
	k.must(first, "roots")
	within := 4*time.Since(began) + 60*time.Millisecond
	if died = k.killed(set, within, first, "move", "-auto-approve", "-from=a", "-to=b", "terraform_data.x"); !died {
		if there := k.inOne(before); there != moved {
			k.t.Errorf("%s: %d objects moved", k.name, there)
		}
		return false, false, false
	}
	_, noted := k.read(k.from, "a")
	_, received := k.read(k.to, "b")
	inside = noted || received
	// Runs on two other machines follow, in either root. One may be killed too.
	next := func(dir string) []string {
		root := []string{"a", "b"}[k.r.IntN(2)]
		return [][]string{{"-chdir=" + root, "recover"}, {"-chdir=" + root, "plan"}, {"move", "-auto-approve", "-from=a", "-to=b", "terraform_data.x"}}[k.r.IntN(3)]
	}
	k.write(other, "b")
	k.must(other, "init", "-all")
	if k.r.IntN(2) == 0 {
		twice = k.killed(set, within, other, next(other)...)
	} else {
		k.must(other, next(other)...)
	}
	k.write(third, "b")
	k.must(third, "init", "-all")
	k.must(third, "-chdir=a", "recover")
	k.must(third, "-chdir=b", "recover")
	if there := k.inOne(before); there != 0 && there != moved {
		k.t.Errorf("%s: %d of %d objects moved", k.name, there, moved)
	}
	k.must(third, "move", "-auto-approve", "-from=a", "-to=b", "terraform_data.x")
	if there := k.inOne(before); there != moved {
		k.t.Errorf("%s: %d objects moved", k.name, there)
	}
	k.must(third, "plan", "-all", "-detailed-exitcode")
	return died, inside, twice
}
