package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// A Prompt asks for one text after the other. On terminals a line is edited while it is
// typed, and the arrow keys bring earlier ones back; elsewhere lines are read as they are.
type Prompt struct {
	in, out *os.File
	lines   *Lines
	asks    io.Writer // where prompts go; nil where nobody sees them
	// editor is nil where lines aren't edited.
	editor *term.Terminal
	keys   *keys
}

// NewPrompt is a prompt on a file that lines are read from. Prompts are shown on out if
// somebody types; editing needs both to be terminals that can be drawn on.
func NewPrompt(in *os.File, lines *Lines, out io.Writer, editing bool) *Prompt {
	p := &Prompt{in: in, lines: lines}
	if !Is(in) {
		return p
	}
	p.asks = out
	file, ok := out.(*os.File)
	if editing && ok && Is(file) {
		p.out = file
		p.keys = &keys{from: in}
		p.editor = newEditor(p.keys, file)
	}
	return p
}

// Complete completes the line before the cursor when the tab key is pressed: with what all
// proposals have in common, or by listing them.
func (p *Prompt) Complete(proposals func(before string) (word string, list []string)) {
	if p.editor == nil {
		return
	}
	p.editor.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		word, list := proposals(line[:pos])
		if len(list) == 0 {
			return line, pos, true
		}
		more := common(list)
		if len(more) <= len(word) && len(list) > 1 {
			fmt.Fprintf(p.editor, "%s\n", strings.Join(list[:min(len(list), mostProposals)], "  "))
			return line, pos, true
		}
		begun := line[:pos-len(word)] + more
		return begun + line[pos:], len(begun), true
	}
}

// mostProposals is how many are listed.
const mostProposals = 60

// common is the beginning that all texts have.
func common(list []string) string {
	begin := list[0]
	for _, text := range list[1:] {
		for !strings.HasPrefix(text, begin) {
			begin = begin[:len(begin)-1]
		}
	}
	return begin
}

// keys are those that are pressed. An interrupt drops the line: it becomes the keys that
// go to the end of the line, delete it, and end it. It is read by itself, so that lines
// before it are over by then.
type keys struct {
	from    io.Reader
	left    []byte
	dropped bool
}

// dropLine are end, delete to the beginning, and enter.
const dropLine = "\x05\x15\r"

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	if len(k.left) == 0 {
		buffer := make([]byte, max(len(p), 1))
		n, err := k.from.Read(buffer)
		if n == 0 {
			return 0, err
		}
		k.left = buffer[:n]
	}
	if k.left[0] == interruptKey && len(p) >= len(dropLine) {
		k.left, k.dropped = k.left[1:], true
		return copy(p, dropLine), nil
	}
	next := k.left
	if i := bytes.IndexByte(next, interruptKey); i > 0 {
		next = next[:i]
	}
	n := copy(p, next)
	k.left = k.left[n:]
	return n, nil
}

// interruptKey is Ctrl-C on a terminal that leaves all keys to the editor.
const interruptKey = 3

func newEditor(in io.Reader, out io.Writer) *term.Terminal {
	editor := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "")
	editor.History = new(past)
	return editor
}

// past has what was typed before, without what is empty or the same again.
type past []string

// maxPast is how many lines are kept.
const maxPast = 500

// Add implements term.History.
func (p *past) Add(line string) {
	if list := *p; line != "" && (len(list) == 0 || list[len(list)-1] != line) {
		*p = append(list[max(0, len(list)-maxPast+1):], line)
	}
}

// Len implements term.History.
func (p *past) Len() int { return len(*p) }

// At implements term.History: 0 is the newest.
func (p *past) At(n int) string { return (*p)[len(*p)-1-n] }

// IsShown reports whether somebody sees prompts.
func (p *Prompt) IsShown() bool { return p.asks != nil }

// Text reads lines for as long as what they are together is unfinished. The error is
// io.EOF at the end of what is typed, which leaves the last line of a terminal.
func (p *Prompt) Text(ctx context.Context, unfinished func(string) bool) (string, error) {
	text, prompt := "", "> "
	for {
		line, err := p.line(ctx, prompt)
		switch {
		case errors.Is(err, io.EOF) && text != "" && !p.IsShown():
			return text, nil
		case errors.Is(err, io.EOF) && p.IsShown() && p.editor == nil:
			fmt.Fprintln(p.asks)
			return "", err
		case err != nil:
			return "", err
		}
		if p.keys != nil && p.keys.dropped {
			p.keys.dropped = false
			text, prompt = "", "> "
			continue
		}
		if text != "" {
			text += "\n"
		}
		if text += line; !unfinished(text) {
			return text, nil
		}
		prompt = ": "
	}
}

func (p *Prompt) line(ctx context.Context, prompt string) (string, error) {
	if p.editor != nil {
		return p.edited(ctx, prompt)
	}
	if p.IsShown() {
		fmt.Fprint(p.asks, prompt)
	}
	return p.lines.Next(ctx)
}

// edited reads a line while the terminal leaves all keys to the editor: so it is only
// meanwhile, that what is printed between lines and who is started then find it as usual.
func (p *Prompt) edited(ctx context.Context, prompt string) (string, error) {
	before, err := term.MakeRaw(int(p.in.Fd()))
	if err != nil {
		p.editor = nil
		return p.line(ctx, prompt)
	}
	defer term.Restore(int(p.in.Fd()), before)
	p.editor.SetPrompt(prompt)
	if width, height := Size(p.out); width > 0 {
		if err := p.editor.SetSize(width, height); err != nil {
			return "", err
		}
	}
	text, err := edit(ctx, p.editor)
	if err != nil {
		fmt.Fprint(p.out, "\r\n")
	}
	return text, err
}

// edit waits for a line of an editor. Giving up leaves one who reads behind, so that it is
// for good.
func edit(ctx context.Context, editor *term.Terminal) (string, error) {
	read := make(chan line, 1)
	go func() {
		text, err := editor.ReadLine()
		if errors.Is(err, term.ErrPasteIndicator) {
			err = nil
		}
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
