//go:build !linux || !(amd64 || arm64)

package main

// canMap says that there are no huge pages to ask for.
func canMap(int) bool { return false }

func hugePages([]byte) {}
