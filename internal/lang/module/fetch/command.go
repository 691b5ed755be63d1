package fetch

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/sys/proc"
)

// stopGrace is how long a command may take to end after it was interrupted.
const stopGrace = 2 * time.Second

// mostSaid is how much is kept of what a command says, in bytes.
const mostSaid = 1 << 20

// run runs a command that fetches from a server into a directory, and returns what it
// said. It ends with all that it started when it says nothing and writes nothing there for
// as long as servers may do nothing.
func (f *Fetcher) run(ctx context.Context, cmd *exec.Cmd, server, to string) (said string, err error) {
	var pulse stalltimeout.Pulse
	watched, end := pulse.Watch(ctx, server, f.Silence)
	defer end()
	if f.Silence > 0 {
		go beatWith(watched, &pulse, to, f.Silence/4)
	}
	var out bytes.Buffer
	err = proc.Run(watched, cmd, stopGrace, func(r io.Reader) {
		r = pulse.Reader(r)
		_, _ = io.Copy(&out, io.LimitReader(r, mostSaid))
		_, _ = io.Copy(io.Discard, r)
	})
	if err != nil && ctx.Err() != nil {
		return "", ctx.Err()
	}
	return withoutProgress(out.String()), stalltimeout.Because(watched, err)
}

// beatWith beats when there is more in a directory, or less, than a while ago.
func beatWith(ctx context.Context, pulse *stalltimeout.Pulse, dir string, while time.Duration) {
	ticker := time.NewTicker(max(while, time.Millisecond))
	defer ticker.Stop()
	last := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := extent(dir); now != last {
			last = now
			pulse.Beat()
		}
	}
}

// extent is the size of all files of a directory, each with one byte more.
func extent(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone
		}
		bytes++
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// progress is what git says while all goes well.
var progress = lazyregexp.New(`^(remote: )?([A-Z][a-z]+ [a-z]+: +\d|Total \d)|^Cloning into |^Submodule .* registered for path`)

// withoutProgress is what a command said of a failure.
func withoutProgress(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if strings.TrimSpace(line) != "" && !progress.Get().MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
