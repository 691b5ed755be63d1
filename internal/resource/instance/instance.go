// Package instance computes the sensitive parts and conditions of resource instances, for
// planning and applying.
//
// It owns what is the same in both phases. It doesn't call providers.
package instance

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/resource/checkresults"
	"weir.dev/weir/internal/resource/contract"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
	"weir.dev/weir/internal/state"
)

// Sensitive is what is sensitive of an object that is to be as configured:
// where changes are ignored what is sensitive already, and elsewhere what the
// configuration says. stored is what is changed, nil for nothing; for what takes
// the place of a tainted object nothing is ignored.
func Sensitive(res *program.Resource, stored *state.Object, config resourceconfig.Config) []cty.Path {
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

// Shown lists what is sensitive of an object. Anything that is write-only isn't shown anyhow,
// whether it is sensitive or not. A part of something sensitive isn't listed again: OpenTofu stores
// such paths, so a state of it would differ from the plan.
func Shown(b *schema.Block, v cty.Value) []cty.Path {
	var last cty.Path
	return slices.DeleteFunc(resourceconfig.SensitivePaths(v), func(p cty.Path) bool {
		if a := contract.AttributeAt(b, p); a != nil && a.WriteOnly || last != nil && p.HasPrefix(last) {
			return true
		}
		last = p
		return false
	})
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
		v = resourceconfig.MarkPaths(v, stored.Sensitive)
	}
	return sch.Block.MarkSensitive(v)
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
func Checked(i *eval.Instance) checkresults.Subject {
	return checkresults.Subject{Kind: "resource", Address: i.Addr.Resource.Erase().String(), Instance: i.Addr.String()}
}

// Conditions evaluates the conditions of instances and collects their outcomes. One that doesn't
// hold is a problem of the severity: a warning where the caller continues regardless.
type Conditions struct {
	Set      *checkresults.Set
	Severity diag.Severity
}

// Before evaluates the preconditions of an instance.
func (c Conditions) Before(t *promise.Task, i *eval.Instance) (ok bool) {
	return c.evaluate(t, i, i.Resource.Preconditions, cty.NilVal, eval.Unmet.As("Resource precondition failed"))
}

// After evaluates the postconditions of an instance, for which self is its value.
func (c Conditions) After(t *promise.Task, i *eval.Instance, self cty.Value) (ok bool) {
	return c.evaluate(t, i, i.Resource.Postconditions, self, eval.Unmet.As("Resource postcondition failed"))
}

func (c Conditions) evaluate(t *promise.Task, i *eval.Instance, list []*program.Condition, self cty.Value, unmet diag.Code) (ok bool) {
	if len(list) == 0 {
		return true
	}
	before := t.Failures()
	var outcomes []eval.Outcome
	ctx := i.Context(t, self)
	for _, condition := range list {
		o := eval.CheckCondition(t, condition, ctx)
		outcomes = append(outcomes, o)
		if o.Status == eval.Fail {
			problem := o.Problem(unmet, condition)
			problem.Severity = c.Severity
			problem.Unmet = &diag.Checkable{Kind: "resource", Address: i.Addr.Resource.Erase().String(), Instance: i.Addr.String()}
			t.Report(problem)
		}
	}
	c.Set.Add(Checked(i), len(i.Resource.Preconditions)+len(i.Resource.Postconditions), outcomes)
	return t.Failures() == before
}

// Subject puts together what the lifecycle needs, provider_meta of the
// instance's module included; f is nil for an object without configuration.
func Subject(t *promise.Task, a addr.Instance, conn *providerclient.Conn, sch *schema.Schema, f *eval.Frame) (s lifecycle.Subject, ok bool) {
	s = lifecycle.Subject{Addr: a, Provider: conn.Provider, Source: conn.Addr.Provider, Schema: sch}
	if conn.Schemas.Meta == nil || f == nil {
		return s, true
	}
	before := t.Failures()
	for local, body := range f.Program.ProviderMeta {
		if req := f.Program.Requirements[local]; req != nil && req.Provider == s.Source {
			v, hd := conn.Schemas.Meta.Block.Decode(body.Body, f.Context(t, nil, cty.NilVal))
			t.Report(eval.Diagnostics(hd)...)
			s.Meta, _ = v.UnmarkDeep()
		}
	}
	return s, t.Failures() == before
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
		if a := contract.AttributeAt(sch.Block, path); a != nil && a.Computed && !a.Optional {
			diags.Add(RedundantIgnore.Warning(traversal.SourceRange(), "ignore_changes keeps what was configured when the object was made. The provider alone decides about %s, which has no configured value, so naming it here has no effect: remove it.", value.PathName(path)))
		}
	}
	return diags
}

// CheckWarnings turns the errors of a data source in a check block into warnings:
// a check never stops a run. Other diagnostics stay unchanged. i is nil if the instance couldn't be
// found.
func CheckWarnings(set *checkresults.Set, i *eval.Instance, diags diag.List) diag.List {
	if i == nil || i.Resource.Check == nil || !diags.HasErrors() {
		return diags
	}
	var messages []eval.Outcome
	within := diag.Checkable(checkresults.Of(i.Frame, i.Resource.Check))
	for n := range diags {
		if diags[n].Severity == diag.Error {
			diags[n].Severity, diags[n].Unmet = diag.Warning, &within
			messages = append(messages, eval.Outcome{Status: eval.Fail, Message: diags[n].Summary + ": " + diags[n].Detail})
		}
	}
	set.Add(checkresults.Subject(within), 0, messages)
	return diags
}
