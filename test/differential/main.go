// Command versus plays random histories with weir and OpenTofu or Terraform, on identical
// copies of the conformance kit's simulated cloud. It compares their plans, operations, states
// and messages. See docs/versus-histories.md.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/testing/simtest"
)

var (
	weirBin  = flag.String("weir", "bin/weir", "the program under test")
	peerBin  = flag.String("peer", "", "the engine that is right")
	simBin   = flag.String("sim", "", "a built simcloud provider; by default it is built")
	cases    = flag.Int("n", 100, "how many histories are played")
	first    = flag.Uint64("seed", 1, "the seed of the first one")
	grids    = flag.Bool("grids", false, "play histories with references between single instances")
	asTexts  = flag.Bool("texts", false, "compare the text of plans of random types")
	parallel = flag.Int("p", 1, "how many are played at once")
	cacheDir = flag.String("cache", ".cache/versus", "where the reference's results are kept; empty for nowhere")
	outDir   = flag.String("out", ".cache/versus-found", "where reproductions are written")
	shrinks  = flag.Int("shrink", 3, "how many kinds of unexplained differences are made small")
	tries    = flag.Int("tries", 200, "how many smaller histories are tried for each")
	replay   = flag.String("replay", "", "play the history in this file instead")
	fill     = flag.Bool("fill", false, "only fill the cache with the reference's results")
	show     = flag.Int("show", 12, "how many differences of a history are printed")
	verbose  = flag.Bool("v", false, "print the known differences too")
)

func main() {
	flag.Parse()
	ok, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run() (ok bool, err error) {
	scratch, err := os.MkdirTemp("", "versus")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	mirror, err := buildMirror(filepath.Join(scratch, "mirror"), *simBin)
	if err != nil {
		return false, err
	}
	weir, err := newEngine("weir", *weirBin, mirror, scratch)
	if err != nil {
		return false, err
	}
	peer, err := newEngine("peer", *peerBin, mirror, scratch)
	if err != nil {
		return false, err
	}
	peer.env = append(peer.env, "GOGC=off") // its commands are short
	weir.provider = providerIn(mirror, "registry.opentofu.org")
	peer.provider = weir.provider
	m := &match{weir: weir, peer: &cached{player: peer, dir: *cacheDir, version: peer.version}}
	if *replay != "" {
		text, err := os.ReadFile(*replay)
		if err != nil {
			return false, err
		}
		found, err := m.play(simtest.Parse(text))
		if err != nil {
			return false, err
		}
		for _, d := range found {
			fmt.Println(d.describe())
		}
		return len(unexplained(found)) == 0, nil
	}
	if *fill {
		return m.fill(*first, *cases)
	}
	fmt.Printf("%s beside %s, seeds %d to %d\n", weir.version, peer.version, *first, *first+uint64(*cases)-1)
	t := &tally{match: m, kinds: map[string][]uint64{}, known: map[string]int{}}
	if *asTexts {
		return t.texts(), nil
	}
	return t.all(), nil
}

// A tally plays histories and counts what it found.
type tally struct {
	match *match

	mu     sync.Mutex
	played int
	failed int                 // histories with unexplained differences
	kinds  map[string][]uint64 // of these, with seeds
	known  map[string]int      // histories, by what explains a difference
	broken int                 // histories that could not be played
	lines  int                 // of texts
}

func (t *tally) all() bool {
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	for range max(1, *parallel) {
		workers.Go(func() {
			for seed := range seeds {
				t.one(seed)
			}
		})
	}
	for i := range *cases {
		seeds <- *first + uint64(i)
	}
	close(seeds)
	workers.Wait()
	for _, entry := range slices.Sorted(maps.Keys(t.known)) {
		fmt.Printf("known in %d: %s\n", t.known[entry], entry)
	}
	kinds := slices.Sorted(maps.Keys(t.kinds))
	slices.SortStableFunc(kinds, func(a, b string) int { return len(t.kinds[b]) - len(t.kinds[a]) })
	for _, kind := range kinds {
		fmt.Printf("unexplained in %d: %s (seeds %v)\n", len(t.kinds[kind]), kind, t.kinds[kind][:min(12, len(t.kinds[kind]))])
	}
	fmt.Printf("%d histories, %d unexplained, %d not played\n", t.played, t.failed, t.broken)
	return t.failed == 0 && t.broken == 0
}

// history draws that of a seed.
func history(seed uint64) simtest.Case {
	if *grids {
		return simtest.GridCase(seed)
	}
	return simtest.Kit(seed)
}

// one plays the history of a seed. Of every kind of difference the first is
// made small, until enough are.
func (t *tally) one(seed uint64) {
	c := history(seed)
	found, err := t.match.play(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.played++
	if t.played%100 == 0 {
		fmt.Printf("... %d histories, %d unexplained\n", t.played, t.failed)
	}
	if err != nil {
		t.broken++
		fmt.Printf("seed %d: %s\n", seed, err)
		return
	}
	explained := map[string]bool{}
	for _, d := range found {
		if d.Known != nil {
			explained[d.Known.Entry+": "+d.Known.Reason] = true
			if *verbose {
				fmt.Printf("seed %d: %s\n", seed, d.describe())
			}
		}
	}
	for entry := range explained {
		t.known[entry]++
	}
	bad := unexplained(found)
	if len(bad) == 0 {
		return
	}
	t.failed++
	fresh := len(t.kinds[bad[0].kind()]) == 0 && len(t.kinds) < *shrinks
	seen := map[string]bool{}
	for _, d := range bad {
		if k := d.kind(); !seen[k] {
			seen[k] = true
			t.kinds[k] = append(t.kinds[k], seed)
		}
	}
	fmt.Printf("seed %d:\n", seed)
	for _, d := range bad[:min(len(bad), *show)] {
		fmt.Println("  " + strings.ReplaceAll(d.describe(), "\n", "\n  "))
	}
	if fresh && c[0].Model != nil { // a grid is only text
		c = t.match.shrink(c, bad[0], *tries)
	}
	if err := t.write(seed, c, bad[0]); err != nil {
		fmt.Println("  ", err)
	}
}

func (t *tally) write(seed uint64, c simtest.Case, d difference) error {
	if err := os.MkdirAll(*outDir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(*outDir, fmt.Sprintf("seed-%d.txtar", seed))
	fmt.Println("   written to", file)
	return os.WriteFile(file, script(c, fmt.Sprintf("Found by seed %d: %s", seed, d.describe())), 0o644)
}
