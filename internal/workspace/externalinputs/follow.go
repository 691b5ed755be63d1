package externalinputs

import (
	"context"
	"maps"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/workspace/backendinit"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/statemgr"
)

// New reads by the settings of the user of a place.
func New(ctx context.Context, p *environment.Place) (*Reader, diag.List) {
	config, _, diags := p.UserSettings()
	if diags.HasErrors() {
		return nil, diags
	}
	from := config.Stacks
	if len(p.Upstreams) > 0 {
		from.Upstreams = maps.Clone(from.Upstreams)
		if from.Upstreams == nil {
			from.Upstreams = map[string]string{}
		}
		maps.Copy(from.Upstreams, p.Upstreams)
	}
	read := func(dir string) (map[string]cty.Value, error) {
		there := backendinit.New(p.In(dir))
		defer there.Place.Close()
		there.OfStack()
		values, diags := statemgr.New(there).Published(ctx)
		return values, diags.Err()
	}
	return &Reader{
		Published: read, Context: ctx, Settings: from, Environ: p.Environ, Path: p.Path, Subscriber: p.Path("."),
		TokenDir: filepath.Join(p.DataDir(), "tokens"), HTTP: useragent.Default(p.Getenv), Secrets: p.Secrets,
	}, nil
}
