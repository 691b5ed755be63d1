package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/outline"
	"weir.dev/weir/internal/proof/simtest"
)

// keepsOutput reports whether weir has left an output of the state as it was.
func (f finding) keepsOutput() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".outputs."), ".")
	name, _, _ = strings.Cut(name, "[")
	return compact(f.before.output(name)) == compact(f.weir.After.output(name))
}

// output is one that a state has, nil for none.
func (w world) output(name string) any {
	state, _ := decode(w[stateFile]).(map[string]any)
	outputs, _ := state["outputs"].(map[string]any)
	return outputs[name]
}

// outputFailed reports whether weir has left something undone that the root output of a
// path comes from, or an output's precondition wasn't met.
func (f finding) outputFailed() bool {
	apply, _ := f.weir.result("apply")
	for _, d := range apply.Diags {
		if d.Severity == "error" && d.Summary == "Module output value precondition failed" {
			return true
		}
	}
	config, _ := simtest.Load(f.step.Files())
	if config == nil || config.Tree == nil {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".outputs."), ".")
	name, _, _ = strings.Cut(name, "[")
	from := ancestors(outline.Of(config.Tree), "output."+name)
	for address := range f.undone() {
		if from[keys.ReplaceAllString(address, "")] {
			return true
		}
	}
	return false
}

// outputLeftOut reports whether weir's plan leaves out something of each output that a
// path is about. Where single instances are named it may.
func (f finding) outputLeftOut() bool {
	if strings.Contains(strings.Join(append(slices.Clone(f.step.Targets), f.step.Excludes...), ""), "[") {
		return true
	}
	config, _ := simtest.Load(f.step.Files())
	if config == nil || config.Tree == nil {
		return false
	}
	all := outline.Of(config.Tree)
	taken := map[string]bool{}
	for address := range f.weir.changes() {
		taken[keys.ReplaceAllString(address, "")] = true
	}
	for address := range f.weir.data() {
		taken[keys.ReplaceAllString(address, "")] = true
	}
	complete := func(name string) bool {
		for address := range ancestors(all, "output."+name) {
			if !taken[address] && !strings.Contains("."+address, ".ephemeral.") {
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

// ancestors are the addresses of all resources that a declaration comes from.
func ancestors(all []*outline.Declaration, address string) map[string]bool {
	named := map[string]*outline.Declaration{}
	for _, d := range all {
		named[d.Address()] = d
	}
	found, seen := map[string]bool{}, map[*outline.Declaration]bool{}
	var follow func(*outline.Declaration)
	follow = func(d *outline.Declaration) {
		if d == nil || seen[d] {
			return
		}
		seen[d] = true
		if d.ResourceName().Type != "" {
			found[d.Address()] = true
		}
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

// undone are the addresses of instances with a planned change that weir's
// apply hasn't made, or may not have made where that can't be seen: terraform_data is in
// no cloud, and data that was there before doesn't tell whether it was read.
func (f finding) undone() map[string]bool {
	apply, _ := f.weir.result("apply")
	done, was, now := begun(apply), f.before.instances(), f.weir.After.instances()
	failed := map[string]bool{}
	for _, e := range apply.Events {
		failed[e.Name] = failed[e.Name] || e.Error != ""
	}
	all := map[string]bool{}
	for _, d := range apply.Diags {
		if d.Severity == "error" && d.Address != "" {
			all[d.Address] = true // made, and a provisioner or a condition failed
		}
	}
	for address, c := range f.weir.changes() {
		if c.is("no-op") {
			continue
		}
		name, leaves := c.object(), c.is("delete") || c.is("forget")
		hidden := (c.Type == "terraform_data" || c.Mode == "data") && was[address]
		if now[address] == leaves || hidden || failed[name] || c.Mode == "managed" && name != "" && !leaves && !done[name] {
			all[address] = true
		}
	}
	return all
}

// instances are the addresses of the current objects in a state.
func (w world) instances() map[string]bool {
	var s struct {
		Resources []struct {
			Module, Type, Name, Mode string
			Instances                []struct {
				Key     any `json:"index_key"`
				Deposed string
			}
		}
	}
	all := map[string]bool{}
	if json.Unmarshal(w[stateFile], &s) != nil {
		return all
	}
	for _, r := range s.Resources {
		prefix := map[string]string{"data": "data."}[r.Mode]
		address := strings.TrimPrefix(r.Module+"."+prefix+r.Type+"."+r.Name, ".")
		for _, i := range r.Instances {
			switch {
			case i.Deposed != "":
			case i.Key == nil:
				all[address] = true
			default:
				all[address+"["+compact(i.Key)+"]"] = true
			}
		}
	}
	return all
}

var checkResult = regexp.MustCompile(`^(\.check_results\["(?:[^"])*"\])(?:\.objects\["([^"]*)"\])?\.status$`)

// statusHolds reports whether weir has had the means to find out the status that a path
// of a state's check results is about: that of a resource's instance needs its object,
// made or changed as planned, one that wasn't met was told, and that of a block sums up its instances.
func (f finding) statusHolds() bool {
	m := checkResult.FindStringSubmatch(f.Path)
	if m == nil || f.Weir != `"pass"` && f.Weir != `"fail"` {
		return false
	}
	block, _ := at(decode(f.weir.After[stateFile]), m[1]).(map[string]any)
	objects, _ := block["objects"].(map[string]any)
	if m[2] == "" {
		return len(objects) > 0 && compact(sum(objects)) == f.Weir
	}
	if f.Weir == `"fail"` {
		apply, _ := f.weir.result("apply")
		plan, _ := f.weir.result("plan")
		return slices.ContainsFunc(append(slices.Clone(plan.Diags), apply.Diags...), func(d diagnostic) bool { return unmet.MatchString(d.Summary) })
	}
	if block["object_kind"] != "resource" {
		return true
	}
	address := strings.ReplaceAll(strings.Trim(m[2], "'"), `\'`, `"`)
	return f.weir.After.instances()[address] && !f.undone()[address]
}

// unmet are the summaries of conditions that aren't met.
var unmet = regexp.MustCompile(`^(Resource (pre|post)condition failed|Module output value precondition failed|Check block assertion failed|Invalid value for variable)$`)

// sum is the status of a block with instances of these.
func sum(objects map[string]any) string {
	worst := "pass"
	for _, o := range objects {
		members, _ := o.(map[string]any)
		switch status, _ := members["status"].(string); {
		case status == "error", status == "fail" && worst != "error", status == "unknown" && worst == "pass":
			worst = status
		}
	}
	return worst
}
