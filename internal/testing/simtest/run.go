package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/state"
)

// A Case is a history: configurations, one after the other, and what happens
// beside them.
type Case []Step

// A Step is one plan and apply.
type Step struct {
	Model   *Model
	Text    module.Memory // instead of Model
	Replace []string      // addresses for -replace
	// Fail are operations that fail, as "KIND NAME".
	Fail []string
	// Drift are changes behind the engine's back before the step: "drop NAME",
	// "set NAME", "make NAME", or "taint NAME" and "age NAME", which change the
	// state. Names that don't exist, and drops of objects in use, mean nothing.
	Drift []string
	// Commands are run before the plan, as "taint ADDRESS", "state rm ADDRESS"
	// and the like. Only the kit has some.
	Commands    []string
	SkipRefresh bool
	Defer       bool // -allow-deferral
	// Steps with these do a part: there may be something left to be done.
	Targets, Excludes []string
	RefreshOnly       bool
	// Destroy: what they name is destroyed, and without them everything.
	Destroy bool
	// Errors: it was seen that this step fails, as it should.
	Errors bool
}

func (s *Step) partial() bool { return len(s.Targets)+len(s.Excludes) > 0 || s.RefreshOnly }

// Files are the configuration of the step.
func (s *Step) Files() module.Memory {
	if s.Text != nil {
		return s.Text
	}
	return s.Model.Files()
}

// options are those that the step is planned with.
func (s *Step) options() (engine.PlanOptions, error) {
	o := engine.PlanOptions{SkipRefresh: s.SkipRefresh, AllowDeferral: s.Defer}
	switch {
	case s.RefreshOnly:
		o.Mode = plan.RefreshOnly
	case s.Destroy:
		o.Mode = plan.Destroy
	}
	for _, text := range s.Replace {
		i, err := addr.ParseInstance(text)
		if err != nil {
			return o, err
		}
		o.Replace = append(o.Replace, i)
	}
	for _, list := range []struct {
		texts []string
		into  *[]addr.Target
	}{{s.Targets, &o.Targets}, {s.Excludes, &o.Excludes}} {
		for _, text := range list.texts {
			t, err := addr.ParseTarget(text)
			if err != nil {
				return o, err
			}
			*list.into = append(*list.into, t)
		}
	}
	return o, nil
}

// A Failure is a promise that wasn't kept.
type Failure struct {
	Step int
	// Kind distinguishes failures, also between larger and smaller cases.
	Kind   string
	Detail string
	// Played are the steps up to there, with what they were cured of.
	Played Case
}

func (f *Failure) Error() string {
	return fmt.Sprintf("step %d: %s\n%s", f.Step+1, f.Kind, f.Detail)
}

// Invalid are the summaries of errors that a configuration deserves: such a
// case ends there.
var Invalid = []string{
	"Ambiguous move statements", "Moved object still exists", "Redundant move statement", "Cyclic dependency in move statements", "Cross-package move statement",
	"Cannot import non-existent remote object",
}

// Stats count what was seen.
type Stats struct {
	Steps, Invalid, Demanded, Failed, Cured, Deferred, Skipped, Ops int
	// Seen counts what was applied, by names.
	Seen map[string]int
}

func (s *Stats) see(what string) {
	if s.Seen == nil {
		s.Seen = map[string]int{}
	}
	s.Seen[what]++
}

// Add adds what somebody else has seen.
func (s *Stats) Add(other Stats) {
	s.Steps += other.Steps
	s.Invalid += other.Invalid
	s.Demanded += other.Demanded
	s.Failed += other.Failed
	s.Cured += other.Cured
	s.Deferred += other.Deferred
	s.Skipped += other.Skipped
	s.Ops += other.Ops
	for what, n := range other.Seen {
		s.see(what)
		s.Seen[what] += n - 1
	}
}

// Run plays a history and holds every step to the promises; then everything
// is destroyed. seed decides how the plans are applied.
func (c Case) Run(seed uint64, stats *Stats) (failure *Failure) {
	w := NewWorld()
	r := &runner{world: w, rand: rand.New(rand.NewPCG(seed, 2)), stats: stats}
	defer func() {
		if p := recover(); p != nil {
			failure = r.fail("panic", "%v", p)
		}
		if failure != nil {
			failure.Played = r.played
		}
	}()
	for i, step := range c {
		r.step = i
		if step.Destroy && !step.partial() {
			break
		}
		stats.Steps++
		r.drift(step)
		if failure, ok := r.play(step); failure != nil || !ok {
			return failure
		}
	}
	r.step = len(c)
	return r.end(c[len(c)-1])
}

// A runner plays one case.
type runner struct {
	world *World
	rand  *rand.Rand
	stats *Stats
	step  int

	played Case
	files  module.Memory // of the last step
	config *engine.Config
	model  *Model // nil without
	// partial: the last step was, so that the state may not be right.
	partial bool
}

func (r *runner) fail(kind, format string, args ...any) *Failure {
	return &Failure{Step: r.step, Kind: kind, Detail: fmt.Sprintf(format, args...)}
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

func firstError(diags diag.List) string {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return d.Summary
		}
	}
	return ""
}

// has reports whether there is an error with one of the summaries.
func has(diags diag.List, summaries ...string) bool {
	return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
		return d.Severity == diag.Error && slices.Contains(summaries, d.Summary)
	})
}

func (r *runner) drift(step Step) {
	for _, d := range step.Drift {
		kind, name, _ := strings.Cut(d, " ")
		if kind == "make" {
			r.world.Cloud.Make(name)
		}
		for _, id := range r.world.Cloud.Owned() {
			switch {
			case text(r.world.Cloud.Object(id), "name") != name:
			case kind == "set":
				r.world.Cloud.Set(id, "value", "drifted")
			case kind == "taint":
				r.world.taint(id)
			case kind == "age":
				r.world.age(id)
			case kind == "drop" && !r.world.Cloud.InUse(id):
				r.world.Cloud.Drop(id)
			}
		}
	}
}

// taint marks an object in the state.
func (w *World) taint(id string) {
	w.State = w.State.Clone()
	for a, o := range w.State.Objects {
		if a.Name.Mode == addr.Managed && a.Deposed == "" && idOf(o) == id {
			tainted := *o
			tainted.Tainted = true
			w.State.Objects[a] = &tainted
		}
	}
}

func idOf(o *state.Object) string {
	var got struct{ ID string }
	_ = json.Unmarshal(o.JSON, &got) // an empty id fits nothing
	return got.ID
}

// rounds is how often a step may be planned: for every cure, and for every
// layer of what is deferred.
const rounds = 20

// play plans and applies one step until there is nothing more to do. It isn't
// ok when the case can't go on, because the configuration is wrong.
func (r *runner) play(step Step) (failure *Failure, ok bool) {
	for range rounds {
		again, f, ok := r.once(step)
		if f != nil || !ok {
			return f, false
		}
		if again == nil {
			return nil, true
		}
		step = *again
	}
	return r.fail("no end", "after %d plans there is still something to do", rounds), false
}

// once plans and applies a step once, and says how it is tried again.
func (r *runner) once(step Step) (again *Step, f *Failure, ok bool) {
	if f := r.load(step); f != nil {
		return nil, f, false
	}
	o, err := step.options()
	if err != nil {
		return nil, r.fail("case", "%s", err), false
	}
	if r.rand.IntN(8) == 0 {
		if diags := engine.Validate(context.Background(), r.world.in(r.config, 1, false)); diags.HasErrors() && !has(diags, Invalid...) && !step.Model.ails() {
			r.record(step, false)
			return nil, r.fail("validate: "+firstError(diags), "%s", problems(diags)), false
		}
	}
	p, diags := r.world.Plan(r.config, o)
	if f := r.closed(r.world, "plan"); f != nil {
		return nil, f, false
	}
	if diags.HasErrors() {
		again, f, ok = r.refused(step, diags)
		if f != nil || ok && again == nil {
			r.record(step, f == nil)
		}
		return again, f, ok
	}
	if f := r.obeys(step, p); f != nil {
		r.record(step, false)
		return nil, f, false
	}
	if list := r.world.conflicts(p, step.partial() && !step.Destroy); list != nil {
		if step.partial() {
			r.record(step, true)
			r.stats.Skipped++
			return nil, nil, true
		}
		if slices.ContainsFunc(list, func(c conflict) bool { return c.user == addr.Object{} }) {
			r.stats.Skipped++
			return nil, nil, false
		}
		again, f := r.demanded(step, p, diags, list)
		if f != nil {
			r.record(step, false)
		}
		return again, f, again != nil
	}
	failed, f := r.apply(p, step)
	r.partial = step.partial() || step.Errors || len(p.Deferred) > 0
	r.record(step, failed)
	switch {
	case f != nil:
		return nil, f, false
	case step.partial():
		return nil, nil, true
	case failed || len(step.Fail) > 0:
		return step.cured(), nil, true
	case len(p.Deferred) > 0:
		r.stats.Deferred++
		step.Drift, step.Replace = nil, nil
		return &step, nil, true
	}
	f = r.settled()
	return nil, f, f == nil
}

// record keeps what was played, as text.
func (r *runner) record(step Step, failed bool) {
	step.Model, step.Text, step.Errors = nil, r.files, failed
	r.played = append(r.played, step)
}

// cured is the step without what made it fail, for another try; nil when that
// is the next step anyhow.
func (s Step) cured() *Step {
	if s.Model == nil && s.Errors {
		return nil
	}
	s.Fail, s.Replace, s.Drift = nil, nil, nil
	if s.Model != nil {
		s.Model = s.Model.cured()
	}
	return &s
}

// cured is the model without what makes an apply fail.
func (m *Model) cured() *Model {
	m = m.Clone()
	for i := range m.Objects {
		o := &m.Objects[i]
		o.Condition.Bad, o.Output.Bad = false, false
		o.Provision, _, _ = strings.Cut(o.Provision, " ")
	}
	return m
}

// released is the model without what protects objects.
func (m *Model) released() *Model {
	m = m.Clone()
	for i := range m.Objects {
		m.Objects[i].Prevent = false
	}
	return m
}

// ails reports whether something in the configuration makes an apply fail.
func (m *Model) ails() bool {
	return m != nil && slices.ContainsFunc(m.Objects, func(o Object) bool {
		return o.Condition.Bad || o.Output.Bad || strings.HasSuffix(o.Provision, " fails")
	})
}

// refused deals with a plan that has errors.
func (r *runner) refused(step Step, diags diag.List) (again *Step, f *Failure, ok bool) {
	m := step.Model
	switch {
	case has(diags, Invalid...):
		r.stats.Invalid++
		return nil, nil, false
	case step.Errors:
		return nil, nil, true
	case step.RefreshOnly && has(diags, "Attempt to get attribute from null value"):
		// With lifecycle.enabled an object that isn't there is null, as in OpenTofu.
		r.stats.Skipped++
		return nil, nil, true
	case step.partial() && has(diags, "Moved resource instances excluded by targeting"):
		r.stats.Skipped++
		return nil, nil, true
	case !step.Defer && has(diags, "Invalid count argument", "Invalid for_each argument") && strings.Contains(string(r.text()), ".id"):
		step.Defer = true
		return &step, nil, true
	case step.Destroy && m != nil && has(diags, "Resource instance cannot be destroyed"):
		r.stats.Skipped++
		return nil, nil, true
	case m != nil && has(diags, "Resource instance cannot be destroyed"):
		r.stats.Cured++
		step.Model = m.released()
		return &step, nil, true
	case m != nil && m.ails() && has(diags, "Resource precondition failed", "Resource postcondition failed", "Module output value precondition failed"):
		r.stats.Cured++
		step.Model = m.cured()
		return &step, nil, true
	}
	return nil, r.fail("plan: "+firstError(diags), "%s", problems(diags)), false
}

// text is everything that was configured last.
func (r *runner) text() []byte {
	var all []byte
	for _, text := range r.files {
		all = append(all, text...)
	}
	return all
}

func (r *runner) load(step Step) *Failure {
	var diags diag.List
	r.files, r.model = step.Files(), step.Model
	if r.config, diags = Load(r.files); diags.HasErrors() {
		r.record(step, false)
		return r.fail("load: "+firstError(diags), "%s", problems(diags))
	}
	return nil
}

// apply applies a plan in several ways to copies of the world, compares the
// results and keeps one.
func (r *runner) apply(p *plan.Plan, step Step) (failed bool, f *Failure) {
	for _, f := range step.Fail {
		r.world.Cloud.Fail(f)
	}
	for _, c := range p.Changes {
		if c.Action == plan.Forget || c.Action == plan.ForgetThenCreate {
			r.world.Cloud.Disown(text(unmark(c.Before), "id"))
		}
	}
	before := r.world.Clone()
	diags := r.world.Apply(r.config, p, How{Parallelism: 10})
	log := r.world.Cloud.Log()
	r.stats.Ops += len(log)
	failed = diags.HasErrors()
	if failed && len(step.Fail) == 0 && !step.Errors && !r.model.ails() {
		return failed, r.fail("apply: "+firstError(diags), "%s\n%s\n%s", problems(diags), strings.Join(r.world.Cloud.Refused(), "\n"), printed(p))
	}
	if f := r.whole(r.world, p); f != nil {
		return failed, f
	}
	r.see(p)
	if failed {
		r.stats.Failed++
	} else if f := r.kept(p, log); f != nil {
		return failed, f
	}
	return failed, r.again(before, p, step, diags)
}

// see counts what a plan has.
func (r *runner) see(p *plan.Plan) {
	for _, c := range p.Changes {
		what := c.Action.String()
		switch {
		case c.Importing != nil:
			what += " import"
		case c.Moved() && c.Previous().Name.Type != c.Addr.Name.Type:
			what += " moved to another type"
		case c.Moved():
			what += " moved"
		case c.Addr.Deposed != "":
			what += " deposed"
		case c.Addr.Name.Mode == addr.Data:
			what += " data"
		}
		r.stats.see(what)
	}
	for _, s := range p.Graph.Steps {
		if s.Kind == execgraph.OpenEphemeral {
			r.stats.see("open ephemeral")
		}
	}
}

// again applies a plan once more, to a world as it was before, and compares.
func (r *runner) again(other *World, p *plan.Plan, step Step, diags diag.List) *Failure {
	how, config := How{Parallelism: 1}, r.config
	switch r.rand.IntN(8) {
	default:
		how.Choose = func(ready []execgraph.ID) int { return r.rand.IntN(len(ready)) }
	case 1:
		how.Choose = func(ready []execgraph.ID) int { return len(ready) - 1 } // what became ready last
	case 0:
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
	if f := r.whole(other, p); f != nil {
		return f
	}
	r.world.Cloud.Heal()
	if len(step.Fail) > 0 && strings.HasPrefix(step.Fail[0], "stop") {
		return nil // what was done depends on the order
	}
	failed := diags.HasErrors()
	if (more.HasErrors() != failed) || !failed && !sameWorld(r.world, other) {
		return r.fail("different results", "%s%s%s%s", problems(diags), problems(more), difference(r.world.String(), other.String()), printed(p))
	}
	return nil
}

// end destroys everything.
func (r *runner) end(step Step) *Failure {
	if f := r.load(step); f != nil {
		return f
	}
	if step.Model != nil {
		if guarded := r.guarded(step.Model); guarded != "" {
			if _, diags := r.world.Plan(r.config, engine.PlanOptions{Mode: plan.Destroy}); !has(diags, "Resource instance cannot be destroyed") {
				return r.fail("prevent_destroy is ignored", "%s would be destroyed", guarded)
			}
		}
		step.Model = step.Model.cured().released()
		if f := r.load(step); f != nil {
			return f
		}
	}
	step.Destroy = true
	r.record(step, false)
	p, diags := r.world.Plan(r.config, engine.PlanOptions{Mode: plan.Destroy, SkipRefresh: !r.partial && r.rand.IntN(4) == 0})
	if diags.HasErrors() {
		return r.fail("plan to destroy: "+firstError(diags), "%s", problems(diags))
	}
	if _, f := r.apply(p, Step{}); f != nil {
		f.Kind = "destroy: " + f.Kind
		return f
	}
	if left := r.world.Cloud.Owned(); len(left) > 0 || len(r.world.State.Objects) > 0 || len(r.world.State.Outputs) > 0 {
		return r.fail("destroy leaves something", "%s\n%s", r.world, printed(p))
	}
	return nil
}

// guarded is an object in the state that prevent_destroy protects.
func (r *runner) guarded(m *Model) string {
	for a := range r.world.State.Objects {
		if o := m.declares(a.Instance); o != nil && a.Deposed == "" && o.Prevent && !o.Keep {
			return a.String()
		}
	}
	return ""
}
