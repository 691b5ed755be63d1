package validate

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/providerclient"
)

// references checks the attributes that references to resources name, whether
// anything evaluates them or not.
func (h *host) references(p *program.Program) diag.List {
	var diags diag.List
	for _, ref := range p.AttributeReads {
		if ref.Lenient {
			continue
		}
		name := ref.Resource.Name
		schemas, problems := h.Pool.Schemas(ref.Resource.Provider.Provider)
		if problems.HasErrors() {
			continue // reported for the resource itself
		}
		if name.Mode == addr.List {
			diags.Append(found(ref, schemas))
		} else if sch := schemas.Resource(name.Mode, name.Type); sch != nil {
			diags.Append(attribute(ref.Rest, cty.UnknownVal(sch.Block.ImpliedType())))
		}
	}
	return diags
}

// metas rejects provider_meta blocks for providers that take none, where objects of theirs are
// configured.
func (h *host) metas(p *program.Program) diag.List {
	var diags diag.List
	for _, local := range slices.Sorted(maps.Keys(p.ProviderMeta)) {
		req := p.Requirements[local]
		if req == nil || !slices.ContainsFunc(p.Resources, func(r *program.Resource) bool { return r.Provider.Provider == req.Provider }) {
			continue
		}
		schemas, problems := h.Pool.Schemas(req.Provider)
		if !problems.HasErrors() && schemas.Meta == nil {
			diags.Add(providerclient.BadConfiguration.As("Unsupported provider_meta block").Error(p.ProviderMeta[local].Range, "The provider %s takes no provider_meta. Remove the block.", req.Provider.ForDisplay()))
		}
	}
	return diags
}

// listed is what references to a list resource see before it was asked: how many objects
// there are, nobody knows.
func listed() cty.Value {
	return cty.UnknownVal(cty.Object(map[string]cty.Type{"data": cty.DynamicPseudoType}))
}

// found checks the path that a reference to a list resource has: first to an object in
// data, then within that.
func found(ref *program.Ref, schemas *provider.Schemas) diag.List {
	ty := schemas.Found(ref.Resource.Name.Type)
	if diags := attribute(ref.Rest, listed()); len(diags) > 0 || len(ref.Rest) < 3 || ty == cty.NilType {
		return diags
	}
	if _, ok := ref.Rest[1].(hcl.TraverseIndex); !ok {
		return nil // reported by the evaluation
	}
	return attribute(ref.Rest[2:], cty.UnknownVal(ty))
}

// attribute checks the path that a reference has behind the object.
func attribute(rest hcl.Traversal, object cty.Value) diag.List {
	_, hd := eval.Follow(rest, object)
	if !hd.HasErrors() {
		return nil
	}
	step, ok := rest[0].(hcl.TraverseAttr)
	if !ok || object.Type().HasAttribute(step.Name) {
		return diag.FromHCL(diag.Expression, hd)
	}
	var names []string
	for name := range object.Type().AttributeTypes() {
		names = append(names, name)
	}
	var diags diag.List
	diags.Add(diag.NoAttribute.Error(step.SrcRange, "This object has no argument, nested block, or exported attribute named %s.%s", addr.Quote(step.Name), eval.Suggestion(step.Name, names)))
	return diags
}

// merged leaves out of the problems that the evaluation has found those that references have
// reported already, but for the values that it knows.
func merged(found, references diag.List) diag.List {
	found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
		i := slices.IndexFunc(references, func(r diag.Diagnostic) bool {
			return d.Subject != nil && r.Alike(d) && r.Subject != nil && r.Subject.Overlaps(*d.Subject)
		})
		if i >= 0 && references[i].Values == nil {
			references[i].Values = d.Values
		}
		return i >= 0
	})
	return append(found, references...)
}
