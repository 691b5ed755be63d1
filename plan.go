package weir

import (
	"context"
	"encoding/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/plan/why"
	"weir.dev/weir/internal/ui/view/jsonplan"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/planoptions"
)

// PlanOptions say what a plan is for. The zero value plans what the configuration
// asks for.
type PlanOptions struct {
	// Destroy plans to destroy everything; RefreshOnly to do nothing but take what
	// was changed outside into the state.
	Destroy, RefreshOnly bool
	// SkipRefresh takes the state for what exists.
	SkipRefresh bool
	// AutoRefresh leaves out objects that nothing is to be done with and that were inspected
	// not long ago, as -refresh=auto does.
	AutoRefresh bool
	// Targets are addresses of objects or modules, or patterns such as aws_*.web, to limit the
	// plan to, Excludes those to leave out, Replace those of objects to make again.
	Targets, Excludes, Replace []string
	// AllowDeferral defers what can't be planned yet instead of failing.
	AllowDeferral bool
}

// planning is the options as the engine has them.
func (o PlanOptions) planning() (planoptions.Planning, diag.List) {
	p := planoptions.Planning{SkipRefresh: o.SkipRefresh, AutoRefresh: o.AutoRefresh, AllowDeferral: o.AllowDeferral}
	var diags diag.List
	targets := func(texts []string) (list []addr.Target) {
		for _, text := range texts {
			t, err := addr.ParsePattern(text)
			if err != nil {
				diags.Add(diag.BadAddress.New(diag.Error, "%q: %s.", text, err))
			}
			list = append(list, t)
		}
		return list
	}
	p.Targets, p.Excludes = targets(o.Targets), targets(o.Excludes)
	for _, text := range o.Replace {
		i, err := addr.ParseInstance(text)
		if err != nil {
			diags.Add(diag.BadAddress.New(diag.Error, "%q: %s.", text, err))
		}
		p.Replace = append(p.Replace, i)
	}
	switch {
	case o.Destroy && o.RefreshOnly:
		diags.Add(diag.Incompatible.As("Incompatible plan options").New(diag.Error, "Destroy and RefreshOnly exclude one another."))
	case o.Destroy:
		p.Mode = plan.Destroy
	case o.RefreshOnly:
		p.Mode = plan.RefreshOnly
	}
	return p, diags
}

// A Plan is what an apply will do. It isn't changed, and may be applied once.
type Plan struct {
	workspace *Workspace
	made      *plan.Plan
	content   planfile.Content
	config    *engine.Config
	warnings  Diagnostics
}

// Plan decides what has to be done. Nothing is changed. The lock of the state is held
// meanwhile, and not afterwards.
func (w *Workspace) Plan(ctx context.Context, o PlanOptions) (*Plan, error) {
	p, diags := o.planning()
	if diags.HasErrors() {
		return nil, w.failure(ctx, diags)
	}
	d := w.begin()
	defer d.Close()
	if diags = d.Check(p, "plan"); diags.HasErrors() {
		return nil, w.failure(ctx, diags)
	}
	work, made, diags := workspace.Plan{Dir: d, Opening: w.opening("plan"), Options: p}.Run(ctx)
	if work == nil {
		return nil, w.failure(ctx, diags)
	}
	defer work.Unlock()
	if err := w.failure(ctx, diags); err != nil {
		return nil, err
	}
	return w.plan(ctx, work, made, diags)
}

// plan keeps a plan with all that is needed to apply it later.
func (w *Workspace) plan(ctx context.Context, work *workspace.Work, made *plan.Plan, found diag.List) (*Plan, error) {
	content, err := work.Kept(ctx, version(), made)
	if err != nil {
		return nil, err
	}
	return &Plan{workspace: w, made: made, content: content, config: work.Config, warnings: w.warnings(found)}, nil
}

// LoadPlan reads a plan that was saved by [Plan.Save] or by "weir plan -out".
func (w *Workspace) LoadPlan(ctx context.Context, path string) (*Plan, error) {
	d := w.begin()
	defer d.Close()
	content, diags := d.ReadPlan(path)
	if err := w.failure(ctx, diags); err != nil {
		return nil, err
	}
	config, more := d.LoadSaved(ctx, content)
	if err := w.failure(ctx, more); err != nil {
		return nil, err
	}
	return &Plan{workspace: w, made: content.Plan, content: content, config: config, warnings: w.warnings(diags)}, nil
}

// Save writes the plan to a file, which "weir apply" takes as well. It has what the
// configuration and the state have, secrets included.
func (p *Plan) Save(path string) error {
	d := p.workspace.begin()
	defer d.Close()
	return d.WritePlan(path, p.content)
}

// Warnings are those of planning.
func (p *Plan) Warnings() Diagnostics { return p.warnings }

// HasChanges reports whether applying the plan changes anything: an object, an
// output, or the state alone.
func (p *Plan) HasChanges() bool { return p.made.HasChanges() }

// A Summary counts what a plan does with managed resources, and its invocations of actions.
type Summary struct{ Import, Add, Change, Destroy, Forget, Invoke int }

// Summary counts the changes.
func (p *Plan) Summary() Summary {
	n := p.made.Counts()
	return Summary{n.Import, n.Add, n.Change, n.Destroy, n.Forget, n.Invoke}
}

// An Action is what is done to an object.
type Action string

// The actions.
const (
	NoOp             Action = "no-op"
	Create           Action = "create"
	Read             Action = "read"
	Update           Action = "update"
	Delete           Action = "delete"
	DeleteThenCreate Action = "delete-then-create"
	CreateThenDelete Action = "create-then-delete"
	Forget           Action = "forget"
	ForgetThenCreate Action = "forget-then-create"
)

// Replaces reports whether an object ends and another takes its place.
func (a Action) Replaces() bool {
	return a == DeleteThenCreate || a == CreateThenDelete || a == ForgetThenCreate
}

// A Change is what happens to one object.
type Change struct {
	Address string
	// Previous is the address it had before a move, otherwise empty.
	Previous string
	Module   string
	Mode     string // managed or data
	Type     string
	Name     string
	Provider string
	Deposed  string // the key of an object that was replaced and is still there
	Action   Action
	// Reason says why, in the words of the JSON format, where the values don't.
	Reason string
	// Before and After are the object as JSON, null without one. Anything that isn't known is
	// missing from After and true in AfterUnknown. Sensitive values are in them;
	// BeforeSensitive and AfterSensitive say where.
	Before, After, AfterUnknown     json.RawMessage
	BeforeSensitive, AfterSensitive json.RawMessage
	// ImportID is set for an object that is imported by an id.
	ImportID string
}

// Changes are those that do something, by address.
func (p *Plan) Changes() []Change {
	var shown []*plan.Change
	for _, c := range jsonplan.Shown(p.made.Changes) {
		if c.Action != plan.NoOp || c.Moved() || c.Importing != nil {
			shown = append(shown, c)
		}
	}
	return p.changes(shown)
}

// Drift is what was changed outside since the state was written, as far as
// refreshing has found it.
func (p *Plan) Drift() []Change { return p.changes(jsonplan.Shown(jsonplan.Drift(p.made))) }

func (p *Plan) changes(list []*plan.Change) []Change {
	var out []Change
	for _, c := range list {
		out = append(out, p.change(c))
	}
	return out
}

func (p *Plan) change(c *plan.Change) Change {
	out := Change{
		Address: c.Addr.Instance.String(), Module: c.Addr.Module.String(), Mode: c.Addr.Name.Mode.String(),
		Type: c.Addr.Name.Type, Name: c.Addr.Name.Name, Provider: c.Provider.Provider.String(),
		Deposed: c.Addr.Deposed, Action: Action(c.Action.String()), Reason: string(c.Reason),
	}
	if c.Moved() {
		out.Previous = c.Previous().String()
	}
	if c.Importing != nil {
		out.ImportID = c.Importing.ID
	}
	if converted, err := jsonplan.Convert(c, p.made); err == nil { // values that a plan has can be written
		v := converted.Change
		out.Before, out.After, out.AfterUnknown = v.Before, v.After, v.AfterUnknown
		out.BeforeSensitive, out.AfterSensitive = v.BeforeSensitive, v.AfterSensitive
	}
	return out
}

// A Deferred is a change that waits for a later round.
type Deferred struct {
	Change Change
	Reason string
}

// Deferred are the changes that are deferred, which [PlanOptions.AllowDeferral] allows.
func (p *Plan) Deferred() []Deferred {
	var out []Deferred
	for _, d := range p.made.Deferred {
		out = append(out, Deferred{p.change(d.Change), d.Reason})
	}
	return out
}

// An OutputChange is what happens to an output.
type OutputChange struct {
	Name      string
	Action    Action
	Sensitive bool
}

// Outputs are the outputs that change, by name.
func (p *Plan) Outputs() []OutputChange {
	var out []OutputChange
	for _, o := range p.made.Outputs {
		if o.Action != plan.NoOp {
			out = append(out, OutputChange{o.Name, Action(o.Action.String()), o.Sensitive})
		}
	}
	return out
}

// A Step is one operation of an apply.
type Step struct {
	// Kind is what it does, such as apply, destroy or open-provider.
	Kind string
	// Address is what it works on, empty for steps about nothing in particular.
	Address string
	// After are the steps that have to end before, by their place in the list.
	After []int
}

// Steps are all steps of the apply, in an order in which they could be done.
func (p *Plan) Steps() []Step {
	if p.made.Graph == nil {
		return nil
	}
	out := make([]Step, len(p.made.Graph.Steps))
	for i, s := range p.made.Graph.Steps {
		out[i].Kind = s.Kind.String()
		switch {
		case s.Object != nil:
			out[i].Address = s.Object.String()
		case s.Check() != "":
			out[i].Address = s.Check()
		case s.Name != "":
			out[i].Address = "output." + s.Name
		case s.Provider != nil:
			out[i].Address = s.Provider.String()
		}
		for _, after := range s.After {
			out[i].After = append(out[i].After, int(after))
		}
	}
	return out
}

// An Edge is why a step waits for another one. Both are places in [Plan.Steps].
type Edge struct {
	Step, After int
	// Reason is one of those in docs/execution-graph.md, such as reference, provider or replace.
	Reason string
	// Value is the address and the attribute whose value flows along the edge, or empty.
	Value string
	// File and Line are where the step's object refers to the other one; the line is 0 where it doesn't.
	File string
	Line int
}

// Edges are all edges between the steps, with their reasons. It evaluates the configuration
// again, which takes about as long as planning does.
func (p *Plan) Edges() []Edge {
	if p.made.Graph == nil {
		return nil
	}
	var out []Edge
	of := engine.Edges(p.config, p.made)
	for i, s := range p.made.Graph.Steps {
		for _, after := range s.After {
			found := of.Edge(execgraph.ID(i), after)
			e := Edge{Step: i, After: int(after), Reason: string(found.Reason), Value: found.Value}
			if len(found.References) > 0 {
				r := found.References[0].Range
				e.File, e.Line = r.Filename, r.Start.Line
			}
			out = append(out, e)
		}
	}
	return out
}

// JSON is the plan as "weir show -json" prints it, in the format of other programs.
func (p *Plan) JSON() ([]byte, error) {
	return jsonplan.Marshal(p.made, p.config.Tree, engine.Edges(p.config, p.made), p.workspace.config.Dialect)
}

// An Explanation reports why an object is dealt with as it is.
type Explanation struct {
	Address string
	Action  Action
	Reason  string
	// Causes are chains of links, each from the object to one cause.
	Causes [][]Link
	// Waits are the steps that those of the object wait for, in words.
	Waits []Wait
}

// A Link is a step from an object towards a cause.
type Link struct {
	// Kind is what it is, such as attribute, variable, drift or new.
	Kind    string
	Subject string
	Name    string
	// File and Line are where it is written; the line is 0 where it isn't.
	File string
	Line int
}

// A Wait is a step of an object, and one that comes first.
type Wait struct{ Step, For, Rule string }

// Explain plans, and reports why the plan deals as it does with what an address names.
func (w *Workspace) Explain(ctx context.Context, o PlanOptions, address string) ([]Explanation, error) {
	p, diags := o.planning()
	target, err := addr.ParsePattern(address)
	if err != nil {
		diags.Add(diag.BadAddress.New(diag.Error, "%q: %s.", address, err))
	}
	if diags.HasErrors() {
		return nil, w.failure(ctx, diags)
	}
	d := w.begin()
	defer d.Close()
	p.Explained = true
	work, made, diags := workspace.Plan{Dir: d, Opening: w.opening("plan"), Options: p}.Run(ctx)
	if work == nil {
		return nil, w.failure(ctx, diags)
	}
	defer work.Unlock()
	if err := w.failure(ctx, diags); err != nil {
		return nil, err
	}
	var out []Explanation
	for _, x := range work.Reasons.Of(made, target) {
		out = append(out, explanation(x))
	}
	return out, nil
}

func explanation(x why.Explanation) Explanation {
	out := Explanation{Address: x.Object.String(), Action: Action(x.Action.String()), Reason: string(x.Reason)}
	for _, chain := range x.Chains {
		var links []Link
		for _, l := range chain {
			link := Link{Kind: string(l.Kind), Subject: l.Subject, Name: l.Name}
			if l.Range != nil {
				link.File, link.Line = l.Range.Filename, l.Range.Start.Line
			}
			links = append(links, link)
		}
		out.Causes = append(out.Causes, links)
	}
	for _, wait := range x.Waits {
		out.Waits = append(out.Waits, Wait{wait.Own, wait.For, wait.Rule})
	}
	return out
}
