package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
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
			return lsp.Serve(ctx, lsp.Options{In: in, Out: out, Log: e.Err, Version: buildinfo.Current().Version, Outside: outside, Run: printed.Run, Open: printed.Open})
		}
	},
}

// printouts are files with what commands print, and the pages of root modules. They are the
// user's own, and go with the session.
type printouts struct {
	dir  string
	make sync.Once
	err  error

	mu    sync.Mutex
	pages map[string]served
}

// served is the page of one root module; ended is closed when its process has ended.
type served struct {
	address string
	process *os.Process
	ended   chan struct{}
}

// Open serves the page of a directory, unless that is done already, and returns its address.
func (p *printouts) Open(ctx context.Context, dir string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.pages[dir]; ok {
		select {
		case <-known.ended:
		default:
			return known.address, nil
		}
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program, "-chdir="+dir, "ui", "-input=false", "-no-color") // #nosec G204 this program
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended, address := make(chan struct{}), make(chan string, 1)
	go func() {
		_ = cmd.Wait()
		close(ended)
		_ = writer.Close()
	}()
	var printed strings.Builder
	go func() {
		defer close(address)
		lines := bufio.NewScanner(reader)
		for found := false; lines.Scan(); {
			if line := strings.TrimSpace(lines.Text()); !found && strings.HasPrefix(line, "http://") {
				address <- line
				found = true
			} else if !found {
				printed.WriteString(lines.Text() + "\n")
			}
		}
		_, _ = io.Copy(io.Discard, reader)
	}()
	select {
	case at, ok := <-address:
		if !ok {
			return "", errors.New(strings.TrimSpace(printed.String()))
		}
		if p.pages == nil {
			p.pages = map[string]served{}
		}
		p.pages[dir] = served{at, cmd.Process, ended}
		return at, nil
	case <-ctx.Done():
		_ = cmd.Process.Signal(os.Interrupt)
		return "", ctx.Err()
	}
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

// Close removes the files and ends the pages as an interrupt does.
func (p *printouts) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.pages {
		_ = one.process.Signal(os.Interrupt)
		<-one.ended
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}
