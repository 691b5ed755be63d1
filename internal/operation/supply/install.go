package supply

import (
	"context"

	"weir.dev/weir/internal/operation/cliconfig"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/system/agent"
	"weir.dev/weir/internal/system/container"
	"weir.dev/weir/internal/word/addr"
	"weir.dev/weir/internal/word/diag"
)

// Fetching is what fetching packages of providers begins with.
func (d *Supplier) Fetching(reqs install.Requirements) (install.Options, diag.List) {
	config, environment, diags := d.UserSettings()
	locks, more := d.Locks()
	diags.Append(more)
	return install.Options{
		Locks:        locks,
		Requirements: reqs,
		Registry:     d.Dialect.Registry(),
		Config:       config,
		Tokens:       cliconfig.NewCredentials(config, environment.PluginDirs(d.OriginalDir)),
		Implied:      environment.PluginDirs(d.Dir),
		HTTP:         agent.Default(d.Getenv),
		Login: func(ctx context.Context, from container.Repository) (container.Login, error) {
			return config.ContainerLogin(ctx, environment, from)
		},
		Silence: d.Silence(),
	}, diags
}

// Installing is what the installation of providers begins with.
func (d *Supplier) Installing(reqs install.Requirements) (install.Options, diag.List) {
	o, diags := d.Fetching(reqs)
	sources, more := d.ProviderSources(o.Config)
	diags.Append(more)
	o.Dir, o.External = d.Memory().Providers(), sources.External
	o.Builtin = map[addr.Provider]bool{builtin.Address: true}
	return o, diags
}
