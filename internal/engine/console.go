package engine

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/compiler"
	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// A Console evaluates expressions in a module instance against a state or a plan.
type Console struct {
	providerclient.Base
	config  *Config
	prior   *state.Snapshot
	root    *eval.Frame
	at      *eval.Frame // what expressions refer to
	planned bool        // the problems of what they refer to are reported
	rt      *promise.Runtime
}

// ConsoleOptions say what a console evaluates expressions against.
type ConsoleOptions struct {
	// Planned: what a plan says there will be, rather than the state.
	Planned bool
	// Scope is the module instance that expressions refer to.
	Scope addr.Module
	// InDoubt is as in PlanOptions.
	InDoubt []addr.Instance
}

// OpenConsole makes a console as the options say. It may be there beside errors of the plan,
// after which some expressions may have other values. Close it after use.
func OpenConsole(ctx context.Context, c *Config, prior *state.Snapshot, o ConsoleOptions) (k *Console, diags diag.List) {
	if o.Planned {
		k, diags = plannedConsole(ctx, c, prior, PlanOptions{InDoubt: o.InDoubt, Meaning: MeaningIn(c.World.Dialect)})
	} else {
		k, diags = NewConsole(ctx, c, prior)
	}
	if k == nil {
		return nil, diags
	}
	if more := k.enter(o.Scope); more.HasErrors() {
		k.Close()
		return nil, append(diags, more...)
	}
	return k, diags
}

// NewConsole makes a console in the root module against a state. Close it after use.
func NewConsole(ctx context.Context, c *Config, prior *state.Snapshot) (*Console, diag.List) {
	values, diags := c.values(false)
	if diags.HasErrors() {
		return nil, diags
	}
	if prior == nil {
		prior = state.Empty()
	}
	k := &Console{config: c, Base: c.base(values, providerclient.NewPool(ctx, c.World.Catalog, 1)), prior: prior, rt: promise.NewRuntime(1)}
	env := functions.Env{Now: c.World.Now, TemplateDepth: c.World.TemplateDepth}
	facts := c.surroundings(cty.UnknownVal(cty.Bool))
	facts.Functions = functions.ConsoleContext(env)
	facts.Context = ctx
	ev := &eval.Evaluator{Host: k, Facts: facts}
	k.root = ev.NewRoot(c.Tree.Program)
	k.at = k.root
	return k, diags
}

// plannedConsole makes a console that has what a plan says there will be. Required
// variables without a value aren't known. Beside errors of the plan it has what was planned
// so far; it is nil if that is nothing.
func plannedConsole(ctx context.Context, c *Config, prior *state.Snapshot, o PlanOptions) (*Console, diag.List) {
	open := *c
	open.Inputs = maps.Clone(c.Inputs)
	for _, v := range c.Tree.Program.Variables {
		if _, given := c.Inputs[v.Name]; !given && v.Required() {
			if open.Inputs == nil {
				open.Inputs = map[string]module.VariableInput{}
			}
			open.Inputs[v.Name] = module.VariableInput{Value: cty.UnknownVal(v.Type.WithoutOptionalAttributesDeep())}
		}
	}
	k := &Console{config: &open, planned: true, rt: promise.NewRuntime(1)}
	o.Observe = func(root *eval.Frame) { k.root, k.at = root, root }
	k.Pool = c.pool(ctx)
	_, diags := open.plan(ctx, k.Pool, prior, o)
	if k.root == nil {
		k.Close()
		return nil, diags
	}
	k.root.Evaluator().Facts.Functions = functions.ConsoleContext(functions.Env{Pure: true, TemplateDepth: c.World.TemplateDepth})
	return k, diags
}

// enter makes a module instance what expressions refer to.
func (k *Console) enter(m addr.Module) diag.List {
	f := k.root
	for _, step := range m.Steps() {
		var there []string
		var child *eval.Frame
		k.rt.Do(func(t *promise.Task) {
			t.Try(func(t *promise.Task) {
				if c := f.Program.CallByName[step.Call]; c != nil {
					child = f.Child(t, c, step.Key)
					for _, other := range f.Calls(t, c, nil) {
						there = append(there, other.Addr.String())
					}
				}
			})
		})
		if child == nil {
			detail := fmt.Sprintf("The configuration has no %s.", f.Addr.Child(step.Call, step.Key))
			if len(there) > 0 {
				detail += " The instances of that module are " + strings.Join(there, ", ") + "."
			}
			return diag.NoInstance.As("No such module instance").List("%s", detail)
		}
		f = child
	}
	k.at = f
	return nil
}

// Eval evaluates one expression.
func (k *Console) Eval(source string) (cty.Value, diag.List) {
	expr, diags := compiler.Expression(k.at.Program, []byte(source), "<console-input>")
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v := cty.DynamicVal
	k.rt.Do(func(t *promise.Task) {
		more, _ := t.Try(func(t *promise.Task) { v, _ = eval.Evaluate(t, expr, k.at.Context(t, nil, cty.NilVal)) })
		diags.Append(more)
	})
	if !diags.HasErrors() && !k.planned {
		for _, d := range k.root.Diagnostics() {
			if d.Severity == diag.Error {
				diags.Add(d)
			}
		}
	}
	return v, diags
}

// Close ends the providers that were needed.
func (k *Console) Close() { k.Pool.Close() }

// Variable implements eval.Host.
func (k *Console) Variable(v *program.Variable) (cty.Value, diag.List) {
	given, diags := k.Base.Variable(v)
	if given == cty.NilVal && v.Required() {
		given = cty.UnknownVal(v.Type)
	}
	return given, diags
}

// Resource implements eval.Host: what the state has, or something unknown.
func (k *Console) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	schemas, diags := k.Pool.Schemas(i.Resource.Provider.Provider)
	if diags.HasErrors() {
		return cty.DynamicVal, t.Report(diags...)
	}
	sch := schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		return cty.DynamicVal, t.Report(resourceconfig.Unsupported(i.Resource.TypeRange, i.Resource.Provider.Provider, i.Addr.Name, schemas)...)
	}
	stored := k.prior.Objects[addr.Object{Instance: i.Addr}]
	if stored == nil {
		unknown := cty.UnknownVal(sch.Block.ImpliedType())
		if i.Addr.Name.Mode == addr.Ephemeral {
			unknown = unknown.Mark(value.Ephemeral)
		}
		return unknown, true
	}
	s := lifecycle.Subject{Addr: i.Addr, Schema: sch}
	v, err := s.Decode(stored)
	if err != nil {
		return cty.DynamicVal, t.Report(diag.StateUnreadable.As("Invalid object in the state").New(diag.Error, "%s can't be read: %s. Refresh the state first.", i.Addr, err))
	}
	return instance.Marked(sch, v, stored), true
}

// Unfinished reports whether an expression lacks closing brackets or the end of a
// heredoc.
func Unfinished(text string) bool {
	tokens, _ := hclsyntax.LexExpression([]byte(text), "<console-input>", hcl.InitialPos)
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			depth--
		}
	}
	return depth > 0
}
