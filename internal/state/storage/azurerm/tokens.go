package azurerm

import (
	"context"
	"net/http"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// Tokens finds tokens for another service of Azure's, by a configuration of the type of
// Schema, whose storage doesn't matter. It asks for nothing before a token is wanted.
func Tokens(config cty.Value, env storage.Env) (func(ctx context.Context, scope string) (string, error), diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	a := readAccess(r)
	a.agent = useragent.Name(r.Getenv)
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	var mu sync.Mutex
	var credential azcore.TokenCredential
	return func(ctx context.Context, scope string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if credential == nil {
			client := sameorigin.Stay(useragent.Client(&http.Client{Transport: env.Transport}, a.agent))
			in, _, err := a.cloud(ctx, client)
			if err != nil {
				return "", err
			}
			if credential, err = a.credential(a.options(client, in)); err != nil {
				return "", err
			}
		}
		token, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
		return token.Token, err
	}, r.Diags
}
