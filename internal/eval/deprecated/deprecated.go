// Package deprecated warns about uses of deprecated variables, outputs and attributes.
//
// It reads the configuration once for each module source, and owns these warnings. Messages about a
// provider's arguments come from the provider. It doesn't evaluate anything: it finds attributes where
// a reference names them, not where an object is passed on as a whole.
package deprecated

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/eval"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
)

// Schemas finds what a provider declares, nil for one that isn't in use.
type Schemas func(addr.Provider) *provider.Schemas

// Uses warns of uses in a program and in all that it calls.
func Uses(tree *program.Tree, schemas Schemas) diag.List {
	f := &finder{schemas: schemas, providers: map[addr.Provider]*provider.Schemas{}, seen: map[*program.Program]bool{}, retired: map[*schema.Block]bool{}}
	f.tree(tree, false)
	return f.diags
}

// Given warns of values for deprecated variables of the root module.
func Given(p *program.Program, given func(name string) bool) diag.List {
	var diags diag.List
	for _, v := range p.Variables {
		if v.Deprecated != "" && given(v.Name) {
			diags.Add(Used.As("Deprecated variable used from the root module").Warning(v.Range, "The root variable %q is deprecated with the following message: %s", v.Name, v.Deprecated))
		}
	}
	return diags
}

type finder struct {
	schemas   Schemas
	providers map[addr.Provider]*provider.Schemas
	seen      map[*program.Program]bool
	retired   map[*schema.Block]bool // whether there is anything deprecated in it
	diags     diag.List
}

// tree visits a program and those below. remote: the program doesn't come from the root's own
// sources. -deprecation can hide its warnings, because only its author can remove the use.
func (f *finder) tree(t *program.Tree, remote bool) {
	p := t.Program
	if p == nil || f.seen[p] {
		return
	}
	f.seen[p] = true
	for _, ref := range p.AttributeReads {
		f.attribute(ref)
	}
	for _, call := range p.Calls {
		for _, child := range t.Of(call.Call) {
			far := remote || child.Source != "" && !module.IsLocal(child.Source)
			if child.Program != nil {
				f.call(call, child.Program, far)
			}
			if !call.Quiet {
				f.tree(child, far)
			}
		}
	}
}

func (f *finder) warn(at hcl.Range, cause diag.Deprecation, summary, format string, args ...any) {
	f.diags.Add(diag.Diagnostic{
		Severity: diag.Warning, Code: Used.Name, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: at.Ptr(), Deprecation: &cause,
	})
}

// derived warns of a value that was read from a deprecated source. All instances of a source
// are one for code that puts similar warnings together.
func (f *finder) derived(ref *program.Ref, of, name, message string, remote bool) {
	source := of + key(ref) + name
	text := "This value is derived from " + source + ", which is deprecated."
	if message != "" {
		text = "This value is derived from " + source + ", which is deprecated with the following message:\n\n" + message
	}
	f.warn(ref.Range, diag.Deprecation{Source: of + name, Remote: remote}, "Value derived from a deprecated source", "%s", text)
}

// call compares a call with what it calls.
func (f *finder) call(call *program.Call, child *program.Program, remote bool) {
	for _, in := range call.Inputs {
		if v := child.VariableByName[in.Name]; v != nil && v.Deprecated != "" && in.Expr != nil {
			f.warn(in.Expr.Range(), diag.Deprecation{Source: call.String() + " " + v.Name, Remote: remote},
				"Variable marked as deprecated by the module author", "Variable %q is marked as deprecated with the following message:\n%s", v.Name, v.Deprecated)
		}
	}
	for _, ref := range slices.Concat(call.Reads, call.EachReads) {
		if o := child.OutputByName[ref.Attr]; o != nil && o.Deprecated != "" {
			f.derived(ref, call.String(), "."+o.Name, o.Deprecated, remote)
		}
	}
}

// attribute warns of a reference that names a deprecated attribute.
func (f *finder) attribute(ref *program.Ref) {
	source := ref.Resource.Provider.Provider
	all, known := f.providers[source]
	if !known {
		all = f.schemas(source)
		f.providers[source] = all
	}
	if all == nil {
		return
	}
	sch := all.Resource(ref.Resource.Name.Mode, ref.Resource.Name.Type)
	if sch == nil || !f.hasDeprecated(sch.Block) {
		return
	}
	of, name := ref.Resource.Name.String(), ""
	block, attributes := sch.Block, sch.Block.Attributes
	if block.Deprecated {
		f.derived(ref, of, name, block.DeprecationMessage, false)
		return
	}
	for _, step := range ref.Rest {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok {
			continue // an element
		}
		name += "." + attr.Name
		if block != nil && block.Blocks[attr.Name] != nil {
			block = block.Blocks[attr.Name].Block
			if block.Deprecated {
				f.derived(ref, of, name, block.DeprecationMessage, false)
				return
			}
			attributes = block.Attributes
			continue
		}
		a := attributes[attr.Name]
		switch {
		case a == nil:
			return
		case a.Deprecated:
			f.derived(ref, of, name, a.DeprecationMessage, false)
			return
		case a.Nested == nil:
			return
		}
		block, attributes = nil, a.Nested.Attributes
	}
}

// hasDeprecated is Block.HasDeprecated, asked once for each schema.
func (f *finder) hasDeprecated(b *schema.Block) bool {
	has, known := f.retired[b]
	if !known {
		has = b.HasDeprecated()
		f.retired[b] = has
	}
	return has
}

// key is the instance key of a reference where it is written out.
func key(ref *program.Ref) string {
	if ref.Key == nil || len(program.References(ref.Key)) > 0 {
		return ""
	}
	v, hd := ref.Key.Value(nil)
	if hd.HasErrors() {
		return ""
	}
	k, err := eval.KeyOf(v)
	if err != nil {
		return ""
	}
	return k.String()
}

// Level says which warnings are shown.
type Level string

// All shows all warnings, Local those about the configuration's own modules.
const (
	All   Level = "all"
	Local Level = "local"
	None  Level = "none"
)

// Shown is the list without the warnings that the level leaves out.
func (level Level) Shown(l diag.List) diag.List {
	if level == All || level == "" {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), func(d diag.Diagnostic) bool {
		return d.Deprecation != nil && (level == None || d.Deprecation.Remote)
	})
}
