package progress

import (
	"container/heap"
	"maps"
	"time"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/plan/execgraph"
)

// A course is how far the steps of a plan are.
type course struct {
	plan   *plan.Plan
	steps  []execgraph.Step
	atOnce int
	before Durations // from earlier runs
	now    Durations // of this one
	blocks Durations // of this one, by block
	shares []share   // of the blocks in the plan

	next  [][]execgraph.ID
	ended []bool
	what  []string // what is done by a step that people count
	block []string // and of which block it is
	tally *event.Tally
}

func newCourse(p *plan.Plan, atOnce int, before Durations) *course {
	steps := p.Graph.Steps
	c := &course{
		plan: p, steps: steps, atOnce: atOnce, before: before, now: Durations{}, blocks: Durations{},
		tally: event.Tallied(p), next: make([][]execgraph.ID, len(steps)), ended: make([]bool, len(steps)),
		what: make([]string, len(steps)), block: make([]string, len(steps)),
	}
	seen := map[string]int{}
	for id := range steps {
		s := &steps[id]
		for _, a := range s.After {
			c.next[a] = append(c.next[a], execgraph.ID(id))
		}
		if s.Kind.Counts() {
			c.what[id] = What(p, s)
			c.block[id] = c.what[id] + " " + s.Object.Resource.Erase().String()
			n, there := seen[c.block[id]]
			if !there {
				n = len(c.shares)
				seen[c.block[id]] = n
				c.shares = append(c.shares, share{block: c.block[id], what: c.what[id]})
			}
			c.shares[n].steps++
		}
	}
	return c
}

// end takes in what became of a step.
func (c *course) end(id execgraph.ID, how event.Ending) {
	made, counted := c.tally.End(id, how)
	c.ended[id] = counted || !c.steps[id].Kind.Counts()
	if counted {
		c.ended[made] = true
	}
}

// running reports whether there is anything left to do.
func (c *course) running() bool { return c.tally.Ended() < c.tally.Total }

// enough reports whether so much is known that one can tell how long the rest takes.
func (c *course) enough() bool {
	return len(c.before) > 0 || c.tally.Done >= 3 && c.tally.Done*10 >= c.tally.Total
}

// A share is how many steps of a plan are of one block and do the same.
type share struct {
	block, what string
	steps       int
}

// took notes how long a step took.
func (c *course) took(id execgraph.ID, time time.Duration) {
	c.now.add(c.what[id], time, remembered)
	c.blocks.add(c.block[id], time, ofOneRun)
}

// behind counts the steps that people know of and that can't end before one does.
func (c *course) behind(id execgraph.ID) int {
	n := 0
	seen := map[execgraph.ID]bool{id: true}
	todo := []execgraph.ID{id}
	for len(todo) > 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range c.next[last] {
			if seen[to] || c.ended[to] {
				continue
			}
			seen[to] = true
			todo = append(todo, to)
			if c.steps[to].Kind.Counts() {
				n++
			}
		}
	}
	return n
}

// usual is how long a step takes, by what those of its block took in this run, else by what
// such steps took so far, in this run and before. Where there is no such step it is the mean
// of all in this run.
func (c *course) usual(id execgraph.ID, of means) (time.Duration, bool) {
	for _, name := range []string{c.block[id], c.what[id]} {
		if d, known := of[name]; known {
			return seconds(d.Seconds), true
		}
	}
	d, known := of[""]
	return seconds(d.Seconds), known
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// means are durations by what is done, and by block, with that of all steps under "".
type means map[string]Duration

// trusted is how many steps of this run count as much as all earlier ones.
const trusted = 5

// means are of this run and those before, and of what runs for longer than usual, so that
// steps which take long aren't overlooked because they haven't ended. Blocks count for as many
// steps as they have in the plan, not as have been seen by now: who takes long and begins
// early would count for more than it does in the rest.
func (c *course) means(running map[execgraph.ID]time.Duration) means {
	blocks := maps.Clone(c.blocks)
	for id, since := range running {
		d, known := c.now[c.what[id]]
		if known && since.Seconds() > max(d.Seconds, blocks[c.block[id]].Seconds) {
			blocks.add(c.block[id], since, ofOneRun)
		}
	}
	out := means{}
	for what, d := range c.before {
		d.Runs = min(d.Runs, trusted)
		out[what] = d
	}
	now, steps := Durations{}, map[string]int{}
	for _, s := range c.shares {
		if d, known := blocks[s.block]; known {
			for _, what := range []string{s.what, ""} {
				steps[what] += s.steps
				m := now[what]
				now[what] = Duration{m.Seconds + (d.Seconds-m.Seconds)*float64(s.steps)/float64(steps[what]), m.Runs + d.Runs}
			}
		}
	}
	for what, d := range now {
		out[what] = together(out[what], d)
	}
	maps.Copy(out, blocks)
	return out
}

func together(a, b Duration) Duration {
	n := a.Runs + b.Runs
	return Duration{(a.Seconds*float64(a.Runs) + b.Seconds*float64(b.Runs)) / float64(n), n}
}

// overdue is what part of the time a step has taken is taken for left where it takes
// longer than usual.
const overdue = 4

// left plays the rest of the graph, with as many calls at once as there may be and each step
// as long as such ones usually take, and reports how long it takes.
func (c *course) left(running map[execgraph.ID]time.Duration) (time.Duration, bool) {
	of := c.means(running)
	if c.tally.Total == 0 || len(of) == 0 {
		return 0, false
	}
	waiting := make([]int, len(c.steps))
	var first []execgraph.ID
	for id := range c.steps {
		if c.ended[id] {
			continue
		}
		for _, a := range c.steps[id].After {
			if !c.ended[a] {
				waiting[id]++
			}
		}
		if waiting[id] == 0 {
			first = append(first, execgraph.ID(id))
		}
	}
	var at time.Duration
	var busy ends
	var ready []execgraph.ID
	begin := func(id execgraph.ID, rest time.Duration) { heap.Push(&busy, end{at + rest, id}) }
	for id, since := range running {
		usual, _ := c.usual(id, of)
		begin(id, max(usual-since, since/overdue))
	}
	// free is for a step that nothing is before any more. Steps that people don't see take no time.
	free := func(all []execgraph.ID) {
		for len(all) > 0 {
			id := all[0]
			all = all[1:]
			if _, runs := running[id]; runs {
				continue
			}
			if c.steps[id].Kind.Counts() {
				ready = append(ready, id)
				continue
			}
			all = append(all, c.freed(id, waiting)...)
		}
	}
	free(first)
	for len(ready) > 0 || len(busy) > 0 {
		for len(ready) > 0 && len(busy) < max(c.atOnce, 1) {
			usual, _ := c.usual(ready[0], of)
			begin(ready[0], usual)
			ready = ready[1:]
		}
		next := heap.Pop(&busy).(end)
		at = next.at
		free(c.freed(next.id, waiting))
	}
	return at, true
}

// freed are the steps that waited for one only.
func (c *course) freed(id execgraph.ID, waiting []int) []execgraph.ID {
	var out []execgraph.ID
	for _, to := range c.next[id] {
		if waiting[to]--; waiting[to] == 0 && !c.ended[to] {
			out = append(out, to)
		}
	}
	return out
}

// An end is when a step is over. ends are a heap, the first one on top.
type end struct {
	at time.Duration
	id execgraph.ID
}

type ends []end

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].id < e[j].id
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
