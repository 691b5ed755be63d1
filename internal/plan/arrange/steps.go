package arrange

import (
	"slices"
	"strings"

	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/execgraph"
	"weir.dev/weir/internal/plan/order"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// steps turns the ordered legs into the steps of the execution graph.
func (b *builder) steps(result order.Result) (*execgraph.Graph, diag.List) {
	e := &emitter{b: b, g: execgraph.NewBuilder(len(result.Steps) + len(result.Steps)/8)}
	last := make([]execgraph.Ref, len(result.Steps)) // the step that ends an ordered one
	for n, s := range result.Steps {
		var after []execgraph.Ref
		for _, a := range s.After {
			after = append(after, last[a])
		}
		last[n] = e.emit(s, after)
	}
	g, circle := e.g.Build()
	if circle == nil {
		return g, nil
	}
	var names []string
	for _, s := range circle {
		names = append(names, s.Label())
	}
	slices.Sort(names)
	var diags diag.List
	diags.Add(diag.Cycle.New(diag.Error, "These steps would wait for each other:\n  %s\n\nA provider is configured with values of an object that has to be destroyed before the provider's own objects are. Apply the two changes one after the other, with -target.", strings.Join(names, "\n  ")))
	return nil, diags
}

// An emitter says what each ordered step comes to.
type emitter struct {
	b *builder
	g *execgraph.Builder
}

// emit adds what one ordered step comes to and returns the last step of it.
func (e *emitter) emit(s order.Step, after []execgraph.Ref) execgraph.Ref {
	if s.Kind == order.Gate {
		return e.g.Gate(after)
	}
	switch v := e.b.of[s.Object]; {
	case v.provider != nil:
		return e.g.OpenProvider(v.provider.Addr, after)
	case v.output != nil:
		return e.g.Output(v.output.Name, after)
	case v.condition != "" && v.reads:
		return e.g.CheckData(v.frame.Addr, v.condition, after)
	case v.condition != "":
		return e.g.Check(v.frame.Addr, v.condition, after)
	case s.Kind == order.Prepare:
		return e.g.Finalize(v.object.Addr, v.object.Provider, after)
	case s.Kind == order.Delete:
		return e.deletion(v.object, after)
	default:
		return e.creation(v.object, after)
	}
}

// deletion adds the end of an object, after its provisioners. These don't run
// for what was put aside: they name what has a successor by then, and the
// configurations in use count on that.
func (e *emitter) deletion(o *Object, after []execgraph.Ref) execgraph.Ref {
	at := o.Addr
	switch o.Change.Action {
	case plan.Forget:
		return e.g.Forget(at, after)
	case plan.CreateThenDelete:
		at.Deposed = o.Change.DeposedKey
	}
	if at.Deposed == "" && o.Deprovisions {
		after = []execgraph.Ref{e.g.ProvisionDestroy(at, after)}
	}
	return e.g.Destroy(at, o.Provider, after)
}

// creation adds what brings an object into its new form.
func (e *emitter) creation(o *Object, after []execgraph.Ref) execgraph.Ref {
	at, p := o.Addr, o.Provider
	if at.Name.Mode == addr.Ephemeral {
		opening := e.g.OpenEphemeral(at, p, after)
		if o.Conditions {
			e.g.Keep(opening)
		}
		return opening
	}
	var c execgraph.Creation
	switch o.Change.Action {
	case plan.Read:
		if o.Instance.Resource.Check != nil {
			return e.g.ReadCheckData(at, p, after)
		}
		return e.g.ReadData(at, p, after)
	case plan.NoOp:
		return e.g.Condition(at, after)
	case plan.Update:
		return e.g.Update(at, p, after)
	case plan.CreateThenDelete:
		c = e.g.Replace(at, p, after)
	case plan.ForgetThenCreate:
		c = e.g.Create(at, p, []execgraph.Ref{e.g.Forget(at, after)})
	default:
		c = e.g.Create(at, p, after)
	}
	if o.Instance.Resource.Provisions() {
		return e.g.Provision(c)
	}
	return c.Step()
}
