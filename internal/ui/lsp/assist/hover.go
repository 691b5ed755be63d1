package assist

import (
	"fmt"
	"strings"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/provider"
)

// Declaration says what is known of a declaration of the module, in Markdown; empty for
// nothing.
func (s *Scope) Declaration(t symbols.Target) string {
	p := s.Whole
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch t.Kind {
	case symbols.Variable:
		v := p.VariableByName[t.Label()]
		if v == nil {
			return ""
		}
		add("**variable** `%s`: `%s`", v.Name, Type(v.Type))
		if v.Required() {
			add("A value is required.")
		}
		if v.Description != "" {
			add("%s", v.Description)
		}
		if v.Deprecated != "" {
			add("Deprecated: %s", v.Deprecated)
		}
	case symbols.Local:
		add("**local** `%s`", t.Label())
		if ty, ok := s.typeOf(Words(t.Name), 0); ok {
			lines[0] += ": `" + Type(ty) + "`"
		}
	case symbols.Output:
		o := p.OutputByName[t.Label()]
		if o == nil {
			return ""
		}
		add("**output** `%s`", o.Name)
		if o.Description != "" {
			add("%s", o.Description)
		}
	case symbols.Call:
		add("**module** `%s`", t.Label())
	case symbols.Resource, symbols.Data, symbols.Temporal:
		for _, r := range p.Resources {
			if r.Name.String() != t.Name {
				continue
			}
			add("**%s** `%s` of %s", t.Kind, t.Name, r.Provider.Provider.ForDisplay())
			if arg := r.Repeat.Argument(); arg != "" {
				add("It has instances by `%s`.", arg)
			}
			if b := s.schemaFrom(r.Provider.Provider, r.Name.Mode, r.Name.Type); b != nil && b.Description != "" {
				add("%s", b.Description)
			}
		}
	}
	return strings.Join(lines, "\n\n")
}

// Written says what is known of the word that the cursor is at the end of, where it isn't the
// name of a declaration: an argument, a block, a type of resources, a function, or a part of a value.
func (s *Scope) Written(c *Cursor) string {
	blocks, attr := c.blocks()
	inner := c.innermost()
	switch {
	case inner.kind == inQuotes && len(blocks) == 0 && len(c.statement) == 1:
		if mode, ok := modes()[c.statement[0]]; ok {
			if b := s.schemaOf(mode, c.Word); b != nil {
				return strings.TrimSpace("**" + c.statement[0] + "** `" + c.Word + "`\n\n" + b.Description)
			}
		}
		return ""
	case inner.kind == inQuotes:
		return ""
	case c.inValue():
		if text := Function(c.Word, s); text != "" {
			return "```\n" + text + "\n```"
		}
		if t, ok := s.typeOf(Words(c.Word), 0); ok && strings.Contains(c.Word, ".") {
			return "`" + c.Word + "`: `" + Type(t) + "`"
		}
		return ""
	case inner.kind == inBlock && len(blocks) > 0 && attr == "":
		return s.argument(blocks, c.Word)
	}
	return ""
}

func (s *Scope) argument(blocks []frame, name string) string {
	if b := s.within(blocks); b != nil {
		if a := b.Attributes[name]; a != nil {
			return described("`"+name+"`: `"+Type(a.ImpliedType())+"`"+strings.TrimPrefix(attribute(a), Type(a.ImpliedType())), a.Description, a.Deprecated, a.DeprecationMessage)
		}
		if n := b.Blocks[name]; n != nil {
			return described("block `"+name+"`"+times(n), n.Description, n.Deprecated, n.DeprecationMessage)
		}
	}
	if blocks[0].typ == "module" && len(blocks) == 1 && len(blocks[0].labels) > 0 {
		if p := s.Called(blocks[0].labels[0]); p != nil && p.VariableByName[name] != nil {
			return (&Scope{Program: p, Whole: p, Called: func(string) *program.Program { return nil }, Schemas: s.Schemas}).Declaration(symbols.Target{Kind: symbols.Variable, Name: "var." + name})
		}
	}
	return ""
}

func described(head, about string, old bool, instead string) string {
	lines := []string{head}
	if old {
		lines = append(lines, strings.TrimSpace("Deprecated. "+instead))
	}
	if about != "" {
		lines = append(lines, about)
	}
	return strings.Join(lines, "\n\n")
}

// times says how often a nested block may stand.
func times(n *schema.NestedBlock) string {
	switch {
	case n.Nesting == schema.Single || n.Nesting == schema.Group || n.Max == 1:
		if n.Min > 0 {
			return ", required"
		}
		return ", once"
	case n.Min > 0:
		return fmt.Sprintf(", at least %d", n.Min)
	}
	return ""
}

// Function is the signature of a function, and a sentence about it; empty for none.
func Function(name string, s *Scope) string {
	if shape, about, ok := function.Text(name); ok {
		return name + shape + "\n" + about
	}
	parts := strings.Split(name, "::")
	if len(parts) >= 3 && parts[0] == "provider" {
		if all := s.Schemas(s.providerOf(parts[1])); all != nil {
			if f := all.Functions[parts[len(parts)-1]]; f != nil {
				return ProviderFunction(name, f) + "\n" + f.Summary
			}
		}
	}
	return ""
}

// ProviderFunction is the signature of a function of a provider.
func ProviderFunction(name string, f *provider.Function) string {
	var params []string
	for _, p := range f.Parameters {
		params = append(params, p.Name+" "+Type(p.Type))
	}
	if f.Variadic != nil {
		params = append(params, f.Variadic.Name+" ..."+Type(f.Variadic.Type))
	}
	return name + "(" + strings.Join(params, ", ") + ") " + Type(f.Return)
}

// Signature is the signature of the call around the cursor: its label, what it is about, its
// parameters as they stand in the label, and which of them the cursor is in.
func Signature(c *Cursor, s *Scope) (label, about string, parameters []string, active int, ok bool) {
	name, argument := c.call()
	text := Function(name, s)
	if name == "" || text == "" {
		return "", "", nil, 0, false
	}
	label, about, _ = strings.Cut(text, "\n")
	depth, start := 0, len(name)+1
	for i, r := range label[len(name):] {
		at := len(name) + i
		end := false
		switch r {
		case '(':
			depth++
		case ')':
			depth--
			end = depth == 0
		case ',':
			end = depth == 1
		}
		if end {
			if p := strings.TrimSpace(label[start:at]); p != "" {
				parameters = append(parameters, p)
			}
			start = at + 1
			if depth == 0 {
				break
			}
		}
	}
	active = argument
	if n := len(parameters); n > 0 && argument >= n && strings.Contains(parameters[n-1], "...") {
		active = n - 1
	}
	return label, about, parameters, active, true
}
