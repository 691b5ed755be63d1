package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"weir.dev/weir/internal/ui/lsp/protocol"
)

func decode(t testing.TB, from, to any) {
	t.Helper()
	src, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, to); err != nil {
		t.Fatal(err)
	}
}

// source is a file as the editor has it, or else as it is saved.
func (e *editor) source(name string) string {
	if text, ok := e.texts[name]; ok {
		return text
	}
	src, _ := os.ReadFile(filepath.Join(e.dir, name))
	return string(src)
}

// number is how many modules a property is tried on: usual, or what LSP_MODULES says.
func number(t *testing.T, usual, short uint64) (first, last uint64) {
	t.Helper()
	n, err := strconv.ParseUint(os.Getenv("LSP_MODULES"), 10, 32)
	seed, _ := strconv.ParseUint(os.Getenv("LSP_FIRST"), 10, 32)
	switch {
	case err == nil:
		return seed, seed + n
	case testing.Short():
		return 0, short
	}
	return 0, usual
}

// random is a configuration whose declarations refer to one another at random, with a module.
func random(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("-- main.tf --\nvariable \"size\" {\n  default = 3\n}\n")
	names := []string{"var.size"}
	some := func() string { return names[r.IntN(len(names))] }
	for i := range 3 + r.IntN(5) {
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "locals {\n  l%d = [%s, \"${jsonencode(%s)}\"]\n}\n", i, some(), some())
			names = append(names, fmt.Sprintf("local.l%d", i))
		case 1:
			fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  input = { v = %s }\n}\n", i, some())
			names = append(names, fmt.Sprintf("terraform_data.r%d.input", i), fmt.Sprintf("terraform_data.r%d.id", i))
		case 2:
			fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  count = 2\n  input = [for x in [%s] : { x = x, n = count.index }]\n}\n", i, some())
			names = append(names, fmt.Sprintf("terraform_data.r%d[0].input", i), fmt.Sprintf("terraform_data.r%d[*].id", i))
		case 3:
			fmt.Fprintf(&b, "module \"m%d\" {\n  source = \"./m\"\n  given  = %s\n}\n", i, some())
			names = append(names, fmt.Sprintf("module.m%d.result", i))
		}
	}
	fmt.Fprintf(&b, "output \"all\" {\n  value = [%s]\n}\n", strings.Join(names, ", "))
	b.WriteString("-- terraform.tfvars --\nsize = 4\n-- m/main.tf --\nvariable \"given\" {}\nresource \"terraform_data\" \"inner\" {\n  input = var.given\n}\noutput \"result\" {\n  value = terraform_data.inner.output\n}\n")
	return b.String()
}

// After any rename a plan has the same changes as before, which are none.
func TestRenamePlansNothing(t *testing.T) {
	for seed, last := number(t, 6, 2); seed < last; seed++ {
		r := rand.New(rand.NewPCG(seed, 36))
		e := edit(t, random(r))
		e.applied(t)
		e.open("main.tf")
		e.open("m/main.tf")
		for n := range 4 {
			file := []string{"main.tf", "m/main.tf"}[r.IntN(2)]
			var list []protocol.Symbol
			e.call("textDocument/documentSymbol", protocol.DocumentParams{TextDocument: protocol.Document{URI: e.uri(file)}}, &list)
			s := list[r.IntN(len(list))]
			if s.Name == "output.all" {
				continue // its name is in the state of the root: another name is a change
			}
			var edit protocol.WorkspaceEdit
			e.call("textDocument/rename", protocol.RenameParams{PositionParams: protocol.PositionParams{TextDocument: protocol.Document{URI: e.uri(file)}, Position: s.SelectionRange.Start}, NewName: fmt.Sprintf("n%d", n)}, &edit)
			e.written(t, protocol.CodeAction{Edit: &edit})
			if got := e.changes(t); len(got) > 0 {
				t.Fatalf("seed %d: renaming %s plans %q:\n%s", seed, s.Name, got, e.source("main.tf"))
			}
		}
	}
}

// Random edits neither end the server nor keep it from answering.
func TestRandomEdits(t *testing.T) {
	e := edit(t, rich)
	e.open("main.tf")
	r := rand.New(rand.NewPCG(7, 36))
	pieces := []string{"{", "}", "\"", "${", "[", "]", "(", ")", "=", "\n", ".", "var.", "local.where.", "module \"x\" {", "<<EOT\n", "EOT\n", "for x in ", "ü", "𝒳", "#", "/*", "resource \"terraform_data\" \"b\" {", "dynamic \"a\" {", "::", "? :", "%{ if ", "\r\n", "\x00"}
	methods := []string{"textDocument/completion", "textDocument/hover", "textDocument/signatureHelp", "textDocument/definition", "textDocument/references", "textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/semanticTokens/full", "textDocument/formatting", "textDocument/prepareRename", "textDocument/rename", "textDocument/codeAction", "textDocument/selectionRange", "textDocument/documentHighlight", "workspace/symbol", "textDocument/inlayHint", "textDocument/codeLens", "textDocument/documentLink", "textDocument/prepareCallHierarchy"}
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for n := range rounds {
		place := func() protocol.Position { return protocol.Position{Line: r.IntN(40), Character: r.IntN(30)} }
		start := place()
		end := start
		if r.IntN(3) == 0 {
			end.Character += r.IntN(10)
		}
		at := protocol.Range{Start: start, End: end}
		e.version++
		e.tell("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": e.uri("main.tf"), "version": e.version}, "contentChanges": []protocol.Change{{Range: &at, Text: pieces[r.IntN(len(pieces))]}}})
		params := map[string]any{"textDocument": protocol.Document{URI: e.uri("main.tf")}, "position": place(), "positions": []protocol.Position{place()}, "range": protocol.Range{Start: place(), End: place()}, "newName": "renamed", "query": "a", "context": map[string]any{"diagnostics": []protocol.Diagnostic{{Source: "weir", Code: "undeclared-variable", Message: `"a" Did you mean "b"?`, Range: at}}}}
		method := methods[r.IntN(len(methods))]
		begun := time.Now()
		if err := e.conn.Call(t.Context(), method, params, nil); err != nil && strings.Contains(err.Error(), "bug") {
			t.Fatalf("edit %d, %s: %v", n, method, err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Fatalf("edit %d: %s takes %s", n, method, took)
		}
		if n%10 == 0 {
			e.tell("$/cancelRequest", map[string]any{"id": n})
		}
	}
}

// A request that takes long ends when the editor cancels it, and says so.
func TestCancel(t *testing.T) {
	e := edit(t, rich)
	e.stuck = make(chan struct{})
	e.open("main.tf")
	e.wait("main.tf")
	id := jsonrpc2.ID{Num: 4711}
	call, err := e.conn.DispatchCall(t.Context(), "workspace/executeCommand", map[string]any{"command": "weir.plan", "arguments": []any{e.dir}}, jsonrpc2.PickID(id))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-e.stuck: // the command runs, and would for ever
	case <-time.After(20 * time.Second):
		t.Fatal("the command doesn't begin")
	}
	e.tell("$/cancelRequest", map[string]any{"id": id.Num})
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	problem := new(jsonrpc2.Error)
	if err := call.Wait(ctx, nil); !errors.As(err, &problem) || problem.Code != -32800 {
		t.Errorf("the answer is %v", err)
	}
}
