package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
)

// A cloud is what outlives all processes: the objects that were ever made and aren't
// deleted.
type cloud struct {
	objects map[string]*object // by id
	made    int
}

type object struct {
	id, name, generation, value string
	by                          *life // who made it, nil for somebody else
}

// named are the objects with a name, in the order in which they were made.
func (c *cloud) named(name string) (list []*object) {
	for _, id := range slices.SortedFunc(maps.Keys(c.objects), func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b)/2 }) {
		if c.objects[id].name == name {
			list = append(list, c.objects[id])
		}
	}
	return list
}

func (c *cloud) create(name, generation, value string, by *life) *object {
	c.made++
	o := &object{fmt.Sprintf("i%d", c.made), name, generation, value, by}
	c.objects[o.id] = o
	return o
}

// sim is the address of the provider.
var sim = addr.OpenTofu.Provider("sim")

// instance is the address of the object of a name.
func instance(name string) string { return "sim_object." + name }

var declared = sync.OnceValue(func() *fake.Type {
	return fake.NewType("name string required replace", "generation string replace", "value string", "refs list(string)", "id string computed")
})

// notes is the type of objects that exist in the state and nowhere else.
var notes = sync.OnceValue(func() *fake.Type {
	t := fake.NewType("of string", "value string")
	t.Read = func(r provider.ReadRequest) provider.ReadResponse {
		return provider.ReadResponse{New: r.Current, Private: r.Private}
	}
	return t
})

// catalog has the providers as a process uses them.
func (l *life) catalog() provider.Catalog {
	p := fake.New()
	own := *declared()
	t := &own
	p.Resources["sim_object"] = t
	t.Apply = l.change
	t.Read = func(r provider.ReadRequest) provider.ReadResponse {
		now := cty.NullVal(r.Current.Type())
		if o := l.h.cloud.objects[r.Current.GetAttr("id").AsString()]; o != nil {
			v := r.Current.AsValueMap()
			v["value"], v["name"], v["generation"] = cty.StringVal(o.value), cty.StringVal(o.name), cty.StringVal(o.generation)
			now = cty.ObjectVal(v)
		}
		return provider.ReadResponse{New: now, Private: r.Private}
	}
	t.Import = func(r provider.ImportRequest) provider.ImportResponse {
		if l.h.cloud.objects[r.ID] == nil {
			return provider.ImportResponse{Diags: provider.Reported.As("No such object").List("There is no object %s.", r.ID)}
		}
		v := t.Schema.Block.EmptyValue().AsValueMap()
		v["id"] = cty.StringVal(r.ID) // reading finds the rest
		return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: r.Type, State: cty.ObjectVal(v)}}}
	}
	n := fake.New()
	n.Resources["note_text"] = notes()
	return fake.Catalog{sim: p, addr.Builtin("note"): n}
}

// change is what the provider is requested, in two moments: the cloud does it, and the answer
// arrives.
func (l *life) change(r provider.ApplyRequest) provider.ApplyResponse {
	gone := r.Planned.IsNull()
	about := r.Planned
	verb := "create"
	switch {
	case gone:
		verb, about = "delete", r.Prior
	case !r.Prior.IsNull():
		verb = "update"
	}
	name := about.GetAttr("name").AsString()
	lost := provider.ApplyResponse{New: cty.NilVal, Diags: provider.Reported.As("No answer").List("The connection was lost.")}
	asked := &pending{life: l, kind: asking, label: verb + " " + name}
	asked.effect = func() { asked.result = l.h.perform(l, verb, r) }
	switch l.wait(context.Background(), asked) {
	case dead:
		return lost
	case refused:
		return provider.ApplyResponse{New: r.Prior, Private: r.PlannedPrivate, Diags: provider.Reported.As("Refused").List("The cloud refuses.")}
	case silent:
		asked.effect()
		return lost
	case partly:
		asked.effect()
		return provider.ApplyResponse{New: asked.result, Diags: provider.Reported.As("Half done").List("The cloud has done it, and something else went wrong.")}
	}
	asked.effect()
	if l.wait(context.Background(), &pending{life: l, kind: answering, label: "answer to " + verb + " " + name}) == dead {
		return lost
	}
	return provider.ApplyResponse{New: asked.result, Private: r.PlannedPrivate}
}

// perform has the cloud do something.
func (h *history) perform(l *life, verb string, r provider.ApplyRequest) cty.Value {
	if verb == "delete" {
		delete(h.cloud.objects, r.Prior.GetAttr("id").AsString())
		return r.Planned
	}
	text := func(name string) string {
		if v := r.Planned.GetAttr(name); !v.IsNull() {
			return v.AsString()
		}
		return ""
	}
	v := r.Planned.AsValueMap()
	if verb == "create" {
		h.checkCreation(l, text("name"))
		v["id"] = cty.StringVal(h.cloud.create(text("name"), text("generation"), text("value"), l).id)
	} else if o := h.cloud.objects[text("id")]; o != nil {
		o.value = text("value")
	}
	return cty.ObjectVal(v)
}
