package builtin

import (
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
)

const dataType = "terraform_data"

var dataBlock = sync.OnceValue(func() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"input":            {Type: cty.DynamicPseudoType, Optional: true},
		"output":           {Type: cty.DynamicPseudoType, Computed: true},
		"triggers_replace": {Type: cty.DynamicPseudoType, Optional: true},
		"id":               {Type: cty.String, Computed: true},
	}}
})

func validateData(config cty.Value) diag.List {
	var diags diag.List
	if config.IsNull() {
		return nil
	}
	for _, name := range []string{"id", "output"} {
		if !config.GetAttr(name).IsNull() {
			diags.Add(readOnly(name, cty.GetAttrPath(name)))
		}
	}
	return append(diags, validateStore(config)...)
}

func readOnly(name string, at cty.Path) diag.Diagnostic {
	return diag.Diagnostic{
		Code: diag.Unsupported.Name, Summary: `"` + name + `" attribute is read-only`, Path: at,
		Detail: "It has a value once the resource exists. Remove it from the configuration.",
	}
}

// upgradeData decodes a stored object. Attributes that only other versions
// have, such as the store where it isn't declared, are dropped.
func (b *builtin) upgradeData(r provider.UpgradeRequest) (cty.Value, diag.List) {
	v, err := decode(r.JSON, b.options.data())
	if err != nil {
		var diags diag.List
		diags.Add(diag.StateUnreadable.As("Invalid stored object").New(diag.Error, "The stored %s can't be decoded: %s.", dataType, err))
		return cty.NilVal, diags
	}
	return v, nil
}

func decode(stored []byte, b *schema.Block) (cty.Value, error) {
	ty := b.ImpliedType()
	v, err := value.FromJSON(stored, ty)
	if err != nil {
		return value.FromJSON(contract.StripUnknownAttributes(stored, ty), ty)
	}
	return v, nil
}

// planData plans like any provider would: id is made when the object is, and
// output follows input whenever that changes.
func planData(r provider.PlanRequest) provider.PlanResponse {
	if r.ProposedNew.IsNull() {
		return provider.PlanResponse{Planned: r.ProposedNew, Private: r.PriorPrivate}
	}
	planned := value.Attributes(r.ProposedNew)
	input := planned["input"]
	response := provider.PlanResponse{Private: r.PriorPrivate}
	_, changed := planned["store"]
	create := func() {
		changed = true
		planned["id"] = cty.UnknownVal(cty.String).RefineNotNull()
		planned["output"] = input
		if !input.IsNull() {
			// The output of a null is a null of the same type, known already.
			planned["output"] = cty.UnknownVal(input.Type())
		}
	}
	switch {
	case r.Prior.IsNull():
		create()
	case !r.Prior.GetAttr("triggers_replace").RawEquals(planned["triggers_replace"]):
		response.RequiresReplace = []cty.Path{cty.GetAttrPath("triggers_replace")}
		create()
	case !r.Prior.GetAttr("input").RawEquals(input):
		changed = true
		planned["output"] = cty.UnknownVal(input.Type())
	}
	if !changed {
		response.Planned = r.ProposedNew
		return response
	}
	planStore(r, planned, &response)
	response.Planned = cty.ObjectVal(planned)
	return response
}

func (b *builtin) applyData(r provider.ApplyRequest) provider.ApplyResponse {
	response := provider.ApplyResponse{New: r.Planned, Private: r.PlannedPrivate}
	if r.Planned.IsNull() {
		return response
	}
	v := r.Planned.AsValueMap()
	if !v["output"].IsKnown() {
		v["output"] = v["input"]
	}
	if !v["id"].IsKnown() {
		v["id"] = cty.StringVal(b.options.NewID())
	}
	applyStore(r, v)
	response.New = cty.ObjectVal(v)
	return response
}

// importData knows the id only; the next apply stores the rest.
func (b *builtin) importData(r provider.ImportRequest) provider.ImportResponse {
	v := b.options.data().EmptyValue().AsValueMap()
	v["id"] = cty.StringVal(r.ID)
	return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: dataType, State: cty.ObjectVal(v)}}}
}

// nullBlock is what is taken over of a null_resource.
func nullBlock() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"triggers": {Type: cty.Map(cty.String), Optional: true},
		"id":       {Type: cty.String, Computed: true},
	}}
}

// moveToData makes a terraform_data of a null_resource, whose triggers become
// triggers_replace.
func (b *builtin) moveToData(r provider.MoveRequest) provider.MoveResponse {
	var diags diag.List
	if r.SourceType != "null_resource" || r.TargetType != dataType {
		diags.Add(provider.Lacking.As("Unsupported move").New(diag.Error, "unsupported move: %s -> %s; only move from null_resource to terraform_data is supported. Remove the moved block.", r.SourceType, r.TargetType))
		return provider.MoveResponse{Diags: diags}
	}
	old, err := decode(r.SourceJSON, nullBlock())
	if err != nil {
		diags.Add(diag.StateUnreadable.As("Invalid stored object").New(diag.Error, "The stored null_resource can't be decoded: %s.", err))
		return provider.MoveResponse{Diags: diags}
	}
	v := b.options.data().EmptyValue().AsValueMap()
	if triggers := old.GetAttr("triggers"); !triggers.IsNull() {
		v["triggers_replace"] = cty.ObjectVal(triggers.AsValueMap())
	}
	v["id"] = old.GetAttr("id")
	return provider.MoveResponse{Target: cty.ObjectVal(v), Private: r.SourcePrivate}
}
