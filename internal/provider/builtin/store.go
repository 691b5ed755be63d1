package builtin

import (
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
)

// storing is a terraform_data that can have a store: a write-only value that is kept as
// what it was when its version changed. It isn't stored while it is null, because engines
// that don't know it can't read such objects.
var storing = sync.OnceValue(func() *schema.Block {
	b := &schema.Block{Attributes: dataBlock().Attributes, Unwritten: []string{"store"}}
	b.Blocks = map[string]*schema.NestedBlock{"store": {Nesting: schema.Single, Block: &schema.Block{Attributes: map[string]*schema.Attribute{
		"input":            {Type: cty.DynamicPseudoType, Optional: true, WriteOnly: true},
		"output":           {Type: cty.DynamicPseudoType, Computed: true},
		"sensitive_output": {Type: cty.DynamicPseudoType, Computed: true, Sensitive: true},
		"version":          {Type: cty.DynamicPseudoType, Optional: true},
		"sensitive":        {Type: cty.Bool, Optional: true},
		"replace":          {Type: cty.Bool, Optional: true},
	}}}}
	return b
})

// storeOf is the store of an object, null where it has none.
func storeOf(v cty.Value) cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.Type().HasAttribute("store") {
		return cty.NullVal(cty.EmptyObject)
	}
	return v.GetAttr("store")
}

func validateStore(config cty.Value) diag.List {
	var diags diag.List
	if store := storeOf(config); !store.IsNull() {
		for _, name := range []string{"output", "sensitive_output"} {
			if !store.GetAttr(name).IsNull() {
				diags.Add(readOnly(name, cty.GetAttrPath("store").GetAttr(name)))
			}
		}
	}
	return diags
}

// planStore plans the store of an object, if it has one: what it keeps becomes unknown
// where the version has changed, or without a version where it isn't the input.
func planStore(r provider.PlanRequest, planned map[string]cty.Value, response *provider.PlanResponse) {
	store := planned["store"]
	if store == cty.NilVal || store.IsNull() {
		return
	}
	m, input := store.AsValueMap(), storeOf(r.Config).GetAttr("input")
	for _, name := range []string{"sensitive", "replace"} {
		if !m[name].IsKnown() {
			response.Diags.Add(diag.Diagnostic{
				Code: diag.Unsuitable.Name, Summary: "Unsuitable value", Path: cty.GetAttrPath("store").GetAttr(name),
				Detail: "Whether " + name + " is true has to be known while planning.",
			})
			return
		}
	}
	nothing := cty.NullVal(cty.DynamicPseudoType)
	kept, version := nothing, nothing
	if prior := storeOf(r.Prior); !prior.IsNull() {
		version, kept = prior.GetAttr("version"), prior.GetAttr("output")
		if secret := prior.GetAttr("sensitive_output"); !secret.IsNull() {
			kept = secret
		}
	}
	switch {
	case input.IsNull() && kept.IsNull():
		kept = cty.NullVal(input.Type())
	case !m["version"].IsNull():
		if !m["version"].RawEquals(version) {
			kept = cty.UnknownVal(input.Type())
		}
	case !kept.RawEquals(input):
		kept = cty.UnknownVal(input.Type())
	}
	m["input"], m["output"], m["sensitive_output"] = nothing, kept, nothing
	if m["sensitive"].RawEquals(cty.True) {
		m["output"], m["sensitive_output"] = nothing, kept
	}
	if m["replace"].RawEquals(cty.True) && !kept.IsKnown() {
		planned["id"] = cty.UnknownVal(cty.String).RefineNotNull()
		response.RequiresReplace = append(response.RequiresReplace, cty.GetAttrPath("store").GetAttr("input"))
	}
	planned["store"] = cty.ObjectVal(m)
}

// applyStore takes the input from the configuration where the plan has something unknown.
func applyStore(r provider.ApplyRequest, v map[string]cty.Value) {
	store := v["store"]
	if store == cty.NilVal || store.IsNull() {
		return
	}
	m := store.AsValueMap()
	for _, name := range []string{"output", "sensitive_output"} {
		if !m[name].IsKnown() {
			m[name] = storeOf(r.Config).GetAttr("input")
		}
	}
	v["store"] = cty.ObjectVal(m)
}
