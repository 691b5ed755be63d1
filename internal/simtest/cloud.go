// Package simtest runs the engine against a simulated cloud, in one process
// and without files: plans and applies of configurations that are given as
// text or drawn at random, and the promises that every plan has to keep.
//
// It owns the cloud, the random configurations and the invariants. It refuses
// processes and files, and is only for tests.
package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
)

// Source is the address of the provider that serves the cloud.
var Source = addr.DefaultProvider("sim")

// A Cloud is what exists. Like real ones it refuses to delete what is in use
// and to make what refers to nothing.
//
// Its provider has one type of resource, sim_object, with the arguments name,
// value, key and parent (whose changes replace the object) and refs, a list of
// ids, and with the computed id and echo. The id tells the name and how many
// objects of that name there were; echo follows from id and value. The data
// source sim_lookup finds an object by its id and fails without, sim_find the
// value of the newest object of a name, or nothing.
type Cloud struct {
	mu      sync.Mutex
	objects map[string]cty.Value
	made    map[string]int
	born    map[string]int // by id: which of all creations it was
	log     []Op
	refused []string
	fails   map[string]bool
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
	return &Cloud{objects: map[string]cty.Value{}, made: map[string]int{}, born: map[string]int{}, fails: map[string]bool{}}
}

// Clone makes a cloud with the same objects and no memory of how they came.
func (c *Cloud) Clone() *Cloud {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Cloud{objects: maps.Clone(c.objects), made: maps.Clone(c.made), born: maps.Clone(c.born), fails: maps.Clone(c.fails)}
}

// Log lists what was done, in order, and forgets it.
func (c *Cloud) Log() []Op {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.log
	c.log = nil
	return log
}

// Refused lists what the cloud has refused, and forgets it.
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
		fmt.Fprintf(&b, "%s name=%s value=%s key=%s refs=%s\n", id, text(v, "name"), text(v, "value"), text(v, "key"), strings.Join(refs(v), ","))
	}
	return b.String()
}

// Provider makes the provider of this cloud.
func (c *Cloud) Provider() *fake.Provider {
	p := fake.New()
	p.Config = fake.NewType("endpoint string")
	object := fake.NewType("name string required", "value string", "key string replace", "parent string replace",
		"refs list(string)", "id string computed", "echo string computed")
	object.Plan = func(r provider.PlanRequest) provider.PlanResponse { return planObject(object, r) }
	object.Read = c.read
	object.Apply = c.apply
	object.Import = func(r provider.ImportRequest) provider.ImportResponse {
		if v := c.Object(r.ID); v != cty.NilVal {
			return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: r.Type, State: v}}}
		}
		return provider.ImportResponse{}
	}
	p.Resources["sim_object"] = object
	lookup := fake.NewType("id string required", "value string computed", "echo string computed")
	lookup.ReadData = c.lookup
	p.DataSources["sim_lookup"] = lookup
	find := fake.NewType("name string required", "value string computed")
	find.ReadData = c.find
	p.DataSources["sim_find"] = find
	return p
}

// planObject makes echo unknown where the value changes.
func planObject(t *fake.Type, r provider.PlanRequest) provider.PlanResponse {
	out := t.DefaultPlan(r)
	if r.Prior.IsNull() || r.ProposedNew.IsNull() {
		return out
	}
	if v := out.Planned.AsValueMap(); !v["value"].RawEquals(r.Prior.GetAttr("value")) {
		v["echo"] = cty.UnknownVal(cty.String)
		out.Planned = cty.ObjectVal(v)
	}
	return out
}

func (c *Cloud) read(r provider.ReadRequest) provider.ReadResponse {
	v := c.Object(text(r.Current, "id"))
	if v == cty.NilVal {
		v = cty.NullVal(r.Current.Type())
	}
	return provider.ReadResponse{New: v, Private: r.Private}
}

func (c *Cloud) lookup(r provider.ReadDataRequest) provider.ReadDataResponse {
	id := text(r.Config, "id")
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.objects[id]
	if found == cty.NilVal {
		var out provider.ReadDataResponse
		out.Diags = c.refuse("lookup of %s, which doesn't exist", id)
		return out
	}
	return provider.ReadDataResponse{New: cty.ObjectVal(map[string]cty.Value{
		"id": cty.StringVal(id), "value": found.GetAttr("value"), "echo": found.GetAttr("echo"),
	})}
}

func (c *Cloud) find(r provider.ReadDataRequest) provider.ReadDataResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, newest := cty.NullVal(cty.String), 0
	for id, o := range c.objects {
		if text(o, "name") == text(r.Config, "name") && c.born[id] > newest {
			out, newest = o.GetAttr("value"), c.born[id]
		}
	}
	return provider.ReadDataResponse{New: cty.ObjectVal(map[string]cty.Value{"name": r.Config.GetAttr("name"), "value": out})}
}

// refuse records that something can't be done; mu is held.
func (c *Cloud) refuse(format string, args ...any) diag.List {
	message := fmt.Sprintf(format, args...)
	c.refused = append(c.refused, message)
	var diags diag.List
	diags.Errorf("Refused by the cloud", "%s", message)
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
	op.Refused = diags.HasErrors()
	out := provider.ApplyResponse{New: r.Prior, Diags: diags}
	if !op.Refused {
		switch op.Kind {
		case "delete":
			delete(c.objects, op.ID)
			out.New = r.Planned
		case "create":
			c.made[op.Name]++
			op.ID = fmt.Sprintf("%s#%d", op.Name, c.made[op.Name])
			c.born[op.ID] = len(c.born) + 1
			fallthrough
		case "update":
			v := r.Planned.AsValueMap()
			v["id"] = cty.StringVal(op.ID)
			c.objects[op.ID] = withEcho(v)
			out.New = c.objects[op.ID]
		}
	}
	if c.fails["taint "+op.Name] && op.Kind == "create" && !op.Refused {
		out.Diags.Errorf("Out of order", "%s was made and doesn't work, by request", op.Name)
	}
	c.log = append(c.log, op)
	return out
}

// check tells whether an operation is possible; mu is held.
func (c *Cloud) check(op Op, planned cty.Value) diag.List {
	var diags diag.List
	switch {
	case c.fails[op.Kind+" "+op.Name]:
		diags.Errorf("Out of order", "%s %s fails by request", op.Kind, op.Name)
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
		if user != id && slices.Contains(refs(c.objects[user]), id) {
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
