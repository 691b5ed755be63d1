package main

import (
	"encoding/json"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/outline"
	"weir.dev/weir/internal/proof/simtest"
)

// namesNothing reports whether the dependencies that only the peer has are on
// resources that weir has no objects of, or that the block can only have come from by
// way of such a resource.
func namesNothing(f finding) bool {
	user := f.user()
	if user == "" {
		return false
	}
	came := origins(f.step.Files(), user, f.weir.After.resources())
	missing := quotedNames(f.Peer)
	for address := range missing {
		if came[address] {
			return false
		}
	}
	return len(missing) > 0
}

// dependsOnMoved reports whether what a difference is about are names of what state mv
// has moved, or dependencies that the peer hasn't of an object that depended on it.
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
		same := address == user || is(address, 0) && is(user, 1)
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

// dependencies are what the objects of a state depend on, by address without keys.
func (w world) dependencies() map[string][]string {
	var s struct {
		Resources []struct {
			Module, Type, Name, Mode string
			Instances                []struct{ Dependencies []string }
		}
	}
	all := map[string][]string{}
	if json.Unmarshal(w[stateFile], &s) != nil {
		return all
	}
	for _, r := range s.Resources {
		address := stateAddress(r.Module, r.Mode, r.Type, r.Name)
		for _, i := range r.Instances {
			all[address] = append(all[address], i.Dependencies...)
		}
	}
	return all
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

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// origins are those of the resources in have that an object can have come from by what
// is written, without any that isn't in have between them. What isn't declared any
// more keeps what it has.
func origins(files module.Memory, user string, have map[string]bool) map[string]bool {
	config, _ := simtest.Load(files) // both engines have loaded it
	if config == nil || config.Tree == nil {
		return have
	}
	below := map[string][]string{}
	for _, d := range outline.Of(config.Tree) {
		if d.ResourceName().Type != "" {
			below[d.Address()] = d.DependsOn
		}
	}
	if _, ok := below[user]; !ok {
		return have
	}
	came := map[string]bool{}
	for todo := []string{user}; len(todo) > 0; todo = todo[1:] {
		for _, address := range below[todo[0]] {
			// Ephemeral resources are in no state and lead on.
			if !came[address] && (have[address] || strings.Contains("."+address, ".ephemeral.")) {
				came[address] = true
				todo = append(todo, address)
			}
		}
	}
	return came
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

// at is the part of a document at a path of differences, nil for none.
func at(document any, path string) any {
	if path == "" {
		return document
	}
	members, _ := document.(map[string]any)
	for name, v := range members {
		if rest, ok := strings.CutPrefix(path, step(name)); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return at(v, rest)
		}
	}
	return nil
}

// resources are the addresses, without keys, of those that a state has objects of.
func (w world) resources() map[string]bool {
	var s struct {
		Resources []struct {
			Module, Type, Name, Mode string
			Instances                []json.RawMessage
		}
	}
	all := map[string]bool{}
	if json.Unmarshal(w[stateFile], &s) != nil {
		return all
	}
	for _, r := range s.Resources {
		if len(r.Instances) > 0 {
			all[stateAddress(r.Module, r.Mode, r.Type, r.Name)] = true
		}
	}
	return all
}

// stateAddress is the address, without keys, of a resource in a state.
func stateAddress(module, mode, typ, name string) string {
	prefix := map[string]string{"data": "data.", "ephemeral": "ephemeral."}[mode]
	return keys.ReplaceAllString(strings.TrimPrefix(module+"."+prefix+typ+"."+name, "."), "")
}
