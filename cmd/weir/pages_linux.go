//go:build linux && (amd64 || arm64)

package main

import "golang.org/x/sys/unix"

// canMap reports whether the process may have so many bytes of memory more, which
// limits of its addresses and of what is promised to all processes may forbid.
func canMap(n int) bool {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	return unix.Munmap(b) == nil
}

// hugePages asks for huge pages where a block is that begins with a page, as big ones do.
func hugePages(block []byte) {
	_ = unix.Madvise(block, unix.MADV_HUGEPAGE) // without them it only takes longer
}
