package planner

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/suggest"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/prior"
)

// unmatched warns of options that name nothing.
type unmatched struct {
	options *Options
	prior   *prior.Prior
	layout  *layout
}

// targets warns of -target and -exclude options that name nothing: neither
// the configuration nor the state has what they are about. Patterns that name nothing
// are errors; targeting.Name reports those.
func (u *unmatched) targets() (diags diag.List) {
	option, targets := "-target", u.options.Targets
	if len(u.options.Excludes) > 0 { // only one of the two can be given
		option, targets = "-exclude", u.options.Excludes
	}
	for _, t := range targets {
		if t.IsPattern() || u.inState(t) {
			continue
		}
		has, unsure := u.layout.hasInstance(u.layout.root, t.Module.Steps(), t)
		where := "Neither the configuration nor the state has"
		if u.options.Mode == plan.Destroy { // blocks are expanded by the state there
			has, unsure = u.layout.hasBlock(t) && !hasKeys(t), false
			if u.layout.hasBlock(t) {
				where = "The state has no object at"
			}
		}
		if !has && !unsure {
			diags.Add(diag.NoInstance.As("Nothing has the address "+t.String()).New(diag.Warning, "%s %s, so the %s option for it has no effect. %s", where, t, option, u.proposed(t)))
		}
	}
	return diags
}

func hasKeys(t addr.Target) bool {
	return t.HasKey || slices.ContainsFunc(t.Module.Steps(), func(s addr.Step) bool { return s.Key != addr.NoKey })
}

// inState reports whether the state has an object that a target names, by its address
// before or after moves.
func (u *unmatched) inState(t addr.Target) bool {
	for a := range u.prior.Snapshot.Objects {
		if t.Matches(a.Instance) || t.Matches(u.prior.Now(a.Instance)) {
			return true
		}
	}
	return false
}

// proposed names what was probably meant by a target that names nothing.
func (u *unmatched) proposed(t addr.Target) string {
	blocks := u.layout.blocks()
	for a := range u.prior.Snapshot.Objects {
		blocks = append(blocks, a.Resource.Erase())
	}
	if hasKeys(t) {
		// The block may be right, and the key wrong.
		if there := u.instances(t); len(there) > 0 {
			if best := suggest.Ask(t.String(), there); best != "" {
				return strings.TrimSpace(best)
			}
			if len(there) > maxOptions {
				there = append(there[:maxOptions], "…")
			}
			return "There are " + strings.Join(there, ", ") + "."
		}
	}
	names := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if t.IsModule() {
			for m := b.Module; !m.IsRoot(); m, _, _ = m.Parent() {
				names = append(names, m.String())
			}
			continue
		}
		names = append(names, b.String())
	}
	slices.Sort(names)
	if best := suggest.Ask(t.String(), slices.Compact(names)); best != "" {
		return strings.TrimSpace(best)
	}
	return t.Choices(blocks)
}

// instances are the addresses that the state and the evaluated configuration have of
// what a target names, whatever the keys.
func (u *unmatched) instances(t addr.Target) []string {
	set := map[string]bool{}
	add := func(i addr.Instance) {
		switch {
		case !t.Names(i.Resource):
		case t.IsModule():
			set[addr.FromSteps(i.Module.Steps()[:len(t.Module.Steps())]).String()] = true
		default:
			set[i.String()] = true
		}
	}
	for a := range u.prior.Snapshot.Objects {
		add(u.prior.Now(a.Instance))
	}
	for _, f := range u.layout.root.Frames() {
		if f.Gone() {
			continue
		}
		for _, res := range f.Program.Resources {
			at := addr.Resource{Module: f.Addr, Name: res.Name}
			if t.Names(at) {
				for _, i := range f.Expanded(res) {
					add(i.Addr)
				}
			}
		}
	}
	list := make([]string, 0, len(set))
	for text := range set {
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// maxOptions is how many instances a message names.
const maxOptions = 10

// replacements warns of -replace options that name no instance.
func (u *unmatched) replacements(objects []*object) diag.List {
	var diags diag.List
	if u.options.Mode == plan.RefreshOnly {
		return nil
	}
	for _, wanted := range u.options.Replace {
		at := func(o *object) bool { return *o.addr == addr.Object{Instance: wanted} }
		if slices.ContainsFunc(objects, at) || u.prior.Current(wanted) != nil {
			continue
		}
		var options []string
		for _, o := range objects {
			if o.addr.Resource == wanted.Resource && o.addr.Deposed == "" && o.instance != nil {
				options = append(options, "  -replace="+addr.Quote(o.addr.Instance.String()))
			}
		}
		if len(options) > maxOptions {
			options = append(options[:maxOptions], "  ...")
		}
		d := diag.Diagnostic{Severity: diag.Warning, Code: diag.NoInstance.Name, Summary: "Incompletely-matched force-replace resource instance"}
		switch {
		case len(options) == 0:
			d.Detail = "There is no resource instance " + wanted.String() + ", so the -replace option for it has no effect. " + u.proposed(wanted.Target())
		case wanted.Key == addr.NoKey:
			d.Detail = "The -replace option for " + wanted.String() + " doesn't match any resource instance because it lacks an instance key.\n\nTo force the replacement of particular instances, use one or more of these options instead:\n" + strings.Join(options, "\n")
		default:
			d.Detail = "The -replace option for " + wanted.String() + " doesn't match any resource instance. To force the replacement of others, use one or more of these options instead:\n" + strings.Join(options, "\n")
		}
		diags.Add(d)
	}
	return diags
}
