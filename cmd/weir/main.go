// Command weir plans and applies infrastructure configurations.
package main

import (
	"os"

	"weir.dev/weir/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	growFirst()
	defer profile()()
	defer count()
	return cli.Run(cli.Process{
		Args:    os.Args,
		Environ: os.Environ(),
		In:      os.Stdin,
		Out:     os.Stdout,
		Err:     os.Stderr,
		Getwd:   os.Getwd,
		Chdir:   os.Chdir,
	})
}
