// Package terminal handles terminals and shells: signals, typed lines, widths, words and the
// form of options.
//
// It doesn't know what commands there are and what they do.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/ui/view/ansi"
)

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// Width is that of the terminal behind a writer, or else the given one.
func Width(w io.Writer, without int) int {
	if f, ok := w.(*os.File); ok {
		if w, _ := Size(f); w > 0 {
			return w
		}
	}
	return without
}

// Size is that of the terminal behind a file, in columns and lines; 0 is unknown.
func Size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// ReadSecret reads a line that isn't shown.
func ReadSecret(f *os.File) (string, error) {
	text, err := term.ReadPassword(int(f.Fd()))
	return string(text), err
}

// Lines reads lines so that waiting for one can be given up. It reads none that nobody
// has asked for: others may read from the same file between two of them.
type Lines struct {
	in      *bufio.Reader
	read    chan line
	waiting bool // a line has been asked for that hasn't come yet
}

type line struct {
	text string
	err  error
}

// NewLines makes a reader of lines.
func NewLines(from io.Reader) *Lines {
	return &Lines{in: bufio.NewReader(from), read: make(chan line, 1)}
}

// Next waits for a line. The last one may lack its end.
func (r *Lines) Next(ctx context.Context) (string, error) {
	_, span := trace.Begin(ctx, trace.Wait, "wait for an answer")
	defer span.End(false)
	if !r.waiting {
		r.waiting = true
		go func() {
			text, err := r.in.ReadString('\n')
			if err != nil && text != "" {
				err = nil
			}
			r.read <- line{strings.TrimRight(text, "\r\n"), err}
		}()
	}
	select {
	case l := <-r.read:
		r.waiting = false
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Indent wraps text and sets it in by n spaces; lines that begin with a space
// keep their breaks.
func Indent(text string, n, width int) string {
	var b strings.Builder
	for line := range strings.Lines(ansi.Wrap(text, width-n)) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", n))
		}
		b.WriteString(line)
	}
	if !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

// SplitWords splits text as a shell does, without expanding anything.
func SplitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or an escape isn't closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
