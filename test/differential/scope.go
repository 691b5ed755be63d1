package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/lang/symbols"
)

const (
	outputsLeftOut = "Outputs outside of -target or -exclude"
	onlyNeeded     = "-target takes the instances that are needed"
	appliedWhole   = "A saved -target plan is applied whole"
	renamedOnly    = "Excluded objects keep their address and type"
)

// ofScope are about -target and -exclude.
var ofScope = []*known{
	{
		Entry: outputsLeftOut, Reason: "what can't be computed stays",
		Where: "state|plan", Path: `(\.prior_state\.values|\.planned_values)?\.(outputs|output_changes)(\..*)?`,
		When: func(f finding) bool { return partial(f) && !destroys(f) && f.outputLeftOut() },
	},
	{
		Entry: outputsLeftOut, Reason: "the reference computes them in apply",
		Where: "exit apply", Path: "apply(; Output refers to sensitive values)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return partial(f) && !destroys(f) },
	},
	{
		Entry: onlyNeeded, Reason: "the reference takes all instances, also those that leave",
		Where: "plan", Path: `\.(resource_changes|planned_values.*\.(resources|child_modules))(\[.*)?`, Weir: none, When: takesMore,
	},
	{
		Entry: onlyNeeded, Reason: "the reference takes all instances, also those that leave",
		Where: "events plan", Path: "read .*", Peer: "1", Weir: "0", When: takesMore,
	},
	{
		Entry: onlyNeeded, Reason: "the reference deletes what the target doesn't need",
		Where: "exit apply", Path: "apply(; Cannot delete .*)+", Peer: "1", Weir: "0",
		When: func(f finding) bool { return len(f.step.Targets) > 0 && len(f.more()) > 0 },
	},
	{
		Entry: onlyNeeded, Reason: "the reference changes what the target doesn't need",
		Where: "events apply|state|cloud", When: takesMore,
	},
	{
		Entry: onlyNeeded, Reason: "the reference deletes what the target doesn't need",
		Where: "events apply|cloud", When: deletesMore,
	},
	{
		Entry: onlyNeeded, Reason: "what is changed without need refers to more",
		Where: "plan", Path: `\.relevant_attributes\[.*`, Weir: none,
		When: func(f finding) bool { return len(f.step.Targets) > 0 && len(f.more()) > 0 },
	},
	{
		Entry: appliedWhole, Reason: "the reference leaves out what only a provider needed, or what needs an exclusion",
		Where: "events apply|state|cloud", When: leftUndone,
	},
	{
		Entry: outputsLeftOut, Reason: "the reference looks at more validations in apply",
		Where: "state", Path: `\.check_results\[".*\.var\.size'"\]\.(objects|status)`, Peer: `"pass"|{.*"status":"pass"}}`, Weir: `"unknown"|null`,
		When: func(f finding) bool { return partial(f) && !destroys(f) },
	},
	{
		Entry: outputsLeftOut, Reason: "the reference counts what blocks without instances refer to",
		Where: "plan", Path: `\.relevant_attributes(\[.*)?`, Weir: none, When: func(f finding) bool { return partial(f) && !f.drifted() },
	},
	{
		Entry: outputsLeftOut, Reason: "the reference knows of modules that have no instances",
		Where: "state|plan", Path: `\.(check_results|checks)\[.*\]\.status`, Peer: `"pass"`, Weir: `"unknown"`,
		When: func(f finding) bool { return partial(f) && f.checksNothing() },
	},
	{
		Entry: appliedWhole, Reason: "the reference doesn't look at conditions again",
		Where: "state", Path: `\.check_results.*\.status`, Peer: `"unknown"`, When: func(f finding) bool { return partial(f) && f.statusHolds() },
	},
	{
		Entry: renamedOnly, Reason: "the reference can't read what it has renamed",
		Where: "exit show", Peer: "1", Weir: "0", When: func(f finding) bool { return len(f.step.Excludes) > 0 },
	},
	{
		Entry: renamedOnly, Reason: "the reference moves it",
		Where: "state|plan", Path: `(\.prior_state.*)?\.resources\[.*\]`, When: movesExcluded,
	},
	{
		Entry: renamedOnly, Reason: "the reference can't read what it has renamed",
		Where: "diags plan", Path: "warning Failed to decode resource from state .*", Peer: "1", Weir: "0",
	},
}

func partial(f finding) bool { return len(f.step.Targets)+len(f.step.Excludes) > 0 }

// outputLeftOut reports whether weir's plan leaves out something of each output that a
// path is about. Where single instances are named it may.
func (f finding) outputLeftOut() bool {
	if strings.Contains(strings.Join(append(slices.Clone(f.step.Targets), f.step.Excludes...), ""), "[") {
		return true
	}
	all := f.declarations()
	taken := map[string]bool{}
	for address := range f.weir.changes() {
		taken[keys.ReplaceAllString(address, "")] = true
	}
	for address := range f.weir.data() {
		taken[keys.ReplaceAllString(address, "")] = true
	}
	complete := func(name string) bool {
		for address, d := range ancestors(all, "output."+name) {
			if d.ResourceName().Type != "" && !taken[address] && d.Kind != symbols.Temporal {
				return false
			}
		}
		return true
	}
	return !slices.ContainsFunc(f.outputNames(), complete)
}

var ofOutput = regexp.MustCompile(`^[a-z_.]*\.(?:outputs|output_changes)(?:\.([a-z0-9_]+))?`)

// outputNames are the root outputs that a path is about: one, or those that one of the
// engines has and the other none of.
func (f finding) outputNames() []string {
	if m := ofOutput.FindStringSubmatch(f.Path); m != nil && m[1] != "" {
		return m[1:]
	}
	outputs, _ := decode([]byte(f.Peer + f.Weir)).(map[string]any)
	return sortedKeys(outputs)
}

// drifted reports whether something has changed outside, so that it matters what is relevant.
func (f finding) drifted() bool {
	shown, _ := f.peer.result("show")
	drift := at(decode(shown.Plan), ".resource_drift")
	return drift != nil && compact(drift) != "{}" && compact(drift) != "[]"
}

// checksNothing reports whether the block of a path of check results has no instances.
func (f finding) checksNothing() bool {
	document := f.peer.After[stateFile]
	if f.Where == "plan" {
		shown, _ := f.peer.result("show")
		document = shown.Plan
	}
	block, _ := at(decode(document), strings.TrimSuffix(f.Path, ".status")).(map[string]any)
	return block != nil && block["objects"] == nil && block["instances"] == nil
}

// ancestors are the declarations that one comes from, and itself, by their addresses.
func ancestors(all []*symbols.Declaration, address string) map[string]*symbols.Declaration {
	named := map[string]*symbols.Declaration{}
	for _, d := range all {
		named[d.Address()] = d
	}
	found := map[string]*symbols.Declaration{}
	var follow func(*symbols.Declaration)
	follow = func(d *symbols.Declaration) {
		if d == nil || found[d.Address()] != nil {
			return
		}
		found[d.Address()] = d
		for _, r := range d.Refers {
			follow(r.To)
		}
		if !d.Module.IsRoot() {
			follow(named[d.Module.String()]) // its call
		}
	}
	follow(named[address])
	return found
}

// more are the changes that only the reference has planned.
func (f finding) more() map[string]change {
	all := f.peer.changes()
	for address := range f.weir.changes() {
		delete(all, address)
	}
	return all
}

// takesMore reports whether a difference is about a change, or an object that is left alone,
// which the reference has for a target and weir hasn't.
func takesMore(f finding) bool {
	if len(f.step.Targets) == 0 {
		return false
	}
	for address, c := range f.more() {
		if c.Mode != "managed" {
			continue
		}
		of := strings.HasSuffix(f.Path, " "+strings.TrimPrefix(c.Type, "sim_")+" "+c.object()) || strings.HasPrefix(f.Path, "read ") && strings.HasSuffix(f.Path, " "+c.object())
		of = of || f.Where == "plan" && strings.Contains(f.Peer, strconv.Quote(address))
		if of || (f.Where == "state" || f.Where == "cloud") && c.isAbout(f) || strings.Contains(f.Path, strings.ReplaceAll(compact(address), "\"", "'")) {
			return true
		}
	}
	return false
}

// deletesMore reports whether a difference is about an object that only the reference deletes
// for a target.
func deletesMore(f finding) bool {
	apply, _ := f.peer.result("apply")
	gone := deletions(apply)
	for _, c := range f.more() {
		if len(f.step.Targets) > 0 && c.is("delete") && gone[c.object()] && c.isAbout(f) {
			return true
		}
	}
	return false
}

// movesExcluded reports whether a difference is about a resource that an exclusion leaves out,
// and that the reference has under the name to which only it has moved it.
func movesExcluded(f finding) bool {
	if len(f.step.Excludes) == 0 {
		return false
	}
	had, ours, theirs := f.before.named(), f.weir.After.named(), f.peer.After.named()
	for old, name := range ours {
		for now, same := range theirs {
			stays := had[old] != "" && theirs[old] == "" && had[now] == "" && ours[now] == "" && name == same
			if stays && f.weir.changes()[old].Address == "" && (f.names(old) || f.names(now)) {
				return true
			}
		}
	}
	return false
}

// leftUndone reports whether a difference is about a change that the reference has planned
// and, without a problem, not made.
func leftUndone(f finding) bool {
	apply, ok := f.peer.result("apply")
	if !ok || !partial(f) || apply.Exit != 0 && !onlyForgets(apply) {
		return false
	}
	done := begun(apply)
	for _, c := range f.peer.changes() {
		undone := c.is("forget") && f.Weir == "" || (c.is("update") || c.is("delete")) && c.object() != "" && !done[c.object()]
		_, deleted := deletions(apply)[c.object()]
		undone = undone || c.is("create", "delete") && !deleted && f.ofDeletion()
		if undone && c.isAbout(f) {
			return true
		}
	}
	return false
}

// ofDeletion reports whether a difference is about a deletion, or an object that is gone with weir alone.
func (f finding) ofDeletion() bool {
	return strings.HasPrefix(f.Path, "delete ") || f.Where == "cloud" && f.Weir == "null" || strings.Contains(f.Path, "<deposed>") && f.Weir == ""
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
