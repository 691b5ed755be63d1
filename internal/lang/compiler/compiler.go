// Package compiler compiles the blocks of a module source into a program. It decodes
// declarations, resolves every reference, and reports all mistakes that need no values.
//
// It evaluates only constants, and it knows no schemas of providers, no state
// and no instances. It rewrites the expression trees of its source in place,
// so a source is compiled once.
package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/compiler/literal"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
)

// Compile makes the program of a source. There is always a program; after
// errors it lacks what couldn't be understood, and expressions with errors
// have unknown values in their place. Diagnostics are in source order.
func Compile(src *module.Source) (*program.Program, diag.List) { return compile(src, false, false) }

// CompileStack makes the program of a stack: a source whose calls are blocks of
// the types component and stack in the form of module blocks; those of removed
// blocks, whose labels are the kind and name of what is gone, become Gone.
// Beside variables and locals, expressions may refer to these calls only.
//
// Of what is gone only the providers matter: references to the rest of it, which the
// source hasn't, are no mistakes.
func CompileStack(src *module.Source, gone bool) (*program.Program, diag.List) {
	return compile(src, true, gone)
}

func compile(src *module.Source, stack, gone bool) (*program.Program, diag.List) {
	c := &compiler{
		stack:    stack,
		gone:     gone,
		queries:  src.Queries,
		registry: src.Registry,
		prog: &program.Program{
			Dir:            src.Dir,
			Registry:       src.Registry,
			Partial:        src.Partial,
			Stack:          stack,
			Requirements:   map[string]*program.Requirement{},
			ProviderMeta:   map[string]*program.Body{},
			VariableByName: map[string]*program.Variable{},
			LocalByName:    map[string]*program.Local{},
			OutputByName:   map[string]*program.Output{},
			ResourceByName: map[addr.Name]*program.Resource{},
			CallByName:     map[addr.Call]*program.Call{},
		},
		functions: map[string]*program.ProviderFunction{},
		providers: map[program.ProviderName]*program.Provider{},
		observers: map[string]hcl.Range{},
	}
	for _, block := range src.Blocks {
		c.declare(block)
	}
	// Expressions come second, when every name is known.
	for _, resolve := range c.later {
		resolve()
	}
	for i, call := range c.prog.Gone {
		call.Index = len(c.prog.Calls) + i
	}
	c.resolveProviders()
	c.checkRefactoring()
	if src.Partial {
		c.diags = slices.DeleteFunc(c.diags, func(d diag.Diagnostic) bool { return d.Use })
	}
	slices.SortStableFunc(c.diags, func(a, b diag.Diagnostic) int {
		return cmp.Or(syntax.CompareRanges(a.Subject, b.Subject), cmp.Compare(a.Severity, b.Severity))
	})
	return c.prog, c.diags
}

// A compiler holds what the compilation of one source has found so far.
type compiler struct {
	stack     bool
	gone      bool // what is compiled has been removed
	queries   bool // "list" begins references to list resources
	registry  addr.Registry
	prog      *program.Program
	diags     diag.List
	later     []func()
	functions map[string]*program.ProviderFunction
	providers map[program.ProviderName]*program.Provider
	backends  []*program.Backend
	required  *hcl.Range // the required_providers block
	uses      []*program.ProviderUse
	observers map[string]hcl.Range

	variableNames, localNames, callNames []string // for suggestions, made when needed
	resourceNames                        map[addr.Name][]string
}

// declare decodes a block and notes its expressions for later.
func (c *compiler) declare(b *module.Block) {
	switch b.Type {
	case "terraform":
		c.settings(b)
	case "language":
		c.language(b.Block)
	case "required_providers":
		c.diags.Add(BadRequirements.As("Invalid required_providers block").Error(b.TypeRange, "A \"required_providers\" block must be nested inside a \"terraform\" block."))
	case "provider":
		c.provider(b.Block)
	case "variable":
		c.variable(b.Block, b.File.JSON)
	case "locals":
		c.locals(b)
	case "output":
		c.output(b.Block)
	case "module", "component", "stack":
		c.call(b.Block)
	case "resource":
		c.resource(b.Block, addr.Managed, nil)
	case "data":
		c.resource(b.Block, addr.Data, nil)
	case "ephemeral":
		c.resource(b.Block, addr.Ephemeral, nil)
	case "action":
		c.configured(b.Block, addr.Action, actionSchema)
	case "list":
		c.configured(b.Block, addr.List, listSchema)
	case "check":
		c.check(b.Block)
	case "moved":
		c.moved(b.Block)
	case "removed":
		if c.stack {
			c.goneCall(b.Block)
			return
		}
		c.removed(b.Block)
	case "import":
		c.importBlock(b.Block)
	}
}

// observer adds an observer to the program unless there is one of its kind and name,
// which is reported with that summary and what blocks of the kind are called.
func (c *compiler) observer(o program.Observer, summary, what string) bool {
	head := o.Head()
	if first, ok := c.observers[head.Name]; ok {
		c.duplicate(head.Range, summary, what, o.Label(), first)
		return false
	}
	c.observers[head.Name] = head.Range
	c.prog.Observers = append(c.prog.Observers, o)
	return true
}

// content reads a body that may have nothing but what the schema names.
func (c *compiler) content(b hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, diags := b.Content(schema)
	c.hcl(diags)
	return content
}

// split takes what the schema names out of a body.
func (c *compiler) split(b hcl.Body, schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body) {
	content, rest, diags := syntax.Split(b, schema)
	c.hcl(diags)
	return content, rest
}

// literal reads constants: arguments that the language needs before it can evaluate anything.
func (c *compiler) literal() literal.Reader { return literal.Reader{Diags: &c.diags} }

func (c *compiler) hcl(diags hcl.Diagnostics) {
	if len(diags) > 0 {
		c.diags.Append(diag.FromHCL(syntax.Invalid, diags))
	}
}

const identifierRule = "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes."

// name checks that a label is an identifier.
func (c *compiler) name(b *hcl.Block, i int, summary string) bool {
	if hclsyntax.ValidIdentifier(b.Labels[i]) {
		return true
	}
	c.diags.Add(diag.BadName.As(summary).Error(b.LabelRanges[i], identifierRule))
	return false
}

// duplicate reports the second declaration of a name.
func (c *compiler) duplicate(at hcl.Range, summary, what, name string, first hcl.Range) {
	c.diags.Add(diag.Duplicate.As(summary).Error(at, "%s named %q was already declared at %s. Names must be unique within a module: rename or remove one of the two.", what, name, first))
}

func quoted(names []string) string {
	text := ""
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("%q", name)
	}
	return text
}
