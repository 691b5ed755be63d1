package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// The kinds of code actions.
const (
	quickFix = "quickfix"
	extract  = "refactor.extract"
	move     = "refactor.move"
	rewrite  = "refactor.rewrite"
	refactor = "refactor"
)

func (q *request) codeActions(p protocol.CodeActionParams) (any, error) {
	list := []protocol.CodeAction{}
	path := project.Path(p.TextDocument.URI)
	wanted := func(kind string) bool {
		return len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(only string) bool { return kind == only || strings.HasPrefix(kind, only+".") })
	}
	if wanted(quickFix) {
		for _, d := range p.Context.Diagnostics {
			if d.Source == source {
				list = append(list, q.fixes(path, d)...)
			}
		}
	}
	if syntax.IsJSON(path) || !q.IsConfig(path) {
		return list, nil
	}
	text, body := q.body(p.TextDocument.URI)
	if body == nil {
		return list, nil
	}
	start, end := text.Offset(p.Range.Start), text.Offset(p.Range.End)
	if wanted(extract) && end > start {
		list = append(list, q.extracts(path, body, start, end)...)
	}
	if wanted(move) {
		list = append(list, q.moves(path, body, start, end)...)
		list = append(list, q.toModule(path, body, start, end)...)
	}
	if wanted(rewrite) {
		list = append(list, q.forEach(path, body, start)...)
	}
	if wanted(refactor) {
		list = append(list, q.companions(path, body, start)...)
	}
	return list, nil
}

var (
	meant  = lazyregexp.New(`Did you mean (?:the |an? )?"([^"]+)"`)
	quoted = lazyregexp.New(`"([^"\n]+)"`)
)

// fixes are the edits that solve a problem.
func (q *request) fixes(path string, d protocol.Diagnostic) []protocol.CodeAction {
	text := q.Text(path)
	if text == nil {
		return nil
	}
	start, end := text.Offset(d.Range.Start), max(text.Offset(d.Range.Start), text.Offset(d.Range.End))
	written := string(text.Bytes[start:end])
	var list []protocol.CodeAction
	fix := func(title string, e *edits, preferred bool) {
		list = append(list, protocol.CodeAction{Title: title, Kind: quickFix, Diagnostics: []protocol.Diagnostic{d}, Edit: e.result(), IsPreferred: preferred})
	}
	names := quoted.Get().FindAllStringSubmatch(d.Message, -1)
	if m := meant.Get().FindStringSubmatch(d.Message); m != nil {
		for _, name := range names {
			if at := strings.LastIndex(written, name[1]); at >= 0 && name[1] != m[1] {
				e := q.edits()
				e.replace(path, start+at, start+at+len(name[1]), m[1])
				fix(fmt.Sprintf("Replace %q by %q", name[1], m[1]), e, true)
				break
			}
		}
	}
	switch d.Code {
	case compiler.UndeclaredVariable.Name:
		if len(names) > 0 {
			e := q.edits()
			e.appendTo(q.home(path, "variables.tf"), fmt.Sprintf("variable %q {\n}\n", names[0][1]))
			fix(fmt.Sprintf("Declare the variable %q", names[0][1]), e, false)
		}
	case compiler.UndeclaredLocal.Name:
		if len(names) > 0 {
			e := q.edits()
			e.appendTo(path, fmt.Sprintf("locals {\n  %s = null\n}\n", names[0][1]))
			fix(fmt.Sprintf("Declare the local value %q", names[0][1]), e, false)
		}
	case unusedCode:
		if e := q.removal(path, start); e != nil {
			fix("Remove the declaration", e, false)
		}
	case diag.Missing.Name:
		_, body := q.body(q.URI(path))
		if b := blockAt(body, start); b != nil && len(names) > 0 {
			e := q.edits()
			e.replace(path, b.OpenBraceRange.End.Byte, b.OpenBraceRange.End.Byte, fmt.Sprintf("\n%s  %s = null", indent(text.Bytes, b.TypeRange.Start.Byte), names[0][1])+closing(b))
			fix(fmt.Sprintf("Add the argument %q", names[0][1]), e, true)
		}
	}
	return list
}

// closing is what a block on one line needs behind its first argument.
func closing(b *hclsyntax.Block) string {
	if b.OpenBraceRange.End.Line == b.CloseBraceRange.Start.Line {
		return "\n"
	}
	return ""
}

// indent is the space before a byte, from the beginning of its line.
func indent(src []byte, at int) string {
	start := strings.LastIndexByte(string(src[:at]), '\n') + 1
	return string(src[start : start+len(src[start:at])-len(strings.TrimLeft(string(src[start:at]), " \t"))])
}

// home is the file of a module for blocks of a kind: the usual one if the module has it, or
// else the file itself.
func (q *request) home(path, usual string) string {
	dir := filepath.Dir(path)
	if names, err := q.Files().List(dir); err == nil && slices.Contains(names, usual) {
		return filepath.Join(dir, usual)
	}
	return path
}

// blockAt is the innermost block around a byte.
func blockAt(body *hclsyntax.Body, at int) *hclsyntax.Block {
	if body == nil {
		return nil
	}
	for _, b := range body.Blocks {
		if b.TypeRange.Start.Byte <= at && at <= b.CloseBraceRange.End.Byte {
			if inner := blockAt(b.Body, at); inner != nil {
				return inner
			}
			return b
		}
	}
	return nil
}

// bound are the names that mean something only where they stand.
var bound = []string{"each", "count", "self", "caller"}

// extracts makes an expression a local value.
func (q *request) extracts(path string, body *hclsyntax.Body, start, end int) []protocol.CodeAction {
	text := q.Text(path)
	for start < end && strings.ContainsRune(" \t\n", rune(text.Bytes[start])) {
		start++
	}
	for end > start && strings.ContainsRune(" \t\n", rune(text.Bytes[end-1])) {
		end--
	}
	var found hclsyntax.Expression
	for _, b := range body.Blocks {
		if !slices.Contains([]string{"resource", "data", "ephemeral", "output", "module", "locals", "provider", "check"}, b.Type) {
			continue // elsewhere locals aren't allowed, or not yet known
		}
		_ = hclsyntax.VisitAll(b.Body, func(n hclsyntax.Node) hcl.Diagnostics {
			if e, ok := n.(hclsyntax.Expression); ok && e.Range().Start.Byte == start && e.Range().End.Byte == end {
				found = e
			}
			return nil
		})
	}
	m := q.Module(q, filepath.Dir(path))
	if found == nil || m == nil || !standsAlone(found, body) {
		return nil
	}
	name := "extracted"
	for n := 2; m.Program.LocalByName[name] != nil; n++ {
		name = fmt.Sprintf("extracted_%d", n)
	}
	e := q.edits()
	e.replace(path, start, end, "local."+name)
	e.appendTo(path, fmt.Sprintf("locals {\n  %s = %s\n}\n", name, text.Bytes[start:end]))
	return []protocol.CodeAction{{Title: "Extract to a local value", Kind: extract, Edit: e.result()}}
}

// standsAlone reports whether an expression means the same in a local value: it has no names
// of its block, of for expressions or of dynamic blocks around it, and is none that the
// language reads as an address.
func standsAlone(e hclsyntax.Expression, body *hclsyntax.Body) bool {
	alone := true
	names := slices.Clone(bound)
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		r := n.Range()
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			if r.Start.Byte <= e.Range().Start.Byte && e.Range().End.Byte <= r.End.Byte && n != e {
				names = append(names, n.KeyVar, n.ValVar)
			}
		case *hclsyntax.Block:
			if n.Type == "dynamic" && len(n.Labels) == 1 {
				names = append(names, n.Labels[0])
			}
		case *hclsyntax.Attribute:
			if n.SrcRange.Start.Byte <= e.Range().Start.Byte && e.Range().End.Byte <= n.SrcRange.End.Byte {
				switch n.Name {
				case "depends_on", "provider", "providers", "ignore_changes", "replace_triggered_by", "source", "version", "alias", "create_before_destroy":
					alone = false
				}
			}
		case *hclsyntax.ObjectConsKeyExpr:
			if n.Range() == e.Range() {
				alone = false
			}
		case *hclsyntax.SplatExpr:
			if n.Each != nil && n.Each.Range() == e.Range() {
				alone = false
			}
		}
		return nil
	})
	if _, ok := e.(*hclsyntax.AnonSymbolExpr); ok {
		return false
	}
	for _, t := range hclsyntax.Variables(e) {
		alone = alone && !slices.Contains(names, t.RootName())
	}
	return alone
}

// usual are the files that blocks of a type are looked for in.
func usual() map[string]string {
	return map[string]string{"variable": "variables.tf", "output": "outputs.tf", "provider": "providers.tf", "terraform": "versions.tf", "locals": "locals.tf", "moved": "moved.tf", "import": "imports.tf"}
}

// moves puts a block into another file.
func (q *request) moves(path string, body *hclsyntax.Body, start, end int) []protocol.CodeAction {
	text := q.Text(path)
	for _, b := range body.Blocks {
		if start < b.TypeRange.Start.Byte || end > b.OpenBraceRange.End.Byte {
			continue // the cursor is in the header of the block to move
		}
		name := usual()[b.Type]
		if name == "" && len(b.Labels) > 0 {
			name = b.Labels[len(b.Labels)-1] + ".tf"
		}
		if name == "" || name == filepath.Base(path) || strings.ContainsAny(name, `/\`) {
			return nil
		}
		to := filepath.Join(filepath.Dir(path), name)
		if q.Text(to) == nil && !slices.Contains(q.client.Workspace.WorkspaceEdit.ResourceOperations, "create") {
			return nil
		}
		from, until := withComments(text.Bytes, b.TypeRange.Start.Byte), b.CloseBraceRange.End.Byte
		moved := string(text.Bytes[from:until]) + "\n"
		for until < len(text.Bytes) && text.Bytes[until] == '\n' {
			until++
		}
		e := q.edits()
		e.replace(path, from, until, "")
		e.appendTo(to, moved)
		return []protocol.CodeAction{{Title: "Move the block to " + name, Kind: move, Edit: e.result()}}
	}
	return nil
}

// withComments is where the comment lines directly before a block begin.
func withComments(src []byte, at int) int {
	for at > 0 {
		start := strings.LastIndexByte(string(src[:at-1]), '\n') + 1
		line := strings.TrimSpace(string(src[start:at]))
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			break
		}
		at = start
	}
	return at
}
