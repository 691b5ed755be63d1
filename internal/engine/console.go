package engine

import (
	"context"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/analyze"
	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/object/configured"
	"weir.dev/weir/internal/object/connect"
	"weir.dev/weir/internal/object/instance"
	"weir.dev/weir/internal/object/lifecycle"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/promise"
	"weir.dev/weir/internal/word/value"
)

// A Console evaluates expressions in the root module against a state.
type Console struct {
	connect.Base
	config *Config
	prior  *state.Snapshot
	root   *eval.Frame
	rt     *promise.Runtime
}

// NewConsole makes a console. Close it after use.
func NewConsole(ctx context.Context, c *Config, prior *state.Snapshot) (*Console, diag.List) {
	values, diags := c.values(false)
	if diags.HasErrors() {
		return nil, diags
	}
	if prior == nil {
		prior = state.Empty()
	}
	k := &Console{config: c, Base: c.base(values, connect.NewPool(ctx, c.World.Catalog, 1)), prior: prior, rt: promise.NewRuntime(1)}
	env := functions.Env{Now: c.World.Now, TemplateDepth: c.World.TemplateDepth}
	facts := c.surroundings(cty.UnknownVal(cty.Bool))
	facts.Functions = functions.ConsoleTable(env)
	ev := &eval.Evaluator{Host: k, Facts: facts}
	k.root = ev.NewRoot(c.Tree.Program)
	return k, diags
}

// Eval evaluates one expression.
func (k *Console) Eval(source string) (cty.Value, diag.List) {
	expr, diags := analyze.Expression(k.config.Tree.Program, []byte(source), "<console-input>")
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v := cty.DynamicVal
	k.rt.Do(func(t *promise.Task) {
		t.Try(func(t *promise.Task) {
			var more diag.List
			v, more = eval.Evaluate(t, expr, k.root.Context(t, nil, cty.NilVal))
			diags.Append(more)
		})
	})
	if !diags.HasErrors() {
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
func (k *Console) Resource(_ *promise.Task, i *eval.Instance) (cty.Value, diag.List) {
	schemas, diags := k.Pool.Schemas(i.Resource.Provider.Provider)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	sch := schemas.Resource(i.Addr.Name.Mode, i.Addr.Name.Type)
	if sch == nil {
		diags.Append(configured.Unsupported(i.Resource.TypeRange, i.Resource.Provider.Provider, i.Addr.Name, schemas))
		return cty.DynamicVal, diags
	}
	stored := k.prior.Objects[addr.Object{Instance: i.Addr}]
	if stored == nil {
		unknown := cty.UnknownVal(sch.Block.ImpliedType())
		if i.Addr.Name.Mode == addr.Ephemeral {
			unknown = unknown.Mark(value.Ephemeral)
		}
		return unknown, nil
	}
	s := lifecycle.Subject{Addr: i.Addr, Schema: sch}
	v, err := s.Decode(stored)
	if err != nil {
		diags.Add(diag.StateUnreadable.As("Invalid object in the state").New(diag.Error, "%s can't be read: %s. Refresh the state first.", i.Addr, err))
		return cty.DynamicVal, diags
	}
	return instance.Marked(sch, v, stored), nil
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
