package lsp

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// companions offers the blocks that go with a resource: an import of an object that exists, the removal
// from the state alone, and the requirement of its provider.
func (q *request) companions(path string, body *hclsyntax.Body, at int) []protocol.CodeAction {
	b := headerAt(body, at)
	m := q.Module(q, filepath.Dir(path))
	text := q.Text(path)
	if b == nil || m == nil || text == nil || (b.Type != "resource" && b.Type != "data") || len(b.Labels) != 2 {
		return nil
	}
	var list []protocol.CodeAction
	offer := func(title string, e *edits) {
		list = append(list, protocol.CodeAction{Title: title, Kind: refactor, Edit: e.result()})
	}
	if b.Type == "resource" {
		address := addressed(b)
		if s, config := q.State(q, m.Dir); len(q.Callers(q, m.Dir)) == 0 && (config == nil || s == nil || len(instanceKeys(s, b)) == 0) {
			e := q.edits()
			to := address + map[bool]string{true: "[0]"}[b.Body.Attributes["count"] != nil] + map[bool]string{true: `["KEY"]`}[b.Body.Attributes["for_each"] != nil]
			e.replace(path, b.CloseBraceRange.End.Byte, b.CloseBraceRange.End.Byte, fmt.Sprintf("\n\nimport {\n  to = %s\n  id = \"\"\n}", to))
			offer("Write an import block", e)
		}
		e := q.edits()
		e.replace(path, withComments(text.Bytes, b.TypeRange.Start.Byte), b.CloseBraceRange.End.Byte, fmt.Sprintf("removed {\n  from = %s\n  lifecycle {\n    destroy = false\n  }\n}", address))
		offer("Forget its objects with a removed block", e)
	}
	for _, r := range m.Program.Resources {
		if b.Labels[0] != r.Name.Type || b.Labels[1] != r.Name.Name || word(r.Name.Mode) != b.Type {
			continue
		}
		if req := m.Program.Requirements[r.Provider.LocalName]; (req == nil || req.Implied) && !r.Provider.Provider.IsBuiltin() {
			e := q.edits()
			e.require(m, path, r.Provider)
			offer(fmt.Sprintf("Add %q to required_providers", r.Provider.LocalName), e)
		}
	}
	return list
}

// require adds a provider to the required_providers block of a module. A module without one in
// native syntax gets one.
func (e *edits) require(m *project.Module, path string, use program.ProviderUse) {
	entry := fmt.Sprintf("    %s = {\n      source = %q\n    }", use.LocalName, use.Provider.ForDisplay())
	for _, f := range m.Source.Files {
		parsed, _ := syntax.Parse(f.Name, f.Bytes)
		body, ok := parsed.Body.(*hclsyntax.Body)
		if !ok {
			continue
		}
		for _, b := range body.Blocks {
			for _, inner := range b.Body.Blocks {
				if b.Type == "terraform" && inner.Type == "required_providers" {
					at := inner.OpenBraceRange.End.Byte
					e.replace(f.Name, at, at, "\n"+entry+closing(inner))
					return
				}
			}
		}
	}
	e.appendTo(e.home(path, "versions.tf"), strings.Join([]string{"terraform {", "  required_providers {", entry, "  }", "}", ""}, "\n"))
}
