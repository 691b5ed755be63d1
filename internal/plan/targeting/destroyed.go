package targeting

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan/graphbuilder"
	"weir.dev/weir/internal/state"
)

// Destroyed are the instances that a plan to destroy includes, by the addresses that
// prior objects have now; nil is all of them. With targets these are they and whatever
// depends on them; with exclusions all but those and what they depend on.
func (s *Scope) Destroyed(prior *state.Snapshot, now func(addr.Instance) addr.Instance) map[addr.Instance]bool {
	if s.Whole() {
		return nil
	}
	destroyed := map[addr.Instance]bool{}
	needs, users := stored(prior)
	var targeted, excluded []string
	for a := range prior.Objects {
		to := now(a.Instance)
		switch {
		case s.excludes(to):
			excluded = append(excluded, a.Instance.String())
		case s.Targeted(to):
			destroyed[to] = true
			targeted = append(targeted, a.Instance.String())
		}
	}
	spared, using := reached(excluded, needs), reached(targeted, users)
	for a := range prior.Objects {
		to := now(a.Instance)
		if len(s.Excludes) > 0 {
			destroyed[to] = s.Wants(to) && !spared[a.Instance.String()]
		} else if using[a.Instance.String()] {
			destroyed[to] = true
		}
	}
	return destroyed
}

// UseExcluded are the instances that depend on excluded ones as the state has it, by the
// addresses that they have now.
func (s *Scope) UseExcluded(prior *state.Snapshot, now func(addr.Instance) addr.Instance) map[addr.Instance]bool {
	_, users := stored(prior)
	var excluded []string
	for a := range prior.Objects {
		if s.excludes(now(a.Instance)) {
			excluded = append(excluded, a.Instance.String())
		}
	}
	using := reached(excluded, users)
	all := map[addr.Instance]bool{}
	for a := range prior.Objects {
		if using[a.Instance.String()] {
			all[now(a.Instance)] = true
		}
	}
	return all
}

func (s *Scope) excludes(i addr.Instance) bool {
	return slices.ContainsFunc(s.Excludes, func(t addr.Target) bool { return t.Matches(i) })
}

// stored are the dependencies that a state has, and the same the other way round. Users lead
// to the groups that they depend on, groups to their members.
func stored(prior *state.Snapshot) (needs, users map[string][]string) {
	needs, users = map[string][]string{}, map[string][]string{}
	link := func(user, of string) {
		needs[user] = append(needs[user], of)
		users[of] = append(users[of], user)
	}
	objects := prior.Objects
	for a := range objects {
		for _, group := range graphbuilder.GroupsOf(a.Instance) {
			link("group "+group, a.Instance.String())
		}
	}
	for a, o := range objects {
		own := a.Instance.String()
		graphbuilder.Needed(a.Instance, o.Dependencies, o.Uses,
			func(at addr.Instance) bool { return objects[addr.Object{Instance: at}] != nil },
			func(dep addr.Resource) bool { return len(needs["group "+graphbuilder.GroupFor(a.Instance, dep)]) > 0 },
			func(at addr.Instance) { link(own, at.String()) },
			func(dep addr.Resource) { link(own, "group "+graphbuilder.GroupFor(a.Instance, dep)) })
	}
	return needs, users
}

// reached is what can be reached in one step or more.
func reached(from []string, next map[string][]string) map[string]bool {
	set, expanded := map[string]bool{}, map[string]bool{}
	for len(from) > 0 {
		r := from[len(from)-1]
		from = from[:len(from)-1]
		if expanded[r] {
			continue
		}
		expanded[r] = true
		for _, n := range next[r] {
			set[n] = true
			from = append(from, n)
		}
	}
	return set
}
