package cli

import (
	"context"
	"strconv"
	"time"

	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/event"
	"weir.dev/weir/internal/files"
	"weir.dev/weir/internal/session"
)

// A workload is a loaded configuration with the state it is about.
type workload struct {
	config *engine.Config
	*session.Session
	inputs map[string]engine.VariableInput
}

// loading says how a configuration is loaded.
type loading struct {
	vars        varFlags
	parallelism int
	sink        event.Sink
	workspace   string // empty for the selected one
	extra       string // configuration beside that of the files
	ask         bool   // for variables without a value: they are needed
	record      bool   // what expressions learn of files
	warm        bool   // providers will be needed: start them meanwhile
}

// load loads the configuration in the working directory. The configuration may
// be there beside errors.
func (e *env) load(ctx context.Context, l loading) (*engine.Config, map[string]engine.VariableInput, diag.List) {
	inputs, diags := e.inputs(l.vars)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	if l.ask {
		if more := e.askForVariables(ctx, inputs); more.HasErrors() {
			diags.Append(more)
			return nil, nil, diags
		}
	}
	world, more := e.world(l)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	options := engine.LoadOptions{World: world, Dir: ".", Inputs: inputs}
	if l.extra != "" {
		options.Files = filesWith{name: "command-line.weir.tf", data: []byte(l.extra)}
	}
	config, more := engine.Load(ctx, options)
	diags.Append(more)
	if config != nil {
		e.addSources(config.Sources)
		if versions := e.checkVersions(config.Tree); versions.HasErrors() {
			return nil, nil, versions // it explains the rest
		} else {
			diags.Append(versions)
		}
	}
	return config, inputs, diags
}

func (e *env) addSources(files map[string][]byte) {
	for name, data := range files {
		e.sources[name] = data
	}
}

// world is what a run takes from outside.
func (e *env) world(l loading) (engine.World, diag.List) {
	workspace := l.workspace
	var diags diag.List
	if workspace == "" {
		workspace, diags = e.workspace()
	}
	if l.parallelism < 0 {
		diags.Errorf("Invalid parallelism value", "The -parallelism option can't be negative, and it is %d.", l.parallelism)
	}
	depth := 0
	if text := e.vars["TF_TEMPLATE_RECURSION_DEPTH"]; text != "" {
		var err error
		if depth, err = strconv.Atoi(text); err != nil || depth <= 0 {
			diags.Errorf("Invalid TF_TEMPLATE_RECURSION_DEPTH", "How deep templates may render templates has to be a positive whole number, and it is %q.", text)
		}
	}
	catalog := &lateCatalog{}
	if l.warm && !diags.HasErrors() {
		e.warm(catalog)
	}
	var source files.Source
	if l.record {
		source = files.NewRecorder(files.Record{})
	}
	return engine.World{
		Dialect:     e.dialect,
		Files:       source,
		Catalog:     catalog,
		WorkDir:     ".",
		OriginalDir: e.originalDir,
		DataDir:     e.dataDir(),
		Workspace:   workspace,
		Now:         time.Now,
		Parallelism: l.parallelism,
		Sink:        l.sink,

		TemplateDepth: depth,
	}, diags
}

// begin loads the configuration, opens the state, locks and reads it. What is
// wrong has been reported when the result is nil.
func (e *env) begin(ctx context.Context, l loading, f stateFlags, operation string) *workload {
	l.ask, l.warm = true, true
	config, inputs, diags := e.load(ctx, l)
	if config == nil || config.Tree == nil || config.Tree.Program == nil {
		e.diags(diags)
		return nil
	}
	// A backend that isn't the configured one explains most other problems.
	b, more := e.initializedBackend(config.Tree.Program, inputs)
	if more.HasErrors() {
		e.diags(more)
		return nil
	}
	if diags.HasErrors() {
		e.diags(diags)
		return nil
	}
	diags.Append(more)
	s, more := e.openSession(b, f)
	diags.Append(more)
	if s != nil && operation != "" {
		diags.Append(e.lock(ctx, s, operation, f))
	}
	if s != nil && !diags.HasErrors() {
		diags.Append(e.read(ctx, s))
	}
	if !diags.HasErrors() {
		diags.Append(e.provideFor(config, s.Prior()))
	}
	if e.diags(diags) != 0 {
		if s != nil {
			s.Unlock()
		}
		return nil
	}
	return &workload{config: config, Session: s, inputs: inputs}
}
