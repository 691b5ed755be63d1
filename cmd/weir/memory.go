package main

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory has the collector work harder before the machine, or the container, runs out of
// memory, whose end would be a kill. Anyone who sets GOMEMLIMIT knows better.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if there := memory(os.ReadFile); there < math.MaxInt64 {
		debug.SetMemoryLimit(there / 10 * 9)
	}
}

// memory is how many bytes the machine has, or the control groups of the process let it have;
// math.MaxInt64 where nobody reports.
func memory(read func(name string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	take := func(text string, unit int64) {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n > 0 && n < least/unit {
			least = n * unit
		}
	}
	info, _ := read("/proc/meminfo")
	for line := range strings.Lines(string(info)) {
		if text, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			take(strings.TrimSuffix(strings.TrimSpace(text), "kB"), 1<<10)
		}
	}
	groups, _ := read("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(parts) < 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if parts[1] == "memory" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		// Each group above limits as well.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			limit, _ := read(path.Join(root, group, file))
			take(string(limit), 1)
			if group == "/" {
				break
			}
		}
	}
	return least
}
