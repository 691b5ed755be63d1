package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How far the heap grows before it is collected: first to smallHeap, then by
// bigGrowth percent of what has survived. Go would start at 4 MiB and collect a
// dozen times on the way, which takes a fifth of the time of a plan of usual
// size. The growth is what makes a big plan pay no more for each resource than a
// small one. Where more than bigHeap has survived, it is less, by the square root: twice as
// much then makes room for 1.4 times as much garbage, and has it collected 1.4 times as often.
const (
	smallHeap = 64 << 20
	bigHeap   = 48 << 20
	bigGrowth = 80
)

// growth is by how many percent the heap may grow.
func growth(survived uint64) int {
	if survived <= bigHeap {
		// Go never starts below minHeap times the growth, however little has survived.
		survived = max(survived, minHeap)
		return int(max(bigGrowth, (smallHeap-min(smallHeap, survived))*100/survived)) // #nosec G115 -- at most 1,500
	}
	return int(bigGrowth * math.Sqrt(bigHeap/float64(survived)))
}

// Anything that is beyond a few MiB goes where memory comes in huge pages, if the system has
// them: the first touch of each small page interrupts the program. A block that asks for them
// and that nobody touches counts as part of the heap from the start; the first collection,
// when firstHeap is in use beside it, frees it for all others at once. Commands that use less
// are never collected.
const (
	hugeHeap  = 256 << 20
	firstHeap = 9 << 19
	minHeap   = 4 << 20 // what Go grows to at 100 percent, and how long before the end it begins to collect
)

// leanGrowth is how far the heap of a program grows that stays beside an editor for days.
const leanGrowth = 50

// stayLean has memory collected early. Anyone who sets GOGC knows better.
func stayLean() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(leanGrowth)
	}
}

// growFirst tunes the collector. Anyone who sets GOGC knows better.
func growFirst() {
	if os.Getenv("GOGC") != "" {
		return
	}
	if debug.SetMemoryLimit(-1) > 4*hugeHeap && canMap(4*hugeHeap) {
		debug.SetGCPercent((hugeHeap + firstHeap + minHeap) / (minHeap / 100))
		hugePages(make([]byte, hugeHeap))
	} else {
		debug.SetGCPercent((smallHeap + minHeap) / (minHeap / 100))
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	// The runtime finalizes a fresh sentinel after each collection.
	var collected func(*[16]byte)
	collected = func(sentinel *[16]byte) {
		metrics.Read(live)
		debug.SetGCPercent(growth(live[0].Value.Uint64()))
		runtime.SetFinalizer(sentinel, collected)
	}
	runtime.SetFinalizer(new([16]byte), collected)
}
