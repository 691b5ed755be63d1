package workspace

import (
	"bytes"
	"context"
	"slices"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/sys/readlimit"
	"weir.dev/weir/internal/workspace/providersource"
)

// checkMode fails where a run would work as OpenTofu in a directory of Terraform, and
// nobody has chosen that. The state is nil before it is read.
func (d *Directory) checkMode(tree *program.Tree, s *state.Snapshot) diag.List {
	if !d.modeUnchosen() {
		return nil
	}
	if sign := d.evidenceOf(tree, s).sign(); sign != "" {
		return wrongMode(sign)
	}
	return nil
}

// modeFirst is the problem with the mode in place of a lock file that doesn't fit because of
// it. The advice about such a file, init -upgrade, would rewrite it.
func modeFirst(l diag.List, check func() diag.List) diag.List {
	if !slices.ContainsFunc(l, install.InconsistentLocks.Is) {
		return l
	}
	if stop := check(); stop.HasErrors() {
		return stop
	}
	return l
}

// modeUnchosen reports whether a run works as OpenTofu and nobody has said so.
func (d *Directory) modeUnchosen() bool {
	return d.Place.Unchosen && d.Place.Dialect == dialect.OpenTofu && d.About == nil && d.Place.FS == nil
}

func (d *Directory) evidenceOf(tree *program.Tree, s *state.Snapshot) evidence {
	e := evidence{Program: tree.Program, Required: providersource.Requirements(tree, nil), State: s}
	e.Locks, _ = readlimit.File(d.Place.Path(lockfile.Name))
	e.Names, _ = d.Place.Files().List(".")
	return e
}

// TerraformSign is what says that the directory belongs to Terraform, empty for nothing.
// It reads only files that are here.
func (d *Directory) TerraformSign(ctx context.Context) string {
	prog, _ := d.Settings.Root()
	return d.signIn(ctx, prog)
}

// signIn is TerraformSign for a root module that is compiled, nil for none.
func (d *Directory) signIn(ctx context.Context, prog *program.Program) string {
	if prog == nil {
		return ""
	}
	tree := &program.Tree{Program: prog}
	const name = "terraform.tfstate"
	var s *state.Snapshot
	if src, err := readlimit.File(d.Place.Path(name)); err == nil && bytes.Contains(src, []byte(addr.Terraform)) {
		s, _ = statefile.Read(src, name)
	}
	sign := d.evidenceOf(tree, s).sign()
	if sign == "" || len(prog.Calls) == 0 {
		return sign
	}
	// Modules may name hosts, too.
	inputs, _ := d.Place.Inputs(nil)
	world, diags := d.World(ctx, Loading{})
	if diags.HasErrors() {
		return sign
	}
	c, _ := engine.Load(ctx, engine.LoadOptions{World: world, Dir: ".", Inputs: inputs, Files: d.Place.Files(), Resolve: d.ModulesInPlace(d.Place.Files())})
	if c == nil || c.Tree == nil {
		return sign
	}
	return d.evidenceOf(c.Tree, s).sign()
}

// CheckMode is checkMode before anything was loaded.
func (d *Directory) CheckMode(ctx context.Context) diag.List {
	if !d.modeUnchosen() {
		return nil
	}
	if sign := d.TerraformSign(ctx); sign != "" {
		return wrongMode(sign)
	}
	return nil
}
