package jsonconfig

import (
	"encoding/json"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/program"
	"weir.dev/weir/internal/schema"
)

// An expression has a constant or references, or neither when it calls
// functions with constants.
type expression struct {
	Constant   json.RawMessage `json:"constant_value,omitempty"`
	References []string        `json:"references,omitempty"`
}

func convert(e *program.Expr) *expression {
	if e == nil {
		return nil
	}
	return convertHCL(e.Expression)
}

func convertHCL(e hcl.Expression) *expression {
	out := &expression{References: references(e)}
	if len(out.References) == 0 {
		if v, ok := constant(e); ok {
			if raw, err := ctyjson.Marshal(v, v.Type()); err == nil {
				out.Constant = raw
			}
		}
	}
	return out
}

// constant evaluates an expression that depends on nothing.
func constant(e hcl.Expression) (cty.Value, bool) {
	if e == nil {
		return cty.NilVal, false
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || v == cty.NilVal {
		return cty.NilVal, false
	}
	v, _ = v.UnmarkDeep()
	return v, v.IsWhollyKnown()
}

func constantText(e *program.Expr) string {
	if e == nil {
		return ""
	}
	if v, ok := constant(e.Expression); ok && !v.IsNull() && v.Type() == cty.String {
		return v.AsString()
	}
	return ""
}

// references lists what an expression refers to, each reference followed by
// its shorter forms down to what it names, without repetition.
func references(e hcl.Expression) []string {
	var out []string
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	for _, ref := range program.References(e) {
		names, rest := subject(ref)
		forms := make([]string, 0, len(rest))
		text := names[0]
		for _, step := range rest {
			text += stepText(step)
			forms = append(forms, text)
		}
		for i := len(forms) - 1; i >= 0; i-- {
			add(forms[i])
		}
		for _, name := range names {
			add(name)
		}
	}
	return out
}

// subject gives the names of what a reference refers to, the most exact
// first, and the steps that follow it. A key that has to be computed ends the
// reference.
func subject(r *program.Ref) (names []string, rest hcl.Traversal) {
	rest = r.Rest
	key, known := "", true
	if r.Key != nil {
		if key, known = keyText(r.Key); !known {
			rest = nil
		}
	}
	switch r.Kind {
	case program.RefVariable:
		return []string{"var." + r.Variable.Name}, rest
	case program.RefLocal:
		return []string{"local." + r.Local.Name}, rest
	case program.RefResource:
		return withKey(r.Resource.Name.String(), key), rest
	case program.RefCall:
		names = withKey("module."+r.Call.Name, key)
		if r.Attr != "" && known {
			names = append([]string{names[0] + "." + r.Attr}, names...)
		}
		return names, rest
	case program.RefCount:
		return []string{"count." + r.Attr}, rest
	case program.RefEach:
		return []string{"each." + r.Attr}, rest
	case program.RefPath:
		return []string{"path." + r.Attr}, rest
	case program.RefTerraform:
		return []string{"terraform." + r.Attr}, rest
	case program.RefSelf:
		return []string{"self"}, rest
	}
	return []string{r.Text}, nil
}

func withKey(name, key string) []string {
	if key == "" {
		return []string{name}
	}
	return []string{name + key, name}
}

// keyText is a constant instance key in brackets.
func keyText(e hcl.Expression) (string, bool) {
	v, ok := constant(e)
	if !ok || v.IsNull() {
		return "", false
	}
	return indexText(v)
}

func indexText(v cty.Value) (string, bool) {
	switch v.Type() {
	case cty.String:
		return addr.StringKey(v.AsString()).String(), true
	case cty.Number:
		return "[" + v.AsBigFloat().Text('f', -1) + "]", true
	}
	return "", false
}

func stepText(step hcl.Traverser) string {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return "." + step.Name
	case hcl.TraverseRoot:
		return step.Name
	case hcl.TraverseIndex:
		if text, ok := indexText(step.Key); ok {
			return text
		}
		return "[" + strconv.Quote(step.Key.GoString()) + "]"
	}
	return "[*]"
}

// body converts the arguments and nested blocks of a body. Without a schema it
// has only arguments.
func body(b *program.Body, s *schema.Block) map[string]any {
	if b == nil || b.Body == nil {
		return nil
	}
	return convertBody(b.Body, s)
}

func convertBody(b hcl.Body, s *schema.Block) map[string]any {
	out := map[string]any{}
	if s == nil {
		// Blocks are an error for JustAttributes, but don't stop it.
		attributes, _ := b.JustAttributes()
		for name, a := range attributes {
			out[name] = convertHCL(a.Expr)
		}
		return out
	}
	// What is wrong with a body was reported when it was compiled.
	content, _, _ := b.PartialContent(bodySchema(s))
	if content == nil {
		return out
	}
	for name, a := range content.Attributes {
		out[name] = convertHCL(a.Expr)
	}
	for _, block := range content.Blocks {
		nested := s.Blocks[block.Type]
		switch {
		case nested == nil:
			// An attribute of objects that is written as blocks.
			appendBlock(out, block.Type, convertBody(block.Body, nil))
		case nested.Nesting == schema.Single || nested.Nesting == schema.Group:
			out[block.Type] = convertBody(block.Body, nested.Block)
		case nested.Nesting == schema.Map && len(block.Labels) > 0:
			all, _ := out[block.Type].(map[string]any)
			if all == nil {
				all = map[string]any{}
				out[block.Type] = all
			}
			all[block.Labels[0]] = convertBody(block.Body, nested.Block)
		default:
			appendBlock(out, block.Type, convertBody(block.Body, nested.Block))
		}
	}
	return out
}

func appendBlock(out map[string]any, name string, block map[string]any) {
	all, _ := out[name].([]any)
	out[name] = append(all, block)
}

func bodySchema(s *schema.Block) *hcl.BodySchema {
	var out hcl.BodySchema
	for _, name := range s.Names() {
		if nested := s.Blocks[name]; nested != nil {
			header := hcl.BlockHeaderSchema{Type: name}
			if nested.Nesting == schema.Map {
				header.LabelNames = []string{"key"}
			}
			out.Blocks = append(out.Blocks, header)
			continue
		}
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: name})
		ty := s.Attributes[name].Type
		if ty != cty.NilType && (ty.IsListType() || ty.IsSetType()) && ty.ElementType().IsObjectType() {
			out.Blocks = append(out.Blocks, hcl.BlockHeaderSchema{Type: name})
		}
	}
	return &out
}
