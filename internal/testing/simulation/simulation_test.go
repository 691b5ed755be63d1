// Package simulation plays random histories of the whole engine with faults around it:
// processes and machines that end at any point, disks that lose unsynced data, networks that
// lose, repeat and delay requests, clouds that change silently, other programs and people.
//
// It owns what outside is: machines, disks, network, cloud, time and chance are one
// scheduler's, so that a seed is a history, and the same each time. The engine runs its own code, from the operation down. It rejects processes and sockets: one
// history takes milliseconds.
package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	from  = flag.Uint64("seed", 1, "the first seed")
	count = flag.Int("histories", 300, "so many histories")
	hours = flag.Float64("hours", 0, "as many histories as can be played in that time")
	show  = flag.Bool("trace", false, "print the trace of a history that fails")
)

// folder is where machines have their disks: in memory, if there is such a place.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "weir-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func itoa(n int) string { return strconv.Itoa(n) }

func once(t *testing.T, s *script) *history {
	t.Helper()
	dir, err := os.MkdirTemp(folder(t), "h")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	return play(t, dir, s)
}

// A tally counts what was played, and hands out seeds.
type tally struct {
	mu                             sync.Mutex
	next                           uint64
	played, commands, steps, kills int
	failed                         bool
	begun                          time.Time
}

// seed is that of the next history.
func (n *tally) seed() (seed uint64, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	over := n.played >= *count
	if *hours > 0 {
		over = time.Since(n.begun).Hours() > *hours
	}
	if n.failed || over {
		return 0, false
	}
	n.played++
	n.next++
	return n.next - 1, true
}

func (n *tally) add(h *history) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = n.failed || h.wrong != nil
	n.commands += len(h.lives)
	n.steps += len(h.trace)
	for _, r := range h.runs {
		if r.killed {
			n.kills++
		}
	}
}

// TestHistories plays random ones. One that breaks a rule is made as short as can be
// and printed, for testdata.
func TestHistories(t *testing.T) {
	n := &tally{next: *from, begun: time.Now()}
	// Histories leave nothing behind: collecting often costs more than it gives.
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	dir := folder(t)
	t.Run("all", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(itoa(worker), func(t *testing.T) {
				t.Parallel()
				for seed, more := n.seed(); more; seed, more = n.seed() {
					at := filepath.Join(dir, fmt.Sprint(seed))
					h := play(t, at, random(seed))
					os.RemoveAll(at)
					n.add(h)
					if h.wrong != nil {
						told(t, seed, h)
					}
				}
			})
		}
	})
	t.Logf("%d histories from seed %d on: %d commands, of which %d were killed, and %d steps, in %s", n.played, *from, n.commands, n.kills, n.steps, time.Since(n.begun).Round(time.Second))
}

// told reports a history that breaks a rule.
func told(t *testing.T, seed uint64, h *history) {
	t.Helper()
	s := shrunk(t, h.script, h.wrong.rule)
	short := once(t, s)
	if short.wrong == nil { // it depends on something that the seed doesn't say
		t.Errorf("seed %d, not always: %v\n\n%s\n%s", seed, h.wrong, h.script, strings.Join(h.trace, "\n"))
		return
	}
	t.Errorf("seed %d: %v\n\n%s", seed, short.wrong, s)
	if *show {
		t.Log(strings.Join(short.trace, "\n"))
	}
}

// TestScripts plays those that once broke a rule.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		s, err := parse(string(must(os.ReadFile(file))))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		h := once(t, s)
		if h.wrong != nil {
			t.Errorf("%s: %v\n%s", file, h.wrong, strings.Join(h.trace, "\n"))
		} else if *show {
			t.Logf("%s:\n%s", file, strings.Join(h.trace, "\n"))
		}
	}
}

// TestText: what is printed of a script can be played.
func TestText(t *testing.T) {
	for seed := range uint64(200) {
		text := random(seed).String()
		s, err := parse(text)
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if again := s.String(); again != text {
			t.Errorf("%s\nis read as\n%s", text, again)
		}
	}
}

// TestSame plays some histories twice.
func TestSame(t *testing.T) {
	for seed := range uint64(40) {
		a, b := once(t, random(seed)), once(t, random(seed))
		if !slices.Equal(a.trace, b.trace) {
			n := 0
			for n < min(len(a.trace), len(b.trace)) && a.trace[n] == b.trace[n] {
				n++
			}
			t.Fatalf("seed %d differs at %d:\n%s\n%s\n\nbefore:\n%s", seed, n, strings.Join(a.trace[n:min(n+5, len(a.trace))], "\n"), strings.Join(b.trace[n:min(n+5, len(b.trace))], "\n"), strings.Join(a.trace[max(0, n-10):n], "\n"))
		}
	}
}
