package simtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/fake"
	"weir.dev/weir/internal/state"
)

// The provider's data beside an object in the state: private data, which reports the id
// and how often the object was changed, the identity, and the version of both. The provider
// rejects calls that come without what it gave.

// identitySchema is that of all objects, in its second version: the first one
// called the id key.
func identitySchema() *schema.Object {
	return &schema.Object{Nesting: schema.Single, Attributes: map[string]*schema.Attribute{"id": {Type: cty.String, Required: true}}}
}

func identity(id string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id)})
}

// private is what the state keeps for an object; mu is held.
func (c *Cloud) private(id string) []byte {
	return fmt.Appendf(nil, "%s changed %d", id, c.changed[id])
}

// remembered checks what a call about an object came with; mu is held.
func (c *Cloud) remembered(call, id string, private []byte, is cty.Value) diag.List {
	if !strings.HasPrefix(string(private), id+" ") {
		return c.refuse("%s of %s with the private data %q", call, id, private)
	}
	if is != cty.NilVal && (is.IsNull() || text(is, "id") != id) {
		return c.refuse("%s of %s with the identity %#v", call, id, is)
	}
	return nil
}

// promised is the private data of a plan.
func promised(planned cty.Value) []byte { return []byte("planned " + text(planned, "name")) }

// upgrade reads a stored object. The first version called the value content.
func upgrade(t *fake.Type, r provider.UpgradeRequest) (cty.Value, diag.List) {
	return stored(t, r.Version, r.JSON)
}

func stored(t *fake.Type, version int64, text []byte) (cty.Value, diag.List) {
	var diags diag.List
	var parts map[string]json.RawMessage
	err := json.Unmarshal(text, &parts)
	if version == 0 {
		parts["value"] = parts["content"]
	}
	v := t.Schema.Block.EmptyValue().AsValueMap()
	for name, empty := range v {
		if part, ok := parts[name]; ok && err == nil {
			v[name], err = ctyjson.Unmarshal(part, empty.Type())
		}
	}
	if err != nil {
		diags.Add(provider.Reported.As("Can't upgrade").New(diag.Error, "%s", err))
	}
	return cty.ObjectVal(v), diags
}

func upgradeIdentity(version int64, text []byte) (cty.Value, diag.List) {
	var diags diag.List
	var old struct{ Key, ID string }
	if err := json.Unmarshal(text, &old); err != nil {
		diags.Add(provider.Reported.As("Can't upgrade").New(diag.Error, "%s", err))
	}
	if version == 0 {
		old.ID = old.Key
	}
	return identity(old.ID), diags
}

// age brings an object in the state back to the first version of its schema.
func (w *World) age(id string) {
	w.State = w.State.Clone()
	for a, o := range w.State.Objects {
		if a.Name.Mode != addr.Managed || idOf(o) != id || o.SchemaVersion == 0 {
			continue
		}
		aged := *o
		aged.SchemaVersion, aged.IdentityVersion = 0, 0
		aged.JSON = bytes.Replace(o.JSON, []byte(`"value":`), []byte(`"content":`), 1)
		aged.IdentityJSON = fmt.Appendf(nil, `{"key":%q}`, id)
		w.State.Objects[a] = &aged
	}
}

// kept checks that the state has all that the provider said of an object.
func recorded(o *state.Object) error {
	id := idOf(o)
	was := fmt.Sprintf(`{"id":%q}`, id)
	if o.IdentityVersion == 0 {
		was = fmt.Sprintf(`{"key":%q}`, id)
	}
	switch {
	case string(o.IdentityJSON) != was:
		return fmt.Errorf("the identity of %s is %s", id, o.IdentityJSON)
	case !strings.HasPrefix(string(o.Private), id+" "):
		return fmt.Errorf("the private data of %s is %q", id, o.Private)
	case o.SchemaVersion != o.IdentityVersion:
		return fmt.Errorf("%s has the schema %d and the identity %d", id, o.SchemaVersion, o.IdentityVersion)
	}
	return nil
}

// The type sim_thing is as the old SDK has types: blocks that the cloud fills in, unknown as a
// whole until then and null without one, and an empty note without one.

func oldFashioned(t *fake.Type) *fake.Type {
	t.Schema.Block.Attributes["note"] = &schema.Attribute{Type: cty.String, Optional: true}
	t.Schema.Block.Blocks = map[string]*schema.NestedBlock{"port": {
		Nesting: schema.List, Block: &schema.Block{Attributes: map[string]*schema.Attribute{"number": {Type: cty.Number, Computed: true}}},
	}}
	return t
}

var ports = cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"number": cty.NumberIntVal(22)})})

// planThing plans what is old-fashioned about an object.
func planThing(prior cty.Value, planned map[string]cty.Value) {
	if prior.IsNull() {
		planned["port"] = cty.UnknownVal(ports.Type())
		return
	}
	planned["port"], planned["note"] = prior.GetAttr("port"), prior.GetAttr("note")
}

// makeThing fills in what the plan of a new object had to leave open; mu is
// held.
func (c *Cloud) makeThing(prior cty.Value, made map[string]cty.Value) diag.List {
	if planned, ok := made["port"]; ok && prior.IsNull() {
		if planned.IsKnown() {
			return c.refuse("create of %s with ports that nobody asked for", text(cty.ObjectVal(made), "name"))
		}
		made["port"], made["note"] = ports, cty.StringVal("")
	}
	return nil
}

// shaped is an object of the cloud as its type has it: it may have been of
// another one. An old provider reads no blocks as null.
func shaped(b *schema.Block, v cty.Value) cty.Value {
	have, out := v.AsValueMap(), b.EmptyValue().AsValueMap()
	for name := range out {
		if known, ok := have[name]; ok {
			out[name] = known
		}
	}
	if list, ok := out["port"]; ok && list.LengthInt() == 0 {
		out["port"] = cty.NullVal(list.Type())
	}
	return cty.ObjectVal(out)
}
