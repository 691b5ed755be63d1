package workspace

import (
	"context"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/workspace/providersource"
)

// Validate checks the configuration with the schemas of its providers. Neither the state nor
// anything that exists is inspected. With a directory of tests the test files are checked,
// too.
func (d *Directory) Validate(ctx context.Context, l Loading, tests string) diag.List {
	_, diags := d.Validated(ctx, l, tests)
	return diags
}

// Validated is Validate with the configuration that was checked; nil if it can't be loaded.
func (d *Directory) Validated(ctx context.Context, l Loading, tests string) (*engine.Config, diag.List) {
	l.warm = !l.Declared
	config, diags := d.Load(ctx, l)
	return config, d.problems(ctx, l, config, diags, tests)
}

// problems adds what is wrong with a configuration to the problems of loading it.
func (d *Directory) problems(ctx context.Context, l Loading, config *engine.Config, diags diag.List, tests string) diag.List {
	provide := d.ProvideFound
	if l.Declared {
		provide = d.provideDeclared
	}
	diags.Append(d.stackOnly(diag.Warning, "validate"))
	if config != nil && d.Place.Dialect == dialect.Terraform && config.Tree.Program.Backend != nil {
		diags.Append(d.Settings.Opener().CheckType(config.Tree.Program.Backend))
	}
	if config == nil || diags.HasErrors() {
		return engine.ValidateBeside(ctx, config, diags, provide)
	}
	all := &Tested{config: config}
	if tests != "" {
		diags.Append(d.loadTests(ctx, engine.LoadOptions{World: config.World, Dir: ".", Inputs: config.Inputs, Files: d.Place.Files()}, tests, all))
		if diags.HasErrors() {
			return diags
		}
	}
	if l.Declared {
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
	if l.Declared {
		diags = slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return provider.Absent.Is(d) })
	}
	return diags
}

// provideDeclared is ProvideFound for schemas only. Providers that aren't installed are no
// reason to check less of the rest.
func (d *Directory) provideDeclared(config *engine.Config) ([]addr.Provider, diag.List) {
	_, diags := d.Providers.FillDeclared(config.World.Catalog.(*providersource.Late), providersource.Requirements(config.Tree, nil))
	return nil, diags.Only(diag.Warning)
}
