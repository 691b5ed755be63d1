package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	readsByInstance = "Reads are deferred by instance"
	graphInPlan     = "Plan JSON has the execution graph"
)

// ofGrids are about references between single instances.
var ofGrids = []*known{
	{
		Entry: graphInPlan, Reason: "the reference has none",
		Where: "plan", Path: `\.execution_graph`, Peer: none,
	},
	{
		Entry: graphInPlan, Reason: "what a read waits for",
		Where: "plan", Path: `\.resource_changes\["'?data\..*\.awaits`, Peer: none,
	},
	{
		Entry: namedAlone, Reason: "the reference stores no instances",
		Where: "state", Path: `\.resources.*\.dependency_keys`, Peer: none,
	},
	{
		Entry: storedDependencies, Reason: "the reference stores what other instances use",
		Where: "state", Path: `\.resources.*\.dependencies(\[.*)?`, Weir: none, When: usedByOthers,
	},
	{
		Entry: storedDependencies, Reason: "the reference shows what other instances use",
		Where: "plan", Path: `\.prior_state.*\.depends_on(\[.*)?`, Weir: none, When: usedByOthers,
	},
	{
		Entry: readsByInstance, Reason: "the reference waits for all instances",
		Where: "plan", Path: `\.(resource_changes|planned_values.*\.resources)\["'?data\.[^.]*\.[^.]*`, Weir: none, When: readsSooner,
	},
	{
		Entry: readsByInstance, Reason: "the result is known while planning",
		Where: "plan", Path: `\.prior_state.*\.resources\["'?data\.[^.]*\.[^.]*`, Peer: none, When: readsSooner,
	},
	{
		Entry: readsByInstance, Reason: "the data that the reference reads in apply is configured with it",
		Where: "plan", Path: `\.relevant_attributes.*`, Weir: none, When: readsSooner,
	},
	{
		Entry: readsByInstance, Reason: "the reference reads in apply",
		Where: "events (plan|apply)", Path: "data (object|objects) .*", When: readsSooner,
	},
	{
		Entry: readsByInstance, Reason: "the reference's apply failed before it read",
		Where: "state", Path: `\.resources\["'data' .*`, Peer: none, When: func(f finding) bool { return failed(f) && readsSooner(f) },
	},
	{
		Entry: "Modules without objects are in no state", Reason: "a block without instances stayed in the reference's state",
		Where: "plan", Path: `\.prior_state`, Peer: `\{"values":\{"root_module":\{\}\}\}`, Weir: none,
	},
	{
		Entry: "Data sources with equal arguments are read once", Reason: "the reference reads each",
		Where: "events plan", Path: "data objects nothing", Peer: "[2-4]", Weir: "1", When: func(finding) bool { return *grids },
	},
	{
		Entry: "Deprecated attributes count where they are named", Reason: "a block is repeated over whole objects",
		Where: "diags (plan|apply)", Path: "warning " + deprecations, Weir: "0", When: func(finding) bool { return *grids },
	},
	{
		Entry: namedAlone, Reason: "the objects don't use one another",
		Where: "order apply", When: apartInGrid,
	},
}

// spot is the name that the instance in a path of a grid has in the cloud.
func spot(path string) string {
	at := instancePath.FindStringSubmatch(path)
	if at == nil {
		return ""
	}
	return at[1] + "-" + strings.Trim(at[2], `"'\[]`)
}

var instancePath = regexp.MustCompile(`\b(b\d)\b[^.]*?(?:\.instances)?\[["\\']*(\w+)["\\']*\]`)

// using are the names of the objects that each object of a cloud has the ids of, directly or
// through others. Of two with one name the older one is deposed, and the newer one counts.
func (w world) using() map[string]map[string]bool {
	type object struct {
		ID, Name   string
		Attributes json.RawMessage
	}
	var all []object
	for _, name := range slices.Sorted(maps.Keys(w)) {
		var o object
		if strings.HasPrefix(name, cloudDir+"/objects/") && json.Unmarshal(w[name], &o) == nil {
			all = append(all, o)
		}
	}
	uses := map[string]map[string]bool{}
	for _, o := range all {
		uses[o.Name] = map[string]bool{}
		for _, other := range all {
			if other.ID != o.ID && strings.Contains(string(o.Attributes), other.ID) {
				uses[o.Name][other.Name] = true
			}
		}
	}
	for range all { // as long as a chain can be
		for _, direct := range uses {
			for name := range maps.Clone(direct) {
				maps.Copy(direct, uses[name])
			}
		}
	}
	return uses
}

// usedByOthers reports whether the object whose dependencies a path is about uses nothing of
// the blocks that only the reference has there.
func usedByOthers(f finding) bool {
	name, blocks := spot(f.Path), gridBlock.FindAllString(f.Peer, -1)
	if !*grids || name == "" || len(blocks) == 0 {
		return false
	}
	world := f.weir.After
	if f.Where == "plan" {
		world = f.before
	}
	for used := range world.using()[name] {
		for _, block := range blocks {
			if strings.HasPrefix(used, block+"-") {
				return false
			}
		}
	}
	return true
}

var gridBlock = regexp.MustCompile(`\bb\d\b`)

// readsSooner reports whether a difference is about data that only the reference reads in
// apply, and weir changes nothing that it reads.
func readsSooner(f finding) bool {
	if !*grids {
		return false
	}
	ours, files := f.weir.changes(), f.step.Files()
	for address, c := range f.peer.changes() {
		if c.Mode != "data" || !c.is("read") || ours[address].Address != "" {
			continue
		}
		of := strings.TrimPrefix(address, "data.")
		if c.Type == "sim_objects" {
			block := regexp.MustCompile(`data "sim_objects" "` + c.Name + `" \{[^$]*?depends_on = \[(.*)\]\n`).FindSubmatch(files["main.tf"])
			if block == nil {
				return false
			}
			of = string(block[1])
		} else if strings.Contains(string(files["main.tf"]), `module "`+c.Name+`"`) {
			of = strings.Replace(of, "sim_object."+c.Name, "module."+c.Name, 1) + ".sim_object.in"
		}
		used, planned := ours[of]
		replaced := used.is("create") || used.is("delete", "create") || used.is("create", "delete")
		if planned && (replaced || !used.is("no-op") && !strings.HasPrefix(of, "module.")) {
			continue
		}
		switch {
		case f.Where == "state":
			if c.isAbout(f) {
				return true
			}
		case strings.HasPrefix(f.Path, ".relevant_attributes"):
			if strings.Contains(f.Path+f.Peer, keys.ReplaceAllString(of, "")) {
				return true
			}
		case strings.HasPrefix(f.Where, "events") && c.Type == "sim_objects":
			if strings.HasPrefix(f.Path, "data objects ") {
				return true
			}
		case strings.HasPrefix(f.Where, "events"):
			if strings.HasPrefix(f.Path, "data object object-"+spot(address)+"-") {
				return true
			}
		case strings.Contains(f.Path, step(compact(address))[2:len(step(compact(address)))-2]):
			return true
		}
	}
	return false
}

// apartInGrid reports whether two objects whose order differs don't use one another, before
// and after.
func apartInGrid(f finding) bool {
	first, second, ok := strings.Cut(f.Peer, " before ")
	if !*grids || !ok {
		return false
	}
	a, b := first[strings.LastIndex(first, " ")+1:], second[strings.LastIndex(second, " ")+1:]
	for _, w := range []world{f.before, f.weir.After} {
		uses := w.using()
		if a == b || uses[a][b] || uses[b][a] {
			return false
		}
	}
	return true
}
