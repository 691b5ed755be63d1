package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/eval"
	functions "weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/program"
)

// fileFunctions are the functions that read files, by the path in their first argument.
var fileFunctions = []string{
	"file", "filebase64", "filebase64sha256", "filebase64sha512", "fileexists", "filemd5", "fileset", "filesha1", "filesha256", "filesha512", "templatefile",
}

// A FileRead is what is known before a plan of a path that the configuration names, as seen from
// the root module.
type FileRead struct {
	// Path is its beginning, or all of it where Whole is set.
	Path  string
	Whole bool
	// Function reads it or, for fileset, what is below it. It is empty for a text with slashes,
	// which a provider may take for a path.
	Function string
	// Pattern is that of fileset, which files below Path match; empty where it isn't known.
	Pattern string
	Range   hcl.Range
}

// FileReads are the paths that the expressions of the configuration name. It isn't ok where a part of
// the configuration can't be looked through.
func (c *Config) FileReads(ctx context.Context) (list []FileRead, ok bool) {
	if c.Tree == nil || c.Tree.Program == nil {
		return nil, false
	}
	values, _ := c.values(true)
	h := &earlyHost{config: c, values: values, pick: func(*program.Resource) *schema.Block { return nil }}
	facts := c.facts(cty.UnknownVal(cty.Bool), functions.Env{Pure: true, PlanTimestamp: c.noTimestamp})
	facts.Context = ctx
	root := (&eval.Evaluator{Host: h, Facts: facts, Lenient: true}).NewRoot(c.Tree.Program)
	s := &fileSearch{config: c, ok: true}
	rt := promise.NewRuntime(1)
	rt.Do(func(t *promise.Task) { s.frame(t, root) })
	return s.list, s.ok
}

// A fileSearch looks through the expressions of all module instances.
type fileSearch struct {
	config *Config
	list   []FileRead
	ok     bool
}

func (s *fileSearch) frame(t *promise.Task, f *eval.Frame) {
	t.Try(func(t *promise.Task) {
		ctx := f.Context(t, nil, cty.NilVal)
		for _, d := range f.Program.Declarations() {
			d.Parts(func(p program.Part) {
				for _, e := range []*program.Expr{p.Expr, p.Message} {
					if e != nil {
						s.node(t, e.Expression, ctx)
					}
				}
				for _, b := range []*program.Body{p.Body, p.Connection} {
					if b != nil {
						s.node(t, b.Body, ctx)
					}
				}
			})
		}
	})
	for _, call := range f.Program.Calls {
		t.Try(func(t *promise.Task) {
			for _, child := range f.Calls(t, call, nil) {
				s.frame(t, child)
			}
		})
	}
}

// node looks through an expression or a body. That of JSON has no nodes.
func (s *fileSearch) node(t *promise.Task, in any, ctx *hcl.EvalContext) {
	node, ok := in.(hclsyntax.Node)
	if !ok {
		s.ok = false
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.FunctionCallExpr:
			name := strings.TrimPrefix(n.Name, "core::")
			if slices.Contains(fileFunctions, name) && len(n.Args) > 0 {
				s.read(t, n.Args, name, ctx)
			}
		case *hclsyntax.TemplateExpr:
			if text, whole := known(t, n, ctx); whole && strings.Contains(text, "/") && !strings.ContainsAny(text, "\n*") {
				s.list = append(s.list, FileRead{Path: text, Whole: true, Range: n.Range()})
			}
		}
		return nil
	})
}

// read notes what a function reads. A template may read further files.
func (s *fileSearch) read(t *promise.Task, args []hclsyntax.Expression, function string, ctx *hcl.EvalContext) {
	e := args[0]
	text, whole := known(t, e, ctx)
	read := FileRead{Path: text, Whole: whole, Function: function, Range: e.Range()}
	if function == "fileset" && len(args) > 1 {
		if pattern, all := known(t, args[1], ctx); all {
			read.Pattern = pattern
		}
	}
	s.list = append(s.list, read)
	if function != "templatefile" || !whole {
		return
	}
	content, err := s.config.World.Disk.Read(text)
	if err != nil {
		return // that it isn't there is known by its path
	}
	if slices.ContainsFunc(fileFunctions, func(name string) bool { return strings.Contains(string(content), name+"(") }) {
		s.list = append(s.list, FileRead{Function: function, Range: e.Range()})
	}
}

// known is the beginning of a text, up to the first part that isn't known before a plan.
func known(t *promise.Task, e hclsyntax.Expression, ctx *hcl.EvalContext) (text string, whole bool) {
	v := cty.DynamicVal
	t.Try(func(*promise.Task) {
		if found, problems := e.Value(ctx); !problems.HasErrors() {
			v, _ = found.Unmark()
		}
	})
	if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		return v.AsString(), true
	}
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return known(t, e.Expression, ctx)
	case *hclsyntax.TemplateWrapExpr:
		return known(t, e.Wrapped, ctx)
	case *hclsyntax.TemplateExpr:
		for _, part := range e.Parts {
			begin, all := known(t, part, ctx)
			text += begin
			if !all {
				break
			}
		}
	}
	return text, false
}
