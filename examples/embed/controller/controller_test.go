package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

var files = fstest.MapFS{"main.tf": {Data: []byte(`
terraform {
  required_providers { sim = { source = "example/sim" } }
}
resource "sim_server" "web" {
  count = 2
  name  = "web ${count.index}"
}
`)}}

func controller(t *testing.T, cloud *weirtest.Cloud, store weir.Store) (*Controller, *[]string) {
	t.Helper()
	ws, err := weir.OpenFS(files, weir.Options{
		DataDir: t.TempDir(), Store: store, Providers: []weir.ProviderSource{cloud.Source("example/sim")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	var told []string
	return &Controller{Workspace: ws, Tell: func(text string) { told = append(told, text) }}, &told
}

// TestDrift: what others change or remove is put right, and nothing is done where
// nothing is different.
func TestDrift(t *testing.T) {
	cloud := weirtest.NewCloud().Type("sim_server", "name string required")
	c, told := controller(t, cloud, weirtest.NewStore())
	for round, before := range []func(){
		func() {},
		func() { cloud.Change("sim_server-1", weir.Object{"name": "mine"}) },
		func() { cloud.Remove("sim_server-2") },
		func() {},
	} {
		before()
		*told = nil
		if err := c.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range cloud.Objects() {
			names = append(names, o["name"].(string))
		}
		slices.Sort(names)
		if want := []string{"web 0", "web 1"}; !slices.Equal(names, want) {
			t.Errorf("round %d: %q", round, names)
		}
		if got := len(*told); got != []int{2, 2, 2, 0}[round] {
			t.Errorf("round %d: %q", round, *told)
		}
	}
}

// TestDoubt: an object whose creation got no answer is found, and isn't made twice.
func TestDoubt(t *testing.T) {
	cloud := weirtest.NewCloud().Type("sim_server", "name string required")
	c, told := controller(t, cloud, weirtest.NewStore())
	lost := true
	cloud.After(func(_ context.Context, call weirtest.Call) error {
		if call.Method == "Create" && lost && call.Object["name"] == "web 1" {
			lost = false
			return weir.ErrUnanswered
		}
		return nil
	})
	if err := c.Reconcile(t.Context()); !errors.Is(err, weir.ErrUnanswered) {
		t.Fatalf("%v", err)
	}
	c.Find = func(_ context.Context, d weir.Doubt) (string, error) {
		for id, o := range cloud.Objects() {
			if o["name"] == "web 1" {
				return id, nil
			}
		}
		return "", nil
	}
	if err := c.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(cloud.Objects()) != 2 || !strings.Contains(strings.Join(*told, "\n"), "sim_server.web[1] exists, as sim_server-") {
		t.Errorf("%d objects, told %q", len(cloud.Objects()), *told)
	}
}

// TestLocked: where somebody else is at work nothing is done, and that is no error.
func TestLocked(t *testing.T) {
	cloud := weirtest.NewCloud().Type("sim_server", "name string required")
	store := weirtest.NewStore()
	c, _ := controller(t, cloud, store)
	if err := store.Lock(t.Context(), "default", weir.LockInfo{ID: "theirs", Who: "them"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Reconcile(t.Context()); err != nil || len(cloud.Calls()) != 0 {
		t.Errorf("%v, %q", err, cloud.Calls())
	}
}
