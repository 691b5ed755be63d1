package providerclient

import (
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
)

// Find returns the provider instance that a state or plan names, and nil where it isn't there.
// f is the module instance that the address is in, nil where that is gone. declared reports
// whether the configuration is there, though maybe without that key; the root module has every
// default configuration, if only the empty one.
func Find(t *promise.Task, f *eval.Frame, p addr.ProviderConfig) (pi *eval.ProviderInstance, declared bool) {
	if f == nil {
		return nil, false
	}
	for _, decl := range f.Program.Providers {
		if decl.Provider != p.Provider || decl.Alias != p.Alias {
			continue
		}
		for _, pi := range f.ProviderInstances(t, decl, nil) {
			if pi.Addr.Key == p.Key {
				return pi, true
			}
		}
		return nil, true
	}
	if p.Alias == "" && f.Parent == nil {
		return &eval.ProviderInstance{Addr: p, Frame: f}, true
	}
	return nil, false
}
