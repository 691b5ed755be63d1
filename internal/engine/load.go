package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/analyze"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/function"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/promise"
	"weir.dev/weir/internal/static"
)

// LoadOptions say what to load.
type LoadOptions struct {
	World  World
	Dir    string
	Inputs map[string]VariableInput
	Files  module.Files // nil for the disk
	// Resolve finds the directory behind a module call; nil looks it up among
	// what is installed.
	Resolve func(ctx context.Context, r module.Request) (dir string, diags diag.List)
}

// Load reads and compiles the configuration in a directory with all modules
// that it calls. Beside errors it returns what could be loaded.
func Load(ctx context.Context, o LoadOptions) (*Config, diag.List) {
	l := &loader{ctx: ctx, LoadOptions: o, compiled: map[string]*compiled{}, trees: map[addr.Module]*program.Tree{}}
	if l.Files == nil {
		l.Files = module.Disk{}
	}
	c := &Config{Inputs: o.Inputs, World: o.World, Sources: map[string][]byte{}}
	if l.Resolve == nil {
		manifest, err := module.ReadManifest(l.Files, o.World.DataDir)
		if err != nil {
			var diags diag.List
			diags.Errorf("Failed to read the list of installed modules", "%s. Run \"weir init\" to write it again.", err)
			return c, diags
		}
		l.Resolve = func(_ context.Context, r module.Request) (string, diag.List) {
			return manifest.Find(r.Key, r.Source, r.Constraint, r.Range)
		}
	}
	root, diags := l.compile(o.Dir)
	if root == nil {
		c.Sources = l.sources()
		return c, diags
	}
	c.Tree = &program.Tree{Program: root, Children: map[string]*program.Tree{}}
	values, more := c.values(true)
	if more.HasErrors() {
		c.Sources = l.sources()
		return c, append(diags, more...)
	}
	diags.Append(l.calls(c, values))
	c.Sources = l.sources()
	c.trees = l.trees
	return c, diags
}

// A loader loads each directory once.
type loader struct {
	LoadOptions
	ctx      context.Context
	compiled map[string]*compiled
	trees    map[addr.Module]*program.Tree
	diags    diag.List
}

type compiled struct {
	program *program.Program
	source  *module.Source
}

func (l *loader) compile(dir string) (*program.Program, diag.List) {
	if done, ok := l.compiled[dir]; ok {
		return done.program, nil
	}
	src, diags := module.Load(l.Files, dir)
	done := &compiled{source: src}
	if src != nil {
		var more diag.List
		done.program, more = analyze.Compile(src)
		diags.Append(more)
	}
	l.compiled[dir] = done
	return done.program, diags
}

func (l *loader) sources() map[string][]byte {
	all := map[string][]byte{}
	for _, c := range l.compiled {
		if c.source != nil {
			for _, f := range c.source.Files {
				all[f.Name] = f.Bytes
			}
		}
	}
	return all
}

// calls follows the module calls from the root down. The frames of the static
// evaluation are the tree: each call has one instance that stands for all.
func (l *loader) calls(c *Config, values map[string]cty.Value) diag.List {
	l.trees[addr.Root] = c.Tree
	ev := &eval.Evaluator{
		Host:  static.Host{Variables: values, Load: l.call},
		Facts: c.facts(cty.False, function.Table(function.Env{Pure: true})),
	}
	root := ev.NewRoot(c.Tree.Program)
	promise.NewRuntime(1).Do(func(t *promise.Task) { l.follow(t, root) })
	return l.diags
}

func (l *loader) follow(t *promise.Task, f *eval.Frame) {
	for _, c := range f.Program.Calls {
		for _, child := range f.Calls(t, c, nil) {
			l.follow(t, child)
		}
	}
}

// call loads the program of one call. It is asked once per call.
func (l *loader) call(t *promise.Task, f *eval.Frame, c *program.Call) (*program.Program, diag.List) {
	if c.Source == nil {
		t.Fail()
		return nil, nil
	}
	request := module.Request{ParentDir: f.Program.Dir, Range: c.Source.Range(), Ancestors: ancestors(f)}
	var diags diag.List
	request.Source, diags = static.Text(t, f, nil, c.Source, "module source")
	if c.Version != nil && !diags.HasErrors() {
		var more diag.List
		request.Constraint, more = static.Text(t, f, nil, c.Version, "module version")
		diags.Append(more)
	}
	if diags.HasErrors() {
		l.diags.Append(diags)
		return nil, nil
	}
	key := addr.FromSteps(append(f.Addr.Erase().Steps(), addr.Step{Name: c.Name}))
	request.Key = key.CallPath()
	dir, diags := l.Resolve(l.ctx, request)
	if diags.HasErrors() {
		l.diags.Append(diags)
		return nil, nil
	}
	p, more := l.compile(dir)
	diags.Append(more)
	if p != nil {
		diags.Append(analyze.CheckCall(c, p))
		tree := &program.Tree{Program: p, Source: request.Source, Version: request.Constraint, Children: map[string]*program.Tree{}}
		l.trees[f.Addr.Erase()].Children[c.Name] = tree
		l.trees[key] = tree
	}
	l.diags.Append(diags)
	return p, nil
}

func ancestors(f *eval.Frame) []string {
	var dirs []string
	for ; f != nil; f = f.Parent {
		dirs = append(dirs, f.Program.Dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// program returns what an instance of a module call loads.
func (c *Config) program(f *eval.Frame, call *program.Call, _ addr.Key) (*program.Program, diag.List) {
	if tree := c.trees[f.Addr.Erase()]; tree != nil && tree.Children[call.Name] != nil {
		return tree.Children[call.Name].Program, nil
	}
	var diags diag.List
	diags.ErrorAt(call.Range, "Module not installed", "The module of this call isn't loaded. Run \"weir init\" to install all modules required by this configuration.")
	return nil, diags
}

// facts are the values of the surroundings for an evaluation.
func (c *Config) facts(applying cty.Value, functions functionTable) eval.Facts {
	return eval.Facts{
		Workspace: c.World.Workspace,
		Applying:  applying,
		RootDir:   c.World.WorkDir,
		WorkDir:   c.World.OriginalDir,
		Functions: functions,
	}
}

// values turns the inputs into values of the root variables. Early says that
// problems of values are left to a later call.
func (c *Config) values(early bool) (map[string]cty.Value, diag.List) {
	var diags diag.List
	values := map[string]cty.Value{}
	vars := c.Tree.Program.VariableByName
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		in, v := c.Inputs[name], vars[name]
		if v == nil {
			if !early {
				diags.Append(undeclared(name, in))
			}
			continue
		}
		if in.Value != cty.NilVal {
			values[name] = in.Value
			continue
		}
		if v.Untyped || v.Type.IsPrimitiveType() {
			values[name] = cty.StringVal(in.Text)
			continue
		}
		parsed, more := module.ParseValue(module.Origin(name), in.Text)
		if !early {
			diags.Append(more)
		}
		if !more.HasErrors() {
			values[name] = parsed
		}
	}
	return values, diags
}

func undeclared(name string, in VariableInput) diag.List {
	var diags diag.List
	switch in.From {
	case "argument":
		diags.Errorf("Value for undeclared variable", "A variable named %q was assigned on the command line, but the root module does not declare a variable of that name. To use this value, add a \"variable\" block to the configuration.", name)
	case "file":
		diags.WarnAt(in.Range, "Value for undeclared variable", "The root module does not declare a variable named %q but a value was found in file %q. If you meant to use this value, add a \"variable\" block to the configuration.", name, in.Range.Filename)
	}
	return diags
}
