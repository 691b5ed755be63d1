package stack

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// A translator writes the blocks of a stack as those that analyze knows. What
// it makes keeps the expressions and ranges of the source.
type translator struct {
	src     *module.Source
	gone    bool
	diags   diag.List
	removed []program.Removed
	at      *syntax.File
}

func attributes(names ...string) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, name := range names {
		required := name[len(name)-1] == '!'
		if required {
			name = name[:len(name)-1]
		}
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: name, Required: required})
	}
	return s
}

func withBlocks(s *hcl.BodySchema, types ...string) *hcl.BodySchema {
	for _, t := range types {
		s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: t})
	}
	return s
}

var (
	componentSchema = attributes("source!", "version", "for_each", "inputs", "providers", "depends_on")
	stackSchema     = attributes("source!", "version", "for_each", "inputs", "depends_on")
	removedSchema   = withBlocks(attributes("from!", "source!", "version", "for_each", "inputs", "providers"), "lifecycle")
	providerSchema  = withBlocks(attributes("for_each"), "config")
	variableSchema  = withBlocks(attributes("type!", "default", "description", "sensitive", "ephemeral", "nullable"), "validation")
	outputSchema    = withBlocks(attributes("type!", "value!", "description", "sensitive", "ephemeral"), "precondition")
	lifecycleSchema = attributes("destroy")
)

func (tr *translator) hcl(diags hcl.Diagnostics) {
	if len(diags) > 0 {
		tr.diags.Append(diag.FromHCL(syntax.SortDiagnostics(diags)))
	}
}

// file adds the blocks of a file.
func (tr *translator) file(f *syntax.File) {
	tr.at = f
	content, diags := f.Body.Content(fileSchema)
	tr.hcl(diags)
	if attr := content.Attributes["language"]; attr != nil {
		if word := hcl.ExprAsKeyword(attr.Expr); word != "TFStack2023" {
			tr.diags.ErrorAt(attr.Expr.Range(), "Unsupported language edition", "The only edition of the stacks language is the keyword TFStack2023.")
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
		tr.checked(b, variableSchema)
		return
	}
	if tr.gone {
		switch b.Type {
		case "stack":
			tr.call(b, addr.Stack, stackSchema)
		}
		return
	}
	switch b.Type {
	case "output":
		tr.checked(b, outputSchema)
	case "component":
		tr.call(b, addr.Component, componentSchema)
	case "stack":
		tr.call(b, addr.Stack, stackSchema)
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
	_, diags := b.Body.Content(schema)
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
		tr.diags.ErrorAt(at, "Unsupported expression", "This form of expression isn't supported here. Write the file in native syntax.")
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
	content, diags := b.Body.Content(providerSchema)
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
			tr.diags.ErrorAt(config.DefRange, "Duplicate config block", "This provider block already has a config block at %s. Merge the two.", content.Blocks[0].DefRange)
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
	content, diags := b.Body.Content(schema)
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

// inputs makes each entry an argument.
func (tr *translator) inputs(body *hclsyntax.Body, attr *hcl.Attribute) {
	if attr == nil {
		return
	}
	pairs, diags := hcl.ExprMap(attr.Expr)
	if diags.HasErrors() {
		tr.diags.ErrorAt(attr.Expr.Range(), "Invalid inputs", "The inputs have to be written out as an object, so that their names are known:\n    inputs = {\n      NAME = VALUE\n    }")
		return
	}
	for _, pair := range pairs {
		key, diags := pair.Key.Value(nil)
		if diags.HasErrors() || key.IsNull() || !key.IsKnown() || key.Type() != cty.String {
			tr.diags.ErrorAt(pair.Key.Range(), "Invalid inputs", "The name of an input has to be a constant.")
			continue
		}
		name := key.AsString()
		if first := body.Attributes[name]; first != nil {
			if first.NameRange == attr.NameRange || isMeta(name) {
				tr.diags.ErrorAt(pair.Key.Range(), "Invalid inputs", "No variable can have the name %q.", name)
			} else {
				tr.diags.ErrorAt(pair.Key.Range(), "Duplicate input", "The input %q was already given at %s.", name, first.NameRange)
			}
			continue
		}
		if isMeta(name) {
			tr.diags.ErrorAt(pair.Key.Range(), "Invalid inputs", "No variable can have the name %q.", name)
			continue
		}
		tr.set(body, name, pair.Value, hcl.RangeBetween(pair.Key.Range(), pair.Value.Range()), pair.Key.Range())
	}
}

func isMeta(name string) bool {
	switch name {
	case "source", "version", "for_each", "count", "depends_on", "providers", "lifecycle", "locals":
		return true
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
			tr.diags.ErrorAt(pair.Value.Range(), "Invalid provider configuration reference", "A provider configuration of the stack is expected here, as in provider.TYPE.NAME, or provider.TYPE.NAME[each.key] for one with for_each.")
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
	content, diags := b.Body.Content(removedSchema)
	tr.hcl(diags)
	if diags.HasErrors() {
		return
	}
	attrs := content.Attributes
	target, key, ok := tr.from(attrs["from"].Expr)
	if !ok {
		return
	}
	destroy := true
	for _, inner := range content.Blocks {
		life, diags := inner.Body.Content(lifecycleSchema)
		tr.hcl(diags)
		if attr := life.Attributes["destroy"]; attr != nil {
			v, diags := attr.Expr.Value(nil)
			if diags.HasErrors() || v.IsNull() || v.Type() != cty.Bool {
				tr.diags.ErrorAt(attr.Expr.Range(), "Invalid destroy argument", "It has to be true or false.")
				continue
			}
			destroy = v.True()
		}
	}
	body := newBody(b)
	tr.copy(body, attrs, "source", "version", "for_each")
	constant := addr.NoKey
	switch {
	case attrs["for_each"] == nil && key != nil:
		k, diags := key.Value(nil)
		if diags.HasErrors() || k.IsNull() || !k.IsKnown() || k.Type() != cty.String {
			tr.diags.ErrorAt(key.Range(), "Invalid from argument", "Without for_each the key has to be a constant string.")
			return
		}
		constant = addr.StringKey(k.AsString())
		tr.set(body, "for_each", &hclsyntax.LiteralValueExpr{Val: cty.ObjectVal(map[string]cty.Value{k.AsString(): k}), SrcRange: key.Range()}, key.Range(), key.Range())
	case attrs["for_each"] != nil && !isEachKey(key):
		tr.diags.ErrorAt(attrs["from"].Expr.Range(), "Invalid from argument", "With for_each, \"from\" has to name one instance for each key: %s[each.key].", target)
		return
	}
	if target.Kind == addr.Stack {
		tr.inputs(body, attrs["inputs"])
		if attr := attrs["providers"]; attr != nil {
			tr.diags.ErrorAt(attr.NameRange, "Unsupported argument", "Embedded stacks have their own provider configurations.")
		}
	} else if attr := attrs["inputs"]; attr != nil {
		tr.diags.ErrorAt(attr.NameRange, "Unsupported argument", "Only the removal of an embedded stack has inputs, which its providers may need.")
	}
	tr.add(b, "removed", body, target.Kind.String(), target.Name)
	tr.removed = append(tr.removed, program.Removed{
		From:    program.Endpoint{Module: addr.Root.Child(target, constant), Range: attrs["from"].Expr.Range()},
		Destroy: &destroy, Range: b.DefRange,
	})
}

// from reads component.NAME or stack.NAME, with a key.
func (tr *translator) from(e hcl.Expression) (_ addr.Call, key hclsyntax.Expression, ok bool) {
	at := e.Range()
	if inner, ok := unquoted(e); ok {
		e = inner
	}
	if index, isIndex := e.(*hclsyntax.IndexExpr); isIndex {
		key, e = index.Key, index.Collection
	}
	if t, diags := hcl.AbsTraversalForExpr(e); !diags.HasErrors() && len(t) > 1 {
		attr, isAttr := t[1].(hcl.TraverseAttr)
		kind, _ := addr.ParseKind(t.RootName())
		if isAttr && (kind == addr.Component || kind == addr.Stack) {
			call := addr.Call{Kind: kind, Name: attr.Name}
			switch {
			case len(t) == 2:
				return call, key, true
			case len(t) == 3 && key == nil:
				if index, isIndex := t[2].(hcl.TraverseIndex); isIndex {
					return call, &hclsyntax.LiteralValueExpr{Val: index.Key, SrcRange: index.SrcRange}, true
				}
			}
		}
	}
	tr.diags.ErrorAt(at, "Invalid from argument", "What was removed is named as component.NAME or stack.NAME, with a key in brackets for one instance. A component within an embedded stack is removed in the files of that stack.")
	return addr.Call{}, nil, false
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
