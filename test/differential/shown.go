package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/testing/simtest"
)

const (
	goneOutputs        = "Outputs of deleted objects stay with -refresh-only"
	bySchema           = "Sensitive by the schema, everywhere"
	conditionsOfLeases = "Conditions of ephemeral resources are evaluated"
	leavingOutputs     = "-refresh-only counts the instances of the configuration"
	goneDeposed        = "Deposed objects that no longer exist"
	importsAlone       = "import reads nothing else"
	neededLeases       = "Applies open only needed ephemeral instances"
	checkData          = "Data of check blocks is read again only beside changes"
	importMarks        = "The import command marks instances with keys"
)

// ofDocuments are about what plans and states show, and what is done beside changes.
var ofDocuments = []*known{
	{
		Entry: "Deposed objects have the version of their schema", Reason: "the reference has none",
		Where: "plan", Path: `\.prior_state.* deposed .*\.schema_version`, Peer: "0",
	},
	{
		Entry: "Plan JSON has `applyable` and `complete`", Reason: "Terraform has them",
		Where: "plan", Path: `\.(applyable|complete)`, Peer: none,
	},
	{
		Entry: bySchema, Reason: "marked in planned values too",
		Where: "plan", Path: `\.planned_values.*\.sensitive_values\.secret`, Peer: none, Weir: "true",
	},
	{
		Entry: bySchema, Reason: "marked in the state of data sources too",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' .*\.sensitive_attributes\[.*'value':'secret'}]'?"]`, Peer: none,
	},
	{
		Entry: goneOutputs, Reason: "the reference stores null for what isn't known",
		Where: "state", Path: `\.outputs\..*`, Peer: `(?s).*null.*|"dynamic"`, When: func(f finding) bool { return f.step.RefreshOnly && f.unknownOutput() },
	},
	{
		Entry: goneOutputs, Reason: "the reference knows no type of what is gone",
		Where: "plan", Path: `\.output_changes\.[^.]*\.after(_unknown)?`, Peer: "(true)?", When: func(f finding) bool { return f.step.RefreshOnly && f.whollyUnknown() },
	},
	{
		Entry: leavingOutputs, Reason: "the reference counts what a plan would delete",
		Where: "plan|state", Path: `(\.prior_state\.values|\.planned_values)?\.(outputs|output_changes)\..*`, When: func(f finding) bool { return f.countsLeaving(f.outputNames()) },
	},
	{
		Entry: leavingOutputs, Reason: "what the output that changes refers to counts",
		Where: "plan", Path: `\.relevant_attributes(\[.*)?`, Peer: none, When: func(f finding) bool { return f.countsLeaving(sortedKeys(f.weir.outputs())) },
	},
	{
		Entry: "Unread data is in no state", Reason: "the reference has it with null for what isn't known",
		Where: "plan", Path: `\.prior_state.*' 'data' '.*`, Peer: `.*"ids":null,"names":null.*`, Weir: none,
	},
	{
		Entry: "Modules without objects are in no state", Reason: "the reference lists them in plans",
		Where: "plan", Path: `\.prior_state.*\.child_modules(\[.*)?`, Weir: none, When: func(f finding) bool { return !strings.Contains(f.Peer, `"resources":`) },
	},
	{
		Entry: "Data sources that depend on a module wait for its deletions", Reason: "the reference reads data of checks before deletions",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' 'sim_objects' 'k_.*|\.check_results\["'(\S+\.)?check\..*`, When: deletesSome,
	},
	{
		Entry: "Data sources that depend on a module wait for its deletions", Reason: "the reference finds what is about to leave",
		Where: "exit plan", Path: "plan(; (Duplicate Set Element|Cannot data [^;]*))+", Peer: "1", Weir: "0", When: func(f finding) bool {
			for _, c := range f.weir.changes() {
				if c.Mode == "data" && c.is("read") {
					return true
				}
			}
			return false
		},
	},
	{
		Entry: "Data sources that depend on a module wait for its deletions", Reason: "the reference reads data of checks before deletions",
		Where: "diags apply", Path: "warning (Check block assertion failed|Duplicate Set Element) .*", When: deletesSome,
	},
	{
		Entry: checkData, Reason: "the reference lists only the reads",
		Where: "plan|events apply", Path: `\.(resource_changes|planned_values|relevant_attributes).*|(data|open|close) .*`, Weir: "0?", When: onlyCheckReads,
	},
	{
		Entry: checkData, Reason: "the reference reads them beside -exclude, though it evaluates no checks there",
		Where: "plan|events (plan|apply)", Path: `\.(resource_changes|planned_values).*|data .*`, Weir: "0?", When: readsExcludedChecks,
	},
	{
		Entry: checkData, Reason: "the reference stores what it reads for checks beside -exclude",
		Where: "plan|state", Path: `(\.prior_state.*)?\.resources\["'(\S+' ')*data' 'sim_objects' 'k_.*`, Weir: none, When: func(f finding) bool { return len(f.step.Excludes) > 0 },
	},
	{
		Entry: checkData, Reason: "what these reads refer to counts with the reference",
		Where: "plan", Path: `\.relevant_attributes\[.*`, Weir: none, When: func(f finding) bool { return len(f.step.Excludes) > 0 && len(f.checkReads()) > 0 },
	},
	{
		Entry: "A creation isn't caused by replace_triggered_by", Reason: "there is nothing to replace",
		Where: "plan", Path: `\.resource_changes.*\.action_reason`, Peer: `"replace_by_triggers"`, Weir: none,
		When: func(f finding) bool { return f.change().is("create") },
	},
	{
		Entry: conditionsOfLeases, Reason: "the reference opens for references only",
		Where: "events apply", Path: "(open|close) token .*", Peer: "0", Weir: "1", When: leaseHasConditions,
	},
	{
		Entry: conditionsOfLeases, Reason: "the reference opens for references only",
		Where: "exit apply", Path: "apply(; Resource (pre|post)condition failed)+", Peer: "0", Weir: "1", When: leaseHasConditions,
	},
	{
		Entry: conditionsOfLeases, Reason: "the reference opens for references only",
		Where: "state", Path: `\.check_results.*ephemeral\.sim_token.*\.status`, Peer: `"unknown"`, When: leaseHasConditions,
	},
	{
		Entry: conditionsOfLeases, Reason: "the reference doesn't look at them",
		Where: "exit apply", Path: "apply(; Resource (pre|post)condition failed)+", Peer: "0", Weir: "1", When: unmetOfLeases,
	},
	{
		Entry: neededLeases, Reason: "the reference opens all of the block",
		Where: "events apply", Path: "(open|close) token .*", Peer: "1", Weir: "0", When: opensSome,
	},
	{
		Entry: goneDeposed, Reason: "the reference plans to do nothing",
		Where: "plan", Path: `\.resource_changes.*<deposed>.*`, Peer: `(?s).*"actions":\["no-op"\].*`, Weir: none,
	},
	{
		Entry: goneDeposed, Reason: "the reference panics",
		Where: "exit apply", Peer: "11",
	},
	{
		Entry: importsAlone, Reason: "the reference reads data",
		Where: "events import", Path: "(data|open|close) .*", Weir: "0",
	},
	{
		Entry: importMarks, Reason: "the reference forgets them",
		Where: "plan", Path: `.*\.(before_sensitive|sensitive_values)(\..*)?`, Peer: "(false)?", When: importedKeyed,
	},
	{
		Entry: importMarks, Reason: "the reference updates the marks",
		Where: "plan", Path: `\.resource_changes\[.*\.actions\[0\]`, Peer: `"update"`, Weir: `"no-op"`, When: importedKeyed,
	},
	{
		Entry: importMarks, Reason: "the reference forgets them",
		Where: "state", Path: `\.resources.*\.sensitive_attributes\[.*`, Peer: none, When: func(f finding) bool { return importsOnly(f) && importedKeyed(f) },
	},
	{
		Entry: importsAlone, Reason: "the reference drops the results of checks",
		Where: "state", Path: `\.check_results`, Peer: "null", When: importsOnly,
	},
	{
		Entry: importsAlone, Reason: "the reference stores the data that it reads",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' .*`, When: importsOnly,
	},
	{
		Entry: importsAlone, Reason: "the reference stores the order that blocks have by now",
		Where: "state", Path: `\.resources.*\.create_before_destroy`, When: importsOnly,
	},
	{
		Entry: importsAlone, Reason: "the reference computes outputs and stores them",
		Where: "plan|state", Path: `(\.prior_state\.values)?\.(outputs|output_changes)(\..*)?`, When: importsOutput,
	},
	{
		Entry: importsAlone, Reason: "the reference looks at conditions",
		Where: "exit import", Path: "import [^;]*(; (Resource (pre|post)condition failed|Module output value precondition failed))+", Peer: "1", Weir: "0",
	},
	{
		Entry: importsAlone, Reason: "the reference finds more",
		Where: "diags import", Path: "error .*", Weir: "0", When: func(f finding) bool {
			return slices.ContainsFunc(f.weir.Results, func(r result) bool { return strings.HasPrefix(r.Command, "import ") && r.Exit == 1 })
		},
	},
	{
		Entry: importsAlone, Reason: "the reference warns of what it evaluates",
		Where: "diags import", Path: "warning .*", Weir: "0",
	},
}

// opensSome reports whether weir's apply opened ephemeral resources, and there are some with
// several instances.
func opensSome(f finding) bool {
	apply, _ := f.weir.result("apply")
	opened := slices.ContainsFunc(apply.Events, func(e event) bool { return e.Op == "open" })
	return opened && len(f.written(func(r *program.Resource) bool {
		return r.Name.Mode == addr.Ephemeral && !r.Repeat.IsSingle()
	})) > 0
}

// importedKeyed reports whether a path is about an instance with a key that the import command
// has taken over.
func importedKeyed(f finding) bool {
	for _, address := range f.imported() {
		resource, key, keyed := cutLast(address, "[")
		key = strings.ReplaceAll(strings.TrimSuffix(key, "]"), "\"", "'")
		_, name, _ := cutLast(resource, ".")
		inPlan := strings.Contains(f.Path, "'"+strings.ReplaceAll(address, "\"", "\\'"))
		if keyed && !strings.Contains(key, ".") && (inPlan || strings.Contains(f.Path, " '"+name+"'\"].instances[\""+key+"\"]")) {
			return true
		}
	}
	return false
}

// imported are the addresses that the import command has taken over.
func (f finding) imported() (addresses []string) {
	for _, command := range f.step.Commands {
		if words := strings.Fields(command); words[0] == "import" {
			addresses = append(addresses, words[1])
		}
	}
	return addresses
}

// importsOnly reports whether the last that was written is what an import has.
func importsOnly(f finding) bool {
	_, applied := f.peer.result("apply")
	_, ours := f.weir.result("apply")
	return len(f.imported()) > 0 && !applied && !ours
}

// unknownOutput reports whether the path is that of an output which the reference's plan
// doesn't wholly know.
func (f finding) unknownOutput() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".outputs."), ".")
	return strings.Contains(string(f.peer.outputs()[name].Unknown), "true")
}

// countsLeaving reports whether one of some outputs comes from a repeated resource that has
// objects, of which -refresh-only may find more than the configuration has.
func (f finding) countsLeaving(outputs []string) bool {
	all, there := f.declarations(), f.before.resources()
	return f.step.RefreshOnly && slices.ContainsFunc(outputs, func(name string) bool {
		for address, d := range ancestors(all, "output."+name) {
			if (d.Repeat == "count" || d.Repeat == "for_each") && there[address] {
				return true
			}
		}
		return false
	})
}

// whollyUnknown reports whether the reference's plan knows nothing of the output that a path
// of changes is about.
func (f finding) whollyUnknown() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".output_changes."), ".")
	return string(f.peer.outputs()[name].Unknown) == "true"
}

// deletesSome reports whether weir's apply has deleted objects.
func deletesSome(f finding) bool {
	apply, _ := f.weir.result("apply")
	return slices.Contains(slices.Collect(maps.Values(deletions(apply))), true)
}

// importsOutput reports whether a difference in outputs can come from an import alone.
func importsOutput(f finding) bool {
	return len(f.imported()) > 0 && (f.Where == "plan" || importsOnly(f))
}

// onlyCheckReads reports whether the reference plans nothing but reads for checks.
func onlyCheckReads(f finding) bool {
	all := f.peer.changes()
	for _, c := range all {
		if !c.is("no-op") && c.Reason != "read_because_check_nested" {
			return false
		}
	}
	return len(all) > 0
}

// unmetOfLeases reports whether all errors of weir's apply are about ephemeral resources.
func unmetOfLeases(f finding) bool {
	apply, _ := f.weir.result("apply")
	return !slices.ContainsFunc(apply.Diags, func(d diagnostic) bool {
		return d.Severity == "error" && !ephemeralAddress.MatchString(d.Address)
	})
}

var ephemeralAddress = regexp.MustCompile(`(^|\.)ephemeral\.`)

// checkReads are the reads for checks that the reference has planned and weir hasn't.
func (f finding) checkReads() map[string]change {
	all := f.more()
	maps.DeleteFunc(all, func(_ string, c change) bool { return c.Mode != "data" || !strings.HasPrefix(c.Name, "k_") })
	return all
}

// readsExcludedChecks reports whether a difference is about such a read beside -exclude.
func readsExcludedChecks(f finding) bool {
	if len(f.step.Excludes) == 0 {
		return false
	}
	if f.Where == "events plan" { // it may have found that nothing is to be done
		return slices.ContainsFunc(f.declarations(), func(d *symbols.Declaration) bool { return d.Kind == symbols.Check })
	}
	for address, c := range f.checkReads() {
		if f.Where == "plan" && strings.Contains(f.Path, strings.Trim(step(compact(address)), "[]\"")) || f.Path == "data objects "+c.Change.After.Filter.Prefix {
			return true
		}
	}
	return false
}

// leaseHasConditions reports whether an ephemeral resource has some.
func leaseHasConditions(f finding) bool {
	return slices.ContainsFunc(f.step.Model.Objects, func(o simtest.Object) bool { return o.Data == "token" && o.Condition.Kind != "" })
}
