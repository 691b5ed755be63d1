package backendinit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/state/encryption"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backends"
	"weir.dev/weir/internal/state/storage/remote"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Opener opens backends.
func (d *Reader) Opener() statebackend.Opener {
	return statebackend.Opener{Dir: d.Place.Dir, Getenv: d.Place.Getenv, Disk: d.Place.StateDisk, Hosts: d.Place.Hosts, Cloud: d.Place.Dialect.CloudHost(), Program: d.Place.Program, Types: backends.All(), Stores: d.Stores}
}

// BackendSettings evaluates blocks of the root module.
func (d *Reader) BackendSettings(prog *program.Program, inputs map[string]module.VariableInput) statebackend.Settings {
	return func(body hcl.Body, s *schema.Block) (cty.Value, diag.List) {
		return d.evaluateSettings(prog, body, s, inputs)
	}
}

// Root reads the root module's own files, for commands that need no more than
// its settings.
func (d *Reader) Root() (*program.Program, diag.List) {
	return d.compileRoot(d.Place.Files())
}

// RootSettings is the root module as far as its settings go: perhaps without its resources.
// Anything that is wrong with the others isn't reported, nor are mistakes in how something
// declared is used.
func (d *Reader) RootSettings() (*program.Program, diag.List) {
	if d.stack {
		return d.compiled(module.LoadStackSettings(d.Place.Files(), ".", d.Place.Dialect))
	}
	if few, err := module.Settings(d.Place.Files(), ".", d.Place.Dialect); err == nil {
		if prog, diags := d.compileRoot(few); !diags.HasErrors() {
			return prog, diags
		}
	}
	prog, diags := d.Root() // settings may refer to the rest
	return prog, diags.WithoutUses()
}

// CheckSettings looks for what is wrong with the settings without evaluating them: the
// values of variables may not be there.
func (d *Reader) CheckSettings() diag.List {
	prog, diags := d.RootSettings()
	if prog == nil {
		return diags
	}
	if b := prog.Encryption; b != nil {
		_, more := encryption.Decode(b.Body, b.Range)
		diags.Append(more)
	}
	if b := prog.Backend; b != nil {
		diags.Append(d.Opener().Check(b))
	}
	return diags
}

func (d *Reader) compileRoot(files module.Files) (*program.Program, diag.List) {
	return d.compiled(module.Load(files, ".", d.Place.Dialect))
}

func (d *Reader) compiled(source *module.Source, diags diag.List) (*program.Program, diag.List) {
	for _, f := range source.Files {
		d.Place.AddSource(f.Name, f.Bytes)
	}
	prog, more := compiler.Compile(source)
	diags.Append(more)
	return prog, diags
}

// BackendArguments reads the values of -backend-config.
func (d *Reader) BackendArguments(flags []string) (map[string]cty.Value, diag.List) {
	values := map[string]cty.Value{}
	var diags diag.List
	for _, text := range flags {
		if name, v, ok := strings.Cut(text, "="); ok {
			values[strings.TrimSpace(name)] = cty.StringVal(v)
			continue
		}
		if text == "" {
			clear(values) // forget what was given before
			continue
		}
		data, err := d.Place.ReadFile(text)
		if err != nil {
			diags.Add(diag.Unreadable.New(diag.Error, "The file %q of -backend-config could not be read: %s.", text, diag.Cause(err)))
			continue
		}
		d.Place.AddSource(text, data)
		file, problems := syntax.Parse(text, data)
		diags.Append(problems)
		attributes, more := file.Body.JustAttributes()
		diags.Append(diag.FromHCL(syntax.Invalid, more))
		for _, attr := range syntax.InOrder(attributes) {
			v, bad := attr.Expr.Value(nil)
			diags.Append(diag.FromHCL(diag.Expression, bad))
			if !bad.HasErrors() {
				values[attr.Name] = v
			}
		}
	}
	return values, diags
}

// CurrentBackend is the backend that the working directory was initialized
// with. It has to be the one that the configuration asks for.
func (d *Reader) CurrentBackend() (*statebackend.Backend, diag.List) {
	inputs, diags := d.Place.Inputs(d.Place.SettingsVars)
	if diags.HasErrors() {
		return nil, diags
	}
	prog, more := d.RootSettings()
	if more.HasErrors() {
		return nil, more
	}
	return d.InitializedBackend(prog, inputs)
}

// InitializedBackend is CurrentBackend for a root module that was read.
func (d *Reader) InitializedBackend(prog *program.Program, inputs map[string]module.VariableInput) (*statebackend.Backend, diag.List) {
	diags := d.Encrypt(prog, inputs)
	if diags.HasErrors() {
		return nil, diags
	}
	if d.Place.Backend != nil {
		return d.Place.Backend, diags
	}
	record, err := d.Record().Backend()
	if err != nil {
		return nil, diag.Unreadable.As("Failed to read the record of the backend").List("%s. Run \"%s\" to write it again.", err, diag.Command{Program: d.Place.Program, Name: "init", Args: "-reconfigure"})
	}
	b, more := d.Opener().Initialized(prog, record, d.BackendSettings(prog, inputs))
	return b, append(diags, more...)
}

// DeclaredBackend opens the backend that a root module asks for, whether the directory was initialized
// or not.
func (d *Reader) DeclaredBackend(prog *program.Program, inputs map[string]module.VariableInput) (*statebackend.Backend, diag.List) {
	if d.Place.Backend != nil {
		return d.Place.Backend, nil
	}
	o := d.Opener()
	declared, diags := o.Declare(prog, d.BackendSettings(prog, inputs), nil)
	if diags.HasErrors() {
		return nil, diags
	}
	if declared == nil {
		return o.Local(prog), nil
	}
	if record, err := d.Record().Backend(); err == nil {
		declared.Recall(record)
	}
	b, _, diags := o.Declared(declared, prog)
	return b, diags
}

// executes reports whether the backend that the directory was initialized with is of a type whose
// services plan and apply.
func (d *Reader) executes() bool {
	record, err := d.Record().Backend()
	return err == nil && record != nil && d.Place.Backend == nil && backends.All()[record.Type].Executes
}

// service is that of the backend that the directory was initialized with, with its root module
// and workspace; nil without one. The caller that opens the backend reports errors.
func (d *Reader) service(in map[string]module.VariableInput) (service storage.Executor, prog *program.Program, workspace string) {
	if !d.executes() {
		return nil, nil, ""
	}
	prog, diags := d.RootSettings()
	if diags.HasErrors() || prog.Backend == nil {
		return nil, nil, ""
	}
	b, more := d.InitializedBackend(prog, in)
	name, bad := d.Place.Workspace()
	if more.HasErrors() || bad.HasErrors() {
		return nil, nil, ""
	}
	return b.Backend.(storage.Executor), prog, name
}

// Runs returns the runs of the selected workspace at the service of the backend, nil where plans
// and applies are made here.
func (d *Reader) Runs(ctx context.Context, vars []environment.Var) (*remote.Runs, diag.List) {
	if !d.executes() {
		return nil, nil
	}
	in, diags := d.Place.Inputs(vars)
	if diags.HasErrors() {
		return nil, diags
	}
	service, _, name := d.service(in)
	at, ok := service.(interface {
		Runs(context.Context, string) (*remote.Runs, error)
	})
	if !ok {
		return nil, nil
	}
	runs, err := at.Runs(ctx, name)
	if err != nil {
		return nil, diag.StateUnreadable.List("The workspace %q can't be read: %s.", name, err)
	}
	d.here = runs == nil
	return runs, nil
}

// ServiceInputs adds to the values of variables those that the service of the backend
// keeps, where there is such a service. Where plans and applies are to be made by the
// service itself, and runs says that this is one, that is the error.
func (d *Reader) ServiceInputs(ctx context.Context, in map[string]module.VariableInput, runs bool) diag.List {
	service, prog, name := d.service(in)
	if service == nil {
		return nil
	}
	if runs && !d.here {
		why, err := service.Elsewhere(ctx, name)
		if err != nil {
			return diag.StateUnreadable.List("The workspace %q can't be read: %s.", name, err)
		}
		if why != "" {
			return Elsewhere.List("%s", why)
		}
	}
	values, err := service.Variables(ctx, name)
	if err != nil {
		return diag.StateUnreadable.List("The variables of the workspace %q can't be read: %s.", name, err)
	}
	return addValues(prog, values, in)
}

// addValues takes over the values of variables that are declared and have none.
func addValues(prog *program.Program, values []storage.Variable, in map[string]module.VariableInput) diag.List {
	var diags diag.List
	for _, v := range values {
		declared := slices.ContainsFunc(prog.Variables, func(d *program.Variable) bool { return d.Name == v.Name })
		if _, given := in[v.Name]; given || !declared {
			continue
		}
		switch {
		case v.Hidden:
			diags.Append(Elsewhere.As(fmt.Sprintf("Value for var.%s unavailable", v.Name)).List("The value of variable %q is marked as sensitive in the workspace, so that it can't be read from there. Give it here too, for example with the environment variable TF_VAR_%s.", v.Name, v.Name))
		case v.Expression:
			parsed, problems := module.ParseValue("<variable "+v.Name+" of the workspace>", v.Value)
			diags.Append(problems)
			in[v.Name] = module.VariableInput{Value: parsed, From: "input"}
		default:
			in[v.Name] = module.VariableInput{Value: cty.StringVal(v.Value), From: "input"}
		}
	}
	return diags
}

// recordedBackend opens a backend from the record in a saved plan.
func (d *Reader) RecordedBackend(kind string, config json.RawMessage, prog *program.Program) (*statebackend.Backend, diag.List) {
	if d.Place.Backend != nil {
		return d.Place.Backend, nil
	}
	return d.Opener().Recorded(kind, config, prog)
}
