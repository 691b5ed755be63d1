package lsp_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir.dev/weir/internal/ui/lsp/protocol"
)

// openedFiles watches directories and returns the files there that somebody opens from now on.
func openedFiles(t *testing.T, dirs ...string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	names := map[int32]string{}
	for _, dir := range dirs {
		watched, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN)
		if err != nil {
			t.Fatal(err)
		}
		names[int32(watched)] = filepath.Base(dir)
	}
	return func() []string {
		buf := make([]byte, 1<<16)
		n, _ := unix.Read(fd, buf)
		var list []string
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			var event unix.InotifyEvent
			if err := binary.Read(bytes.NewReader(buf[at:]), binary.NativeEndian, &event); err != nil {
				t.Fatal(err)
			}
			at += int(unsafe.Sizeof(event))
			if name := strings.TrimRight(string(buf[at:at+int(event.Len)]), "\x00"); name != "" && event.Mask&unix.IN_ISDIR == 0 {
				list = append(list, names[event.Wd]+"/"+name)
			}
			at += int(event.Len)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
}

// No file outside of the folders is opened unless a module there is called.
func TestReadsOnlyTheWorkspace(t *testing.T) {
	around := t.TempDir()
	files := map[string]string{
		"above.tf": "locals {\n  above = 1\n}\n", "terraform.tfvars": "size = 1\n",
		"other/main.tf": "module \"m\" {\n  source = \"../called\"\n}\n", "called/main.tf": "variable \"in\" {\n  default = 1\n}\n\noutput \"out\" {\n  value = var.in\n}\n",
		"work/main.tf": "module \"called\" {\n  source = \"../called\"\n  in     = 2\n}\n\nresource \"terraform_data\" \"a\" {\n  input = module.called.out\n}\n",
	}
	for name, text := range files {
		path := filepath.Join(around, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opened := openedFiles(t, around, filepath.Join(around, "other"), filepath.Join(around, "called"))
	e := start(t, filepath.Join(around, "work"), nil)
	e.open("main.tf")
	e.wait("main.tf")
	at := protocol.Position{Line: 2, Character: 3}
	for _, m := range []string{"completion", "hover", "signatureHelp", "definition", "references", "documentSymbol", "foldingRange", "semanticTokens/full", "formatting", "prepareRename", "rename", "codeAction", "selectionRange", "documentHighlight", "inlayHint", "codeLens", "documentLink", "prepareCallHierarchy"} {
		whole := protocol.Range{Start: at, End: at}
		_ = e.conn.Call(t.Context(), "textDocument/"+m, map[string]any{"textDocument": e.doc("main.tf"), "position": at, "positions": []protocol.Position{at}, "range": whole, "newName": "renamed", "context": map[string]any{"diagnostics": []any{}}}, nil)
	}
	e.call("workspace/symbol", map[string]any{"query": ""}, nil)
	if got := opened(); !slices.Equal(got, []string{"called/main.tf"}) {
		t.Errorf("opened outside of the workspace: %q", got)
	}
}
