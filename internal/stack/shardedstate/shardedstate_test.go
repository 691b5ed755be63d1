package shardedstate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/sys/durable"
)

func object(t *testing.T, provider, name string, needs ...string) *state.Object {
	t.Helper()
	p, err := addr.ParseProviderConfig(provider)
	if err != nil {
		t.Fatal(err)
	}
	o := &state.Object{Provider: p, JSON: []byte(`{"name":"` + name + `"}`)}
	for _, text := range needs {
		i, err := addr.ParseInstance(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Dependencies = append(o.Dependencies, i.Resource)
	}
	return o
}

func sample(t *testing.T) *state.Snapshot {
	t.Helper()
	s := state.Empty()
	s.Lineage, s.Serial, s.Version = "11111111-2222-3333-4444-555555555555", 7, "1.12.6"
	add := func(address string, o *state.Object) {
		i, err := addr.ParseInstance(address)
		if err != nil {
			t.Fatal(err)
		}
		s.Objects[addr.Object{Instance: i}] = o
	}
	const sim = `provider["registry.opentofu.org/weir/sim"].main`
	add(`component.net["eu"].sim_object.o`, object(t, sim, "eu"))
	add(`component.net["us"].sim_object.o`, object(t, sim, "us"))
	add(`component.app.module.m[0].sim_object.o`, object(t, sim, "app", `component.app.module.m.sim_object.base`, `component.net.sim_object.o`))
	add(`component.app.module.m[0].sim_object.base`, object(t, sim, "base"))
	add(`stack.s["k"].component.c["a.b/c"].sim_object.o`, object(t, `stack.s["k"].`+sim+`["x"]`, "deep", `component.net.sim_object.o`))
	return s
}

func encode(t *testing.T, s *state.Snapshot) []byte {
	t.Helper()
	b, err := statefile.Bytes(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPartsMakeTheWhole(t *testing.T) {
	b := Backend{Dir: t.TempDir()}
	st, err := b.State("dev")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if data, err := st.Read(ctx); err != nil || data != nil {
		t.Fatalf("a deployment that never was has %q, %v", data, err)
	}
	whole := encode(t, sample(t))
	if err := st.Write(ctx, whole); err != nil {
		t.Fatal(err)
	}
	got, err := st.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, whole) {
		t.Errorf("got\n%s\nwant\n%s", got, whole)
	}
	entries, _ := os.ReadDir(filepath.Join(b.Dir, "dev"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := "component.app.tfstate component.net.eu.tfstate component.net.us.tfstate index.json stack.s.k.component.c.a.b%2Fc.tfstate"
	if text := strings.Join(names, " "); text != want {
		t.Errorf("files\n%s\nwant\n%s", text, want)
	}
	part, err := os.ReadFile(filepath.Join(b.Dir, "dev", "stack.s.k.component.c.a.b%2Fc.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"stack.s", "component"} {
		if strings.Contains(string(part), text) {
			t.Errorf("a part knows of the stack around it: %s", part)
		}
	}
}

func TestOnlyChangedPartsAreWritten(t *testing.T) {
	b := Backend{Dir: t.TempDir()}
	st, _ := b.State("dev")
	ctx := context.Background()
	s := sample(t)
	if err := st.Write(ctx, encode(t, s)); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, _ := os.ReadFile(filepath.Join(b.Dir, "dev", name))
		return string(data)
	}
	eu, us := read("component.net.eu.tfstate"), read("component.net.us.tfstate")
	next := s.Clone()
	next.Serial++
	for a := range next.Objects {
		switch a.Module {
		case `component.net["eu"]`:
			next.Objects[a] = object(t, `provider["registry.opentofu.org/weir/sim"].main`, "changed")
		case `component.app.module.m[0]`:
			delete(next.Objects, a)
		}
	}
	if err := st.Write(ctx, encode(t, next)); err != nil {
		t.Fatal(err)
	}
	if now := read("component.net.eu.tfstate"); now == eu || !strings.Contains(now, "changed") {
		t.Error("a changed part wasn't written")
	}
	if read("component.net.us.tfstate") != us {
		t.Error("a part was written that hasn't changed")
	}
	if _, err := os.Stat(filepath.Join(b.Dir, "dev", "component.app.tfstate")); err == nil {
		t.Error("an empty part is still there")
	}
}

// TestWriteIsDoneAtOnce: wherever a write ends, the record of a move is only in a state that has all that it
// says. Otherwise the next run would remove objects from the other state that have never arrived.
func TestWriteIsDoneAtOnce(t *testing.T) {
	ctx := context.Background()
	whole := sample(t)
	few := whole.Clone()
	for a := range few.Objects {
		if strings.HasPrefix(string(a.Module), "component.app") {
			delete(few.Objects, a)
		}
	}
	next := whole.Clone()
	next.Serial++
	next.Transfer = &state.Transfer{ID: "t", Dir: "../a", Lineage: "l"}
	old := state.Empty()
	i, err := addr.ParseInstance("sim_object.base")
	must(t, err)
	old.Lineage, old.Serial, old.Objects[addr.Object{Instance: i}] = "l", 1, object(t, `provider["registry.opentofu.org/weir/sim"]`, "stale")
	stale := encode(t, old)
	for _, first := range []*state.Snapshot{nil, few} {
		for n := 0; ; n++ {
			dir := t.TempDir()
			if st, _ := (Backend{Dir: dir}).State("dev"); first != nil {
				if err := st.Write(ctx, encode(t, first)); err != nil {
					t.Fatal(err)
				}
			}
			// A killed run has left a part of an earlier time.
			must(t, os.MkdirAll(filepath.Join(dir, "dev"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "dev", "component.app.tfstate"), stale, 0o600))
			changes, over := 0, errors.New("it ends here")
			st, _ := Backend{Dir: dir, Disk: &durable.Disk{Before: func(durable.Change) error {
				if changes++; changes > n {
					return over
				}
				return nil
			}}}.State("dev")
			err := st.Write(ctx, encode(t, next))
			again, _ := Backend{Dir: dir}.State("dev")
			data, readErr := again.Read(ctx)
			if readErr != nil {
				t.Fatal(readErr)
			}
			now, diags := statefile.Read(data, "")
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if bytes.Contains(data, []byte("stale")) {
				t.Errorf("after %d changes the state has objects of an earlier time", n)
			}
			if now != nil && now.Transfer != nil && len(now.Objects) != len(next.Objects) {
				t.Errorf("after %d changes the state has the record, and %d of %d objects", n, len(now.Objects), len(next.Objects))
			}
			if err == nil {
				if now.Transfer == nil || n < 4 {
					t.Errorf("%d changes: %+v", n, now.Transfer)
				}
				break
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestObjectsOutsideOfComponents(t *testing.T) {
	st, _ := Backend{Dir: t.TempDir()}.State("dev")
	s := state.Empty()
	i, _ := addr.ParseInstance("sim_object.o")
	s.Objects[addr.Object{Instance: i}] = object(t, `provider["registry.opentofu.org/weir/sim"]`, "o")
	if err := st.Write(context.Background(), encode(t, s)); err == nil || !strings.Contains(err.Error(), "no component") {
		t.Errorf("got %v", err)
	}
}

func TestDamagedIndex(t *testing.T) {
	b := Backend{Dir: t.TempDir()}
	for _, text := range []string{"{", `{"version": 2}`, `{"version": 1, "state": 5}`, `{"version": 1, "state": {"version": 4}, "components": [{"address": "x.y", "file": "index.json"}]}`} {
		if err := os.MkdirAll(filepath.Join(b.Dir, "dev"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.Dir, "dev", IndexFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		st, _ := b.State("dev")
		if _, err := st.Read(context.Background()); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}
