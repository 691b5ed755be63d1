// Package instance reads the configuration of resource instances for whoever
// plans or applies them, and puts marks on their values.
//
// It owns what is the same in both phases. It refuses to call providers.
package instance

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/object/checks"
	"weir.dev/weir/internal/object/conform"
	"weir.dev/weir/internal/object/connect"
	"weir.dev/weir/internal/object/lifecycle"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/promise"
	"weir.dev/weir/internal/word/schema"
	"weir.dev/weir/internal/word/value"
)

// A Config is the configuration of an instance, taken apart: the value
// without marks, and the paths of its sensitive parts.
type Config struct {
	Value     cty.Value
	Sensitive []cty.Path
}

// Configure evaluates the configuration of an instance against its
// schema and takes the marks off.
func Configure(t *promise.Task, i *eval.Instance, sch *schema.Schema) (Config, diag.List) {
	ctx := i.Context(t, cty.NilVal)
	v, hd := sch.Block.Decode(i.Resource.Config.Body, ctx)
	diags := eval.Diagnostics(hd)
	if diags.HasErrors() {
		t.Fail()
		return Config{Value: cty.DynamicVal}, diags
	}
	unmarked, pvms := value.UnmarkDeepPaths(v)
	if len(i.Resource.Config.Refs) > 0 && !value.WhollyKnown(unmarked) {
		eval.Complete(t, i.Resource.Config.Refs, ctx)
	}
	for _, pvm := range pvms {
		if _, ok := pvm.Marks[value.Ephemeral]; !ok || i.Addr.Name.Mode == addr.Ephemeral {
			continue
		}
		if a := conform.AttributeAt(sch.Block, pvm.Path); a == nil || !a.WriteOnly {
			diags.Add(diag.Ephemeral.Error(schema.FindRange(i.Resource.Config.Body, pvm.Path), "Ephemeral values are not valid for %q, because it is not a write-only attribute and must be persisted to state.", value.PathName(pvm.Path)))
			t.Fail()
		}
	}
	if path, found := value.Unwritable(unmarked); found {
		diags.Add(eval.NumberStored.Error(schema.FindRange(i.Resource.Config.Body, path), "The value of %q is infinite or has too many digits to be written to a plan or state. Check the calculation that it comes from.", value.PathName(path)))
		t.Fail()
	}
	if known := i.Frame.Evaluator().Facts.Secrets; known != nil && (len(pvms) > 0 || sch.Block.HasSensitive()) {
		known.AddMarked(sch.Block.MarkSensitive(v))
	}
	return Config{unmarked, value.PathsMarked(pvms, value.Sensitive)}, diags
}

// SensitiveArguments are the paths of what is sensitive in the configuration of
// an instance, as far as that can be told: problems are nobody's.
func SensitiveArguments(t *promise.Task, i *eval.Instance, sch *schema.Schema) []cty.Path {
	var paths []cty.Path
	t.Try(func(t *promise.Task) {
		v, _ := sch.Block.Decode(i.Resource.Config.Body, i.Context(t, cty.NilVal))
		paths = SensitivePaths(v)
	})
	return paths
}

// Sensitive is what is sensitive of an object that is to be as configured:
// where changes are ignored what is sensitive already, and elsewhere what the
// configuration says. stored is what is changed, nil for nothing; for what takes
// the place of a tainted object nothing is ignored.
func Sensitive(res *program.Resource, stored *state.Object, config Config) []cty.Path {
	if stored == nil || stored.Tainted || !res.IgnoreAll && len(res.IgnoreChanges) == 0 {
		return config.Sensitive
	}
	if res.IgnoreAll {
		return stored.Sensitive
	}
	ignored := func(p cty.Path) bool {
		return slices.ContainsFunc(program.Paths(res.IgnoreChanges), p.HasPrefix)
	}
	var list []cty.Path
	for _, p := range config.Sensitive {
		if !ignored(p) {
			list = append(list, p)
		}
	}
	for _, p := range stored.Sensitive {
		if ignored(p) {
			list = append(list, p)
		}
	}
	return list
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

// SamePaths compares two sorted lists.
func SamePaths(a, b []cty.Path) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equals(b[i]) {
			return false
		}
	}
	return true
}

// Marked is a value with the marks that its schema and its stored form, nil
// for none, give.
func Marked(sch *schema.Schema, v cty.Value, stored *state.Object) cty.Value {
	if stored != nil && len(stored.Sensitive) > 0 {
		v = MarkPaths(v, stored.Sensitive)
	}
	return sch.Block.MarkSensitive(v)
}

// MarkPaths makes the parts at the paths sensitive.
func MarkPaths(v cty.Value, sensitive []cty.Path) cty.Value {
	pvms := make([]cty.PathValueMarks, len(sensitive))
	for i, p := range sensitive {
		pvms[i] = cty.PathValueMarks{Path: p, Marks: cty.NewValueMarks(value.Sensitive)}
	}
	return value.MarkPaths(v, pvms)
}

// Identify returns the attribute that names the object for people, which isn't
// sensitive: by its schema, by the given paths, or by its marks.
func Identify(v cty.Value, b *schema.Block, sensitive []cty.Path) (key, text string) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return "", ""
	}
	for _, name := range []string{"id", "name"} {
		if !v.Type().IsObjectType() || !v.Type().HasAttribute(name) {
			continue
		}
		if a := b.Attributes[name]; a != nil && a.Sensitive || slices.ContainsFunc(sensitive, cty.GetAttrPath(name).Equals) {
			continue
		}
		a, marks := v.GetAttr(name).Unmark()
		if len(marks) == 0 && a.Type() == cty.String && a.IsKnown() && !a.IsNull() {
			return name, a.AsString()
		}
	}
	return "", ""
}

// Checked is the instance among those that have conditions.
func Checked(i *eval.Instance) checks.Subject {
	return checks.Subject{Kind: "resource", Address: i.Addr.Resource.Erase().String(), Instance: i.Addr.String()}
}

// Conditions evaluates the pre- or postconditions of an instance and adds
// their outcomes to the set. One that doesn't hold is an error, or a warning
// where the caller goes on regardless.
func Conditions(t *promise.Task, i *eval.Instance, list []*program.Condition, self cty.Value, summary string, severity diag.Severity, set *checks.Set) diag.List {
	if len(list) == 0 {
		return nil
	}
	var diags diag.List
	var outcomes []eval.Outcome
	ctx := i.Context(t, self)
	for _, c := range list {
		o := eval.CheckCondition(t, c, ctx)
		outcomes = append(outcomes, o)
		diags.Append(o.Diags)
		if o.Status == eval.Fail {
			problem := o.Problem(eval.Unmet.As(summary), c)
			problem.Severity = severity
			problem.Unmet = &diag.Checkable{Kind: "resource", Address: i.Addr.Resource.Erase().String(), Instance: i.Addr.String()}
			diags.Add(problem)
		}
	}
	set.Add(Checked(i), len(i.Resource.Preconditions)+len(i.Resource.Postconditions), outcomes)
	if diags.HasErrors() {
		t.Fail()
	}
	return diags
}

// Subject puts together what the lifecycle needs, provider_meta of the
// instance's module included; f is nil for an object without configuration.
func Subject(t *promise.Task, a addr.Instance, conn *connect.Conn, sch *schema.Schema, f *eval.Frame) (lifecycle.Subject, diag.List) {
	s := lifecycle.Subject{Addr: a, Provider: conn.Provider, Source: conn.Addr.Provider, Schema: sch}
	var diags diag.List
	if conn.Schemas.Meta == nil || f == nil {
		return s, diags
	}
	for local, body := range f.Program.ProviderMeta {
		if req := f.Program.Requirements[local]; req != nil && req.Provider == s.Source {
			v, hd := conn.Schemas.Meta.Block.Decode(body.Body, f.Context(t, nil, cty.NilVal))
			diags.Append(eval.Diagnostics(hd))
			s.Meta, _ = v.UnmarkDeep()
		}
	}
	return s, diags
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
	}
	hint := eval.Suggestion(name.Type, slices.Collect(maps.Keys(all)))
	for _, other := range []struct {
		block string
		types provider.Types
	}{{"resource", have.Resources}, {"data", have.DataSources}, {"ephemeral", have.Ephemerals}} {
		if other.types[name.Type] != nil {
			hint = fmt.Sprintf(" It has %q for blocks of the type %q: write %s %q %q.", name.Type, other.block, other.block, name.Type, name.Name)
			break
		}
	}
	diags.Add(UnsupportedType.As(summary).Error(where, "The provider %s does not support %s type %q.%s", p.ForDisplay(), kind, name.Type, hint))
	return diags
}

// CheckPaths reports arguments of ignore_changes that name nothing, and warns of
// those that nobody can configure.
func CheckPaths(sch *schema.Schema, r *program.Resource) diag.List {
	var diags diag.List
	for _, traversal := range r.IgnoreChanges {
		if _, hd := eval.Follow(traversal, cty.UnknownVal(sch.Block.ImpliedType())); hd.HasErrors() {
			diags.Append(diag.FromHCL(diag.NoAttribute, hd))
			continue
		}
		path := program.Path(traversal)
		if a := conform.AttributeAt(sch.Block, path); a != nil && a.Computed && !a.Optional {
			diags.Add(RedundantIgnore.Warning(traversal.SourceRange(), "ignore_changes keeps what was configured when the object was made. The provider alone decides about %s, which has no configured value, so naming it here has no effect: remove it.", value.PathName(path)))
		}
	}
	return diags
}

// CheckWarnings turns the errors of a data source in a check block into warnings:
// there they are an outcome of the check. Others it leaves as they are. The instance
// is nil where it couldn't be found.
func CheckWarnings(set *checks.Set, i *eval.Instance, diags diag.List) diag.List {
	if i == nil || i.Resource.Check == nil || !diags.HasErrors() {
		return diags
	}
	var messages []eval.Outcome
	within := diag.Checkable(checks.Of(i.Frame, i.Resource.Check))
	for n := range diags {
		if diags[n].Severity == diag.Error {
			diags[n].Severity, diags[n].Unmet = diag.Warning, &within
			messages = append(messages, eval.Outcome{Status: eval.Fail, Message: diags[n].Summary + ": " + diags[n].Detail})
		}
	}
	set.Add(checks.Subject(within), 0, messages)
	return diags
}
