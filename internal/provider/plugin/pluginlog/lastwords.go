package pluginlog

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Anything that is kept of a plugin's standard error, in bytes.
const (
	MaxTrace     = 16 << 10
	maxTailLines = 10
	maxTailLine  = 300
)

// LastWords keeps what may tell why a plugin ended: what follows the line with
// which a Go program reports its crash, up to a limit, and the last lines that
// aren't records of a log, which nobody asked for here.
type LastWords struct {
	mu    sync.Mutex
	line  bytes.Buffer // the beginning of the line that is being written
	crash bytes.Buffer
	lines []string
}

// Write gets parts of lines; the end of a line may come alone.
func (w *LastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := b; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte{'\n'})
		rest = after
		w.add(part, ended)
	}
	return len(b), nil
}

func (w *LastWords) add(part []byte, ended bool) {
	if w.crash.Len() > 0 {
		w.keep(part)
		if ended {
			w.keep([]byte{'\n'})
		}
		return
	}
	if room := maxTailLine - w.line.Len(); room > 0 {
		w.line.Write(part[:min(room, len(part))])
	}
	line := w.line.Bytes()
	if bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
		w.keep(line)
		if ended {
			w.keep([]byte{'\n'})
		}
		return
	}
	if !ended {
		return
	}
	if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '{' {
		if len(w.lines) == maxTailLines {
			w.lines = slices.Delete(w.lines, 0, 1)
		}
		w.lines = append(w.lines, strings.ToValidUTF8(string(text), "\uFFFD"))
	}
	w.line.Reset()
}

func (w *LastWords) keep(b []byte) {
	if room := MaxTrace - w.crash.Len(); room > 0 {
		w.crash.Write(b[:min(room, len(b))])
	}
}

// Trace is the report of a crash, or empty.
func (w *LastWords) Trace() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(w.crash.String()), "\uFFFD")
}

// Tail is the last lines before a crash or the end.
func (w *LastWords) Tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}
