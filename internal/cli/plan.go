package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/files"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/planfile"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/release"
	"weir.dev/weir/internal/view"
	"weir.dev/weir/internal/view/style"
)

var planCommand = &command{
	name: "plan", main: true,
	synopsis: "Show changes required by the current configuration",
	long:     "Compares the configuration with the state and with what exists, and shows what apply would do. Nothing is changed.",
	setup: func(e *env, fs *flag.FlagSet) runner {
		var p planning
		p.register(e, fs)
		fs.StringVar(&p.out, "out", "", "Save the plan in the file at `PATH`, for apply.")
		fs.BoolVar(&p.detailed, "detailed-exitcode", false, "Exit with status 0 if there is nothing to do, 1 after an error and 2 if there are changes.")
		fs.StringVar(&p.generate, "generate-config-out", "", "Write configuration for imported resources that have none to a new file at `PATH`.")
		return func(ctx context.Context, _ []string) int { return p.run(ctx, e) }
	},
}

// planning has the flags of everything that begins with a plan.
type planning struct {
	operation
	state    stateFlags
	vars     varFlags
	out      string
	generate string
	detailed bool
}

func (p *planning) register(e *env, fs *flag.FlagSet) {
	p.operation.register(fs)
	p.state.register(fs)
	p.vars.register(fs)
	e.streamFlags(fs)
	remoteVersion(fs)
}

func (p *planning) run(ctx context.Context, e *env) int {
	if code := e.startStream(); code != 0 {
		return code
	}
	if p.out != "" && !isDir(filepath.Dir(p.out)) {
		return e.fail("Failed to write plan file", "The directory of %q doesn't exist.", p.out)
	}
	w, made, diags := p.make(ctx, e, "plan")
	if made == nil {
		return 1
	}
	defer w.Unlock()
	e.showPlan(made)
	if p.out != "" {
		if err := p.save(ctx, e, w, made); err != nil {
			diags.Errorf("Failed to write plan file", "The plan file could not be written: %s.", err)
		}
	}
	if e.diags(diags) != 0 {
		return 1
	}
	if !e.json {
		e.advise(p.out, made)
	}
	if p.detailed && (made.HasChanges() || len(made.Deferred) > 0) {
		return exitChanges
	}
	return 0
}

// needConfiguration refuses a directory without configuration: as one that asks
// for nothing it would have everything destroyed.
func needConfiguration(operation string, d dialect.Dialect) diag.List {
	names, err := module.Disk{}.List(".")
	if err != nil || !module.IsEmpty(names, d) {
		return nil // who reads the files reports the error
	}
	doing := map[string]string{"plan": "Planning", "apply": "Applying"}[operation]
	return oneError("No configuration files", "%s requires configuration to be present. %s without a configuration would mark everything for destruction, which is normally not what is desired. If you would like to destroy everything, use the destroy command, or plan with -destroy.", strings.ToUpper(operation[:1])+operation[1:], doing)
}

// make plans. The plan is nil if that wasn't possible at all, which has been
// reported then; otherwise the diagnostics are still to be shown.
func (p *planning) make(ctx context.Context, e *env, operation string) (*workload, *plan.Plan, diag.List) {
	chosen, diags := p.choose()
	if p.generate != "" {
		if _, err := os.Stat(p.generate); err == nil {
			diags.Errorf("Target generated file already exists", "weir can only write generated config into a new file. Either choose a different target location or move all existing configuration out of the target file, delete it and try again.")
		}
	}
	if chosen.mode == plan.Normal {
		diags.Append(needConfiguration(operation, e.dialect))
	}
	if diags.HasErrors() {
		e.diags(diags)
		return nil, nil, nil
	}
	w := e.begin(ctx, loading{vars: p.vars, parallelism: p.parallelism, sink: e.progress.Event, record: p.out != ""}, p.state, operation)
	if w == nil {
		return nil, nil, nil
	}
	o := p.options(e, w, chosen)
	var generated diag.List
	if p.generate != "" && chosen.mode == plan.Normal {
		if o.Generated, generated = p.generateConfig(ctx, e, w, o); generated.HasErrors() {
			e.diags(generated)
			w.Unlock()
			return nil, nil, nil
		}
	}
	made, diags := engine.Plan(ctx, w.config, w.Snapshot(), o)
	diags.Append(generated)
	if made == nil {
		e.diags(diags)
		w.Unlock()
	}
	return w, made, diags
}

// options are those of planning.
func (p *planning) options(e *env, w *workload, chosen choice) engine.PlanOptions {
	return engine.PlanOptions{
		Mode:          chosen.mode,
		SkipRefresh:   !p.refresh,
		Targets:       chosen.targets,
		Excludes:      chosen.excludes,
		Replace:       chosen.replace,
		AllowDeferral: p.deferral,
		InDoubt:       w.Doubted(),
		// The two engines differ in what a removed block means by default.
		RemovedDestroys: e.dialect == dialect.Terraform,
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// save writes the plan file with all that apply will need, and whoever shows it.
func (p *planning) save(ctx context.Context, e *env, w *workload, made *plan.Plan) error {
	completeSchemas(ctx, w.config, made)
	c := planfile.Content{
		Engine: release.Current().Version,
		Plan:   made,
		Files:  w.config.Sources,
		Tree:   w.config.Tree,

		WorkDir: w.config.World.OriginalDir,
	}
	if read, ok := w.config.World.Files.(*files.Recorder); ok {
		c.Read = read.Record()
	}
	record, err := w.Backend().Record()
	if err != nil {
		return err
	}
	c.Backend = planfile.Backend{Type: w.Backend().Kind, Config: record, Workspace: w.Workspace()}
	if base := w.Base(); base != nil {
		c.Backend.Lineage, c.Backend.Serial = base.Lineage, base.Serial
	}
	if c.Lock, err = optionalFile(lockfile.Name); err != nil {
		return err
	}
	if c.Modules, err = optionalFile(module.ManifestPath(e.dataDir())); err != nil {
		return err
	}
	all, diags := e.encryption()
	if err := diags.Err(); err != nil {
		return err
	}
	return planfile.Write(p.out, c, all.Plan().Seal)
}

// completeSchemas adds the schemas of providers that planning had no use for,
// although the configuration or the state names them: those of blocks without
// instances, or that -target or an error has left out. What can't be had is
// shown without.
func completeSchemas(ctx context.Context, c *engine.Config, p *plan.Plan) {
	add := func(a addr.Provider) {
		if p.Schemas[a] != nil {
			return
		}
		if s, diags := c.World.Catalog.Schemas(ctx, a); !diags.HasErrors() {
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
	walk(c.Tree)
	for _, a := range p.Refreshed.Providers() {
		add(a)
	}
}

// optionalFile reads a file that needn't exist.
func optionalFile(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}

// showPlan shows a plan to people or as part of the stream.
func (e *env) showPlan(p *plan.Plan) {
	if e.stream != nil {
		e.stream.Plan(p)
	}
	if e.json || p.Errored && len(p.Changes) == 0 {
		return
	}
	e.written(view.Plan(e.out, p, e.viewing()))
}

// advise says what to do with a plan, unless nobody is there to read it.
func (e *env) advise(out string, p *plan.Plan) {
	if !p.HasChanges() || e.inAutomation() {
		return
	}
	text := fmt.Sprintf("Note: You didn't use the -out option to save this plan, so weir can't guarantee to take exactly these actions if you run \"%s apply\" now.", e.program)
	if out != "" {
		text = fmt.Sprintf("Saved the plan to: %s\n\nTo perform exactly these actions, run the following command to apply:\n    %s apply %q", out, e.program, out)
	}
	width := e.width()
	if width == 0 {
		width = style.DefaultWidth
	}
	e.say("\n%s\n\n%s\n", e.pen().Rule(width), style.Wrap(text, width))
}
