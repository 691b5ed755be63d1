package engine

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/static"
	"weir.dev/weir/internal/lang/compiler/calls"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

// A place is a module instance, or with no key where one is possible a call. Anything that is
// there and what removed blocks name have places of their own at one address.
type place struct {
	at addr.Module
	// block is which removed block of its name the place belongs to, as in
	// program.Call, and depth the number of steps before it.
	block, depth int
}

// child is the place of an instance of a call.
func (p place) child(c *program.Call, k addr.Key) place {
	if c.Nth > 0 {
		p.block, p.depth = c.Nth, len(p.at.Steps())
	}
	p.at = p.at.Child(c.Call, k)
	return p
}

// pathOf is the place of a call without any keys.
func pathOf(f *eval.Frame, c *program.Call) place {
	p := place{at: f.Addr.Erase()}
	for g := f; g.Parent != nil; g = g.Parent {
		if g.Call.Nth > 0 {
			p.block, p.depth = g.Call.Nth, len(g.Parent.Addr.Steps())
		}
	}
	return p.child(c, addr.NoKey)
}

// key is the place in the list of installed modules.
func (p place) key(path func(addr.Module) string) string {
	if p.block == 0 {
		return path(p.at)
	}
	steps := p.at.Steps()
	text := "removed-" + path(addr.FromSteps(steps[p.depth:]))
	if p.block > 1 {
		text = "removed" + strconv.Itoa(p.block) + "-" + path(addr.FromSteps(steps[p.depth:]))
	}
	if above := path(addr.FromSteps(steps[:p.depth])); above != "" {
		text = above + "." + text
	}
	return text
}

// modules says what each instance of a module call loads. A call whose
// instances all load the same needs no instances here: one with the key Any
// stands for them.
type modules struct {
	programs map[place]*program.Program
	// expansions are the instances of the calls that are there one by one.
	expansions map[place]eval.Expansion
}

// at is the place of a module instance.
func (m *modules) at(f *eval.Frame) place {
	if f.Parent == nil {
		return place{}
	}
	return m.child(f.Parent, f.Call, f.Each.Key)
}

func (m *modules) callAt(f *eval.Frame, c *program.Call) place {
	return m.at(f).child(c, addr.NoKey)
}

func (m *modules) child(f *eval.Frame, c *program.Call, k addr.Key) place {
	at := m.at(f)
	call := at.child(c, addr.NoKey)
	if _, ok := m.expansions[call]; ok {
		return at.child(c, k)
	}
	if c.Repeat.IsSingle() {
		return call
	}
	return at.child(c, addr.AnyKey)
}

// A loader loads each directory once, in as many passes over the calls as it
// takes: a pass finds which calls load different modules for different
// instances, and the next one looks at the instances of these one by one.
type loader struct {
	LoadOptions
	ctx      context.Context
	compiled map[string]*compiled
	// uninstalled: nothing could be installed, because of problems that are
	// reported themselves.
	uninstalled bool

	// oneByOne are the calls whose instances are inspected one by one; keyed are those that
	// don't load the same.
	oneByOne, keyed map[place]bool
	pass
}

// A pass is one evaluation of all calls.
type pass struct {
	count     int            // module calls that were followed
	again     bool           // the next pass knows better
	evaluated map[place]bool // calls whose instances' sources are known
	diags     diag.List
	modules   *modules
	requests  map[place]module.Request // what each call instance asks for
	first     map[place]module.Request // by path
	told      map[string]bool          // what was compiled, and single problems
	broken    map[place]bool           // calls whose repetition has errors
	loads     map[*program.Call][]*program.Program
}

type compiled struct {
	key     string // the directory, and what it is read as
	program *program.Program
	source  *module.Source
	diags   diag.List
}

func newLoader(ctx context.Context, o LoadOptions) *loader {
	l := &loader{
		ctx: ctx, LoadOptions: o, compiled: map[string]*compiled{},
		oneByOne: map[place]bool{}, keyed: map[place]bool{},
	}
	if l.Language == nil {
		l.Language = moduleLanguage{o.World.Dialect, o.Queries}
	}
	if l.Files == nil {
		l.Files = module.Disk{}
	}
	return l
}

func (l *loader) compile(dir string, call *program.Call) *compiled {
	key := dir
	if call != nil {
		key += "\x00" + l.Language.Class(call)
	}
	if done, ok := l.compiled[key]; ok {
		return done
	}
	done := l.Programs.compile(l.Language, l.Files, l.From, key, dir, call)
	l.compiled[key] = done
	return done
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

// keys are those of the modules that the last pass used.
func (l *loader) keys() []string {
	keys := map[string]bool{}
	for _, r := range l.requests {
		keys[r.Key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

// calls follows the module calls from the root down and completes the tree.
func (l *loader) calls(c *Config, values map[string]cty.Value) diag.List {
	for {
		l.pass = pass{
			modules:  &modules{map[place]*program.Program{}, map[place]eval.Expansion{}},
			requests: map[place]module.Request{}, first: map[place]module.Request{},
			evaluated: map[place]bool{}, broken: map[place]bool{}, told: map[string]bool{}, loads: map[*program.Call][]*program.Program{},
		}
		facts := c.facts(cty.False, function.Env{Pure: true})
		facts.Context = l.ctx
		ev := &eval.Evaluator{Host: static.Host{Variables: values, Load: l.load, Instances: l.instances}, Facts: facts}
		root := ev.NewRoot(c.Tree.Program)
		promise.NewRuntime(1).Do(func(t *promise.Task) { l.follow(t, root) })
		if l.again {
			continue
		}
		c.Tree = l.tree([]*eval.Frame{root}, false)
		c.modules = l.modules
		return l.diags
	}
}

func (l *loader) follow(t *promise.Task, f *eval.Frame) {
	l.constants(t, f)
	for _, c := range f.Program.AllCalls() {
		for _, child := range f.Calls(t, c, nil) {
			l.follow(t, child)
		}
	}
}

// constants checks the variables of a module that are declared with const = true.
func (l *loader) constants(t *promise.Task, f *eval.Frame) {
	for _, v := range f.Program.Variables {
		if !v.Const {
			continue
		}
		if l.World.Dialect == dialect.Terraform && (v.Sensitive || v.Ephemeral) {
			l.tell(diag.List{static.NotKnown.As("Invalid const variable").Error(v.Range, "The variable %q is declared with const = true, so files have its value, and also as sensitive or ephemeral. Remove one of these arguments.", v.Name)})
		}
		if f.Parent != nil {
			l.unknown(static.Constant(t, f, v, l.World.Dialect))
		} else if _, given := l.Inputs[v.Name]; !given && v.Required() {
			l.diags.Append(diag.List{eval.MissingVariable.Error(v.Range, "The root module input variable %q is declared with const = true, so every command that reads the configuration needs its value. Give it with -var, in a file of values or in the environment.", v.Name)})
		}
	}
}

// unknown notes values that have to be known and aren't. Calls whose instances are inspected
// one by one in the next pass may make them known.
func (l *loader) unknown(open []static.Reason, diags diag.List) {
	if !diags.HasErrors() {
		return
	}
	told := false
	for _, r := range open {
		path := pathOf(r.Frame, r.Call)
		l.again = l.again || !l.oneByOne[path]
		l.oneByOne[path] = true
		told = told || l.broken[path]
	}
	if !told {
		l.tell(diags)
	}
}

// instances evaluates those of a call that are inspected one by one, and keeps them.
func (l *loader) instances(t *promise.Task, f *eval.Frame, c *program.Call, configured func() (eval.Expansion, bool)) (e eval.Expansion, known bool) {
	path := pathOf(f, c)
	if !l.oneByOne[path] {
		return e, false
	}
	ok := false
	diags := t.Collect(func() { e, ok = configured() })
	l.diags.Append(diags)
	l.broken[path] = diags.HasErrors()
	if !ok {
		t.Fail()
	}
	if !ok || e.Unknown {
		return e, false
	}
	l.modules.expansions[l.modules.callAt(f, c)] = e
	return e, true
}

// load loads the program of one instance of a call.
func (l *loader) load(t *promise.Task, f *eval.Frame, c *program.Call, k addr.Key) (*program.Program, bool) {
	if c.Source == nil {
		return nil, false
	}
	child := l.modules.child(f, c, k)
	if l.count++; l.count > program.MaxModules {
		if l.count == program.MaxModules+1 {
			l.diags.Append(diag.List{diag.TooLarge.As("Too many modules").Error(c.Range, "With the calls in this module, the configuration has more than %d module calls. A module that is called in several places counts with all that it calls, each time. Call it fewer times, or set WEIR_MAX_MODULES to a higher number.", program.MaxModules)})
		}
		return nil, false
	}
	request, ok := l.request(t, f, c, k)
	if !ok {
		return nil, false
	}
	dir, diags := l.Resolve(l.ctx, request)
	if diags.HasErrors() {
		if !l.uninstalled {
			l.tell(l.located(diags, f, c, k))
		}
		return nil, false
	}
	done := l.compile(dir, c)
	if !l.told[done.key] {
		l.told[done.key] = true
		for _, d := range done.diags {
			if d.Subject == nil { // the directory itself
				d.Subject = c.Source.Range().Ptr()
			}
			diags.Add(d)
		}
	}
	p := done.program
	if p != nil && !slices.Contains(l.loads[c], p) {
		diags.Append(l.located(l.Language.Check(c, p), f, c, k))
		l.loads[c] = append(l.loads[c], p)
	}
	l.modules.programs[child] = p
	l.requests[child] = request
	l.diags.Append(diags)
	return p, true
}

// located names the instance that has the problems, where instances of the call
// load different modules.
func (l *loader) located(diags diag.List, f *eval.Frame, c *program.Call, k addr.Key) diag.List {
	if !l.keyed[pathOf(f, c)] {
		return diags
	}
	return diags.InAddress(f.Addr.Child(c.Call, k).String())
}

// tell adds problems that other instances of a call may have too.
func (l *loader) tell(diags diag.List) {
	for _, d := range diags {
		text := d.Summary + d.Detail
		if d.Subject != nil {
			text += d.Subject.String()
		}
		if !l.told[text] {
			l.told[text] = true
			l.diags.Add(d)
		}
	}
}

// request is what an instance of a call asks for, under the key that the list
// of installed modules has for it.
func (l *loader) request(t *promise.Task, f *eval.Frame, c *program.Call, k addr.Key) (module.Request, bool) {
	call := l.modules.callAt(f, c)
	if !l.evaluated[call] {
		l.evaluated[call] = true
		all := []*eval.Each{{Key: k, Value: cty.DynamicVal}}
		if e, ok := l.modules.expansions[call]; ok {
			all = e.Each()
		}
		for _, each := range all {
			l.evaluate(t, f, c, each)
		}
	}
	r, ok := l.requests[l.modules.child(f, c, k)]
	path := pathOf(f, c)
	r.Key = path.key(addr.Module.CallPath)
	if l.keyed[path] {
		path.at = f.Addr.Child(c.Call, k)
		r.Key = path.key(addr.Module.InstancePath)
	}
	return r, ok
}

// evaluate computes source and version for an instance of a call, and whether
// all instances agree so far.
func (l *loader) evaluate(t *promise.Task, f *eval.Frame, c *program.Call, each *eval.Each) {
	request := module.Request{ParentDir: f.Program.Dir, Range: c.Source.Range(), Ancestors: ancestors(f, c)}
	if c.Source.Broken() || c.Version != nil && c.Version.Broken() {
		return // reported
	}
	var open []static.Reason
	var diags diag.List
	request.Source, open, diags = static.Text(t, f, c, each, c.Source, "module source")
	if request.Source == "" && !diags.HasErrors() {
		diags.Add(static.NotKnown.Error(c.Source.Range(), "The module source must be a string that isn't null."))
	}
	if c.Version != nil && !diags.HasErrors() {
		var more diag.List
		request.Constraint, open, more = static.Text(t, f, c, each, c.Version, "module version")
		diags.Append(more)
	}
	if request.Constraint != "" && !module.IsRegistry(request.Source) && !diags.HasErrors() {
		diags.Add(diag.BadSource.As("Invalid registry module source address").Error(c.Source.Range(), "The argument \"version\" applies only to modules of a registry, and %q isn't the address of one. Remove the version.", request.Source))
	}
	if diags.HasErrors() {
		l.unknown(open, diags)
		return
	}
	path := pathOf(f, c)
	first, ok := l.first[path]
	switch {
	case !ok:
		l.first[path] = request
	case l.keyed[path] || first.Source == request.Source && first.Constraint == request.Constraint && first.ParentDir == request.ParentDir:
	default:
		l.keyed[path] = true
		// Modules that other callers load may have been looked up by the other key.
		l.again = l.again || f.Parent != nil
	}
	l.requests[l.modules.child(f, c, each.Key)] = request
}

// ancestors are the directories of what the call is within, as far as they were
// read in the same language: a directory may be a stack and a module.
func ancestors(f *eval.Frame, c *program.Call) []string {
	var dirs []string
	for ; f != nil && c.Kind != addr.Component; f = f.Parent {
		dirs = append(dirs, f.Program.Dir)
		if f.Call != nil {
			c = f.Call
		}
	}
	slices.Reverse(dirs)
	return dirs
}

// tree is the tree of module instances that load the same program, and checks
// what callers read of the modules. varies says that other instances of the
// call, or of one above it, load something else.
func (l *loader) tree(frames []*eval.Frame, varies bool) *program.Tree {
	f := frames[0]
	t := &program.Tree{Program: f.Program, Children: map[addr.Call]*program.Tree{}, Variants: map[addr.Call][]*program.Tree{}}
	if f.Parent != nil {
		r := l.requests[l.modules.at(f)]
		t.Source, t.Version = r.Source, r.Constraint
	}
	if varies {
		for _, f := range frames {
			t.Modules = append(t.Modules, withoutAny(f.Addr))
		}
	}
	for _, c := range f.Program.AllCalls() {
		byProgram := map[*program.Program][]*eval.Frame{}
		var order []*program.Program
		for _, frame := range frames {
			for _, child := range frame.Children(c) {
				if byProgram[child.Program] == nil {
					order = append(order, child.Program)
				}
				byProgram[child.Program] = append(byProgram[child.Program], child)
			}
		}
		if loads := l.loads[c]; loads != nil {
			variants := make([]calls.Variant, len(loads))
			for i, p := range loads {
				variants[i].Program = p
				if frames := byProgram[p]; frames != nil {
					variants[i].Instance = withoutAny(frames[0].Addr).String()
				}
			}
			l.diags.Append(l.Language.CheckInputs(c, variants))
			l.diags.Append(calls.CheckReads(c, loads))
			delete(l.loads, c)
		}
		var list []*program.Tree
		for _, p := range order {
			list = append(list, l.tree(byProgram[p], varies || len(order) > 1))
		}
		switch {
		case len(list) == 0:
		case c.Nth > 0:
			t.Gone = append(t.Gone, list...)
		case len(list) == 1:
			t.Children[c.Call] = list[0]
		default:
			t.Variants[c.Call] = list
		}
	}
	return t
}

// withoutAny leaves out the keys that stand for all instances.
func withoutAny(m addr.Module) addr.Module {
	steps := m.Steps()
	for i := range steps {
		if steps[i].Key.IsAny() {
			steps[i].Key = addr.NoKey
		}
	}
	return addr.FromSteps(steps)
}
