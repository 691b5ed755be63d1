// Package harness tests configurations without disk and processes: files, states and the cloud
// are in memory.
package harness

import (
	"testing"
	"testing/fstest"

	"weir.dev/weir"
	"weir.dev/weir/weirtest"
)

// A Harness is a configuration under test.
type Harness struct {
	*weir.Workspace
	Cloud *weirtest.Cloud
	Store *weirtest.Store
	t     *testing.T
}

// New makes a harness of files by name. The provider example/sim has the types
// sim_server and sim_network.
func New(t *testing.T, files map[string]string, variables map[string]any) *Harness {
	t.Helper()
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	h := &Harness{t: t, Store: weirtest.NewStore(), Cloud: weirtest.NewCloud().
		Type("sim_server", "name string required", "zone string replace", "network string", "password string sensitive").
		Type("sim_network", "name string required")}
	var err error
	h.Workspace, err = weir.OpenFS(all, weir.Options{
		Variables: variables, Store: h.Store, Providers: []weir.ProviderSource{h.Cloud.Source("example/sim")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Apply plans and applies, and fails the test where that fails.
func (h *Harness) Apply(o weir.PlanOptions) *weir.Result {
	h.t.Helper()
	result, err := h.PlanAndApply(h.t.Context(), o, weir.ApplyOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

// Actions are what a plan would do, by address.
func (h *Harness) Actions(o weir.PlanOptions) map[string]weir.Action {
	h.t.Helper()
	plan, err := h.Plan(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[string]weir.Action{}
	for _, c := range plan.Changes() {
		out[c.Address] = c.Action
	}
	return out
}
