package outside

import (
	"context"
	"maps"
	"path/filepath"

	"weir.dev/weir/internal/operation/place"
	"weir.dev/weir/internal/system/agent"
	"weir.dev/weir/internal/word/diag"
)

// New reads by the settings of the user of a place.
func New(ctx context.Context, p *place.Place) (*Reader, diag.List) {
	config, _, diags := p.UserSettings()
	if diags.HasErrors() {
		return nil, diags
	}
	settings := config.Stacks
	if len(p.Upstreams) > 0 {
		settings.Upstreams = maps.Clone(settings.Upstreams)
		if settings.Upstreams == nil {
			settings.Upstreams = map[string]string{}
		}
		maps.Copy(settings.Upstreams, p.Upstreams)
	}
	return &Reader{
		Context: ctx, Settings: settings, Environ: p.Environ, Path: p.Path, Subscriber: p.Path("."),
		TokenDir: filepath.Join(p.DataDir(), "tokens"), HTTP: agent.Default(p.Getenv), Secrets: p.Secrets,
	}, nil
}
