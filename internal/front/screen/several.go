package screen

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Part is a screen for a part of a command's work, with a progress of its own.
func (s *Screen) Part() *Screen {
	part := *s
	part.closers = nil
	return &part
}

// Named is a screen for a part of several, whose output says which one it is
// about: as a field of the JSON objects, or before each line where the parts come
// at the same time. The lock keeps the lines of parts apart.
func (s *Screen) Named(kind, name string, lock *sync.Mutex) *Screen {
	part := s.Part()
	change := func(line string) string {
		if strings.TrimSpace(line) == "" {
			return line
		}
		return "[" + name + "] " + line
	}
	if s.JSON {
		change = func(line string) string {
			if rest, ok := strings.CutPrefix(line, "{"); ok {
				return `{"` + kind + `":"` + name + `",` + rest
			}
			return line
		}
	} else {
		part.Err = &lineWriter{to: s.Err, mu: lock, change: change}
	}
	part.Out = &lineWriter{to: s.Out, mu: lock, change: change}
	return part
}

// A lineWriter passes on whole lines, changed.
type lineWriter struct {
	to     io.Writer
	mu     *sync.Mutex
	change func(line string) string
	rest   []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		line := string(w.rest[:i])
		w.rest = w.rest[i+1:]
		if _, err := io.WriteString(w.to, strings.TrimRight(w.change(line), " ")+"\n"); err != nil {
			return 0, err
		}
	}
}
