package moduletest

import (
	"fmt"
	"maps"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/testfile"
	"weir.dev/weir/internal/moduletest/testresult"
)

// targets reports override blocks that are about nothing in the configuration of a
// run: an error in OpenTofu, a warning in Terraform. Overrides of a file apply to the module under test; runs of other modules take of it what they have.
func (w *work) targets(r *testresult.Run, tree *program.Tree, outputs []overriddenModule) diag.List {
	list := r.Overrides
	if r.Module == nil {
		list = slices.Concat(list, w.overridesOnce())
	}
	var diags diag.List
	for _, o := range list {
		at := tree.At(o.Target.Module)
		if o.IsModule() && at != nil && at.Program != nil {
			diags.Append(w.surplus(o, at.Program, outputs))
			continue
		}
		if !o.IsModule() && at != nil && at.Program != nil && at.Program.ResourceByName[o.Target.Name] != nil {
			continue
		}
		if w.World.Dialect == dialect.Terraform {
			diags.Append(diag.List{{Severity: diag.Warning, Code: testfile.BadTarget.Name, Summary: testfile.BadTarget.Summary, Subject: o.TargetRange.Ptr(),
				Detail: fmt.Sprintf("The override target %s does not exist within the configuration under test. This could indicate a typo in the target address or an unnecessary override.", o.Target)}})
			continue
		}
		what := "Resource not found"
		if o.IsModule() {
			what = "Module not found"
		}
		diags.Add(testfile.BadTarget.As(what+": "+o.Target.String()).Error(o.TargetRange, "The configuration of this run doesn't have what is overridden."))
	}
	return diags
}

// overridesOnce are the blocks of the file: for each run in OpenTofu, where a
// problem of theirs is one of each run, and else for the first that asks.
func (w *work) overridesOnce() []*testfile.Override {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told && w.World.Dialect == dialect.Terraform {
		return nil
	}
	w.told = true
	return w.file.Overrides
}

// surplus warns of values for outputs that a module doesn't have.
func (w *work) surplus(o *testfile.Override, p *program.Program, list []overriddenModule) diag.List {
	var diags diag.List
	for _, m := range list {
		if m.target.String() != o.Target.String() || !m.outputs.IsKnown() || m.outputs.IsNull() {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(m.outputs.AsValueMap())) {
			if p.OutputByName[name] == nil {
				diags.Add(testfile.BadTarget.As("Output not found: "+name).Warning(o.TargetRange, "The module %s has no such output, so its value is left out.", o.Target))
			}
		}
		break
	}
	return diags
}
