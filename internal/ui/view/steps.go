package view

import (
	"io"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/ui/view/ansi"
	"weir.dev/weir/internal/ui/view/sanitize"
)

// Steps writes every step of a plan's apply with what it waits for, in words.
// Uninformative steps are left out: joints of few steps, which are resolved into
// these, and the opening of a step's provider where another step that it waits
// for uses the same one. The text is linear in steps and waits.
func Steps(w io.Writer, pl *plan.Plan, o Options) error {
	p := &stepPrinter{printer: printer{o: o}, graph: pl.Graph, actions: map[addr.Object]plan.Action{}}
	if pl.Graph == nil {
		p.prose("\nThe plan failed when it was made, so it has no steps.")
		return p.flush(w)
	}
	if len(pl.Graph.Steps) == 0 {
		p.prose("\nApplying this plan takes no steps.")
		return p.flush(w)
	}
	for _, c := range pl.Changes {
		p.actions[c.Addr] = c.Action
	}
	p.resolve()
	p.WriteString("\n" + o.Pen.Paint("Steps", ansi.Bold) + " of the apply, each with what it waits for:\n\n")
	for n := range pl.Graph.Steps {
		if p.numbers[n] > 0 {
			p.step(execgraph.ID(n))
		}
	}
	return p.flush(w)
}

type stepPrinter struct {
	printer
	graph   *execgraph.Graph
	actions map[addr.Object]plan.Action
	numbers []int // of the steps that are shown, from 1
	// opened is, for each step, a provider that it needs itself or through
	// another that it waits for.
	opened []*addr.ProviderConfig
	after  [][]execgraph.ID // what steps wait for, joints that aren't shown resolved
}

// resolve numbers the steps that are shown. A gate isn't when naming what it
// joins wherever it is awaited is about as short.
func (p *stepPrinter) resolve() {
	steps := p.graph.Steps
	awaited := make([]int, len(steps))
	for _, s := range steps {
		for _, after := range s.After {
			awaited[after]++
		}
	}
	p.numbers, p.after = make([]int, len(steps)), make([][]execgraph.ID, len(steps))
	p.opened = make([]*addr.ProviderConfig, len(steps))
	last := 0
	for n, s := range steps {
		for _, after := range s.After {
			if p.numbers[after] > 0 {
				p.after[n] = append(p.after[n], after)
			} else {
				p.after[n] = append(p.after[n], p.after[after]...)
			}
		}
		p.opened[n] = s.Provider
		for _, after := range s.After {
			if p.opened[n] == nil {
				p.opened[n] = p.opened[after]
			}
		}
		slices.Sort(p.after[n])
		p.after[n] = slices.Compact(p.after[n])
		joined := len(p.after[n])
		if s.Kind != execgraph.Gate || joined*awaited[n] > 2*(joined+awaited[n]) {
			last++
			p.numbers[n] = last
		}
	}
}

func (p *stepPrinter) step(id execgraph.ID) {
	s := &p.graph.Steps[id]
	p.printf("%5d  %s", p.numbers[id], p.words(id, true))
	switch s.When {
	case execgraph.Always:
		p.WriteString(" (whatever happens)")
	case execgraph.OnFailure:
		p.printf(" (only if %d fails)", p.numbers[s.Of])
	}
	if s.Batch > 0 {
		p.printf(" (in batch %d)", s.Batch)
	}
	p.WriteByte('\n')
	waits, users := p.waits(id)
	lead := "after"
	for _, after := range waits {
		p.printf("         %-5s %4d  %s\n", lead, p.numbers[after], p.words(after, false))
		lead = ""
	}
	if users {
		p.printf("         %-5s %4s  every step that uses it\n", lead, "")
	}
}

// waits are the steps that are worth naming, and whether the end of a provider
// waits for others that use it.
func (p *stepPrinter) waits(id execgraph.ID) (named []execgraph.ID, users bool) {
	s := &p.graph.Steps[id]
	var opening []execgraph.ID
	implied := false
	for _, after := range p.after[id] {
		of := &p.graph.Steps[after]
		same := equal(p.opened[after], s.Provider)
		switch {
		case same && of.Kind == execgraph.OpenProvider:
			opening = append(opening, after)
		case same && equal(of.Provider, s.Provider) && s.Kind == execgraph.CloseProvider:
			implied, users = true, true
		default:
			implied = implied || same
			named = append(named, after)
		}
	}
	if !implied {
		named = append(opening, named...)
	}
	return named, users
}

// equal reports whether two provider instances are the same one, and one at all.
func equal(a, b *addr.ProviderConfig) bool { return a != nil && b != nil && *a == *b }

// words say what a step does. As a line of its own it shows its action's
// colour.
func (p *stepPrinter) words(id execgraph.ID, own bool) string {
	s := &p.graph.Steps[id]
	verb, colour, what := p.verb(s, own)
	if own && colour != "" {
		verb = p.o.Pen.Paint(verb, colour)
	}
	if what == "" {
		return verb
	}
	return verb + " " + sanitize.Line(what)
}

func (p *stepPrinter) verb(s *execgraph.Step, own bool) (verb string, colour ansi.Style, what string) {
	switch s.Kind {
	case execgraph.Gate:
		if own {
			return "wait for all of these", "", ""
		}
		return "all that it waits for", "", ""
	case execgraph.OpenProvider:
		return "open", "", providerName(*s.Provider)
	case execgraph.CloseProvider:
		return "close", "", providerName(*s.Provider)
	case execgraph.Output:
		return "evaluate output", "", s.Name
	case execgraph.Invoke:
		return "invoke", ansi.Cyan, s.Name
	case execgraph.Condition:
		if s.Name != "" {
			return "evaluate", "", s.Check()
		}
		return "check conditions of", "", s.Object.String()
	}
	what = s.Object.String()
	switch s.Kind {
	case execgraph.Apply:
		if p.actions[*s.Object] == plan.Update {
			return "update", ansi.Yellow, what
		}
		return "create", ansi.Green, what
	case execgraph.Destroy:
		return "destroy", ansi.Red, what
	case execgraph.ReadData:
		return "read", ansi.Cyan, what
	case execgraph.Depose:
		return "set aside", "", what
	case execgraph.RestoreDeposed:
		return "take back", "", what
	case execgraph.OpenEphemeral:
		return "open", "", what
	case execgraph.CloseEphemeral:
		return "close", "", what
	case execgraph.Provision:
		return "provision", "", what
	case execgraph.ProvisionDestroy:
		return "run destroy provisioners of", "", what
	case execgraph.Finalize:
		return "plan again", "", what
	}
	return s.Kind.String(), "", what
}

// providerName is how messages name a provider instance.
func providerName(c addr.ProviderConfig) string {
	text := "provider " + c.Provider.ForDisplay()
	if c.Alias != "" {
		text += "." + c.Alias
	}
	return inModule(text+c.Key.String(), c.Module)
}

func inModule(name string, m addr.Module) string {
	if m.IsRoot() {
		return name
	}
	return name + " of " + m.String()
}
