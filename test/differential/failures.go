package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
)

const (
	keptAfterDeletion = "Objects whose deletion failed stay unchanged"
	failedOutputs     = "Outputs of objects that failed"
	failedKeepsForget = "`destroy = false` survives a failed operation"
	goesOnBeside      = "Work continues beside a failure"
	forgottenLate     = "Objects are forgotten when nothing needs them"
	deposedAlone      = "Deposed objects are deleted despite other failures"
	alwaysClosed      = "Ephemeral resources are closed after failures"
)

// ofFailures are about what an apply leaves that fails.
var ofFailures = []*known{
	{
		Entry: keptAfterDeletion, Reason: "the reference forgets identity, marks and order",
		Where: "state", Path: `\.resources.*\.(identity|identity_schema_version|create_before_destroy|sensitive_attributes\[.*|dependencies(\[.*)?)`,
		Peer: none, When: func(f finding) bool { return failed(f) && (f.hadBefore() || f.learned()) },
	},
	{
		Entry: failedOutputs, Reason: "the reference stores what the plan knew",
		Where: "state", Path: `\.outputs\..*`, When: func(f finding) bool { return failed(f) && f.keepsOutput() && f.outputFailed() },
	},
	{
		Entry: "Objects keep their provider until another one changes them", Reason: "the reference goes by who has looked at it",
		Where: "state", Path: `\.resources.*\.provider`, When: func(f finding) bool { return failed(f) || f.step.RefreshOnly },
	},
	{
		Entry: failedKeepsForget, Reason: "the reference forgets that it is never destroyed",
		Where: "state", Path: `\.resources.*\.skip_destroy`, Peer: none, Weir: "true", When: func(f finding) bool { return failed(f) && f.neverDestroyed() },
	},
	{
		Entry: goesOnBeside, Reason: "the reference waits for blocks",
		Where: "events apply", Path: "(create|update|delete) .*", Peer: "0", Weir: "1", When: goesOn,
	},
	{
		Entry: goesOnBeside, Reason: "the reference waits for blocks",
		Where: "state|cloud", When: goesOn,
	},
	{
		Entry: goesOnBeside, Reason: "the reference waits for blocks before it reads",
		Where: "(diags|events) apply|state", Path: `(error Cannot )?data .*|\.resources\["'(\S+' ')?data' .*`, Peer: "0?", When: readsOn,
	},
	{
		Entry: goesOnBeside, Reason: "the reference waits for blocks before it reads",
		Where: "events apply", Path: "data .*", Peer: "[1-9]", Weir: "[1-9]", When: func(f finding) bool { return f.Peer < f.Weir && readsOn(f) },
	},
	{
		Entry: letsGoFirst, Reason: "the update failed",
		Where: "events apply|state|cloud", When: waitsForFailedUpdate,
	},
	{
		Entry: goesOnBeside, Reason: "the reference waits for blocks",
		Where: "state", Path: `\.check_results.*\.status`, Peer: `"unknown"`, When: func(f finding) bool { return failed(f) && f.statusHolds() },
	},
	{
		Entry: forgottenLate, Reason: "the reference forgets at once",
		Where: "state", Path: `\.resources.*`, Peer: none, When: forgets,
	},
	{
		Entry: forgottenLate, Reason: "with -destroy the reference forgets after what the object needs",
		Where: "state", Path: `\.resources.*`, Weir: none, When: func(f finding) bool { return destroys(f) && forgets(f) },
	},
	{
		Entry: forgottenLate, Reason: "the reference opens what the forgotten object's block names",
		Where: "events apply", Path: "(open|close) token .*", Peer: "1", Weir: "0", When: forgetsSome,
	},
	{
		Entry: forgottenLate, Reason: "the reference opens what the forgotten object's block names",
		Where: "state", Path: `\.check_results\[".*ephemeral\.sim_token.*"\]\.(objects|status)`, Weir: `null|"unknown"`, When: func(f finding) bool { return destroys(f) && forgetsSome(f) },
	},
	{
		Entry: deposedAlone, Reason: "the reference waits for what uses the new object",
		Where: "events apply", Path: "delete .*", Peer: "0", Weir: "[1-9]", When: failsWithDeposed,
	},
	{
		Entry: deposedAlone, Reason: "the reference waits for what uses the new object",
		Where: "state", Path: `\.resources.*<deposed>.*`, Weir: none, When: failsWithDeposed,
	},
	{
		Entry: deposedAlone, Reason: "the reference waits for what uses the new object",
		Where: "order apply", Peer: "(create|update) .* before delete .*", Weir: "delete .* before (create|update) .*", When: deletesDeposed,
	},
	{
		Entry: deposedAlone, Reason: "the reference waits for what uses the new object",
		Where: "cloud", Weir: "null", When: failsWithDeposed,
	},
	{
		Entry: alwaysClosed, Reason: "the reference leaves it open",
		Where: "events apply", Path: "close token .*", Peer: "0", Weir: "1", When: failed,
	},
}

// failed reports whether the reference's apply did.
func failed(f finding) bool {
	apply, ok := f.peer.result("apply")
	return ok && apply.Exit != 0
}

// hadBefore reports whether an object of the resource that a path of a state is about had
// the same there before. By then it may be deposed.
func (f finding) hadBefore() bool {
	resource, member, ok := cutLast(f.Path, ".instances[")
	_, member, _ = strings.Cut(member, "\"]")
	instances, _ := at(decode(f.before[stateFile]), resource+".instances").(map[string]any)
	for _, i := range instances {
		if had := at(i, member); ok && had != nil && compact(had) == f.Weir {
			return true
		}
	}
	return false
}

// learned reports whether the identity that a path of a state is about is of an object whose
// identity the plan has learned.
func (f finding) learned() bool {
	user := f.user()
	return strings.Contains(f.Path, "].identity") && slices.ContainsFunc(f.weir.found(), func(r found) bool {
		return keys.ReplaceAllString(r.Address, "") == user && r.Identity != nil
	})
}

// neverDestroyed reports whether the object that a path of a state is about has a block with
// destroy = false, or had the mark before.
func (f finding) neverDestroyed() bool {
	return f.hadBefore() || f.written(func(r *program.Resource) bool { return r.SkipDestroy })[f.user()]
}

// readsOn reports whether a difference is about data that both engines were to read, and weir
// alone has when the reference's apply failed.
func readsOn(f finding) bool {
	ours := f.weir.changes()
	for address, c := range f.peer.changes() {
		ofType := strings.Contains(f.Path, "data "+strings.TrimPrefix(c.Type, "sim_")+" ") || strings.HasPrefix(f.Path, "error ")
		if failed(f) && c.is("read") && ours[address].is("read") && (c.isAbout(f) || f.Where != "state" && ofType) {
			return true
		}
	}
	return false
}

// goesOn reports whether a difference is about what both engines were to make, change or delete, and
// the reference hasn't started with when its apply failed.
func goesOn(f finding) bool {
	apply, _ := f.peer.result("apply")
	if !failed(f) {
		return false
	}
	done, ours := begun(apply), f.weir.changes()
	for address, c := range f.peer.changes() {
		makes := c.is("create") || c.is("update") || c.is("forget", "create") || c.is("delete", "create") || c.is("create", "delete") || c.is("delete")
		undone := c.object() == "" || !done[c.object()]
		if c.is("delete", "create") || c.is("create", "delete") {
			undone = !slices.ContainsFunc(apply.Events, func(e event) bool { return e.Op == "create" && e.Name == c.object() })
		}
		if makes && undone && ours[address].is(c.Change.Actions...) && c.isAbout(f) {
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

// forgetsSome reports whether the reference has something to forget.
func forgetsSome(f finding) bool {
	for _, c := range f.peer.changes() {
		if c.is("forget") {
			return true
		}
	}
	return false
}

// failsWithDeposed reports whether the reference's apply failed and had deposed objects to
// delete: from before, or one that it has put aside itself.
func failsWithDeposed(f finding) bool {
	shown, _ := f.peer.result("show")
	return failed(f) && (deposedChange.Match(shown.Plan) || slices.ContainsFunc(slices.Collect(maps.Values(f.peer.changes())), func(c change) bool {
		return c.is("create", "delete") && c.isAbout(f)
	}))
}

// waitsForFailedUpdate reports whether a difference is about an object that both engines were to delete
// or replace, and that weir has left because the update of one that used it had failed. Data
// that both were to read of a new object wasn't read then.
func waitsForFailedUpdate(f finding) bool {
	apply, _ := f.weir.result("apply")
	used, ours := dependencies(f.before), f.weir.changes()
	for address, c := range f.peer.changes() {
		ends := c.is("delete") || c.is("delete", "create") || c.is("create", "delete")
		if !ends || !ours[address].is(c.Change.Actions...) || deletions(apply)[c.object()] {
			continue
		}
		if !c.isAbout(f) && (c.is("delete") || f.Weir != "0" && f.Weir != "" || !dataPath.MatchString(f.Path)) {
			continue
		}
		for _, e := range apply.Events {
			if e.Op == "update" && e.Error != "" && used[[2]string{"sim_object " + e.Name, c.Type + " " + c.object()}] {
				return true
			}
		}
	}
	return false
}

// deletesDeposed reports whether what is deleted in an order was put aside by an earlier apply.
func deletesDeposed(f finding) bool {
	_, deleted, _ := strings.Cut(f.Peer, " before delete ")
	for _, r := range f.before.stored() {
		for _, i := range r.Instances {
			if name, _ := i.Attributes.Name.(string); i.Deposed != "" && r.Type+" "+name == deleted {
				return true
			}
		}
	}
	return false
}

var dataPath = regexp.MustCompile(`^data |^\.resources\["'(\S+' ')?data' `)

var deposedChange = regexp.MustCompile(`"deposed":"[0-9a-f]{8}"`)

// keepsOutput reports whether weir has left an output of the state as it was.
func (f finding) keepsOutput() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".outputs."), ".")
	name, _, _ = strings.Cut(name, "[")
	return compact(f.before.output(name)) == compact(f.weir.After.output(name))
}

// outputFailed reports whether the root output of a path comes from something that
// weir has left undone, or from an output whose precondition wasn't met.
func (f finding) outputFailed() bool {
	all := f.declarations()
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Path, ".outputs."), ".")
	name, _, _ = strings.Cut(name, "[")
	from := ancestors(all, "output."+name)
	for address := range f.undone() {
		if from[keys.ReplaceAllString(address, "")] != nil {
			return true
		}
	}
	apply, _ := f.weir.result("apply")
	return slices.ContainsFunc(apply.Diags, func(d diagnostic) bool {
		unmet := d.declaration(all)
		return d.Severity == "error" && d.Summary == "Module output value precondition failed" && unmet != nil && from[unmet.Address()] != nil
	})
}

// declaration is the last one that begins before the place of a problem, nil for none; in a
// module that is called more than once that of the first call. A data source within a check
// is part of it.
func (d diagnostic) declaration(all []*symbols.Declaration) (last *symbols.Declaration) {
	if d.Range == nil {
		return nil
	}
	within := map[*symbols.Declaration]bool{}
	for _, check := range all {
		for _, r := range check.Refers {
			within[r.To] = within[r.To] || check.Kind == symbols.Check && r.Argument == "data"
		}
	}
	for _, other := range all {
		if within[other] {
			continue
		}
		at := other.Range
		if at.Filename == d.Range.Filename && at.Start.Line <= d.Range.Start.Line && (last == nil || at.Start.Line > last.Range.Start.Line) {
			last = other
		}
	}
	return last
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

var checkResult = regexp.MustCompile(`^(\.check_results\["(?:[^"])*"\])(?:\.objects\["([^"]*)"\])?\.status$`)

// statusHolds reports whether weir has had the means to find out the status that a path of a
// state's check results is about: that of a resource's instance needs its object, made or
// changed as planned, if it has postconditions, one that wasn't met was reported, and that of
// a block sums up its instances.
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
		return f.toldUnmet(block["config_addr"])
	}
	if block["object_kind"] != "resource" {
		return true
	}
	address := strings.ReplaceAll(strings.Trim(m[2], "'"), `\'`, `"`)
	first := f.written(func(r *program.Resource) bool { return len(r.Preconditions) > 0 && len(r.Postconditions) == 0 })
	return f.weir.After.instances()[address] && !f.undone()[address] || first[keys.ReplaceAllString(address, "")]
}

// toldUnmet reports whether weir has said of a block that its conditions aren't met.
func (f finding) toldUnmet(address any) bool {
	all := f.declarations()
	apply, _ := f.weir.result("apply")
	plan, _ := f.weir.result("plan")
	return slices.ContainsFunc(slices.Concat(plan.Diags, apply.Diags), func(d diagnostic) bool {
		of := d.declaration(all)
		return unmet.MatchString(d.Summary) && of != nil && of.Address() == address
	})
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
