// Package deploy reads deployments: the inputs of a stack, their sources, and the rules that
// approve its plans.
//
// It owns the files that end in .tfdeploy.hcl and .tfdeploy.json, and their
// values. Tokens, stores and outputs of other stacks are given to it. It knows no
// components, states or plans.
package deploy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
)

// Default is the deployment of a stack without deployment files.
const Default = "default"

// A Stack is what the deployment files of a stack say.
type Stack struct {
	// Deployments are in the order of their names.
	Deployments []*Deployment
	Published   []*Published
	Tokens      map[string]*Token
	Stores      map[string]*Store // by "TYPE.NAME"
	Upstreams   map[string]*Upstream
	// Rules are those of blocks deployment_auto_approve, by name, and Legacy those of
	// blocks orchestrate.
	Rules  map[string]*Rule
	Legacy []*Rule
	groups map[string]*Group
	// Sources are the files.
	Sources map[string][]byte
	locals  map[string]*local
}

// A Deployment is one set of inputs of a stack.
type Deployment struct {
	Name string
	// Inputs are there once they were evaluated.
	Inputs map[string]Input
	// Destroy: the deployment is to go. Import: it is to take over what exists, so
	// that nothing is created as long as it has no state.
	Destroy, Import bool
	Group           *Group
	// Range is empty for what no file has.
	Range hcl.Range
	// Left: no file has the deployment any more, only a state.
	Left bool
	// Replans is how often rules have had it planned again in this run.
	Replans int
	inputs  hcl.Expression
	group   hcl.Expression
	// published are the references to its outputs in what the stack publishes.
	published []hcl.Traversal
}

// An Input is a value for a variable of the stack.
type Input struct {
	Value cty.Value
	Range hcl.Range
}

// A Group says by which rules plans of its deployments are approved: all of them.
type Group struct {
	Name   string
	Checks []*Rule
	Range  hcl.Range
	checks hcl.Expression
	// deployments are those that say nothing of their group themselves.
	deployments hcl.Expression
}

// A Rule approves a plan if all its checks hold, or has it made again. Kind is empty, or
// for a block of type orchestrate its first label.
type Rule struct {
	Kind, Name string
	Checks     []Check
	Range      hcl.Range
}

// A Check is a condition on a plan, with what is reported where it doesn't hold.
type Check struct {
	Condition, Reason hcl.Expression
	Range             hcl.Range
}

// A Token is requested at each run: a proof of who runs it.
type Token struct {
	Name     string
	Audience []string
	Range    hcl.Range
	audience hcl.Expression
}

// A Store has values that are kept elsewhere. ID and Label are how it is known
// there; one may be empty.
type Store struct {
	Type, Name, ID, Label, Category string
	Range                           hcl.Range
}

// An Upstream is another stack whose published outputs are read.
type Upstream struct {
	Name, Source string
	Range        hcl.Range
}

// A Published is an output for other stacks.
type Published struct {
	Name, Description string
	Value             hcl.Expression
	Range             hcl.Range
}

type local struct {
	expr hcl.Expression
	at   hcl.Range
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

func deploymentSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"inputs", "variables", "destroy", "deployment_group", "import"})
}

func groupSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"auto_approve_checks", "deployments"})
}

func ruleSchema() *hcl.BodySchema { return syntax.Schema(nil, "check") }

func checkSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"condition!", "reason", "error_message"})
}

func tokenSchema() *hcl.BodySchema    { return syntax.Schema([]string{"audience!"}) }
func storeSchema() *hcl.BodySchema    { return syntax.Schema([]string{"id", "name", "category"}) }
func upstreamSchema() *hcl.BodySchema { return syntax.Schema([]string{"type!", "source!"}) }
func publishSchema() *hcl.BodySchema  { return syntax.Schema([]string{"value!", "description"}) }

// Schemas returns the schema of a file with deployments, and that of each block, for the language
// reference.
func Schemas() (file *hcl.BodySchema, blocks map[string]*hcl.BodySchema) {
	return fileSchema, map[string]*hcl.BodySchema{
		"deployment":              deploymentSchema(),
		"deployment_group":        groupSchema(),
		"deployment_auto_approve": ruleSchema(),
		"orchestrate":             ruleSchema(),
		"rule.check":              checkSchema(),
		"identity_token":          tokenSchema(),
		"store":                   storeSchema(),
		"upstream_input":          upstreamSchema(),
		"publish_output":          publishSchema(),
	}
}

// misplaced has what belongs into other files.
func misplaced() map[string]string {
	return map[string]string{
		"component": inComponents, "stack": inComponents, "provider": inComponents, "required_providers": inComponents,
		"variable": inComponents, "output": inComponents, "removed": inComponents,
		"terraform": inSettings, "backend": inSettings, "encryption": inSettings,
	}
}

const (
	inComponents = "It belongs into a file that ends in .tfcomponent.hcl."
	inSettings   = "Where states are, and how they are encrypted, belongs into a file that ends in .tfbackend.hcl."
	oneEach      = "Each has a block of its own; put common values in locals."
)

// Choose finds deployments by name.
func Choose(all []*Deployment, names []string) (list []*Deployment, diags diag.List) {
	for _, name := range names {
		i := slices.IndexFunc(all, func(d *Deployment) bool { return d.Name == name })
		if i < 0 {
			known := Names(all)
			diags.Add(diag.UnknownDeployment.New(diag.Error, "There is no deployment named %q.%s The deployments of this stack are: %s.", name, syntax.Suggest(name, known), strings.Join(known, ", ")))
			continue
		}
		if !slices.Contains(list, all[i]) {
			list = append(list, all[i])
		}
	}
	return list, diags
}

// WantDeployments reports deployment files without a deployment.
func (s *Stack) WantDeployments() diag.List {
	if len(s.Deployments) > 0 {
		return nil
	}
	return diag.UnknownDeployment.As("No deployments").List("The deployment files have no deployment block, so there is nothing to plan or apply. Add one, such as:\n    deployment \"production\" {\n      inputs = {}\n    }")
}

// Names are those of deployments.
func Names(list []*Deployment) []string {
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	return names
}

// IsFile reports whether a file has deployments.
func IsFile(name string) bool {
	return strings.HasSuffix(name, ".tfdeploy.hcl") || strings.HasSuffix(name, ".tfdeploy.json")
}

// Load reads the deployment files in a directory and looks for every mistake that
// needs no value. Without files there is one deployment, without inputs.
func Load(files module.Files, dir string) (*Stack, diag.List) {
	r := &reader{Stack: &Stack{
		Tokens: map[string]*Token{}, Stores: map[string]*Store{}, Upstreams: map[string]*Upstream{},
		Rules: map[string]*Rule{}, groups: map[string]*Group{}, Sources: map[string][]byte{}, locals: map[string]*local{},
	}}
	names, err := files.List(dir)
	if err != nil {
		r.diags.Add(diag.Unreadable.As("Failed to read stack directory").New(diag.Error, "The directory %s does not exist or cannot be read.", dir))
		return r.Stack, r.diags
	}
	for _, name := range names {
		if !IsFile(name) {
			continue
		}
		path := filepath.Join(dir, name)
		data, err := files.ReadFile(path)
		if err != nil {
			r.diags.Add(diag.Unreadable.New(diag.Error, "The file %q could not be read.", path))
			continue
		}
		f, more := syntax.Parse(path, data)
		r.diags.Append(more)
		r.Sources[f.Name] = f.Bytes
		r.file(f)
	}
	if len(r.Sources) == 0 {
		r.Deployments = []*Deployment{{Name: Default, Inputs: map[string]Input{}}}
		return r.Stack, r.diags
	}
	slices.SortFunc(r.Deployments, func(a, b *Deployment) int { return strings.Compare(a.Name, b.Name) })
	r.resolve()
	return r.Stack, r.diags
}

type reader struct {
	*Stack
	diags diag.List
}

func (r *reader) hcl(diags hcl.Diagnostics) {
	r.diags.Append(diag.FromHCL(syntax.Invalid, syntax.SortDiagnostics(diags)))
}

func (r *reader) file(f *syntax.File) {
	content, problems := syntax.Strict(f.Body, fileSchema, misplaced())
	r.hcl(problems)
	for _, b := range content.Blocks {
		if b.Type == "locals" {
			r.addLocals(b)
			continue
		}
		last := len(b.Labels) - 1
		if !hclsyntax.ValidIdentifier(b.Labels[last]) {
			r.diags.Add(diag.BadName.As("Invalid "+words(b.Type)+" name").Error(b.LabelRanges[last], "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes."))
			continue
		}
		switch b.Type {
		case "deployment":
			r.deployment(b)
		case "deployment_group":
			r.group(b)
		case "deployment_auto_approve", "orchestrate":
			r.rule(b)
		case "identity_token":
			r.token(b)
		case "store":
			r.store(b)
		case "upstream_input":
			r.upstream(b)
		case "publish_output":
			r.publish(b)
		}
	}
}

func words(typ string) string { return strings.ReplaceAll(typ, "_", " ") }

// content reads a body that may have nothing but what the schema names.
func (r *reader) content(b hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, bool) {
	content, problems := syntax.Strict(b, schema, map[string]string{"for_each": oneEach, "count": oneEach})
	r.hcl(problems)
	return content, !problems.HasErrors()
}

func (r *reader) duplicate(b *hcl.Block, first hcl.Range) {
	r.diags.Add(diag.Duplicate.As("Duplicate "+words(b.Type)).Error(b.DefRange, "A %s named %q was already declared at %s. Names must be unique within a stack: rename or remove one of the two.", words(b.Type), b.Labels[len(b.Labels)-1], first))
}

func (r *reader) addLocals(b *hcl.Block) {
	attrs, problems := b.Body.JustAttributes()
	r.hcl(problems)
	for _, attr := range syntax.InOrder(attrs) {
		if first := r.locals[attr.Name]; first != nil {
			r.diags.Add(diag.Duplicate.As("Duplicate local value definition").Error(attr.NameRange, "A local value named %q was already declared at %s. Names must be unique within a stack: rename or remove one of the two.", attr.Name, first.at))
			continue
		}
		r.locals[attr.Name] = &local{attr.Expr, attr.NameRange}
	}
}

func (r *reader) deployment(b *hcl.Block) {
	d := &Deployment{Name: b.Labels[0], Range: b.DefRange, Inputs: map[string]Input{}}
	for _, other := range r.Deployments {
		if other.Name == d.Name {
			r.duplicate(b, other.Range)
			return
		}
	}
	content, ok := r.content(b.Body, deploymentSchema())
	if !ok {
		return
	}
	attrs := content.Attributes
	d.Destroy = r.flag(attrs["destroy"])
	d.Import = r.flag(attrs["import"])
	inputs := attrs["inputs"]
	if old := attrs["variables"]; old != nil {
		if inputs != nil {
			r.diags.Add(BadDeployment.As("Conflicting arguments").Error(old.NameRange, "The argument \"variables\" is the old name of \"inputs\", and the block has both. Move all of them to inputs."))
			return
		}
		r.diags.Add(diag.Outdated.As("Deprecated argument").Warning(old.NameRange, "The argument \"variables\" is called \"inputs\" now. Rename it."))
		inputs = old
	}
	if inputs != nil {
		d.inputs = inputs.Expr
	}
	if attr := attrs["deployment_group"]; attr != nil {
		d.group = attr.Expr
	}
	r.Deployments = append(r.Deployments, d)
}

func (r *reader) flag(attr *hcl.Attribute) bool {
	if attr == nil {
		return false
	}
	v, problems := attr.Expr.Value(nil)
	if problems.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.Bool {
		r.diags.Add(BadDeployment.As("Invalid "+attr.Name+" argument").Error(attr.Expr.Range(), "It has to be true or false."))
		return false
	}
	return v.True()
}

// text reads a constant string, empty without.
func (r *reader) text(attr *hcl.Attribute) string {
	if attr == nil {
		return ""
	}
	v, problems := attr.Expr.Value(nil)
	if problems.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		r.diags.Add(BadDeployment.As("Invalid "+attr.Name+" argument").Error(attr.Expr.Range(), "It has to be a constant string."))
		return ""
	}
	return v.AsString()
}

func (r *reader) group(b *hcl.Block) {
	g := &Group{Name: b.Labels[0], Range: b.DefRange}
	if first := r.groups[g.Name]; first != nil {
		r.duplicate(b, first.Range)
		return
	}
	content, _ := r.content(b.Body, groupSchema())
	if attr := content.Attributes["auto_approve_checks"]; attr != nil {
		g.checks = attr.Expr
	}
	if attr := content.Attributes["deployments"]; attr != nil {
		r.diags.Add(diag.Outdated.As("Deprecated argument").Warning(attr.NameRange, "Deployments say of which group they are. Write deployment_group = deployment_group.%s into the block of each.", g.Name))
		g.deployments = attr.Expr
	}
	r.groups[g.Name] = g
}

func (r *reader) rule(b *hcl.Block) {
	rule := &Rule{Name: b.Labels[len(b.Labels)-1], Range: b.DefRange}
	if b.Type == "orchestrate" {
		rule.Kind = b.Labels[0]
		if rule.Kind != "auto_approve" && rule.Kind != "replan" {
			r.diags.Add(BadDeployment.As("Invalid orchestrate type").Error(b.LabelRanges[0], "The types of orchestrate blocks are auto_approve and replan, not %q.", rule.Kind))
			return
		}
		if rule.Kind == "auto_approve" {
			r.diags.Add(diag.Outdated.As("Deprecated block").Warning(b.DefRange, "The block type \"orchestrate\" was replaced by deployment_auto_approve, and by deployment_group, which says whose rules they are. Until then any rule of an orchestrate block approves a plan."))
		}
		for _, other := range r.Legacy {
			if other.Kind == rule.Kind && other.Name == rule.Name {
				r.duplicate(b, other.Range)
				return
			}
		}
	} else if first := r.Rules[rule.Name]; first != nil {
		r.duplicate(b, first.Range)
		return
	}
	content, ok := r.content(b.Body, ruleSchema())
	if ok && len(content.Blocks) == 0 {
		r.diags.Add(BadDeployment.As("Missing check").Error(b.DefRange, "A rule without a check would hold for everything. Add one, such as:\n    check {\n      condition = context.plan.changes.remove == 0\n      reason    = \"Something would be destroyed.\"\n    }"))
	}
	for _, inner := range content.Blocks {
		content, ok := r.content(inner.Body, checkSchema())
		if !ok {
			continue
		}
		reason := content.Attributes["reason"]
		if old := content.Attributes["error_message"]; old != nil && reason == nil {
			r.diags.Add(diag.Outdated.As("Deprecated argument").Warning(old.NameRange, "The argument \"error_message\" is called \"reason\" now. Rename it."))
			reason = old
		}
		if reason == nil {
			r.diags.Add(diag.Missing.Error(inner.DefRange, "The argument \"reason\" is required, but no definition was found. It says why the rule doesn't hold."))
			continue
		}
		rule.Checks = append(rule.Checks, Check{content.Attributes["condition"].Expr, reason.Expr, inner.DefRange})
	}
	if rule.Kind != "" {
		r.Legacy = append(r.Legacy, rule)
	} else {
		r.Rules[rule.Name] = rule
	}
}

func (r *reader) token(b *hcl.Block) {
	t := &Token{Name: b.Labels[0], Range: b.DefRange}
	if first := r.Tokens[t.Name]; first != nil {
		r.duplicate(b, first.Range)
		return
	}
	content, ok := r.content(b.Body, tokenSchema())
	if ok {
		t.audience = content.Attributes["audience"].Expr
	}
	r.Tokens[t.Name] = t
}

func (r *reader) store(b *hcl.Block) {
	s := &Store{Type: b.Labels[0], Name: b.Labels[1], Range: b.DefRange}
	key := s.Type + "." + s.Name
	if first := r.Stores[key]; first != nil {
		r.duplicate(b, first.Range)
		return
	}
	if content, ok := r.content(b.Body, storeSchema()); ok {
		attrs := content.Attributes
		s.ID, s.Label, s.Category = r.text(attrs["id"]), r.text(attrs["name"]), r.text(attrs["category"])
		if s.Type == "varset" && s.ID == "" && s.Label == "" {
			r.diags.Add(diag.Missing.Error(b.DefRange, "A store of type \"varset\" needs the \"id\" or the \"name\" of the variable set."))
		}
		if c := s.Category; c != "" && c != "terraform" && c != "env" {
			r.diags.Add(BadDeployment.As("Invalid category argument").Error(attrs["category"].Expr.Range(), "The categories are terraform and env, not %q.", c))
		}
	}
	r.Stores[key] = s
}

func (r *reader) upstream(b *hcl.Block) {
	u := &Upstream{Name: b.Labels[0], Range: b.DefRange}
	if first := r.Upstreams[u.Name]; first != nil {
		r.duplicate(b, first.Range)
		return
	}
	if content, ok := r.content(b.Body, upstreamSchema()); ok {
		u.Source = r.text(content.Attributes["source"])
		if typ := r.text(content.Attributes["type"]); typ != "" && typ != "stack" {
			r.diags.Add(BadDeployment.As("Invalid type argument").Error(content.Attributes["type"].Expr.Range(), "The only type of an upstream_input is \"stack\", not %q.", typ))
		}
	}
	r.Upstreams[u.Name] = u
}

func (r *reader) publish(b *hcl.Block) {
	p := &Published{Name: b.Labels[0], Range: b.DefRange}
	for _, other := range r.Published {
		if other.Name == p.Name {
			r.duplicate(b, other.Range)
			return
		}
	}
	if content, ok := r.content(b.Body, publishSchema()); ok {
		p.Value, p.Description = content.Attributes["value"].Expr, r.text(content.Attributes["description"])
		r.Published = append(r.Published, p)
	}
}

// resolve finds what names refer to, and checks all expressions.
func (r *reader) resolve() {
	for _, key := range sortedKeys(r.groups) {
		g := r.groups[key]
		for _, name := range r.references(g.checks, "auto_approve_checks", "deployment_auto_approve", sortedKeys(r.Rules)) {
			g.Checks = append(g.Checks, r.Rules[name])
		}
		for _, name := range r.references(g.deployments, "deployments", "deployment", Names(r.Deployments)) {
			d := r.Deployments[slices.Index(Names(r.Deployments), name)]
			if d.group != nil || d.Group != nil {
				r.diags.Add(BadDeployment.As("Several groups").Error(g.deployments.Range(), "A deployment is of one group, and another place says so of %q already. Remove it from one of the two.", name))
			}
			d.Group = g
		}
	}
	for _, d := range r.Deployments {
		if d.group != nil {
			if name, ok := r.reference(d.group, "deployment_group", sortedKeys(r.groups)); ok {
				d.Group = r.groups[name]
			}
		}
		r.check(d.inputs, places{})
	}
	for _, l := range r.locals {
		r.check(l.expr, places{})
	}
	for _, t := range r.Tokens {
		r.check(t.audience, places{})
	}
	for _, p := range r.Published {
		r.check(p.Value, places{deployments: true})
		for _, t := range p.Value.Variables() {
			for _, d := range r.Deployments {
				if name, ok := at(t, 1); ok && t.RootName() == "deployment" && name.Name == d.Name {
					d.published = append(d.published, t)
				}
			}
		}
	}
	for _, name := range sortedKeys(r.Rules) {
		r.checkRule(r.Rules[name])
	}
	for _, rule := range r.Legacy {
		r.checkRule(rule)
	}
	r.audiences()
	r.diags.Sort()
}

func (r *reader) checkRule(rule *Rule) {
	for _, c := range rule.Checks {
		r.check(c.Condition, places{deployments: true, context: true})
		r.check(c.Reason, places{deployments: true, context: true})
	}
}

// references reads a list of TYPE.NAME, the value of an argument that may be absent.
func (r *reader) references(e hcl.Expression, argument, typ string, names []string) (found []string) {
	if e == nil {
		return nil
	}
	list, problems := hcl.ExprList(e)
	if problems.HasErrors() {
		r.diags.Add(BadDeployment.As("Invalid "+argument+" argument").Error(e.Range(), "A list is expected here, as in [%s.NAME].", typ))
	}
	for _, one := range list {
		if name, ok := r.reference(one, typ, names); ok {
			found = append(found, name)
		}
	}
	return found
}

// reference reads TYPE.NAME, where the names are those declared.
func (r *reader) reference(e hcl.Expression, typ string, names []string) (string, bool) {
	at := e.Range()
	if s, ok := e.(*syntax.StringExpr); ok {
		if inner, problems := s.AsExpression(); !problems.HasErrors() {
			e = inner
		}
	}
	t, problems := hcl.AbsTraversalForExpr(e)
	if !problems.HasErrors() && len(t) == 2 && t.RootName() == typ {
		if attr, ok := t[1].(hcl.TraverseAttr); ok {
			if slices.Contains(names, attr.Name) {
				return attr.Name, true
			}
			r.diags.Add(diag.BadReference.As("Reference to undeclared "+words(typ)).Error(at, "There is no block %s %q in the deployment files.%s", typ, attr.Name, among(attr.Name, names)))
			return "", false
		}
	}
	hint := ""
	if v, problems := e.Value(nil); !problems.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() && slices.Contains(names, v.AsString()) {
		hint = " To refer to the one of that name, write " + typ + "." + v.AsString() + " without quotes."
	}
	r.diags.Add(diag.BadReference.Error(at, "A block is expected here that the deployment files have, as in %s.NAME.%s", typ, hint))
	return "", false
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
