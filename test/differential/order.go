package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
)

const (
	keptOrder   = "The order that users give an object is always stored"
	namedAlone  = "A reference to one instance waits only for that instance"
	letsGoFirst = "Updates come before deletions of old dependencies"
)

// ofOrder are about the order of operations, and what is stored of it.
var ofOrder = []*known{
	{
		Entry: keptOrder, Reason: "the reference has no flag where the user doesn't change",
		Where: "state", Path: `\.resources.*\.create_before_destroy`, Peer: none, Weir: "true", When: func(f finding) bool { return ofChange(f) && f.usedByFirst() },
	},
	{
		Entry: keptOrder, Reason: "the reference drops the flag where the user isn't a target",
		Where: "state", Path: `\.resources.*\.create_before_destroy`, Peer: none, Weir: "true", When: func(f finding) bool { return destroysSome(f) && f.wasFirst() },
	},
	{
		Entry: keptOrder, Reason: "the reference stores the order that blocks have by now beside what it destroys",
		Where: "state", Path: `\.resources.*\.create_before_destroy`, Peer: "true", Weir: none, When: func(f finding) bool { return destroysSome(f) && !f.wasFirst() },
	},
	{
		Entry: letsGoFirst, Reason: "the reference deletes what is in use",
		Where: "exit apply", Path: "apply(; Cannot delete .*)+", Peer: "1", Weir: "0", When: deletedAfterUpdate,
	},
	{
		Entry: movedDependencies, Reason: "the reference has lost what the order follows from",
		Where: "events apply|state|cloud", When: waitsForMoved,
	},
	{
		Entry: letsGoFirst, Reason: "the reference doesn't wait for what comes after the change of a user",
		Where: "events apply|state|cloud", When: waitsForUsers,
	},
	{
		Entry: letsGoFirst, Reason: "the reference deletes what is in use",
		Where: "(diags|events) apply|state|cloud", When: func(f finding) bool { return failed(f) && deletesTooEarly(f) },
	},
	{
		Entry: letsGoFirst, Reason: "the reference doesn't wait for the update",
		Where: "order apply", Peer: "delete .* before update .*", Weir: "update .* before delete .*", When: updatesUser,
	},
	{
		Entry: deposedAlone, Reason: "the reference waits for the object in its place",
		Where: "order apply", Peer: "update .* before delete .*", Weir: "delete .* before update .*", When: deletesDeposedFirst,
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
		Entry: namedAlone, Reason: "the reference waits for who uses any instance",
		Where: "order apply", Peer: "(create|update) .* before delete .*", Weir: "delete .* before (create|update) .*", When: deletesOneOf,
	},
	{
		Entry: namedAlone, Reason: "the reference waits for all instances",
		Where: "order apply", Peer: "(create|update) .* before (create|update) .*", Weir: "(create|update) .* before (create|update) .*", When: oneOfSeveral,
	},
	{
		Entry: "Plans that fail with \"Cycle\" elsewhere", Reason: "no instances go in a circle",
		Where: "exit plan", Path: "plan; Cycle: .*", Peer: "1", Weir: "0",
	},
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

// usedByFirst reports whether the object that a path of a state is about comes before one
// with create_before_destroy: by what is written, or in the state before.
func (f finding) usedByFirst() bool {
	address := f.user()
	all := f.declarations()
	for user := range f.written(func(r *program.Resource) bool { return r.CreateBeforeDestroy }) {
		if user == address || ancestors(all, user)[address] != nil {
			return true
		}
		for _, d := range all { // what serves it counts as well
			if d.Kind == symbols.Provider && ancestors(all, d.Address())[address] != nil {
				return true
			}
		}
	}
	for _, r := range f.before.stored() {
		for _, i := range r.Instances {
			if i.First && slices.Contains(i.Dependencies, address) {
				return true
			}
		}
	}
	return false
}

// wasFirst reports whether what a path of a state is about had the flag before.
func (f finding) wasFirst() bool { return at(decode(f.before[stateFile]), f.Path) == true }

// deletedAfterUpdate reports whether weir has deleted, after updates, what the reference
// couldn't delete.
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

// waitsForUsers reports whether a difference is about an object that the reference has deleted
// in an apply that failed, and that weir was to delete after what was changed that depended on
// it.
func waitsForUsers(f finding) bool {
	if !failed(f) {
		return false
	}
	theirs, _ := f.peer.result("apply")
	ours, _ := f.weir.result("apply")
	gone, tried := deletions(theirs), deletions(ours)
	used, all := f.before.dependencies(), f.weir.changes()
	for address, c := range f.peer.changes() {
		_, begun := tried[c.object()]
		if !c.is("delete") || !all[address].is("delete") || !gone[c.object()] || begun || !c.isAbout(f) {
			continue
		}
		for user, on := range used {
			if slices.Contains(on, keys.ReplaceAllString(address, "")) && slices.ContainsFunc(slices.Collect(maps.Values(all)), func(c change) bool {
				return keys.ReplaceAllString(c.Address, "") == user && !c.is("no-op")
			}) {
				return true
			}
		}
	}
	return false
}

// deletesTooEarly reports whether a difference is about an object that weir has deleted after
// updates, or not tried to, as something else failed, and the reference couldn't delete.
func deletesTooEarly(f finding) bool {
	theirs, _ := f.peer.result("apply")
	ours, _ := f.weir.result("apply")
	left, deleted, updated := deletions(theirs), deletions(ours), false
	for _, e := range ours.Events {
		updated = updated || e.Op == "update" && e.Error == ""
	}
	for _, c := range f.peer.changes() {
		name := c.object()
		done, tried := left[name]
		about := c.isAbout(f) || strings.HasPrefix(f.Path, "error Cannot delete "+name+" ") || strings.HasSuffix(f.Path, " "+name+" failed")
		gone, begun := deleted[name]
		if updated && tried && !done && (gone || !begun) && about {
			return true
		}
	}
	return false
}

// deletesDeposedFirst reports whether an order is that of an object with one that was deposed
// in its place.
func deletesDeposedFirst(f finding) bool {
	updated, deleted, _ := strings.Cut(strings.TrimPrefix(f.Peer, "update "), " before delete ")
	for _, r := range f.before.stored() {
		for _, i := range r.Instances {
			if i.Deposed != "" && updated == deleted && updated == r.Type+" "+fmt.Sprint(i.Attributes.Name) {
				return true
			}
		}
	}
	return false
}

// updatesUser reports whether what is updated in an order depended on what is deleted, or
// something else did that is updated: the deletion waits for that, and so comes late.
func updatesUser(f finding) bool {
	used, user, _ := strings.Cut(strings.TrimPrefix(f.Peer, "delete "), " before update ")
	on := dependencies(f.before)
	if on[[2]string{user, used}] {
		return true
	}
	for _, c := range f.weir.changes() {
		if c.is("update") && on[[2]string{c.Type + " " + c.object(), used}] {
			return true
		}
	}
	return false
}

// waitsForMoved reports whether a difference is about an object that weir hasn't deleted, as
// what it depended on has moved and couldn't be changed.
func waitsForMoved(f finding) bool {
	used, undone := f.before.dependencies(), f.undone()
	for address, c := range f.peer.changes() {
		if !failed(f) || !c.is("delete") || !undone[address] || !c.isAbout(f) {
			continue
		}
		for now, moved := range f.weir.changes() {
			old := keys.ReplaceAllString(moved.Previous, "")
			if moved.Previous != "" && undone[now] && slices.Contains(used[keys.ReplaceAllString(address, "")], old) {
				return true
			}
		}
	}
	return false
}

// deletesOneOf reports whether what is deleted in an order is replaced, and one of several instances.
func deletesOneOf(f finding) bool {
	_, deleted, _ := strings.Cut(f.Peer, " before delete ")
	others := map[string]int{}
	for address := range f.peer.changes() {
		others[keys.ReplaceAllString(address, "")]++
	}
	for address, c := range f.peer.changes() {
		if c.Type+" "+c.object() == deleted && c.is("create", "delete") && others[keys.ReplaceAllString(address, "")] > 1 {
			return true
		}
	}
	return false
}

// oneOfSeveral reports whether what the reference does first in an order is one of several
// instances of a block.
func oneOfSeveral(f finding) bool {
	first, _, _ := strings.Cut(f.Peer, " before ")
	_, first, _ = strings.Cut(first, " ")
	others, block := map[string]int{}, ""
	for address, c := range f.peer.changes() {
		resource := keys.ReplaceAllString(address, "")
		others[resource]++
		if c.Type+" "+c.object() == first {
			block = resource
		}
	}
	return others[block] > 1
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
