package output

import (
	"io"
	"sync"
	"time"
)

// longestHeld is how long a line may wait for those that follow it, and mostHeld how many bytes
// of them.
const (
	longestHeld = 20 * time.Millisecond
	mostHeld    = 32 << 10
)

// lines gathers the lines of a large run that follow closely, since each write to a pipe costs
// more than the making of its line. Other writers to the same place come after them, see over.
type lines struct {
	mu    sync.Mutex
	to    io.Writer
	held  []byte
	timer *time.Timer // nil while nothing is held
}

// Write holds whole lines. Like the output of lines before, it never fails: an output that can't
// be written is no reason to stop the work.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, text...)
	switch {
	case l.timer == nil:
		l.timer = time.AfterFunc(longestHeld, l.flush)
	case len(l.held) > mostHeld:
		l.write()
	}
	return len(text), nil
}

// flush writes what is held.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
}

// write is flush with l.mu held.
func (l *lines) write() {
	if l.timer == nil {
		return
	}
	l.timer.Stop()
	l.timer = nil
	_, _ = l.to.Write(l.held)
	l.held = l.held[:0]
}

// over is a writer that writes what is held first.
func (l *lines) over(w io.Writer) io.Writer { return after{l, w} }

type after struct {
	lines *lines
	w     io.Writer
}

func (a after) Write(text []byte) (int, error) {
	a.lines.mu.Lock()
	defer a.lines.mu.Unlock()
	a.lines.write()
	return a.w.Write(text)
}

// lines are where events go line by line: gathered, unless somebody looks at a terminal. All else
// that goes to the two streams from now on comes after what is held.
func (s *Screen) lines() io.Writer {
	if s.Terminal {
		return s.Out
	}
	l := &lines{to: s.Out}
	s.closers = append(s.closers, l.flush)
	s.Out, s.Err = l.over(s.Out), l.over(s.Err)
	return l
}
