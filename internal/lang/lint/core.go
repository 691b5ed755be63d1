package lint

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// unusedDependencies finds addresses in depends_on that the block refers to anyway. Data
// sources and module calls aren't looked at: there depends_on also defers reads, which a
// reference doesn't do.
func (m *unit) unusedDependencies() {
	for _, r := range m.Resources {
		if r.Name.Mode == addr.Managed {
			m.unused(r, r.DependsOn)
		}
	}
	for _, o := range m.Outputs {
		m.unused(o, o.DependsOn)
	}
}

func (m *unit) unused(d program.Declaration, dependsOn []*program.Ref) {
	if len(dependsOn) == 0 {
		return
	}
	var others []*program.Ref
	d.Parts(func(p program.Part) {
		if p.Argument != "depends_on" && !p.AtDestroy {
			others = append(others, p.References()...)
		}
	})
	for _, ref := range dependsOn {
		i := slices.IndexFunc(others, func(other *program.Ref) bool { return implies(other, ref) })
		if i < 0 {
			continue
		}
		m.warn(UnusedDependency, ref.Range, "The block depends on %s anyway, because it refers to %s in line %d. Remove the address from depends_on.", ref.Text, others[i].Text, others[i].Range.Start.Line)
	}
}

// implies reports whether a reference is a dependency on all that an address in depends_on
// names. A module call isn't: a reference is to one of its outputs.
func implies(ref, address *program.Ref) bool {
	if ref.Kind != address.Kind || ref.Lenient {
		return false
	}
	switch ref.Kind {
	case program.RefResource:
		return ref.Resource == address.Resource && (ref.Key == nil || address.Key != nil && ref.Text == address.Text)
	case program.RefVariable:
		return ref.Variable == address.Variable
	case program.RefLocal:
		return ref.Local == address.Local
	}
	return false
}

// quotedReferences finds texts that are the address of a declaration of the module.
func (m *unit) quotedReferences() {
	m.each(func(n hclsyntax.Node) {
		text, advice := "", "remove the quotes"
		switch n := n.(type) {
		case *hclsyntax.TemplateExpr:
			if !n.IsStringLiteral() {
				return
			}
			v, _ := n.Value(nil)
			text = v.AsString()
		case *syntax.StringExpr:
			text, advice = n.Text, "write \"${"+n.Text+"}\""
		default:
			return
		}
		if m.declares(text) {
			m.warn(QuotedReference, n.Range(), "This is a text, and %s is declared in this module. To refer to it, %s.", text, advice)
		}
	})
}

// declares reports whether a text is a reference to something that the module declares.
func (m *unit) declares(text string) bool {
	if !strings.Contains(text, ".") {
		return false
	}
	t, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return false
	}
	var names []string
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, step.Name)
		case hcl.TraverseAttr:
			names = append(names, step.Name)
		}
	}
	name := func(i int) string {
		if i < len(names) {
			return names[i]
		}
		return ""
	}
	switch name(0) {
	case "var":
		return m.VariableByName[name(1)] != nil
	case "local":
		return m.LocalByName[name(1)] != nil
	case "module":
		return m.CallByName[addr.Call{Name: name(1)}] != nil
	case "data":
		return m.ResourceByName[addr.Name{Mode: addr.Data, Type: name(1), Name: name(2)}] != nil
	}
	return m.ResourceByName[addr.Name{Mode: addr.Managed, Type: name(0), Name: name(1)}] != nil
}

// impureFunctions finds functions that give another result with each plan, in arguments of
// resources and module calls and in outputs. Arguments in ignore_changes aren't looked at:
// there the first result stays.
func (m *unit) impureFunctions() {
	visit := func(n hclsyntax.Node) {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok {
			return
		}
		switch name := strings.TrimPrefix(call.Name, "core::"); name {
		case "timestamp", "uuid", "bcrypt":
			m.warn(ImpureFunction, call.Range(), "%s gives another result each time, so every plan has a change here. Keep the result in a resource, such as terraform_data, or in ignore_changes; for the time of a plan, use plantimestamp.", name)
		}
	}
	for _, r := range m.Resources {
		if r.Name.Mode != addr.Managed && r.Name.Mode != addr.Data || r.IgnoreAll || r.Config == nil {
			continue
		}
		var ignored []string
		for _, t := range r.IgnoreChanges {
			if step, ok := t[0].(hcl.TraverseAttr); ok {
				ignored = append(ignored, step.Name)
			}
		}
		bodyNodes(r.Config.Body, ignored, visit)
	}
	for _, c := range m.Calls {
		for _, in := range c.Inputs {
			nodes(in.Expr, visit)
		}
	}
	for _, o := range m.Outputs {
		nodes(o.Expr, visit)
	}
}
