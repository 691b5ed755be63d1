package main

import (
	"slices"
	"strings"
)

const (
	destroysByState = "Plans to destroy evaluate only provider configurations"
	readsNoData     = "Destruction reads no data"
	deposedUsers    = "A targeted destruction takes deposed users too"
	endedOutputs    = "A targeted destruction removes its outputs"
)

// ofDestruction are about plans to destroy and what comes of them.
var ofDestruction = []*known{
	{
		Entry: endedOutputs, Reason: "the reference keeps them",
		Where: "plan", Path: `\.output_changes(\..*)?`, Peer: none, Weir: `.*"actions":\["delete"\].*`, When: destroysSome,
	},
	{
		Entry: endedOutputs, Reason: "what they refer to counts",
		Where: "plan", Path: `\.relevant_attributes(\[.*)?`, Peer: none, When: destroysSome,
	},
	{
		Entry: endedOutputs, Reason: "the reference keeps them",
		Where: "state", Path: `\.outputs\.[^.]*`, Weir: none, When: destroysSome,
	},
	{
		Entry: deposedUsers, Reason: "the reference takes only the current object",
		Where: "plan", Path: `\.resource_changes\[.*'<deposed>'"\]`, Peer: none, When: func(f finding) bool { return destroysSome(f) && len(f.step.Targets) > 0 },
	},
	{
		Entry: deposedUsers, Reason: "the reference takes only the current object",
		Where: "events (plan|apply)|state|cloud", When: takesDeposedUser,
	},
	{
		Entry: destroysByState, Reason: "the reference computes outputs before it ends them",
		Where: "plan", Path: `\.(output_changes|prior_state\.values\.outputs)(\.[^.]*)?`, Weir: none, When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the reference computes outputs before it ends them",
		Where: "plan", Path: `\.(output_changes\.[^.]*\.before(\[.*)?|prior_state\.values\.outputs\..*)`, When: destroys,
	},
	{
		Entry: destroysByState, Reason: "what outputs refer to counts with the reference, also if they were never stored",
		Where: "plan", Path: `\.relevant_attributes(\[.*)?`, Weir: none, When: func(f finding) bool { return destroysAll(f) && f.endsMoreOutputs() },
	},
	{
		Entry: destroysByState, Reason: "the reference evaluates all",
		Where: "exit plan", Path: "plan; .*", Peer: "1", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the reference finds what a plan beside the destruction would replace",
		Where: "diags plan", Path: "error Resource instance cannot be destroyed .*", Weir: "0", When: func(f finding) bool { return destroys(f) && len(f.step.Excludes) > 0 },
	},
	{
		Entry: destroysByState, Reason: "the reference warns of what it evaluates",
		Where: "diags plan", Path: "warning .*", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the reference warns of what it evaluates",
		Where: "diags apply", Path: "warning " + deprecations, Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the reference stores the order that blocks have by now with what isn't destroyed",
		Where: "state", Path: `\.resources.*\.create_before_destroy`, Peer: "true", Weir: none, When: func(f finding) bool { return destroys(f) && failed(f) && f.usedByFirst() },
	},
	{
		Entry: destroysByState, Reason: "the reference reads what targets refer to, and stores what it learns",
		Where: "plan|state", Path: `(\.prior_state.*)?\.resources.*\.identity(_schema_version)?`, Weir: none, When: destroysSome,
	},
	{
		Entry: destroysByState, Reason: "the reference reads data",
		Where: "events plan", Path: "data .*", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "the reference reads what targets refer to, and not what is destroyed with them",
		Where: "events plan", Path: "read .*", When: destroysSome,
	},
	{
		Entry: destroysByState, Reason: "the reference doesn't look at what is destroyed with a target",
		Where: "plan", Path: `\.(prior_state|resource_changes).*\.(identity(_schema_version)?|(before|after)_identity)`, Peer: none, When: func(f finding) bool { return destroysSome(f) && len(f.step.Targets) > 0 },
	},
	{
		Entry: destroysByState, Reason: "the reference opens what nobody needs",
		Where: "events plan", Path: "(open|close) .*", Peer: "1", Weir: "0", When: destroys,
	},
	{
		Entry: destroysByState, Reason: "how it looked doesn't matter",
		Where: "plan", Path: `\.resource_drift(\[.*)?`, Weir: none, When: destroys,
	},
	{
		Entry: destroysByState, Reason: "what a target needs is read through the state",
		Where: "plan", Path: `\.(resource_changes|planned_values.*\.(resources|child_modules))(\[.*)?`, Peer: none, Weir: `(?s).*"name":.*`,
		When: func(f finding) bool { return destroys(f) && partial(f) && f.leavesMoreAlone() },
	},
	{
		Entry: readsNoData, Reason: "the reference forgets data before all is destroyed",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' .*`, Peer: none, When: func(f finding) bool { return destroys(f) && failed(f) },
	},
	{
		Entry: readsNoData, Reason: "the reference forgets what it would read",
		Where: "plan", Path: `\.prior_state.*' 'data' '.*`, Peer: none, Weir: `.*"mode":"data".*`, When: destroys,
	},
	{
		Entry: readsNoData, Reason: "the reference forgets what it would read",
		Where: "plan", Path: `\.prior_state(.*\.(resources|child_modules))?`, Peer: none, When: func(f finding) bool { return destroys(f) && !strings.Contains(f.Weir, `"mode":"managed"`) },
	},
	{
		Entry: readsNoData, Reason: "the reference has forgotten what it would read",
		Where: "state", Path: `\.resources\["'(\S+' ')?data' .*`, Peer: none, When: func(f finding) bool { return destroysSome(f) && f.forgottenData() },
	},
	{
		Entry: readsNoData, Reason: "what the reference has forgotten refers to nothing",
		Where: "plan", Path: `\.relevant_attributes(\[.*)?`, Peer: none, When: func(f finding) bool { return destroysAll(f) && f.forgottenData() },
	},
	{
		Entry: readsNoData, Reason: "what the providers of data are configured with counts with the reference",
		Where: "plan", Path: `\.relevant_attributes(\[.*)?`, Weir: none, When: func(f finding) bool { return destroysAll(f) && f.readsData() },
	},
	{
		Entry: readsNoData, Reason: "the reference reads data",
		Where: "plan", Path: `\.prior_state.*' 'data' '.*\.values\..*`, When: destroys,
	},
	{
		Entry: readsNoData, Reason: "the reference reads data",
		Where: "plan", Path: `\.prior_state.*' 'data' '.*`, Weir: none, When: func(f finding) bool { return destroys(f) && f.readsData() },
	},
}

func destroys(f finding) bool { return f.step.Destroy }

func destroysSome(f finding) bool { return destroys(f) && partial(f) }

func destroysAll(f finding) bool { return destroys(f) && !partial(f) }

// takesDeposedUser reports whether a difference is about an object that weir deletes together
// with a deposed one in its place, and the reference alone.
func takesDeposedUser(f finding) bool {
	theirs := f.peer.deposed()
	for address, c := range f.weir.deposed() {
		if destroysSome(f) && theirs[address].Address == "" && c.is("delete") && f.peer.changes()[address].is("delete") && c.isAbout(f) {
			return true
		}
	}
	return false
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

// readsData reports whether the reference's plan does.
func (f finding) readsData() bool {
	plan, _ := f.peer.result("plan")
	return slices.ContainsFunc(plan.Events, func(e event) bool { return e.Op == "data" })
}

// forgottenData reports whether the state that the reference's plan begins with lacks data
// that weir's has.
func (f finding) forgottenData() bool {
	have := f.peer.data()
	for address := range f.weir.data() {
		if !have[address] {
			return true
		}
	}
	return false
}

// endsMoreOutputs reports whether the reference ends outputs that weir doesn't know.
func (f finding) endsMoreOutputs() bool {
	all := f.peer.outputs()
	for name := range f.weir.outputs() {
		delete(all, name)
	}
	return len(all) > 0
}
