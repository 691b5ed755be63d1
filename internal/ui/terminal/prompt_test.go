package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// TestEditing: a line is what the keys make of it, and earlier ones come back.
func TestEditing(t *testing.T) {
	const up, down, left, home, end = "\x1b[A", "\x1b[B", "\x1b[D", "\x01", "\x05"
	var out bytes.Buffer
	editor := newEditor(strings.NewReader(strings.Join([]string{
		"var.a\r",
		"vra" + left + left + "\x7f" + "va" + home + "\x0b" + "var.b\r", // ends up as one line
		"\r",
		up + up + "x" + end + "y\r", // the empty line isn't kept
		up + up + down + "\r",
		"gone\x03",
	}, "")), &out)
	for _, want := range []string{"var.a", "var.b", "", "var.axy", "var.axy"} {
		got, err := edit(t.Context(), editor)
		if err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if got, err := edit(t.Context(), editor); !errors.Is(err, io.EOF) {
		t.Errorf("after an interrupt: %q, %v", got, err)
	}
	if h := editor.History.(*past); fmt.Sprint(*h) != "[var.a var.b var.axy]" {
		t.Error(*h)
	}
}

// TestEditingGivenUp: waiting ends with the context.
func TestEditingGivenUp(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := edit(ctx, newEditor(in, io.Discard)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPast(t *testing.T) {
	var p past
	for i := range maxPast + 10 {
		p.Add(fmt.Sprint(i))
		p.Add(fmt.Sprint(i))
		p.Add("")
	}
	if p.Len() != maxPast || p.At(0) != fmt.Sprint(maxPast+9) || p.At(maxPast-1) != "10" {
		t.Error(p.Len(), p.At(0), p.At(p.Len()-1))
	}
}

// TestPromptOfFile: lines of a file are read without prompts, and the last text may be
// unfinished.
func TestPromptOfFile(t *testing.T) {
	in, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(write, "a\n(b\nc)\n(d")
	write.Close()
	var out bytes.Buffer
	p := NewPrompt(in, NewLines(in), &out, true)
	unfinished := func(text string) bool { return strings.Count(text, "(") > strings.Count(text, ")") }
	for _, want := range []string{"a", "(b\nc)", "(d"} {
		if got, err := p.Text(t.Context(), unfinished); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := p.Text(t.Context(), unfinished); !errors.Is(err, io.EOF) || out.Len() > 0 || p.IsShown() {
		t.Error(err, out.String())
	}
}

// TestLinesOnDemand: what comes after a line is left to others.
func TestLinesOnDemand(t *testing.T) {
	in, write := io.Pipe()
	lines := NewLines(in)
	go fmt.Fprint(write, "one\n")
	if got, err := lines.Next(t.Context()); err != nil || got != "one" {
		t.Fatal(got, err)
	}
	go fmt.Fprint(write, "two\n")
	var b [4]byte
	if _, err := io.ReadFull(in, b[:]); err != nil || string(b[:]) != "two\n" {
		t.Error(string(b[:]), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lines.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go fmt.Fprint(write, "three\n")
	if got, err := lines.Next(t.Context()); err != nil || got != "three" {
		t.Error(got, err)
	}
}

// TestInterruptDropsLine: as in other shells it isn't the end, and lines before it count.
func TestInterruptDropsLine(t *testing.T) {
	k := &keys{from: strings.NewReader("var.a\rupp\x1b[D\x03var.b\r")}
	editor := newEditor(k, io.Discard)
	for _, want := range []struct {
		line    string
		dropped bool
	}{{"var.a", false}, {"", true}, {"var.b", false}} {
		k.dropped = false
		if got, err := edit(t.Context(), editor); err != nil || got != want.line || k.dropped != want.dropped {
			t.Errorf("got %q, %v, dropped %t, want %q", got, err, k.dropped, want.line)
		}
	}
}

func TestComplete(t *testing.T) {
	var out bytes.Buffer
	p := &Prompt{editor: newEditor(strings.NewReader("1 + var.n\t\t\r"+"var.name\t\r"+"x\t\r"), &out)}
	p.Complete(func(before string) (string, []string) {
		word := before[strings.LastIndexByte(before, ' ')+1:]
		var list []string
		for _, name := range []string{"var.name", "var.names"} {
			if strings.HasPrefix(name, word) {
				list = append(list, name)
			}
		}
		return word, list
	})
	for _, want := range []string{"1 + var.name", "var.name", "x"} {
		if got, err := edit(t.Context(), p.editor); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if !strings.Contains(out.String(), "var.name  var.names") {
		t.Errorf("%q", out.String())
	}
}
