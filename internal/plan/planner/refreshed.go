package planner

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/prior"
	"weir.dev/weir/internal/state"
)

// refreshed makes the state that the plan begins with.
type refreshed struct {
	options   *Options
	prior     *prior.Prior
	layout    *layout
	selection *selection
}

// state is the prior state as providers see it now, at the new
// addresses.
func (r *refreshed) state(objects []*object, p *plan.Plan) *state.Snapshot {
	s := r.prior.Snapshot.Clone()
	for a := range s.Objects {
		if a.Name.Mode == addr.Data && r.dropsData(a) {
			delete(s.Objects, a)
		}
	}
	// Dependencies on moved addresses are widened, before those of the configuration replace them.
	moved := map[addr.Resource]bool{}
	for _, o := range objects {
		if o.from != nil {
			moved[o.from.Resource.Erase()], moved[o.addr.Resource.Erase()] = true, true
		}
	}
	if len(moved) > 0 {
		s.ForgetUses(moved)
	}
	for _, o := range objects {
		delete(s.Objects, addr.Object{Instance: o.previous(), Deposed: o.addr.Deposed})
	}
	for _, o := range objects {
		if o.stored == nil || o.change != nil && o.change.Action == plan.Read && !o.again || o.addr.Name.Mode == addr.Ephemeral {
			continue
		}
		stored := o.stored
		if o.change != nil && o.instance != nil && p.Graph != nil {
			stored = r.settled(o, p, moved)
		}
		s.Objects[*o.addr] = stored
	}
	s.Checks = p.Checks
	prior.FollowMoves(s, func(yield func(old, now addr.Resource) bool) {
		for _, o := range objects {
			if o.from != nil && !yield(o.from.Resource.Erase(), o.addr.Resource.Erase()) {
				return
			}
		}
	})
	return s
}

// dropsData reports whether a data source's old result is left out of the state: read again,
// or gone from the configuration.
func (r *refreshed) dropsData(a addr.Object) bool {
	if r.options.Mode == plan.Destroy {
		return false // providers may be configured with it until the end
	}
	desired, _, unsure := r.layout.standing(a.Instance)
	return !desired && !unsure && (len(r.options.Targets) == 0 || r.selection.Targeted(a.Instance))
}

// settled is a stored object with what the configuration says about it now. Until
// it is changed it may still need what it needed before.
func (r *refreshed) settled(o *object, p *plan.Plan, moved map[addr.Resource]bool) *state.Object {
	stored, c := o.stored, o.change
	if r.options.Mode == plan.Destroy || o.addr.Name.Mode != addr.Managed {
		return stored
	}
	now, at := state.Object{Dependencies: p.DependenciesOf(c), Uses: p.UsesOf(c)}, *c.Provider
	if r.options.Mode != plan.Normal || c.Action != plan.NoOp {
		at = stored.Provider // until it has dealt with the object, which it may not be able to
		old := state.Object{Dependencies: stored.Dependencies, Uses: stored.Uses}
		if moved[o.addr.Resource.Erase()] || slices.ContainsFunc(old.Uses, func(u state.Uses) bool { return moved[u.Resource] }) {
			old.Uses = nil // the instances that it names may be others now
		}
		if !r.options.SkipRefresh && c.Importing == nil {
			old.Dependencies, old.Uses = state.JoinDependencies(old.Dependencies, now.Dependencies), state.JoinUses(&old, &now)
		}
		now = old
	}
	if slices.Equal(now.Dependencies, stored.Dependencies) && state.SameUses(now.Uses, stored.Uses) && stored.Settings == c.Settings && stored.Provider == at {
		return stored
	}
	fresh := *stored
	fresh.Dependencies, fresh.Uses, fresh.Settings, fresh.Provider = now.Dependencies, now.Uses, c.Settings, at
	return &fresh
}

// forgottenData are the results of data sources that a plan to destroy drops.
func (r *refreshed) forgottenData() []addr.Instance {
	if r.options.Mode != plan.Destroy {
		return nil
	}
	var list []addr.Instance
	for a := range r.prior.Snapshot.Objects {
		if a.Name.Mode == addr.Data && r.selection.Wants(a.Instance) {
			list = append(list, a.Instance)
		}
	}
	return list
}
