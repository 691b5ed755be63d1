package fake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
)

// A Type is a type of resource, data source, ephemeral resource, action or list. The
// functions are optional; those that aren't set behave as described in
// the methods of the same name with Default before it.
type Type struct {
	Schema *schema.Schema
	// Replace are attributes whose change replaces the object.
	Replace []string

	Validate func(config cty.Value) diag.List
	Upgrade  func(provider.UpgradeRequest) (cty.Value, diag.List)
	// UpgradeIdentity is given the stored identity and its version.
	UpgradeIdentity func(version int64, json []byte) (cty.Value, diag.List)

	Read   func(provider.ReadRequest) provider.ReadResponse
	Plan   func(provider.PlanRequest) provider.PlanResponse
	Apply  func(provider.ApplyRequest) provider.ApplyResponse
	Import func(provider.ImportRequest) provider.ImportResponse
	Move   func(provider.MoveRequest) provider.MoveResponse
	// Generate is given an object and returns its configuration.
	Generate func(object cty.Value) (cty.Value, diag.List)
	ReadData func(provider.ReadDataRequest) provider.ReadDataResponse
	Open     func(config cty.Value) provider.OpenResponse
	Renew    func(private []byte) provider.OpenResponse
	Close    func(private []byte) diag.List

	PlanAction func(config cty.Value) provider.PlanActionResponse
	Invoke     func(config cty.Value, progress func(string)) diag.List
	List       func(r provider.ListRequest, found func(provider.ListResult) bool) diag.List
}

// NewType makes a type. Each line is an attribute: its name, its type as in a
// variable block, and any of the words required, optional, computed,
// sensitive, writeonly and replace. Without the first three it is optional.
// Nested blocks are added to the Schema afterwards. A bad line panics.
func NewType(lines ...string) *Type {
	t := &Type{Schema: &schema.Schema{Block: &schema.Block{
		Attributes: map[string]*schema.Attribute{},
		Blocks:     map[string]*schema.NestedBlock{},
	}}}
	for _, line := range lines {
		words := strings.Fields(line)
		name, a := words[0], &schema.Attribute{}
		rest := words[1:]
		for len(rest) > 1 && t.flag(rest[len(rest)-1], name, a) {
			rest = rest[:len(rest)-1]
		}
		a.Optional = a.Optional || !a.Required && !a.Computed
		a.Type = parseType(strings.Join(rest, " "))
		t.Schema.Block.Attributes[name] = a
	}
	return t
}

func (t *Type) flag(word, name string, a *schema.Attribute) bool {
	switch word {
	case "required":
		a.Required = true
	case "optional":
		a.Optional = true
	case "computed":
		a.Computed = true
	case "sensitive":
		a.Sensitive = true
	case "writeonly":
		a.WriteOnly = true
	case "replace":
		t.Replace = append(t.Replace, name)
	default:
		return false
	}
	return true
}

func parseType(text string) cty.Type {
	expr, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if !diags.HasErrors() {
		var ty cty.Type
		if ty, diags = typeexpr.TypeConstraint(expr); !diags.HasErrors() {
			return ty
		}
	}
	panic(fmt.Sprintf("fake: %q isn't a type: %s", text, diags))
}

// unset lists the computed attributes that the configuration leaves to the
// provider.
func (t *Type) unset(config cty.Value) []string {
	var names []string
	for name, a := range t.Schema.Block.Attributes {
		if a.Computed && (config == cty.NilVal || config.IsNull() || config.GetAttr(name).IsNull()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// DefaultPlan plans computed attributes as unknown for new objects and leaves
// them as they are otherwise. Changes of Replace attributes need a
// replacement. Write-only attributes are null.
func (t *Type) DefaultPlan(r provider.PlanRequest) provider.PlanResponse {
	out := provider.PlanResponse{Planned: r.ProposedNew, Private: r.PriorPrivate}
	if r.ProposedNew.IsNull() {
		return out
	}
	v := r.ProposedNew.AsValueMap()
	for name, a := range t.Schema.Block.Attributes {
		if a.WriteOnly {
			v[name] = cty.NullVal(a.ImpliedType())
		}
	}
	if r.Prior.IsNull() {
		for _, name := range t.unset(r.Config) {
			v[name] = cty.UnknownVal(t.Schema.Block.Attributes[name].ImpliedType())
		}
	} else {
		for _, name := range t.Replace {
			if !r.Prior.GetAttr(name).RawEquals(v[name]) {
				out.RequiresReplace = append(out.RequiresReplace, cty.GetAttrPath(name))
			}
		}
	}
	out.Planned = cty.ObjectVal(v)
	return out
}

// DefaultApply does what is planned. The n-th object of the type gets "NAME-n"
// for unknown texts, so that its id is "id-n", and n for unknown numbers.
func (t *Type) DefaultApply(r provider.ApplyRequest, number func() int) provider.ApplyResponse {
	out := provider.ApplyResponse{New: r.Planned, Private: r.PlannedPrivate, Identity: r.PlannedIdentity}
	if !r.Planned.IsNull() && !r.Planned.IsWhollyKnown() {
		out.New = fill(r.Planned, number())
	}
	return out
}

// fill gives the unknown attributes of an object a value.
func fill(v cty.Value, n int) cty.Value {
	values := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		switch {
		case v.IsWhollyKnown():
		case v.Type() == cty.String:
			values[name] = cty.StringVal(fmt.Sprintf("%s-%d", name, n))
		case v.Type() == cty.Number:
			values[name] = cty.NumberIntVal(int64(n))
		case v.Type() == cty.Bool:
			values[name] = cty.True
		default:
			values[name] = cty.NullVal(v.Type())
		}
	}
	return cty.ObjectVal(values)
}

// DefaultReadData returns the configuration, with "NAME-1" and 1 for computed
// texts and numbers. Ephemeral resources open in the same way.
func (t *Type) DefaultReadData(config cty.Value) cty.Value {
	v := config.AsValueMap()
	if v == nil {
		v = map[string]cty.Value{}
	}
	for _, name := range t.unset(config) {
		v[name] = cty.UnknownVal(t.Schema.Block.Attributes[name].ImpliedType())
	}
	return fill(cty.ObjectVal(v), 1)
}
