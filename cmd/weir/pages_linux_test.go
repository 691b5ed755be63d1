//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// TestHugePages looks up in the map of the process whether a block is where huge
// pages are asked for.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("no huge pages here")
	}
	if !canMap(16<<20) || canMap(1<<60) {
		t.Error("what can be mapped: 16 MiB and no more than addresses reach")
	}
	block := make([]byte, 16<<20)
	hugePages(block)
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	at, inside := uint64(uintptr(unsafe.Pointer(&block[0]))), false
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside && !strings.Contains(flags, " hg ") {
			t.Errorf("flags of the block:%s", flags)
		}
	}
	runtime.KeepAlive(block)
}
