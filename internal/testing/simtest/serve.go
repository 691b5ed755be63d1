package simtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
)

// Provider makes the provider of this cloud.
//
// Its types of resources, sim_object and sim_thing, are alike but that the second one is
// old-fashioned, and objects can move from one to the other: they have the arguments name,
// value, key and parent (whose changes replace the object), refs, a list of ids, and secret,
// which is write-only, and the computed id and echo. The id reports the name and how many
// objects of that name there were; echo follows from id and value. The data source sim_lookup
// finds an object by its id and fails without, sim_find the value of the newest object of a
// name, or nothing. The ephemeral resource sim_token is a secret about an object that has to
// be there. The endpoint of the configuration is the echo of an object, its password a secret.
//
// While applying, whatever the provider is configured with has to be known and
// right.
func (c *Cloud) Provider(applying bool) *fake.Provider {
	p := fake.New()
	p.MoveState = true
	p.Config = fake.NewType("endpoint string", "password string")
	p.Resources["sim_object"], p.Resources["sim_thing"] = c.objectType(), oldFashioned(c.objectType())
	lookup := fake.NewType("id string required", "value string computed", "echo string computed")
	lookup.ReadData = c.lookup
	p.DataSources["sim_lookup"] = lookup
	find := fake.NewType("name string required", "value string computed")
	find.ReadData = c.find
	p.DataSources["sim_find"] = find
	token := fake.NewType("of string", "value string computed sensitive")
	token.Open, token.Close = c.openToken, c.closeToken
	p.Ephemerals["sim_token"] = token
	if applying {
		p.Before = func(_ context.Context, call, _ string, about cty.Value) error {
			if call == "Configure" {
				return c.checkConfig(about.GetAttr("endpoint"), about.GetAttr("password"))
			}
			return nil
		}
	}
	return p
}

func (c *Cloud) objectType() *fake.Type {
	t := fake.NewType("name string required", "value string", "key string replace", "parent string replace",
		"refs list(string)", "secret string optional writeonly", "id string computed", "echo string computed")
	t.Schema.Version, t.Schema.Identity, t.Schema.IdentityVersion = 1, identitySchema(), 1
	t.Upgrade = func(r provider.UpgradeRequest) (cty.Value, diag.List) { return upgrade(t, r) }
	t.UpgradeIdentity = upgradeIdentity
	t.Plan = func(r provider.PlanRequest) provider.PlanResponse { return c.plan(t, r) }
	t.Read = func(r provider.ReadRequest) provider.ReadResponse { return c.read(t, r) }
	t.Apply = c.apply
	t.Import = func(r provider.ImportRequest) provider.ImportResponse {
		v := t.Schema.Block.EmptyValue().AsValueMap()
		v["id"] = cty.StringVal(r.ID) // reading finds the rest
		return provider.ImportResponse{Objects: []provider.ImportedObject{{Type: r.Type, State: cty.ObjectVal(v)}}}
	}
	t.Move = func(r provider.MoveRequest) provider.MoveResponse {
		var out provider.MoveResponse
		out.Target, out.Diags = stored(t, r.SourceVersion, r.SourceJSON)
		out.Private = r.SourcePrivate
		var more diag.List
		out.Identity, more = upgradeIdentity(r.SourceIdentityVersion, r.SourceIdentityJSON)
		out.Diags.Append(more)
		return out
	}
	return t
}

// checkConfig reports whether a provider that is about to work is configured with what exists.
func (c *Cloud) checkConfig(v, password cty.Value) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !v.IsKnown() || !password.IsKnown():
		c.refuse("a provider that isn't configured")
		return fmt.Errorf("the configuration isn't known")
	case v.IsNull():
		return nil
	}
	id, _, _ := strings.Cut(v.AsString(), "=")
	if o := c.objects[id]; o == cty.NilVal || text(o, "echo") != v.AsString() {
		c.refuse("a provider that is configured with %s, which isn't there", v.AsString())
		return fmt.Errorf("the endpoint isn't there")
	}
	return nil
}

// plan makes echo unknown where the value changes.
func (c *Cloud) plan(t *fake.Type, r provider.PlanRequest) provider.PlanResponse {
	out := t.DefaultPlan(r)
	if r.ProposedNew.IsNull() {
		return out
	}
	v := out.Planned.AsValueMap()
	if !r.Prior.IsNull() {
		c.mu.Lock()
		defer c.mu.Unlock()
		out.Diags = c.remembered("plan", text(r.Prior, "id"), r.PriorPrivate, r.PriorIdentity)
		if !v["value"].RawEquals(r.Prior.GetAttr("value")) {
			v["echo"] = cty.UnknownVal(cty.String)
		}
	}
	if _, out.Legacy = v["port"]; out.Legacy {
		planThing(r.Prior, v)
	}
	out.Planned = cty.ObjectVal(v)
	out.Private, out.Identity = promised(out.Planned), r.PriorIdentity
	return out
}

func (c *Cloud) read(t *fake.Type, r provider.ReadRequest) provider.ReadResponse {
	id := text(r.Current, "id")
	c.mu.Lock()
	defer c.mu.Unlock()
	var out provider.ReadResponse
	if text(r.Current, "name") != "" { // it wasn't just imported
		out.Diags = c.remembered("read", id, r.Private, r.Identity)
	}
	v := c.objects[id]
	if v == cty.NilVal {
		out.New = cty.NullVal(r.Current.Type())
		return out
	}
	out.New, out.Private, out.Identity = shaped(t.Schema.Block, v), c.private(id), identity(id)
	return out
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

// hush is in all secrets and in nothing else.
const hush = "hush-"

func (c *Cloud) openToken(config cty.Value) provider.OpenResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out provider.OpenResponse
	of := text(config, "of")
	if of != "" && c.objects[of] == cty.NilVal {
		out.Diags = c.refuse("token of %s, which doesn't exist", of)
		return out
	}
	c.open++
	out.Result = cty.ObjectVal(map[string]cty.Value{"of": config.GetAttr("of"), "value": cty.StringVal(hush + of)})
	return out
}

func (c *Cloud) closeToken([]byte) (none diag.List) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	return none
}
