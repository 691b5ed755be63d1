//go:build !linux

package proc

import "os"

// LendTerminal does nothing here.
func LendTerminal(*os.Process) (back func(interrupted bool)) { return func(bool) {} }
