package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
	"weir.dev/weir/internal/ui/view/stream"
	"weir.dev/weir/internal/ui/view/summary"
)

// An End is what an apply came to that didn't do everything.
type End struct {
	Plan *plan.Plan
	// Endings are what became of the steps; what isn't there wasn't started.
	Endings map[execgraph.ID]event.Ending
	// Doubts are objects that may exist, of this run or earlier ones.
	Doubts []addr.Instance
	// Serial is that of the state; Saved: it has all that was done.
	Serial uint64
	Saved  bool
	// Program is the one whose commands go on; Command says how they are run here, nil as
	// they are.
	Program string
	Command func(diag.Command) diag.Command
}

// mostBlocks is how many blocks are named of what failed, is in doubt or wasn't started.
const mostBlocks = 8

// Write says what was done, what failed, what is in doubt, and what wasn't started because of
// what, and how to go on.
func (e End) Write(w io.Writer, o Options) error {
	p := &printer{o: o}
	done, failed, rest := e.sort()
	parts := []string{fmt.Sprintf("%d of %d done", done, e.total())}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(len(failed), "failed")
	add(len(e.Doubts), "in doubt")
	add(len(rest), "not begun")
	p.WriteString("\n" + o.Pen.Paint("Stopped: "+strings.Join(parts, ", ")+".", ansi.Bold))
	if e.Saved {
		fmt.Fprintf(p, " The state is saved, serial %d.", e.Serial)
	}
	p.WriteString("\n")
	e.list(p, "failed", e.objects(failed), ansi.Red, "")
	var doubts []addr.Object
	for _, d := range e.Doubts {
		doubts = append(doubts, addr.Object{Instance: d})
	}
	e.list(p, "in doubt", doubts, ansi.Yellow, "")
	e.list(p, "not begun", e.objects(rest), ansi.Gray, blame(e.causes(rest)))
	p.WriteString("  " + o.Pen.Paint(fmt.Sprintf("%-10s", "next"), ansi.Bold) + " " + e.next().String() + "\n")
	return p.flush(w)
}

// next is the command that continues.
func (e End) next() diag.Command {
	next := diag.Command{Program: e.Program, Name: "apply"}
	switch {
	case len(e.Doubts) > 0:
		next.Name = "recover"
	case e.Plan.Mode == plan.Destroy:
		next.Name = "destroy"
	}
	if e.Command != nil {
		next = e.Command(next)
	}
	return next
}

// Totals are the same for programs, with all objects.
func (e End) Totals() stream.Totals {
	done, failed, rest := e.sort()
	t := stream.Totals{
		Done: done, Failed: len(failed), InDoubt: len(e.Doubts), NotBegun: len(rest), Serial: e.Serial, Saved: e.Saved,
		FailedAt: addresses(e.objects(failed)), NotBegunAt: addresses(e.objects(rest)), BecauseOf: addresses(e.causes(rest)), Next: e.next().String(),
	}
	for _, d := range e.Doubts {
		t.InDoubtAt = append(t.InDoubtAt, d.String())
	}
	return t
}

func addresses(objects []addr.Object) (list []string) {
	for _, o := range objects {
		list = append(list, o.String())
	}
	return list
}

// total is how many steps there are that people count.
func (e End) total() int {
	n := 0
	for _, s := range e.Plan.Graph.Steps {
		if s.Kind.Counts() {
			n++
		}
	}
	return n
}

// sort sorts the steps that people count. Those that failed leave out objects in doubt.
func (e End) sort() (done int, failed, rest []execgraph.ID) {
	steps := e.Plan.Graph.Steps
	broken := map[execgraph.ID]bool{} // made, but not provisioned: tainted
	for id, s := range steps {
		if how, ended := e.Endings[execgraph.ID(id)]; s.Kind == execgraph.Provision && (!ended || how != event.Done) {
			for _, made := range s.Takes {
				broken[made] = true
			}
		}
	}
	for id := range steps {
		id := execgraph.ID(id)
		if !steps[id].Kind.Counts() {
			continue
		}
		switch how, ended := e.Endings[id]; {
		case !ended || how == event.Skipped:
			rest = append(rest, id)
		case how == event.Failed || broken[id]:
			if !slices.Contains(e.Doubts, e.Plan.Graph.Steps[id].At().Instance) {
				failed = append(failed, id)
			}
		default:
			done++
		}
	}
	return done, failed, rest
}

// objects are what steps are about; invocations are of actions.
func (e End) objects(steps []execgraph.ID) []addr.Object {
	var list []addr.Object
	for _, id := range steps {
		s := &e.Plan.Graph.Steps[id]
		o := s.At()
		if s.Kind == execgraph.Invoke {
			o = addr.Object{Instance: e.Plan.Invocations[s.Invocation-1].Addr}
		}
		if !slices.Contains(list[max(0, len(list)-1):], o) {
			list = append(list, o)
		}
	}
	return list
}

func (e End) list(p *printer, what string, objects []addr.Object, color ansi.Style, why string) {
	blocks := summary.Blocks(objects)
	for i, b := range blocks {
		head := ""
		if i == 0 {
			head = what
		}
		p.WriteString("  " + p.o.Pen.Paint(fmt.Sprintf("%-10s", head), color) + " ")
		if i == mostBlocks && len(blocks) > mostBlocks+1 {
			fmt.Fprintf(p, "and %d more\n", len(blocks)-i)
			break
		}
		p.WriteString(sanitize.Line(b.String()) + "\n")
	}
	if why != "" {
		p.WriteString(strings.Repeat(" ", 13) + why + "\n")
	}
}

// causes are what failed and kept steps from being started; the rest was interrupted.
func (e End) causes(rest []execgraph.ID) (causes []addr.Object) {
	steps := e.Plan.Graph.Steps
	var failed []execgraph.ID
	seen := map[execgraph.ID]bool{}
	todo := slices.Clone(rest)
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		for _, a := range steps[id].After {
			if seen[a] {
				continue
			}
			seen[a] = true
			switch how, ended := e.Endings[a]; {
			case ended && how == event.Failed && steps[a].Object != nil:
				failed = append(failed, a)
			case !ended || how == event.Skipped:
				todo = append(todo, a)
			}
		}
	}
	slices.Sort(failed)
	for _, id := range failed {
		causes = append(causes, *steps[id].Object)
	}
	return causes
}

// blame names causes, where there are any.
func blame(causes []addr.Object) string {
	if len(causes) == 0 {
		return ""
	}
	var names []string
	for i, b := range summary.Blocks(causes) {
		if i == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, sanitize.Line(b.String()))
	}
	return "because of " + strings.Join(names, ", ")
}
