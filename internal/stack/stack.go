// Package stack compiles the component language. It turns the files of a stack into the blocks
// that package compiler compiles, so that components and embedded stacks are calls of a program
// like any other.
//
// It owns the files, the block types and what sets stacks apart from modules.
// It evaluates nothing and has no rules of its own for what analyze, eval or
// planner decide.
package stack

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/compiler/calls"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// A Language reads what the calls of a stack load. It is an engine.Language.
type Language struct{ Dialect dialect.Dialect }

// Compile reads the program behind a call; without a call it is the root's.
func (l Language) Compile(files module.Files, dir string, call *program.Call) (*module.Source, *program.Program, diag.List) {
	switch {
	case call == nil:
		return compile(files, dir, l.Dialect, false, true)
	case call.Kind == addr.Stack:
		return compile(files, dir, l.Dialect, call.Gone, false)
	case call.Gone:
		return nil, &program.Program{Dir: dir}, nil
	}
	src, diags := module.Load(files, dir, l.Dialect)
	p, more := compiler.Compile(src)
	return src, p, append(diags, more...)
}

// Class reports apart the calls that Compile answers differently.
func (Language) Class(call *program.Call) string {
	switch {
	case call.Gone:
		return "removed " + call.Kind.String()
	case call.Kind == addr.Stack:
		return "stack"
	}
	return ""
}

// Check compares a call with the program that it loads.
func (Language) Check(call *program.Call, child *program.Program) diag.List {
	switch {
	case call.Gone || call.Kind == addr.Stack:
		return nil
	case call.Kind == addr.Component:
		return checkComponent(call, child)
	}
	return calls.Check(call, child)
}

// CheckInputs compares the inputs of a call with the programs that it loads.
func (Language) CheckInputs(call *program.Call, variants []calls.Variant) diag.List {
	if call.Gone && call.Kind == addr.Component {
		return nil
	}
	return calls.CheckInputs(call, variants)
}

func checkComponent(call *program.Call, child *program.Program) diag.List {
	diags := calls.Check(call, child)
	for _, p := range child.Providers {
		diags.Add(NotEmbeddable.As("Inline provider configuration not allowed").Error(p.Range, "A module that is used as a component can't configure providers itself. Declare the configuration in the stack and pass it in the \"providers\" argument of %s.", call))
	}
	passed := map[string]bool{}
	for _, p := range call.Providers {
		passed[p.LocalName] = true
	}
	for _, name := range sorted(child.Requirements) {
		if r := child.Requirements[name]; !passed[name] && len(r.Aliases) == 0 && !r.Provider.IsBuiltin() {
			diags.Add(calls.MissingProvider.Error(call.Range, "The module of %s needs a configuration of provider %s under the name %q. Add an entry to its providers argument, as in:\n    providers = {\n      %s = provider.%s.NAME\n    }", call, r.Provider.ForDisplay(), name, name, name))
		}
	}
	return diags
}

// maxDepth is how deep stacks may be embedded in each other.
const maxDepth = 20

// CheckTree checks what needs more than one call: modules below components use
// only providers that their component is given, and stacks aren't embedded too
// deep.
func CheckTree(t *program.Tree) diag.List { return checkTree(t, 0) }

func checkTree(t *program.Tree, depth int) diag.List {
	var diags diag.List
	for _, c := range t.Program.Calls {
		for _, child := range t.Of(c.Call) {
			switch c.Kind {
			case addr.Component:
				given := map[string]bool{}
				for _, p := range c.Providers {
					given[p.Outer.Provider.String()] = true
				}
				checkModules(c, child, given, &diags)
			case addr.Stack:
				if depth == maxDepth {
					diags.Add(NotEmbeddable.As("Too many embedded stacks").Error(c.Range, "Stacks can be embedded in each other %d deep. Move %s further up.", maxDepth, c))
					continue
				}
				diags.Append(checkTree(child, depth+1))
			}
		}
	}
	return diags
}

func checkModules(c *program.Call, t *program.Tree, given map[string]bool, diags *diag.List) {
	for _, child := range t.Calls() {
		for _, name := range sorted(child.Program.Requirements) {
			if r := child.Program.Requirements[name]; !given[r.Provider.String()] && !r.Provider.IsBuiltin() {
				given[r.Provider.String()] = true // reported once
				diags.Add(calls.MissingProvider.Error(c.Range, "The module in %s, which is part of %s, needs a configuration of provider %s. Declare the provider in required_providers of the component's module too, and pass a configuration of it in the providers argument.", child.Program.Dir, c, r.Provider.ForDisplay()))
			}
		}
		for _, p := range child.Program.Providers {
			diags.Add(NotEmbeddable.As("Inline provider configuration not allowed").Error(p.Range, "A module within a component can't configure providers itself. Declare the configuration in the stack and pass it in the \"providers\" argument of %s.", c))
		}
		checkModules(c, child, given, diags)
	}
}

var fileSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "language"}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "required_providers"},
		{Type: "provider", LabelNames: []string{"type", "name"}},
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "locals"},
		{Type: "output", LabelNames: []string{"name"}},
		{Type: "component", LabelNames: []string{"name"}},
		{Type: "stack", LabelNames: []string{"name"}},
		{Type: "removed"},
	},
}

// compile reads a stack. A stack that is gone is to be destroyed: only its providers
// are left.
func compile(files module.Files, dir string, d dialect.Dialect, gone, root bool) (*module.Source, *program.Program, diag.List) {
	src := &module.Source{Dir: dir, Registry: d.Registry()}
	var diags diag.List
	names, err := files.List(dir)
	if err != nil {
		diags.Add(diag.Unreadable.As("Failed to read stack directory").New(diag.Error, "The directory %s does not exist or cannot be read.", dir))
		return src, nil, diags
	}
	tr := &translator{src: src, gone: gone}
	for _, name := range names {
		is, old := module.IsStackFile(name)
		if !is {
			if strings.HasSuffix(name, ".tfdeploy.hcl") && !root {
				tr.diags.Add(NotEmbeddable.New(diag.Error, "The file %s stands beside an embedded stack. Only the root stack has deployments: move the file, or remove it.", filepath.Join(dir, name)))
			}
			continue
		}
		path := filepath.Join(dir, name)
		if old && !gone {
			tr.diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.Outdated.Name, Summary: "Deprecated file name", Detail: fmt.Sprintf("Files of stacks end in .tfcomponent.hcl or .tfcomponent.json now. Rename %s.", path)})
		}
		data, err := files.ReadFile(path)
		if err != nil {
			tr.diags.Add(diag.Unreadable.New(diag.Error, "The file %q could not be read.", path))
			continue
		}
		f, more := syntax.Parse(path, data)
		tr.diags.Append(more)
		src.Files = append(src.Files, f)
		tr.file(f)
	}
	if len(src.Files) == 0 {
		way := ""
		if root {
			way = " Go to the directory of a stack, or name it with -chdir=DIRECTORY."
		}
		tr.diags.Add(diag.NoConfiguration.As("No stack configuration").New(diag.Error, "The directory %s has no files that end in .tfcomponent.hcl or .tfcomponent.json.%s", dir, way))
		return src, nil, tr.diags
	}
	p, more := compiler.CompileStack(src, gone)
	diags.Append(tr.diags)
	diags.Append(more)
	for _, c := range p.Calls {
		c.Gone = gone
	}
	for i := range tr.removed {
		tr.removed[i].Call = p.Gone[i]
		p.Removed = append(p.Removed, &tr.removed[i])
	}
	checkTypes(p, &diags)
	checkRequirements(p, &diags)
	checkRemoved(p, &diags)
	return src, p, diags
}

// checkTypes wants the types that the language wants.
func checkTypes(p *program.Program, diags *diag.List) {
	const detail = "A stack's variables and outputs need exact types: there is no automatic type inference placeholder such as any. Write the type out, with optional() for attributes that may be missing."
	for _, v := range p.Variables {
		if v.Type.HasDynamicTypes() && !v.Untyped {
			diags.Add(diag.BadType.Error(v.Range, "%s", detail))
		}
	}
	for _, o := range p.Outputs {
		if o.Type.HasDynamicTypes() {
			diags.Add(diag.BadType.Error(o.Range, "%s", detail))
		}
	}
}

// checkRemoved warns of blocks about what is still declared, and of which there is one.
func checkRemoved(p *program.Program, diags *diag.List) {
	for _, r := range p.Removed {
		for _, c := range p.Calls {
			if r.Call != nil && r.Call.Path == nil && r.Call.Repeat.ForEach == nil && c.Call == r.Call.Call && c.Repeat.ForEach == nil {
				diags.Add(diag.BadRemoved.As("Removed block without effect").Warning(r.Call.Range, "The block says that %s is gone, which is still declared at %s and stays. Remove one of the two.", c, c.Range))
			}
		}
	}
}

// checkRequirements wants one name for each provider, and says what isn't
// declared.
func checkRequirements(p *program.Program, diags *diag.List) {
	first := map[string]*program.Requirement{}
	for _, name := range sorted(p.Requirements) {
		r := p.Requirements[name]
		if other := first[r.Provider.String()]; other != nil {
			diags.Add(diag.Duplicate.As("Duplicate provider requirement").Error(r.Range, "The provider %s already has the name %q here, at %s. Use one name for it.", r.Provider.ForDisplay(), other.LocalName, other.Range))
		}
		first[r.Provider.String()] = r
		if r.Implied && !r.Provider.IsBuiltin() {
			diags.Add(diag.UndeclaredProvider.As("Undeclared provider").Error(r.Range, "The stack's required_providers block has no entry named %q. A stack has to declare each of its providers:\n    required_providers {\n      %s = {\n        source = \"NAMESPACE/%s\"\n      }\n    }", name, name, name))
		}
	}
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
