// Command with-postgres runs a command beside its own PostgreSQL server, with the connection
// string in CHAOS_PG. Without PostgreSQL it prints a message and runs the command without it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"weir.dev/weir/internal/state/storage/testservers"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: with-postgres COMMAND [ARGUMENT...]")
		return 2
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	server, stop, err := testservers.Postgres()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		defer stop()
		cmd.Env = append(cmd.Env, "CHAOS_PG="+server)
	}
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return ended.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}
