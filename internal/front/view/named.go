package view

import (
	"fmt"
	"strings"

	"weir.dev/weir/internal/front/view/clean"
	"weir.dev/weir/internal/plan"
)

// mostNamed is how many resources of a pattern are shown.
const mostNamed = 6

// Named says what the patterns of -target and -exclude name, a line for each: an option
// as shells take it, and resources.
func Named(p *plan.Plan) (lines []string) {
	option := "-exclude"
	if len(p.Targets) > 0 {
		option = "-target"
	}
	for _, n := range p.Named {
		var names []string
		for _, r := range n.Resources[:min(len(n.Resources), mostNamed)] {
			names = append(names, r.String())
		}
		text := strings.Join(names, ", ")
		if more := len(n.Resources) - len(names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, option+"="+Quoted(n.Pattern.String())+" names "+clean.Line(text)+".")
	}
	return lines
}

// Quoted is a text as one word of a shell that means itself.
func Quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// leftOut heads a plan with how many objects it took for what they were.
func (p *planPrinter) leftOut() {
	if l := p.plan.LeftOut; l != nil {
		p.WriteByte('\n')
		p.prose(l.Say(p.plan.Timestamp))
	}
}

// named heads a plan with what its patterns name.
func (p *planPrinter) named() {
	for i, line := range Named(p.plan) {
		if i == 0 {
			p.WriteByte('\n')
		}
		p.prose(line)
	}
}
