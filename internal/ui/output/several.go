package output

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/view/stream"
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

// Turns are screens for parts of a command's work that are done at the same time and
// shown one after the other: what a part writes before its turn waits for it.
func (s *Screen) Turns(n int) *Turns { return &Turns{screen: s, held: make([][]said, n)} }

// Several does something for parts of a command's work, on a screen for each, with no more
// than atOnce at the same time. In turns they are shown one after the other. A problem that
// several parts have is reported once, for programs at the end with a list of the parts that
// have it; what no part has to wait for comes at the end.
func (s *Screen) Several(kind string, names []string, atOnce int, inTurns bool, do func(i int, part *Screen)) {
	var wait sync.WaitGroup
	places := make(chan struct{}, atOnce)
	turns := s.Turns(len(names))
	g := &gathered{kind: kind, of: len(names), urgent: !inTurns && !s.JSON, files: map[string][]byte{}}
	for i, name := range names {
		part, ended := s.Part(), func() {}
		if inTurns {
			part, ended = turns.Part(i)
		}
		if len(names) > 1 && (inTurns || atOnce > 1 || s.JSON) {
			part.gathered, part.part = g, name
		}
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			defer ended()
			do(i, part)
		})
	}
	wait.Wait()
	end := s.Part()
	end.Sources = func() map[string][]byte { return g.files }
	if !s.JSON {
		end.Diags(g.rest())
		return
	}
	all := stream.Beside(s.Out, s.Dialect, nil)
	defer all.Close()
	for _, p := range g.list {
		slices.Sort(p.parts)
		one := diag.List{p.Diagnostic}
		all.DiagnosticsOf(map[string]any{kind + "s": p.parts}, one, end.sources(one))
	}
}

// Turns shows the parts in their order.
type Turns struct {
	screen *Screen
	mu     sync.Mutex
	now    int // whose turn it is
	held   [][]said
	ended  map[int]bool
}

// said is what a part wrote to a stream before its turn.
type said struct {
	to   io.Writer
	text []byte
}

// Part is the screen of one of them; ended is called when nothing more is written to it.
func (t *Turns) Part(i int) (part *Screen, ended func()) {
	part = t.screen.Part()
	part.Out, part.Err = turn{t, i, t.screen.Out}, turn{t, i, t.screen.Err}
	return part, func() { t.end(i) }
}

func (t *Turns) end(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended == nil {
		t.ended = map[int]bool{}
	}
	for t.ended[i] = true; t.ended[t.now]; {
		if t.now++; t.now == len(t.held) {
			return
		}
		for _, one := range t.held[t.now] {
			_, _ = one.to.Write(one.text) // nobody is there to hear of it
		}
		t.held[t.now] = nil
	}
}

// A turn is a stream of one of the parts.
type turn struct {
	of   *Turns
	part int
	to   io.Writer
}

func (w turn) Write(p []byte) (int, error) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.part == w.of.now {
		return w.to.Write(p)
	}
	w.of.held[w.part] = append(w.of.held[w.part], said{w.to, bytes.Clone(p)})
	return len(p), nil
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
