package workspace

import (
	"context"
	"os"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/incremental/planinputs"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state/edit"
	"weir.dev/weir/internal/state/journal"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/planoptions"
)

// Check looks for what keeps from planning, before anything is opened.
func (d *Directory) Check(p planoptions.Planning, operation string) diag.List {
	var diags diag.List
	if p.Generate != "" {
		diags.Append(d.checkNew(p.Generate))
	}
	diags.Append(d.stackOnly(diag.Error, operation))
	if p.Mode == plan.Normal && diags == nil {
		diags.Append(d.needConfiguration(operation))
	}
	return diags
}

// checkNew rejects a file for generated configuration that is there already.
func (d *Directory) checkNew(path string) diag.List {
	if _, err := os.Stat(d.Place.Path(path)); err != nil {
		return nil
	}
	return environment.Filled.List("weir can only write generated config into a new file. Either choose a different target location or move all existing configuration out of the target file, delete it and try again.")
}

// needConfiguration rejects a directory without configuration: as one that asks for nothing it
// would have everything destroyed.
func (d *Directory) needConfiguration(operation string) diag.List {
	names, err := d.Place.Files().List(".")
	if d.About != nil || err != nil || !module.IsEmpty(names, d.Place.Dialect) {
		return nil // who reads the files reports the error
	}
	doing := map[string]string{"plan": "Planning", "apply": "Applying"}[operation]
	return diag.NoConfiguration.List("%s requires configuration to be present. %s without a configuration would mark everything for destruction, which is normally not what is desired. If you would like to destroy everything, use the destroy command, or plan with -destroy.", strings.ToUpper(operation[:1])+operation[1:], doing)
}

// stackOnly reports the command of stacks where the directory has a stack and no module.
func (d *Directory) stackOnly(s diag.Severity, command string) diag.List {
	names, err := d.Place.Files().List(".")
	if d.About != nil || err != nil || !module.IsEmpty(names, d.Place.Dialect) || !module.HasStack(names) {
		return nil
	}
	return diag.List{diag.NoConfiguration.As("The directory has a stack").New(s, "It has no module of its own. For the deployments of the stack run:\n    %s", diag.Command{Program: d.Place.Program, Name: "stacks " + command})}
}

// Plan compares a configuration with the state and the real objects.
type Plan struct {
	Dir     *Directory
	Subject Subject // the zero value is the directory's configuration
	Opening Opening
	Options planoptions.Planning
	// Opened gets the warnings of opening before anything is planned. With nil they come with
	// those of planning.
	Opened func(diag.List)
}

// Run opens the configuration and the locked state and plans. Without work nothing could be
// opened. The caller unlocks the work, so that nothing changes while it shows or stores the
// plan. The plan is nil if none was possible, and may be there beside errors.
func (p Plan) Run(ctx context.Context) (*Work, *plan.Plan, diag.List) {
	if p.Subject.Load == nil {
		p.Subject = p.Dir.Configuration()
	}
	w, diags := p.Dir.Open(ctx, p.Subject, p.Opening)
	if w == nil {
		return nil, nil, diags
	}
	if p.Opened != nil {
		p.Opened(diags)
		diags = nil
	}
	made, more := w.Plan(ctx, p.Options)
	return w, made, append(diags, more...)
}

// Plan makes a plan of what is open. It is nil if that wasn't possible at all, and may be there
// beside errors.
func (w *Work) Plan(ctx context.Context, p planoptions.Planning) (*plan.Plan, diag.List) {
	p, diags := p.In(edit.In(w.Snapshot()))
	if diags.HasErrors() {
		return nil, diags
	}
	o := w.options(p)
	var generated diag.List
	if p.Generate != "" && p.Mode == plan.Normal {
		if o.Generated, generated = w.generate(ctx, p.Generate, o); generated.HasErrors() {
			return nil, generated
		}
	}
	made, diags := w.subject.Plan(ctx, w, o)
	diags.Append(generated)
	planinputs.KeepLooks(made, w.State.Session, o.Looks)
	w.opening.partial.Finish(w.State.Session, made, o.Looks, diags)
	return made, diags
}

func (w *Work) options(p planoptions.Planning) engine.PlanOptions {
	o := engine.PlanOptions{
		Mode: p.Mode, SkipRefresh: p.SkipRefresh, AllowDeferral: p.AllowDeferral, Invoke: p.Invoke,
		Looks:   w.opening.partial.Looks(),
		Targets: p.Targets, Excludes: p.Excludes, Replace: p.Replace,
		InDoubt: journal.Instances(w.Doubts()),
		Needed:  w.State.Needed(),
		Meaning: engine.MeaningIn(w.dir.Place.Dialect),
	}
	if o.Looks == nil {
		o.Looks = planinputs.Looks(p, w.State.Session, w.dir.Place)
	}
	if p.Explained {
		w.Reasons = w.Config.Reasons(&o)
	}
	return o
}
