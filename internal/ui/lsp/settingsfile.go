package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// isSettings reports whether a file is a CLI configuration.
func isSettings(path string) bool {
	name := filepath.Base(path)
	return slices.Contains([]string{".tofurc", "tofurc", "tofu.rc", ".terraformrc", "terraform.rc"}, name) ||
		strings.HasSuffix(name, ".tfrc") || strings.HasSuffix(name, ".tfrc.json")
}

// settingsFile publishes the problems of an open CLI configuration; none once it is closed.
func (c *checks) settingsFile(path string) {
	v := c.project.View()
	p := protocol.PublishParams{URI: v.URI(path), Diagnostics: []protocol.Diagnostic{}}
	c.publishing.Lock()
	defer c.publishing.Unlock()
	if d := v.Docs[path]; d != nil {
		p.Version = &d.Version
		for _, problem := range cliconfig.Check(path, d.Text.Bytes, c.options.Outside.Dialect.Registry()) {
			p.Diagnostics = append(p.Diagnostics, c.diagnostic(c.ctx, v, d.Text, problem))
		}
	}
	_ = c.conn.Notify(c.ctx, "textDocument/publishDiagnostics", p)
}

// settingNames propose what stands at the top of a CLI configuration.
func settingNames(line string) []protocol.CompletionItem {
	list := []protocol.CompletionItem{}
	if strings.TrimLeft(line, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return list // within a block, or behind a name
	}
	for _, name := range cliconfig.Settings {
		list = append(list, protocol.CompletionItem{Label: name, Kind: protocol.CompleteField, FilterText: name, InsertTextFormat: protocol.PlainText})
	}
	return list
}
