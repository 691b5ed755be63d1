// Package eval evaluates a program on demand: variables, locals, outputs, expansions and the
// configuration of resource instances. It records which value refers to which.
//
// It owns module instances (frames) and their cells. It knows neither state
// nor plans, providers or phases: whatever depends on those it asks its Host,
// and validate, plan, apply, console and static evaluation are hosts.
package eval

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/program"
)

// A Host answers what the evaluator can't know. Its methods are called from
// several tasks at once, each question about one object at most once. Those with a task
// report problems to it; their result is ok where none is an error and they read nothing
// that failed.
type Host interface {
	// Variable returns the value given for a root variable, NilVal for none.
	Variable(v *program.Variable) (cty.Value, diag.List)

	// Resource returns the value that references to the instance get. It may
	// evaluate the instance's configuration. NilVal stands for an instance that
	// isn't there although the configuration has it: references to all
	// instances leave it out.
	Resource(t *promise.Task, i *Instance) (v cty.Value, ok bool)

	// Expand says which instances a block has. Configured evaluates what the
	// configuration says about that; only the host can decide what becomes
	// of unknown keys, or that something else counts.
	Expand(t *promise.Task, b Block, configured func() (Expansion, bool)) (e Expansion, ok bool)

	// Program returns what an instance of a module call loads; nil and true
	// for one that there is nothing for, such as an instance that only
	// a state has.
	Program(t *promise.Task, f *Frame, c *program.Call, k addr.Key) (p *program.Program, ok bool)

	// Call calls a function of a provider.
	Call(t *promise.Task, f *Frame, fn *program.ProviderFunction, args []cty.Value) (cty.Value, error)
}

// Facts are values of the surroundings that expressions can use.
type Facts struct {
	Workspace string
	Applying  cty.Value // terraform.applying
	RootDir   string    // path.root
	WorkDir   string    // path.cwd
	Functions *hcl.EvalContext
	// Given are the places in files of values that root variables have.
	Given map[string]hcl.Range
	// Live are the functions for configurations of providers and ephemeral resources, where other
	// functions answer from a record; nil for the same.
	Live *hcl.EvalContext
	// Secrets learns what is handed to providers and provisioners that must not be shown; nil
	// for nobody.
	Secrets *secret.Known
	// Context ends when nobody waits for values any more; nil for never.
	Context context.Context
}

// An Evaluator evaluates one configuration for one host.
type Evaluator struct {
	Host  Host
	Facts Facts
	// Lenient: failed preconditions of outputs are warnings, for runs that change no object,
	// such as -refresh-only.
	Lenient bool
	// Creates: each instance of the configuration exists or is created, unless its users are left
	// out too. Then the keys of a block say which instances another block has that is repeated
	// over it.
	Creates bool
	// Modular: every module is evaluated by itself, so that it is right whatever
	// its callers pass and whatever it gives them. References to variables get
	// any value of the declared type, those to calls unknown outputs; arguments
	// and outputs are evaluated all the same.
	Modular bool
	// Coarse: one instance stands for all of a block. Circles aren't reported, because the
	// single instances may form none.
	Coarse bool
	// Thorough: quick evaluations continue after an interrupt, so that outputs fit the changes
	// that an apply has made.
	Thorough bool

	mu     sync.Mutex
	cycles []promise.Cycle
	made   atomic.Int64 // bytes of all values that expressions have made
	large  atomic.Bool  // some value was rejected for its size
}

// A Block is what can have several instances: exactly one of the fields
// beside Frame is set.
type Block struct {
	Frame    *Frame
	Resource *program.Resource
	Call     *program.Call
	Provider *program.Provider
}

func (b Block) String() string {
	switch {
	case b.Resource != nil:
		return addr.Resource{Module: b.Frame.Addr, Name: b.Resource.Name}.String()
	case b.Call != nil:
		return b.Frame.Addr.Child(b.Call.Call, addr.NoKey).String()
	}
	return b.Frame.Label("provider." + b.Provider.LocalName)
}

// A result is the value of a cell with the outcomes of its conditions. After a problem the
// value is unknown.
type result struct {
	value    cty.Value
	outcomes []Outcome
}

// A subject names the cell of a declaration in messages.
type subject struct {
	frame       *Frame
	declaration program.Declaration
}

func (s subject) String() string { return s.frame.Label(s.declaration.Head().Name) }

// A named cell is one that isn't of a declaration, or has a name of its own in messages.
type named struct {
	frame *Frame
	text  string
}

func (n named) String() string { return n.frame.Label(n.text) }

// Context makes the context for expressions of the frame. each is nil where
// each and count have no meaning, self NilVal where self has none.
func (f *Frame) Context(t *promise.Task, each *Each, self cty.Value) *hcl.EvalContext {
	return f.newContext(&scope{frame: f, task: t, each: each, self: self})
}

// Evaluate evaluates an expression and applies the engine's own checks. After a problem, which
// it reports, or where the expression reads what failed, the result isn't ok and what the task
// computes is failed.
func Evaluate(t *promise.Task, expr *program.Expr, ctx *hcl.EvalContext) (v cty.Value, ok bool) {
	if expr == nil {
		t.Fail()
		return cty.DynamicVal, false
	}
	s, _ := program.ScopeOf(ctx).(*scope)
	if s != nil && !s.frame.ev.Thorough && s.frame.ev.interrupted() {
		return cty.DynamicVal, t.Report(diag.Interrupted.Error(expr.Range(), "Evaluation was interrupted before it started."))
	}
	before := t.Failures()
	v, hd := expr.Value(ctx)
	if !t.Report(Diagnostics(hd)...) {
		return cty.DynamicVal, false
	}
	if s != nil && s.frame.ev.large.Load() && t.Failures() != before {
		// Anything that is made of what was rejected may double from there on, and is rejected
		// then.
		return cty.DynamicVal, false
	}
	if d := tooLarge(expr, v, s); d != nil {
		if s != nil {
			s.frame.ev.large.Store(true)
		}
		return cty.DynamicVal, t.Report(d...)
	}
	if len(expr.Refs) > 0 && !value.WhollyKnown(v) {
		Complete(t, expr.Refs, ctx)
	}
	return v, t.Failures() == before
}

// interrupted reports whether nobody waits for values any more.
func (ev *Evaluator) interrupted() bool {
	return ev.Facts.Context != nil && ev.Facts.Context.Err() != nil
}

// tooLarge rejects a value that is too large, alone or with all that were made before. A mere
// reference makes none.
func tooLarge(expr *program.Expr, v cty.Value, s *scope) diag.List {
	if _, ref := expr.Expression.(*program.RefExpr); ref {
		return nil
	}
	size := value.Size(v, value.MaxSize)
	if size > value.MaxSize {
		return diag.List{diag.TooLarge.Error(expr.Range(), "This value takes more than %d MiB, or has a number with more digits than can be written. WEIR_MAX_VALUE can be set to a higher number of MiB.", value.MaxSize>>20)}
	}
	if s != nil && s.frame.ev.made.Add(int64(size)) > value.MaxTotal {
		return diag.List{diag.TooLarge.As("Values too large together").Error(expr.Range(), "With this value, those that the configuration makes take more than %d MiB together. WEIR_MAX_TOTAL can be set to a higher number of MiB.", value.MaxTotal>>20)}
	}
	return nil
}

// Depend makes what the task computes depend on everything that the
// references name, without using their values. A module is everything in it.
// A reference with a constant key names that instance only.
func (f *Frame) Depend(t *promise.Task, refs []*program.Ref) {
	for _, ref := range refs {
		if ref.Kind == program.RefCall && ref.Attr == "" {
			if child := f.NamedCall(t, ref); child != nil {
				child.all(t, &ref.Range)
			} else {
				f.closed(t, ref.Call, &ref.Range)
			}
		} else {
			f.touch(t, ref)
		}
	}
}

// NamedCall returns the instance of a module call that a reference names by a constant key, or
// nil where it names all of them.
func (f *Frame) NamedCall(t *promise.Task, ref *program.Ref) *Frame {
	if ref.Key == nil || f.ev.Modular {
		return nil
	}
	if one, exact := f.NamedCalls(t, nil, ref); exact && len(one) == 1 {
		return one[0]
	}
	return nil
}

// NamedCalls returns the instances of a module call that a reference names where the context is
// that of its expression, as Named does for a resource.
func (f *Frame) NamedCalls(t *promise.Task, ctx *hcl.EvalContext, ref *program.Ref) (list []*Frame, exact bool) {
	fs := f.frames(t, ref.Call, &ref.Range)
	return pick(fs, f.Calls(t, ref.Call, &ref.Range), ref.Key, ctx)
}

// pick returns the member with the key, none where the key can't be evaluated or nothing has it,
// and all of them and false where the key isn't known.
func pick[T comparable](m members[T], all []T, key hcl.Expression, ctx *hcl.EvalContext) (list []T, exact bool) {
	if key == nil || m.Unknown || m.Kind == Single {
		return all, false
	}
	var none T
	switch k, is := keyIn(key, ctx, m.Kind); {
	case is == keyUnknown:
		return all, false
	case is == keyKnown && m.find(k) != none:
		return []T{m.find(k)}, true
	}
	return nil, true
}

type keyState uint8

const (
	keyUnknown keyState = iota // or it depends on more than the context
	keyKnown
	keyFails
)

// keyIn evaluates the key of a reference to instances of that kind. Without a context it has
// to be constant.
func keyIn(expr hcl.Expression, ctx *hcl.EvalContext, kind Kind) (addr.Key, keyState) {
	loops := len(expr.Variables()) > 0 // variables of for expressions and dynamic blocks
	if ctx == nil && (loops || len(program.References(expr)) > 0) {
		return addr.NoKey, keyUnknown
	}
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		if loops {
			return addr.NoKey, keyUnknown
		}
		return addr.NoKey, keyFails
	}
	want := cty.Number
	if kind == Keyed {
		want = cty.String
	}
	v, _ = v.Unmark()
	if !v.IsKnown() {
		return addr.NoKey, keyUnknown
	}
	v, err := convert.Convert(v, want)
	if err != nil || v.IsNull() {
		return addr.NoKey, keyFails
	}
	k, err := KeyOf(v)
	if err != nil {
		return addr.NoKey, keyFails
	}
	return k, keyKnown
}

// touch reads every instance that the reference may mean, and of a module the outputs that it
// names, so that the task depends on all of them.
func (f *Frame) touch(t *promise.Task, ref *program.Ref) {
	if f.ev.Modular {
		// Nothing has an order, but circles are to be found.
		t.Try(func(t *promise.Task) { f.read(t, ref) })
		return
	}
	f.read(t, ref)
}

func (f *Frame) read(t *promise.Task, ref *program.Ref) {
	switch ref.Kind {
	case program.RefResource:
		if ref.Key != nil && !f.ev.Modular {
			in := f.instances(t, ref.Resource, &ref.Range)
			if one, exact := pick(in, in.list, ref.Key, nil); exact && len(one) == 1 {
				one[0].present(t, &ref.Range)
				return
			}
		}
		f.whole(t, ref.Resource, &ref.Range)
	case program.RefCall:
		if ref.Attr == "" {
			f.wholeCall(t, ref.Call, &ref.Range)
			return
		}
		for _, child := range f.Calls(t, ref.Call, &ref.Range) {
			if o := child.Program.OutputByName[ref.Attr]; o != nil {
				child.Output(t, o, &ref.Range)
			}
		}
	case program.RefLocal:
		f.Local(t, ref.Local, &ref.Range)
	case program.RefVariable:
		f.Variable(t, ref.Variable, &ref.Range)
	}
}

// get reads a cell of the frame. A circle is reported once, by the caller that closes it; its
// members' values are unknown.
func get[T any](f *Frame, c *promise.Cell[T], t *promise.Task, s fmt.Stringer, via *hcl.Range, compute func(*promise.Task) (T, bool)) (T, bool) {
	v, ok, cycle := c.Get(t, s, via, compute)
	if cycle != nil {
		f.ev.Report(cycle)
	}
	return v, ok
}

// Report notes a circle that a host found among its own cells.
func (ev *Evaluator) Report(c promise.Cycle) {
	ev.mu.Lock()
	ev.cycles = append(ev.cycles, c)
	ev.mu.Unlock()
}

// repeat is the block's repetition.
func (b Block) repeat() program.Repeat {
	switch {
	case b.Resource != nil:
		return b.Resource.Repeat
	case b.Call != nil:
		return b.Call.Repeat
	}
	return program.Repeat{ForEach: b.Provider.ForEach}
}

// Stored is the expansion of a block that has the instances with the given
// keys, as far as they are of the kind that the configuration makes, whatever
// the configuration says beside that.
func (b Block) Stored(keys []addr.Key) Expansion {
	r := b.repeat()
	e := Expansion{Kind: kindOf(r)}
	if e.Kind == Single && r.Enabled == nil {
		e.Count = 1
	}
	return e.WithKeys(keys)
}

// Range is the repetition argument of the block, or its header.
func (b Block) Range() hcl.Range {
	switch {
	case b.Resource != nil:
		if e := b.Resource.Repeat.Expr(); e != nil {
			return e.Range()
		}
		return b.Resource.Range
	case b.Call != nil:
		if e := b.Call.Repeat.Expr(); e != nil {
			return e.Range()
		}
		return b.Call.Range
	}
	if b.Provider.ForEach != nil {
		return b.Provider.ForEach.Range()
	}
	return b.Provider.Range
}
