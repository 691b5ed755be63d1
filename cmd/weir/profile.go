package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile writes profiles for `go tool pprof`, where the environment asks for
// them: of CPU time to WEIR_CPUPROFILE, of allocations to WEIR_MEMPROFILE. The
// returned function ends and writes them. Where nobody asks, allocations aren't sampled.
func profile() (stop func()) {
	var ends []func()
	if name := os.Getenv("WEIR_CPUPROFILE"); name != "" {
		if f := create(name); f != nil && pprof.StartCPUProfile(f) == nil {
			ends = append(ends, pprof.StopCPUProfile)
		}
	}
	if name := os.Getenv("WEIR_MEMPROFILE"); name != "" {
		if f := create(name); f != nil {
			ends = append(ends, func() {
				runtime.GC() // the profile is as of the last collection
				_ = pprof.Lookup("allocs").WriteTo(f, 0)
			})
		}
	} else {
		runtime.MemProfileRate = 0
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

func create(name string) *os.File {
	f, err := os.Create(name) // #nosec G703 -- the file that was asked for
	if err != nil {
		fmt.Fprintf(os.Stderr, "no profile: %s\n", err)
		return nil
	}
	return f
}
