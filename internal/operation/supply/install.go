package supply

import (
	"weir.dev/weir/internal/operation/cliconfig"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/system/agent"
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
