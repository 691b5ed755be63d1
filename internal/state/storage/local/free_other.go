//go:build !linux && !darwin

package local

// freeBytes isn't known here.
func freeBytes(string) (int64, bool) { return 0, false }
