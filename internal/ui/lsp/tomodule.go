package lsp

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/lang/format"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// A lifted is the set of blocks that go into a module of their own.
type lifted struct {
	path   string
	text   []byte
	blocks []*hclsyntax.Block
	call   string            // the name of the module
	inputs map[string]string // names of variables by the references that they stand for
	used   map[string]bool   // names of variables
	// outputs are names by the addresses of the blocks that others refer to.
	outputs map[string]string
	edits   []edit // of the blocks
}

// An edit puts a text in place of some bytes.
type edit struct {
	start, end int
	text       string
}

// toModule puts resources and data sources into a new module, with moved blocks. The module gets variables
// for the values that they refer to, and outputs for references to them.
func (q *request) toModule(path string, body *hclsyntax.Body, start, end int) []protocol.CodeAction {
	dir := filepath.Dir(path)
	m := q.Module(q, dir)
	if m == nil || !slices.Contains(q.client.Workspace.WorkspaceEdit.ResourceOperations, "create") {
		return nil
	}
	l := &lifted{path: path, text: q.Text(path).Bytes, inputs: map[string]string{}, used: map[string]bool{}, outputs: map[string]string{}}
	if b := headerAt(body, start); b != nil && end <= b.OpenBraceRange.End.Byte {
		l.blocks = []*hclsyntax.Block{b}
	} else {
		for _, b := range body.Blocks {
			if b.TypeRange.Start.Byte < end && start < b.CloseBraceRange.End.Byte {
				l.blocks = append(l.blocks, b)
			}
		}
	}
	if len(l.blocks) == 0 || slices.ContainsFunc(l.blocks, func(b *hclsyntax.Block) bool { return !liftable(b) }) {
		return nil
	}
	l.call = l.blocks[0].Labels[1]
	to := filepath.Join(dir, l.call)
	if names, err := q.Files().List(to); err == nil && len(names) > 0 || slices.ContainsFunc(m.Program.Calls, func(c *program.Call) bool { return c.Name == l.call }) {
		return nil
	}
	refs, ok := references(m)
	if !ok {
		return nil
	}
	e := q.edits()
	for _, w := range refs {
		if l.has(w) {
			ok = ok && l.takesIn(m, w)
		} else {
			ok = ok && l.leadsOut(e, w)
		}
	}
	if !ok || q.tested(dir, l) {
		return nil
	}
	l.move(e, m, to)
	return []protocol.CodeAction{{Title: fmt.Sprintf("Move to a new module %q", l.call), Kind: move, Edit: e.result()}}
}

// liftable reports whether a block means the same in a module: it doesn't choose another
// configuration of its provider.
func liftable(b *hclsyntax.Block) bool {
	return (b.Type == "resource" || b.Type == "data") && len(b.Labels) == 2 && b.Body.Attributes["provider"] == nil && b.Body.Attributes["provider_meta"] == nil
}

func (l *lifted) has(w written) bool {
	return w.path == l.path && slices.ContainsFunc(l.blocks, func(b *hclsyntax.Block) bool { return b.TypeRange == w.block.TypeRange })
}

// addresses reports whether an address is that of a block that goes.
func (l *lifted) addresses(name string) bool {
	return slices.ContainsFunc(l.blocks, func(b *hclsyntax.Block) bool { return addressed(b) == name })
}

// takesIn makes what a block refers to outside a variable. It is false for what a variable can't
// stand for.
func (l *lifted) takesIn(m *project.Module, w written) bool {
	name, steps := w.name()
	switch {
	case w.attr.Name == "ignore_changes":
		return true // names of arguments
	case w.RootName() == "path":
		return len(w.Traversal) < 2 || attrName(w.Traversal[1]) != "module"
	case name == "" || l.addresses(name):
		return true
	case w.attr.Name == "depends_on" || w.attr.Name == "replace_triggered_by" || w.RootName() == "ephemeral":
		return false
	case w.RootName() == "var":
		if v := m.Program.VariableByName[attrName(w.Traversal[1])]; v == nil || v.Ephemeral {
			return false
		}
	case w.RootName() == "local", w.RootName() == "module", w.RootName() == "data":
	case len(w.Traversal) < 2 || !l.declared(m, name):
		return true // a name of a for expression or a dynamic block
	}
	label := attrName(w.Traversal[steps-1])
	if root := w.RootName(); root != "var" && root != "local" {
		// One attribute, not the whole object, keeps dependencies exact.
		for ; steps < len(w.Traversal); steps++ {
			if attr, ok := w.Traversal[steps].(hcl.TraverseAttr); ok {
				label += "_" + attr.Name
				steps++
				break
			}
			index, ok := w.Traversal[steps].(hcl.TraverseIndex)
			if !ok || !isIndex(index) {
				break
			}
			label += fmt.Sprintf("_%d", number(index.Key))
		}
	}
	start, end := w.span(steps)
	source := string(l.text[start:end])
	input, there := l.inputs[source]
	if !there {
		input = label
		for n := 2; l.used[input]; n++ {
			input = fmt.Sprintf("%s_%d", label, n)
		}
		l.inputs[source], l.used[input] = input, true
	}
	l.edits = append(l.edits, edit{start, end, "var." + input})
	return true
}

func (l *lifted) declared(m *project.Module, name string) bool {
	return slices.ContainsFunc(m.Program.Resources, func(r *program.Resource) bool { return r.Name.String() == name })
}

func attrName(step hcl.Traverser) string {
	if attr, ok := step.(hcl.TraverseAttr); ok {
		return attr.Name
	}
	return ""
}

// leadsOut has a reference from elsewhere refer to an output. It is false where only a resource itself
// can be named.
func (l *lifted) leadsOut(e *edits, w written) bool {
	name, steps := w.name()
	if name == "" || !l.addresses(name) {
		return true
	}
	start, end := w.span(steps)
	switch {
	case slices.Contains([]string{"moved", "removed", "import"}, w.block.Type) || w.attr.Name == "replace_triggered_by":
		return false
	case w.attr.Name == "depends_on":
		r := w.SourceRange()
		e.replace(w.path, r.Start.Byte, r.End.Byte, "module."+l.call)
		return true
	}
	output, there := l.outputs[name]
	if !there {
		output = attrName(w.Traversal[steps-1])
		for _, other := range l.outputs {
			if other == output {
				output = strings.ReplaceAll(name, ".", "_")
			}
		}
		l.outputs[name] = output
	}
	e.replace(w.path, start, end, fmt.Sprintf("module.%s.%s", l.call, output))
	return true
}

// tested reports whether tests name a block that goes: only the author knows what they mean then.
func (q *request) tested(dir string, l *lifted) bool {
	for _, d := range []string{dir, filepath.Join(dir, "tests")} {
		names, _ := q.Files().List(d)
		for _, name := range names {
			if !strings.HasSuffix(name, ".tftest.hcl") && !strings.HasSuffix(name, ".tofutest.hcl") {
				continue
			}
			text := q.Text(filepath.Join(d, name))
			if text != nil && slices.ContainsFunc(l.blocks, func(b *hclsyntax.Block) bool { return strings.Contains(string(text.Bytes), addressed(b)) }) {
				return true
			}
		}
	}
	return false
}

// move writes the files of the module, and its call in place of the blocks.
func (l *lifted) move(e *edits, m *project.Module, to string) {
	var main, variables, outputs, call strings.Builder
	l.requirements(&main, m)
	fmt.Fprintf(&call, "module %q {\n  source = %q\n", l.call, "./"+l.call)
	for n, source := range slices.SortedFunc(maps.Keys(l.inputs), func(a, b string) int { return cmp.Compare(l.inputs[a], l.inputs[b]) }) {
		if n == 0 {
			call.WriteString("\n")
		} else {
			variables.WriteString("\n")
		}
		fmt.Fprintf(&call, "%s = %s\n", l.inputs[source], source)
		fmt.Fprintf(&variables, "variable %q {\n}\n", l.inputs[source])
	}
	call.WriteString("}\n")
	for n, name := range slices.Sorted(maps.Keys(l.outputs)) {
		if n > 0 {
			outputs.WriteString("\n")
		}
		fmt.Fprintf(&outputs, "output %q {\n  value = %s\n}\n", l.outputs[name], name)
	}
	slices.SortFunc(l.edits, func(x, y edit) int { return x.start - y.start })
	for _, b := range l.blocks {
		if main.Len() > 0 {
			main.WriteString("\n")
		}
		from, until := l.extent(b)
		for _, x := range l.edits {
			if x.start < from || x.end > until {
				continue
			}
			main.Write(l.text[from:x.start])
			main.WriteString(x.text)
			from = x.end
		}
		main.Write(l.text[from:until])
		main.WriteString("\n")
		if b.Type == "resource" {
			call.WriteString("\n" + movedBlock(addressed(b), fmt.Sprintf("module.%s.%s", l.call, addressed(b))))
		}
	}
	for n, b := range l.blocks {
		from, until := l.extent(b)
		if n == 0 {
			e.replace(l.path, from, until, strings.TrimSuffix(laidOut(call.String()), "\n"))
			continue
		}
		for until < len(l.text) && l.text[until] == '\n' {
			until++
		}
		e.replace(l.path, from, until, "")
	}
	for name, text := range map[string]string{"main.tf": main.String(), "variables.tf": variables.String(), "outputs.tf": outputs.String()} {
		if text != "" {
			e.appendTo(filepath.Join(to, name), laidOut(text))
		}
	}
}

// extent is where a block stands, with the comments before it.
func (l *lifted) extent(b *hclsyntax.Block) (start, end int) {
	return withComments(l.text, b.TypeRange.Start.Byte), b.CloseBraceRange.End.Byte
}

func laidOut(text string) string { return string(format.Source([]byte(text), "main.tf")) }

// requirements say where the module has its providers from, as far as their names don't.
func (l *lifted) requirements(b *strings.Builder, m *project.Module) {
	sources := map[string]string{}
	for _, r := range m.Program.Resources {
		if req := m.Program.Requirements[r.Provider.LocalName]; l.addresses(r.Name.String()) && req != nil && !req.Implied {
			sources[req.LocalName] = req.Provider.ForDisplay()
		}
	}
	if len(sources) == 0 {
		return
	}
	b.WriteString("terraform {\n  required_providers {\n")
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintf(b, "%s = {\nsource = %q\n}\n", name, sources[name])
	}
	b.WriteString("}\n}\n")
}
