package main

import (
	"strconv"
	"strings"
)

const (
	warnedOnce     = "Deprecation warnings appear once"
	refreshesOn    = "Conditions never stop -refresh-only"
	planningGoesOn = "Planning continues beside a problem"
)

// ofDiagnostics are about what is said, and what stops a command.
var ofDiagnostics = []*known{
	{
		Entry: warnedOnce, Reason: "the reference warns in validation and in planning",
		Where: "diags plan", Path: "warning " + deprecations, When: repeats,
	},
	{
		Entry: warnedOnce, Reason: "nothing that is deprecated is asked of a provider",
		Where: "diags plan", Path: "warning Attribute Deprecated .*", Weir: "0", When: func(f finding) bool { return f.step.RefreshOnly || partial(f) || f.planFailed() },
	},
	{
		Entry: warnedOnce, Reason: "the reference warns in apply again",
		Where: "diags apply", Path: "warning " + deprecations, Weir: "0", When: toldInPlan,
	},
	{
		Entry: warnedOnce, Reason: "it holds for any instance, the reference waits for one",
		Where: "diags (validate|plan)", Path: "warning Value derived .*", Peer: "0",
	},
	{
		Entry: "Problems name the block that causes them", Reason: "the reference has none",
		Where: "diags .*", Path: "(error Cannot delete .*)|error Cannot import non-existent remote object|error Resource instance managed by newer provider version|warning Resource will be removed from the state", Peer: `\-`, Weir: ".+:[0-9]+",
	},
	{
		Entry: "Plans warn about deletions of used objects", Reason: "the reference fails in apply",
		Where: "diags plan", Path: "warning Replaced object is still in use .*", Peer: "0",
	},
	{
		Entry: "moved blocks may be repeated", Reason: "the reference knows no for_each there",
		Where: "exit plan", Path: `plan(; (Unsupported argument|Invalid expression|Invalid "moved" address))+`, Peer: "1", Weir: "0",
	},
	{
		Entry: refreshesOn, Reason: "the reference's fail for what is gone",
		Where: "exit plan", Path: "plan(; Attempt to get attribute from null value)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return f.step.RefreshOnly },
	},
	{
		Entry: refreshesOn, Reason: "the reference's validation does",
		Where: "exit (plan|apply)", Path: "(plan|apply)(; Module output value precondition failed)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return f.step.RefreshOnly },
	},
	{
		Entry: planningGoesOn, Reason: "the reference stops when validation fails",
		Where: "diags plan", Path: "(error|warning) .*", Peer: "0", When: stoppedInValidation,
	},
	{
		Entry: planningGoesOn, Reason: "the reference's providers warn in validation alone",
		Where: "diags plan", Path: "warning Attribute Deprecated .*", Peer: "1", When: stoppedInValidation,
	},
	{
		Entry: planningGoesOn, Reason: "the reference stops at keys that aren't known",
		Where: "diags plan", Path: "error (Invalid (for_each|count) argument|Resource (pre|post)condition failed|Resource instance cannot be destroyed|Module output value precondition failed|Output refers to sensitive values) .*", Peer: "0", When: tellsMore,
	},
	{
		Entry: planningGoesOn, Reason: "with the reference checks wait for all",
		Where: "diags plan", Path: "warning Check block assertion known after apply .*", Peer: "0", When: tellsMore,
	},
	{
		Entry: planningGoesOn, Reason: "the reference stops at one object, weir reports the fate of others",
		Where: "diags plan", Path: "warning Resource will be removed from the state .*", Peer: "0", When: tellsMore,
	},
	{
		Entry: planningGoesOn, Reason: "the reference reports the fate of other objects",
		Where: "diags plan", Path: "warning Resource will be removed from the state .*", Weir: "0", When: tellsMore,
	},
	{
		Entry: "replace_triggered_by of a block without instances", Reason: "the reference fails",
		Where: "exit plan", Path: "plan(; no change found for .*)+", Peer: "1", Weir: "0",
	},
}

// deprecations are the summaries of warnings about what is deprecated.
const deprecations = "(Attribute Deprecated|Variable marked as deprecated by the module author|Value derived from a deprecated source) .*"

// repeats reports whether the reference says more often what weir says too.
func repeats(f finding) bool {
	peer, _ := strconv.Atoi(f.Peer)
	weir, _ := strconv.Atoi(f.Weir)
	return 0 < weir && weir < peer
}

// planFailed reports whether weir's plan did, so that not all providers were asked.
func (f finding) planFailed() bool {
	p, _ := f.weir.result("plan")
	return p.Exit == 1
}

// toldInPlan reports whether weir's plan had the diagnostic.
func toldInPlan(f finding) bool {
	p, ok := f.weir.result("plan")
	return ok && summaries(p.Diags)[f.Path] > 0
}

// stoppedInValidation reports whether the reference found errors before it asked for anything,
// all of which weir has found too.
func stoppedInValidation(f finding) bool {
	p, _ := f.peer.result("plan")
	return len(p.Events) == 0 && tellsMore(f)
}

// tellsMore reports whether both plans fail, and weir has found all the errors of the
// reference.
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
