package lsp

import (
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// links lead from the type of a resource to its page in the documentation of its provider, if
// that comes from a public registry.
func (q *request) links(p protocol.DocumentParams) (any, error) {
	list := []protocol.DocumentLink{}
	path := project.Path(p.TextDocument.URI)
	text, body := q.body(p.TextDocument.URI)
	m := q.Module(q, filepath.Dir(path))
	if body == nil || m == nil || !q.IsConfig(path) {
		return list, nil
	}
	locks := q.Locks(q, m.Dir)
	for _, b := range body.Blocks {
		kind, ok := pages[b.Type]
		if !ok || len(b.Labels) != 2 {
			continue
		}
		for _, r := range m.Program.Resources {
			if r.Name.Type != b.Labels[0] || r.Name.Name != b.Labels[1] || pages[word(r.Name.Mode)] != kind {
				continue
			}
			version := ""
			if lock, locked := locks.Get(r.Provider.Provider); locked {
				version = lock.Version.String()
			}
			if target := page(r.Provider.Provider, version, kind, r.Name.Type); target != "" {
				list = append(list, protocol.DocumentLink{Range: rangeOf(text, inner(b, 0)), Target: target, Tooltip: "Documentation of " + r.Name.Type})
			}
		}
	}
	return list, nil
}

// pages are the folders of a provider's documentation by the type of blocks.
var pages = map[string]string{"resource": "resources", "data": "data-sources", "ephemeral": "ephemeral-resources"}

// word is the block type of a mode.
func word(m addr.Mode) string {
	if m == addr.Managed {
		return "resource"
	}
	return m.String()
}

// inner is the range of a label without its quotes.
func inner(b *hclsyntax.Block, label int) hcl.Range {
	r := b.LabelRanges[label]
	if r.End.Byte-r.Start.Byte > len(b.Labels[label]) {
		r.Start.Byte++
		r.End.Byte--
	}
	return r
}

// page is the address of a type's page; empty for a provider that no public registry has. Without a
// version it is the page of the newest one.
func page(p addr.Provider, version, kind, typ string) string {
	locked := version != ""
	if !locked {
		version = "latest"
	}
	_, short, _ := strings.Cut(typ, "_")
	switch {
	case addr.OpenTofu.Has(p):
		if locked {
			version = "v" + version
		}
		kind = map[string]string{"resources": "resources", "data-sources": "datasources", "ephemeral-resources": "ephemeral"}[kind]
		return strings.Join([]string{"https://search.opentofu.org/provider", p.Namespace, p.Type, version, "docs", kind, short}, "/")
	case addr.Terraform.Has(p):
		return strings.Join([]string{"https://registry.terraform.io/providers", p.Namespace, p.Type, version, "docs", kind, short}, "/")
	}
	return ""
}
