package symbols

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

// A Target is a declaration as one module sees it.
type Target struct {
	// Through are the names of the module calls that lead to the module with the
	// declaration; none for the module itself.
	Through []string
	Kind    Kind
	Name    string // as references name it: var.x, aws_vpc.main, module.net; output.id; aws.west for a provider
}

// Is reports whether both are the same declaration.
func (t Target) Is(o Target) bool {
	return t.Kind == o.Kind && t.Name == o.Name && slices.Equal(t.Through, o.Through)
}

// Label is the last part of the name, which a rename replaces.
func (t Target) Label() string { return t.Name[strings.LastIndexByte(t.Name, '.')+1:] }

// An Occurrence is a place where the label of a declaration is written.
type Occurrence struct {
	Target
	Range hcl.Range // of the label, without quotes
	// Definition: it is the declaration. Whole is its block then, and otherwise the reference.
	Definition bool
	Whole      hcl.Range
	// Former: it stands in a moved or removed block, where it may be a name of earlier.
	Former bool
}

// Occurrences lists where a module writes the names of declarations, by file and place. The
// source is the one that the program was compiled from.
func Occurrences(src *module.Source, p *program.Program) []Occurrence {
	o := &occurrences{files: map[string][]byte{}, seen: map[spot]bool{}}
	for _, f := range src.Files {
		o.files[f.Name] = f.Bytes
	}
	for _, f := range src.Files {
		content, _, _ := f.Body.PartialContent(module.FileSchema)
		for _, b := range content.Blocks {
			before := len(o.all)
			o.block(b)
			for i := before; i < len(o.all); i++ {
				o.all[i].Former = b.Type == "moved" || b.Type == "removed"
			}
		}
	}
	o.program(p)
	slices.SortStableFunc(o.all, func(a, b Occurrence) int {
		if c := strings.Compare(a.Range.Filename, b.Range.Filename); c != 0 {
			return c
		}
		return a.Range.Start.Byte - b.Range.Start.Byte
	})
	return o.all
}

type occurrences struct {
	files map[string][]byte
	all   []Occurrence
	seen  map[spot]bool
}

// A spot is where a label begins: a reference may stand in several parts of a program.
type spot struct {
	file   string
	offset int
}

// add adds an occurrence, if the label is what stands there.
func (o *occurrences) add(t Target, at, whole hcl.Range, definition bool) {
	src := o.files[at.Filename]
	if at.Start.Byte < 0 || at.End.Byte > len(src) || at.Start.Byte > at.End.Byte {
		return
	}
	if text := src[at.Start.Byte:at.End.Byte]; len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		at.Start.Byte, at.Start.Column = at.Start.Byte+1, at.Start.Column+1
		at.End.Byte, at.End.Column = at.End.Byte-1, at.End.Column-1
	}
	place := spot{at.Filename, at.Start.Byte}
	if string(src[at.Start.Byte:at.End.Byte]) != t.Label() || o.seen[place] {
		return
	}
	o.seen[place] = true
	o.all = append(o.all, Occurrence{Target: t, Range: at, Definition: definition, Whole: whole})
}

// declares returns the kind of what a block declares, and the first part of its name.
func declares(block string) (kind Kind, prefix string, ok bool) {
	switch block {
	case "variable":
		return Variable, "var.", true
	case "output":
		return Output, "output.", true
	case "module":
		return Call, "module.", true
	case "resource":
		return Resource, "", true
	case "data":
		return Data, "data.", true
	case "ephemeral":
		return Temporal, "ephemeral.", true
	case "action":
		return program.KindAction, "action.", true
	case "list":
		return program.KindList, "list.", true
	}
	return "", "", false
}

// whole is a block from its type to its closing brace.
func whole(b *hcl.Block) hcl.Range {
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		return hcl.RangeBetween(b.DefRange, native.EndRange)
	}
	return b.DefRange
}

// block adds what a block declares, and the addresses in it that no expression has.
func (o *occurrences) block(b *hcl.Block) {
	if kind, prefix, ok := declares(b.Type); ok {
		last := len(b.Labels) - 1
		o.add(Target{Kind: kind, Name: prefix + strings.Join(b.Labels, ".")}, b.LabelRanges[last], whole(b), true)
	}
	attrs, blocks := inside(b.Body)
	switch b.Type {
	case "locals":
		for name, attr := range attrs {
			o.add(Target{Kind: Local, Name: "local." + name}, attr.NameRange, attr.Range, true)
		}
	case "provider":
		if alias := attrs["alias"]; alias != nil {
			if v, _ := alias.Expr.Value(nil); v.IsKnown() && !v.IsNull() && v.Type().FriendlyName() == "string" {
				o.add(Target{Kind: Provider, Name: b.Labels[0] + "." + v.AsString()}, alias.Expr.Range(), whole(b), true)
			}
		}
	case "terraform":
		for _, inner := range blocks {
			if inner.Type == "required_providers" {
				o.configurationAliases(inner.Body)
			}
		}
	case "resource", "data", "ephemeral", "action", "list":
		o.providerAddress(nil, attrs["provider"])
	case "module":
		o.passed(b.Labels[0], attrs["providers"])
	case "moved", "removed", "import":
		for _, name := range []string{"from", "to"} {
			if attr := attrs[name]; attr != nil {
				o.address(attr.Expr.Range())
			}
		}
		o.providerAddress(nil, attrs["provider"])
	case "check":
		for _, inner := range blocks {
			if inner.Type == "data" && len(inner.Labels) == 2 {
				o.add(Target{Kind: Data, Name: "data." + strings.Join(inner.Labels, ".")}, inner.LabelRanges[1], whole(inner.AsHCLBlock()), true)
			}
		}
	}
}

// inside are the arguments and blocks of a body; only the arguments of one in JSON.
func inside(b hcl.Body) (hcl.Attributes, []*hclsyntax.Block) {
	if native, ok := b.(*hclsyntax.Body); ok {
		attrs := hcl.Attributes{}
		for name, a := range native.Attributes {
			attrs[name] = a.AsHCLAttribute()
		}
		return attrs, native.Blocks
	}
	attrs, _ := b.JustAttributes()
	return attrs, nil
}

func (o *occurrences) providerAddress(through []string, attr *hcl.Attribute) {
	if attr != nil {
		o.provider(through, attr.Expr.Range(), false)
	}
}

// provider adds the alias in an address such as aws.west.
func (o *occurrences) provider(through []string, at hcl.Range, definition bool) {
	if w := o.words(at); len(w) == 2 {
		o.add(Target{Through: through, Kind: Provider, Name: w[0].text + "." + w[1].text}, w[1].at, at, definition)
	}
}

// passed adds the aliases that a call passes.
func (o *occurrences) passed(call string, attr *hcl.Attribute) {
	if attr == nil {
		return
	}
	object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return
	}
	for _, item := range object.Items {
		o.provider([]string{call}, item.KeyExpr.Range(), false)
		o.provider(nil, item.ValueExpr.Range(), false)
	}
}

func (o *occurrences) configurationAliases(b *hclsyntax.Body) {
	for _, attr := range b.Attributes {
		object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
		if !ok {
			continue
		}
		for _, item := range object.Items {
			list, ok := item.ValueExpr.(*hclsyntax.TupleConsExpr)
			if key := o.words(item.KeyExpr.Range()); !ok || len(key) != 1 || key[0].text != "configuration_aliases" {
				continue
			}
			for _, e := range list.Exprs {
				o.provider(nil, e.Range(), true)
			}
		}
	}
}

// address adds the parts of the address of an object: module calls, and a resource.
func (o *occurrences) address(at hcl.Range) {
	w := o.words(at)
	var through []string
	for len(w) >= 2 && w[0].text == "module" {
		o.add(Target{Through: through, Kind: Call, Name: "module." + w[1].text}, w[1].at, at, false)
		through = append(slices.Clone(through), w[1].text)
		w = w[2:]
	}
	o.resource(through, w, at)
}

// resource adds the name in what is left of an address.
func (o *occurrences) resource(through []string, w []word, at hcl.Range) {
	kind, prefix := Resource, ""
	if len(w) >= 3 {
		switch k, p, ok := declares(w[0].text); {
		case w[0].text == "resource":
			w = w[1:]
		case ok && k != Variable && k != Output && k != Call:
			kind, prefix, w = k, p, w[1:]
		}
	}
	if len(w) >= 2 {
		o.add(Target{Through: through, Kind: kind, Name: prefix + w[0].text + "." + w[1].text}, w[1].at, at, false)
	}
}

// program adds what expressions refer to.
func (o *occurrences) program(p *program.Program) {
	for _, d := range p.Declarations() {
		d.Parts(func(part program.Part) { o.refs(part.References()) })
	}
	for _, v := range p.Calls {
		for _, in := range v.Inputs {
			o.add(Target{Through: []string{v.Name}, Kind: Variable, Name: "var." + in.Name}, in.Range, in.Range, false)
		}
	}
	for _, im := range p.Imports {
		for _, e := range append([]*program.Expr{im.ToKey, im.ForEach, im.ID, im.Identity}, im.ModuleKeys...) {
			if e != nil {
				o.refs(e.Refs)
			}
		}
	}
	for _, m := range p.Moved {
		for _, e := range slices.Concat([]*program.Expr{m.ForEach}, m.FromKeys, m.ToKeys) {
			if e != nil {
				o.refs(e.Refs)
			}
		}
	}
	bodies := []*program.Body{p.Encryption}
	if p.Backend != nil {
		bodies = append(bodies, p.Backend.Config)
	}
	for _, meta := range p.ProviderMeta {
		bodies = append(bodies, meta)
	}
	for _, b := range bodies {
		if b != nil {
			o.refs(b.Refs)
		}
	}
}

func (o *occurrences) refs(refs []*program.Ref) {
	for _, r := range refs {
		w := o.words(r.Range)
		if len(w) < 2 {
			continue
		}
		switch r.Kind {
		case program.RefVariable:
			o.add(Target{Kind: Variable, Name: "var." + r.Variable.Name}, w[1].at, r.Range, false)
		case program.RefLocal:
			o.add(Target{Kind: Local, Name: "local." + r.Local.Name}, w[1].at, r.Range, false)
		case program.RefCall:
			o.add(Target{Kind: Call, Name: r.Call.String()}, w[1].at, r.Range, false)
			if r.Attr != "" && len(w) > 2 && w[2].text == r.Attr {
				o.add(Target{Through: []string{r.Call.Name}, Kind: Output, Name: "output." + r.Attr}, w[2].at, r.Range, false)
			}
		case program.RefResource:
			if r.Resource.Name.Mode == addr.Managed && w[0].text == "resource" && r.Resource.Name.Type != "resource" {
				w = w[1:]
			}
			o.resource(nil, w, r.Range)
		}
	}
}

// A word is a name in an address.
type word struct {
	text string
	at   hcl.Range
}

// words are the names in what is written in a range, without those in brackets. It ends
// where no address can go on.
func (o *occurrences) words(r hcl.Range) []word {
	src := o.files[r.Filename]
	if r.Start.Byte < 0 || r.End.Byte > len(src) || r.Start.Byte > r.End.Byte {
		return nil
	}
	text, start := src[r.Start.Byte:r.End.Byte], r.Start
	if bytes.HasPrefix(text, []byte{'"'}) { // an address in JSON, or in the style of old configurations
		text = bytes.Trim(text, `"`)
		start.Byte, start.Column = start.Byte+1, start.Column+1
	}
	tokens, _ := hclsyntax.LexExpression(text, r.Filename, start)
	var list []word
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrack:
			depth++
		case hclsyntax.TokenCBrack:
			depth--
		case hclsyntax.TokenIdent:
			if depth == 0 {
				list = append(list, word{string(t.Bytes), t.Range})
			}
		case hclsyntax.TokenDot, hclsyntax.TokenStar, hclsyntax.TokenNumberLit:
		default:
			if depth == 0 {
				return list
			}
		}
	}
	return list
}
