package flags

import (
	"flag"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/ui/commands"
)

// An Init has the flags of init alone.
type Init struct {
	State State
	Vars  Vars

	Backend, Cloud, Get, Upgrade         bool
	Reconfigure, MigrateState, ForceCopy bool
	BackendConfig, PluginDirs            commands.Texts
	LockMode, FromModule                 string
}

// Register registers all of them.
func (i *Init) Register(fs *flag.FlagSet) {
	i.RegisterStates(fs)
	RemoteVersion(fs)
	UnusedTarget(fs)
	fs.Bool("enable-pluggable-state-storage-experiment", false, "") // state stores need no flag here
	fs.BoolVar(&i.Get, "get", true, "Don't fetch modules.")
	fs.Var(&i.PluginDirs, "plugin-dir", "Install providers only from the mirror at `DIR`; repeatable.")
	fs.StringVar(&i.LockMode, "lockfile", "", "Set the `MODE` of the dependency lock file; only readonly exists.")
	fs.StringVar(&i.FromModule, "from-module", "", "Copy the module at `SOURCE` into an empty directory first.")
}

// RegisterStates registers those about where states are, and about versions.
func (i *Init) RegisterStates(fs *flag.FlagSet) {
	i.State.RegisterLock(fs)
	i.Vars.Register(fs)
	fs.BoolVar(&i.Backend, "backend", true, "Don't initialize the backend; use the previous one.")
	fs.BoolVar(&i.Cloud, "cloud", true, "")
	fs.Var(&i.BackendConfig, "backend-config", "Complete the backend block with `NAME=VALUE` or a file of lines; repeatable.")
	fs.BoolVar(&i.Reconfigure, "reconfigure", false, "Use the configured backend, and copy no states from the previous one.")
	fs.BoolVar(&i.MigrateState, "migrate-state", false, "Copy states from the previous backend to the configured one.")
	fs.BoolVar(&i.ForceCopy, "force-copy", false, "Copy states without questions; implies -migrate-state.")
	fs.BoolVar(&i.Upgrade, "upgrade", false, "Select the newest allowed versions, whatever the lock file says.")
}

// Choose checks the flags and their combinations, and has those that imply others do so.
// Of asJSON nobody can be asked.
func (i *Init) Choose(asJSON bool) diag.List {
	if i.ForceCopy {
		i.MigrateState = true
	}
	i.Backend = i.Backend && i.Cloud
	switch {
	case i.MigrateState && i.Reconfigure:
		return diag.Incompatible.As("Wrong combination of options").List("The -migrate-state and -reconfigure options are mutually-exclusive")
	case i.MigrateState && asJSON && !i.ForceCopy:
		return diag.Incompatible.As("Wrong combination of options").List("The -migrate-state option asks questions, which -json rules out. Use -force-copy with it.")
	case i.LockMode != "" && i.LockMode != "readonly":
		return diag.BadOption.As("Failed to parse command-line flags").List("-lockfile has to be readonly, not %q.", i.LockMode)
	case i.LockMode == "readonly" && i.Upgrade:
		return diag.Incompatible.As("Invalid init options").List("The -upgrade flag conflicts with -lockfile=readonly.")
	}
	return nil
}
