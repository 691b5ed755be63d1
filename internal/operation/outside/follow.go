package outside

import (
	"context"
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
	return &Reader{
		Context: ctx, Settings: config.Stacks, Environ: p.Environ, Path: p.Path, Subscriber: p.Path("."),
		TokenDir: filepath.Join(p.DataDir(), "tokens"), HTTP: agent.Default(p.Getenv), Secrets: p.Secrets,
	}, nil
}
