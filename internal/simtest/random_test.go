package simtest

import (
	"flag"
	"testing"
	"time"
)

var (
	cases = flag.Int("cases", 10_000, "how many random cases are tried")
	first = flag.Uint64("first", 1, "the seed of the first random case")
)

func TestRandom(t *testing.T) {
	var stats Stats
	start := time.Now()
	failures := 0
	for seed := *first; seed < *first+uint64(*cases); seed++ {
		c := Random(seed)
		if f := c.Run(seed, &stats); f != nil {
			failures++
			t.Errorf("seed %d: %s", seed, f)
			if failures > 10 {
				break
			}
		}
	}
	t.Logf("%+v in %s", stats, time.Since(start))
}
