package progress

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weir.dev/weir/internal/ui/view/ansi"
)

// An Area is the last lines of a terminal, which are drawn again and again, below all
// that is written to the same terminal meanwhile.
type Area struct {
	mu   sync.Mutex
	to   io.Writer
	size func() (width, height int)
	// lines are those on the screen, the last one without an end.
	lines []Line
	// begun: what was written last hasn't ended its line, and nothing is drawn.
	begun bool
}

// NewArea is one on the terminal behind a writer; size is asked before each drawing.
func NewArea(to io.Writer, size func() (width, height int)) *Area {
	return &Area{to: to, size: size}
}

// Control sequences beside colours: up by so many lines, the rest of a line, and of the
// screen.
const (
	csi     = "\x1b["
	endLine = csi + "K"
	endAll  = csi + "J"
)

// A Line is painted text, with the columns that it takes.
type Line struct {
	text  string
	width int
}

// add puts text at the end of a line, as much of it as there is room for in so many
// columns. It reports whether that is all of it.
func (l *Line) add(limit int, pen ansi.Pen, text string, styles ...ansi.Style) bool {
	fits := cut(text, limit-l.width)
	l.text += pen.Paint(fits, styles...)
	l.width += ansi.Width(fits)
	return fits == text
}

// cut shortens text to so many columns, the last one saying that something is left out.
func cut(text string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if ansi.Width(text) <= columns {
		return text
	}
	n := 0
	for i, r := range text {
		if n += ansi.Width(string(r)); n > columns-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// Draw replaces the lines of the area; none take it away. Nothing is written where
// nothing changes.
func (a *Area) Draw(lines []Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun || slices.Equal(a.lines, lines) {
		return
	}
	if len(lines) == 0 {
		_, _ = io.WriteString(a.to, a.erase())
		a.lines = a.lines[:0]
		return
	}
	_, _ = io.WriteString(a.to, a.home()+a.set(lines))
}

// home leads to where the lines begin.
func (a *Area) home() string {
	if n := a.height(); n > 0 {
		return "\r" + upBy(n-1)
	}
	return ""
}

// height is how many lines of the terminal the area takes. A terminal that became narrower
// has broken lines into several.
func (a *Area) height() int {
	width, _ := a.size()
	n := len(a.lines)
	for _, line := range a.lines {
		n += max(line.width-1, 0) / max(width, 1)
	}
	return n
}

// erase takes the lines away and leads to where they began. They are emptied one by one:
// some terminals keep what they show when the screen is cleared from its first place on.
func (a *Area) erase() string {
	n := a.height()
	if n == 0 {
		return ""
	}
	return "\r" + endLine + strings.Repeat(upBy(1)+endLine, n-1) + endAll
}

func upBy(lines int) string {
	if lines == 0 {
		return ""
	}
	return csi + strconv.Itoa(lines) + "A"
}

// set is the text that draws lines from where the area begins.
func (a *Area) set(lines []Line) string {
	a.lines = append(a.lines[:0], lines...)
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line.text + endLine)
	}
	return b.String() + endAll
}

// Over is a writer whose text stands above the area, which is on the same terminal.
func (a *Area) Over(w io.Writer) io.Writer { return over{a, w} }

type over struct {
	*Area
	w io.Writer
}

// Write takes the area away, writes, and draws it again. Whole lines for the writer of the
// area are written over it, at once, so that nobody sees the terminal without it, not even
// where a terminal shows half of that.
func (o over) Write(text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun = text[len(text)-1] != '\n'
	if len(o.lines) == 0 {
		return o.w.Write(text)
	}
	lines := slices.Clone(o.lines)
	if o.w == o.to && !o.begun {
		whole := strings.ReplaceAll(string(text), "\n", endLine+"\n")
		if _, err := io.WriteString(o.to, o.home()+whole+o.set(lines)); err != nil {
			return 0, err
		}
		return len(text), nil
	}
	erase, again := o.erase(), ""
	o.lines = o.lines[:0]
	if !o.begun {
		again = o.set(lines)
	}
	if _, err := io.WriteString(o.to, erase); err != nil {
		return 0, err
	}
	n, err := o.w.Write(text)
	if err == nil && again != "" {
		_, err = io.WriteString(o.to, again)
	}
	return n, err
}
