// Command weir-temporal runs deployments of stacks as durable workflows. Users call "weir
// stacks ...", which starts it.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"weir.dev/weir/internal/provider/providerproxy"
	"weir.dev/weir/temporal/command"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == providerproxy.Command {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, os.Interrupt)
		os.Exit(providerproxy.Run(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(command.Run(os.Args[1:]))
}
