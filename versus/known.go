package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/proof/simtest"
)

// A known difference is deliberate, or one where the peer is wrong. A
// difference that fits it in everything is explained.
type known struct {
	Entry  string // its heading in docs/where-weir-differs.md
	Reason string // in a few words

	Where, Path string // regexps that have to match as a whole; empty fits all
	Peer, Weir  string
	When        func(finding) bool // nil for always
}

// A finding is a difference with what both engines made of the step.
type finding struct {
	difference
	step       simtest.Step
	before     world // what weir began with
	peer, weir outcome
}

var knowns = []*known{
	{
		Entry: keptAfterDeletion, Reason: "the peer forgets identity, marks and order",
		Where: "state", Path: `\.resources.*\.(identity|identity_schema_version|create_before_destroy|sensitive_attributes\[.*)`,
		Peer: none, When: failed,
	},
	{
		Entry: failedOutputs, Reason: "the peer stores what the plan knew",
		Where: "state", Path: `\.outputs\..*`, When: func(f finding) bool { return failed(f) && f.keepsOutput() && f.outputFailed() },
	},
	{
		Entry: "Objects keep their provider until another one has dealt with them", Reason: "the peer goes by who has looked at it",
		Where: "state", Path: `\.resources.*\.provider`, When: func(f finding) bool { return failed(f) || f.step.RefreshOnly },
	},
	{
		Entry: storedDependencies, Reason: "the peer stores what is only named",
		Where: "state", Path: `\.resources.*\.dependencies(\[.*)?`, Weir: none, When: namesNothing,
	},
	{
		Entry: storedDependencies, Reason: "the peer shows what is only named",
		Where: "plan", Path: `\.prior_state.*\.depends_on(\[.*)?`, Weir: none, When: namesNothing,
	},
	{
		Entry: "Deposed objects have the version of their schema", Reason: "the peer has none",
		Where: "plan", Path: `\.prior_state.* deposed .*\.schema_version`, Peer: "0",
	},
	{
		Entry: failedKeepsForget, Reason: "the peer forgets that it is never destroyed",
		Where: "state", Path: `\.resources.*\.skip_destroy`, Peer: none, Weir: "true", When: failed,
	},
	{
		Entry: "Plan JSON has `applyable` and `complete`", Reason: "Terraform has them",
		Where: "plan", Path: `\.(applyable|complete)`, Peer: none,
	},
	{
		Entry: "Sensitive by the schema, everywhere", Reason: "marked in planned values too",
		Where: "plan", Path: `\.planned_values.*\.sensitive_values\.secret`, Peer: none, Weir: "true",
	},
	{
		Entry: "Sensitive by the schema, everywhere", Reason: "marked in the state of data sources too",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' .*\.sensitive_attributes\[.*'value':'secret'}]'?"]`, Peer: none,
	},
	{
		Entry: outputsLeftOut, Reason: "what can't be computed stays",
		Where: "state|plan", Path: `(\.prior_state\.values|\.planned_values)?\.(outputs|output_changes)(\..*)?`,
		When: func(f finding) bool { return partial(f) && !destroys(f) && f.outputLeftOut() },
	},
	{
		Entry: outputsLeftOut, Reason: "the peer computes them in apply",
		Where: "exit apply", Path: "apply(; Output refers to sensitive values)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return partial(f) && !destroys(f) },
	},
	{
		Entry: "Outputs of objects that are gone stay with -refresh-only", Reason: "the peer stores null for what isn't known",
		Where: "state", Path: `\.outputs\..*`, Peer: `(?s).*null.*`, When: func(f finding) bool { return f.step.RefreshOnly && f.unknownOutput() },
	},
	{
		Entry: "Outputs of objects that are gone stay with -refresh-only", Reason: "the peer knows no type of what is gone",
		Where: "plan", Path: `\.output_changes\.[^.]*\.after(_unknown)?`, Peer: "(true)?", When: func(f finding) bool { return f.step.RefreshOnly && f.whollyUnknown() },
	},
	{
		Entry: endedOutputs, Reason: "the peer keeps them",
		Where: "plan", Path: `\.output_changes(\..*)?`, Peer: none, Weir: `.*"actions":\["delete"\].*`, When: destroysSome,
	},
	{
		Entry: endedOutputs, Reason: "what they refer to counts",
		Where: "plan", Path: `\.relevant_attributes(\[.*)?`, Peer: none, When: destroysSome,
	},
	{
		Entry: endedOutputs, Reason: "the peer keeps them",
		Where: "state", Path: `\.outputs\.[^.]*`, Weir: none, When: destroysSome,
	},
	{
		Entry: destroysByState, Reason: "the peer computes outputs before it ends them",
		Where: "plan", Path: `\.(output_changes|prior_state\.values\.outputs)(\.[^.]*)?`, Weir: none, When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the peer computes outputs before it ends them",
		Where: "plan", Path: `\.(output_changes\.[^.]*\.before(\[.*)?|prior_state\.values\.outputs\..*)`, When: destroys,
	},
	{
		Entry: destroysByState, Reason: "what outputs refer to counts with the peer, also if they were never stored",
		Where: "plan", Path: `\.relevant_attributes\[.*`, Weir: none, When: func(f finding) bool { return destroysAll(f) && f.endsMoreOutputs() },
	},
	{
		Entry: destroysByState, Reason: "the peer evaluates all",
		Where: "exit plan", Path: "plan; .*", Peer: "1", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the peer warns of what it evaluates",
		Where: "diags plan", Path: "warning .*", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the peer reads what targets refer to, and stores what it learns",
		Where: "plan|state", Path: `(\.prior_state.*)?\.resources.*\.identity(_schema_version)?`, Weir: none, When: destroysSome,
	},
	{
		Entry: keptOrder, Reason: "the peer has no flag where the user doesn't change",
		Where: "state", Path: `\.resources.*\.create_before_destroy`, Peer: none, Weir: "true", When: ofChange,
	},
	{
		Entry: keptOrder, Reason: "the peer drops the flag where the user isn't a target",
		Where: "state", Path: `\.resources.*\.create_before_destroy`, Peer: none, Weir: "true", When: destroysSome,
	},
	{
		Entry: destroysByState, Reason: "the peer reads data",
		Where: "events plan", Path: "data .*", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the peer reads what targets refer to, and not what is destroyed with them",
		Where: "events plan", Path: "read .*", When: destroysSome,
	},
	{
		Entry: destroysByState, Reason: "the peer opens what nobody needs",
		Where: "events plan", Path: "(open|close) .*", Peer: "1", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "how it looked doesn't matter",
		Where: "plan", Path: `\.resource_drift(\[.*)?`, Weir: none, When: destroys,
	},
	{
		Entry: destroysByState, Reason: "what a target needs is looked at through the state",
		Where: "plan", Path: `\.(resource_changes|planned_values.*\.resources)(\[.*)?`, Peer: none, Weir: `(?s).*"name":.*`,
		When: func(f finding) bool { return destroys(f) && partial(f) && f.leavesMoreAlone() },
	},
	{
		Entry: readsNoData, Reason: "the peer forgets data before all is destroyed",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' .*`, Peer: none, When: func(f finding) bool { return destroys(f) && failed(f) },
	},
	{
		Entry: readsNoData, Reason: "the peer forgets what it would read",
		Where: "plan", Path: `\.prior_state.*' 'data' '.*`, Peer: none, Weir: `.*"mode":"data".*`, When: destroys,
	},
	{
		Entry: readsNoData, Reason: "the peer has forgotten what it would read",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' .*`, Peer: none, When: func(f finding) bool { return destroysSome(f) && f.forgottenData() },
	},
	{
		Entry: readsNoData, Reason: "what the peer has forgotten refers to nothing",
		Where: "plan", Path: `\.relevant_attributes\[.*`, Peer: none, When: func(f finding) bool { return destroysAll(f) && f.forgottenData() },
	},
	{
		Entry: readsNoData, Reason: "what the providers of data are configured with counts with the peer",
		Where: "plan", Path: `\.relevant_attributes\[.*`, Weir: none, When: func(f finding) bool { return destroysAll(f) && f.readsData() },
	},
	{
		Entry: readsNoData, Reason: "the peer reads data",
		Where: "plan", Path: `\.prior_state.*' 'data' '.*\.values\..*`, When: destroys,
	},
	{
		Entry: "Data that could not be read is in no state", Reason: "the peer has it with null for what isn't known",
		Where: "plan", Path: `\.prior_state.*' 'data' '.*`, Peer: `.*"ids":null,"names":null.*`, Weir: none,
	},
	{
		Entry: "Modules without objects are in no state", Reason: "the peer lists them in plans",
		Where: "plan", Path: `\.prior_state.*\.child_modules\[.*`, Peer: `{"address":"module\.([^"\\]|\\.)*"}`, Weir: none,
	},
	{
		Entry: "Data sources that depend on a module are read after what leaves it is gone", Reason: "the peer reads data of checks before deletions",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' 'sim_objects' 'k_.*\.(ids|names)(\[.*)?`, When: deletesSome,
	},
	{
		Entry: "Data of check blocks is read again only if something is done", Reason: "the peer lists the reads alone",
		Where: "plan|events apply", Path: `\.(resource_changes|planned_values|relevant_attributes).*|data .*`, Weir: "0?", When: onlyCheckReads,
	},
	{
		Entry: "Warnings wait until the configuration can be read", Reason: "the peer goes on",
		Where: "diags (plan|validate)", Path: "warning .*", Weir: "0", When: stoppedInLoading,
	},
	{
		Entry: warnedOnce, Reason: "the peer warns in validation and in planning",
		Where: "diags plan", Path: "warning " + deprecations, When: repeats,
	},
	{
		Entry: warnedOnce, Reason: "nothing that is deprecated is asked of a provider",
		Where: "diags plan", Path: "warning Attribute Deprecated .*", Weir: "0", When: func(f finding) bool { return f.step.RefreshOnly || partial(f) },
	},
	{
		Entry: warnedOnce, Reason: "the peer warns in apply again",
		Where: "diags apply", Path: "warning " + deprecations, Weir: "0", When: toldInPlan,
	},
	{
		Entry: warnedOnce, Reason: "it holds for any instance, the peer waits for one",
		Where: "diags (validate|plan)", Path: "warning Value derived .*", Peer: "0",
	},
	{
		Entry: "Problems have a place where one is to blame", Reason: "the peer has none",
		Where: "diags .*", Path: "(error Cannot delete .*)|error Resource instance managed by newer provider version|warning Resource will be removed from the state", Peer: `\-`, Weir: ".+:[0-9]+",
	},
	{
		Entry: "A creation isn't caused by replace_triggered_by", Reason: "there is nothing to replace",
		Where: "plan", Path: `\.resource_changes.*\.action_reason`, Peer: `"replace_by_triggers"`, Weir: none,
		When: func(f finding) bool { return f.change().is("create") },
	},
	{
		Entry: "Plans warn of what is deleted while it is in use", Reason: "the peer fails in apply",
		Where: "diags plan", Path: "warning Replaced object is still in use .*", Peer: "0",
	},
	{
		Entry: conditionsOfLeases, Reason: "the peer opens for references only",
		Where: "events apply", Path: "(open|close) token .*", Peer: "0", Weir: "1", When: leaseHasConditions,
	},
	{
		Entry: conditionsOfLeases, Reason: "the peer opens for references only",
		Where: "state", Path: `\.check_results.*ephemeral\.sim_token.*\.status`, Peer: `"unknown"`, When: leaseHasConditions,
	},
	{
		Entry: "Conditions never stop -refresh-only", Reason: "the peer's fail for what is gone",
		Where: "exit plan", Path: "plan(; Attempt to get attribute from null value)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return f.step.RefreshOnly },
	},
	{
		Entry: "Conditions never stop -refresh-only", Reason: "the peer's validation does",
		Where: "exit plan", Path: "plan(; Module output value precondition failed)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return f.step.RefreshOnly },
	},
	{
		Entry: "Planning goes on beside a problem", Reason: "the peer stops when validation fails",
		Where: "diags plan", Path: "(error|warning) .*", Peer: "0", When: stoppedInValidation,
	},
	{
		Entry: "Planning goes on beside a problem", Reason: "the peer stops at keys that aren't known",
		Where: "diags plan", Path: "error (Resource (pre|post)condition failed|Module output value precondition failed|Output refers to sensitive values) .*", Peer: "0", When: tellsMore,
	},
	{
		Entry: "Planning goes on beside a problem", Reason: "the peer tells what becomes of other objects",
		Where: "diags plan", Path: "warning Resource will be removed from the state .*", Weir: "0", When: tellsMore,
	},
	{
		Entry: onlyNeeded, Reason: "the peer takes all instances, also those that leave",
		Where: "plan", Path: `\.(resource_changes|planned_values.*\.resources)\[.*`, Weir: none, When: takesMore,
	},
	{
		Entry: onlyNeeded, Reason: "the peer takes all instances, also those that leave",
		Where: "events plan", Path: "read .*", Peer: "1", Weir: "0", When: takesMore,
	},
	{
		Entry: onlyNeeded, Reason: "the peer deletes what the target doesn't need",
		Where: "exit apply", Path: "apply(; Cannot delete .*)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return len(f.step.Targets) > 0 && len(f.more()) > 0 },
	},
	{
		Entry: appliedWhole, Reason: "the peer leaves out what only a provider needed, or what needs an exclusion",
		Where: "events apply|state|cloud", When: leftUndone,
	},
	{
		Entry: outputsLeftOut, Reason: "the peer looks at more validations in apply",
		Where: "state", Path: `\.check_results\[".*\.var\.size'"\]\.(objects|status)`, Peer: `"pass"|{.*"status":"pass"}}`, Weir: `"unknown"|null`,
		When: func(f finding) bool { return partial(f) && !destroys(f) },
	},
	{
		Entry: appliedWhole, Reason: "the peer doesn't look at conditions again",
		Where: "state", Path: `\.check_results.*\.status`, Peer: `"unknown"`, When: func(f finding) bool { return partial(f) && f.statusHolds() },
	},
	{
		Entry: movedDependencies, Reason: "the peer drops them, or leaves the old name",
		Where: "state|plan", Path: `(\.prior_state)?.*\.(depends_on|dependencies)(\[.*)?`, When: dependsOnMoved,
	},
	{
		Entry: movedDependencies, Reason: "the peer deletes what is in use",
		Where: "exit apply", Path: "apply(; Cannot delete .*)+", Peer: "1", Weir: "0", When: movesInState,
	},
	{
		Entry: movedDependencies, Reason: "the peer deletes what is in use",
		Where: "(diags|events) apply", Path: "error Cannot delete .*|delete .* failed", Peer: "1", Weir: "0", When: movesInState,
	},
	{
		Entry: movedDependencies, Reason: "the peer deletes what is in use",
		Where: "events apply|state|cloud", When: func(f finding) bool { return movesInState(f) && keepsInUse(f) },
	},
	{
		Entry: movedDependencies, Reason: "the peer leaves the old name where it leaves the object out",
		Where: "state|plan", Path: `(\.prior_state)?.*\.(depends_on|dependencies)(\[.*)?`, Peer: none, When: namesMoved,
	},
	{
		Entry: letsGoFirst, Reason: "the peer deletes what is in use",
		Where: "exit apply", Path: "apply(; Cannot delete .*)+", Peer: "1", Weir: "0", When: deletedAfterUpdate,
	},
	{
		Entry: letsGoFirst, Reason: "the peer doesn't wait for the update",
		Where: "order apply", Peer: "delete .* before update .*", Weir: "update .* before delete .*",
	},
	{
		Entry: letsGoFirst, Reason: "there was nothing that the deleted object could use",
		Where: "order apply", Peer: "delete .* before create .*", Weir: "create .* before delete .*", When: makesAnew,
	},
	{
		Entry: letsGoFirst, Reason: "what others let go of goes last",
		Where: "order apply", Peer: "delete .* before create .*", Weir: "create .* before delete .*", When: replacesBeside,
	},
	{
		Entry: goesOnBeside, Reason: "the peer waits for blocks",
		Where: "events apply", Path: "(create|update) .*", Peer: "0", Weir: "1", When: goesOn,
	},
	{
		Entry: goesOnBeside, Reason: "the peer waits for blocks",
		Where: "state|cloud", When: goesOn,
	},
	{
		Entry: goesOnBeside, Reason: "the peer waits for blocks",
		Where: "state", Path: `\.check_results.*\.status`, Peer: `"unknown"`, When: func(f finding) bool { return failed(f) && f.statusHolds() },
	},
	{
		Entry: forgottenLate, Reason: "the peer forgets at once",
		Where: "state", Path: `\.resources.*`, Peer: none, When: forgets,
	},
	{
		Entry: forgottenLate, Reason: "with -destroy the peer forgets after what the object needs",
		Where: "state", Path: `\.resources.*`, Weir: none, When: func(f finding) bool { return destroys(f) && forgets(f) },
	},
	{
		Entry: forgottenLate, Reason: "the peer opens what the forgotten object's block names",
		Where: "events apply", Path: "(open|close) token .*", Peer: "1", Weir: "0", When: forgetsSome,
	},
	{
		Entry: "Deposed objects that are gone", Reason: "the peer plans to do nothing",
		Where: "plan", Path: `\.resource_changes.*<deposed>.*`, Peer: `(?s).*"actions":\["no-op"\].*`, Weir: none,
	},
	{
		Entry: "Deposed objects that are gone", Reason: "the peer panics",
		Where: "exit apply", Peer: "11",
	},
	{
		Entry: "Plans that the peers refuse with \"Cycle\"", Reason: "no instances go in a circle",
		Where: "exit plan", Path: "plan; Cycle: .*", Peer: "1", Weir: "0",
	},
	{
		Entry: "replace_triggered_by of a block without instances", Reason: "the peer fails",
		Where: "exit plan", Path: "plan(; no change found for .*)+", Peer: "1", Weir: "0",
	},
	{
		Entry: renamedOnly, Reason: "the peer can't read what it has renamed",
		Where: "exit show", Peer: "1", Weir: "0", When: func(f finding) bool { return len(f.step.Excludes) > 0 },
	},
	{
		Entry: renamedOnly, Reason: "the peer can't read what it has renamed",
		Where: "diags plan", Path: "warning Failed to decode resource from state .*", Peer: "1", Weir: "0",
	},
	{
		Entry: importsAlone, Reason: "the peer reads data",
		Where: "events import", Path: "(data|open|close) .*", Weir: "0",
	},
	{
		Entry: importsAlone, Reason: "the peer warns of what it evaluates",
		Where: "diags import", Path: "warning .*", Weir: "0",
	},
	{
		Entry: deposedAlone, Reason: "the peer waits for what uses the new object",
		Where: "events apply", Path: "delete .*", Peer: "0", Weir: "1", When: failsWithDeposed,
	},
	{
		Entry: deposedAlone, Reason: "the peer waits for what uses the new object",
		Where: "state", Path: `\.resources.*<deposed>.*`, Weir: none, When: failsWithDeposed,
	},
	{
		Entry: deposedAlone, Reason: "the peer waits for what uses the new object",
		Where: "cloud", Weir: "null", When: failsWithDeposed,
	},
}

// Headings that are long, or needed more than once.
const (
	destroysByState    = "Plans to destroy evaluate only what providers are configured with"
	warnedOnce         = "Warnings of what is deprecated come once"
	conditionsOfLeases = "Conditions of ephemeral resources are evaluated"
	onlyNeeded         = "-target takes the instances that are needed"
	letsGoFirst        = "Updates let go before what they used is deleted"
	deposedAlone       = "Deposed objects are deleted whatever becomes of others"
	movedDependencies  = "state mv keeps what depends on the object"
	keptAfterDeletion  = "Objects whose deletion failed stay as they were"
	failedOutputs      = "Outputs of what could not be made"
	storedDependencies = "Stored dependencies are those on objects"
	keptOrder          = "The order that an object has from its users is always stored"
	outputsLeftOut     = "Outputs of what -target or -exclude leaves out"
	appliedWhole       = "A saved -target plan is applied whole"
	goesOnBeside       = "Work goes on beside a failure"
	forgottenLate      = "Objects are forgotten when nothing needs them"
	readsNoData        = "Destruction reads no data"
	renamedOnly        = "What is excluded keeps its type"
	importsAlone       = "import looks at nothing else"
	failedKeepsForget  = "What is never destroyed stays so where an operation fails"
	endedOutputs       = "A targeted destruction ends the outputs of what it destroys"
)

// none is what a side has that lacks something.
const none = "-"

func destroys(f finding) bool { return f.step.Destroy }

func destroysSome(f finding) bool { return destroys(f) && partial(f) }

func destroysAll(f finding) bool { return destroys(f) && !partial(f) }

func partial(f finding) bool { return len(f.step.Targets)+len(f.step.Excludes) > 0 }

// failed reports whether the peer's apply did.
func failed(f finding) bool {
	apply, ok := f.peer.result("apply")
	return ok && apply.Exit != 0
}

// deprecations are the summaries of warnings about what is deprecated.
const deprecations = "(Attribute Deprecated|Variable marked as deprecated by the module author|Value derived from a deprecated source) .*"

// repeats reports whether the peer says more often what weir says too.
func repeats(f finding) bool {
	peer, _ := strconv.Atoi(f.Peer)
	weir, _ := strconv.Atoi(f.Weir)
	return 0 < weir && weir < peer
}

// toldInPlan reports whether weir's plan had the diagnostic.
func toldInPlan(f finding) bool {
	p, ok := f.weir.result("plan")
	return ok && summaries(p.Diags)[f.Path] > 0
}

// stoppedInValidation reports whether the peer found errors before it asked for
// anything, all of which weir has found too.
func stoppedInValidation(f finding) bool {
	p, _ := f.peer.result("plan")
	return len(p.Events) == 0 && tellsMore(f)
}

// tellsMore reports whether both plans fail, and weir has found all the errors of
// the peer.
func tellsMore(f finding) bool {
	p, _ := f.peer.result("plan")
	w, _ := f.weir.result("plan")
	have := summaries(w.Diags)
	for name := range summaries(p.Diags) {
		if strings.HasPrefix(name, "error ") && have[name] == 0 {
			return false
		}
	}
	return p.Exit == 1 && w.Exit == 1
}

// stoppedInLoading reports whether both commands end with the same errors, and
// nothing was asked of a provider.
func stoppedInLoading(f finding) bool {
	command := strings.TrimPrefix(f.Where, "diags ")
	p, _ := f.peer.result(command)
	w, _ := f.weir.result(command)
	if p.Exit != 1 || w.Exit != 1 || len(p.Events)+len(w.Events) > 0 {
		return false
	}
	only := func(list []diagnostic) map[string]int {
		return summaries(slices.DeleteFunc(slices.Clone(list), func(d diagnostic) bool { return d.Severity != "error" }))
	}
	return maps.Equal(only(p.Diags), only(w.Diags))
}

// onlyCheckReads reports whether the peer plans nothing but reads for checks.
func onlyCheckReads(f finding) bool {
	all := f.peer.changes()
	for _, c := range all {
		if !c.is("no-op") && c.Reason != "read_because_check_nested" {
			return false
		}
	}
	return len(all) > 0
}

// leavesMoreAlone reports whether what only weir lists is left as it is.
func (f finding) leavesMoreAlone() bool {
	all := f.weir.changes()
	for address := range f.peer.changes() {
		delete(all, address)
	}
	for _, c := range all {
		if !c.is("no-op") {
			return false
		}
	}
	return len(all) > 0
}

// leaseHasConditions reports whether an ephemeral resource has some.
func leaseHasConditions(f finding) bool {
	return slices.ContainsFunc(f.step.Model.Objects, func(o simtest.Object) bool { return o.Data == "token" && o.Condition.Kind != "" })
}

func movesInState(f finding) bool {
	return slices.ContainsFunc(f.step.Commands, func(c string) bool { return strings.HasPrefix(c, "state mv ") })
}

// deletedAfterUpdate reports whether weir has deleted, after updates, what the
// peer couldn't delete.
func deletedAfterUpdate(f finding) bool {
	apply, _ := f.weir.result("apply")
	updated, deleted := false, map[string]bool{}
	for _, e := range apply.Events {
		if e.Phase == "end" && e.Error == "" {
			updated = updated || e.Op == "update"
			deleted[e.Name] = deleted[e.Name] || e.Op == "delete" && updated
		}
	}
	for problem := range strings.SplitSeq(f.Path, "; ") {
		if name, ok := strings.CutPrefix(problem, "Cannot delete "); ok && !deleted[name] {
			return false
		}
	}
	return true
}

// keepsInUse reports whether a difference is about an object that the peer couldn't
// delete and weir has deleted.
func keepsInUse(f finding) bool {
	gone, _ := f.weir.result("apply")
	stayed, _ := f.peer.result("apply")
	deleted, left := deletions(gone), deletions(stayed)
	for _, c := range f.peer.changes() {
		done, tried := left[c.object()]
		if c.is("delete") && tried && !done && deleted[c.object()] && c.isAbout(f) {
			return true
		}
	}
	return false
}

// deletions are the names of the objects whose deletion a command has tried, and
// whether one succeeded.
func deletions(r result) map[string]bool {
	names := map[string]bool{}
	for _, e := range r.Events {
		if e.Op == "delete" && e.Phase == "end" {
			names[e.Name] = names[e.Name] || e.Error == ""
		}
	}
	return names
}

// deletesSome reports whether weir's apply has deleted objects.
func deletesSome(f finding) bool {
	apply, _ := f.weir.result("apply")
	return slices.Contains(slices.Collect(maps.Values(deletions(apply))), true)
}

// replacesBeside reports whether an object that is replaced is created in another
// order with one that leaves and that something else lets go of.
func replacesBeside(f finding) bool {
	before, after, _ := strings.Cut(strings.TrimPrefix(f.Peer, "delete "), " before create ")
	replaced, leaves, updated := false, false, false
	for _, c := range f.peer.changes() {
		name := c.Type + " " + c.object()
		replaced = replaced || name == after && c.is("delete", "create")
		leaves = leaves || name == before && c.is("delete")
		updated = updated || c.is("update")
	}
	return replaced && leaves && updated
}

// makesAnew reports whether what is created in an order is new.
func makesAnew(f finding) bool {
	_, after, _ := strings.Cut(f.Peer, " before create ")
	for _, c := range f.peer.changes() {
		if c.is("create") && c.Type+" "+c.object() == after {
			return true
		}
	}
	return false
}

// failsWithDeposed reports whether the peer's apply failed and had deposed
// objects to delete.
func failsWithDeposed(f finding) bool {
	shown, _ := f.peer.result("show")
	return failed(f) && deposedChange.Match(shown.Plan)
}

var deposedChange = regexp.MustCompile(`"deposed":"[0-9a-f]{8}"`)

// A change is one in a plan.
type change struct {
	Address  string
	Previous string `json:"previous_address"`
	Reason   string `json:"action_reason"`
	Module   string `json:"module_address"`
	Mode     string
	Type     string
	Name     string
	Deposed  string
	Change   struct {
		Actions []string
		Before  struct{ Name string }
		After   struct{ Name string }
	}
}

func (c change) is(actions ...string) bool { return slices.Equal(c.Change.Actions, actions) }

// object is the name that the object has in the cloud.
func (c change) object() string { return cmp.Or(c.Change.Before.Name, c.Change.After.Name) }

// changes are those that an engine has planned for current objects, by address.
func (o outcome) changes() map[string]change {
	shown, _ := o.result("show")
	var p struct {
		Changes []change `json:"resource_changes"`
	}
	if json.Unmarshal(shown.Plan, &p) != nil {
		return nil
	}
	all := map[string]change{}
	for _, c := range p.Changes {
		if c.Deposed == "" {
			all[c.Address] = c
		}
	}
	return all
}

// change is the peer's change whose address is in the path.
func (f finding) change() change {
	for address, c := range f.peer.changes() {
		if strings.Contains(f.Path, step(compact(address))) {
			return c
		}
	}
	return change{}
}

// more are the changes that only the peer has planned.
func (f finding) more() map[string]change {
	all := f.peer.changes()
	for address := range f.weir.changes() {
		delete(all, address)
	}
	return all
}

// takesMore reports whether a difference is about a change, or an object that
// is left alone, which the peer has for a target and weir hasn't.
func takesMore(f finding) bool {
	if len(f.step.Targets) == 0 {
		return false
	}
	for address, c := range f.more() {
		if c.Mode != "managed" {
			continue
		}
		of := strings.HasSuffix(f.Path, " "+strings.TrimPrefix(c.Type, "sim_")+" "+c.object()) || strings.HasPrefix(f.Path, "read ") && strings.HasSuffix(f.Path, " "+c.object())
		if of || strings.Contains(f.Path, strings.ReplaceAll(compact(address), "\"", "'")) {
			return true
		}
	}
	return false
}

// leftUndone reports whether a difference is about a change that the peer has
// planned and, without a problem, not made.
func leftUndone(f finding) bool {
	apply, ok := f.peer.result("apply")
	if !ok || !partial(f) || apply.Exit != 0 && !onlyForgets(apply) {
		return false
	}
	done := begun(apply)
	for _, c := range f.peer.changes() {
		undone := c.is("forget") && f.Weir == "" || (c.is("update") || c.is("delete")) && c.object() != "" && !done[c.object()]
		if undone && c.isAbout(f) {
			return true
		}
	}
	return false
}

// onlyForgets reports whether an apply failed because it was to destroy and has
// only forgotten.
func onlyForgets(apply result) bool {
	for _, d := range apply.Diags {
		if d.Severity == "error" && d.Summary != "Destroy was successful but left behind forgotten instances" {
			return false
		}
	}
	return true
}

// goesOn reports whether a difference is about what both engines were to make or
// change, and the peer hasn't begun with when its apply failed.
func goesOn(f finding) bool {
	apply, _ := f.peer.result("apply")
	if !failed(f) {
		return false
	}
	done, ours := begun(apply), f.weir.changes()
	for address, c := range f.peer.changes() {
		makes := c.is("create") || c.is("update") || c.is("forget", "create")
		if makes && ours[address].is(c.Change.Actions...) && (c.object() == "" || !done[c.object()]) && c.isAbout(f) {
			return true
		}
	}
	return false
}

// forgets reports whether a difference is about what both engines were to forget
// in an apply that failed.
func forgets(f finding) bool {
	ours := f.weir.changes()
	for address, c := range f.peer.changes() {
		if failed(f) && c.is("forget") && ours[address].is("forget") && c.isAbout(f) {
			return true
		}
	}
	return false
}

// forgetsSome reports whether the peer has something to forget.
func forgetsSome(f finding) bool {
	for _, c := range f.peer.changes() {
		if c.is("forget") {
			return true
		}
	}
	return false
}

// readsData reports whether the peer's plan does.
func (f finding) readsData() bool {
	plan, _ := f.peer.result("plan")
	return slices.ContainsFunc(plan.Events, func(e event) bool { return e.Op == "data" })
}

// forgottenData reports whether the state that the peer's plan begins with lacks
// data that weir's has.
func (f finding) forgottenData() bool {
	have := f.peer.data()
	for address := range f.weir.data() {
		if !have[address] {
			return true
		}
	}
	return false
}

// data are the addresses of data in the state that a plan begins with.
func (o outcome) data() map[string]bool {
	type module struct {
		Resources []struct{ Address, Mode string }
		Children  []*module `json:"child_modules"`
	}
	var p struct {
		Prior struct {
			Values struct {
				Root module `json:"root_module"`
			}
		} `json:"prior_state"`
	}
	shown, _ := o.result("show")
	if json.Unmarshal(shown.Plan, &p) != nil {
		return nil
	}
	all := map[string]bool{}
	for todo := []*module{&p.Prior.Values.Root}; len(todo) > 0; todo = todo[1:] {
		for _, r := range todo[0].Resources {
			all[r.Address] = all[r.Address] || r.Mode == "data"
		}
		todo = append(todo, todo[0].Children...)
	}
	maps.DeleteFunc(all, func(_ string, data bool) bool { return !data })
	return all
}

// begun are the names of the objects that a command has begun to work on.
func begun(r result) map[string]bool {
	names := map[string]bool{}
	for _, e := range r.Events {
		names[e.Name] = true
	}
	return names
}

// isAbout reports whether a difference of events, of the cloud or of a state is
// about the object of a change.
func (c change) isAbout(f finding) bool {
	name := c.object()
	if f.Where == "state" {
		return strings.Contains(f.Path, c.inState())
	}
	return name != "" && (strings.HasSuffix(f.Path, " "+name) || strings.HasPrefix(f.Path, strings.TrimPrefix(c.Type, "sim_")+"-"+name+"-"))
}

// namesMoved reports whether a dependency is the new name of what has moved.
func namesMoved(f finding) bool {
	for _, c := range f.peer.changes() {
		now, old := keys.ReplaceAllString(c.Address, ""), keys.ReplaceAllString(c.Previous, "")
		if c.Previous != "" && now != old && strings.Contains(f.Weir, strconv.Quote(now)) {
			return true
		}
	}
	return false
}

// endsMoreOutputs reports whether the peer ends outputs that weir doesn't know.
func (f finding) endsMoreOutputs() bool {
	all := f.peer.outputs()
	for name := range f.weir.outputs() {
		delete(all, name)
	}
	return len(all) > 0
}

// unknownOutput reports whether the path is that of an output which the peer's
// plan doesn't wholly know.
func (f finding) unknownOutput() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".outputs."), ".")
	return strings.Contains(string(f.peer.outputs()[name].Unknown), "true")
}

// whollyUnknown reports whether the peer's plan knows nothing of the output that a
// path of changes is about.
func (f finding) whollyUnknown() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".output_changes."), ".")
	return string(f.peer.outputs()[name].Unknown) == "true"
}

type output struct {
	Unknown json.RawMessage `json:"after_unknown"`
}

// outputs are the changes of outputs that an engine has planned.
func (o outcome) outputs() map[string]output {
	shown, _ := o.result("show")
	var p struct {
		Outputs map[string]output `json:"output_changes"`
	}
	if json.Unmarshal(shown.Plan, &p) != nil {
		return nil
	}
	return p.Outputs
}

// inState is the step of a path that names the resource in a state.
func (c change) inState() string {
	text := ""
	for _, part := range []string{c.Module, c.Mode, c.Type, c.Name} {
		if part != "" {
			text += " '" + strings.ReplaceAll(part, "\"", "\\'") + "'"
		}
	}
	return "[\"" + strings.TrimPrefix(text, " ") + "\"]"
}

// ofChange reports whether a difference in a state is about a resource that both
// engines create or update.
func ofChange(f finding) bool {
	makes := func(c change) bool { return slices.Contains(c.Change.Actions, "create") || c.is("update") }
	ours := f.weir.changes()
	for address, c := range f.peer.changes() {
		if makes(c) && makes(ours[address]) && strings.Contains(f.Path, c.inState()) {
			return true
		}
	}
	return false
}

func (k *known) fits(d finding) bool {
	for _, part := range [][2]string{{k.Where, d.Where}, {k.Path, d.Path}, {k.Peer, d.Peer}, {k.Weir, d.Weir}} {
		if part[0] == none && part[1] != "" {
			return false
		}
		if part[0] != "" && part[0] != none && !regexp.MustCompile(`(?s)^(?:`+part[0]+`)$`).MatchString(part[1]) {
			return false
		}
	}
	return k.When == nil || k.When(d)
}

// explain finds the known differences among those of a step and of what the
// engines made of it. What is said beside another exit follows from the exit.
func explain(list []difference, step simtest.Step, before world, peer, weir outcome) {
	ended := map[string]*known{}
	for i, d := range list {
		f := finding{difference: d, step: step, before: before, peer: peer, weir: weir}
		for _, k := range knowns {
			if k.fits(f) {
				list[i].Known = k
				break
			}
		}
		if list[i].Known == nil {
			command, ok := strings.CutPrefix(d.Where, "diags ")
			if ok {
				list[i].Known = ended[command]
			}
		}
		if command, ok := strings.CutPrefix(d.Where, "exit "); ok {
			ended[command] = list[i].Known
		}
	}
}
