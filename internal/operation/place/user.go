package place

import (
	"cmp"

	"weir.dev/weir/internal/operation/cliconfig"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/word/diag"
)

// Hosts are the user's settings for hosts of services that keep states.
func (d *Place) Hosts() (storage.Hosts, error) {
	config, environment, diags := d.UserSettings()
	if err := diags.Err(); err != nil {
		return storage.Hosts{}, err
	}
	return storage.Hosts{
		Token:    cliconfig.NewCredentials(config, environment.PluginDirs(d.OriginalDir)).Token,
		Services: config.Hosts,
	}, nil
}

// StorageEnv is what backends and services for keys may know of the process.
func (d *Place) StorageEnv() storage.Env {
	return storage.Env{Dir: d.Dir, Getenv: d.Getenv, Hosts: d.Hosts, CloudHost: d.Dialect.CloudHost()}
}

// UserSettings are the user's own settings. Warnings about them are told once.
func (d *Place) UserSettings() (*cliconfig.Config, cliconfig.Environment, diag.List) {
	environment := cliconfig.Environment{Getenv: d.Getenv, Home: cmp.Or(d.Environ["HOME"], d.Home), Dialect: d.Dialect, All: d.Environment()}
	config, diags := cliconfig.Load(environment)
	if d.Installation != nil {
		config.Installation = d.Installation
	}
	if warnings := diags.Only(diag.Warning); len(warnings) > 0 && !d.warnedOfSettings {
		d.warnedOfSettings = true
		d.Settings(warnings)
	}
	return config, environment, diags.Only(diag.Error)
}
