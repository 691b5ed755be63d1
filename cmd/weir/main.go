// Command weir plans and applies infrastructure configurations.
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"slices"
	"syscall"
	"time"

	"weir.dev/weir/internal/provider/providerproxy"
	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/ui/cli"
	"weir.dev/weir/internal/ui/daemon"
	"weir.dev/weir/internal/ui/telemetry"
	"weir.dev/weir/internal/ui/terminal"
)

func main() { os.Exit(run()) }

// who reports the people who wait for a lock whose it is.
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

func run() (code int) {
	if len(os.Args) > 1 && os.Args[1] == providerproxy.Command {
		// It passes on what a provider prints, the caller that still reads it, and leaves it
		// to the engine when to end.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, os.Interrupt)
		return providerproxy.Run(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	}
	executable, _ := os.Executable() // what needs it is left out
	if code, done := daemon.Ask(daemon.Client{
		Args: os.Args, Environ: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getwd: os.Getwd, Build: executable,
		Terminal: terminal.Is, Secret: terminal.ReadSecret, Signals: terminal.Signals,
	}); done {
		return code
	}
	defer profile()()
	limitMemory()
	if slices.Contains(os.Args[1:], "lsp") {
		stayLean()
	} else {
		growFirst()
	}
	if err := limitEvaluation(); err != nil {
		fmt.Fprintf(os.Stderr, "Error: %s\n", err)
		return 1
	}
	defer count()
	seen, end := telemetry.Begin(telemetry.World{
		Environ: os.Environ(), Now: time.Now, Random: rand.Reader,
		Version: func() string { return buildinfo.Current().Version },
		Tell:    func(problem string) { fmt.Fprintf(os.Stderr, "Warning: %s\n", problem) },
	})
	defer func() { end(code) }()
	home, _ := os.UserHomeDir() // settings may say that there is one elsewhere
	return cli.Run(cli.Process{
		Context:    seen,
		Executable: executable,
		Args:       os.Args,
		Environ:    os.Environ(),
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Getwd:      os.Getwd,
		Chdir:      os.Chdir,
		Home:       home,
		Who:        who,
		Exit:       os.Exit,
		Run:        cli.Run,
	})
}
