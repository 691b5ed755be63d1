package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/testing/simtest"
)

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
		After   struct {
			Name   string
			Filter struct {
				Prefix string `json:"name_prefix"`
			}
		}
	}
}

func (c change) is(actions ...string) bool { return slices.Equal(c.Change.Actions, actions) }

// object is the name that the object has in the cloud.
func (c change) object() string { return cmp.Or(c.Change.Before.Name, c.Change.After.Name) }

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

// isAbout reports whether a difference of events, of the cloud or of a state is
// about the object of a change.
func (c change) isAbout(f finding) bool {
	name := c.object()
	if f.Where == "state" {
		return strings.Contains(f.Path, c.inState())
	}
	return name != "" && (strings.HasSuffix(f.Path, " "+name) || strings.HasPrefix(f.Path, strings.TrimPrefix(c.Type, "sim_")+"-"+name+"-"))
}

// changes are those that an engine has planned for current objects, by address.
func (o outcome) changes() map[string]change {
	all := map[string]change{}
	for _, c := range o.planned() {
		if c.Deposed == "" {
			all[c.Address] = c
		}
	}
	return all
}

// deposed are those for deposed objects, one for each address.
func (o outcome) deposed() map[string]change {
	all := map[string]change{}
	for _, c := range o.planned() {
		if c.Deposed != "" {
			all[c.Address] = c
		}
	}
	return all
}

// planned are all changes of objects that an engine has planned.
func (o outcome) planned() []change {
	shown, _ := o.result("show")
	var p struct {
		Changes []change `json:"resource_changes"`
	}
	if json.Unmarshal(shown.Plan, &p) != nil {
		return nil
	}
	return p.Changes
}

// change is the reference's change whose address is in the path.
func (f finding) change() change {
	for address, c := range f.peer.changes() {
		if strings.Contains(f.Path, step(compact(address))) {
			return c
		}
	}
	return change{}
}

// A found is a resource's instance in the state that a plan begins with.
type found struct {
	Address, Mode string
	Identity      any
}

// found are those that an engine has planned with.
func (o outcome) found() (all []found) {
	type module struct {
		Resources []found
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
	for todo := []*module{&p.Prior.Values.Root}; len(todo) > 0; todo = todo[1:] {
		all = append(all, todo[0].Resources...)
		todo = append(todo, todo[0].Children...)
	}
	return all
}

// data are the addresses of data in the state that a plan begins with.
func (o outcome) data() map[string]bool {
	all := map[string]bool{}
	for _, r := range o.found() {
		if r.Mode == "data" {
			all[r.Address] = true
		}
	}
	return all
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

// output is one that a state has, nil for none.
func (w world) output(name string) any {
	state, _ := decode(w[stateFile]).(map[string]any)
	outputs, _ := state["outputs"].(map[string]any)
	return outputs[name]
}

// A stored resource is one in a state.
type stored struct {
	Module, Mode, Type, Name string
	Instances                []struct {
		Key          any `json:"index_key"`
		Deposed      string
		Attributes   struct{ Name any }
		Dependencies []string
		First        bool `json:"create_before_destroy"`
	}
}

// stored are the resources of the state, none if there is no state.
func (w world) stored() []stored {
	var s struct{ Resources []stored }
	if json.Unmarshal(w[stateFile], &s) != nil {
		return nil
	}
	return s.Resources
}

// address is that of the resource, without keys.
func (r stored) address() string { return stateAddress(r.Module, r.Mode, r.Type, r.Name) }

// instances are the addresses of the current objects in a state.
func (w world) instances() map[string]bool {
	all := map[string]bool{}
	for address := range w.named() {
		all[address] = true
	}
	return all
}

// named are the names of the current objects in a state, by address.
func (w world) named() map[string]string {
	all := map[string]string{}
	for _, r := range w.stored() {
		prefix := map[string]string{"data": "data."}[r.Mode]
		address := strings.TrimPrefix(r.Module+"."+prefix+r.Type+"."+r.Name, ".")
		for _, i := range r.Instances {
			switch name := compact(i.Attributes.Name); {
			case i.Deposed != "":
			case i.Key == nil:
				all[address] = name
			default:
				all[address+"["+compact(i.Key)+"]"] = name
			}
		}
	}
	return all
}

// names reports whether a path of a state or a plan is about the resource of an address.
func (f finding) names(address string) bool {
	resource := keys.ReplaceAllString(address, "")
	rest, name, _ := cutLast(resource, ".")
	_, typ, found := cutLast(rest, ".")
	if !found {
		typ = rest
	}
	return strings.Contains(f.Path, "' '"+typ+"' '"+name+"'") || strings.Contains(f.Path, "[\"'managed' '"+typ+"' '"+name+"'")
}

// resources are the addresses, without keys, of those that a state has objects of.
func (w world) resources() map[string]bool {
	all := map[string]bool{}
	for _, r := range w.stored() {
		if len(r.Instances) > 0 {
			all[r.address()] = true
		}
	}
	return all
}

// dependencies are what the objects of a state depend on, by address without keys.
func (w world) dependencies() map[string][]string {
	all := map[string][]string{}
	for _, r := range w.stored() {
		for _, i := range r.Instances {
			all[r.address()] = append(all[r.address()], i.Dependencies...)
		}
	}
	return all
}

// declarations are those of a step's configuration.
func (f finding) declarations() []*symbols.Declaration {
	if tree := f.tree(); tree != nil {
		return symbols.Of(tree)
	}
	return nil
}

// tree is a step's configuration, nil if it can't be loaded.
func (f finding) tree() *program.Tree {
	config, _ := simtest.Load(f.step.Files())
	if config == nil {
		return nil
	}
	return config.Tree
}

// written are the addresses of the resources whose blocks are of a kind.
func (f finding) written(of func(*program.Resource) bool) map[string]bool {
	found := map[string]bool{}
	var visit func(*program.Tree, addr.Module)
	visit = func(tree *program.Tree, at addr.Module) {
		for _, r := range tree.Program.Resources {
			if of(r) {
				found[strings.TrimPrefix(at.String()+"."+r.Name.String(), ".")] = true
			}
		}
		for _, c := range tree.Program.Calls {
			for _, child := range tree.Of(c.Call) {
				visit(child, at.Child(c.Call, addr.NoKey))
			}
		}
	}
	if tree := f.tree(); tree != nil {
		visit(tree, addr.Root)
	}
	return found
}

// stateAddress is the address, without keys, of a resource in a state.
func stateAddress(module, mode, typ, name string) string {
	prefix := map[string]string{"data": "data.", "ephemeral": "ephemeral."}[mode]
	return keys.ReplaceAllString(strings.TrimPrefix(module+"."+prefix+typ+"."+name, "."), "")
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

// begun are the names of the objects that a command has started to work on.
func begun(r result) map[string]bool {
	names := map[string]bool{}
	for _, e := range r.Events {
		names[e.Name] = true
	}
	return names
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
