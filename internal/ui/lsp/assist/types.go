package assist

import (
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider"
)

// A Scope is what is known around a place.
type Scope struct {
	// Program is that of the module, Whole the one it had when it last had no errors of syntax.
	Program, Whole *program.Program
	// Called is the program that a call loads, nil where that isn't known.
	Called func(call string) *program.Program
	// Schemas are those of a provider, nil where they aren't known.
	Schemas func(addr.Provider) *provider.Schemas
	// Versions are those of a provider that this machine has, the newest first; Installed is
	// the version of the module that a call loads, empty where that isn't known.
	Versions  func(addr.Provider) []string
	Installed func(call string) string
}

// Type is the name of a type as people write it.
func Type(t cty.Type) string {
	if t == cty.NilType {
		return "any"
	}
	return typeexpr.TypeString(t)
}

// schemaOf is the schema of a resource, by the provider that its module says.
func (s *Scope) schemaOf(mode addr.Mode, typ string) *schema.Block {
	local, _, _ := strings.Cut(typ, "_")
	p := addr.Provider{}
	for _, r := range s.Whole.Resources {
		if r.Name.Mode == mode && r.Name.Type == typ {
			p = r.Provider.Provider
		}
	}
	if p == (addr.Provider{}) {
		p = s.providerOf(local)
	}
	return s.schemaFrom(p, mode, typ)
}

func (s *Scope) schemaFrom(p addr.Provider, mode addr.Mode, typ string) *schema.Block {
	all := s.Schemas(p)
	if all == nil {
		return nil
	}
	if sch := all.Resource(mode, typ); sch != nil {
		return sch.Block
	}
	return nil
}

// providerOf is the provider with a local name.
func (s *Scope) providerOf(local string) addr.Provider {
	if r := s.Whole.Requirements[local]; r != nil {
		return r.Provider
	}
	return s.Whole.Registry.Provider(local)
}

// typeOf is the type of what the words of a reference lead to; false where that isn't known.
// The words have no brackets.
func (s *Scope) typeOf(words []string, depth int) (cty.Type, bool) {
	if len(words) == 0 || depth > 8 {
		return cty.NilType, false
	}
	p := s.Whole
	var t cty.Type
	var rest []string
	named := func(n int) string {
		if n < len(words) {
			return words[n]
		}
		return ""
	}
	switch words[0] {
	case "var":
		v := p.VariableByName[named(1)]
		if v == nil {
			return cty.NilType, false
		}
		t, rest = v.Type.WithoutOptionalAttributesDeep(), words[2:]
	case "local":
		l := p.LocalByName[named(1)]
		if l == nil {
			return cty.NilType, false
		}
		var ok bool
		if t, ok = s.typeOfExpr(l.Expr, depth); !ok {
			return cty.NilType, false
		}
		rest = words[2:]
	case "module":
		call := p.CallByName[addr.Mod(named(1))]
		if call == nil {
			return cty.NilType, false
		}
		child := s.Called(call.Name)
		if child == nil {
			return cty.NilType, false
		}
		outputs := map[string]cty.Type{}
		inner := &Scope{Program: child, Whole: child, Called: func(string) *program.Program { return nil }, Schemas: s.Schemas}
		for _, o := range child.Outputs {
			outputs[o.Name] = cty.DynamicPseudoType
			if o.Type != cty.NilType {
				outputs[o.Name] = o.Type
			} else if t, ok := inner.typeOfExpr(o.Expr, depth+1); ok {
				outputs[o.Name] = t
			}
		}
		t, rest = cty.Object(outputs), words[2:]
	case "each":
		return map[string]cty.Type{"key": cty.String, "value": cty.DynamicPseudoType}[named(1)], named(1) == "key"
	case "count":
		return cty.Number, named(1) == "index"
	case "path", "terraform":
		return cty.String, true
	default:
		name := addr.Name{Mode: addr.Managed}
		switch words[0] {
		case "data":
			name.Mode, words = addr.Data, words[1:]
		case "ephemeral":
			name.Mode, words = addr.Ephemeral, words[1:]
		case "resource":
			words = words[1:]
		}
		if len(words) < 2 {
			return cty.NilType, false
		}
		name.Type, name.Name = words[0], words[1]
		r := p.ResourceByName[name]
		if r == nil {
			return cty.NilType, false
		}
		b := s.schemaFrom(r.Provider.Provider, name.Mode, name.Type)
		if b == nil {
			return cty.NilType, false
		}
		t, rest = b.ImpliedType(), words[2:]
	}
	for _, step := range rest {
		switch {
		case t.IsObjectType() && t.HasAttribute(step):
			t = t.AttributeType(step)
		case t.IsMapType():
			t = t.ElementType()
		case (t.IsListType() || t.IsSetType()) && t.ElementType().IsObjectType() && t.ElementType().HasAttribute(step):
			t = t.ElementType().AttributeType(step) // behind [0] or [*]
		default:
			return cty.NilType, false
		}
	}
	return t, true
}

// typeOfExpr is the type of an expression that needs nothing but types.
func (s *Scope) typeOfExpr(e *program.Expr, depth int) (t cty.Type, ok bool) {
	if e == nil {
		return cty.NilType, false
	}
	defer func() { // of expressions that can't be evaluated without a module
		if recover() != nil {
			t, ok = cty.NilType, false
		}
	}()
	if ref, is := e.Expression.(*program.RefExpr); is {
		return s.typeOf(Words(ref.Ref.Text), depth+1)
	}
	if len(e.Refs) > 0 {
		return cty.NilType, false
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		return cty.NilType, false
	}
	return v.Type(), true
}

// Words are the names in the text of a reference, without what stands in brackets.
func Words(text string) []string {
	var list []string
	depth := 0
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			list = append(list, b.String())
		}
		b.Reset()
	}
	for _, r := range text {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth > 0 || r == '*':
		case r == '.':
			end()
		default:
			b.WriteRune(r)
		}
	}
	end()
	return list
}
