package planner

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/event"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/resource/lifecycle"
	"weir.dev/weir/internal/resource/providerclient"
	"weir.dev/weir/internal/resource/resourceconfig"
)

// An importTarget is what an import block says for one instance.
type importTarget struct {
	block *program.Import
	frame *eval.Frame
	each  *eval.Each
	// done is what was imported.
	done *plan.Importing
}

// importTargets are the targets of import blocks. The target of a block is computed on demand: its for_each may read objects that other
// blocks import.
type importTargets struct {
	found  map[addr.Instance]*importTarget
	blocks map[*eval.Frame]map[addr.Resource][]*importBlock // by target without keys
}

// An importBlock is an import block in a module instance.
type importBlock struct {
	frame   *eval.Frame
	block   *program.Import
	targets promise.Cell[struct{}]
}

func (b *importBlock) String() string {
	return b.frame.Label("import of " + b.block.To.Erase().String())
}

// importBlocks are those of a module instance by what they may name.
func (r *run) importBlocks(f *eval.Frame) map[addr.Resource][]*importBlock {
	if r.Mode == plan.RefreshOnly && !r.Import {
		return nil
	}
	if len(f.Program.Imports) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	blocks := r.imports.blocks[f]
	if blocks == nil {
		blocks = map[addr.Resource][]*importBlock{}
		for _, block := range f.Program.Imports {
			to := addr.Resource{Module: addr.FromSteps(append(f.Addr.Steps(), block.To.Module.Steps()...)), Name: block.To.Name}.Erase()
			blocks[to] = append(blocks[to], &importBlock{frame: f, block: block})
		}
		r.imports.blocks[f] = blocks
	}
	return blocks
}

// importOf is what import blocks say about an instance, or nil. Blocks can name
// what is in their module and below.
func (r *run) importOf(t *promise.Task, i *eval.Instance) (target *importTarget, ok bool) {
	ok = true
	to := i.Addr.Resource.Erase()
	for f := i.Frame; f != nil; f = f.Parent {
		for _, b := range r.importBlocks(f)[to] {
			ok = r.expandImport(t, b) && ok
		}
	}
	return r.findImport(i.Addr), ok
}

func (r *run) findImport(i addr.Instance) *importTarget {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.imports.found[i]
}

// expandImports finds the instances that import blocks name.
func (r *run) expandImports(t *promise.Task) {
	r.importsOf(t, r.root)
}

func (r *run) importsOf(t *promise.Task, f *eval.Frame) {
	blocks := r.importBlocks(f)
	for _, to := range slices.SortedFunc(maps.Keys(blocks), addr.Resource.Compare) {
		for _, b := range blocks[to] {
			r.expandImport(t, b)
		}
	}
	for _, c := range f.Program.Calls {
		for _, child := range f.Calls(t, c, nil) {
			r.importsOf(t, child)
		}
	}
}

// expandImport finds the instances that a block names, once. Anyone who asks fails with it.
func (r *run) expandImport(t *promise.Task, b *importBlock) (ok bool) {
	_, ok, cycle := b.targets.Get(t, b, b.block.Range.Ptr(), func(t *promise.Task) (struct{}, bool) {
		instances := []*eval.Each{nil}
		if b.block.ForEach != nil {
			v, ok := eval.Evaluate(t, b.block.ForEach, b.frame.Context(t, nil, cty.NilVal))
			if !ok {
				return struct{}{}, false
			}
			each, known, diags := eval.ImportEach(v, b.block.ForEach)
			if !known && !diags.HasErrors() {
				diags.Add(diag.BadRepetition.As("Invalid for_each argument").Error(b.block.ForEach.Range(), "The for_each of an import block must be known when planning."))
			}
			if !t.Report(diags...) {
				return struct{}{}, false
			}
			instances = each
		}
		for _, each := range instances {
			r.importTo(t, b, each)
		}
		return struct{}{}, true
	})
	if cycle != nil {
		r.root.Evaluator().Report(cycle)
	}
	return ok
}

// importTo notes the target that a block names for one of its instances.
func (r *run) importTo(t *promise.Task, b *importBlock, each *eval.Each) {
	wellNamed := true
	key := func(expr *program.Expr) addr.Key {
		v, ok := eval.Evaluate(t, expr, b.frame.Context(t, each, cty.NilVal))
		k, err := eval.KeyOf(v)
		if err != nil && ok {
			ok = t.Report(diag.BadImport.As("Invalid import target").Error(expr.Range(), "The instance key of an import target must be known when planning: %s.", err))
		}
		wellNamed = wellNamed && ok
		return k
	}
	steps := b.block.To.Module.Steps()
	for n, expr := range b.block.ModuleKeys {
		if expr != nil {
			steps[n].Key = key(expr)
		}
	}
	resource := addr.Resource{Module: addr.FromSteps(append(b.frame.Addr.Steps(), steps...)), Name: b.block.To.Name}
	target := resource.Instance(addr.NoKey)
	if b.block.ToKey != nil {
		target = resource.Instance(key(b.block.ToKey))
	}
	if !wellNamed {
		return
	}
	r.mu.Lock()
	_, twice := r.imports.found[target]
	if !twice {
		r.imports.found[target] = &importTarget{block: b.block, frame: b.frame, each: each}
	}
	r.mu.Unlock()
	if twice {
		t.Report(diag.BadImport.As("Duplicate import configuration for "+addr.Quote(target.String())).Error(b.block.Range, "Another import block has the same target. Each object can be imported once; remove one of the two."))
	}
}

// importPrior imports the object that an import block names for an instance
// without a prior object.
func (r *run) importPrior(t *promise.Task, o *object) (ok bool) {
	target := r.findImport(o.addr.Instance) // configuration is to be made for it
	if o.instance != nil {
		if target, ok = r.importOf(t, o.instance); !ok {
			return false
		}
	}
	if target == nil {
		return true
	}
	id, identity, ok := r.importID(t, target, o)
	if !ok {
		return false
	}
	if !o.conn.Config.IsWhollyKnown() {
		return t.Report(providerclient.BadConfiguration.Error(target.block.Range, "The configuration of %s depends on values that are known only after apply, but importing needs the provider now.", o.conn.Addr))
	}
	e := event.Event{Kind: event.ImportPrepare, Addr: *o.addr, IDKey: "id", IDValue: id}
	r.tell(e)
	e.Kind = event.RefreshStart
	r.tell(e)
	var diags diag.List
	o.conn.Ask(r.ctx, providerclient.Read, o.addr.Name, func() diag.List { o.before, _, diags = o.subject.Import(r.ctx, id, identity); return diags })
	e.Kind = event.RefreshComplete
	r.tell(e)
	for n := range diags {
		if diags[n].Subject == nil {
			diags[n].Subject = target.block.Range.Ptr()
		}
	}
	if !t.Report(diags...) {
		return false
	}
	target.done = &plan.Importing{ID: id, Identity: identity}
	stored, err := o.subject.Store(o.before, o.conn.Addr, resourceconfig.SensitivePaths(o.subject.Schema.Block.MarkSensitive(o.before.Value)))
	if err != nil {
		return t.Report(diag.Bug.As("Failed to encode an imported object").New(diag.Error, "%s", err))
	}
	o.stored = stored
	return true
}

// importID evaluates what names the object to be imported, which has to be known.
func (r *run) importID(t *promise.Task, target *importTarget, o *object) (id string, identity cty.Value, ok bool) {
	name, ok := resourceconfig.ImportNameOf(t, target.block, target.frame, target.each, o.subject.Schema)
	if !ok {
		return "", cty.NilVal, false
	}
	v, expr, argument := name.ID, target.block.ID, "id"
	if expr == nil {
		v, expr, argument = name.Identity, target.block.Identity, "identity"
	}
	switch {
	case !v.IsWhollyKnown():
		return "", cty.NilVal, t.Report(diag.BadImport.As("Invalid import "+argument+" argument").Error(expr.Range(), "The import block %q argument depends on resource attributes that cannot be determined until apply, so weir cannot plan to import this resource.", argument))
	case target.block.ID == nil:
		return "", v, true
	}
	return v.AsString(), cty.NilVal, true
}

func importingOf(r *run, o *object) *plan.Importing {
	if target := r.findImport(o.addr.Instance); target != nil {
		return target.done
	}
	return nil
}

// checkImports reports targets without configuration.
func (r *run) checkImports() {
	for a, target := range r.imports.found {
		desired, _, unsure := r.standing(a)
		if !desired && !unsure {
			r.note(diag.List{{Severity: diag.Error, Code: diag.BadImport.Name, Summary: "Configuration for import target does not exist", Detail: "The configuration for the given import target " + a.String() + " does not exist. All target instances must have an associated configuration to be imported. " + resourceconfig.NoPlace(r.Tree, a), Subject: target.block.Range.Ptr()}})
		}
	}
}

// moveType asks the provider to take over an object of another type.
func (r *run) moveType(o *object) (lifecycle.Object, diag.List) {
	if !o.conn.Schemas.MoveState {
		var diags diag.List
		diags.Add(provider.Lacking.As("Unsupported moved resource type").New(diag.Error, "The provider %s doesn't support moving objects of type %s to %s.", o.conn.Addr.Provider.ForDisplay(), o.previous().Name.Type, o.addr.Name.Type))
		return o.subject.None(), diags
	}
	var moved lifecycle.Object
	var diags diag.List
	r.pool.Call(func() { moved, diags = o.subject.Move(r.ctx, o.previous(), o.stored) })
	return moved, diags
}
