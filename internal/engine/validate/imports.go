package validate

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// importBlock checks what an import block says of its target, as far as that is known
// without a state. A target without configuration is left to the plan, which can
// generate some.
func (h *host) importBlock(t *promise.Task, f *eval.Frame, im *program.Import) {
	target := f.Program.ResourceByName[im.To.Name]
	if im.To.Module != addr.Root {
		target = nil
	}
	ok := target == nil || t.Report(readsTarget(im, target)...)
	schemas, _ := h.Pool.Schemas(importProvider(im, target)) // reported for the resource
	if !ok || schemas == nil {
		return
	}
	sch := schemas.Resource(addr.Managed, im.To.Name.Type)
	if sch == nil {
		return
	}
	all := []*eval.Each{nil}
	if im.ForEach != nil {
		v, ok := eval.Evaluate(t, im.ForEach, f.Context(t, nil, cty.NilVal))
		if !ok {
			return
		}
		each, known, diags := eval.ImportEach(v, im.ForEach)
		if !t.Report(diags...) || !known {
			return
		}
		all = each
	}
	for _, each := range all {
		_, ok := resourceconfig.ImportNameOf(t, im, f, each, sch)
		if !ok || target != nil && !targetKey(t, f, im, each, target) {
			return // one instance stands for all that are wrong in the same way
		}
	}
}

func importProvider(im *program.Import, target *program.Resource) addr.Provider {
	if target != nil {
		return target.Provider.Provider
	}
	return im.Provider.Provider
}

// readsTarget reports arguments that read the object that they are to import.
func readsTarget(im *program.Import, target *program.Resource) diag.List {
	var diags diag.List
	for _, expr := range []*program.Expr{im.ForEach, im.ID, im.Identity} {
		if expr == nil {
			continue
		}
		for _, ref := range expr.Refs {
			if ref.Kind == program.RefResource && ref.Resource == target && ref.Key == nil {
				diags.Add(diag.BadImport.As("Invalid import argument").Error(ref.Range, "The block imports %s, so its arguments can't refer to that resource: nothing is known of it before.", target.Name))
				return diags
			}
		}
	}
	return diags
}

// targetKey holds the key of a target against the repetition of the resource.
func targetKey(t *promise.Task, f *eval.Frame, im *program.Import, each *eval.Each, target *program.Resource) (ok bool) {
	wrong := diag.BadImport.As("Invalid import 'to' expression")
	at, key := im.Range, addr.NoKey
	if im.ToKey != nil {
		v, ok := eval.Evaluate(t, im.ToKey, f.Context(t, each, cty.NilVal))
		if !ok || !v.IsWhollyKnown() {
			return ok
		}
		k, err := eval.KeyOf(v)
		at, key = im.ToKey.Range(), k
		if err != nil {
			return t.Report(wrong.Error(at, "The instance key of the target is unsuitable: %s.", err))
		}
	}
	_, number := key.Int()
	_, text := key.Str()
	switch {
	case text && target.Repeat.ForEach == nil:
		return t.Report(wrong.Error(at, "The key of the target is a string, and %s doesn't use for_each.", target.Name))
	case number && target.Repeat.Count == nil:
		return t.Report(wrong.Error(at, "The key of the target is a number, and %s doesn't use count.", target.Name))
	case !text && !number && !target.Repeat.IsSingle():
		return t.Report(wrong.Error(at, "%s has several instances. Name one of them with its key, as in %s[…].", target.Name, target.Name))
	}
	return true
}
