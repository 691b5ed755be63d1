package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// smallHeap is the size up to which the heap grows before anything is
// collected. Go would start at 4 MiB and collect a dozen times on the way,
// which takes a fifth of the time of a plan of usual size.
const smallHeap = 64 << 20

// bigGrowth is by how many percent a bigger heap grows before it is collected
// again; 100 would be usual in Go.
const bigGrowth = 60

// growFirst tunes the collector. Who sets GOGC knows better.
func growFirst() {
	if os.Getenv("GOGC") != "" {
		return
	}
	percent := smallHeap / (4 << 20) * 100 // of the minimum of 4 MiB
	debug.SetGCPercent(percent)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var collected func(*[16]byte)
	collected = func(sentinel *[16]byte) {
		metrics.Read(live)
		bytes := max(1, int(live[0].Value.Uint64()))
		if next := max(bigGrowth, (smallHeap-bytes)*100/bytes); next != percent {
			percent = next
			debug.SetGCPercent(next)
		}
		if percent > bigGrowth {
			runtime.SetFinalizer(sentinel, collected)
		}
	}
	runtime.SetFinalizer(new([16]byte), collected)
}
