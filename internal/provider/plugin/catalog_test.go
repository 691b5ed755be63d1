package plugin

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/provider"
)

func testProvider(name string) addr.Provider {
	return addr.Provider{Host: string(addr.OpenTofu), Namespace: "test", Type: name}
}

func TestCatalogUsesProcessOfSchemasFirst(t *testing.T) {
	a := testProvider("a")
	command := self(t, "6")
	c := NewCatalog(Sources{Installed: map[addr.Provider]string{a: command.Path}}, command)
	defer c.Close()
	c.Warm(t.Context(), []addr.Provider{a})
	schemas, diags := c.Schemas(t.Context(), a)
	if diags != nil || schemas.Resources.Schema("test_thing") == nil {
		t.Fatal(schemas, diags)
	}
	if again, _ := c.Schemas(t.Context(), a); again != schemas {
		t.Error("the schemas were fetched twice")
	}
	first := c.entries[a].ahead.client
	var pids []string
	for range 2 {
		p, diags := c.Start(t.Context(), a)
		if diags != nil {
			t.Fatal(diags)
		}
		if len(pids) == 0 && p != provider.Provider(first) {
			t.Error("the process of the schemas isn't used")
		}
		pids = append(pids, read(t, p, "pid"))
	}
	if pids[0] == pids[1] {
		t.Error("two providers are one process")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, text := range pids {
		pid, _ := strconv.Atoi(text)
		if alive(pid) {
			t.Errorf("process %d runs after Close", pid)
		}
	}
	if _, diags := c.Start(t.Context(), a); !diags.HasErrors() {
		t.Error("a closed catalog starts providers")
	}
}

// TestCatalogIn: processes in another directory are started there, with the schemas of before, and the one
// that was started for these ends.
func TestCatalogIn(t *testing.T) {
	a := testProvider("a")
	command := self(t, "6")
	c := NewCatalog(Sources{Installed: map[addr.Provider]string{a: command.Path}}, command)
	defer c.Close()
	dir := t.TempDir()
	in := c.In(dir)
	defer in.Close()
	schemas, diags := in.Schemas(t.Context(), a)
	if diags != nil {
		t.Fatal(diags)
	}
	if first, _ := c.Schemas(t.Context(), a); first != schemas {
		t.Error("the schemas were fetched twice")
	}
	p, diags := in.Start(t.Context(), a)
	if diags != nil {
		t.Fatal(diags)
	}
	cwd, err := os.Readlink("/proc/" + read(t, p, "pid") + "/cwd")
	if real, _ := filepath.EvalSymlinks(dir); err == nil && cwd != real {
		t.Errorf("the process runs in %s", cwd)
	}
	c.pending.Wait()
	if n := len(c.running); n != 0 {
		t.Errorf("%d processes of the first catalog run", n)
	}
}

func TestRelease(t *testing.T) {
	a, b := testProvider("a"), testProvider("b")
	command := self(t, "6")
	c := NewCatalog(Sources{Installed: map[addr.Provider]string{a: command.Path, b: command.Path}}, command)
	defer c.Close()
	c.Warm(t.Context(), []addr.Provider{a, b})
	c.Release(func(p addr.Provider) bool { return p == a })
	if _, diags := c.Schemas(t.Context(), b); diags != nil {
		t.Fatal(diags)
	}
	<-c.entries[a].done
	for n := 0; ; n++ {
		c.mu.Lock()
		running, kept, dropped := len(c.running), c.entries[a].ahead != nil, c.entries[b].ahead == nil
		c.mu.Unlock()
		if running == 1 && kept && dropped {
			break
		}
		if n > 200 {
			t.Fatalf("%d processes run; the one that is needed: %t, the other: %t", running, kept, !dropped)
		}
		time.Sleep(10 * time.Millisecond)
	}
	p, diags := c.Start(t.Context(), b)
	if diags != nil || read(t, p, "pid") == "" {
		t.Error(p, diags)
	}
	c.Close()
	c.Release(func(addr.Provider) bool { return false })
}

func TestCatalogSources(t *testing.T) {
	builtin, attached, dev, gone := testProvider("builtin"), testProvider("attached"), testProvider("dev"), testProvider("gone")
	command := self(t, "5")
	declared := &provider.Schemas{}
	c := NewCatalog(Sources{
		Builtins:  map[addr.Provider]Builtin{builtin: func() (provider.Provider, *provider.Schemas) { return nothing{}, declared }},
		Reattach:  map[addr.Provider]Reattach{attached: serveHere(t, 5)},
		Overrides: map[addr.Provider]string{dev: command.Path},
		Installed: map[addr.Provider]string{dev: "/nonexistent", attached: "/nonexistent"},
	}, command)
	defer c.Close()
	if s, diags := c.Schemas(t.Context(), builtin); s != declared || diags != nil {
		t.Errorf("built-in: %v %v", s, diags)
	}
	if p, diags := c.Start(t.Context(), builtin); p != (nothing{}) || diags != nil {
		t.Errorf("built-in: %v %v", p, diags)
	}
	for _, p := range []addr.Provider{attached, dev} {
		for range 2 {
			instance, diags := c.Start(t.Context(), p)
			if diags != nil {
				t.Fatal(diags)
			}
			here := read(t, instance, "pid") == strconv.Itoa(os.Getpid())
			if here != (p == attached) {
				t.Errorf("%s runs in the wrong process", p)
			}
		}
	}
	_, diags := c.Schemas(t.Context(), gone)
	if len(diags) != 1 || diags[0].Summary != "Missing required provider" || !strings.Contains(diags[0].Detail, "test/gone") {
		t.Errorf("missing: %v", diags)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, diags := c.Start(ctx, testProvider("another")); !diags.HasErrors() {
		t.Error("a cancelled start gave a provider")
	}
}

type nothing struct{ provider.Provider }

func TestRealProviders(t *testing.T) {
	mirror, err := filepath.Abs("../../../.cache/mirror")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[addr.Provider]string)
	for _, name := range []string{"null", "random", "time", "tls"} {
		paths, _ := filepath.Glob(filepath.Join(mirror, string(addr.OpenTofu), "hashicorp", name, "*", "*", "terraform-provider-*"))
		if len(paths) > 0 {
			found[addr.OpenTofu.Provider(name)] = paths[0]
		}
	}
	null := addr.OpenTofu.Provider("null")
	if found[null] == "" {
		t.Skip("no provider mirror: make one with test/providers/build.sh")
	}
	c := NewCatalog(Sources{Installed: found}, Command{EngineVersion: "1.12.0"})
	defer c.Close()
	for p := range found {
		schemas, diags := c.Schemas(t.Context(), p)
		if diags.HasErrors() || len(schemas.Resources) == 0 {
			t.Errorf("%s: %v", p, diags)
		}
	}
	p, diags := c.Start(t.Context(), null)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	diags = p.Configure(t.Context(), cty.EmptyObjectVal)
	schemas, _ := c.Schemas(t.Context(), null)
	typ := schemas.Resources.Schema("null_resource").Block.ImpliedType()
	config := cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String), "triggers": cty.NullVal(cty.Map(cty.String))})
	plan := p.Plan(t.Context(), provider.PlanRequest{Type: "null_resource", Prior: cty.NullVal(typ), ProposedNew: config, Config: config})
	diags.Append(plan.Diags)
	if diags != nil || plan.Planned.GetAttr("id").IsKnown() {
		t.Fatalf("%v %#v", diags, plan.Planned)
	}
	applied := p.Apply(t.Context(), provider.ApplyRequest{Type: "null_resource", Prior: cty.NullVal(typ), Planned: plan.Planned, Config: config, PlannedPrivate: plan.Private})
	if applied.Diags != nil || applied.New.GetAttr("id").AsString() == "" {
		t.Errorf("%v %#v", applied.Diags, applied.New)
	}
}

// memory keeps what catalogs store.
type memory map[addr.Provider][]byte

func (m memory) Load(p addr.Provider) ([]byte, bool)   { data, ok := m[p]; return data, ok }
func (m memory) Store(p addr.Provider, data []byte)    { m[p] = data }
func (m memory) with(p addr.Provider, d []byte) memory { return memory{p: d} }

// whole is all of what is declared, with each schema made.
func whole(s *provider.Schemas) *provider.Schemas {
	out := *s
	for _, types := range []*provider.Types{&out.Resources, &out.DataSources, &out.Ephemerals, &out.Lists, &out.Actions} {
		all := provider.Types{}
		for name, one := range *types {
			all[name] = provider.Known(one.Schema())
		}
		*types = all
	}
	return &out
}

// TestCatalogRemembers: with what a plugin declared before, no process is started until it has
// something to do; what can't be read is requested again.
func TestCatalogRemembers(t *testing.T) {
	for _, protocol := range []string{"5", "6"} {
		a := testProvider("a")
		command := self(t, protocol)
		open := func(m memory) *Catalog {
			c := NewCatalog(Sources{Installed: map[addr.Provider]string{a: command.Path}}, command)
			t.Cleanup(func() { c.Close() })
			c.Remember(m)
			return c
		}
		m := memory{}
		asked, diags := open(m).Schemas(t.Context(), a)
		if diags != nil || len(m[a]) == 0 {
			t.Fatal(diags, len(m[a]))
		}
		c := open(m)
		known, diags := c.Schemas(t.Context(), a)
		if diags != nil || !reflect.DeepEqual(whole(asked), whole(known)) {
			t.Errorf("protocol %s: %v; what was kept isn't what was declared", protocol, diags)
		}
		if len(c.running) > 0 {
			t.Errorf("protocol %s: %d processes for the schemas", protocol, len(c.running))
		}
		p, diags := c.Start(t.Context(), a)
		if diags != nil || read(t, p, "pid") == "" || len(c.running) != 1 {
			t.Errorf("protocol %s: %v, %d processes", protocol, diags, len(c.running))
		}
		if started := metrics.Count(func() {
			for range 2 {
				if _, diags := open(m).Schemas(t.Context(), a); diags != nil {
					t.Error(diags)
				}
			}
		})["started"]; started != 0 {
			t.Errorf("protocol %s: %d processes were started for schemas that are known", protocol, started)
		}
		var decoded Decoded
		var all []*provider.Schemas
		for _, with := range []*Decoded{&decoded, &decoded, nil} {
			c := open(m)
			c.Share(with)
			schemas, diags := c.Schemas(t.Context(), a)
			if diags != nil || !reflect.DeepEqual(whole(asked), whole(schemas)) {
				t.Errorf("protocol %s: shared: %v", protocol, diags)
			}
			all = append(all, schemas)
		}
		if all[0] != all[1] || all[0] == all[2] {
			t.Errorf("protocol %s: schemas of catalogs that share: %p %p, of another: %p", protocol, all[0], all[1], all[2])
		}
		if asked := c.Asked(); !slices.Equal(asked, []addr.Provider{a}) || open(m).Asked() != nil {
			t.Errorf("protocol %s: asked for: %v", protocol, asked)
		}
		warm := open(m)
		warm.Warm(t.Context(), []addr.Provider{a})
		for range 2 {
			if p, diags := warm.Start(t.Context(), a); diags != nil || read(t, p, "pid") == "" {
				t.Errorf("protocol %s: warm: %v", protocol, diags)
			}
		}
		if len(warm.running) != 2 {
			t.Errorf("protocol %s: %d processes for two that were asked for", protocol, len(warm.running))
		}
		for _, data := range [][]byte{nil, {200}, m[a][:len(m[a])/2], []byte("something else")} {
			c := open(m.with(a, data))
			if again, diags := c.Schemas(t.Context(), a); diags != nil || !reflect.DeepEqual(whole(asked), whole(again)) || len(c.running) != 1 {
				t.Errorf("protocol %s: with %d bytes: %v", protocol, len(data), diags)
			}
		}
	}
}
