package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/plan/rebase"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/stack"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/lockedstate"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Save writes a plan to a file, with all that apply will need, and the caller that shows it.
// Engine is the version that it is noted to be of.
func (w *Work) Save(ctx context.Context, path, engine string, made *plan.Plan) error {
	c, err := w.Kept(ctx, engine, made)
	if err != nil {
		return err
	}
	w.Reasons = nil // they hold all that was evaluated, and what is kept of them is in the plan
	return w.dir.WritePlan(path, c)
}

// WritePlan writes a plan to a file.
func (d *Directory) WritePlan(path string, c planfile.Content) error {
	all, diags := d.Settings.Encryption()
	if err := diags.Err(); err != nil {
		return err
	}
	return planfile.Write(d.Place.Path(path), c, all.Plan().Seal)
}

// Kept is a plan with all that applying it later needs.
func (w *Work) Kept(ctx context.Context, engine string, made *plan.Plan) (planfile.Content, error) {
	w.completeSchemas(ctx, made)
	w.Reasons.Note(made)
	return w.content(engine, made)
}

func (w *Work) content(engine string, made *plan.Plan) (planfile.Content, error) {
	c := planfile.Content{
		Engine: engine,
		Plan:   made,
		Files:  w.Config.Sources,
		Tree:   w.Config.Tree,

		WorkDir: w.Config.World.OriginalDir,
	}
	if read, ok := w.Config.World.Files.(*fsfuncs.Recorder); ok {
		c.Read = read.Record()
	}
	if w.dir.Settings.IsStack() {
		// Its states are where those of the directory are by then.
		c.Backend = planfile.Backend{Type: stackKind, Config: []byte("{}"), Workspace: w.State.Workspace()}
	} else {
		record, err := w.State.Backend().Record()
		if err != nil {
			return c, err
		}
		c.Backend = planfile.Backend{Type: w.State.Backend().Kind, Config: record, Workspace: w.State.Workspace()}
	}
	if base := w.State.Base(); base != nil {
		c.Backend.Lineage, c.Backend.Serial = base.Lineage, base.Serial
	}
	d := w.dir
	var err error
	if c.Lock, err = d.Place.LockFile(); err != nil {
		return c, err
	}
	c.Modules, err = d.Place.OptionalFile(module.ManifestPath(d.Place.DataName()))
	return c, err
}

// completeSchemas adds the schemas of providers that planning had no use for, although the
// configuration or the state names them: those of blocks without instances, or that -target or
// an error has left out. Anything that can't be had is shown without.
func (w *Work) completeSchemas(ctx context.Context, p *plan.Plan) {
	add := func(a addr.Provider) {
		if p.Schemas[a] != nil {
			return
		}
		if s, diags := w.Config.World.Catalog.Schemas(ctx, a); !diags.HasErrors() {
			p.Schemas[a] = s
		}
	}
	if p.Schemas == nil {
		p.Schemas = map[addr.Provider]*provider.Schemas{}
	}
	var walk func(t *program.Tree)
	walk = func(t *program.Tree) {
		for _, r := range t.Program.Resources {
			add(r.Provider.Provider)
		}
		for _, b := range t.Program.Providers {
			add(b.Provider)
		}
		for _, child := range t.Calls() {
			walk(child)
		}
	}
	walk(w.Config.Tree)
	for _, a := range p.Refreshed.Providers() {
		add(a)
	}
}

// ReadPlan reads a saved plan, which is distinguished from other files that people try.
func (d *Directory) ReadPlan(path string) (planfile.Content, diag.List) {
	summary := fmt.Sprintf("Failed to load %q as a plan file", path)
	if info, err := os.Stat(d.Place.Path(path)); err == nil && info.IsDir() {
		return planfile.Content{}, planfile.Unreadable.As(summary).List("It is a directory. Use -chdir to work in another directory.")
	}
	data, err := d.Place.Input(path)
	if err != nil {
		return planfile.Content{}, planfile.Unreadable.As(summary).List("Error: %s.", diag.Cause(err))
	}
	return d.OpenPlan(path, data)
}

// SavedPlans are the files of the saved plans of deployments at a path, which may be a
// folder of them, and the deployments that they are of.
func SavedPlans(d *Directory, path string) (files, deployments []string, diags diag.List) {
	names, diags := planfile.In(d.Place.Path(path), d.Place.Program)
	for _, name := range names {
		files = append(files, filepath.Join(path, name))
		c, more := d.ReadPlan(files[len(files)-1])
		if c.Plan != nil && c.Backend.Type != stackKind {
			more = planfile.Unreadable.As("Saved plan of no stack").List("The plan in %q isn't of a deployment of a stack. Apply it where it was made, with:\n    %s apply %[1]s", path, d.Place.Program)
		}
		diags.Append(more)
		deployments = append(deployments, c.Backend.Workspace)
	}
	return files, deployments, diags
}

// OpenPlan reads what a saved plan has in it.
func (d *Directory) OpenPlan(path string, data []byte) (planfile.Content, diag.List) {
	summary := fmt.Sprintf("Failed to load %q as a plan file", path)
	all, diags := d.Settings.SealsOf(data)
	if diags.HasErrors() {
		return planfile.Content{}, diags
	}
	if !planfile.Is(data) && encryption.Recognize(data) != encryption.SealedPlan {
		return planfile.Content{}, planfile.Unreadable.As(summary).List("The file isn't a saved plan. Save one with plan -out=PATH.")
	}
	content, more := planfile.Read(data, d.Place.Path(path), all.Plan().Open)
	return content, append(diags, more...)
}

// LoadSaved loads the configuration that is in a plan file, with the plan's
// values of variables. It may be there beside errors.
func (d *Directory) LoadSaved(ctx context.Context, c planfile.Content) (*engine.Config, diag.List) {
	inputs := map[string]module.VariableInput{}
	for name, v := range c.Plan.Variables {
		if v.Given && !v.Ephemeral {
			inputs[name] = module.VariableInput{Value: v.Value, From: "plan"}
		}
	}
	return d.loadSaved(ctx, c, inputs, Loading{})
}

func (d *Directory) loadSaved(ctx context.Context, c planfile.Content, inputs map[string]module.VariableInput, l Loading) (*engine.Config, diag.List) {
	l.Workspace = c.Backend.Workspace
	world, diags := d.World(ctx, l)
	if diags.HasErrors() {
		return nil, diags
	}
	world.OriginalDir, world.Files = c.WorkDir, fsfuncs.NewRecorder(d.Place.Disk(), c.Read)
	sources := module.Memory{}
	for name, data := range c.Files {
		sources[name] = data
	}
	if len(c.Modules) > 0 {
		sources[module.ManifestPath(d.Place.DataName())] = c.Modules
	}
	config, more := engine.Load(ctx, engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Files: sources, Language: d.languageOf(c), Resolve: d.resolverOf(c, sources)})
	diags.Append(more)
	if config != nil {
		d.Place.AddSources(config.Sources)
	}
	return config, diags
}

// stackKind is what the backend of a deployment is called in saved plans.
const stackKind = "stack"

// languageOf is that of the configuration in a saved plan, nil for modules.
func (d *Directory) languageOf(c planfile.Content) engine.Language {
	if c.Backend.Type == stackKind {
		return stack.Language{Dialect: d.Place.Dialect}
	}
	return nil
}

func (d *Directory) resolverOf(c planfile.Content, sources module.Files) func(context.Context, module.Request) (string, diag.List) {
	if c.Backend.Type == stackKind {
		return d.ModulesInPlace(sources)
	}
	return d.localModules(sources)
}

// Saved is the configuration in a saved plan with the state that it was made
// for, which must not have changed since.
func (d *Directory) Saved(c planfile.Content) Subject {
	return Subject{
		Load: func(ctx context.Context, l Loading) (*engine.Config, diag.List) {
			if c.Plan.Errored {
				return nil, planfile.Unreadable.As("Cannot apply incomplete plan").List("Planning failed with an error when this plan was made, so it can't be applied. Remove the cause and make the plan again.")
			}
			inputs, diags := d.savedInputs(c.Plan, l.Vars)
			if diags.HasErrors() {
				return nil, diags
			}
			diags.Append(d.sameLocks(c.Lock))
			if diags.HasErrors() {
				return nil, diags
			}
			l.warm = true
			config, more := d.loadSaved(ctx, c, inputs, l)
			if more.HasErrors() {
				return nil, more
			}
			diags.Append(more)
			for _, v := range config.Tree.Program.Variables {
				made := c.Plan.Variables[v.Name]
				if _, given := inputs[v.Name]; made != nil && made.Ephemeral && !given && v.Default == cty.NilVal {
					diags.Add(givenAgain(v.Name))
				}
			}
			return config, diags
		},
		Backend: func(config *engine.Config) (*statebackend.Backend, diag.List) {
			if c.Backend.Type == stackKind {
				b, diags := d.States.StackBackend(c.Backend.Workspace)
				if b != nil {
					b.Requires = statebackend.RequiredBy(config.Tree.Program)
				}
				return b, diags
			}
			if diags := d.Settings.Encrypt(config.Tree.Program, config.Inputs); diags.HasErrors() {
				return nil, diags
			}
			return d.Settings.RecordedBackend(c.Backend.Type, c.Backend.Config, config.Tree.Program)
		},
		Workspace: func() (string, diag.List) {
			if d.Place.Dialect != dialect.Terraform || c.Backend.Type == stackKind {
				return c.Backend.Workspace, nil
			}
			selected, diags := d.Place.Workspace()
			if !diags.HasErrors() && selected != c.Backend.Workspace {
				diags.Add(Stale.As("Plan of another workspace").New(diag.Error, "The plan was made for workspace %q, and workspace %q is selected. Select the workspace of the plan, or make a new plan.", c.Backend.Workspace, selected))
			}
			return c.Backend.Workspace, diags
		},
		Check: func(s *lockedstate.Session) diag.List {
			base := s.Base()
			if !s.Concurrent() || base == nil || c.Backend.Lineage != "" && c.Backend.Lineage != base.Lineage {
				if !stale(c.Backend, s) {
					return nil
				}
				return diag.List{Stale.New(diag.Error, "The given plan file can no longer be applied because the state was changed by another operation after the plan was created.")}
			}
			// The serial says too little: a plan beside an apply reads what that has saved so far,
			// and all saves of an apply have one serial.
			p, diags := onto(c.Plan, s)
			if p != nil {
				c.Plan = p
			}
			return diags
		},
		Plan:  func(context.Context, *Work, engine.PlanOptions) (*plan.Plan, diag.List) { return c.Plan, nil },
		Parts: limited(c.Plan.Targets, c.Plan.Excludes),
	}
}

// limited reports whether a plan reads parts of the state only.
func limited(targets, excludes []addr.Target) bool { return len(targets)+len(excludes) > 0 }

// onto is a plan for the state that was read now; nil if what it has read is otherwise there.
func onto(made *plan.Plan, s *lockedstate.Session) (*plan.Plan, diag.List) {
	p, changed := rebase.Onto(made, s.Snapshot())
	if len(changed) == 0 {
		return p, nil
	}
	return nil, diag.List{Stale.New(diag.Error, "The plan can no longer be applied because these parts of the state, which the plan has read, were changed after the plan was created:\n  - %s", strings.Join(changed, "\n  - "))}
}

// stale reports whether the state isn't the one that the plan was made for.
func stale(made planfile.Backend, s *lockedstate.Session) bool {
	base := s.Base()
	if base == nil {
		return made.Lineage != "" || made.Serial != 0
	}
	return base.Lineage != made.Lineage || base.Serial != made.Serial
}

// savedInputs are the values that the plan was made with, and the ephemeral
// ones, which have to be given again.
func (d *Directory) savedInputs(p *plan.Plan, vars []environment.Var) (map[string]module.VariableInput, diag.List) {
	given, diags := d.Place.Inputs(vars)
	explicit := map[string]bool{}
	for _, v := range vars {
		if name, _, ok := strings.Cut(v.Value, "="); ok && !v.File {
			explicit[name] = true
		}
	}
	inputs := map[string]module.VariableInput{}
	for name, v := range p.Variables {
		in, ok := given[name]
		switch {
		case v.Ephemeral && ok:
			inputs[name] = in
		case v.Ephemeral && v.Given && d.Place.Dialect == dialect.Terraform:
			diags.Add(givenAgain(name))
		case v.Ephemeral:
		default:
			switch {
			case !ok || sameInput(in, v.Value):
			case in.From == "environment" && d.Place.Dialect == dialect.Terraform:
				diags.Add(PlanVariables.New(diag.Warning, "The environment variable %s has another value than the one that the saved plan was made with. The apply uses that of the plan. Make a new plan to use the new value.", module.Origin(name)))
			case explicit[name] || in.From == "environment":
				diags.Add(PlanVariables.New(diag.Error, "The value of variable %q differs from the one that the saved plan was made with. Make a new plan with the new value.", name))
			}
			if v.Given {
				inputs[name] = module.VariableInput{Value: v.Value, From: "plan"}
			}
		}
	}
	for name := range explicit {
		if p.Variables[name] == nil {
			diags.Add(engine.Undeclared.New(diag.Error, "A variable named %q was assigned on the command line, but the saved plan has no such variable.", name))
		}
	}
	return inputs, diags
}

func givenAgain(name string) diag.Diagnostic {
	return eval.MissingVariable.New(diag.Error, "The variable %q is ephemeral, so its value isn't in the plan file. It has to be given again, for example with -var.", name)
}

// sameInput reports whether a given value is the one that was planned with.
func sameInput(in module.VariableInput, planned cty.Value) bool {
	given := in.Value
	if given == cty.NilVal {
		given = cty.StringVal(in.Text)
		if !planned.Type().IsPrimitiveType() {
			parsed, diags := module.ParseValue("", in.Text)
			if diags.HasErrors() {
				return false
			}
			given = parsed
		}
	}
	converted, err := convert.Convert(given, planned.Type())
	return err == nil && converted.RawEquals(planned)
}

// sameLocks reports whether the dependency locks are those of the plan.
func (d *Directory) sameLocks(planned []byte) diag.List {
	then, diags := lockfile.Parse(planned, lockfile.Name)
	now, more := d.Place.Locks()
	diags.Append(more)
	if diags.HasErrors() || then.Equal(now) {
		return diags
	}
	for _, lock := range then.All() {
		current, ok := now.Get(lock.Provider)
		if !ok || current.Version.String() != lock.Version.String() {
			diags.Add(install.InconsistentLocks.New(diag.Error, "The plan was made with provider %s %s, and the dependency lock file doesn't select that any more. A saved plan can be applied only with the providers it was made with. Make a new plan.", lock.Provider, lock.Version))
		}
	}
	return diags
}
