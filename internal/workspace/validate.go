package workspace

import (
	"context"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/workspace/providersource"
)

// Validate checks the configuration with the schemas of its providers. It inspects neither the
// state nor real objects.
type Validate struct {
	Dir     *Directory
	Loading Loading
	Tests   string // the directory of tests whose files are checked, too; empty for none
}

// Run returns the configuration with its problems; nil if it can't be loaded.
func (v Validate) Run(ctx context.Context) (*engine.Config, diag.List) {
	v.Loading.warm = !v.Loading.Declared
	config, diags := v.Dir.Load(ctx, v.Loading)
	return config, v.problems(ctx, config, diags)
}

// problems adds what is wrong with a configuration to the problems of loading it.
func (v Validate) problems(ctx context.Context, config *engine.Config, diags diag.List) diag.List {
	d := v.Dir
	provide := d.ProvideFound
	if v.Loading.Declared {
		// Editors use the schemas even where a mistake ends the check before they are needed.
		provide = once(d.provideDeclared)
		if config != nil && config.Tree != nil && config.Tree.Program != nil {
			provide(config)
		}
	}
	diags.Append(d.stackOnly(diag.Warning, "validate"))
	if config != nil && d.Place.Dialect == dialect.Terraform && config.Tree.Program.Backend != nil {
		diags.Append(d.Settings.Opener().CheckType(config.Tree.Program.Backend))
	}
	if config == nil || diags.HasErrors() {
		return engine.ValidateBeside(ctx, config, diags, provide)
	}
	all := &Tested{config: config}
	if v.Tests != "" {
		diags.Append(Tests{d, v.Tests}.load(ctx, engine.LoadOptions{World: config.World, Dir: ".", Inputs: config.Inputs, Files: d.Place.Files()}, all))
		if diags.HasErrors() {
			return diags
		}
	}
	if v.Loading.Declared {
		_, more := provide(config)
		diags.Append(more)
	} else {
		diags.Append(d.Provide(config, all.Requirements(nil)))
	}
	if diags.HasErrors() {
		return diags
	}
	diags.Append(engine.Validate(ctx, config))
	for _, f := range all.files {
		for _, r := range f.Runs {
			diags.Append(r.Problems)
		}
	}
	for _, m := range all.modules {
		diags.Append(engine.Validate(ctx, m.Config))
	}
	if v.Loading.Declared {
		diags = slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return provider.Absent.Is(d) })
	}
	return diags
}

// once calls a function at its first use and returns the same result later.
func once(provide func(*engine.Config) ([]addr.Provider, diag.List)) func(*engine.Config) ([]addr.Provider, diag.List) {
	var result func() ([]addr.Provider, diag.List)
	return func(c *engine.Config) ([]addr.Provider, diag.List) {
		if result == nil {
			result = sync.OnceValues(func() ([]addr.Provider, diag.List) { return provide(c) })
		}
		return result()
	}
}

// provideDeclared is ProvideFound for schemas only. Providers that aren't installed are no
// reason to check less of the rest.
func (d *Directory) provideDeclared(config *engine.Config) ([]addr.Provider, diag.List) {
	_, diags := d.Providers.FillDeclared(config.World.Catalog.(*providersource.Late), providersource.Requirements(config.Tree, nil))
	return nil, diags.Only(diag.Warning)
}
