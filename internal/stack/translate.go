package stack

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// A translator writes the blocks of a stack as those that analyze knows. Its blocks keep the expressions and ranges of the source.
type translator struct {
	src     *module.Source
	gone    bool
	diags   diag.List
	removed []program.Removed
	at      *syntax.File
}

func componentSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"source!", "version", "for_each", "inputs", "providers", "depends_on"})
}

func stackSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"source!", "version", "for_each", "inputs", "depends_on"})
}

func removedSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"from!", "source!", "version", "for_each", "inputs", "providers"}, "lifecycle")
}

func providerSchema() *hcl.BodySchema { return syntax.Schema([]string{"for_each"}, "config") }

func variableSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"type!", "default", "description", "sensitive", "ephemeral", "nullable"}, "validation")
}

func outputSchema() *hcl.BodySchema {
	return syntax.Schema([]string{"type!", "value!", "description", "sensitive", "ephemeral"}, "precondition")
}

func lifecycleSchema() *hcl.BodySchema { return syntax.Schema([]string{"destroy"}) }

// Schemas returns the schema of a file with components, and that of each block, for the language
// reference.
func Schemas() (file *hcl.BodySchema, blocks map[string]*hcl.BodySchema) {
	return fileSchema, map[string]*hcl.BodySchema{
		"component":         componentSchema(),
		"stack":             stackSchema(),
		"removed":           removedSchema(),
		"removed.lifecycle": lifecycleSchema(),
		"provider":          providerSchema(),
		"variable":          variableSchema(),
		"output":            outputSchema(),
	}
}

// elsewhere has what belongs into other files.
func elsewhere() map[string]string {
	return map[string]string{
		"resource": inModule, "data": inModule, "ephemeral": inModule, "action": inModule, "module": inModule, "moved": inModule, "import": inModule, "check": inModule,
		"deployment": inDeployment, "deployment_group": inDeployment, "deployment_auto_approve": inDeployment, "orchestrate": inDeployment,
		"identity_token": inDeployment, "store": inDeployment, "upstream_input": inDeployment, "publish_output": inDeployment,
		"terraform": "A stack says which providers it needs in a required_providers block, and where states are in a file that ends in .tfbackend.hcl.",
	}
}

// inProvider has what to write instead in a provider block.
func inProvider() map[string]string {
	return map[string]string{
		"alias": "The name of the configuration is the second label of the block.",
		"*":     "Arguments of the provider belong into a config block within this one.",
	}
}

// inCall has what to write instead in blocks of components and stacks.
func inCall() map[string]string {
	return map[string]string{
		"count":     "Use for_each.",
		"providers": "An embedded stack declares its own provider configurations.",
	}
}

const (
	inModule     = "It belongs into the module of a component."
	inDeployment = "It belongs into a file that ends in .tfdeploy.hcl."
)

func (tr *translator) hcl(diags hcl.Diagnostics) {
	if len(diags) > 0 {
		tr.diags.Append(diag.FromHCL(syntax.Invalid, syntax.SortDiagnostics(diags)))
	}
}

// file adds the blocks of a file.
func (tr *translator) file(f *syntax.File) {
	tr.at = f
	content, diags := syntax.Strict(f.Body, fileSchema, elsewhere())
	tr.hcl(diags)
	if attr := content.Attributes["language"]; attr != nil {
		if word := hcl.ExprAsKeyword(attr.Expr); word != "TFStack2023" {
			tr.diags.Add(diag.Edition.Error(attr.Expr.Range(), "The only edition of the stacks language is the keyword TFStack2023."))
		}
	}
	for _, b := range content.Blocks {
		tr.block(b)
	}
}

func (tr *translator) block(b *hcl.Block) {
	switch b.Type {
	case "required_providers":
		tr.add(b, "terraform", &holder{b})
		return
	case "provider":
		tr.provider(b)
		return
	case "locals":
		tr.add(b, b.Type, b.Body, b.Labels...)
		return
	case "variable":
		tr.checked(b, variableSchema())
		return
	}
	if tr.gone {
		switch b.Type {
		case "stack":
			tr.call(b, addr.Stack, stackSchema())
		}
		return
	}
	switch b.Type {
	case "output":
		tr.checked(b, outputSchema())
	case "component":
		tr.call(b, addr.Component, componentSchema())
	case "stack":
		tr.call(b, addr.Stack, stackSchema())
	case "removed":
		tr.removedBlock(b)
	}
}

// add puts a block into the source.
func (tr *translator) add(b *hcl.Block, typ string, body hcl.Body, labels ...string) {
	fresh := *b
	fresh.Type, fresh.Labels, fresh.Body = typ, labels, body
	fresh.LabelRanges = b.LabelRanges[:min(len(labels), len(b.LabelRanges))]
	for len(fresh.LabelRanges) < len(labels) {
		fresh.LabelRanges = append(fresh.LabelRanges, b.DefRange)
	}
	tr.src.Blocks = append(tr.src.Blocks, &module.Block{Block: &fresh, File: tr.at})
}

// checked adds a block as it is if it has only what the schema has.
func (tr *translator) checked(b *hcl.Block, schema *hcl.BodySchema) {
	_, diags := syntax.Strict(b.Body, schema, nil)
	tr.hcl(diags)
	if !diags.HasErrors() {
		tr.add(b, b.Type, b.Body, b.Labels...)
	}
}

// A body under construction.
func newBody(b *hcl.Block) *hclsyntax.Body {
	return &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: b.DefRange, EndRange: b.DefRange}
}

func (tr *translator) set(body *hclsyntax.Body, name string, e hcl.Expression, at, nameAt hcl.Range) {
	expr, ok := e.(hclsyntax.Expression)
	if !ok {
		tr.diags.Add(diag.BadReference.As("Unsupported expression").Error(at, "This form of expression isn't supported here. Write the file in native syntax."))
		return
	}
	body.Attributes[name] = &hclsyntax.Attribute{Name: name, Expr: expr, SrcRange: at, NameRange: nameAt, EqualsRange: nameAt}
}

func (tr *translator) copy(body *hclsyntax.Body, attrs hcl.Attributes, names ...string) {
	for _, name := range names {
		if a := attrs[name]; a != nil {
			tr.set(body, name, a.Expr, a.Range, a.NameRange)
		}
	}
}

// provider adds a provider block whose alias is the second label.
func (tr *translator) provider(b *hcl.Block) {
	content, diags := syntax.Strict(b.Body, providerSchema(), inProvider())
	tr.hcl(diags)
	if diags.HasErrors() {
		return
	}
	body := newBody(b)
	tr.copy(body, content.Attributes, "for_each")
	tr.set(body, "alias", &hclsyntax.LiteralValueExpr{Val: cty.StringVal(b.Labels[1]), SrcRange: b.LabelRanges[1]}, b.LabelRanges[1], b.LabelRanges[1])
	var whole hcl.Body = body
	for i, config := range content.Blocks {
		if i > 0 {
			tr.diags.Add(diag.Duplicate.As("Duplicate config block").Error(config.DefRange, "This provider block already has a config block at %s. Merge the two.", content.Blocks[0].DefRange))
			continue
		}
		if native, ok := config.Body.(*hclsyntax.Body); ok {
			body.Blocks = append(body.Blocks, &hclsyntax.Block{Type: "_", Body: native, TypeRange: config.TypeRange, OpenBraceRange: config.DefRange, CloseBraceRange: config.DefRange})
		} else {
			whole = syntax.Merge(body, config.Body)
		}
	}
	tr.add(b, "provider", whole, b.Labels[0])
}

// call adds a component or stack in the form of a module call.
func (tr *translator) call(b *hcl.Block, kind addr.Kind, schema *hcl.BodySchema) {
	content, diags := syntax.Strict(b.Body, schema, inCall())
	tr.hcl(diags)
	if diags.HasErrors() {
		return
	}
	attrs := content.Attributes
	body := newBody(b)
	tr.copy(body, attrs, "source", "version", "for_each", "depends_on")
	if tr.gone {
		delete(body.Attributes, "depends_on")
	}
	tr.inputs(body, attrs["inputs"])
	tr.providers(body, attrs["providers"])
	tr.add(b, kind.String(), body, b.Labels...)
}

// inputs makes each entry an argument, in a block of its own so that any name will
// do. Another expression is the object with all of them.
func (tr *translator) inputs(body *hclsyntax.Body, attr *hcl.Attribute) {
	if attr == nil {
		return
	}
	pairs, diags := hcl.ExprMap(attr.Expr)
	if diags.HasErrors() || tr.computed(pairs) {
		if v, diags := attr.Expr.Value(nil); !diags.HasErrors() && v.IsKnown() && (v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType()) {
			tr.diags.Add(diag.Unsuitable.As("Invalid inputs").Error(attr.Expr.Range(), "The inputs have to be an object:\n    inputs = {\n      NAME = VALUE\n    }"))
			return
		}
		tr.set(body, "inputs", attr.Expr, attr.Range, attr.NameRange)
		return
	}
	inner := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: attr.Range, EndRange: attr.Range}
	for _, pair := range pairs {
		key, diags := pair.Key.Value(nil)
		if diags.HasErrors() || key.IsNull() || !key.IsKnown() || key.Type() != cty.String {
			tr.diags.Add(diag.Unsuitable.As("Invalid inputs").Error(pair.Key.Range(), "The name of an input has to be a string."))
			continue
		}
		name := key.AsString()
		if first := inner.Attributes[name]; first != nil {
			tr.diags.Add(diag.Duplicate.As("Duplicate input").Error(pair.Key.Range(), "The input %q was already given at %s.", name, first.NameRange))
			continue
		}
		tr.set(inner, name, pair.Value, hcl.RangeBetween(pair.Key.Range(), pair.Value.Range()), pair.Key.Range())
	}
	body.Blocks = append(body.Blocks, &hclsyntax.Block{Type: "_", Body: inner, TypeRange: attr.NameRange, OpenBraceRange: attr.NameRange, CloseBraceRange: attr.NameRange})
}

// computed reports whether names of an object are only known with values.
func (tr *translator) computed(pairs []hcl.KeyValuePair) bool {
	for _, pair := range pairs {
		if len(pair.Key.Variables()) > 0 {
			return true
		}
	}
	return false
}

// providers turns provider.TYPE.NAME into TYPE.NAME.
func (tr *translator) providers(body *hclsyntax.Body, attr *hcl.Attribute) {
	if attr == nil {
		return
	}
	pairs, diags := hcl.ExprMap(attr.Expr)
	tr.hcl(diags)
	out := &hclsyntax.ObjectConsExpr{SrcRange: attr.Expr.Range(), OpenRange: attr.Expr.StartRange()}
	for _, pair := range pairs {
		value, ok := unquoted(pair.Value)
		key, keyOK := pair.Key.(hclsyntax.Expression)
		if ok && keyOK {
			value, ok = withoutRoot(value)
		}
		if !ok || !keyOK {
			tr.diags.Add(diag.BadProvider.Error(pair.Value.Range(), "A provider configuration of the stack is expected here, as in provider.TYPE.NAME, or provider.TYPE.NAME[each.key] for one with for_each."))
			continue
		}
		out.Items = append(out.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: value})
	}
	tr.set(body, "providers", out, attr.Range, attr.NameRange)
}

// unquoted is an expression, which JSON has as the text of a string.
func unquoted(e hcl.Expression) (hclsyntax.Expression, bool) {
	if s, isString := e.(*syntax.StringExpr); isString {
		inner, diags := s.AsExpression()
		return inner, !diags.HasErrors()
	}
	expr, ok := e.(hclsyntax.Expression)
	return expr, ok
}

func withoutRoot(e hclsyntax.Expression) (hclsyntax.Expression, bool) {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		t := e.Traversal
		if len(t) < 3 || t.RootName() != "provider" {
			return nil, false
		}
		attr, ok := t[1].(hcl.TraverseAttr)
		if !ok {
			return nil, false
		}
		fresh := append(hcl.Traversal{hcl.TraverseRoot{Name: attr.Name, SrcRange: attr.SrcRange}}, t[2:]...)
		return &hclsyntax.ScopeTraversalExpr{Traversal: fresh, SrcRange: e.SrcRange}, true
	case *hclsyntax.IndexExpr:
		inner, ok := withoutRoot(e.Collection)
		fresh := *e
		fresh.Collection = inner
		return &fresh, ok
	}
	return nil, false
}

// removedBlock adds a removed block: a call of what is gone, and what becomes of
// the objects.
func (tr *translator) removedBlock(b *hcl.Block) {
	content, diags := syntax.Strict(b.Body, removedSchema(), inCall())
	tr.hcl(diags)
	if diags.HasErrors() {
		return
	}
	attrs := content.Attributes
	path, ok := tr.from(attrs["from"].Expr)
	if !ok {
		return
	}
	destroy := true
	for i, inner := range content.Blocks {
		if i > 0 {
			tr.diags.Add(diag.Duplicate.As("Duplicate lifecycle block").Error(inner.DefRange, "This removed block already has a lifecycle block at %s. Merge the two.", content.Blocks[0].DefRange))
			continue
		}
		life, diags := syntax.Strict(inner.Body, lifecycleSchema(), nil)
		tr.hcl(diags)
		if attr := life.Attributes["destroy"]; attr != nil {
			v, diags := attr.Expr.Value(nil)
			if diags.HasErrors() || v.IsNull() || v.Type() != cty.Bool {
				tr.diags.Add(diag.BadRemoved.As("Invalid destroy argument").Error(attr.Expr.Range(), "It has to be true or false."))
				continue
			}
			destroy = v.True()
		}
	}
	target := path[len(path)-1].Call
	body := newBody(b)
	tr.copy(body, attrs, "source", "version", "for_each")
	from := attrs["from"].Expr.Range()
	repeated, key := attrs["for_each"] != nil, path[len(path)-1].key
	constant := addr.NoKey
	switch {
	case repeated && !tr.namesEach(path):
		tr.diags.Add(diag.BadRemoved.As("Invalid from argument").Error(from, "With for_each, \"from\" has to name one instance for each key: %s[each.key].", target))
		return
	case !repeated && !tr.constantKeys(path):
		return
	case len(path) == 1 && !repeated && key != nil:
		k, _ := key.Value(nil)
		constant = addr.StringKey(k.AsString())
		tr.set(body, "for_each", &hclsyntax.LiteralValueExpr{Val: cty.ObjectVal(map[string]cty.Value{k.AsString(): k}), SrcRange: key.Range()}, key.Range(), key.Range())
	case len(path) > 1 || repeated && !isEachKey(key):
		tr.set(body, "keys", keysOf(path, from), from, attrs["from"].NameRange)
	}
	if target.Kind == addr.Stack {
		tr.inputs(body, attrs["inputs"])
		if attr := attrs["providers"]; attr != nil {
			tr.diags.Add(diag.Unsupported.Error(attr.NameRange, "Embedded stacks have their own provider configurations."))
		}
	} else {
		tr.providers(body, attrs["providers"])
		if attr := attrs["inputs"]; attr != nil {
			tr.diags.Add(diag.Unsupported.Error(attr.NameRange, "Only the removal of an embedded stack has inputs, which its providers may need."))
		}
	}
	labels := []string{target.Kind.String(), target.Name}
	module := addr.Root
	for _, step := range path[:len(path)-1] {
		labels = append(labels, step.Kind.String(), step.Name)
		module = module.Child(step.Call, addr.NoKey)
	}
	tr.add(b, "removed", body, labels...)
	tr.removed = append(tr.removed, program.Removed{
		From:    program.Endpoint{Module: module.Child(target, constant), Range: from},
		Destroy: &destroy, Range: b.DefRange,
	})
}

// A step of what was removed: a component or stack, with a key or nil.
type step struct {
	addr.Call
	key hclsyntax.Expression
}

// from reads component.NAME or stack.NAME, with a key, and what is within a stack.
func (tr *translator) from(e hcl.Expression) (path []step, ok bool) {
	at := e.Range()
	inner, ok := unquoted(e)
	if ok {
		var names []named
		if names, ok = flat(inner, nil); ok {
			path, ok = stepsOf(names)
		}
	}
	if !ok {
		tr.diags.Add(diag.BadRemoved.As("Invalid from argument").Error(at, "Name the removed block as component.NAME or stack.NAME, with a key in brackets for one instance. A component within an embedded stack has the name of that before its own: stack.NAME.component.NAME."))
	}
	return path, ok
}

// named is a name in a reference, or a key.
type named struct {
	name string
	key  hclsyntax.Expression
}

// flat takes a reference apart.
func flat(e hclsyntax.Expression, list []named) (_ []named, ok bool) {
	var rest hcl.Traversal
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		list, rest = append(list, named{name: e.Traversal.RootName()}), e.Traversal[1:]
	case *hclsyntax.RelativeTraversalExpr:
		if list, ok = flat(e.Source, list); !ok {
			return nil, false
		}
		rest = e.Traversal
	case *hclsyntax.IndexExpr:
		if list, ok = flat(e.Collection, list); !ok {
			return nil, false
		}
		return append(list, named{key: e.Key}), true
	default:
		return nil, false
	}
	for _, part := range rest {
		switch part := part.(type) {
		case hcl.TraverseAttr:
			list = append(list, named{name: part.Name})
		case hcl.TraverseIndex:
			list = append(list, named{key: &hclsyntax.LiteralValueExpr{Val: part.Key, SrcRange: part.SrcRange}})
		default:
			return nil, false
		}
	}
	return list, true
}

// stepsOf reads the names of a reference as stacks, and a component or stack last.
func stepsOf(names []named) (path []step, ok bool) {
	for len(names) > 0 {
		if len(names) < 2 || names[0].key != nil || names[1].key != nil || len(path) > 0 && path[len(path)-1].Kind != addr.Stack {
			return nil, false
		}
		kind, _ := addr.ParseKind(names[0].name)
		if kind != addr.Component && kind != addr.Stack {
			return nil, false
		}
		s := step{Call: addr.Call{Kind: kind, Name: names[1].name}}
		if names = names[2:]; len(names) > 0 && names[0].key != nil {
			s.key, names = names[0].key, names[1:]
		}
		path = append(path, s)
	}
	return path, len(path) > 0
}

// namesEach reports whether a path has each.key or each.value in it.
func (tr *translator) namesEach(path []step) bool {
	for _, s := range path {
		if s.key != nil && slices.ContainsFunc(s.key.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" }) {
			return true
		}
	}
	return false
}

// constantKeys reports keys that aren't constant strings.
func (tr *translator) constantKeys(path []step) bool {
	for _, s := range path {
		if s.key == nil {
			continue
		}
		k, diags := s.key.Value(nil)
		if diags.HasErrors() || k.IsNull() || !k.IsKnown() || k.Type() != cty.String {
			tr.diags.Add(diag.BadRemoved.As("Invalid from argument").Error(s.key.Range(), "Without for_each the key has to be a constant string."))
			return false
		}
	}
	return true
}

// keysOf lists the keys of a path, null for a step without.
func keysOf(path []step, at hcl.Range) hclsyntax.Expression {
	list := &hclsyntax.TupleConsExpr{SrcRange: at, OpenRange: at}
	for _, s := range path {
		key := s.key
		if key == nil {
			key = &hclsyntax.LiteralValueExpr{Val: cty.NullVal(cty.String), SrcRange: at}
		}
		list.Exprs = append(list.Exprs, key)
	}
	return list
}

// isEachKey reports whether a key is each.key.
func isEachKey(key hclsyntax.Expression) bool {
	t, ok := key.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(t.Traversal) != 2 || t.Traversal.RootName() != "each" {
		return false
	}
	attr, ok := t.Traversal[1].(hcl.TraverseAttr)
	return ok && attr.Name == "key"
}

// A holder is a body with one block.
type holder struct{ block *hcl.Block }

// Content implements hcl.Body.
func (h *holder) Content(*hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	return &hcl.BodyContent{Attributes: hcl.Attributes{}, Blocks: hcl.Blocks{h.block}, MissingItemRange: h.MissingItemRange()}, nil
}

// PartialContent implements hcl.Body.
func (h *holder) PartialContent(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, diags := h.Content(s)
	return content, hcl.EmptyBody(), diags
}

// JustAttributes implements hcl.Body.
func (h *holder) JustAttributes() (hcl.Attributes, hcl.Diagnostics) { return nil, nil }

// MissingItemRange implements hcl.Body.
func (h *holder) MissingItemRange() hcl.Range { return h.block.DefRange }
