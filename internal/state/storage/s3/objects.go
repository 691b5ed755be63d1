package s3

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

// Objects are those of a bucket, for who only reads.
type Objects struct {
	access    access
	agent     string
	name      string
	pathStyle bool

	mu     sync.Mutex
	bucket *bucket // nil until it is known
}

// OpenObjects finds a bucket by a configuration of the type of Schema, whose key doesn't
// matter. It doesn't connect.
func OpenObjects(config cty.Value, env storage.Env) (*Objects, diag.List) {
	r := &backendconfig.Reader{Config: config, Env: env}
	o := &Objects{access: readAccess(r), agent: useragent.Name(r.Getenv), name: r.Text("bucket"), pathStyle: r.Bool("use_path_style")}
	o.access.patience, o.access.wire = r.Patience(), env.Transport
	if r.Diags.HasErrors() {
		return nil, r.Diags
	}
	return o, r.Diags
}

func (o *Objects) open(ctx context.Context) (*bucket, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bucket != nil {
		return o.bucket, nil
	}
	config, err := o.access.load(ctx)
	if err != nil {
		return nil, err
	}
	b, err := openBucket(ctx, config, o.name, o.access.endpoints.s3, o.pathStyle)
	if err != nil {
		return nil, err
	}
	b.agent, b.patience = o.agent, o.access.patience
	o.bucket = b
	return b, nil
}

// List has the keys that begin with a prefix.
func (o *Objects) List(ctx context.Context, prefix string) (keys []string, err error) {
	b, err := o.open(ctx)
	if err == nil {
		err = b.list(ctx, prefix, func(key string) { keys = append(keys, key) })
	}
	return keys, err
}

// Get reads an object, in a version if that isn't "".
func (o *Objects) Get(ctx context.Context, key, version string) ([]byte, error) {
	b, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	to := b.key(key)
	if version != "" {
		query := to.Query()
		query.Set("versionId", version)
		to.RawQuery = query.Encode()
	}
	a, err := b.call(ctx, "GetObject", http.MethodGet, to, nil, nil)
	return a.Body, err
}
