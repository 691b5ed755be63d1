// Command weir plans and applies infrastructure configurations.
package main

import (
	"os"
	"os/user"

	"weir.dev/weir/internal/cli"
)

func main() { os.Exit(run()) }

// who tells the people who wait for a lock whose it is.
func who() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

func run() int {
	growFirst()
	defer profile()()
	defer count()
	home, _ := os.UserHomeDir() // settings may say that there is one elsewhere
	return cli.Run(cli.Process{
		Args:    os.Args,
		Environ: os.Environ(),
		In:      os.Stdin,
		Out:     os.Stdout,
		Err:     os.Stderr,
		Getwd:   os.Getwd,
		Chdir:   os.Chdir,
		Home:    home,
		Who:     who,
		Exit:    os.Exit,
	})
}
