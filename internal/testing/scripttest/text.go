package scripttest

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/state"
)

func (s *story) printf(format string, args ...any) { fmt.Fprintf(&s.out, format, args...) }

func (s *story) problems(diags diag.List) {
	for _, d := range diags {
		place := ""
		if d.Subject != nil {
			place = fmt.Sprintf(" at %s:%d", d.Subject.Filename, d.Subject.Start.Line)
		}
		if d.Address != "" {
			place += " with " + d.Address
		}
		s.printf("%s: %s%s\n", d.Severity, d.Summary, place)
		if detail, _, _ := strings.Cut(d.Detail, "\n"); detail != "" {
			s.printf("    %s\n", detail)
		}
	}
}

func (s *story) printPlan(p *plan.Plan) {
	for _, c := range p.Drift {
		s.printf("drift ")
		s.printChange(c)
	}
	for _, c := range p.Changes {
		s.printChange(c)
	}
	for _, d := range p.Deferred {
		s.printf("deferred %s: ", d.Reason)
		s.printChange(d.Change)
	}
	for _, i := range p.Invocations {
		s.printf("invoke %s %s\n", i.Label(), text(i.Config))
	}
	for _, d := range p.DeferredInvocations {
		s.printf("deferred %s: invoke %s\n", d.Reason, d.Invocation.Label())
	}
	for _, o := range p.Outputs {
		s.printf("%s output.%s", o.Action, o.Name)
		if o.Action != plan.NoOp {
			s.printf(": %s -> %s", text(o.Before), text(o.After))
		}
		s.printf("\n")
	}
	for _, r := range p.Checks {
		s.printCheck(r)
	}
	n := p.Counts()
	s.printf("import %d, add %d, change %d, destroy %d, forget %d, changes %v\n", n.Import, n.Add, n.Change, n.Destroy, n.Forget, p.HasChanges())
}

func (s *story) printCheck(r state.CheckResult) {
	s.printf("%s %s %s", r.Kind, r.Address, r.Status)
	for _, o := range r.Objects {
		s.printf(" (%s %s", o.Address, o.Status)
		for _, m := range o.Messages {
			s.printf(" %q", m)
		}
		s.printf(")")
	}
	s.printf("\n")
}

func (s *story) printChange(c *plan.Change) {
	s.printf("%s %s", c.Action, c.Addr)
	if c.Moved() {
		s.printf(" from %s", c.Previous())
	}
	if c.Reason != "" {
		s.printf(", %s", c.Reason)
	}
	if c.Importing != nil {
		s.printf(", import %s", c.Importing.ID)
	}
	if c.DeposedKey != "" {
		s.printf(", deposes %s", c.DeposedKey)
	}
	for _, p := range c.ReplacePaths {
		s.printf(", because of %s", value.PathString(p))
	}
	s.printf("\n")
	if c.Action == plan.NoOp || c.Action == plan.Delete || c.Action == plan.Forget {
		return
	}
	before, after := attributes(c.Before), attributes(c.After)
	for _, name := range sorted(before, after) {
		b, a := member(before, name), member(after, name)
		switch {
		case a == b || before == nil && a == "null":
		case before == nil:
			s.printf("    %s = %s\n", name, a)
		default:
			s.printf("    %s = %s -> %s\n", name, b, a)
		}
	}
	s.printf("%s", c.GeneratedConfig)
}

// attributes are those of an object, nil without.
func attributes(v cty.Value) map[string]cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return nil
	}
	v, _ = v.Unmark()
	return v.AsValueMap()
}

func member(object map[string]cty.Value, name string) string {
	if v, ok := object[name]; ok {
		return text(v)
	}
	return "-"
}

func (s *story) decode(data []byte) map[string]cty.Value {
	v, err := ctyjson.Unmarshal(data, s.object.Schema.Block.ImpliedType())
	if err != nil {
		s.t.Fatal(err)
	}
	return v.AsValueMap()
}

func (s *story) show() {
	if s.prior == nil {
		s.printf("no state\n")
		return
	}
	for _, a := range s.prior.Addresses() {
		s.showObject(a, s.prior.Objects[a])
	}
	for _, name := range sorted(s.prior.Outputs) {
		o := s.prior.Outputs[name]
		s.printf("output.%s = %s", name, text(o.Value))
		if o.Sensitive {
			s.printf(" (sensitive)")
		}
		s.printf("\n")
	}
	for _, r := range s.prior.Checks {
		s.printCheck(r)
	}
}

func (s *story) showObject(a addr.Object, o *state.Object) {
	s.printf("%s", a)
	if a.Name.Type == "sim_object" {
		for _, name := range sorted(s.decode(o.JSON)) {
			if v := s.decode(o.JSON)[name]; !v.IsNull() {
				s.printf(" %s=%s", name, text(v))
			}
		}
	} else {
		s.printf(" %s", o.JSON)
	}
	s.printf("\n")
	var notes []string
	if p := o.Provider.String(); p != `provider["registry.opentofu.org/hashicorp/sim"]` && a.Name.Type != "terraform_data" {
		notes = append(notes, "by "+p)
	}
	for _, dep := range o.Dependencies {
		notes = append(notes, "needs "+dep.String())
	}
	for _, note := range []struct {
		is   bool
		text string
	}{
		{o.Tainted, "tainted"}, {o.CreateBeforeDestroy, "create before destroy"},
		{o.SkipDestroy, "skip destroy"}, {len(o.Sensitive) > 0, fmt.Sprint(len(o.Sensitive), " sensitive")},
	} {
		if note.is {
			notes = append(notes, note.text)
		}
	}
	if len(notes) > 0 {
		s.printf("    %s\n", strings.Join(notes, ", "))
	}
}

// text writes a value with its marks.
func text(v cty.Value) string {
	v, marks := v.Unmark()
	out := bare(v)
	if marks.Has(value.Sensitive) {
		out = "sensitive(" + out + ")"
	}
	if marks.Has(value.Ephemeral) {
		out = "ephemeral(" + out + ")"
	}
	return out
}

func bare(v cty.Value) string {
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return "unknown"
	case v.IsNull():
		return "null"
	case ty == cty.String:
		return addr.Quote(v.AsString())
	case ty.IsPrimitiveType():
		data, err := value.After(v)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	var parts []string
	named := ty.IsObjectType() || ty.IsMapType()
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if named {
			parts = append(parts, k.AsString()+" = "+text(e))
		} else {
			parts = append(parts, text(e))
		}
	}
	if named {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
