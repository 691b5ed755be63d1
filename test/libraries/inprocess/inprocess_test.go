// Package inprocess tests that a program can bring providers with everything that the protocol
// has: nested blocks and attributes, plans of their own, identities, ephemeral resources, actions,
// lists and functions.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// A network is what the provider of these tests manages.
type network struct {
	mu      sync.Mutex
	objects map[string]weir.Object
	events  []string
}

func (n *network) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, fmt.Sprintf(format, args...))
}

// noted are the events with a prefix, in order.
func (n *network) noted(prefix string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.events), func(e string) bool { return !strings.HasPrefix(e, prefix) })
}

func (n *network) provider() *weir.Provider {
	rule := weir.Block{
		Attributes: map[string]weir.Attribute{
			"port":   {Type: "number", Required: true},
			"handle": {Type: "string", Computed: true},
		},
		Blocks: map[string]weir.Block{"from": {Nesting: weir.NestSet, Attributes: map[string]weir.Attribute{"cidr": {Type: "string", Required: true}}}},
		Max:    3,
	}
	firewall := weir.ResourceType{
		Version: 1,
		Attributes: map[string]weir.Attribute{
			"id":     {Type: "string", Computed: true},
			"name":   {Type: "string", Required: true},
			"secret": {Type: "string", WriteOnly: true},
			"size":   {Type: "number", Optional: true, Computed: true},
			"place": {Nesting: weir.NestSingle, Optional: true, Attributes: map[string]weir.Attribute{
				"zone": {Type: "string", Required: true, Replace: true},
				"rack": {Type: "string", Optional: true, Computed: true},
			}},
		},
		Blocks:   map[string]weir.Block{"rule": rule},
		Identity: map[string]weir.Attribute{"name": {Type: "string", Required: true}},
		Validate: func(_ context.Context, config weir.Object) error {
			if config["name"] == "bad" {
				return errors.New("the name is bad")
			}
			return nil
		},
		Plan: func(_ context.Context, p *weir.Planning) error {
			if p.Config["size"] == nil { // the default is the number of rules
				p.Planned["size"] = float64(len(p.Planned["rule"].([]any)))
			}
			if p.Prior != nil && p.Prior["size"] != nil && p.Prior["size"].(float64) > p.Planned["size"].(float64) {
				p.Replace = append(p.Replace, "size") // it can't shrink
			}
			return nil
		},
		Create: func(_ context.Context, desired weir.Object) (weir.Object, error) {
			n.note("create %s with %v", desired["name"], desired["secret"])
			return n.keep(desired), nil
		},
		Update: func(_ context.Context, _, desired weir.Object) (weir.Object, error) {
			n.note("update %s", desired["name"])
			return n.keep(desired), nil
		},
		Read: func(_ context.Context, current weir.Object) (weir.Object, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.objects[current["name"].(string)], nil
		},
		Delete: func(_ context.Context, current weir.Object) error {
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.objects, current["name"].(string))
			return nil
		},
		ImportIdentity: func(_ context.Context, identity weir.Object) (weir.Object, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.objects[identity["name"].(string)], nil
		},
		Upgrade: func(_ context.Context, _ int, stored weir.Object) (weir.Object, error) {
			stored["name"] = stored["title"]
			return stored, nil
		},
	}
	return &weir.Provider{
		Config:       map[string]weir.Attribute{"region": {Type: "string", Required: true}},
		ConfigBlocks: map[string]weir.Block{"login": {Nesting: weir.NestSingle, Attributes: map[string]weir.Attribute{"token": {Type: "string", Required: true, Sensitive: true}}}},
		Configure: func(_ context.Context, config weir.Object) error {
			n.note("login with %v", config["login"].(weir.Object)["token"])
			return nil
		},
		Resources: map[string]weir.ResourceType{"net_firewall": firewall},
		Data: map[string]weir.DataType{"net_zones": {
			Attributes: map[string]weir.Attribute{"names": {Type: "list(string)", Computed: true}},
			Read: func(context.Context, weir.Object) (weir.Object, error) {
				return weir.Object{"names": []string{"a", "b"}}, nil
			},
		}},
		Ephemerals: map[string]weir.EphemeralType{"net_token": {
			Attributes: map[string]weir.Attribute{"scope": {Type: "string"}, "token": {Type: "string", Computed: true}},
			Open: func(_ context.Context, config weir.Object) (weir.Opened, error) {
				return weir.Opened{Result: weir.Object{"token": "t-" + config["scope"].(string)}, Private: []byte("p")}, nil
			},
			Close: func(_ context.Context, private []byte) error { n.note("close %s", private); return nil },
		}},
		Actions: map[string]weir.ActionType{"net_restart": {
			Attributes: map[string]weir.Attribute{"name": {Type: "string", Required: true}},
			Invoke: func(_ context.Context, config weir.Object, progress func(string)) error {
				progress("restarting")
				n.note("restart %s", config["name"])
				return nil
			},
		}},
		Lists: map[string]weir.ListType{"net_firewall": {
			Attributes: map[string]weir.Attribute{"prefix": {Type: "string"}},
			List: func(_ context.Context, _ weir.Object, found func(weir.Found) bool) error {
				n.mu.Lock()
				defer n.mu.Unlock()
				for name, o := range n.objects {
					if !found(weir.Found{Name: name, Object: o}) {
						break
					}
				}
				return nil
			},
		}},
		Functions: map[string]weir.Function{"join": {
			Parameters: []weir.Parameter{{Name: "separator", Type: "string"}},
			Variadic:   &weir.Parameter{Name: "parts", Type: "string"},
			Returns:    "string",
			Call: func(_ context.Context, args []any) (any, error) {
				var parts []string
				for i, a := range args[1:] {
					if a == "" {
						return nil, &weir.ArgumentError{Argument: i + 1, Err: errors.New("a part is empty")}
					}
					parts = append(parts, a.(string))
				}
				return strings.Join(parts, args[0].(string)), nil
			},
		}},
	}
}

// keep stores an object with what is computed.
func (n *network) keep(o weir.Object) weir.Object {
	n.mu.Lock()
	defer n.mu.Unlock()
	o = maps.Clone(o)
	delete(o, "secret")
	o["id"] = "fw-" + o["name"].(string)
	for i, r := range o["rule"].([]any) {
		r.(weir.Object)["handle"] = fmt.Sprintf("h%d", i)
	}
	if place, ok := o["place"].(weir.Object); ok && place["rack"] == nil {
		place["rack"] = "r1"
	}
	n.objects[o["name"].(string)] = o
	return o
}

const header = `
terraform {
  required_providers { net = { source = "example/net" } }
}
provider "net" {
  region = "x"
  login { token = "k" }
}
`

func open(t *testing.T, n *network, store *weirtest.Store, terraform bool, text string) *weir.Workspace {
	t.Helper()
	ws, err := weir.OpenFS(fstest.MapFS{"main.tf": {Data: []byte(header + text)}}, weir.Options{
		Store: store, Terraform: terraform,
		Providers: []weir.ProviderSource{weir.InProcess("example/net", n.provider())},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

const whole = `
ephemeral "net_token" "t" { scope = "all" }
data "net_zones" "all" {}
resource "net_firewall" "a" {
  name   = provider::net::join("-", "fire", "wall")
  secret = ephemeral.net_token.t.token
  place  = { zone = data.net_zones.all.names[0] }
  rule {
    port = 80
    from { cidr = "10.0.0.0/8" }
    from { cidr = "192.168.0.0/16" }
  }
  rule { port = PORT }
}
resource "net_firewall" "b" {
  name = "after-${net_firewall.a.rule[1].handle}"
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.net_restart.r]
    }
  }
}
action "net_restart" "r" {
  config { name = net_firewall.a.place.rack }
}
output "a" { value = net_firewall.a }
`

func apply(t *testing.T, ws *weir.Workspace) *weir.Result {
	t.Helper()
	r, err := ws.PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func plan(t *testing.T, ws *weir.Workspace) *weir.Plan {
	t.Helper()
	p, err := ws.Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhole creates, changes and replaces objects of a provider that uses the whole interface.
func TestWhole(t *testing.T) {
	n, store := &network{objects: map[string]weir.Object{}}, weirtest.NewStore()
	ws := open(t, n, store, true, strings.Replace(whole, "PORT", "443", 1))
	p := plan(t, ws)
	weirtest.ExpectChanges(t, p, "create net_firewall.a", "create net_firewall.b")
	weirtest.ExpectOrder(t, p, "apply net_firewall.a", "apply net_firewall.b")
	if !slices.ContainsFunc(p.Edges(), func(e weir.Edge) bool {
		return e.Reason == "reference" && e.Value == "net_firewall.a.rule[1].handle" && e.File == "main.tf"
	}) {
		t.Errorf("%+v", p.Edges())
	}
	for _, c := range p.Changes() {
		if c.Address == "net_firewall.a" && !strings.Contains(string(c.After), `"size":2`) {
			t.Errorf("the type plans the size: %s", c.After)
		}
	}
	r := apply(t, ws)
	var a struct {
		ID, Name string
		Secret   *string
		Size     int
		Place    struct{ Zone, Rack string }
		Rule     []struct {
			Port   int
			Handle string
			From   []struct{ Cidr string }
		}
	}
	if err := r.State.Outputs["a"].Decode(&a); err != nil {
		t.Fatal(err)
	}
	if a.ID != "fw-fire-wall" || a.Secret != nil || a.Size != 2 || a.Place.Zone != "a" || a.Place.Rack != "r1" || a.Rule[1].Handle != "h1" || len(a.Rule[0].From) != 2 {
		t.Errorf("%+v", a)
	}
	for prefix, want := range map[string]string{
		"create fire": "create fire-wall with t-all", "create after": "create after-h1 with <nil>", "restart": "restart r1", "close": "close p", "login": "login with k",
	} {
		if got := n.noted(prefix); !slices.Contains(got, want) {
			t.Errorf("%q: %q", prefix, n.events)
		}
	}
	if p := plan(t, ws); p.HasChanges() {
		t.Errorf("%+v", p.Changes())
	}

	weirtest.ExpectChanges(t, plan(t, open(t, n, store, true, strings.Replace(whole, "PORT", "444", 1))), "update net_firewall.a")
	moved := strings.Replace(strings.Replace(whole, "PORT", "443", 1), "names[0]", "names[1]", 1)
	p = plan(t, open(t, n, store, true, moved))
	if i := slices.IndexFunc(p.Changes(), func(c weir.Change) bool { return c.Address == "net_firewall.a" }); i < 0 || !p.Changes()[i].Action.Replaces() {
		t.Errorf("another zone needs another firewall: %+v", p.Changes())
	}
	fewer := strings.Replace(strings.Replace(whole, "  rule { port = PORT }\n", "", 1), "rule[1]", "rule[0]", 1)
	p = plan(t, open(t, n, store, true, fewer))
	if i := slices.IndexFunc(p.Changes(), func(c weir.Change) bool { return c.Address == "net_firewall.a" }); i < 0 || !p.Changes()[i].Action.Replaces() {
		t.Errorf("it can't shrink: %+v", p.Changes())
	}
}

// TestIdentity imports an object by its identity, and takes an object that an older version stored.
func TestIdentity(t *testing.T) {
	n, store := &network{objects: map[string]weir.Object{}}, weirtest.NewStore()
	n.keep(weir.Object{"name": "old", "size": 1, "place": nil, "rule": []any{weir.Object{"port": 1, "from": []any{}}}})
	text := `
		import {
		  to       = net_firewall.i
		  identity = { name = "old" }
		}
		resource "net_firewall" "i" {
		  name = "old"
		  rule { port = 1 }
		}`
	p := plan(t, open(t, n, store, true, text))
	if s := p.Summary(); s != (weir.Summary{Import: 1}) {
		t.Errorf("%+v %+v", s, p.Changes())
	}
	apply(t, open(t, n, store, true, text))
	content, version, err := store.Read(t.Context(), "default")
	if err != nil || !strings.Contains(string(content), `"identity"`) {
		t.Fatalf("%s %v", content, err)
	}
	older := strings.NewReplacer(`"schema_version": 1`, `"schema_version": 0`, `"name": "old",`, `"title": "old",`).Replace(string(content))
	if _, err := store.Write(t.Context(), "default", []byte(older), version); err != nil {
		t.Fatal(err)
	}
	if p := plan(t, open(t, n, store, true, text)); p.Summary() != (weir.Summary{}) {
		t.Errorf("%+v", p.Changes())
	}
}

// TestProblems are what functions of a provider report, with their places.
func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		`resource "net_firewall" "x" { name = "bad" }`:                                                                                        "the name is bad",
		`output "x" { value = provider::net::join("-", "a", "") }`:                                                                            "a part is empty",
		"resource \"net_firewall\" \"x\" {\n name = \"x\"\n rule {}\n}":                                                                       "port",
		"resource \"net_firewall\" \"x\" {\n name = \"x\"\n rule { port = 1 }\n rule { port = 2 }\n rule { port = 3 }\n rule { port = 4 }\n}": "rule",
	} {
		n := &network{objects: map[string]weir.Object{}}
		_, err := open(t, n, weirtest.NewStore(), false, text).Plan(t.Context(), weir.PlanOptions{})
		var e *weir.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.Diagnostics[0].File != "main.tf" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMistakes in how a provider is written are errors of opening a workspace.
func TestMistakes(t *testing.T) {
	attribute := func(a weir.Attribute) *weir.Provider {
		return &weir.Provider{Config: map[string]weir.Attribute{"x": a}}
	}
	for want, p := range map[string]*weir.Provider{
		"is enough":           attribute(weir.Attribute{Type: "string", Attributes: map[string]weir.Attribute{"y": {Type: "string"}}}),
		"isn't a Nesting":     attribute(weir.Attribute{Nesting: "heap", Attributes: map[string]weir.Attribute{"y": {Type: "string"}}}),
		"the set can":         attribute(weir.Attribute{Nesting: weir.NestSet, Attributes: map[string]weir.Attribute{"y": {Type: "string", Replace: true}}}),
		"can't be WriteOnly":  attribute(weir.Attribute{Nesting: weir.NestSet, Attributes: map[string]weir.Attribute{"y": {Type: "string", WriteOnly: true}}}),
		"nothing stores it":   attribute(weir.Attribute{Type: "string", WriteOnly: true, Computed: true}),
		"Open is missing":     {Ephemerals: map[string]weir.EphemeralType{"x": {}}},
		"Invoke is missing":   {Actions: map[string]weir.ActionType{"x": {}}},
		"Identity is missing": {Lists: map[string]weir.ListType{"x": {List: func(context.Context, weir.Object, func(weir.Found) bool) error { return nil }}}},
		"Call is missing":     {Functions: map[string]weir.Function{"f": {Returns: "string"}}},
		"known beforehand":    {Functions: map[string]weir.Function{"f": {Returns: "any", Call: func(context.Context, []any) (any, error) { return nil, nil }}}},
		"no attribute":        {Resources: map[string]weir.ResourceType{"x": {Create: func(context.Context, weir.Object) (weir.Object, error) { return nil, nil }, Identity: map[string]weir.Attribute{"id": {Type: "string"}}}}},
	} {
		_, err := weir.OpenFS(fstest.MapFS{}, weir.Options{Providers: []weir.ProviderSource{weir.InProcess("example/net", p)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// failures is a test that remembers what it is reported.
type failures []string

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// TestExpectations: assertions on plans fail for what isn't so.
func TestExpectations(t *testing.T) {
	n := &network{objects: map[string]weir.Object{}}
	p := plan(t, open(t, n, weirtest.NewStore(), true, strings.Replace(whole, "PORT", "443", 1)))
	f := &failures{}
	weirtest.ExpectChanges(f, p, "create net_firewall.a", "delete net_firewall.c")
	weirtest.ExpectOrder(f, p, "apply net_firewall.b", "apply net_firewall.a", "apply net_firewall.z")
	want := failures{
		`the plan lacks "delete net_firewall.c"`, `the plan has "create net_firewall.b", which isn't expected`,
		`"apply net_firewall.a" doesn't wait for "apply net_firewall.b"`, `the plan has no step "apply net_firewall.z"`,
	}
	if !slices.Equal(*f, want) {
		t.Errorf("%q", *f)
	}
}
