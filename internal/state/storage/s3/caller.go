package s3

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/backendconfig"
)

// A Caller calls another service of Amazon's that speaks JSON, with the credentials that a
// configuration leads to.
type Caller struct {
	access   access
	agent    string
	id, name string // as addresses in the environment have it, and as requests are signed
	mu       sync.Mutex
	service  *service // nil until it is known
}

// NewCaller makes one from a configuration of the type of Schema, whose bucket doesn't
// matter. The id is the name of the service, such as KMS. It asks for nothing.
func NewCaller(config cty.Value, env storage.Env, id string) (*Caller, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	c := &Caller{access: readAccess(r), agent: useragent.Name(r.Getenv), id: id, name: strings.ToLower(id)}
	c.access.patience, c.access.wire = r.Patience(), env.Transport
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return c, r.Diags
}

// Call has the service do something: target is its name with that of the interface.
func (c *Caller) Call(ctx context.Context, target string, in, into any) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	a, err := s.do(ctx, http.MethodPost, s.address, http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {target}}, body)
	if err != nil {
		return fmt.Errorf("operation error %s: %s, %w", c.id, target[strings.LastIndex(target, ".")+1:], err)
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("the answer of %s can't be read: %w", c.id, err)
	}
	return nil
}

func (c *Caller) open(ctx context.Context) (*service, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.service != nil {
		return c.service, nil
	}
	config, err := c.access.load(ctx)
	if err != nil {
		return nil, err
	}
	to, err := at(ctx, config, c.id, c.id, "", func(fips, dual bool) string {
		kind := c.name
		if fips {
			kind += "-fips"
		}
		suffix, six := domain(config.Region)
		if dual {
			suffix = six
		}
		return "https://" + kind + "." + config.Region + "." + suffix
	})
	if err != nil {
		return nil, err
	}
	to.Path = strings.TrimSuffix(to.Path, "/") + "/"
	c.service = &service{config: config, agent: c.agent, name: c.name, address: to, decode: decodeJSON, patience: c.access.patience}
	return c.service, nil
}
