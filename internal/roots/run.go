package roots

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/workspace"
)

// atOnce is how many roots are worked on at the same time. More need memory and aren't faster, since
// limits of calls hold for all of them. One that waits for another doesn't
// count.
const atOnce = 4

// A Run plans roots together, and perhaps applies them. Each root calls its methods in their
// order: Begin, Planned, perhaps Approved and Await, and in any case End.
type Run struct {
	estate   *Estate
	list     []*Root
	tasks    map[*Root]*task
	places   chan struct{}
	destroys bool

	mu sync.Mutex // of the edges and of what has become of tasks
}

// A task is the work on one root.
type task struct {
	planned, ended chan struct{}
	plan           *plan.Plan // nil if it couldn't be made
	stored         bool       // there was a state before
	applied        bool       // the state has what was planned
	done           bool       // it has ended well
	shown          chan struct{}
}

// NewRun prepares work on roots, which are in the order of their edges. With destroys the
// downstream roots come first.
func NewRun(e *Estate, list []*Root, destroys bool) *Run {
	r := &Run{estate: e, list: list, tasks: map[*Root]*task{}, places: make(chan struct{}, atOnce), destroys: destroys}
	for _, root := range list {
		r.tasks[root] = &task{planned: make(chan struct{}), ended: make(chan struct{}), shown: make(chan struct{})}
	}
	return r
}

// Begin waits for a place among the roots that are worked on.
func (r *Run) Begin() { r.places <- struct{}{} }

// away waits for others and gives a place back meanwhile. Several reads of a root may do so: each takes a
// place again, so that their number stays the same. If all places were given back already, a read
// waits without one. Otherwise roots that wait for each other's places would never go on. It
// reports whether the context is still valid.
func (r *Run) away(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return ctx.Err() == nil
	default:
	}
	select {
	case <-r.places:
		defer r.Begin()
	case <-done:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
	select {
	case <-done:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Subject is the configuration and the state of a root in a directory, which is that of the root
// or reports elsewhere. Reads of the states of other roots of the run give planned outputs.
func (r *Run) Subject(root *Root, d *workspace.Directory) workspace.Subject {
	s := d.Configuration()
	if r.destroys {
		return s // nothing is planned that could be read
	}
	create := s.Plan
	s.Plan = func(ctx context.Context, w *workspace.Work, o engine.PlanOptions) (*plan.Plan, diag.List) {
		o.Upstream = func(i *eval.Instance, p addr.Provider, config cty.Value) (cty.Value, diag.List) {
			return r.upstream(ctx, root, i, p, config)
		}
		return create(ctx, w, o)
	}
	return s
}

// upstream is what a data source of a root will have when the root is applied that it reads, NilVal
// where it can be read now.
func (r *Run) upstream(ctx context.Context, root *Root, i *eval.Instance, p addr.Provider, config cty.Value) (cty.Value, diag.List) {
	if !builtin.IsRemoteState(p, i.Addr.Name) {
		return cty.NilVal, nil
	}
	at, ok := root.Reads(config)
	to := r.estate.Of(at)
	t := r.tasks[to]
	if !ok || t == nil || to == root {
		return cty.NilVal, nil
	}
	if diags := r.connect(root, to, Read{i.Addr.String(), root.seen(i.Resource.Range)}); diags.HasErrors() {
		return cty.NilVal, diags
	}
	if !r.away(ctx, t.planned) {
		return cty.NilVal, diag.Interrupted.List("Planning was interrupted before it was done.")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case t.plan == nil:
		return cty.NilVal, Upstream.List("The state of the root %s is read here, and that root could not be planned. Its problems are reported there.", to.Name)
	case t.applied:
		return cty.NilVal, nil // the state has what was planned
	}
	outputs, changes := planned(to.config, t.plan)
	if !changes && t.stored {
		return cty.NilVal, nil
	}
	return builtin.RemoteState(config, outputs), nil
}

// planned are the outputs that the state of a root will have, and whether these differ from what
// it has.
func planned(c *engine.Config, p *plan.Plan) (outputs map[string]cty.Value, changes bool) {
	outputs = map[string]cty.Value{}
	known := map[string]bool{}
	for _, o := range p.Outputs {
		known[o.Name] = true
		changes = changes || o.Action != plan.NoOp
		v, _ := o.After.UnmarkDeep()
		if o.Action == plan.Delete || v.IsKnown() && v.IsNull() {
			continue
		}
		if o.Sensitive && o.Action != plan.NoOp {
			v = v.Mark(value.Sensitive)
		}
		outputs[o.Name] = v
	}
	if c == nil || c.Tree == nil || c.Tree.Program == nil {
		return outputs, changes
	}
	for _, o := range c.Tree.Program.Outputs {
		if !known[o.Name] && !o.Ephemeral { // it waits for a later round
			outputs[o.Name], changes = cty.DynamicVal, true
		}
	}
	return outputs, changes
}

// connect notes that a root reads the state of another one, unless that closes a circle.
func (r *Run) connect(root, to *Root, why Read) diag.List {
	r.mu.Lock()
	defer r.mu.Unlock()
	if way := r.way(to, root, map[*Root]bool{}); way != nil {
		return diag.List{circle(root, append([]Edge{{to, why}}, way...))}
	}
	root.upstream(to, why)
	return nil
}

// way is how a root leads to another one of the run, nil for not at all.
func (r *Run) way(from, to *Root, seen map[*Root]bool) []Edge {
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, e := range from.Upstream {
		if r.tasks[e.To] == nil {
			continue
		}
		if e.To == to {
			return []Edge{e}
		}
		if rest := r.way(e.To, to, seen); rest != nil {
			return append([]Edge{e}, rest...)
		}
	}
	return nil
}

// Planned notes the plan of a root, nil where none could be made that can be applied. Those who
// read its state go on.
func (r *Run) Planned(root *Root, w *workspace.Work, p *plan.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tasks[root]
	if isClosed(t.planned) {
		return // a later round
	}
	if p != nil && !p.Errored {
		t.plan, t.stored = p, w.State.Base() != nil
		if r.destroys {
			r.storedReads(root, w.Snapshot())
		}
	}
	close(t.planned)
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// storedReads adds the edges of the reads that a state has: a plan to destroy makes none.
func (r *Run) storedReads(root *Root, s *state.Snapshot) {
	block := builtin.RemoteStateBlock()
	for a, o := range s.Objects {
		if !builtin.IsRemoteState(o.Provider.Provider, a.Name) {
			continue
		}
		config, err := value.FromJSON(o.JSON, block.ImpliedType())
		if err != nil {
			continue // static edges are left
		}
		at, ok := root.Reads(config)
		to := r.estate.Of(at)
		if ok && r.tasks[to] != nil && to != root && r.way(to, root, map[*Root]bool{}) == nil {
			root.upstream(to, Read{Address: a.Instance.String()})
		}
	}
}

// Turn waits until the plans of the roots before one were shown; shown is called when its own is.
func (r *Run) Turn(ctx context.Context, root *Root) (shown func()) {
	for _, other := range r.list {
		if other == root {
			break
		}
		r.away(ctx, r.tasks[other].shown)
	}
	return func() { r.shown(root) }
}

// shown lets the roots after one show their plans.
func (r *Run) shown(root *Root) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tasks[root]; !isClosed(t.shown) {
		close(t.shown)
	}
}

// All waits until all roots are planned and shown. It returns their plans by their names, and the
// roots that couldn't be planned.
func (r *Run) All(ctx context.Context) (plans map[string]*plan.Plan, failed []string) {
	for _, root := range r.list {
		if !r.away(ctx, r.tasks[root].planned) || !r.away(ctx, r.tasks[root].shown) {
			return nil, Names(r.list)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	plans = map[string]*plan.Plan{}
	for _, root := range r.list {
		if t := r.tasks[root]; t.plan != nil {
			plans[root.Name] = t.plan
		} else {
			failed = append(failed, root.Name)
		}
	}
	return plans, failed
}

// before are the roots of the run that have to be applied before one.
func (r *Run) before(root *Root) (list []*Root) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.destroys {
		return slices.DeleteFunc(root.Upstreams(), func(o *Root) bool { return r.tasks[o] == nil })
	}
	for _, other := range r.list {
		if slices.Contains(other.Upstreams(), root) {
			list = append(list, other)
		}
	}
	return list
}

// Await waits until the roots are applied that come before one. It returns those that weren't.
func (r *Run) Await(ctx context.Context, root *Root) (failed []string) {
	for _, other := range r.before(root) {
		t := r.tasks[other]
		went := r.away(ctx, t.ended)
		r.mu.Lock()
		if !went || !t.done {
			failed = append(failed, other.Name)
		}
		r.mu.Unlock()
	}
	slices.Sort(failed)
	return failed
}

// Applied notes that a plan of a root was applied as a whole.
func (r *Run) Applied(root *Root) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[root].applied = true
}

// End notes what has become of a root, and frees its place.
func (r *Run) End(root *Root, done bool) {
	r.Planned(root, nil, nil)
	r.shown(root)
	r.mu.Lock()
	t := r.tasks[root]
	t.done = done
	close(t.ended)
	r.mu.Unlock()
	<-r.places
}

// Skipped is why a root wasn't applied although it could be planned.
func Skipped(failed []string) string {
	if len(failed) == 1 {
		return failed[0] + " failed"
	}
	return strings.Join(failed, ", ") + " failed"
}
