package weir

import (
	"context"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/ui/view/summary"
)

// A Group is changes of one block that do the same for the same reason: what differs
// between before and after is at the same places in all of them.
type Group struct {
	// Label is one text for the addresses of all changes, such as sim_server.web[0…9].
	Label string
	// Addresses are those of the objects, in order; there is at least one.
	Addresses []string
	Action    Action
	// Reason says why, in the words of the JSON format, where the values don't.
	Reason string
	// Moved and Imported: the objects also get another address, or are taken over.
	Moved, Imported bool
	// Deposed: the objects were replaced before and are still there.
	Deposed bool
	// Outside is what happened to the objects outside of weir since the last apply:
	// changed, deleted, or empty.
	Outside string
	// Differences are the places that differ. Objects that are made or that end have
	// none.
	Differences []Difference
}

// A Difference is a place in the objects of a group.
type Difference struct {
	Path string // such as tags.name or rule[2].port
	// Before and After are short texts for people. Secrets aren't in them.
	Before, After string
	// Various: the objects don't all have these values, which are those of the first.
	Various bool
	// Forces: the difference is why the objects are replaced.
	Forces bool
}

// Groups are the changes of [Plan.Changes] with those that are alike together, what is
// lost first.
func (p *Plan) Groups() []Group {
	var out []Group
	for _, row := range summary.Rows(p.made) {
		g := Group{
			Label: row.Addresses(), Action: Action(row.Action.String()), Reason: string(row.Reason),
			Moved: row.Moved, Imported: row.Imported, Deposed: row.Changes[0].Addr.Deposed != "",
		}
		switch row.Outside {
		case summary.Changed:
			g.Outside = "changed"
		case summary.Deleted:
			g.Outside = "deleted"
		}
		for _, c := range row.Changes {
			g.Addresses = append(g.Addresses, c.Addr.Instance.String())
		}
		for _, d := range row.Differences {
			g.Differences = append(g.Differences, Difference(d))
		}
		out = append(out, g)
	}
	return out
}

// An Impact is a declaration that something else may come to if others change.
type Impact struct {
	// Address is the declaration's, without instance keys: an object's block, an
	// output, a local value, a module call and so on, which Kind says.
	Address string
	// Kind is resource, data, ephemeral, output, variable, local, check, provider or
	// call.
	Kind string
	// Objects are the instances of a resource that the plan has, by address.
	Objects []string
	// Way leads from what changes to the declaration, by the fewest references.
	Way []Hop
}

// A Hop is a reference from one declaration to the one before it on a way.
type Hop struct {
	From, To string
	// Argument is what the reference stands in: count, config, depends_on and so on. It
	// is provider where From is the configuration of the provider of To, and module
	// where From is the call of the module that To stands in.
	Argument string
	// File and Line are where it is written; the line is 0 where it isn't.
	File string
	Line int
}

// Impact reports what may be touched if what has an address changes: everything in the
// configuration that refers to it, directly or through others, nearest first. The address is
// that of an object, a block, a variable or another declaration, or of a module, which stands
// for all that is in it. Instances make no difference, and nothing is evaluated: references
// count as they are written. It is the reverse of [Workspace.Explain], for changes that nobody
// has made.
func (p *Plan) Impact(address string) ([]Impact, error) {
	all := symbols.Of(p.config.Tree)
	of, missing := symbols.Chosen(all, []string{address})
	if len(missing) > 0 {
		return nil, p.workspace.failure(context.Background(), diag.NoInstance.As("Nothing of that address").List("The configuration declares nothing at %s.", address))
	}
	objects := p.objects()
	var out []Impact
	for _, way := range symbols.Impact(all, of) {
		d := way.To()
		reached := Impact{Address: d.Address(), Kind: string(d.Kind)}
		if name := d.ResourceName(); name != (addr.Name{}) {
			reached.Objects = objects[addr.Resource{Module: d.Module, Name: name}]
		}
		for _, h := range way {
			reached.Way = append(reached.Way, Hop{h.From.Address(), h.To.Address(), h.Argument, h.Range.Filename, h.Range.Start.Line})
		}
		out = append(out, reached)
	}
	return out, nil
}

// objects are the instances that the plan has of each resource.
func (p *Plan) objects() map[addr.Resource][]string {
	all := map[addr.Resource][]string{}
	add := func(c *plan.Change) {
		if c.Addr.Deposed == "" {
			block := addr.Resource{Module: c.Addr.Module.Erase(), Name: c.Addr.Name}
			all[block] = append(all[block], c.Addr.Instance.String())
		}
	}
	for _, c := range p.made.Changes {
		add(c)
	}
	for _, d := range p.made.Deferred {
		add(d.Change)
	}
	return all
}
