package planner

import (
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/promise"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
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

// name evaluates what names the object to be imported, which has to be known.
func (m *importTarget) name(t *promise.Task, sch *schema.Schema) (id string, identity cty.Value, ok bool) {
	name, ok := resourceconfig.ImportNameOf(t, m.block, m.frame, m.each, sch)
	if !ok {
		return "", cty.NilVal, false
	}
	v, expr, argument := name.ID, m.block.ID, "id"
	if expr == nil {
		v, expr, argument = name.Identity, m.block.Identity, "identity"
	}
	switch {
	case !v.IsWhollyKnown():
		return "", cty.NilVal, t.Report(diag.BadImport.As("Invalid import "+argument+" argument").Error(expr.Range(), "The import block %q argument depends on resource attributes that cannot be determined until apply, so weir cannot plan to import this resource.", argument))
	case m.block.ID == nil:
		return "", v, true
	}
	return v.AsString(), cty.NilVal, true
}

// imports are the targets of import blocks. The target of a block is computed on demand: its
// for_each may read objects that other blocks import.
type imports struct {
	followed bool // import blocks count in this plan
	root     *eval.Frame

	mu     sync.Mutex
	found  map[addr.Instance]*importTarget
	blocks map[*eval.Frame]map[addr.Resource][]*importBlock // by target without keys
}

func newImports(o *Options, root *eval.Frame) *imports {
	return &imports{
		followed: o.Mode != plan.RefreshOnly || o.Import, root: root,
		found: map[addr.Instance]*importTarget{}, blocks: map[*eval.Frame]map[addr.Resource][]*importBlock{},
	}
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

// blocksOf are those of a module instance by what they may name.
func (m *imports) blocksOf(f *eval.Frame) map[addr.Resource][]*importBlock {
	if !m.followed || len(f.Program.Imports) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	blocks := m.blocks[f]
	if blocks == nil {
		blocks = map[addr.Resource][]*importBlock{}
		for _, block := range f.Program.Imports {
			to := addr.Resource{Module: addr.FromSteps(append(f.Addr.Steps(), block.To.Module.Steps()...)), Name: block.To.Name}.Erase()
			blocks[to] = append(blocks[to], &importBlock{frame: f, block: block})
		}
		m.blocks[f] = blocks
	}
	return blocks
}

// of is what import blocks say about an instance, or nil. Blocks can name
// what is in their module and below.
func (m *imports) of(t *promise.Task, i *eval.Instance) (target *importTarget, ok bool) {
	ok = true
	to := i.Addr.Resource.Erase()
	for f := i.Frame; f != nil; f = f.Parent {
		for _, b := range m.blocksOf(f)[to] {
			ok = m.expand(t, b) && ok
		}
	}
	return m.find(i.Addr), ok
}

func (m *imports) find(i addr.Instance) *importTarget {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.found[i]
}

// expandBelow finds the instances that the import blocks of a module and of those below name.
func (m *imports) expandBelow(t *promise.Task, f *eval.Frame) {
	blocks := m.blocksOf(f)
	for _, to := range slices.SortedFunc(maps.Keys(blocks), addr.Resource.Compare) {
		for _, b := range blocks[to] {
			m.expand(t, b)
		}
	}
	for _, c := range f.Program.Calls {
		for _, child := range f.Calls(t, c, nil) {
			m.expandBelow(t, child)
		}
	}
}

// expand finds the instances that a block names, once. Anyone who asks fails with it.
func (m *imports) expand(t *promise.Task, b *importBlock) (ok bool) {
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
			m.addTarget(t, b, each)
		}
		return struct{}{}, true
	})
	if cycle != nil {
		m.root.Evaluator().Report(cycle)
	}
	return ok
}

// addTarget notes the target that a block names for one of its instances.
func (m *imports) addTarget(t *promise.Task, b *importBlock, each *eval.Each) {
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
	m.mu.Lock()
	_, twice := m.found[target]
	if !twice {
		m.found[target] = &importTarget{block: b.block, frame: b.frame, each: each}
	}
	m.mu.Unlock()
	if twice {
		t.Report(diag.BadImport.As("Duplicate import configuration for "+addr.Quote(target.String())).Error(b.block.Range, "Another import block has the same target. Each object can be imported once; remove one of the two."))
	}
}

// diagnostics are the problems of the blocks.
func (m *imports) diagnostics() (diags diag.List) {
	for _, blocks := range m.blocks {
		for _, list := range blocks {
			for _, b := range list {
				diags.Append(b.targets.Diagnostics())
			}
		}
	}
	return diags
}

// check reports targets without configuration.
func (m *imports) check(l *layout) (diags diag.List) {
	for a, target := range m.found {
		desired, _, unsure := l.standing(a)
		if !desired && !unsure {
			diags.Add(diag.Diagnostic{Severity: diag.Error, Code: diag.BadImport.Name, Summary: "Configuration for import target does not exist", Detail: "The configuration for the given import target " + a.String() + " does not exist. All target instances must have an associated configuration to be imported. " + resourceconfig.NoPlace(l.tree, a), Subject: target.block.Range.Ptr()})
		}
	}
	return diags
}
