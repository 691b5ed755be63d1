package roots

import (
	"weir.dev/weir/internal/core/addr"
)

// pathless are providers that read and write no files, so that their answers don't depend on the
// directory where they run.
var pathless = []string{"hashicorp/null", "hashicorp/random", "hashicorp/time", "hashicorp/tls"}

// Share has the roots share schemas and processes of providers until done is called.
func (e *Estate) Share() (done func()) {
	anywhere := map[addr.Provider]bool{}
	for _, name := range pathless {
		for _, registry := range []addr.Registry{addr.OpenTofu, addr.Terraform} {
			if p, err := registry.ParseProvider(name); err == nil {
				anywhere[p] = true
			}
		}
	}
	for _, p := range e.shared {
		anywhere[p] = true
	}
	pool := e.Dir.Providers.Pool(anywhere)
	for _, r := range e.Roots {
		r.Dir.Providers.Shared = pool
	}
	return pool.Close
}
