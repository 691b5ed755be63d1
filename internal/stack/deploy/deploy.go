// Package deploy reads deployments: what a stack is instantiated with.
//
// It owns the files that end in .tfdeploy.hcl and the values of the inputs they
// give. It knows no components, states or plans.
package deploy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/eval/static"
	"weir.dev/weir/internal/lang/analyze"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/promise"
)

// Default is the deployment of a stack without deployment files.
const Default = "default"

// A Deployment is one set of inputs of a stack.
type Deployment struct {
	Name   string
	Inputs map[string]Input
	// Destroy: the deployment is to go.
	Destroy bool
	Range   hcl.Range
}

// An Input is a value for a variable of the stack.
type Input struct {
	Value cty.Value
	Range hcl.Range
}

var fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "deployment", LabelNames: []string{"name"}},
	{Type: "locals"},
	{Type: "deployment_group", LabelNames: []string{"name"}},
	{Type: "deployment_auto_approve", LabelNames: []string{"name"}},
	{Type: "orchestrate", LabelNames: []string{"type", "name"}},
	{Type: "identity_token", LabelNames: []string{"name"}},
	{Type: "store", LabelNames: []string{"type", "name"}},
	{Type: "upstream_input", LabelNames: []string{"name"}},
	{Type: "publish_output", LabelNames: []string{"name"}},
}}

var deploymentSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "inputs", Required: true}, {Name: "destroy"}, {Name: "deployment_group"}, {Name: "import"},
}}

// Load reads the deployments in a directory, in the order of their names, and
// the files that have them. Without files there is one, without inputs.
func Load(files module.Files, dir string) ([]*Deployment, map[string][]byte, diag.List) {
	sources := map[string][]byte{}
	var diags diag.List
	names, err := files.List(dir)
	if err != nil {
		diags.Errorf("Failed to read stack directory", "The directory %s does not exist or cannot be read.", dir)
		return nil, sources, diags
	}
	src := &module.Source{Dir: dir}
	r := &reader{src: src}
	for _, name := range names {
		if !strings.HasSuffix(name, ".tfdeploy.hcl") {
			continue
		}
		path := filepath.Join(dir, name)
		data, err := files.ReadFile(path)
		if err != nil {
			diags.Errorf("Failed to read file", "The file %q could not be read.", path)
			continue
		}
		f, more := syntax.Parse(path, data)
		diags.Append(more)
		sources[f.Name] = f.Bytes
		src.Files = append(src.Files, f)
		r.file(f)
	}
	diags.Append(r.diags)
	if len(src.Files) == 0 {
		return []*Deployment{{Name: Default}}, sources, diags
	}
	if len(r.list) == 0 && !diags.HasErrors() {
		diags.Errorf("No deployments", "The deployment files have no deployment block, so there is nothing to plan or apply. Add one, such as:\n    deployment \"production\" {\n      inputs = {}\n    }")
	}
	if diags.HasErrors() {
		return nil, sources, diags
	}
	diags.Append(r.evaluate())
	slices.SortFunc(r.list, func(a, b *Deployment) int { return strings.Compare(a.Name, b.Name) })
	return r.list, sources, diags
}

type reader struct {
	src   *module.Source
	diags diag.List
	list  []*Deployment
	pairs map[*Deployment][]hcl.KeyValuePair
}

func (r *reader) file(f *syntax.File) {
	content, problems := f.Body.Content(fileSchema)
	r.diags.Append(diag.FromHCL(syntax.SortDiagnostics(problems)))
	for _, b := range content.Blocks {
		switch b.Type {
		case "locals":
			r.src.Blocks = append(r.src.Blocks, &module.Block{Block: b, File: f})
		case "deployment":
			r.deployment(b)
		case "orchestrate":
			r.diags.WarnAt(b.DefRange, "Deprecated block", "The block type \"orchestrate\" was replaced by deployment_auto_approve. It has no effect here: apply asks for approval unless -auto-approve is given.")
		case "deployment_group", "deployment_auto_approve":
			r.diags.WarnAt(b.DefRange, "Block without effect", "Approval by rules isn't supported yet, so this block has no effect: apply asks for approval unless -auto-approve is given.")
		default:
			r.diags.ErrorAt(b.DefRange, "Unsupported block type", "Blocks of type %q aren't supported yet. Give the value in the inputs of the deployment instead.", b.Type)
		}
	}
}

func (r *reader) deployment(b *hcl.Block) {
	d := &Deployment{Name: b.Labels[0], Range: b.DefRange, Inputs: map[string]Input{}}
	if !validName(d.Name) {
		r.diags.ErrorAt(b.LabelRanges[0], "Invalid deployment name", "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes.")
		return
	}
	for _, other := range r.list {
		if other.Name == d.Name {
			r.diags.ErrorAt(b.DefRange, "Duplicate deployment", "A deployment named %q was already declared at %s. Names must be unique within a stack: rename or remove one of the two.", d.Name, other.Range)
			return
		}
	}
	content, problems := b.Body.Content(deploymentSchema)
	r.diags.Append(diag.FromHCL(syntax.SortDiagnostics(problems)))
	if problems.HasErrors() {
		return
	}
	if attr := content.Attributes["destroy"]; attr != nil {
		v, problems := attr.Expr.Value(nil)
		if problems.HasErrors() || v.IsNull() || v.Type() != cty.Bool {
			r.diags.ErrorAt(attr.Expr.Range(), "Invalid destroy argument", "It has to be true or false.")
			return
		}
		d.Destroy = v.True()
	}
	attr := content.Attributes["inputs"]
	pairs, problems := hcl.ExprMap(attr.Expr)
	if problems.HasErrors() {
		r.diags.ErrorAt(attr.Expr.Range(), "Invalid inputs", "The inputs have to be written out as an object: inputs = { NAME = VALUE }.")
		return
	}
	if r.pairs == nil {
		r.pairs = map[*Deployment][]hcl.KeyValuePair{}
	}
	r.list, r.pairs[d] = append(r.list, d), pairs
}

func validName(name string) bool {
	for i, c := range name {
		switch {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c == '-' || c >= '0' && c <= '9'):
		default:
			return false
		}
	}
	return name != ""
}

// evaluate computes the inputs of all deployments, as a program with nothing
// but locals.
func (r *reader) evaluate() diag.List {
	p, diags := analyze.CompileStack(r.src, false)
	ev := &eval.Evaluator{
		Host:  static.Host{},
		Facts: eval.Facts{Applying: cty.False, RootDir: ".", Functions: function.Table(function.Env{Pure: true})},
	}
	frame := ev.NewRoot(p)
	promise.NewRuntime(1).Do(func(t *promise.Task) {
		for _, d := range r.list {
			for _, pair := range r.pairs[d] {
				r.input(t, p, frame, d, pair, &diags)
			}
		}
	})
	return append(diags, frame.Diagnostics()...)
}

func (r *reader) input(t *promise.Task, p *program.Program, frame *eval.Frame, d *Deployment, pair hcl.KeyValuePair, diags *diag.List) {
	key, problems := pair.Key.Value(nil)
	if problems.HasErrors() || key.IsNull() || !key.IsKnown() || key.Type() != cty.String {
		diags.ErrorAt(pair.Key.Range(), "Invalid inputs", "The name of an input has to be a constant.")
		return
	}
	name := key.AsString()
	if first, twice := d.Inputs[name]; twice {
		diags.ErrorAt(pair.Key.Range(), "Duplicate input", "The input %q was already given at %s.", name, first.Range)
		return
	}
	expr, more := analyze.StackExpression(p, pair.Value)
	diags.Append(more)
	if more.HasErrors() {
		return
	}
	v := cty.DynamicVal
	failed := t.Try(func(t *promise.Task) {
		var more diag.List
		v, more = eval.Evaluate(t, expr, frame.Context(t, nil, cty.NilVal))
		diags.Append(more)
	})
	if !failed && !v.IsWhollyKnown() {
		diags.Add(static.Problem(nil, expr.Range(), "input"))
	}
	d.Inputs[name] = Input{Value: v, Range: pair.Key.Range()}
}
