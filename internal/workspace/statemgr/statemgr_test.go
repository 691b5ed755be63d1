package statemgr

import (
	"testing"
	"time"

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
