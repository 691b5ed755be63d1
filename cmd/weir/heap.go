package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How far the heap grows before it is collected: first to smallHeap, then by
// bigGrowth percent of what has survived. Go would start at 4 MiB and collect a
// dozen times on the way, which takes a fifth of the time of a plan of usual
// size. The growth is what makes a big plan pay no more for each resource than a
// small one.
const (
	smallHeap = 64 << 20
	bigGrowth = 120
)

// growFirst tunes the collector. Who sets GOGC knows better.
func growFirst() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(smallHeap / (4 << 20) * 100) // of the minimum of 4 MiB
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	// The runtime finalizes a fresh sentinel after each collection.
	var collected func(*[16]byte)
	collected = func(sentinel *[16]byte) {
		metrics.Read(live)
		survived := max(1<<20, live[0].Value.Uint64())
		debug.SetGCPercent(int(max(bigGrowth, (smallHeap-min(smallHeap, survived))*100/survived))) // #nosec G115 -- below 6,400
		runtime.SetFinalizer(sentinel, collected)
	}
	runtime.SetFinalizer(new([16]byte), collected)
}
