package main

import "testing"

// TestGrowth: a small heap grows to its first size, one of usual size by the same percentage,
// and a big one by less the bigger it is, but by more bytes.
func TestGrowth(t *testing.T) {
	for _, test := range []struct {
		survived uint64 // MiB
		want     int
	}{{1, 6300}, {16, 300}, {32, bigGrowth}, {48, bigGrowth}, {192, bigGrowth / 2}, {1200, 24}} {
		if got := growth(test.survived << 20); got != test.want {
			t.Errorf("%d MiB grow by %d %%, not by %d %%", test.survived, got, test.want)
		}
	}
	for survived := uint64(48 << 20); survived < 8<<30; survived += survived / 4 {
		if now, then := survived*uint64(growth(survived)), (survived+survived/4)*uint64(growth(survived+survived/4)); then < now {
			t.Errorf("%d MiB have room for %d MiB, a quarter more for %d", survived>>20, now/100>>20, then/100>>20)
		}
	}
}
