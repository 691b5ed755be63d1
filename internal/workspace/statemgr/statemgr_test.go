package statemgr

import (
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage/inmem"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/statebackend"
)

// TestInterval: states are saved in between as often as the environment says, but not more
// often than is good for servers. Anything that is no number counts for nothing.
func TestInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "40": 40 * time.Second, "5": 20 * time.Second, "x": 0, "-3": 0,
	} {
		k := New(backendinit.New(environment.New(environment.Options{Environ: map[string]string{"TF_STATE_PERSIST_INTERVAL": text}})))
		o, diags := k.SessionOptions(&statebackend.Backend{Backend: inmem.New()}, Options{})
		if diags.HasErrors() || o.Interval != want {
			t.Errorf("%q: %v, %v; want %v", text, o.Interval, diags.Err(), want)
		}
	}
}

// TestPublishedNever: a stack that has published nothing yet has no outputs, and afterwards those.
func TestPublishedNever(t *testing.T) {
	dir := t.TempDir()
	k := New(backendinit.New(environment.New(environment.Options{Dir: dir, Environ: map[string]string{}})))
	b := &statebackend.Backend{Backend: inmem.New(), Kind: "inmem"}
	if !elsewhere(b) {
		t.Fatal("this backend has no room for it")
	}
	if values, diags := k.publishedIn(t.Context(), b); len(values) > 0 || diags.HasErrors() {
		t.Errorf("%v, %v", values, diags)
	}
	want := map[string]cty.Value{"id": cty.StringVal("x")}
	if changed, diags := k.Publish(t.Context(), b, want); !changed || diags.HasErrors() {
		t.Errorf("%v, %v", changed, diags)
	}
	if values, diags := k.publishedIn(t.Context(), b); len(values) != 1 || !values["id"].RawEquals(want["id"]) || diags.HasErrors() {
		t.Errorf("%v, %v", values, diags)
	}
}
