package simtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/execgraph"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/statefile"
)

// A Failure is a promise that wasn't kept.
type Failure struct {
	Step int
	// Kind tells failures apart, also between larger and smaller cases.
	Kind   string
	Detail string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("step %d: %s\n%s", f.Step+1, f.Kind, f.Detail)
}

// Invalid are the summaries of errors that a configuration deserves: such a
// case ends there.
var Invalid = []string{"Ambiguous move statements", "Moved object still exists", "Redundant move statement", "Cyclic dependency in move statements", "Cross-package move statement"}

// Stats count what was seen.
type Stats struct{ Steps, Invalid, Demanded, Failed, Ops int }

// Add adds what somebody else has seen.
func (s *Stats) Add(other Stats) {
	s.Steps += other.Steps
	s.Invalid += other.Invalid
	s.Demanded += other.Demanded
	s.Failed += other.Failed
	s.Ops += other.Ops
}

// Run plays a history and holds every step to the promises; then everything
// is destroyed. seed decides how the plans are applied.
func (c Case) Run(seed uint64, stats *Stats) (failure *Failure) {
	w := NewWorld()
	r := &runner{world: w, rand: rand.New(rand.NewPCG(seed, 2)), stats: stats}
	defer func() {
		if p := recover(); p != nil {
			failure = &Failure{r.step, "panic", fmt.Sprint(p)}
		}
	}()
	for i, step := range c {
		r.step = i
		stats.Steps++
		r.drift(step)
		if failure, ok := r.play(step); failure != nil || !ok {
			return failure
		}
	}
	r.step = len(c)
	return r.end()
}

// Files are the configuration of the step.
func (s Step) Files() module.Memory {
	if s.Text != nil {
		return s.Text
	}
	return s.Model.Files()
}

// A runner plays one case.
type runner struct {
	world *World
	rand  *rand.Rand
	stats *Stats
	step  int

	files  module.Memory // of the last step
	config *engine.Config
}

func (r *runner) fail(kind, format string, args ...any) *Failure {
	return &Failure{r.step, kind, fmt.Sprintf(format, args...)}
}

// problems are the errors among diagnostics, as text.
func problems(diags diag.List) string {
	var b strings.Builder
	for _, d := range diags {
		if d.Severity == diag.Error {
			fmt.Fprintf(&b, "%s: %s\n", d.Summary, d.Detail)
		}
	}
	return b.String()
}

func (r *runner) drift(step Step) {
	for _, d := range step.Drift {
		kind, name, _ := strings.Cut(d, " ")
		for _, id := range r.world.Cloud.IDs() {
			if text(r.world.Cloud.Object(id), "name") != name {
				continue
			}
			if kind == "set" {
				r.world.Cloud.Set(id, "value", "drifted")
			} else if !r.world.Cloud.InUse(id) {
				r.world.Cloud.Drop(id)
			}
		}
	}
}

// play plans and applies one step. It isn't ok when the case can't go on,
// because the configuration is wrong.
func (r *runner) play(step Step) (failure *Failure, ok bool) {
	if f := r.load(step); f != nil {
		return f, false
	}
	o := engine.PlanOptions{SkipRefresh: step.SkipRefresh}
	for _, text := range step.Replace {
		i, err := addr.ParseInstance(text)
		if err != nil {
			return r.fail("case", "%s", err), false
		}
		o.Replace = append(o.Replace, i)
	}
	p, diags := r.world.Plan(r.config, o)
	if diags.HasErrors() {
		for _, d := range diags {
			if d.Severity == diag.Error && slices.Contains(Invalid, d.Summary) {
				r.stats.Invalid++
				return nil, false
			}
		}
		return r.fail("plan: "+firstError(diags), "%s", problems(diags)), false
	}
	if demanded := r.world.conflicts(p); demanded != nil {
		return r.demanded(step, p, diags, demanded)
	}
	if f := r.apply(p, step.Fail); f != nil {
		return f, false
	}
	if len(step.Fail) > 0 {
		step.Fail, step.Replace, step.Drift = nil, nil, nil
		return r.play(step)
	}
	return r.settled(), true
}

func (r *runner) load(step Step) *Failure {
	var diags diag.List
	r.files = step.Files()
	if r.config, diags = Load(r.files); diags.HasErrors() {
		return r.fail("load: "+firstError(diags), "%s", problems(diags))
	}
	return nil
}

func firstError(diags diag.List) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return d.Summary
		}
	}
	return ""
}

// demanded deals with a plan that can't work in this cloud: it has to warn,
// and the way out has to be one.
func (r *runner) demanded(step Step, p *plan.Plan, diags diag.List, list []conflict) (*Failure, bool) {
	r.stats.Demanded++
	warned := ""
	for _, d := range diags {
		if d.Severity == diag.Warning && d.Summary == "Replaced object is still in use" {
			warned += d.Detail
		}
	}
	if step.Model == nil {
		return nil, false
	}
	changed := *step.Model.Clone()
	helped := map[string]bool{}
	for _, c := range list {
		if !strings.Contains(warned, c.blame.String()) {
			return r.fail("no warning", "%s is deleted while %s, which is updated, uses it\nwarned: %s\n%s", c.deleted, c.user, warned, printed(p)), false
		}
		o, _ := changed.object(labelOf(c.name))
		if o == nil || o.CBD && !helped[o.Label] {
			return r.fail("no way out", "%s is deleted while %s, which is updated, uses it", c.deleted, c.user), false
		}
		o.CBD, helped[o.Label] = true, true
	}
	step.Model = &changed
	return r.play(step)
}

// labelOf is the label in the name of an object.
func labelOf(name string) string {
	name = name[strings.LastIndex(name, ".")+1:]
	label, _, _ := strings.Cut(name, "-")
	return label
}

// A conflict is a deletion that comes before an update lets go of what is
// deleted. blame is the object whose replacement demands it.
type conflict struct {
	deleted, user, blame addr.Object
	name                 string // of the blamed object in the cloud
}

// conflicts finds the deletions in a plan that the cloud has to refuse.
func (w *World) conflicts(p *plan.Plan) []conflict {
	byID := map[string]*plan.Change{}
	for _, c := range p.Changes {
		if c.Addr.Name.Mode == addr.Managed && !c.Before.IsNull() {
			byID[text(unmark(c.Before), "id")] = c
		}
	}
	var list []conflict
	for _, id := range w.Cloud.IDs() {
		c := byID[id]
		if c == nil || c.Action != plan.DeleteThenCreate && c.Action != plan.Delete {
			continue
		}
		for _, user := range w.Cloud.users(id) {
			u := byID[user]
			if u == nil || u.Action != plan.Update || ordered(p.Graph, u.Addr, c.Addr) {
				continue
			}
			if blame := w.blame(p, c); blame != nil {
				list = append(list, conflict{c.Addr, u.Addr, blame.Addr, text(unmark(blame.Before), "name")})
			}
		}
	}
	return list
}

// blame finds the delete-then-create replacement that a deletion has to come
// before; nil when there is no excuse.
func (w *World) blame(p *plan.Plan, c *plan.Change) *plan.Change {
	if c.Action == plan.DeleteThenCreate {
		return c
	}
	stored := p.Previous.Objects[addr.Object{Instance: c.Previous, Deposed: c.Addr.Deposed}]
	for _, dep := range p.Changes {
		if stored != nil && dep.Action == plan.DeleteThenCreate && slices.Contains(stored.Dependencies, dep.Previous.Resource.Erase()) {
			return dep
		}
	}
	return nil
}

// ordered reports whether the first object's creation or update comes before
// the deletion of the second.
func ordered(g *execgraph.Graph, update, deleted addr.Object) bool {
	before := make([]bool, len(g.Steps))
	for id, s := range g.Steps {
		before[id] = s.Kind == execgraph.Apply && s.Object == update
		for _, a := range s.After {
			before[id] = before[id] || before[a]
		}
		if s.Kind == execgraph.Destroy && s.Object == deleted {
			return before[id]
		}
	}
	return false
}

// apply applies a plan in several ways to copies of the world, compares the
// results and keeps one.
func (r *runner) apply(p *plan.Plan, fails []string) *Failure {
	for _, f := range fails {
		r.world.Cloud.Fail(f)
	}
	before := r.world.Clone()
	diags := r.world.Apply(r.config, p, How{Parallelism: 10})
	log := r.world.Cloud.Log()
	r.stats.Ops += len(log)
	if refused := r.world.Cloud.Refused(); refused != nil {
		return r.fail("refused", "%s\n%s", strings.Join(refused, "\n"), printed(p))
	}
	failed := diags.HasErrors()
	if failed && len(fails) == 0 {
		return r.fail("apply: "+firstError(diags), "%s\n%s", problems(diags), printed(p))
	}
	if failed {
		r.stats.Failed++
	} else if f := r.kept(p, log); f != nil {
		return f
	}
	if f := r.nothingLost(p); f != nil {
		return f
	}
	other, how, config := before, How{Parallelism: 1}, r.config
	if r.rand.IntN(6) > 0 {
		how.Choose = func(ready []execgraph.ID) int { return r.rand.IntN(len(ready)) }
	} else {
		files, saved, err := Save(r.files, p)
		if err != nil {
			return r.fail("save", "%s", err)
		}
		p = saved
		if config, _ = Load(files); config == nil {
			return r.fail("save", "the saved configuration can't be loaded")
		}
	}
	more := other.Apply(config, p, how)
	if refused := other.Cloud.Refused(); refused != nil {
		return r.fail("refused", "%s\n%s", strings.Join(refused, "\n"), printed(p))
	}
	if (more.HasErrors() != failed) || !failed && !sameWorld(r.world, other) {
		return r.fail("different results", "%s%s%s%s", problems(diags), problems(more), difference(r.world.String(), other.String()), printed(p))
	}
	r.world.Cloud.Heal()
	return nil
}

func sameWorld(a, b *World) bool {
	return a.Cloud.String() == b.Cloud.String() && statefile.Equal(a.State, b.State)
}

// String is the cloud and the state, a line for each object and output.
func (w *World) String() string {
	var b strings.Builder
	b.WriteString(w.Cloud.String())
	for _, a := range w.State.Addresses() {
		o := w.State.Objects[a]
		fmt.Fprintf(&b, "%s = %s by %s needs %v", a, o.JSON, o.Provider, o.Dependencies)
		if o.CreateBeforeDestroy {
			b.WriteString(" cbd")
		}
		if o.Tainted {
			b.WriteString(" tainted")
		}
		b.WriteByte('\n')
	}
	for _, name := range slices.Sorted(maps.Keys(w.State.Outputs)) {
		fmt.Fprintf(&b, "output %s = %#v\n", name, w.State.Outputs[name].Value)
	}
	return b.String()
}

// difference has the lines that are in one of two texts only.
func difference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out strings.Builder
	for _, line := range left {
		if !slices.Contains(right, line) {
			out.WriteString("- " + line + "\n")
		}
	}
	for _, line := range right {
		if !slices.Contains(left, line) {
			out.WriteString("+ " + line + "\n")
		}
	}
	return out.String()
}

// printed is a plan as text.
func printed(p *plan.Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		if c.Action != plan.NoOp || c.Moved() {
			fmt.Fprintf(&b, "%s %s %s", c.Action, c.Addr, c.Reason)
			if c.Moved() {
				fmt.Fprintf(&b, " from %s", c.Previous)
			}
			b.WriteByte('\n')
		}
	}
	for _, o := range p.Outputs {
		if o.Action != plan.NoOp {
			fmt.Fprintf(&b, "output %s %s\n", o.Action, o.Name)
		}
	}
	if p.Graph != nil {
		_ = p.Graph.Print(&b) // a builder doesn't fail
	}
	return b.String()
}

func unmark(v cty.Value) cty.Value {
	v, _ = v.UnmarkDeep()
	return v
}

// kept compares what was done with what was shown.
func (r *runner) kept(p *plan.Plan, log []Op) *Failure {
	var shown, done []string
	optional := map[string]bool{}
	for _, c := range p.Changes {
		if c.Addr.Name.Mode != addr.Managed {
			continue
		}
		id, name := text(unmark(c.Before), "id"), text(unmark(c.After), "name")
		switch c.Action {
		case plan.Create:
			shown = append(shown, "create "+name)
		case plan.Update:
			if !c.After.IsWhollyKnown() {
				// Final values may turn out to be the old ones.
				optional["update "+id] = true
			} else {
				shown = append(shown, "update "+id)
			}
		case plan.Delete:
			shown = append(shown, "delete "+id)
		case plan.DeleteThenCreate, plan.CreateThenDelete:
			shown = append(shown, "create "+name, "delete "+id)
			if f := r.inOrder(c.Action, id, name, log); f != nil {
				return f
			}
		}
		if f := r.valueKept(c, optional["update "+id]); f != nil {
			return f
		}
	}
	for _, op := range log {
		text := op.Kind + " " + op.ID
		if op.Kind == "create" {
			text = op.Kind + " " + op.Name
		}
		if !optional[text] {
			done = append(done, text)
		}
	}
	slices.Sort(shown)
	slices.Sort(done)
	if !slices.Equal(shown, done) {
		return r.fail("done isn't shown", "shown %s\ndone  %s\n%s", strings.Join(shown, ", "), strings.Join(done, ", "), printed(p))
	}
	return r.outputsKept(p)
}

func (r *runner) inOrder(a plan.Action, id, name string, log []Op) *Failure {
	created := slices.IndexFunc(log, func(o Op) bool { return o.Kind == "create" && o.Name == name })
	deleted := slices.IndexFunc(log, func(o Op) bool { return o.Kind == "delete" && o.ID == id })
	if (created < deleted) != (a == plan.CreateThenDelete) {
		return r.fail("replaced in another order", "%s of %s: %v", a, id, log)
	}
	return nil
}

// valueKept compares an object in the state with what was shown of it.
func (r *runner) valueKept(c *plan.Change, unsure bool) *Failure {
	stored := r.world.State.Objects[c.Addr]
	if c.After.IsNull() {
		if stored != nil {
			return r.fail("value", "%s is still in the state", c.Addr)
		}
		return nil
	}
	if stored == nil {
		return r.fail("value", "%s isn't in the state", c.Addr)
	}
	after := unmark(c.After)
	var got map[string]any
	if err := json.Unmarshal(stored.JSON, &got); err != nil {
		return r.fail("value", "%s", err)
	}
	for name := range after.Type().AttributeTypes() {
		v := after.GetAttr(name)
		if !v.IsWhollyKnown() || unsure && name == "echo" {
			continue
		}
		if want, have := plain(v), fmt.Sprint(got[name]); want != have {
			return r.fail("value", "%s.%s was shown as %s and is %s", c.Addr, name, want, have)
		}
	}
	id, _ := got["id"].(string)
	if real := r.world.Cloud.Object(id); c.Addr.Name.Mode == addr.Managed && (real == cty.NilVal || text(real, "echo") != fmt.Sprint(got["echo"])) {
		return r.fail("value", "%s in the state isn't what is in the cloud", c.Addr)
	}
	return nil
}

// plain is a value as fmt prints its JSON.
func plain(v cty.Value) string {
	switch {
	case v.IsNull():
		return "<nil>"
	case v.Type() == cty.String:
		return v.AsString()
	}
	list := make([]any, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		if e.IsNull() {
			list = append(list, nil)
		} else {
			list = append(list, e.AsString())
		}
	}
	return fmt.Sprint(list)
}

func (r *runner) outputsKept(p *plan.Plan) *Failure {
	for _, o := range p.Outputs {
		after := unmark(o.After)
		stored, ok := r.world.State.Outputs[o.Name]
		switch {
		case !after.IsWhollyKnown():
		case after.IsNull() == ok:
			return r.fail("output", "%s: shown %#v, in the state: %t", o.Name, after, ok)
		case ok && !stored.Value.RawEquals(after):
			return r.fail("output", "%s was shown as %#v and is %#v", o.Name, after, stored.Value)
		}
	}
	return nil
}

// nothingLost compares what exists with what the state has, also after
// failures.
func (r *runner) nothingLost(p *plan.Plan) *Failure {
	known := []string{}
	for a, o := range r.world.State.Objects {
		if a.Name.Mode == addr.Managed {
			known = append(known, idOf(o))
		}
	}
	slices.Sort(known)
	if exist := r.world.Cloud.IDs(); !slices.Equal(known, exist) {
		return r.fail("lost", "in the cloud %s\nin the state %s\n%s", exist, known, printed(p))
	}
	return nil
}

func idOf(o *state.Object) string {
	var got struct{ ID string }
	_ = json.Unmarshal(o.JSON, &got) // an empty id fits nothing
	return got.ID
}

// settled checks that there is nothing more to do after an apply.
func (r *runner) settled() *Failure {
	p, diags := r.world.Plan(r.config, engine.PlanOptions{})
	if diags.HasErrors() {
		return r.fail("second plan: "+firstError(diags), "%s", problems(diags))
	}
	for _, c := range p.Changes {
		if c.Action != plan.NoOp || c.Moved() {
			return r.fail("second plan isn't empty", "%s\n%s%#v\n%#v", r.world, printed(p), unmark(c.Before), unmark(c.After))
		}
	}
	if p.HasChanges() || len(p.Drift) > 0 {
		return r.fail("second plan isn't empty", "%s\n%s", r.world, printed(p))
	}
	if !statefile.Equal(r.world.State, p.Refreshed) {
		fresh := &World{Cloud: r.world.Cloud, State: p.Refreshed}
		return r.fail("state isn't settled", "- after apply, + after the next plan\n%s", difference(r.world.String(), fresh.String()))
	}
	return nil
}

// end destroys everything.
func (r *runner) end() *Failure {
	p, diags := r.world.Plan(r.config, engine.PlanOptions{Mode: plan.Destroy})
	if diags.HasErrors() {
		return r.fail("plan to destroy: "+firstError(diags), "%s", problems(diags))
	}
	if f := r.apply(p, nil); f != nil {
		f.Kind = "destroy: " + f.Kind
		return f
	}
	if left := r.world.Cloud.IDs(); len(left) > 0 || len(r.world.State.Objects) > 0 || len(r.world.State.Outputs) > 0 {
		return r.fail("destroy leaves something", "%s%v\n%s", r.world, slices.Collect(maps.Keys(r.world.State.Outputs)), printed(p))
	}
	return nil
}
