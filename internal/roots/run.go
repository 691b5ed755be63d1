package roots

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
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

	// reads are the outputs of upstream roots that planning has asked for, by the address of the data
	// source.
	reads map[string][]string
	// started: an apply has started. Outputs has what it has resulted in so far, and news is closed when
	// that becomes more. An apply that defers changes doesn't add to it.
	started bool
	outputs map[string]*state.Output
	news    chan struct{}
}

// NewRun prepares work on roots, which are in the order of their edges. With destroys the
// downstream roots come first.
func NewRun(e *Estate, list []*Root, destroys bool) *Run {
	r := &Run{estate: e, list: list, tasks: map[*Root]*task{}, places: make(chan struct{}, atOnce), destroys: destroys}
	for _, root := range list {
		r.tasks[root] = &task{planned: make(chan struct{}), ended: make(chan struct{}), shown: make(chan struct{}), reads: maps.Clone(root.savedReads), outputs: map[string]*state.Output{}, news: make(chan struct{})}
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
	s.Apply = r.Sharing(root)
	return s
}

// Sharing has an apply of a root give its outputs to the roots downstream as soon as they are final, and read
// those of upstream roots. It is nil if nothing is to be read, because all is destroyed.
func (r *Run) Sharing(root *Root) func(*plan.Plan, *engine.ApplyOptions) {
	if r.destroys {
		return nil
	}
	return func(p *plan.Plan, o *engine.ApplyOptions) {
		r.mu.Lock()
		r.tasks[root].started = true
		r.mu.Unlock()
		if len(p.Deferred) == 0 {
			o.Output = func(name string, out *state.Output) { r.output(root, name, out) }
		}
		o.Upstream = func(i *eval.Instance, p addr.Provider, config cty.Value) cty.Value {
			if to := r.readBy(root, i, p, config); to != nil {
				return r.final(to, config)
			}
			return cty.NilVal
		}
	}
}

// readBy is the root of the run whose state a data source of another one reads, nil for none.
func (r *Run) readBy(root *Root, i *eval.Instance, p addr.Provider, config cty.Value) *Root {
	if !builtin.IsRemoteState(p, i.Addr.Name) {
		return nil
	}
	at, ok := root.Reads(config)
	if to := r.estate.Of(at); ok && r.tasks[to] != nil && to != root {
		return to
	}
	return nil
}

// started reports whether an apply of a root has started.
func (r *Run) started(root *Root) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tasks[root].started
}

// output notes the final value of an output of a root, nil for none.
func (r *Run) output(root *Root, name string, out *state.Output) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tasks[root]
	t.outputs[name] = out
	close(t.news)
	t.news = make(chan struct{})
}

// final is what a data source reads of a root that is being applied: outputs that are final, and those
// that the plan doesn't change. It is NilVal for a root whose state has what was planned.
func (r *Run) final(of *Root, config cty.Value) cty.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tasks[of]
	if t.applied || !t.started {
		return cty.NilVal
	}
	values := map[string]cty.Value{}
	for _, o := range t.plan.Outputs {
		if v, _ := o.After.UnmarkDeep(); o.Action == plan.NoOp && v.IsWhollyKnown() && !v.IsNull() {
			values[o.Name] = v
		}
	}
	for name, o := range t.outputs {
		if delete(values, name); o != nil {
			values[name] = o.Value
		}
	}
	return builtin.RemoteState(config, values)
}

// needed are the outputs of a root that the module of a data source refers to.
func needed(i *eval.Instance, of *Root) (names []string) {
	all := false
	for _, d := range i.Frame.Program.Declarations() {
		d.Parts(func(p program.Part) {
			for _, ref := range p.References() {
				if ref.Resource != i.Resource {
					continue
				}
				name, ok := outputIn(ref.Rest)
				if all = all || !ok; ok {
					names = append(names, name)
				}
			}
		})
	}
	if of.config == nil || of.config.Tree == nil || of.config.Tree.Program == nil {
		return names
	}
	has := of.config.Tree.Program.OutputByName
	if all {
		names = slices.Collect(maps.Keys(has))
	}
	return slices.DeleteFunc(names, func(name string) bool { return has[name] == nil || has[name].Ephemeral })
}

// outputIn is the output that a reference to a terraform_remote_state names. It isn't ok where that may be
// any.
func outputIn(rest hcl.Traversal) (name string, ok bool) {
	if len(rest) == 0 {
		return "", false
	}
	first, ok := rest[0].(hcl.TraverseAttr)
	switch {
	case !ok:
		return "", false
	case first.Name != "outputs":
		return "", true // none of the outputs
	case len(rest) == 1:
		return "", false
	}
	switch step := rest[1].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// upstream is what a data source of a root will have when the root is applied that it reads, NilVal
// where it can be read now.
func (r *Run) upstream(ctx context.Context, root *Root, i *eval.Instance, p addr.Provider, config cty.Value) (cty.Value, diag.List) {
	to := r.readBy(root, i, p, config)
	if to == nil {
		return cty.NilVal, nil
	}
	t := r.tasks[to]
	if diags := r.connect(root, to, Read{i.Addr.String(), root.seen(i.Resource.Range)}); diags.HasErrors() {
		return cty.NilVal, diags
	}
	names := needed(i, to)
	interrupted := diag.Interrupted.List("Planning was interrupted before it was done.")
	if r.started(root) { // a later round plans with what the others have resulted in
		switch {
		case r.await(ctx, to, names):
			return r.final(to, config), nil
		case ctx.Err() != nil:
			return cty.NilVal, interrupted
		}
		return cty.NilVal, Upstream.List("The state of the root %s is read here, and that root could not be applied. Its problems are reported there.", to.Name)
	}
	if !r.away(ctx, t.planned) {
		return cty.NilVal, interrupted
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.tasks[root]
	if own.reads == nil {
		own.reads = map[string][]string{}
	}
	own.reads[i.Addr.String()] = names
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

// Await waits until a root can be applied: the outputs of upstream roots are final that it refers to, and
// the roots are applied that come before it for another reason. It returns those that weren't.
func (r *Run) Await(ctx context.Context, root *Root) (failed []string) {
	for _, other := range r.before(root) {
		if !r.await(ctx, other, r.wanted(root, other)) {
			failed = append(failed, other.Name)
		}
	}
	slices.Sort(failed)
	return failed
}

// wanted are the outputs of an upstream root that have to be final before a root is applied; nil stands
// for all that it does.
func (r *Run) wanted(root, of *Root) []string {
	if r.destroys {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	names := []string{}
	for _, e := range root.Upstream {
		if e.To != of {
			continue
		}
		reads, ok := r.tasks[root].reads[e.Address]
		if !ok {
			return nil
		}
		names = append(names, reads...)
	}
	return names
}

// await waits until the outputs of a root are final, or it has ended. It reports whether they are.
func (r *Run) await(ctx context.Context, of *Root, outputs []string) bool {
	t := r.tasks[of]
	for {
		r.mu.Lock()
		ended, news := isClosed(t.ended), t.news
		final := outputs != nil && !slices.ContainsFunc(outputs, func(name string) bool { _, ok := t.outputs[name]; return !ok })
		done := final && t.started || ended && t.done
		r.mu.Unlock()
		if done || ended {
			return done
		}
		if !r.away(ctx, news) {
			return false
		}
	}
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
	close(t.news)
	t.news = make(chan struct{})
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
