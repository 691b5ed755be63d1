package providersource

import (
	"context"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/net/useragent"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/install"
)

// Fetching is what fetching packages of providers begins with.
func (d *Supplier) Fetching(reqs install.Requirements) (install.Options, diag.List) {
	config, environment, diags := d.place.UserSettings()
	locks, more := d.place.Locks()
	diags.Append(more)
	return install.Options{
		Locks:        locks,
		Requirements: reqs,
		Registry:     d.place.Dialect.Registry(),
		Config:       config,
		Tokens:       cliconfig.NewCredentials(config, environment.PluginDirs(d.place.OriginalDir)),
		Implied:      environment.PluginDirs(d.place.Dir),
		HTTP:         useragent.Default(d.place.Getenv),
		Login: func(ctx context.Context, from ociregistry.Repository) (ociregistry.Login, error) {
			return config.ContainerLogin(ctx, environment, from)
		},
		Silence: d.place.Silence(),
	}, diags
}

// Installing is what the installation of providers begins with.
func (d *Supplier) Installing(reqs install.Requirements) (install.Options, diag.List) {
	o, diags := d.Fetching(reqs)
	sources, more := d.ProviderSources(o.Config)
	diags.Append(more)
	o.Dir, o.External = d.place.Memory().Providers(), sources.External
	o.Builtin = map[addr.Provider]bool{builtin.Address: true}
	return o, diags
}
