package resourceconfig

import (
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/resource/contract"
)

// An ImportName names an object that an import block imports. Exactly one field is set,
// and it isn't wholly known where it depends on what an apply makes.
type ImportName struct {
	ID       cty.Value // a string
	Identity cty.Value
}

// ImportNameOf evaluates what an import block names for one of its instances. sch is the
// schema of the target.
func ImportNameOf(t *promise.Task, im *program.Import, f *eval.Frame, each *eval.Each, sch *schema.Schema) (ImportName, bool) {
	wrong := diag.BadImport.As("Invalid import id argument")
	expr := im.ID
	if expr == nil {
		expr = im.Identity
	}
	v, ok := eval.Evaluate(t, expr, f.Context(t, each, cty.NilVal))
	if !ok {
		return ImportName{}, false
	}
	v, marks := v.UnmarkDeep()
	switch {
	case value.HiddenMarks(marks):
		return ImportName{}, t.Report(wrong.Error(expr.Range(), "The import ID must not be sensitive or ephemeral, since it is shown in the plan."))
	case v.IsNull():
		return ImportName{}, t.Report(wrong.Error(expr.Range(), "The import ID cannot be null."))
	}
	if im.ID == nil {
		identity, diags := importIdentity(v, im, sch)
		return ImportName{Identity: identity}, t.Report(diags...)
	}
	id, err := value.Convert(v, cty.String)
	switch {
	case err != nil:
		return ImportName{}, t.Report(wrong.Error(expr.Range(), "The import ID value is unsuitable: %s.", value.ErrorString("", err)))
	case id.IsKnown() && id.AsString() == "":
		return ImportName{}, t.Report(wrong.Error(expr.Range(), "The import ID value evaluates to an empty string, please provide a non-empty value."))
	}
	return ImportName{ID: id}, true
}

// importIdentity converts the identity to the type that the schema declares.
func importIdentity(v cty.Value, im *program.Import, sch *schema.Schema) (cty.Value, diag.List) {
	var diags diag.List
	wrong := diag.BadImport.As("Invalid import identity argument")
	if sch.Identity == nil {
		diags.Add(wrong.Error(im.Identity.Range(), "The resource type %s has no identity; use the id argument instead.", im.To.Name.Type))
		return cty.NilVal, diags
	}
	identity, err := value.Convert(v, sch.Identity.DecodeType())
	if err == nil {
		identity, err = value.Convert(identity, sch.Identity.ElementType())
	}
	if err == nil && identity.IsWhollyKnown() {
		if errs := contract.Identity(sch.Identity, identity, false); len(errs) > 0 {
			err = errs[0]
		}
	}
	if err != nil {
		diags.Add(wrong.Error(im.Identity.Range(), "The identity isn't suitable for %s: %s.", im.To.Name.Type, value.ErrorString("", err)))
	}
	return identity, diags
}
