package lsp

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// keys are the instance keys that a block with count gets by for_each.
type keys struct {
	forEach string // the argument
	number  string // what count.index becomes
	element string // what stands for an element of the list that is counted
	list    string // that list as it is written, empty without
	all     string // what all instances become, in their order; %s is the block's address
	of      func(index int) (key string, ok bool)
}

// keysOf finds the keys for a block in a root module: the elements of the list that it counts, if they are
// different known strings, and else the numbers.
func keysOf(count hclsyntax.Expression, text []byte, k *engine.Console) keys {
	source := func(e hclsyntax.Expression) string { return string(e.Range().SliceBytes(text)) }
	n := source(count)
	numbers := keys{
		forEach: fmt.Sprintf("toset([for i in range(%s) : tostring(i)])", n),
		number:  "tonumber(each.key)",
		all:     fmt.Sprintf("[for i in range(%s) : %%s[tostring(i)]]", n),
		of:      func(index int) (string, bool) { return fmt.Sprint(index), true },
	}
	if v, ok := known(k, n); ok && !v.IsMarked() && v.Type() == cty.Number {
		wanted := int(number(v))
		numbers.of = func(index int) (string, bool) { return fmt.Sprint(index), index < wanted }
	}
	call, ok := count.(*hclsyntax.FunctionCallExpr)
	if !ok || call.Name != "length" || len(call.Args) != 1 {
		return numbers
	}
	if _, ok := call.Args[0].(*hclsyntax.ScopeTraversalExpr); !ok {
		return numbers
	}
	list := source(call.Args[0])
	v, ok := known(k, list)
	if !ok || v.IsMarked() || !(v.Type().IsListType() || v.Type().IsTupleType()) {
		return numbers
	}
	var elements []string
	seen := map[string]bool{}
	for _, e := range v.AsValueSlice() {
		if e.IsMarked() || !e.IsKnown() || e.IsNull() || e.Type() != cty.String || seen[e.AsString()] {
			return numbers
		}
		seen[e.AsString()] = true
		elements = append(elements, e.AsString())
	}
	return keys{
		forEach: fmt.Sprintf("toset(%s)", list),
		number:  fmt.Sprintf("index(%s, each.value)", list),
		element: "each.value",
		list:    list,
		all:     fmt.Sprintf("[for k in %s : %%s[k]]", list),
		of: func(index int) (string, bool) {
			if index >= len(elements) {
				return "", false
			}
			return elements[index], true
		},
	}
}

// forEach turns count into for_each, with moved blocks for the instances that exist. It is
// offered for blocks of root modules whose state can be read: keys of others aren't known here.
func (q *request) forEach(path string, body *hclsyntax.Body, at int) []protocol.CodeAction {
	b := headerAt(body, at)
	m := q.Module(q, filepath.Dir(path))
	if b == nil || m == nil || addressed(b) == "" || b.Body.Attributes["count"] == nil || len(q.Callers(q, m.Dir)) > 0 {
		return nil
	}
	refs, ok := references(m)
	s, config := q.State(q, m.Dir)
	if !ok || config == nil || config.Tree == nil {
		return nil
	}
	if s == nil {
		s = state.Empty()
	}
	console, _ := engine.NewConsole(q, config, s)
	if console == nil {
		return nil
	}
	defer console.Close()
	count, text := b.Body.Attributes["count"], q.Text(path)
	found := keysOf(count.Expr, text.Bytes, console)
	e := q.edits()
	e.replace(path, count.SrcRange.Start.Byte, count.SrcRange.End.Byte, "for_each = "+found.forEach)
	address := addressed(b)
	inside := func(r hcl.Range) bool {
		return r.Filename == path && b.Body.SrcRange.Start.Byte <= r.Start.Byte && r.End.Byte <= b.Body.SrcRange.End.Byte
	}
	for _, w := range refs {
		r := w.SourceRange()
		if inside(r) && w.RootName() == "count" {
			start, end := r.Start.Byte, r.End.Byte
			with := found.number
			before := found.list + "["
			if found.list != "" && strings.HasSuffix(string(text.Bytes[:start]), before) && strings.HasPrefix(string(text.Bytes[end:]), "]") {
				start, end, with = start-len(before), end+1, found.element
			}
			e.replace(path, start, end, with)
			continue
		}
		name, steps := w.name()
		if name != address || w.attr.Name == "depends_on" {
			continue
		}
		start, end := w.span(steps)
		switch {
		case w.block.Type == "moved" || w.block.Type == "removed" || w.block.Type == "import":
			return nil // which speak of instances by number
		case len(w.Traversal) > steps && isIndex(w.Traversal[steps]):
			step := w.Traversal[steps].(hcl.TraverseIndex)
			key, ok := found.of(int(number(step.Key)))
			at := step.SourceRange()
			if !ok || !strings.HasPrefix(string(at.SliceBytes(q.Text(w.path).Bytes)), "[") {
				return nil
			}
			e.replace(w.path, at.Start.Byte, at.End.Byte, "["+literal(key)+"]")
		case w.attr.Name == "replace_triggered_by":
		default:
			e.replace(w.path, start, end, fmt.Sprintf(found.all, address))
		}
	}
	moves := ""
	for i, n := 0, instanceCount(s, b); i < n; i++ {
		key, ok := found.of(i)
		if ok && b.Type != "data" {
			moves += "\n\n" + strings.TrimSuffix(movedBlock(fmt.Sprintf("%s[%d]", address, i), address+"["+literal(key)+"]"), "\n")
		}
	}
	e.replace(path, b.CloseBraceRange.End.Byte, b.CloseBraceRange.End.Byte, moves)
	return []protocol.CodeAction{{Title: "Turn count into for_each", Kind: rewrite, Edit: e.result()}}
}

// literal is a text as the language writes it.
func literal(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }

func isIndex(step hcl.Traverser) bool {
	i, ok := step.(hcl.TraverseIndex)
	return ok && i.Key.Type() == cty.Number
}

func number(v cty.Value) int64 {
	n, _ := v.AsBigFloat().Int64()
	return n
}

// instanceCount is one more than the largest number that an instance of a block has in a state.
func instanceCount(s *state.Snapshot, b *hclsyntax.Block) int {
	n := 0
	for key := range instanceKeys(s, b) {
		if i, ok := key.Int(); ok {
			n = max(n, i+1)
		}
	}
	return n
}
