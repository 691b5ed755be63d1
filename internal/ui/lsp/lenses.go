package lsp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// A lens is a command of weir that the editor offers above a block. In the protocol it has the
// directory of the root module as its first argument. The second is the address of the block, if
// the command needs one.
type lens struct {
	command, title string
	file           string // the pattern of its file's name; empty for the page
	args           func(address string) []string
}

// about reports whether the lens is about one block, rather than the root module.
func (l lens) about() bool { return l.file != "" && l.command != "weir.plan" }

// Nothing here takes a lock or changes a state, but for what people approve in the page.
var lenses = []lens{
	{"weir.plan", "Plan", "plan-*.txt", func(string) []string { return []string{"plan", "-input=false", "-lock=false", "-no-color"} }},
	{"weir.why", "Why", "why-*.txt", func(address string) []string { return []string{"why", "-lock=false", "-no-color", address} }},
	{"weir.impact", "Impact", "impact-*.txt", func(address string) []string { return []string{"impact", "-no-color", address} }},
	{"weir.page", "Open in the page", "", nil},
}

// codeLenses offer a plan at the first block of a file, and questions about resources, data
// sources and module calls. Modules that others call have none, because they have no plan.
func (q *request) codeLenses(p protocol.DocumentParams) (any, error) {
	list := []protocol.CodeLens{}
	path := project.Path(p.TextDocument.URI)
	text, body := q.body(p.TextDocument.URI)
	dir := filepath.Dir(path)
	if body == nil || !q.IsConfig(path) || q.options.Run == nil || !project.Initialised(dir) && len(q.Callers(q, dir)) > 0 {
		return list, nil
	}
	for n, b := range body.Blocks {
		address := ""
		switch {
		case b.Type == "resource" && len(b.Labels) == 2:
			address = strings.Join(b.Labels, ".")
		case b.Type == "data" && len(b.Labels) == 2, b.Type == "module" && len(b.Labels) == 1:
			address = b.Type + "." + strings.Join(b.Labels, ".")
		}
		for _, l := range lenses {
			if l.about() && address == "" || !l.about() && n > 0 || l.file == "" && q.options.Open == nil {
				continue
			}
			args := []any{dir}
			if l.about() {
				args = append(args, address)
			}
			list = append(list, protocol.CodeLens{Range: rangeOf(text, b.TypeRange), Command: protocol.Command{Title: l.title, Command: l.command, Arguments: args}})
		}
	}
	return list, nil
}

// execute runs the command of a lens and answers with the document that has what it prints. The
// editor shows that if it can.
func (q *request) execute(p protocol.ExecuteParams) (any, error) {
	var dir, address string
	for i, to := range []*string{&dir, &address} {
		if i < len(p.Arguments) {
			_ = json.Unmarshal(p.Arguments[i], to)
		}
	}
	for _, l := range lenses {
		if l.command != p.Command || q.options.Run == nil || dir == "" || l.file == "" && q.options.Open == nil {
			continue
		}
		if l.file == "" {
			address, err := q.options.Open(q, dir)
			if err == nil && q.client.Window.ShowDocument.Support {
				err = q.conn.Call(q, "window/showDocument", protocol.ShowDocument{URI: address, External: true}, nil)
			}
			return address, err
		}
		file, err := q.options.Run(q, dir, l.file, l.args(address)...)
		if err != nil {
			return nil, err
		}
		uri := project.URI(file)
		if q.client.Window.ShowDocument.Support {
			err = q.conn.Call(q, "window/showDocument", protocol.ShowDocument{URI: uri, TakeFocus: true}, nil)
		}
		return uri, err
	}
	return nil, fmt.Errorf("weir doesn't know the command %s", p.Command)
}

// commands are the names of all lenses.
func commands() []string {
	var list []string
	for _, l := range lenses {
		list = append(list, l.command)
	}
	return list
}
