package terminal

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
)

// Browse opens an address in a browser: by a command that somebody has set, or by
// what the system has for it. It reports whether there is one.
func Browse(ctx context.Context, set, address string) bool {
	open := strings.Fields(set)
	if len(open) == 0 {
		open = opener()
	}
	return open != nil && exec.CommandContext(context.WithoutCancel(ctx), open[0], append(open[1:], address)...).Start() == nil
}

// opener is the system's command that opens an address, nil without one.
func opener() []string {
	open := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		open = []string{"open"}
	case "windows":
		open = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if _, err := exec.LookPath(open[0]); err != nil {
		return nil
	}
	return open
}
