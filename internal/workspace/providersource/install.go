package providersource

import (
	"context"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/net/netrc"
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
		Netrc:   d.netrc(),
		Silence: d.place.Silence(),
	}, diags
}

// netrc finds names and passwords for hosts of packages, as Terraform does. OpenTofu has them for
// modules only.
func (d *Supplier) netrc() func(host string) (user, password string, ok bool) {
	if d.place.Dialect != dialect.Terraform {
		return nil
	}
	return func(host string) (user, password string, ok bool) { return netrc.Find(d.place.Getenv, host) }
}

// Installing is what the installation of providers begins with.
func (d *Supplier) Installing(reqs install.Requirements) (install.Options, diag.List) {
	o, diags := d.Fetching(reqs)
	sources, more := d.ProviderSources(o.Config)
	diags.Append(more)
	diags.Append(attachedWarning(sources))
	o.Dir, o.External = d.place.Memory().Providers(), sources.External
	o.Builtin = map[addr.Provider]bool{builtin.Address: true}
	return o, diags
}
