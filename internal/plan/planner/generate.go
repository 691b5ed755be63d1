package planner

import (
	"context"
	"slices"
	"sync"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan/configgen"
	"weir.dev/weir/internal/resource/instance"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// A Generated is configuration for an import target that has none.
type Generated struct {
	Addr addr.Instance
	ID   string // what it was imported by, empty for an identity
	Text string
}

// Generate writes configuration for those targets of import blocks that have
// none, as far as that can be done: for resources of the root module without
// repetition that aren't in the state. Nothing else is planned but what the
// import blocks refer to.
func Generate(ctx context.Context, in Input) ([]Generated, diag.List) {
	r := newRun(ctx, in)
	if diags := r.prior.CompileMoves(r.Tree, r, r.Facts); diags.HasErrors() {
		return nil, diags
	}
	var mu sync.Mutex
	var list []Generated
	r.rt.Go(func(t *promise.Task) { r.imports.expandBelow(t, r.root) })
	r.rt.Wait()
	for a, target := range r.imports.found {
		if !r.lacks(a, target) {
			continue
		}
		r.rt.Go(func(t *promise.Task) {
			var text string
			diags, _ := t.Try(func(t *promise.Task) { text = r.generate(t, a, target) })
			t.Report(diags.InAddress(a.String())...)
			if text != "" {
				mu.Lock()
				list = append(list, Generated{a, target.done.ID, text})
				mu.Unlock()
			}
		})
	}
	r.rt.Wait()
	slices.SortFunc(list, func(a, b Generated) int { return a.Addr.Compare(b.Addr) })
	return list, seen(r)
}

// Query evaluates the list resources of the root module and what they refer to; nothing
// else is planned.
func Query(ctx context.Context, in Input) (*eval.Frame, diag.List) {
	r := newRun(ctx, in)
	if diags := r.prior.CompileMoves(r.Tree, r, r.Facts); diags.HasErrors() {
		return r.root, diags
	}
	r.root.WalkSome(r.rt, func(res *program.Resource) bool { return res.Name.Mode == addr.List })
	r.rt.Wait()
	return r.root, seen(r)
}

// seen ends what looked at a part of the configuration, and returns the problems.
func seen(r *run) diag.List {
	r.record.note(r.calls.close(r.record.leases))
	diags := r.root.Diagnostics()
	diags.Append(r.Pool.Diagnostics())
	diags.Append(eval.Bugs(r.rt))
	diags.Append(r.others())
	return diags
}

// lacks reports whether the target is a resource for which configuration can
// be written.
func (r *run) lacks(a addr.Instance, target *importTarget) bool {
	return a.Module.IsRoot() && a.Key == addr.NoKey && target.block.ForEach == nil && target.frame == r.root &&
		r.root.Program.ResourceByName[a.Name] == nil && r.prior.Current(a) == nil
}

// generate imports an object only to write its configuration. The result is empty without an
// object.
func (r *run) generate(t *promise.Task, a addr.Instance, target *importTarget) (text string) {
	at, ok := r.lookup(t, a, target.block)
	if !ok {
		return ""
	}
	o, ok := r.reader.imported(t, at)
	if !ok || !o.now.Exists() {
		return ""
	}
	provider := ""
	if use := target.block.Provider; use.Explicit {
		provider = use.LocalName
		if use.Alias != "" {
			provider += "." + use.Alias
		}
	}
	block, object, choose := o.Subject.Schema.Block, o.now.Value, configgen.Choice(configgen.Settable)
	if r.ProvidersGenerate {
		config, given, diags := o.Conn.Configuration(r.calls.ctx, a.Name.Type, block, object)
		if !t.Report(diags...) {
			return ""
		}
		if given {
			object, choose = config, configgen.Given
		}
	}
	return configgen.Resource(a.Name, provider, block, object, choose)
}

// lookup is an object for an import target without configuration.
func (r *run) lookup(t *promise.Task, a addr.Instance, block *program.Import) (*priorObject, bool) {
	pi, ok := r.root.ProviderOf(t, block.Provider, nil)
	if !ok {
		return nil, false
	}
	conn := r.Pool.Open(t, pi)
	if conn == nil {
		return nil, false
	}
	sch := conn.Schemas.Resource(a.Name.Mode, a.Name.Type)
	if sch == nil {
		return nil, t.Report(resourceconfig.Unsupported(block.Range, pi.Addr.Provider, a.Name, conn.Schemas)...)
	}
	subject, ok := instance.Subject(t, a, conn, sch, r.root)
	return claim(instance.Opened{Addr: addr.Object{Instance: a}, Conn: conn, Subject: subject}, a, nil), ok
}
