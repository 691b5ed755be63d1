// Package simtest runs the engine against a simulated cloud, in one process and without files.
// It plans and applies given or random configurations, and checks the promises of every plan.
//
// It owns the cloud, the random configurations and the invariants. It rejects processes and
// files, and is only for tests.
package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
)

// Source is the address of the provider that serves the cloud.
var Source = addr.OpenTofu.Provider("sim")

// A Cloud is what exists. Like real ones it doesn't delete what is in use or make what refers
// to nothing.
type Cloud struct {
	mu      sync.Mutex
	objects map[string]cty.Value
	made    map[string]int
	born    map[string]int    // by id: which of all creations it was
	changed map[string]int    // by id: how often
	secrets map[string]string // by id: what write-only arguments said last
	// outside are objects that the engine doesn't know, or not any more.
	outside map[string]bool
	open    int // ephemeral objects that weren't closed
	log     []Op
	refused []string
	fails   map[string]bool
	done    int           // operations since Stop was called
	stop    chan struct{} // nil, or closed after some operations
}

// An Op is something that was done in the cloud, or tried.
type Op struct {
	Kind    string // create, update, delete
	ID      string // empty for a creation that failed
	Name    string
	Refused bool
}

func (o Op) String() string {
	text := o.Kind + " " + o.ID
	if o.ID == "" {
		text += o.Name
	}
	if o.Refused {
		text += " refused"
	}
	return text
}

// NewCloud makes an empty cloud.
func NewCloud() *Cloud {
	return &Cloud{
		objects: map[string]cty.Value{}, made: map[string]int{}, born: map[string]int{}, changed: map[string]int{},
		secrets: map[string]string{}, outside: map[string]bool{}, fails: map[string]bool{},
	}
}

// Clone makes a cloud with the same objects and no memory of how they came.
func (c *Cloud) Clone() *Cloud {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Cloud{
		objects: maps.Clone(c.objects), made: maps.Clone(c.made), born: maps.Clone(c.born), changed: maps.Clone(c.changed),
		secrets: maps.Clone(c.secrets), outside: maps.Clone(c.outside), fails: maps.Clone(c.fails),
	}
}

// Log lists what was done, in order, and forgets it.
func (c *Cloud) Log() []Op {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.log
	c.log = nil
	return log
}

// Refused lists what the cloud has rejected, and forgets it.
func (c *Cloud) Refused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := c.refused
	c.refused = nil
	return refused
}

// Fail makes an operation, given as "KIND NAME", fail until
// Heal; of the kind taint it lets creations fail when the object is there.
func (c *Cloud) Fail(operation string) { c.fails[operation] = true }

// Heal ends all failures.
func (c *Cloud) Heal() { clear(c.fails) }

// Stop is a channel that is closed after as many operations as a failure
// "stop N" says.
func (c *Cloud) Stop() <-chan struct{} {
	c.done, c.stop = 0, make(chan struct{})
	return c.stop
}

// IDs lists what exists, in order.
func (c *Cloud) IDs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.objects))
}

// Object is an object by its id, NilVal without.
func (c *Cloud) Object(id string) cty.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[id]
}

// Set changes an argument of an object behind the engine's back.
func (c *Cloud) Set(id, argument, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.objects[id].AsValueMap()
	v[argument] = cty.StringVal(text)
	c.objects[id] = withEcho(v)
	c.changed[id]++
}

// Make makes an object behind the engine's back.
func (c *Cloud) Make(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := map[string]cty.Value{"id": cty.StringVal(c.number(name)), "name": cty.StringVal(name), "value": cty.StringVal("v0")}
	for _, argument := range []string{"key", "parent", "secret"} {
		v[argument] = cty.NullVal(cty.String)
	}
	v["refs"] = cty.NullVal(cty.List(cty.String))
	id := v["id"].AsString()
	c.objects[id], c.outside[id] = withEcho(v), true
}

// number gives out the id of the next object of a name; mu is held.
func (c *Cloud) number(name string) string {
	c.made[name]++
	id := fmt.Sprintf("%s#%d", name, c.made[name])
	c.born[id] = len(c.born) + 1
	return id
}

// Disown lets the cloud know that the engine will forget an object: it may
// stay, and what it refers to needn't.
func (c *Cloud) Disown(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outside[id] = true
}

// Own lets the cloud know what the engine has.
func (c *Cloud) Own(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.outside, id)
}

// Owned lists what exists and isn't outside, in order.
func (c *Cloud) Owned() []string {
	return slices.DeleteFunc(c.IDs(), func(id string) bool { return c.outside[id] })
}

// Secret is what the write-only argument of an object said last.
func (c *Cloud) Secret(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secrets[id]
}

// Open is how many ephemeral objects weren't closed.
func (c *Cloud) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// Drop deletes an object behind the engine's back.
func (c *Cloud) Drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, id)
}

// InUse reports whether some object refers to the one with that id.
func (c *Cloud) InUse(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.users(id)) > 0
}

// String lists the objects, one on a line.
func (c *Cloud) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(c.objects)) {
		v := c.objects[id]
		fmt.Fprintf(&b, "%s name=%s value=%s key=%s refs=%s secret=%s\n", id, text(v, "name"), text(v, "value"), text(v, "key"), strings.Join(refs(v), ","), c.secrets[id])
	}
	return b.String()
}

// refuse records that something can't be done; mu is held.
func (c *Cloud) refuse(format string, args ...any) diag.List {
	message := fmt.Sprintf(format, args...)
	c.refused = append(c.refused, message)
	var diags diag.List
	diags.Add(provider.Reported.As("Refused by the cloud").New(diag.Error, "%s", message))
	return diags
}

func (c *Cloud) apply(r provider.ApplyRequest) provider.ApplyResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	op := Op{Kind: "update", ID: text(r.Prior, "id"), Name: text(r.Planned, "name")}
	switch {
	case r.Planned.IsNull():
		op.Kind, op.Name = "delete", text(r.Prior, "name")
	case r.Prior.IsNull():
		op.Kind = "create"
	}
	diags := c.check(op, r.Planned)
	if op.Kind == "delete" {
		diags.Append(c.remembered(op.Kind, op.ID, r.PlannedPrivate, cty.NilVal))
	} else if string(r.PlannedPrivate) != string(promised(r.Planned)) {
		diags.Append(c.refuse("%s of %s with the private data %q", op.Kind, op.Name, r.PlannedPrivate))
	}
	op.Refused = diags.HasErrors()
	_, old := r.Prior.Type().AttributeTypes()["port"]
	out := provider.ApplyResponse{New: r.Prior, Diags: diags, Legacy: old}
	if !op.Refused {
		switch op.Kind {
		case "delete":
			delete(c.objects, op.ID)
			out.New = r.Planned
		case "create":
			op.ID = c.number(op.Name)
			fallthrough
		case "update":
			c.secrets[op.ID] = text(r.Config, "secret")
			v := r.Planned.AsValueMap()
			v["id"] = cty.StringVal(op.ID)
			out.Diags.Append(c.makeThing(r.Prior, v))
			c.objects[op.ID] = withEcho(v)
			c.changed[op.ID]++
			out.New = c.objects[op.ID]
		}
	}
	if op.ID != "" {
		out.Private, out.Identity = c.private(op.ID), identity(op.ID)
	}
	if c.fails["taint "+op.Name] && op.Kind == "create" && !op.Refused {
		out.Diags.Add(provider.Reported.As("Out of order").New(diag.Error, "%s was made and doesn't work, by request", op.Name))
	}
	c.log = append(c.log, op)
	if c.done++; c.fails[fmt.Sprintf("stop %d", c.done)] && c.stop != nil {
		close(c.stop)
		c.stop = nil
	}
	return out
}

// check reports whether an operation is possible; mu is held.
func (c *Cloud) check(op Op, planned cty.Value) diag.List {
	var diags diag.List
	switch {
	case c.fails[op.Kind+" "+op.Name]:
		diags.Add(provider.Reported.As("Out of order").New(diag.Error, "%s %s fails by request", op.Kind, op.Name))
		return diags
	case op.Kind != "create" && c.objects[op.ID] == cty.NilVal:
		return c.refuse("%s of %s, which doesn't exist", op.Kind, op.ID)
	case op.Kind == "delete":
		if users := c.users(op.ID); len(users) > 0 {
			return c.refuse("delete of %s, which is in use by %s", op.ID, strings.Join(users, ", "))
		}
		return nil
	}
	for _, ref := range refs(planned) {
		if c.objects[ref] == cty.NilVal {
			return c.refuse("%s of %s with a reference to %s, which doesn't exist", op.Kind, op.Name, ref)
		}
	}
	return nil
}

// users lists who refers to an object; mu is held.
func (c *Cloud) users(id string) []string {
	var users []string
	for _, user := range slices.Sorted(maps.Keys(c.objects)) {
		if user != id && !c.outside[user] && slices.Contains(refs(c.objects[user]), id) {
			users = append(users, user)
		}
	}
	return users
}

// refs lists the ids that an object refers to.
func refs(v cty.Value) []string {
	var ids []string
	if parent := text(v, "parent"); parent != "" {
		ids = append(ids, parent)
	}
	if list := v.GetAttr("refs"); list.IsKnown() && !list.IsNull() {
		for _, id := range list.AsValueSlice() {
			if id.IsKnown() && !id.IsNull() {
				ids = append(ids, id.AsString())
			}
		}
	}
	return ids
}

// text is an argument of an object, empty where it is null or not known.
func text(v cty.Value, name string) string {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return ""
	}
	a, _ := v.GetAttr(name).Unmark()
	if a.IsNull() || !a.IsKnown() {
		return ""
	}
	return a.AsString()
}

func withEcho(v map[string]cty.Value) cty.Value {
	value := "null"
	if !v["value"].IsNull() {
		value = v["value"].AsString()
	}
	v["echo"] = cty.StringVal(v["id"].AsString() + "=" + value)
	return cty.ObjectVal(v)
}
