package gcs

import (
	"context"
	"net/http"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Client finds credentials for another service of Google's, by a configuration of the type
// of Schema, whose bucket doesn't matter. It asks for nothing before the client is wanted.
func Client(config cty.Value, env storage.Env, scope string) (func(context.Context) (*http.Client, error), diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	a := readAccess(r)
	a.patience, a.transport, a.scope, a.open = r.Patience(), env.Transport, scope, false
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	name := useragent.Name(r.Getenv)
	var mu sync.Mutex
	var client *http.Client
	return func(ctx context.Context) (*http.Client, error) {
		mu.Lock()
		defer mu.Unlock()
		if client != nil {
			return client, nil
		}
		found, err := a.client(context.WithoutCancel(ctx)) // tokens outlive the request
		if err == nil {
			client = useragent.Client(found, name)
		}
		return client, err
	}, r.Diags
}
