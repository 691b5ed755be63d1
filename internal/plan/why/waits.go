package why

import (
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
)

// waits lists the nearest steps on objects that the change's own steps wait
// for.
func (e *explainer) waits(c *plan.Change) []Wait {
	g := e.in.Plan.Graph
	if g == nil {
		return nil
	}
	var list []Wait
	seen := map[string]bool{}
	for id := range g.Steps {
		own := &g.Steps[id]
		if !works(own.Kind) || own.At().Instance != c.Addr.Instance || c.Addr.Deposed != "" && own.At() != c.Addr {
			continue
		}
		for _, other := range nearest(g, execgraph.ID(id)) {
			w := Wait{Own: own.Label(), For: other.step.Label()}
			if key := w.Own + " " + w.For; seen[key] {
				continue
			} else {
				seen[key] = true
			}
			w.Rule, w.Chain = e.rule(own, other)
			list = append(list, w)
		}
	}
	return list
}

// works reports whether steps of the kind work on an object for its own sake.
func works(k execgraph.Kind) bool {
	switch k {
	case execgraph.Finalize, execgraph.Apply, execgraph.Destroy, execgraph.ReadData, execgraph.Forget, execgraph.Depose, execgraph.OpenEphemeral,
		execgraph.Provision, execgraph.ProvisionDestroy, execgraph.Condition:
		return true
	}
	return false
}

// A before is a step that another waits for, perhaps because a provider is
// opened with its result.
type before struct {
	step *execgraph.Step
	via  string // the provider
}

// nearest are the steps on objects that a step waits for, looking through
// gates and providers, in the order of the graph.
func nearest(g *execgraph.Graph, from execgraph.ID) []before {
	type visit struct {
		id  execgraph.ID
		via string
	}
	found := map[execgraph.ID]before{}
	seen := map[execgraph.ID]bool{}
	var queue []visit
	push := func(ids []execgraph.ID, via string) {
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				queue = append(queue, visit{id, via})
			}
		}
	}
	push(g.Steps[from].After, "")
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		s := &g.Steps[v.id]
		if works(s.Kind) {
			found[v.id] = before{s, v.via}
			continue
		}
		via := v.via
		if s.Kind == execgraph.OpenProvider {
			via = s.Provider.String()
		}
		push(s.After, via)
	}
	ids := make([]execgraph.ID, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	list := make([]before, len(ids))
	for i, id := range ids {
		list[i] = found[id]
	}
	return list
}

// The rules that put one step before another.
const (
	ruleReference  = "reference"             // it refers to the other
	ruleProvider   = "provider"              // its provider is configured with the other
	ruleReplace    = "replace"               // an old object goes first: its own, or what it depended on
	ruleKeepOld    = "create_before_destroy" // what is new comes first
	ruleUsersFirst = "dependents_first"      // what depends on an object is destroyed, or let go of it, before it
	ruleOrder      = "dependency"            // a dependency that isn't a plain reference
	ruleFinalize   = "finalize"              // a replacement is made ready before anything is deleted for it
	ruleProvision  = "provision"             // provisioners run on an object that is there
)

func (e *explainer) rule(own *execgraph.Step, other before) (string, Chain) {
	ends := func(k execgraph.Kind) bool { return k == execgraph.Destroy || k == execgraph.Forget }
	switch {
	case other.step.Kind == execgraph.Finalize:
		return ruleFinalize, nil
	case other.step.At().Instance == own.At().Instance && (own.Kind == execgraph.Provision || other.step.Kind == execgraph.ProvisionDestroy):
		return ruleProvision, nil
	case other.step.At().Instance == own.At().Instance && ends(own.Kind):
		return ruleKeepOld, nil
	case other.step.At().Instance == own.At().Instance:
		return ruleReplace, nil
	case other.via != "":
		return ruleProvider, nil
	case ends(own.Kind) && !ends(other.step.Kind) && e.keepsOld(own.At().Instance):
		return ruleKeepOld, nil
	case !ends(own.Kind) && ends(other.step.Kind) && !e.used(other.step.At(), own.At()):
		return ruleReplace, nil
	case ends(own.Kind), ends(other.step.Kind):
		return ruleUsersFirst, nil
	}
	if chain := e.path(own.At().Instance, other.step.At().Instance); chain != nil {
		return ruleReference, chain
	}
	return ruleOrder, nil
}

// used reports whether the stored object depends on the other.
func (e *explainer) used(user, o addr.Object) bool {
	stored := e.in.Plan.Previous.Objects[user]
	return stored != nil && slices.Contains(stored.Dependencies, o.Resource.Erase())
}

// keepsOld reports whether an object was made to be destroyed last.
func (e *explainer) keepsOld(i addr.Instance) bool {
	o := e.in.Plan.Previous.Objects[addr.Object{Instance: i}]
	return o != nil && o.CreateBeforeDestroy
}

// path is the shortest chain of references from one instance to another, or
// nil.
func (e *explainer) path(from, to addr.Instance) Chain {
	i := e.instance(from)
	if i == nil {
		return nil
	}
	x := expression{place: e.instancePlace(i), refs: slices.Concat(i.Resource.Config.Refs, i.Resource.DependsOn, i.Resource.ReplaceTriggeredBy)}
	if r := i.Resource.Repeat.Expr(); r != nil {
		x.refs = append(x.refs, r.Refs...)
	}
	goal := func(at place, ref *program.Ref) []Chain {
		if at.frame.Addr != to.Module || ref.Resource.Name != to.Name {
			return nil
		}
		if key, exact := keyOf(at, ref.Key); exact && key != to.Key {
			return nil
		}
		return []Chain{{{Kind: Change, Subject: to.String(), Range: ref.Range.Ptr()}}}
	}
	for _, chain := range e.follow(x, goal) {
		if last := chain[len(chain)-1]; last.Kind == Change && last.Subject == to.String() {
			return chain
		}
	}
	return nil
}
