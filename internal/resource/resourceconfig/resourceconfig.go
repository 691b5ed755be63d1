// Package resourceconfig reads the configuration of one instance of a resource or action, and
// marks its values.
//
// It owns what is the same for objects and actions, in plans and applies. It doesn't know
// states, or call providers.
package resourceconfig

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/contract"
)

// UnsupportedType says that a provider doesn't have a type.
var UnsupportedType = diag.Code{Name: "unsupported-resource-type", Summary: "Invalid resource type"}

// A Config is the configuration of an instance, taken apart: the value
// without marks, and the paths of its sensitive parts.
type Config struct {
	Value     cty.Value
	Sensitive []cty.Path
}

// Configure evaluates the configuration of an instance against its
// schema and takes the marks off.
func Configure(t *promise.Task, i *eval.Instance, sch *schema.Schema) (Config, bool) {
	return ForCaller(t, i, sch, cty.NilVal)
}

// ForCaller is Configure for an action. caller is the value of the instance around
// whose change it is invoked, NilVal without.
func ForCaller(t *promise.Task, i *eval.Instance, sch *schema.Schema, caller cty.Value) (Config, bool) {
	before := t.Failures()
	ctx := i.Context(t, caller)
	v, hd := sch.Block.Decode(i.Resource.Config.Body, ctx)
	if hd.HasErrors() {
		arguments, blocks := program.Meta(i.Addr.Name.Mode)
		schema.ProposeBeside(hd, i.Resource.Config.Body, arguments, blocks)
	}
	if !t.Report(eval.Diagnostics(hd)...) {
		return Config{Value: cty.DynamicVal}, false
	}
	unmarked, pvms := value.UnmarkDeepPaths(v)
	if len(i.Resource.Config.Refs) > 0 && !value.WhollyKnown(unmarked) {
		eval.Complete(t, i.Resource.Config.Refs, ctx)
	}
	for _, pvm := range pvms {
		if _, ok := pvm.Marks[value.Ephemeral]; !ok || i.Addr.Name.Mode == addr.Ephemeral {
			continue
		}
		if a := contract.AttributeAt(sch.Block, pvm.Path); a == nil || !a.WriteOnly {
			t.Report(diag.Ephemeral.Error(schema.FindRange(i.Resource.Config.Body, pvm.Path), "Ephemeral values are not valid for %q, because it is not a write-only attribute and must be persisted to state.", value.PathName(pvm.Path)))
		}
	}
	if path, found := value.Unwritable(unmarked); found {
		t.Report(eval.NumberStored.Error(schema.FindRange(i.Resource.Config.Body, path), "The value of %q is infinite or has too many digits to be written to a plan or state. Check the calculation that it comes from.", value.PathName(path)))
	}
	if known := i.Frame.Evaluator().Facts.Secrets; known != nil && (len(pvms) > 0 || sch.Block.HasSensitive()) {
		known.AddMarked(sch.Block.MarkSensitive(v))
	}
	return Config{unmarked, value.PathsMarked(pvms, value.Sensitive)}, t.Failures() == before
}

// SensitiveArguments are the paths of what is sensitive in the configuration of an instance,
// as far as that can be known: problems are nobody's.
func SensitiveArguments(t *promise.Task, i *eval.Instance, sch *schema.Schema) []cty.Path {
	var paths []cty.Path
	t.Try(func(t *promise.Task) {
		v, _ := sch.Block.Decode(i.Resource.Config.Body, i.Context(t, cty.NilVal))
		paths = SensitivePaths(v)
	})
	return paths
}

// SensitivePaths are the paths of the sensitive parts of a value.
func SensitivePaths(v cty.Value) []cty.Path {
	if !value.ContainsMarked(v) {
		return nil
	}
	_, pvms := value.UnmarkDeepPaths(v)
	paths := value.PathsMarked(pvms, value.Sensitive)
	value.SortPaths(paths)
	return paths
}

// MarkPaths makes the parts at the paths sensitive.
func MarkPaths(v cty.Value, sensitive []cty.Path) cty.Value {
	pvms := make([]cty.PathValueMarks, len(sensitive))
	for i, p := range sensitive {
		pvms[i] = cty.PathValueMarks{Path: p, Marks: cty.NewValueMarks(value.Sensitive)}
	}
	return value.MarkPaths(v, pvms)
}

// Unsupported is the problem that a provider doesn't have a type.
func Unsupported(where hcl.Range, p addr.Provider, name addr.Name, have *provider.Schemas) diag.List {
	var diags diag.List
	summary, kind, all := "Invalid resource type", "resource", have.Resources
	switch name.Mode {
	case addr.Data:
		summary, kind, all = "Invalid data source", "data source", have.DataSources
	case addr.Ephemeral:
		summary, kind, all = "Invalid ephemeral resource", "ephemeral resource", have.Ephemerals
	case addr.Action:
		summary, kind, all = "Invalid action", "action", have.Actions
	case addr.List:
		summary, kind, all = "Invalid list resource", "list resource", have.Lists
	}
	hint := eval.Suggestion(name.Type, slices.Collect(maps.Keys(all)))
	for _, other := range []struct {
		block string
		types provider.Types
	}{{"resource", have.Resources}, {"data", have.DataSources}, {"ephemeral", have.Ephemerals}, {"action", have.Actions}} {
		if other.types[name.Type] != nil && name.Mode != addr.List {
			hint = fmt.Sprintf(" It has %q for blocks of the type %q: write %s %q %q.", name.Type, other.block, other.block, name.Type, name.Name)
			break
		}
	}
	diags.Add(UnsupportedType.As(summary).Error(where, "The provider %s does not support %s type %q.%s", p.ForDisplay(), kind, name.Type, hint))
	return diags
}

// Kept is the configuration of an action as plans keep it: with marks, and without what
// is only there while it is invoked.
func (c Config) Kept(sch *schema.Schema) cty.Value {
	return sch.Block.MarkSensitive(MarkPaths(contract.StripWriteOnly(sch.Block, c.Value), c.Sensitive))
}

// Wanted evaluates the condition of a trigger of an instance: it is true without one, and
// unknown where it can't be known yet.
func Wanted(t *promise.Task, i *eval.Instance, of *program.Trigger) (cty.Value, bool) {
	if of.Condition == nil {
		return cty.True, true
	}
	v, ok := eval.Evaluate(t, of.Condition, i.Context(t, cty.NilVal))
	if !ok {
		return cty.UnknownVal(cty.Bool), false
	}
	v, marks := v.Unmark()
	wanted, err := convert.Convert(v, cty.Bool)
	wrong := diag.BadCondition.As("Invalid condition expression")
	switch {
	case err != nil:
		ok = t.Report(wrong.Error(of.Condition.Range(), "Whether actions are invoked has to be true or false: %s.", value.ErrorString("", err)))
	case wanted.IsKnown() && wanted.IsNull():
		ok = t.Report(wrong.Error(of.Condition.Range(), "Whether actions are invoked has to be true or false, and this is null."))
	case value.HiddenMarks(marks):
		ok = t.Report(wrong.Error(of.Condition.Range(), "Whether actions are invoked is seen in the plan, so it can't follow from a sensitive or ephemeral value."))
	default:
		return wanted, true
	}
	return cty.UnknownVal(cty.Bool), ok
}
