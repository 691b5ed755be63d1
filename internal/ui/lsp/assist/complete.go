package assist

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/function"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// An Item is a proposal: Insert replaces the cursor's word, as a snippet if Snippet is set.
type Item struct {
	Label   string
	Kind    int
	Detail  string
	Doc     string
	Insert  string
	Snippet string
	Old     bool // deprecated
	Rank    int  // lower ones come first
}

// Complete proposes what may stand at the cursor.
func Complete(c *Cursor, s *Scope) []Item {
	blocks, attr := c.blocks()
	inner := c.innermost()
	switch {
	case inner.kind == inQuotes && len(c.statement) > 0 && len(blocks) == 0:
		return s.labels(c.statement)
	case inner.kind == inQuotes:
		return s.versions(c, blocks)
	case c.inValue():
		return s.values(c, blocks, attr)
	case inner.kind == inObject:
		return s.keys(c, blocks)
	case len(c.statement) > 1: // a label without quotes
		return nil
	case len(blocks) == 0:
		return topLevel()
	}
	return s.body(blocks)
}

// versions proposes what a version or its constraint may be in quotes.
func (s *Scope) versions(c *Cursor, blocks []frame) []Item {
	outer := c.frames[len(c.frames)-2]
	last := blocks[len(blocks)-1]
	var known []string
	switch {
	case outer.attr != "version":
		return nil
	case outer.kind == inObject && last.typ == "required_providers":
		if r := s.Whole.Requirements[last.attr]; r != nil {
			known = s.Versions(r.Provider)
		}
	case last.typ == "module" && len(last.labels) > 0:
		if v := s.Installed(last.labels[0]); v != "" {
			known = []string{v}
		}
	}
	var list []Item
	for i, v := range known {
		forms := []string{v}
		if parts := strings.Split(v, "."); i == 0 && len(parts) == 3 {
			forms = []string{"~> " + parts[0] + "." + parts[1], v, ">= " + v}
		}
		for _, form := range forms {
			list = append(list, Item{Label: form, Kind: protocol.CompleteValue, Detail: "on this machine", Insert: form, Rank: min(len(list), 9)})
		}
	}
	return list
}

func topLevel() []Item {
	file, schemas := compiler.Schemas()
	var list []Item
	for _, b := range file.Blocks {
		item := Item{Label: b.Type, Kind: protocol.CompleteKeyword, Detail: "block", Insert: b.Type}
		snippet := b.Type
		for i, label := range b.LabelNames {
			snippet += fmt.Sprintf(" \"${%d:%s}\"", i+1, label)
		}
		snippet += " {\n"
		n := len(b.LabelNames)
		if in := schemas[b.Type]; in != nil {
			for _, a := range in.Attributes {
				if a.Required {
					n++
					snippet += fmt.Sprintf("  %s = ${%d}\n", a.Name, n)
				}
			}
		}
		if n == len(b.LabelNames) {
			snippet += "  $0\n"
		}
		item.Snippet = snippet + "}"
		list = append(list, item)
	}
	return list
}

// modes are the blocks of resources.
func modes() map[string]addr.Mode {
	return map[string]addr.Mode{"resource": addr.Managed, "data": addr.Data, "ephemeral": addr.Ephemeral, "action": addr.Action, "list": addr.List}
}

// labels proposes types of resources and providers.
func (s *Scope) labels(statement []string) []Item {
	mode, ok := modes()[statement[0]]
	var list []Item
	switch {
	case ok && len(statement) == 1:
		names := append(slices.Collect(maps.Keys(s.Whole.Requirements)), "terraform") // which needs no requirement
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			all := s.Schemas(s.providerOf(name))
			if all == nil {
				continue
			}
			types := map[addr.Mode]func() []string{
				addr.Managed: func() []string { return slices.Sorted(maps.Keys(all.Resources)) }, addr.Data: func() []string { return slices.Sorted(maps.Keys(all.DataSources)) },
				addr.Ephemeral: func() []string { return slices.Sorted(maps.Keys(all.Ephemerals)) }, addr.Action: func() []string { return slices.Sorted(maps.Keys(all.Actions)) },
				addr.List: func() []string { return slices.Sorted(maps.Keys(all.Lists)) },
			}[mode]()
			for _, typ := range types {
				list = append(list, Item{Label: typ, Kind: protocol.CompleteClass, Detail: s.providerOf(name).ForDisplay(), Insert: typ})
			}
		}
	case statement[0] == "provider" && len(statement) == 1:
		for _, name := range slices.Sorted(maps.Keys(s.Whole.Requirements)) {
			list = append(list, Item{Label: name, Kind: protocol.CompleteModule, Detail: s.Whole.Requirements[name].Provider.ForDisplay(), Insert: name})
		}
	}
	return list
}

// within is the schema of what a provider means by nested blocks; nil where it has none.
func (s *Scope) within(blocks []frame) *schema.Block {
	if len(blocks) == 0 || len(blocks[0].labels) == 0 {
		return nil
	}
	var b *schema.Block
	if mode, ok := modes()[blocks[0].typ]; ok {
		b = s.schemaOf(mode, blocks[0].labels[0])
	} else if blocks[0].typ == "provider" {
		if all := s.Schemas(s.providerOf(blocks[0].labels[0])); all != nil && all.Provider != nil {
			b = all.Provider.Block
		}
	}
	for _, inner := range blocks[1:] {
		if b == nil {
			return nil
		}
		typ := inner.typ
		switch {
		case typ == "dynamic" && len(inner.labels) > 0:
			typ = inner.labels[0]
		case typ == "content":
			continue
		}
		next := b.Blocks[typ]
		if next == nil {
			return nil
		}
		b = next.Block
	}
	return b
}

// language is the schema of the language's own part of a block; nil without one.
func language(blocks []frame) *hcl.BodySchema {
	_, schemas := compiler.Schemas()
	names := []string{blocks[0].typ}
	if _, ok := modes()[blocks[0].typ]; ok && len(blocks) > 1 {
		names[0] = "resource"
	}
	for _, b := range blocks[1:] {
		names = append(names, b.typ)
	}
	if last := names[len(names)-1]; slices.Contains([]string{"validation", "precondition", "postcondition", "assert"}, last) {
		return schemas["condition"]
	}
	if n := len(names); n > 1 && (names[n-1] == "provisioner" || names[n-1] == "action_trigger") {
		return schemas["resource."+names[n-1]]
	}
	return schemas[strings.Join(names, ".")]
}

// body proposes the arguments and blocks of a block.
func (s *Scope) body(blocks []frame) []Item {
	var list []Item
	last := blocks[len(blocks)-1]
	if last.typ == "content" && len(blocks) > 1 && blocks[len(blocks)-2].typ == "dynamic" || last.typ != "dynamic" {
		if b := s.within(blocks); b != nil {
			list = append(list, declared(b)...)
		}
	}
	if last.typ == "dynamic" {
		for _, name := range []string{"for_each", "iterator", "labels"} {
			list = append(list, Item{Label: name, Kind: protocol.CompleteField, Insert: name, Snippet: name + " = ${1}"})
		}
		return append(list, Item{Label: "content", Kind: protocol.CompleteKeyword, Insert: "content", Snippet: "content {\n  $0\n}"})
	}
	if blocks[0].typ == "module" && len(blocks) == 1 && len(last.labels) > 0 {
		list = append(list, s.inputs(last.labels[0])...)
	}
	if in := language(blocks); in != nil {
		for _, a := range in.Attributes {
			item := Item{Label: a.Name, Kind: protocol.CompleteField, Detail: "argument", Insert: a.Name, Snippet: a.Name + " = ${1}", Rank: 2}
			if a.Required {
				item.Detail, item.Rank = "required argument", 0
			}
			list = append(list, item)
		}
		for _, b := range in.Blocks {
			if b.Type == "_" {
				continue
			}
			list = append(list, block(b.Type, b.LabelNames, "", 2))
		}
	}
	return append(list, required(list, last.set)...)
}

// required proposes all required arguments and blocks at once that aren't there yet.
func required(list []Item, set []string) []Item {
	var names []string
	var snippet strings.Builder
	n := 0
	for _, item := range list {
		if item.Rank > 0 || slices.Contains(set, item.Label) {
			continue
		}
		names = append(names, item.Label)
		text := placeholders.Get().ReplaceAllStringFunc(item.Snippet, func(string) string {
			n++
			return fmt.Sprintf("${%d}", n)
		})
		fmt.Fprintf(&snippet, "%s\n", text)
	}
	if len(names) < 2 {
		return nil
	}
	return []Item{{Label: "required arguments", Kind: protocol.CompleteSnippet, Detail: strings.Join(names, ", "),
		Insert: strings.Join(names, " = \n") + " = ", Snippet: strings.TrimSuffix(snippet.String(), "\n")}}
}

var placeholders = lazyregexp.New(`\$(\{1\}|0)`)

func block(typ string, labels []string, doc string, rank int) Item {
	snippet := typ
	for i, label := range labels {
		snippet += fmt.Sprintf(" \"${%d:%s}\"", i+1, label)
	}
	return Item{Label: typ, Kind: protocol.CompleteKeyword, Detail: "block", Doc: doc, Insert: typ, Snippet: snippet + " {\n  $0\n}", Rank: rank}
}

// declared proposes what a provider's schema has.
func declared(b *schema.Block) []Item {
	var list []Item
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		a := b.Attributes[name]
		if !a.Required && !a.Optional {
			continue
		}
		item := Item{Label: name, Kind: protocol.CompleteField, Detail: attribute(a), Doc: a.Description, Insert: name, Snippet: name + " = " + placeholder(a.ImpliedType()), Old: a.Deprecated, Rank: 1}
		if a.Required {
			item.Rank = 0
		}
		list = append(list, item)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		nested := b.Blocks[name]
		rank := 1
		if nested.Min > 0 {
			rank = 0
		}
		list = append(list, block(name, nil, nested.Description, rank))
	}
	return list
}

// attribute says what an argument takes.
func attribute(a *schema.Attribute) string {
	text := Type(a.ImpliedType())
	switch {
	case a.Required:
		return text + ", required"
	case a.Optional && a.Computed:
		return text + ", optional or chosen by the provider"
	case a.Optional:
		return text + ", optional"
	}
	return text + ", chosen by the provider"
}

// placeholder is where a value of a type is typed.
func placeholder(t cty.Type) string {
	switch {
	case t == cty.String:
		return `"${1}"`
	case t.IsListType() || t.IsSetType() || t.IsTupleType():
		return "[${1}]"
	case t.IsMapType() || t.IsObjectType():
		return "{\n  $0\n}"
	}
	return "${1}"
}

// inputs proposes the variables of the module that a call loads.
func (s *Scope) inputs(call string) []Item {
	p := s.Called(call)
	if p == nil {
		return nil
	}
	var list []Item
	for _, v := range p.Variables {
		item := Item{Label: v.Name, Kind: protocol.CompleteField, Detail: variable(v), Doc: v.Description, Insert: v.Name, Snippet: v.Name + " = " + placeholder(v.Type), Old: v.Deprecated != "", Rank: 1}
		if v.Required() {
			item.Rank = 0
		}
		list = append(list, item)
	}
	return list
}

func variable(v *program.Variable) string {
	text := Type(v.Type)
	if v.Required() {
		return text + ", required"
	}
	return text + ", optional"
}

// keys proposes the attributes of an object.
func (s *Scope) keys(c *Cursor, blocks []frame) []Item {
	b := s.within(blocks)
	// The arguments and keys that lead from the innermost block to the object.
	var path []string
	for _, f := range c.frames[1:] {
		switch f.kind {
		case inBlock:
			path = path[:0]
			fallthrough
		case inObject:
			if f.attr != "" {
				path = append(path, f.attr)
			}
		}
	}
	if b == nil || len(path) == 0 {
		return nil
	}
	a := b.Attributes[path[0]]
	for _, name := range path[1:] {
		if a != nil && a.Nested != nil {
			if next := a.Nested.Attributes[name]; next != nil {
				a = next
			}
		}
	}
	if a == nil {
		return nil
	}
	if a.Nested != nil {
		return declared(&schema.Block{Attributes: a.Nested.Attributes})
	}
	t := a.Type
	for t.IsCollectionType() {
		t = t.ElementType()
	}
	var list []Item
	if t.IsObjectType() {
		for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
			list = append(list, Item{Label: name, Kind: protocol.CompleteField, Detail: Type(t.AttributeType(name)), Insert: name, Snippet: name + " = " + placeholder(t.AttributeType(name))})
		}
	}
	return list
}

// values proposes what an expression may begin with, or how the reference before the cursor
// continues.
func (s *Scope) values(c *Cursor, blocks []frame, attr string) []Item {
	if i := strings.LastIndexByte(c.Word, '.'); i >= 0 {
		return s.steps(c.Word[:i], c.Word[:i+1])
	}
	var list []Item
	word := func(text string, kind int, detail string, rank int) {
		list = append(list, Item{Label: text, Kind: kind, Detail: detail, Insert: text, Rank: rank})
	}
	if attr == "type" && len(blocks) > 0 && (blocks[0].typ == "variable" || blocks[0].typ == "output") {
		for _, t := range []string{"string", "number", "bool", "any"} {
			word(t, protocol.CompleteEnum, "type", 0)
		}
		for _, t := range []string{"list", "set", "map", "object", "tuple", "optional"} {
			list = append(list, Item{Label: t, Kind: protocol.CompleteEnum, Detail: "type", Insert: t, Snippet: t + "(${1})"})
		}
		return list
	}
	if (attr == "provider" || attr == "providers") && len(blocks) > 0 {
		for _, name := range slices.Sorted(maps.Keys(s.Whole.Requirements)) {
			word(name, protocol.CompleteModule, "provider", 0)
		}
		for _, p := range s.Whole.Providers {
			if p.Alias != "" {
				word(p.LocalName+"."+p.Alias, protocol.CompleteModule, "provider", 0)
			}
		}
		return list
	}
	for _, v := range enums()[attr] {
		word(v, protocol.CompleteEnum, "", 0)
	}
	if s.wants(blocks, attr) == cty.Bool {
		word("true", protocol.CompleteValue, "bool", 0)
		word("false", protocol.CompleteValue, "bool", 0)
	}
	for _, t := range symbols.Names(s.Whole) {
		list = append(list, s.reference(t))
	}
	if len(blocks) > 0 {
		for _, name := range []string{"each.key", "each.value", "count.index", "self"} {
			word(name, protocol.CompleteVariable, "", 3)
		}
	}
	for _, name := range symbols.Surroundings {
		word(name, protocol.CompleteVariable, "string", 3)
	}
	for _, name := range function.Names() {
		shape, about, _ := function.Text(name)
		list = append(list, Item{Label: name, Kind: protocol.CompleteFunction, Detail: name + shape, Doc: about, Insert: name, Snippet: name + "(${1})", Rank: 4})
	}
	for _, local := range slices.Sorted(maps.Keys(s.Whole.Requirements)) {
		if all := s.Schemas(s.Whole.Requirements[local].Provider); all != nil {
			for _, name := range slices.Sorted(maps.Keys(all.Functions)) {
				full := "provider::" + local + "::" + name
				list = append(list, Item{Label: full, Kind: protocol.CompleteFunction, Detail: ProviderFunction(full, all.Functions[name]), Doc: all.Functions[name].Summary, Insert: full, Snippet: full + "(${1})", Rank: 4})
			}
		}
	}
	return list
}

// enums are the words that arguments of the language take.
func enums() map[string][]string {
	return map[string][]string{
		"when": {"create", "destroy"}, "on_failure": {"continue", "fail"}, "ignore_changes": {"all"},
		"prevent_destroy": {"true", "false"}, "create_before_destroy": {"true", "false"}, "sensitive": {"true", "false"}, "ephemeral": {"true", "false"}, "nullable": {"true", "false"}, "destroy": {"true", "false"},
	}
}

// wants is the type that an argument takes, NilType where that isn't known.
func (s *Scope) wants(blocks []frame, attr string) cty.Type {
	if b := s.within(blocks); b != nil && b.Attributes[attr] != nil {
		return b.Attributes[attr].ImpliedType()
	}
	if len(blocks) == 1 && blocks[0].typ == "module" && len(blocks[0].labels) > 0 {
		if p := s.Called(blocks[0].labels[0]); p != nil && p.VariableByName[attr] != nil {
			return p.VariableByName[attr].Type
		}
	}
	return cty.NilType
}

func (s *Scope) reference(t symbols.Target) Item {
	item := Item{Label: t.Name, Kind: protocol.CompleteVariable, Insert: t.Name, Rank: 1}
	switch t.Kind {
	case symbols.Call:
		item.Kind = protocol.CompleteModule
	case symbols.Resource, symbols.Data, symbols.Temporal:
		item.Kind = protocol.CompleteClass
		return item // its type is as long as its schema
	case symbols.Variable:
		item.Doc = s.Whole.VariableByName[t.Label()].Description
	}
	if ty, ok := s.typeOf(Words(t.Name), 0); ok && t.Kind != symbols.Call {
		item.Detail = Type(ty)
	}
	return item
}

// steps proposes the next step of a reference.
func (s *Scope) steps(before, prefix string) []Item {
	var list []Item
	seen := map[string]bool{}
	for _, t := range symbols.Names(s.Whole) {
		if rest, ok := strings.CutPrefix(t.Name, prefix); ok && rest != "" {
			first, _, more := strings.Cut(rest, ".")
			if seen[first] {
				continue
			}
			seen[first] = true
			item := s.reference(t)
			item.Label, item.Insert = first, prefix+first
			if more {
				item = Item{Label: first, Kind: protocol.CompleteClass, Insert: prefix + first, Rank: 1}
			}
			list = append(list, item)
		}
	}
	for _, name := range append([]string{"each.key", "each.value", "count.index"}, symbols.Surroundings...) {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			list = append(list, Item{Label: rest, Kind: protocol.CompleteField, Insert: name})
		}
	}
	if len(list) > 0 {
		return list
	}
	t, ok := s.typeOf(Words(before), 0)
	if !ok {
		return nil
	}
	if (t.IsListType() || t.IsSetType()) && strings.HasSuffix(before, "]") {
		t = t.ElementType()
	}
	if !t.IsObjectType() {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
		list = append(list, Item{Label: name, Kind: protocol.CompleteField, Detail: Type(t.AttributeType(name)), Insert: prefix + name})
	}
	return list
}
