package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/testing/simtest"
)

const (
	storedDependencies = "Stored dependencies are those on objects"
	movedDependencies  = "state mv keeps dependents of the object"
)

// ofDependencies are about stored dependencies, and what state mv makes of them.
var ofDependencies = []*known{
	{
		Entry: storedDependencies, Reason: "the reference stores what is only named",
		Where: "state", Path: `\.resources.*\.dependencies(\[.*)?`, Weir: none, When: namesNothing,
	},
	{
		Entry: storedDependencies, Reason: "the reference shows what is only named",
		Where: "plan", Path: `\.prior_state.*\.depends_on(\[.*)?`, Weir: none, When: namesNothing,
	},
	{
		Entry: storedDependencies, Reason: "the reference stores what blocks name by now with -refresh-only",
		Where: "state|plan", Path: `(\.prior_state)?.*\.(depends_on|dependencies)(\[.*)?`, Weir: none, When: namedSince,
	},
	{
		Entry: storedDependencies, Reason: "the reference drops what blocks no longer name before it destroys",
		Where: "plan", Path: `\.prior_state.*\.depends_on(\[.*)?`, Peer: none, When: destroys,
	},
	{
		Entry: movedDependencies, Reason: "the reference drops them, or leaves the old name",
		Where: "state|plan", Path: `(\.prior_state)?.*\.(depends_on|dependencies)(\[.*)?`, When: dependsOnMoved,
	},
	{
		Entry: movedDependencies, Reason: "the reference deletes what is in use",
		Where: "order apply", Peer: "delete .* before (delete|create) .*", When: waitedForUser,
	},
	{
		Entry: movedDependencies, Reason: "the reference deletes what an exclusion needs",
		Where: "plan", Path: `\.resource_changes(\[.*)?`, Peer: `.*"actions":\["delete"\].*`, Weir: none, When: func(f finding) bool { return destroysSome(f) && movesInState(f) },
	},
	{
		Entry: movedDependencies, Reason: "the reference deletes what an exclusion needs",
		Where: "events (plan|apply)|state|cloud", When: destroysNeeded,
	},
	{
		Entry: movedDependencies, Reason: "the reference deletes what is in use",
		Where: "exit apply", Path: "apply(; Cannot delete .*)+", Peer: "1", Weir: "0", When: movesInState,
	},
	{
		Entry: movedDependencies, Reason: "the reference deletes what is in use",
		Where: "(diags|events) apply", Path: "error Cannot delete .*|delete .* failed", Peer: "1", Weir: "0", When: movesInState,
	},
	{
		Entry: movedDependencies, Reason: "the reference deletes what is in use",
		Where: "events apply|state|cloud", When: func(f finding) bool { return movesInState(f) && keepsInUse(f) },
	},
	{
		Entry: movedDependencies, Reason: "the reference leaves the old name where it leaves the object out",
		Where: "state|plan", Path: `(\.prior_state)?.*\.(depends_on|dependencies)(\[.*)?`, Peer: none, When: namesMoved,
	},
}

// namesNothing reports whether the dependencies that only the reference has are on resources
// that weir has no objects of, or that the block can only have come from by way of such a
// resource.
func namesNothing(f finding) bool {
	user := f.user()
	if user == "" {
		return false
	}
	have := f.weir.After.resources()
	for address, c := range f.weir.changes() {
		if c.is("delete") || c.is("forget") {
			delete(have, keys.ReplaceAllString(address, ""))
		}
	}
	for address, c := range f.weir.changes() {
		if !c.is("delete") && !c.is("forget") {
			have[keys.ReplaceAllString(address, "")] = true
		}
	}
	came := origins(f.step.Files(), user, have)
	missing := quotedNames(f.Peer)
	for address := range missing {
		if came[address] {
			return false
		}
	}
	return len(missing) > 0
}

// namedSince reports whether the dependencies that only the reference has are on what the
// block names and the object, which is only looked at, didn't depend on before.
func namedSince(f finding) bool {
	user, had := f.user(), f.before.dependencies()
	if !f.step.RefreshOnly || user == "" {
		return false
	}
	from := ancestors(f.declarations(), user)
	for address := range quotedNames(f.Peer) {
		if from[address] == nil || slices.Contains(had[user], address) {
			return false
		}
	}
	return true
}

// user is the address, without keys, of the object whose dependencies a path is about,
// empty if it isn't found.
func (f finding) user() string {
	document, path, ok := f.peer.After[stateFile], f.Path, false
	if f.Where == "plan" {
		shown, _ := f.peer.result("show")
		document = shown.Plan
		path, _, ok = cutLast(path, ".depends_on")
	} else {
		path, _, ok = cutLast(path, ".instances[")
	}
	if !ok {
		return ""
	}
	var r struct{ Address, Module, Mode, Type, Name string }
	if json.Unmarshal([]byte(compact(at(decode(document), path))), &r) != nil {
		return ""
	}
	if r.Address == "" {
		return stateAddress(r.Module, r.Mode, r.Type, r.Name)
	}
	return keys.ReplaceAllString(r.Address, "")
}

// origins are those of the resources in have that an object can have come from by what is
// written, without any that isn't in have between them. Anything that isn't declared any more
// keeps what it has.
func origins(files module.Memory, user string, have map[string]bool) map[string]bool {
	config, _ := simtest.Load(files) // both engines have loaded it
	if config == nil || config.Tree == nil {
		return have
	}
	below, lead := map[string][]string{}, map[string]bool{}
	for _, d := range symbols.Of(config.Tree) {
		if d.ResourceName().Type == "" {
			continue
		}
		below[d.Address()] = d.DependsOn
		// Ephemeral resources are in no state and lead on, unless there may be none.
		lead[d.Address()] = d.Kind == symbols.Temporal && d.Repeat != "enabled"
	}
	if _, ok := below[user]; !ok {
		return have
	}
	came := map[string]bool{}
	for todo := []string{user}; len(todo) > 0; todo = todo[1:] {
		for _, address := range below[todo[0]] {
			if !came[address] && (have[address] || lead[address]) {
				came[address] = true
				todo = append(todo, address)
			}
		}
	}
	return came
}

// dependsOnMoved reports whether what a difference is about are names of what state mv has
// moved, or dependencies that the reference hasn't of an object that depended on it.
func dependsOnMoved(f finding) bool {
	var moved [][2]string
	for _, command := range f.step.Commands {
		if words := strings.Fields(command); len(words) == 4 && strings.HasPrefix(command, "state mv ") {
			moved = append(moved, [2]string{keys.ReplaceAllString(words[2], ""), keys.ReplaceAllString(words[3], "")})
		}
	}
	is := func(address string, side int) bool {
		return slices.ContainsFunc(moved, func(m [2]string) bool { return address == m[side] || strings.HasPrefix(address, m[side]+".") })
	}
	user, forgets := f.user(), false
	for address, list := range f.before.dependencies() {
		same := address == user || address == f.previous(user) || is(address, 0) && is(user, 1)
		forgets = forgets || same && f.Peer == "" && slices.ContainsFunc(list, func(d string) bool { return is(d, 0) })
	}
	names := quotedNames(f.Peer + f.Weir)
	for name := range names {
		if !forgets && !is(name, 0) && !is(name, 1) {
			return false
		}
	}
	return len(names) > 0
}

// destroysNeeded reports whether a difference is about an object that only the reference
// destroys beside an exclusion, after state mv.
func destroysNeeded(f finding) bool {
	for _, c := range f.more() {
		if destroysSome(f) && movesInState(f) && len(f.step.Excludes) > 0 && c.is("delete") && c.isAbout(f) {
			return true
		}
	}
	return false
}

// waitedForUser reports whether what the reference deletes first was used by the other object,
// before state mv.
func waitedForUser(f finding) bool {
	used, user, _ := strings.Cut(strings.TrimPrefix(f.Peer, "delete "), " before ")
	_, user, _ = strings.Cut(user, " ")
	return movesInState(f) && dependencies(f.before)[[2]string{user, used}]
}

// previous is the address, without keys, that a resource has moved from by what is written,
// empty for none.
func (f finding) previous(address string) string {
	for _, c := range f.weir.changes() {
		if c.Previous != "" && keys.ReplaceAllString(c.Address, "") == address {
			return keys.ReplaceAllString(c.Previous, "")
		}
	}
	return ""
}

func movesInState(f finding) bool {
	return slices.ContainsFunc(f.step.Commands, func(c string) bool { return strings.HasPrefix(c, "state mv ") })
}

// keepsInUse reports whether a difference is about an object that the reference couldn't
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

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// quotedNames are the texts in a JSON value.
func quotedNames(text string) map[string]bool {
	names := map[string]bool{}
	for _, name := range quoted.FindAllString(text, -1) {
		if name = strings.Trim(name, "\"\\"); name != "" {
			names[name] = true
		}
	}
	return names
}
