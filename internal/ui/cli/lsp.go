package cli

import (
	"context"
	"flag"
	"io"
	"net"

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
			return lsp.Serve(ctx, lsp.Options{In: in, Out: out, Log: e.Err, Version: buildinfo.Current().Version, Outside: outside})
		}
	},
}
