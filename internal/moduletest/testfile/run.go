package testfile

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
)

func (r *reader) addRun(f *File, b *hcl.Block) {
	run := &Run{Name: b.Labels[0], Index: len(f.Runs), Range: b.DefRange, NameRange: b.LabelRanges[0]}
	r.name(b, "Invalid run block name")
	if r.dialect == dialect.Terraform && slices.ContainsFunc(f.Runs, func(other *Run) bool { return other.Name == run.Name }) {
		r.diags.Add(diag.Duplicate.As("Duplicate \"run\" block names").Error(run.NameRange, "This test file already has a run named %s.", run.Name))
	}
	f.Runs = append(f.Runs, run)

	content := r.content(b.Body, runSchema())
	attrs := content.Attributes
	if attr := attrs["command"]; attr != nil {
		switch hcl.ExprAsKeyword(attr.Expr) {
		case "plan":
			run.PlanOnly = true
		case "apply":
		default:
			r.diags.Add(diag.Unsuitable.As("Invalid \"command\" keyword").Error(attr.Expr.Range(), "The \"command\" argument requires one of the following keywords without quotes: apply or plan."))
		}
	}
	if attr := attrs["state_key"]; attr != nil {
		run.StateKey = r.text(attr)
	}
	r.flag(attrs["parallel"], &run.Parallel)
	r.experimental(attrs["skip_cleanup"])
	if attr := attrs["providers"]; attr != nil {
		run.Providers = r.passed(attr)
	}
	if attr := attrs["expect_failures"]; attr != nil {
		for _, t := range r.traversals(attr) {
			e, problems := expected(t)
			run.Problems.Append(problems)
			if e != nil {
				run.Expected = append(run.Expected, e)
			}
		}
	}
	var options, variables, module *hcl.Block
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "plan_options":
			if r.once(inner, &options) {
				r.options(run, inner)
			}
		case "assert":
			r.assert(run, inner)
		case "variables":
			if r.once(inner, &variables) {
				run.Variables = r.assignments(inner)
			}
		case "module":
			if r.once(inner, &module) {
				r.module(run, inner)
			}
		case "backend":
			r.diags.Add(diag.Unsupported.As("Invalid block").Error(inner.DefRange, "Backend blocks aren't supported in runs: states of tests are in memory."))
		default:
			r.override(&run.Overrides, inner)
		}
	}
}

func (r *reader) options(run *Run, b *hcl.Block) {
	attrs := r.content(b.Body, optionsSchema()).Attributes
	if attr := attrs["mode"]; attr != nil {
		switch hcl.ExprAsKeyword(attr.Expr) {
		case "refresh-only":
			run.RefreshOnly = true
		case "normal":
		default:
			r.diags.Add(diag.Unsuitable.As("Invalid \"mode\" keyword").Error(attr.Expr.Range(), "The \"mode\" argument requires one of the following keywords without quotes: normal or refresh-only"))
		}
	}
	refresh := true
	r.flag(attrs["refresh"], &refresh)
	run.SkipRefresh = !refresh
	if run.SkipRefresh && run.RefreshOnly {
		r.diags.Add(diag.Unsuitable.As("Incompatible plan options").Error(attrs["refresh"].Range, "The \"refresh\" option cannot be set to false when running a test in \"refresh-only\" mode."))
	}
	run.Replace, run.Targets = r.addresses(attrs["replace"]), r.addresses(attrs["target"])
	for _, a := range run.Replace {
		if a.IsModule() || a.Name.Mode != addr.Managed {
			r.diags.Add(diag.Unsuitable.As("Can only target resources for force replacements").Error(a.Range, "%s isn't a resource that can be replaced.", a))
		}
	}
}

func (r *reader) assert(run *Run, b *hcl.Block) {
	attrs := r.content(b.Body, assertSchema()).Attributes
	a := &Assert{Range: b.DefRange}
	if attr := attrs["condition"]; attr != nil {
		a.Condition = attr.Expr
	}
	if attr := attrs["error_message"]; attr != nil {
		a.ErrorMessage = attr.Expr
	}
	if a.Condition != nil && a.ErrorMessage != nil {
		run.Asserts = append(run.Asserts, a)
	}
}

func (r *reader) module(run *Run, b *hcl.Block) {
	attrs := r.content(b.Body, moduleSchema()).Attributes
	m := &Module{}
	if attr := attrs["source"]; attr != nil {
		m.Source, m.Range = r.text(attr), attr.Expr.Range()
	}
	if attr := attrs["version"]; attr != nil {
		m.Version = r.text(attr)
		if module.IsLocal(m.Source) {
			r.diags.Add(diag.BadSource.As("Invalid registry module source address").Error(attr.Range, "The argument \"version\" applies only to modules of a registry, and %q is a directory. Remove the version.", m.Source))
		}
	}
	if m.Source != "" {
		run.Module = m
	}
}

// passed reads the configurations that a run names.
func (r *reader) passed(attr *hcl.Attribute) []*PassedProvider {
	pairs, hd := hcl.ExprMap(attr.Expr)
	r.hcl(hd)
	var list []*PassedProvider
	for _, pair := range pairs {
		inner, ok := r.providerName(pair.Key)
		outer, also := r.providerName(pair.Value)
		if ok && also {
			list = append(list, &PassedProvider{inner, outer, pair.Value.Range()})
		}
	}
	return list
}

func (r *reader) providerName(expr hcl.Expression) (ProviderName, bool) {
	t, hd := hcl.AbsTraversalForExpr(expr)
	if !hd.HasErrors() && len(t) <= 2 {
		n := ProviderName{Local: t.RootName()}
		if len(t) == 1 {
			return n, true
		}
		if attr, ok := t[1].(hcl.TraverseAttr); ok {
			n.Alias = attr.Name
			return n, true
		}
	}
	r.diags.Add(diag.BadProvider.Error(expr.Range(), "A provider is named by its local name, optionally followed by a period and an alias."))
	return ProviderName{}, false
}

// traversals reads a list of addresses.
func (r *reader) traversals(attr *hcl.Attribute) []hcl.Traversal {
	exprs, hd := hcl.ExprList(attr.Expr)
	r.hcl(hd)
	var list []hcl.Traversal
	for _, expr := range exprs {
		t, hd := hcl.AbsTraversalForExpr(expr)
		r.hcl(hd)
		if !hd.HasErrors() {
			list = append(list, t)
		}
	}
	return list
}

func (r *reader) addresses(attr *hcl.Attribute) []Address {
	if attr == nil {
		return nil
	}
	var list []Address
	for _, t := range r.traversals(attr) {
		target, err := addr.ParseTarget(text(t))
		if err != nil {
			r.diags.Add(diag.BadReference.As("Invalid address").Error(t.SourceRange(), "%s.", err))
			continue
		}
		list = append(list, Address{target, t.SourceRange()})
	}
	return list
}

// text is a traversal as an address.
func text(t hcl.Traversal) string {
	out := ""
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			out += step.Name
		case hcl.TraverseAttr:
			out += "." + step.Name
		case hcl.TraverseIndex:
			switch {
			case step.Key.Type() == cty.String:
				out += "[" + addr.Quote(step.Key.AsString()) + "]"
			case step.Key.Type() == cty.Number:
				out += "[" + step.Key.AsBigFloat().Text('f', -1) + "]"
			default:
				out += "[?]"
			}
		case hcl.TraverseSplat:
			out += "[*]"
		}
	}
	return out
}

// expected reads one of expect_failures.
func expected(t hcl.Traversal) (*Expected, diag.List) {
	e := &Expected{Range: t.SourceRange()}
	name := ""
	if len(t) == 2 {
		if attr, ok := t[1].(hcl.TraverseAttr); ok {
			name = attr.Name
		}
	}
	root := t.RootName()
	kind := diag.KindOf(func(k diag.CheckableKind) string { return k.Root }, root)
	switch root {
	case "module", "local", "path", "terraform", "tofu", "each", "count", "self", "run":
	default:
		if kind != nil {
			if e.Kind, e.Address = kind.Name, root+"."+name; name != "" {
				return e, nil
			}
			break
		}
		if target, err := addr.ParseTarget(text(t)); err == nil && !target.IsModule() && target.Module.IsRoot() {
			e.Kind, e.HasKey = "resource", target.HasKey
			e.Address = text(t)
			return e, nil
		}
	}
	var diags diag.List
	diags.Add(diag.BadReference.As("Invalid `expect_failures` reference").Error(e.Range, "You cannot expect failures from %s. You can only expect failures from checkable objects such as input variables, output values, check blocks, managed resources and data sources.", text(t)))
	return nil, diags
}

// modeOf is the mode that the name of a block means.
func modeOf(block string) addr.Mode {
	if block == "mock_data" || block == "override_data" {
		return addr.Data
	}
	return addr.Managed
}

// override decodes a block that gives values to a target.
func (r *reader) override(list *[]*Override, b *hcl.Block) {
	values := "values"
	if b.Type == "override_module" {
		values = "outputs"
	}
	attrs := r.content(b.Body, overrideSchema(values)).Attributes
	o := &Override{Range: b.DefRange, During: r.during(attrs["override_during"])}
	if attr := attrs[values]; attr != nil {
		o.Values = attr.Expr
		r.object(attr)
	}
	attr := attrs["target"]
	if attr == nil {
		return
	}
	o.TargetRange = attr.Expr.Range()
	t, hd := hcl.AbsTraversalForExpr(attr.Expr)
	r.hcl(hd)
	if hd.HasErrors() {
		return
	}
	target, err := addr.ParseTarget(text(t))
	if err != nil {
		r.diags.Add(BadTarget.Error(o.TargetRange, "%s.", err))
		return
	}
	o.Target = target
	switch {
	case b.Type == "override_module" && !target.IsModule():
		r.diags.Add(BadTarget.Error(o.TargetRange, "You can only target modules from override_module blocks, not %s.", target))
		return
	case b.Type == "override_resource" && (target.IsModule() || target.Name.Mode != addr.Managed):
		r.diags.Add(BadTarget.Error(o.TargetRange, "You can only target resources from override_resource blocks, not %s.", target))
		return
	case b.Type == "override_data" && (target.IsModule() || target.Name.Mode != addr.Data):
		r.diags.Add(BadTarget.Error(o.TargetRange, "You can only target data sources from override_data blocks, not %s.", target))
		return
	}
	if slices.ContainsFunc(*list, func(other *Override) bool { return other.Target.String() == target.String() }) {
		r.diags.Add(diag.Duplicate.As(fmt.Sprintf("Duplicated `%s` block", b.Type)).Error(o.TargetRange, "It is not allowed to have multiple `%s` blocks with the same target: `%s`.", b.Type, target))
		return
	}
	*list = append(*list, o)
}
