package eval_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/checks"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/testing/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata")

// thing is the schema of every resource in these tests. An instance's id is
// its address, or unknown when late is set.
var thing = &schema.Block{Attributes: map[string]*schema.Attribute{
	"value":  {Type: cty.DynamicPseudoType, Optional: true},
	"other":  {Type: cty.DynamicPseudoType, Optional: true},
	"late":   {Type: cty.Bool, Optional: true},
	"broken": {Type: cty.Bool, Optional: true},
	"id":     {Type: cty.String, Computed: true},
}}

// A host has things instead of a cloud, and counts how often it is asked.
type host struct {
	files module.Memory
	vars  map[string]cty.Value
	// unknownKeys: unknown repetitions are allowed.
	unknownKeys bool

	mu       sync.Mutex
	programs map[string]*program.Program
	diags    diag.List // of compiling
	asked    map[string]int
	provider map[string]string // what serves an instance
}

func (h *host) compile(dir string) *program.Program {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.programs[dir]; ok {
		return p
	}
	src, diags := module.Load(h.files, dir, dialect.OpenTofu)
	p, more := compiler.Compile(src)
	h.diags.Append(diags)
	h.diags.Append(more)
	h.programs[dir] = p
	return p
}

func (h *host) Variable(v *program.Variable) (cty.Value, diag.List) {
	h.ask("var." + v.Name)
	return h.vars[v.Name], nil
}

func (h *host) ask(what string) {
	h.mu.Lock()
	h.asked[what]++
	h.mu.Unlock()
}

func (h *host) Resource(t *promise.Task, i *eval.Instance) (cty.Value, bool) {
	h.ask(i.String())
	ready := i.DependsOn(t)
	pi, ok := i.Provider(t)
	if !ok {
		return cty.DynamicVal, false
	}
	h.mu.Lock()
	h.provider[i.String()] = pi.String()
	h.mu.Unlock()
	ctx := i.Context(t, cty.NilVal)
	v, hd := thing.Decode(i.Resource.Config.Body, ctx)
	if !t.Report(eval.Diagnostics(hd)...) {
		return cty.DynamicVal, false
	}
	if unmarked, _ := v.UnmarkDeep(); !unmarked.IsWhollyKnown() {
		eval.Complete(t, i.Resource.Config.Refs, ctx)
	}
	if b := v.GetAttr("broken"); b.RawEquals(cty.True) {
		return cty.DynamicVal, t.Report(diag.Bug.As("Broken").Error(i.Resource.Range, "The host has nothing for %s.", i))
	}
	values := v.AsValueMap()
	values["id"] = cty.StringVal(i.String())
	if v.GetAttr("late").RawEquals(cty.True) {
		values["id"] = cty.UnknownVal(cty.String)
	}
	for name, part := range values {
		if part.IsNull() {
			delete(values, name)
		}
	}
	return cty.ObjectVal(values), ready
}

func (h *host) Expand(t *promise.Task, b eval.Block, configured func() (eval.Expansion, bool)) (eval.Expansion, bool) {
	e, ok := configured()
	if ok && e.Unknown && !h.unknownKeys {
		ok = t.Report(diag.Bug.As("Unknown repetition").Error(b.Range(), "The instances of %s aren't known.", b))
	}
	return e, ok
}

func (h *host) Program(t *promise.Task, f *eval.Frame, c *program.Call, _ addr.Key) (*program.Program, bool) {
	v, _ := c.Source.Value(nil)
	dir := filepath.Join(f.Program.Dir, v.AsString())
	if !slices.ContainsFunc(slices.Collect(maps.Keys(h.files)), func(name string) bool { return filepath.Dir(name) == dir }) {
		return nil, t.Report(diag.Bug.As("Module not found").Error(c.Source.Range(), "There is no %s.", dir))
	}
	return h.compile(dir), true
}

// Call has functions that return their name and arguments, and one that
// fails.
func (h *host) Call(_ *promise.Task, f *eval.Frame, fn *program.ProviderFunction, args []cty.Value) (cty.Value, error) {
	if fn.Name == "fail" {
		return cty.DynamicVal, fmt.Errorf("%s fails in %q", fn.Full, f.Addr)
	}
	return cty.TupleVal(append([]cty.Value{cty.StringVal(fn.Full)}, args...)), nil
}

// facts are the surroundings in these tests.
var facts = eval.Facts{
	Workspace: "space", Applying: cty.False, RootDir: ".", WorkDir: "/cwd",
	Functions: function.Context(function.Env{Pure: true}),
}

// newHost reads the files of an archive; "vars" has values of variables.
func newHost(t testing.TB, files []txtar.File) *host {
	h := &host{files: module.Memory{}, vars: map[string]cty.Value{}, programs: map[string]*program.Program{}, asked: map[string]int{}, provider: map[string]string{}}
	for _, f := range files {
		if f.Name != "vars" {
			h.files[f.Name] = f.Data
			continue
		}
		parsed, hd := hclsyntax.ParseConfig(f.Data, "vars", hcl.InitialPos)
		attrs, more := parsed.Body.JustAttributes()
		if hd = append(hd, more...); hd.HasErrors() {
			t.Fatal(hd)
		}
		for name, a := range attrs {
			v, hd := a.Expr.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
				"unknown": cty.UnknownVal(cty.String),
				"any":     cty.DynamicVal,
				"secret":  cty.StringVal("s3cret").Mark(value.Sensitive),
				"once":    cty.StringVal("0nce").Mark(value.Ephemeral),
				"secrets": cty.ListVal([]cty.Value{cty.StringVal("a").Mark(value.Sensitive)}),
				"set":     cty.SetVal([]cty.Value{cty.StringVal("a"), cty.UnknownVal(cty.String)}),
				"numbers": cty.SetVal([]cty.Value{cty.NumberIntVal(1)}),
				"empty":   cty.SetValEmpty(cty.String),
				"nulls":   cty.SetVal([]cty.Value{cty.NullVal(cty.String)}),
			}})
			if hd.HasErrors() {
				t.Fatal(hd)
			}
			h.vars[name] = v
		}
	}
	return h
}

// run evaluates everything.
func run(h *host) (*eval.Frame, *promise.Runtime, diag.List) {
	ev := &eval.Evaluator{Host: h, Facts: facts}
	root := ev.NewRoot(h.compile("."))
	rt := promise.NewRuntime(4)
	root.Walk(rt)
	rt.Wait()
	for _, f := range root.Frames() {
		for _, c := range f.Program.Observers {
			rt.Do(func(t *promise.Task) { checks.Evaluate(t, f, c, func([]eval.Outcome) {}) })
		}
	}
	return root, rt, slices.Concat(h.diags, rt.Diagnostics(), root.Diagnostics())
}

// TestEval evaluates the configurations in testdata and compares everything
// that came of it: diagnostics, values, what instances read, and how often
// the host was asked where that isn't once. An archive whose comment has the
// words "unknown keys" allows them; with "problems only" there is nothing
// beside diagnostics.
func TestEval(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			last := len(archive.Files) - 1
			if last < 1 || archive.Files[last].Name != "want" {
				t.Fatal("the last file has to be want")
			}
			h := newHost(t, archive.Files[:last])
			h.unknownKeys = strings.Contains(string(archive.Comment), "unknown keys")
			root, rt, diags := run(h)
			got := problems(diags)
			if !strings.Contains(string(archive.Comment), "problems only") {
				got += values(h, root, rt)
			}
			if *update {
				archive.Files[last].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(archive.Files[last].Data); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func problems(diags diag.List) string {
	var b strings.Builder
	for _, d := range diags {
		place := "-"
		if d.Subject != nil {
			place = fmt.Sprintf("%s:%d,%d-%d,%d", d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Line, d.Subject.End.Column)
		}
		fmt.Fprintf(&b, "%s %s: %s\n", place, d.Severity, d.Summary)
		for line := range strings.SplitSeq(d.Detail, "\n") {
			if line != "" {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
		for _, v := range d.Values {
			fmt.Fprintf(&b, "    | %s %s\n", v.Traversal, v.Statement)
		}
	}
	return b.String()
}

func values(h *host, root *eval.Frame, rt *promise.Runtime) string {
	var b strings.Builder
	for _, f := range root.Frames() {
		rt.Do(func(t *promise.Task) { describeFrame(&b, h, t, f) })
	}
	for _, what := range slices.Sorted(maps.Keys(h.asked)) {
		if n := h.asked[what]; n != 1 {
			fmt.Fprintf(&b, "%s was asked for %d times\n", what, n)
		}
	}
	return b.String()
}

func describeFrame(b *strings.Builder, h *host, t *promise.Task, f *eval.Frame) {
	line := func(name string, v cty.Value) { fmt.Fprintf(b, "%s = %s\n", f.Label(name), text(v)) }
	for _, v := range f.Program.Variables {
		line("var."+v.Name, first(f.Variable(t, v, nil)))
	}
	for _, l := range f.Program.Locals {
		line("local."+l.Name, first(f.Local(t, l, nil)))
	}
	for _, r := range f.Program.Resources {
		for _, i := range f.Expanded(r) {
			if h.asked[i.String()] == 0 {
				continue
			}
			fmt.Fprintf(b, "%s = %s\n", i, text(first(i.Value(t, nil))))
			if p := h.provider[i.String()]; !strings.HasSuffix(p, `hashicorp/thing"]`) {
				fmt.Fprintf(b, "    by %s\n", p)
			}
			var reads []string
			for _, n := range i.Node().Deps() {
				if name := n.Subject.String(); name != i.Addr.Resource.String() && !slices.Contains(reads, name) {
					reads = append(reads, name)
				}
			}
			if len(reads) > 0 {
				fmt.Fprintf(b, "    reads %s\n", strings.Join(reads, ", "))
			}
		}
	}
	for _, o := range f.Program.Outputs {
		v, node, ok := f.OutputValue(o)
		if !ok {
			v = cty.DynamicVal
		}
		line("output."+o.Name, v)
		if touched := instances(node, map[*promise.Node]bool{}); len(touched) > 0 {
			fmt.Fprintf(b, "    needs %s\n", strings.Join(slices.Compact(slices.Sorted(slices.Values(touched))), ", "))
		}
	}
}

// instances lists the resource instances that a cell leads to.
func instances(n *promise.Node, seen map[*promise.Node]bool) []string {
	if seen[n] {
		return nil
	}
	seen[n] = true
	if i, ok := n.Subject.(*eval.Instance); ok {
		return []string{i.String()}
	}
	var list []string
	for _, dep := range n.Deps() {
		list = append(list, instances(dep, seen)...)
	}
	return list
}

// text writes a value with its marks.
func text(v cty.Value) string {
	v, marks := v.Unmark()
	var out string
	ty := v.Type()
	switch {
	case !v.IsKnown():
		out = "unknown"
		if ty != cty.DynamicPseudoType {
			out += "(" + ty.FriendlyName() + ")"
		}
	case v.IsNull():
		out = "null"
	case ty == cty.String:
		out = addr.Quote(v.AsString())
	case ty.IsPrimitiveType():
		data, _ := value.After(v)
		out = string(data)
	default:
		var parts []string
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			if ty.IsObjectType() || ty.IsMapType() {
				parts = append(parts, k.AsString()+" = "+text(e))
			} else {
				parts = append(parts, text(e))
			}
		}
		out = strings.Join(parts, ", ")
		switch {
		case ty.IsObjectType():
			out = "{" + out + "}"
		case ty.IsMapType():
			out = "map{" + out + "}"
		case ty.IsSetType():
			out = "set[" + out + "]"
		case ty.IsListType():
			out = "list[" + out + "]"
		default:
			out = "[" + out + "]"
		}
	}
	for _, m := range []struct {
		mark any
		name string
	}{{value.Sensitive, "sensitive"}, {value.Ephemeral, "ephemeral"}} {
		if marks.Has(m.mark) {
			out = m.name + "(" + out + ")"
		}
	}
	return out
}

func first(v cty.Value, _ bool) cty.Value { return v }
