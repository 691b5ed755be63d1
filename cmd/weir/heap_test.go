package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestFirstCollection: the heap is collected when a few MiB are in use, and not before; what
// was kept for huge pages until then is free.
func TestFirstCollection(t *testing.T) {
	if os.Getenv("GOGC") != "" || debug.SetMemoryLimit(-1) <= 4*hugeHeap || !canMap(4*hugeHeap) {
		t.Skip("no huge pages here, or a heap that others tune")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	after := before
	growFirst()
	for after.NumGC == before.NumGC && after.TotalAlloc < before.TotalAlloc+hugeHeap+4*firstHeap {
		sink = make([]byte, 1<<16)
		runtime.ReadMemStats(&after)
	}
	if used := after.TotalAlloc - before.TotalAlloc - hugeHeap + before.HeapAlloc; used < firstHeap/2 || used > 2*firstHeap {
		t.Errorf("the first collection began with %d KiB in use", used>>10)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if after.HeapInuse > hugeHeap/2 || after.HeapIdle < hugeHeap/2 {
		t.Errorf("%d MiB of the heap are in use, %d MiB idle", after.HeapInuse>>20, after.HeapIdle>>20)
	}
}

var sink []byte

// TestLean: the language server's heap stays near what it uses, unless others tune it.
func TestLean(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for value, want := range map[string]int{"": leanGrowth, "300": 100} {
		t.Setenv("GOGC", value)
		stayLean()
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%s: %d percent, not %d", value, got, want)
		}
	}
}

// TestGrowth: a small heap grows to its first size, one of usual size by the same percentage,
// and a big one by less the bigger it is, but by more bytes.
func TestGrowth(t *testing.T) {
	for _, test := range []struct {
		survived uint64 // MiB
		want     int
	}{{1, 1500}, {16, 300}, {32, 100}, {40, bigGrowth}, {48, bigGrowth}, {192, bigGrowth / 2}, {1200, bigGrowth / 5}} {
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
