package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/trace"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/compiler/calls"
	"weir.dev/weir/internal/lang/fsfuncs"
	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/resource/providerclient"
)

// LoadOptions say what to load.
type LoadOptions struct {
	World    World
	Dir      string
	Inputs   map[string]module.VariableInput
	Files    module.Files // nil for the disk
	Language Language     // nil for modules only
	// Queries: the query files of the root module are read, too.
	Queries bool
	// Resolve finds the directory behind a module call; nil looks it up among
	// what is installed.
	Resolve func(ctx context.Context, r module.Request) (dir string, diags diag.List)
	// Programs are kept for further loads from the same disk; nil keeps none. From is the directory
	// on it from where names of files are seen, for loads in several.
	Programs *Programs
	From     string
}

// A Language reads what calls load. Package stack has another one than that of
// modules.
type Language interface {
	// Compile reads and compiles the source in a directory; without a call it is
	// the root.
	Compile(files module.Files, dir string, call *program.Call) (*module.Source, *program.Program, diag.List)
	// Class reports apart the calls that Compile answers differently for the same directory.
	Class(call *program.Call) string
	// Check compares a call with a program that it loads, CheckInputs with all
	// that its instances load.
	Check(call *program.Call, child *program.Program) diag.List
	CheckInputs(call *program.Call, variants []calls.Variant) diag.List
}

// Modules is the language of modules.
func Modules(d dialect.Dialect) Language { return moduleLanguage{dialect: d} }

// moduleLanguage is that of modules.
type moduleLanguage struct {
	dialect dialect.Dialect
	queries bool
}

func (l moduleLanguage) Compile(files module.Files, dir string, call *program.Call) (*module.Source, *program.Program, diag.List) {
	load := module.Load
	if l.queries && call == nil {
		load = module.LoadQueries
	}
	src, diags := load(files, dir, l.dialect)
	p, more := compiler.Compile(src)
	diags.Append(more)
	if call == nil {
		diags.Append(calls.CheckRoot(p))
	}
	return src, p, diags
}

func (moduleLanguage) Class(*program.Call) string { return "" }

func (moduleLanguage) Check(call *program.Call, child *program.Program) diag.List {
	return calls.Check(call, child)
}

func (moduleLanguage) CheckInputs(call *program.Call, variants []calls.Variant) diag.List {
	return calls.CheckInputs(call, variants)
}

// Load reads and compiles the configuration in a directory with all modules
// that it calls. Beside errors it returns what could be loaded.
func Load(ctx context.Context, o LoadOptions) (*Config, diag.List) {
	ctx, span := trace.Begin(ctx, trace.Stage, "load")
	c, diags := loadTree(ctx, o)
	span.End(diags.HasErrors())
	return c, diags
}

func loadTree(ctx context.Context, o LoadOptions) (*Config, diag.List) {
	l := newLoader(ctx, o)
	c := &Config{modules: &modules{}, Inputs: o.Inputs, World: o.World, Sources: map[string][]byte{}, watched: fsfuncs.NewWatched(o.World.Disk)}
	if l.Resolve == nil {
		manifest, err := module.ReadManifest(l.Files, o.World.DataDir)
		if err != nil {
			var diags diag.List
			diags.Add(diag.Unreadable.As("Failed to read the list of installed modules").New(diag.Error, "%s. Run \"%s\" to write it again.", err, diag.Run("init", "")))
			return c, diags
		}
		l.Resolve = func(_ context.Context, r module.Request) (string, diag.List) {
			return manifest.Find(r.Key, r.Source, r.Constraint, o.World.Dialect.Registry(), r.Range)
		}
	}
	root := l.compile(o.Dir, nil)
	diags := slices.Clone(root.diags)
	l.uninstalled = o.Resolve == nil && slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && !d.Use })
	if root.program == nil {
		c.Sources = l.sources()
		return c, diags
	}
	c.Tree = &program.Tree{Program: root.program, Children: map[addr.Call]*program.Tree{}}
	values, more := c.values(true)
	if more.HasErrors() {
		c.Sources = l.sources()
		return c, append(diags, more...)
	}
	diags.Append(l.calls(c, values))
	c.Sources = l.sources()
	c.Installed = l.keys()
	c.Compiled = len(l.compiled)
	return c, diags
}

// program returns what an instance of a module call loads, nil for an instance
// that only a state has.
func (c *Config) program(f *eval.Frame, call *program.Call, k addr.Key) (*program.Program, diag.List) {
	at := c.modules.child(f, call, k)
	if p := c.modules.programs[at]; p != nil {
		if c.Override != nil {
			p = c.Override(f.Addr.Child(call.Call, k), p)
		}
		return p, nil
	}
	if _, varies := c.modules.expansions[c.modules.callAt(f, call)]; varies {
		return nil, nil
	}
	var diags diag.List
	diags.Add(module.NotInstalled.Error(call.Range, "The module of this call isn't loaded. Run \"%s\" to install all modules required by this configuration.", diag.Run("init", "")))
	return nil, diags
}

// expansion returns the instances of a call that were loaded one by one.
func (c *Config) expansion(f *eval.Frame, call *program.Call) (eval.Expansion, bool) {
	e, ok := c.modules.expansions[c.modules.callAt(f, call)]
	return e, ok
}

// facts are the values of the surroundings for an evaluation.
func (c *Config) facts(applying cty.Value, env functions.Env) eval.Facts {
	env.TemplateDepth, env.Random = c.World.TemplateDepth, c.World.Random
	live := env
	env.Files, live.Files = c.World.Files, c.World.Disk
	if env.Files == nil {
		env.Files = c.watched
	}
	facts := c.surroundings(applying)
	facts.Functions = functions.Context(env)
	if c.World.Files != nil {
		facts.Live = functions.Context(live)
	}
	return facts
}

// surroundings are the facts without functions.
func (c *Config) surroundings(applying cty.Value) eval.Facts {
	given := map[string]hcl.Range{}
	for name, in := range c.Inputs {
		if in.From == "file" {
			given[name] = in.Range
		}
	}
	return eval.Facts{
		Given:     given,
		Workspace: c.World.Workspace,
		Applying:  applying,
		RootDir:   c.World.WorkDir,
		WorkDir:   c.World.OriginalDir,
		Secrets:   c.World.Secrets,
	}
}

// base is what the hosts of all stages answer alike.
func (c *Config) base(values map[string]cty.Value, pool *providerclient.Pool) providerclient.Base {
	return providerclient.Base{Variables: values, Load: c.program, Pool: pool}
}

// values turns the inputs into values of the root variables. Early says that
// problems of values are left to a later call.
func (c *Config) values(early bool) (map[string]cty.Value, diag.List) {
	values, diags := InputValues(c.Tree.Program, c.Inputs)
	if early {
		diags = nil
	}
	return values, diags
}

// InputValues turns inputs into values of the variables of a root module, before they are
// converted to the types of these.
func InputValues(root *program.Program, inputs map[string]module.VariableInput) (map[string]cty.Value, diag.List) {
	var diags diag.List
	values := map[string]cty.Value{}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		in, v := inputs[name], root.VariableByName[name]
		switch {
		case v == nil:
			diags.Append(undeclared(name, in))
		case in.Value != cty.NilVal:
			values[name] = in.Value
		case v.Untyped || v.Type.IsPrimitiveType():
			values[name] = cty.StringVal(in.Text)
		default:
			parsed, more := module.ParseValue(module.Origin(name), in.Text)
			diags.Append(more)
			if !more.HasErrors() {
				values[name] = parsed
			}
		}
	}
	return values, diags
}

// missing reports required variables that have no value: nothing is planned without them.
func (c *Config) missing() diag.List {
	var diags diag.List
	for _, v := range c.Tree.Program.Variables {
		if _, given := c.Inputs[v.Name]; !given && v.Required() {
			_, more := eval.PrepareVariable(v, cty.NilVal, v.Range)
			diags.Append(more)
		}
	}
	return diags
}

func undeclared(name string, in module.VariableInput) diag.List {
	var diags diag.List
	switch in.From {
	case "argument":
		diags.Add(Undeclared.New(diag.Error, "A variable named %q was assigned on the command line, but the root module does not declare a variable of that name. To use this value, add a \"variable\" block to the configuration.", name))
	case "file":
		diags.Add(Undeclared.Warning(in.Range, "The root module does not declare a variable named %q but a value was found in file %q. If you meant to use this value, add a \"variable\" block to the configuration.", name, in.Range.Filename))
	}
	return diags
}
