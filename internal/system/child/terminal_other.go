//go:build !linux

package child

import "os"

// LendTerminal does nothing here.
func LendTerminal(*os.Process) (back func(interrupted bool)) { return func(bool) {} }
