//go:build unix

package externalcmd

import "syscall"

// run makes the process the other program, so that signals and exit codes are its own.
func run(file string, args, env []string) (int, error) { return 1, syscall.Exec(file, args, env) }
