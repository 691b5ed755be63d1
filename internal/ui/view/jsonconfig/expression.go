package jsonconfig

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
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

// repetition converts a repetition argument, which is left out where there is
// nothing to say of it.
func repetition(e *program.Expr) *expression {
	if out := convert(e); out != nil && (out.Constant != nil || out.References != nil) {
		return out
	}
	return nil
}

// convertHCL converts an expression. One that refers to something can be
// constant all the same, where what refers to it is never evaluated.
func convertHCL(e hcl.Expression) *expression {
	out := &expression{References: references(e)}
	if v, ok := constant(e); ok {
		if raw, err := ctyjson.Marshal(v, v.Type()); err == nil {
			out.Constant = raw
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
// its shorter forms down to what it names, as often as it is written, and then
// the providers' functions that it calls.
func references(e hcl.Expression) []string {
	var out []string
	if blocks, ok := e.(interface{ Expressions() []hcl.Expression }); ok {
		for _, part := range blocks.Expressions() {
			out = append(out, references(part)...)
		}
		return out
	}
	for _, ref := range program.References(e) {
		names, rest := subject(ref)
		forms := make([]string, 0, len(rest))
		text := names[0]
		for _, step := range rest {
			text += stepText(step)
			forms = append(forms, text)
		}
		slices.Reverse(forms)
		out = append(append(out, forms...), names...)
	}
	return append(out, program.ProviderCalls(e)...)
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
		name := r.Call.Call.String()
		if r.Attr != "" && known {
			return []string{name + key + "." + r.Attr, name + key}, rest
		}
		return withKey(name, key), rest
	case program.RefCount:
		return []string{"count." + r.Attr}, rest
	case program.RefEach:
		return []string{"each." + r.Attr}, rest
	case program.RefPath:
		return []string{"path." + r.Attr}, rest
	case program.RefTerraform:
		// The object has two names; what is shown is the one that was written.
		root, _, _ := strings.Cut(r.Text, ".")
		return []string{root + "." + r.Attr}, rest
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
	content := s.Content(b)
	for name, a := range content.Attributes {
		out[name] = convertHCL(a.Expr)
	}
	for _, block := range content.Blocks {
		nested := s.Blocks[block.Type]
		switch {
		case nested == nil:
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
			all, _ := out[block.Type].([]any)
			out[block.Type] = append(all, convertBody(block.Body, nested.Block))
		}
	}
	return out
}
