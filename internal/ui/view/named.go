package view

import (
	"fmt"
	"strings"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/sanitize"
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
		lines = append(lines, option+"="+Quoted(n.Pattern.String())+" names "+sanitize.Line(text)+".")
	}
	return lines
}

// Quoted is a text as one word of a shell that means itself.
func Quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Heading are the lines that come before a plan: what its patterns name, and how many
// objects it took for what they were.
func Heading(p *plan.Plan) []string {
	lines := Named(p)
	if p.LeftOut != nil {
		lines = append(lines, p.LeftOut.Say(p.Timestamp, p.Unplanned))
	}
	return lines
}

// heading writes them.
func (p *planPrinter) heading() {
	for i, line := range Heading(p.plan) {
		if i == 0 {
			p.WriteByte('\n')
		}
		p.prose(line)
	}
}
