// Package view formats plans, states, outputs and values as text. Its subpackages format the
// rest: diagnostics, JSON documents, progress, graphs.
//
// It is an edge. It decides nothing and compares nothing but for display; it
// takes writers and options as arguments and knows neither flags nor streams.
package view

import (
	"bytes"
	"fmt"
	"io"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/why"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/diff"
)

// Engine is the engine's name in texts for people.
const Engine = "weir"

// Options say how things are set.
type Options struct {
	Pen ansi.Pen
	// Width is where prose is wrapped; 0 means ansi.DefaultWidth.
	Width int
	// Height is how many lines the screen has; 0 is unknown.
	Height int
	// Detail is the option or the answer that shows all of each change; empty is none.
	Detail string
	// ShowSensitive shows secrets.
	ShowSensitive bool
	// Product is the engine's name in the lines of a plan that other programs look
	// for, whole: they know OpenTofu and Terraform. Empty is Engine.
	Product string
	// Automation leaves out advice on what to run next.
	Automation bool
	// Fold sets differences for who reads them: see diff.Options.
	Fold bool
	// Because has the causes of a planned change; nil where nothing knows them.
	Because func(*plan.Change) []why.Chain
}

// causes are those of a planned change; nil where only the plan has them.
func (o Options) causes() func(*plan.Change) []string {
	if o.Because == nil {
		return nil
	}
	return func(c *plan.Change) []string { return why.Origins(o.Because(c)) }
}

// diff are the options for differences.
func (o Options) diff() diff.Options {
	return diff.Options{Pen: o.Pen, ShowSensitive: o.ShowSensitive, Fold: o.Fold}
}

func (o Options) product() string {
	if o.Product == "" {
		return Engine
	}
	return o.Product
}

func (o Options) width() int {
	if o.Width < 1 {
		return ansi.DefaultWidth
	}
	return o.Width
}

// A printer collects text and keeps it whole until it is written at once.
type printer struct {
	bytes.Buffer
	o Options
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(&p.Buffer, format, args...) }

// prose writes wrapped text and a line end.
func (p *printer) prose(text string) {
	p.WriteString(ansi.Wrap(text, p.o.width()) + "\n")
}

func (p *printer) rule() { p.WriteString(p.o.Pen.Rule(p.o.width()) + "\n") }

// flush writes the text so far.
func (p *printer) flush(w io.Writer) error {
	_, err := p.WriteTo(w)
	return err
}
