package gcs

import (
	"context"
	"net/http"
	"net/url"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
)

// Objects are those of a bucket, for who only reads.
type Objects struct{ b *Backend }

// OpenObjects finds a bucket by a configuration of the type of Schema. It doesn't connect.
func OpenObjects(config cty.Value, env storage.Env) (*Objects, diag.List) {
	b, diags := New(config, env)
	if b == nil {
		return nil, diags
	}
	return &Objects{b}, diags
}

// List has the names that begin with a prefix.
func (o *Objects) List(ctx context.Context, prefix string) ([]string, error) {
	s, err := o.b.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, url.Values{"prefix": {prefix}})
}

// Get reads an object, in a generation if that isn't "".
func (o *Objects) Get(ctx context.Context, name, generation string) ([]byte, error) {
	s, err := o.b.open(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{"alt": {"media"}}
	if generation != "" {
		query.Set("generation", generation)
	}
	answer, err := s.do(ctx, http.MethodGet, s.address(name, query), nil, nil)
	return answer.Body, err
}
