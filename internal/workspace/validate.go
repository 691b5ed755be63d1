package workspace

import (
	"context"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
)

// Validate checks the configuration with the schemas of its providers. Neither the state nor
// anything that exists is inspected. With a directory of tests the test files are checked,
// too.
func (d *Directory) Validate(ctx context.Context, l Loading, tests string) diag.List {
	l.warm = true
	config, diags := d.Load(ctx, l)
	diags.Append(d.stackOnly(diag.Warning, "validate"))
	if config != nil && d.Dialect == dialect.Terraform && config.Tree.Program.Backend != nil {
		diags.Append(d.Opener().CheckType(config.Tree.Program.Backend))
	}
	if config == nil || diags.HasErrors() {
		return engine.ValidateBeside(ctx, config, diags, d.ProvideFound)
	}
	all := &Tested{config: config}
	if tests != "" {
		diags.Append(d.loadTests(ctx, engine.LoadOptions{World: config.World, Dir: ".", Inputs: config.Inputs, Files: d.Files()}, tests, all))
		if diags.HasErrors() {
			return diags
		}
	}
	diags.Append(d.Provide(config, all.Requirements(nil)))
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
	return diags
}
