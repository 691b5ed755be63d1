package program

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/value"
)

// Print writes the program as a listing: each declaration on a line, with what
// it has and refers to indented below. Equal programs print equally.
func (p *Program) Print(w io.Writer) error {
	var b printer
	for _, name := range slices.Sorted(maps.Keys(p.Requirements)) {
		p.Requirements[name].print(&b)
	}
	for _, v := range p.RequiredVersions {
		b.line("requires %s %s", v.Product, v.Constraint)
	}
	if p.Backend != nil {
		b.line("backend %s", p.Backend.Type)
		b.body("config", p.Backend.Config)
	}
	b.body("encryption", p.Encryption)
	for _, name := range slices.Sorted(maps.Keys(p.ProviderMeta)) {
		b.body("provider_meta "+name, p.ProviderMeta[name])
	}
	for _, f := range p.Functions {
		b.line("function %s of %s", f.Full, f.Provider)
	}
	for _, d := range p.Declarations() {
		b.declaration(d)
	}
	p.printRefactoring(&b)
	_, err := w.Write(b.Bytes())
	return err
}

type printer struct{ bytes.Buffer }

func (b *printer) line(format string, args ...any) {
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

func (b *printer) expr(name string, e *Expr) {
	if e != nil {
		b.line("    %s%s", name, refList(e.Refs))
	}
}

func (b *printer) body(name string, body *Body) {
	if body != nil && len(body.Refs) > 0 {
		b.line("    %s%s", name, refList(body.Refs))
	}
}

func (b *printer) declaration(d Declaration) {
	head := d.title()
	d.Parts(func(p Part) {
		if p.Inline {
			head += refList(p.References())
		}
	})
	b.line("%s", head)
	d.Parts(b.part)
}

// part prints an expression, and anything else with references, on a line of its own.
func (b *printer) part(p Part) {
	switch {
	case p.Inline:
	case p.Connection != nil:
		b.line("    %s%s connection%s", p.Note, refList(p.Body.Refs), refList(p.Connection.Refs))
	case p.Note != "":
		b.line("    %s%s", p.Note, refList(p.References()))
	case p.Expr != nil || len(p.References()) > 0:
		b.line("    %s%s", p.Argument, refList(p.References()))
	}
}

func refList(refs []*Ref) string {
	var texts []string
	for _, ref := range refs {
		texts = append(texts, ref.String())
	}
	if texts == nil {
		return ""
	}
	return " <- " + strings.Join(texts, ", ")
}

// String is the reference with the split between declaration, key, attribute
// and rest shown by spaces.
func (r *Ref) String() string {
	var name string
	switch r.Kind {
	case RefVariable:
		name = "var." + r.Variable.Name
	case RefLocal:
		name = "local." + r.Local.Name
	case RefResource:
		name = r.Resource.Name.String()
	case RefCall:
		name = r.Call.String()
	case RefCount:
		name = "count"
	case RefEach:
		name = "each"
	case RefPath:
		name = "path"
	case RefTerraform:
		name = "terraform"
	case RefSelf:
		name = "self"
	}
	if r.Key != nil {
		name += " [key]"
	}
	if r.Attr != "" {
		name += " ." + r.Attr
	}
	if len(r.Rest) > 0 {
		name += " +" + fmt.Sprint(len(r.Rest))
	}
	return name
}

func dotted(name, alias string) string {
	if alias == "" {
		return name
	}
	return name + "." + alias
}

func flags(pairs ...any) string {
	var text string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].(bool) {
			text += " " + pairs[i+1].(string) // #nosec G602 -- pairs
		}
	}
	return text
}

func (r *Requirement) print(b *printer) {
	text := fmt.Sprintf("requires %s: %s %s", r.LocalName, r.Provider, r.Constraints)
	for _, alias := range r.Aliases {
		text += " ." + alias
	}
	b.line("%s%s", strings.TrimRight(text, " "), flags(r.Implied, "implied"))
}

func (v *Variable) title() string {
	text := "var." + v.Name
	if v.Type != cty.NilType {
		text += " " + typeexpr.TypeString(v.Type)
	}
	if !v.Required() {
		if data, err := value.After(v.Default); err == nil {
			text += " = " + string(data)
		}
	}
	return text + flags(v.Sensitive, "sensitive", v.Ephemeral, "ephemeral", !v.Nullable, "not-null", v.Const, "const", v.Deprecated != "", "deprecated", v.Untyped, "untyped")
}

func (l *Local) title() string { return "local." + l.Name }

func (p *Provider) title() string {
	return "provider " + dotted(p.LocalName, p.Alias) + ": " + p.Provider.String()
}

func (r *Resource) title() string {
	text := r.Name.String()
	if r.Provider.Explicit {
		text += " by " + dotted(r.Provider.LocalName, r.Provider.Alias)
	}
	text += ": " + r.Provider.Provider.String()
	if r.Check != nil {
		text += " in " + r.Check.Head().Name
	}
	kept := ""
	for _, f := range r.Flags() {
		kept += flags(*f.Set, strings.ReplaceAll(f.Name, "_", "-"))
	}
	return text + kept + flags(r.IgnoreAll, "ignore-all")
}

func (c *Call) title() string { return c.String() }

func (o *Output) title() string {
	text := "output." + o.Name
	if o.Type != cty.NilType {
		text += " " + typeexpr.TypeString(o.Type)
	}
	return text + flags(o.Sensitive, "sensitive", o.Ephemeral, "ephemeral", o.Deprecated != "", "deprecated")
}

// Names reports whether an end in a module, whose keys don't matter, names an
// instance: itself, its resource or a module around it. Parts without keys
// stand for all instances.
func (e Endpoint) Names(declaring addr.Module, i addr.Instance) bool {
	steps, outer, inner := i.Module.Steps(), declaring.Steps(), e.Module.Steps()
	n := len(outer) + len(inner)
	if len(steps) < n || e.Name != (addr.Name{}) && (len(steps) != n || e.Name != i.Name) {
		return false
	}
	for k, s := range outer {
		if s.Name != steps[k].Name {
			return false
		}
	}
	for k, s := range inner {
		at := steps[len(outer)+k]
		if s.Name != at.Name || !keyNames(s.Key, at.Key) {
			return false
		}
	}
	return e.Name == addr.Name{} || keyNames(e.Key, i.Key)
}

func keyNames(written, key addr.Key) bool {
	return written == addr.NoKey || written.IsAny() || written == key
}

// Keyed reports whether an end names instances by their keys.
func (e Endpoint) Keyed() bool { return e.Key != addr.NoKey || e.Module != e.Module.Erase() }

// String is the address of the endpoint.
func (e Endpoint) String() string {
	if (e.Name == addr.Name{}) {
		return e.Module.String()
	}
	return addr.Resource{Module: e.Module, Name: e.Name}.Instance(e.Key).String()
}

func (p *Program) printRefactoring(b *printer) {
	for _, m := range p.Moved {
		b.line("moved %s to %s", m.From, m.To)
		b.expr("for_each", m.ForEach)
		for _, key := range append(m.FromKeys[:len(m.FromKeys):len(m.FromKeys)], m.ToKeys...) {
			b.expr("key", key)
		}
	}
	for _, r := range p.Removed {
		what := ""
		if r.Destroy != nil {
			what = fmt.Sprintf(" destroy=%t", *r.Destroy)
		}
		b.line("removed %s%s", r.From, what)
		if r.Call != nil {
			r.Call.Parts(b.part)
		}
		provisionerParts(b.part, r.Provisioners)
	}
	for _, im := range p.Imports {
		b.line("import %s", im.To)
		b.expr("key", im.ToKey)
		b.expr("for_each", im.ForEach)
		b.expr("id", im.ID)
		b.expr("identity", im.Identity)
	}
}
