package main

import (
	"fmt"
	"os"

	"weir.dev/weir/internal/core/metrics"
)

// count writes the counters of work to the file that WEIR_COUNTERS names.
func count() {
	name := os.Getenv("WEIR_COUNTERS")
	if name == "" {
		return
	}
	f, err := os.Create(name) // #nosec G703 -- the file that was asked for
	if err == nil {
		err = metrics.Write(f)
		_ = f.Close()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "no counters: %s\n", err)
	}
}
