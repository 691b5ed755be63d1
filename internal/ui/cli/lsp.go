package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/sys/buildinfo"
	"weir.dev/weir/internal/ui/lsp"
	"weir.dev/weir/internal/workspace/environment"
)

var lspCommand = &command{
	Name:     "lsp",
	Synopsis: "Run the language server for editors",
	Long:     "Serves one editor by the Language Server Protocol, on standard input and output unless an option says otherwise. Editors start it themselves: docs/lsp.md has their settings.",
	Setup: func(e *env, fs *flag.FlagSet) runner {
		fs.Bool("stdio", true, "") // what editors say who know other ways
		socket := fs.String("socket", "", "Connect to the editor at `ADDRESS`, such as 127.0.0.1:7777.")
		pipe := fs.String("pipe", "", "Connect to the editor at the Unix socket `FILE`.")
		return func(ctx context.Context, _ []string) int {
			var in io.Reader = e.in
			var out io.Writer = e.Out
			network, address := "tcp", *socket
			if *pipe != "" {
				network, address = "unix", *pipe
			}
			if address != "" {
				var dialer net.Dialer
				conn, err := dialer.DialContext(ctx, network, address)
				if err != nil {
					return e.Fail(diag.BadOption.As("Failed to connect to the editor"), "%s.", err)
				}
				defer conn.Close()
				in, out = conn, conn
			}
			outside := e.directory.Place.Options
			outside.Reports = environment.Reports{Log: e.Err} // what goes elsewhere isn't shown by editors
			printed := &printouts{}
			defer printed.Close()
			return lsp.Serve(ctx, lsp.Options{In: in, Out: out, Log: e.Err, Version: buildinfo.Current().Version, Outside: outside, Run: printed.Run})
		}
	},
}

// printouts are files with what commands print. They are the user's own, and go with the session.
type printouts struct {
	dir  string
	make sync.Once
	err  error
}

// Run runs this program in a directory and returns a new file with what it prints.
func (p *printouts) Run(ctx context.Context, dir, pattern string, args ...string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	p.make.Do(func() { p.dir, p.err = os.MkdirTemp("", "weir-lsp-*") })
	if p.err != nil {
		return "", p.err
	}
	f, err := os.CreateTemp(p.dir, pattern)
	if err != nil {
		return "", err
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, program, append([]string{"-chdir=" + dir}, args...)...) // #nosec G204 this program
	cmd.Stdout, cmd.Stderr = f, f
	err = cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = nil // what went wrong is in the file
	}
	return f.Name(), err
}

// Close removes the files.
func (p *printouts) Close() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}
