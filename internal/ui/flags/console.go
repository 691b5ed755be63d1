package flags

import (
	"flag"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
)

// A Console has the flags of console.
type Console struct {
	State State
	Vars  Vars
	// Planned: expressions are evaluated against what a plan says there will be.
	Planned bool
	// Scope is the module instance that they refer to.
	Scope addr.Module
	scope string
}

// Register registers all of them.
func (c *Console) Register(fs *flag.FlagSet) {
	c.State.RegisterLock(fs)
	fs.StringVar(&c.State.Path, "state", "", "Read the state from the file at `PATH`.")
	fs.BoolVar(&c.Planned, "plan", false, "Evaluate with the result of a plan instead of the state.")
	fs.StringVar(&c.scope, "scope", "", "Evaluate in the module instance at `ADDRESS`, such as module.b[\"key\"].module.c.")
	c.Vars.Register(fs)
}

// UnusedTarget registers -target where Terraform accepts it and it has no effect, so that it may
// stand in TF_CLI_ARGS.
func UnusedTarget(fs *flag.FlagSet) { fs.Func("target", "", func(string) error { return nil }) }

// Check reads the address.
func (c *Console) Check() diag.List {
	if c.scope == "" {
		return nil
	}
	var err error
	if c.Scope, err = addr.ParseModule(c.scope); err != nil {
		return diag.BadAddress.As("Invalid module instance address").List("The -scope option needs the address of a module instance, such as module.a or module.b[\"key\"].module.c: %s.", err)
	}
	return nil
}
