package graphbuilder

import (
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/plan/order"
)

// graph says of each ordered step what it is in the plan, whose changes are those of the
// objects, in their order.
func (b *builder) graph(steps []order.Step, p *plan.Plan) *execgraph.Graph {
	changes := p.Changes
	for n, i := range p.Invocations {
		b.invocations[i] = n + 1
	}
	numbers := make([]int, len(b.objects))
	next := 0
	for i, o := range b.objects {
		if o.Change != nil && next < len(changes) && changes[next] == o.Change {
			next++
			numbers[i] = next
		}
	}
	refs := 0
	for _, s := range steps {
		refs += len(s.After) + len(s.Takes)
	}
	room := make([]execgraph.ID, 0, refs)
	ids := func(list []int) []execgraph.ID {
		if len(list) == 0 {
			return nil
		}
		from := len(room)
		for _, n := range list {
			room = append(room, execgraph.ID(n))
		}
		return room[from:len(room):len(room)]
	}
	g := &execgraph.Graph{Steps: make([]execgraph.Step, len(steps))}
	for n := range steps {
		s, to := &steps[n], &g.Steps[n]
		to.After, to.Takes, to.When = ids(s.After), ids(s.Takes), when[s.When]
		if s.When == order.OnFailure {
			to.Of = to.Takes[len(to.Takes)-1]
		}
		if s.Provider > 0 {
			to.Provider = &b.providers[s.Provider-1]
		}
		if s.Object >= 0 && s.Object < len(b.objects) {
			to.Change = numbers[s.Object]
		}
		b.name(s, to)
	}
	b.gather(g.Steps)
	return g
}

// gather numbers the changes of each type of a provider instance that takes several at once.
func (b *builder) gather(steps []execgraph.Step) {
	if b.in.Batch == nil {
		return
	}
	type key struct {
		at  addr.ProviderConfig
		typ string
	}
	of := map[key][]*execgraph.Step{}
	var keys []key // in the order of the graph
	for n := range steps {
		if s := &steps[n]; s.Kind == execgraph.Apply || s.Kind == execgraph.Destroy {
			k := key{*s.Provider, s.Object.Name.Type}
			if of[k] == nil {
				keys = append(keys, k)
			}
			of[k] = append(of[k], s)
		}
	}
	number := 0
	for _, k := range keys {
		if len(of[k]) > 1 && b.in.Batch(k.at, k.typ) > 1 {
			number++
			for _, s := range of[k] {
				s.Batch = number
			}
		}
	}
}

var when = [...]execgraph.When{order.OnSuccess: execgraph.OnSuccess, order.Always: execgraph.Always, order.OnFailure: execgraph.OnFailure}

// kinds maps the kinds of ordered steps on an object to those of the execution graph. name refines
// the kinds that depend on the object.
var kinds = [...]execgraph.Kind{
	order.Create: execgraph.Apply, order.Delete: execgraph.Destroy, order.Prepare: execgraph.Finalize,
	order.Gate: execgraph.Gate, order.Open: execgraph.OpenProvider, order.Aside: execgraph.Depose, order.Restore: execgraph.RestoreDeposed,
	order.Provision: execgraph.Provision, order.Invoke: execgraph.Invoke, order.Deprovision: execgraph.ProvisionDestroy, order.Close: execgraph.CloseProvider,
}

// name fills in what a step does, and on what.
func (b *builder) name(s *order.Step, to *execgraph.Step) {
	to.Kind = kinds[s.Kind]
	if s.Object < 0 {
		return
	}
	switch v := b.vertex(s.Object); {
	case v.provider != nil:
		to.Kind = execgraph.OpenProvider
	case v.output != nil:
		to.Kind, to.Name = execgraph.Output, v.output.Name
	case v.condition != "":
		to.Kind, to.Name, to.Module = execgraph.Condition, v.condition, v.frame.Addr
	case v.asked != nil:
		b.nameInvocation(v.asked, to)
	case v.object != nil:
		b.nameObject(s, v.object, to)
	}
}

func (b *builder) nameInvocation(i *plan.Invocation, to *execgraph.Step) {
	to.Kind, to.Name, to.Invocation = execgraph.Invoke, i.Label(), b.invocations[i]
}

func (b *builder) nameObject(s *order.Step, o *Object, to *execgraph.Step) {
	to.Object = o.Addr
	forgets := b.vertices[s.Object].Forgets
	switch s.Kind {
	case order.Create:
		switch {
		case b.vertices[s.Object].Evaluates:
			to.Kind = execgraph.Condition
		case o.Addr.Name.Mode == addr.Data:
			to.Kind = execgraph.ReadData
		case o.Addr.Name.Mode == addr.Ephemeral:
			to.Kind = execgraph.OpenEphemeral
		}
	case order.Delete:
		if forgets {
			to.Kind = execgraph.Forget
		} else if o.Change.Action == plan.CreateThenDelete {
			to.Object = &addr.Object{Instance: o.Addr.Instance, Deposed: o.Change.DeposedKey}
		}
	case order.Aside:
		if forgets {
			to.Kind = execgraph.Forget
		}
	case order.Invoke:
		b.nameInvocation(o.Invocations[s.Nth], to)
	case order.Close:
		to.Kind = execgraph.CloseEphemeral
	}
}
