package simtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

var (
	cases = flag.Int("cases", 500, "how many random cases are tried")
	first = flag.Uint64("first", 1, "the seed of the first random case")
	keep  = flag.Bool("keep", false, "keep cases that fail in testdata, made small")
	stop  = flag.Int("stop", 3, "stop after that many failures")
)

// TestRandom tries random histories. Whatever fails is made small and shown;
// with -keep it is written to testdata, where TestKept finds it.
func TestRandom(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // little is alive at a time
	start := time.Now()
	var mu sync.Mutex
	var total Stats
	next, last, failures := *first, *first+uint64(*cases), 0
	seed := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= last && failures < *stop
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var stats Stats
			for {
				seed, ok := seed()
				if !ok {
					break
				}
				c := Random(seed)
				f := c.Run(seed, &stats)
				if f == nil {
					continue
				}
				mu.Lock()
				failures++
				mu.Unlock()
				report(t, seed, c, f)
			}
			mu.Lock()
			defer mu.Unlock()
			total.Add(stats)
		})
	}
	workers.Wait()
	t.Logf("%d cases in %s: %+v", *cases, time.Since(start), total)
}

func report(t *testing.T, seed uint64, c Case, f *Failure) {
	c = Shrink(c, f.Step, func(c Case) bool {
		smaller := c.Run(seed, &Stats{})
		return smaller != nil && smaller.Kind == f.Kind
	})
	if smaller := c.Run(seed, &Stats{}); smaller != nil {
		f = smaller
	}
	text := f.Played.Text(fmt.Sprintf("Found by seed %d: %s", seed, f.Kind))
	t.Errorf("seed %d: %s\n%s", seed, f, text)
	if *keep {
		path := filepath.Join("testdata", fmt.Sprintf("seed-%d.txtar", seed))
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Error(err)
		}
	}
}

// TestKept replays the cases that failed once.
func TestKept(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(8) { // other orders of the same steps
				if f := Parse(text).Run(seed, &Stats{}); f != nil {
					t.Fatal(f)
				}
			}
		})
	}
}
