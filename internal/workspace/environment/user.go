package environment

import (
	"cmp"
	"time"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/resource/ratelimit"
	"weir.dev/weir/internal/state/storage"
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

// fewest is how many objects there have to be for a list, unless the user says so: a list
// may take as long as several reads.
const fewest = 10

// Limits are those of calls of providers: n at once, with 0 for as many as is usual, and
// the user's budgets. Beside them is how many objects of
// a type there have to be to look at them by a list, where lists are trusted.
func (d *Place) Limits(n int) (*ratelimit.Limiter, map[ratelimit.Of]int, diag.List) {
	config, _, diags := d.UserSettings()
	s := ratelimit.Settings{AtOnce: max(n, 0), Budgets: map[ratelimit.Of]ratelimit.Budget{}}
	for of, b := range config.Budgets {
		s.Budgets[ratelimit.Of(of)] = ratelimit.Budget(b)
	}
	var lists map[ratelimit.Of]int
	for of, look := range config.Looks {
		if look.ByList {
			if lists == nil {
				lists = map[ratelimit.Of]int{}
			}
			lists[ratelimit.Of(of)] = cmp.Or(look.From, fewest)
		}
	}
	return ratelimit.New(s), lists, diags
}

// RefreshAfter is how long objects of a type needn't be inspected again where only what is old
// is.
func (d *Place) RefreshAfter() func(addr.Provider, string) time.Duration {
	config, _, _ := d.UserSettings() // loading reports what is wrong with the settings
	return func(p addr.Provider, typ string) time.Duration {
		for _, of := range []cliconfig.BudgetOf{{Provider: p, Type: typ}, {Provider: p}} {
			if look := config.Looks[of]; look.After != nil {
				return *look.After
			}
		}
		return usualAge
	}
}

// usualAge is how long ago objects may have been looked at without a setting: a while of
// working on a configuration.
const usualAge = 15 * time.Minute

// StorageEnv is what backends and services for keys may know of the process.
func (d *Place) StorageEnv() storage.Env {
	return storage.Env{Dir: d.Dir, Getenv: d.Getenv, Hosts: d.Hosts, CloudHost: d.Dialect.CloudHost()}
}

// UserSettings are the user's own settings. Warnings about them are reported once.
func (d *Place) UserSettings() (*cliconfig.Config, cliconfig.Environment, diag.List) {
	environment := cliconfig.Environment{Getenv: d.Getenv, Home: cmp.Or(d.Environ["HOME"], d.Home), Dialect: d.Dialect, All: d.Environment(), Interrupted: d.Interrupted}
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
