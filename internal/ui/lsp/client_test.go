package lsp_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/testing/txtar"
	"weir.dev/weir/internal/ui/lsp"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/workspace/environment"
)

// An editor is the client of a session, as an editor is.
type editor struct {
	t    testing.TB
	dir  string
	conn *jsonrpc2.Conn
	code chan int
	caps map[string]any
	// stuck has commands run until they are cancelled, and is closed when one runs.
	stuck chan struct{}

	mu       sync.Mutex
	changed  chan struct{} // closed when problems arrive
	problems map[string][]protocol.Diagnostic
	versions map[string]int
	texts    map[string]string
	version  int
	sent     map[string]int // versions by file
	shown    string         // the document that the server asked to show
}

// edit begins a session in a directory with the files of an archive.
func edit(t testing.TB, archive string) *editor {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return start(t, dir, nil)
}

// outside is what a session takes from outside.
func outside(home string) environment.Options {
	return environment.Options{Dir: ".", Environ: map[string]string{"HOME": home}, Home: home, Program: "weir", Now: time.Now, Random: rand.Reader, Secrets: new(secret.Known),
		Saving: func() context.Context { return context.Background() }, Who: func() string { return "editor" }}
}

func start(t testing.TB, dir string, options any) *editor {
	t.Helper()
	e := &editor{t: t, dir: dir, code: make(chan int, 1), changed: make(chan struct{}), problems: map[string][]protocol.Diagnostic{}, versions: map[string]int{}, texts: map[string]string{}, sent: map[string]int{}}
	serverIn, editorOut := io.Pipe()
	editorIn, serverOut := io.Pipe()
	go func() {
		code := lsp.Serve(context.Background(), lsp.Options{In: serverIn, Out: serverOut, Log: logTo{t}, Version: "test", Outside: outside(filepath.Join(dir, ".home")),
			Run: func(ctx context.Context, dir, _ string, args ...string) (string, error) {
				if e.stuck != nil {
					close(e.stuck)
					<-ctx.Done()
					return "", ctx.Err()
				}
				file := filepath.Join(t.TempDir(), "printed.txt")
				return file, os.WriteFile(file, []byte("-chdir="+dir+" "+strings.Join(args, " ")+"\n"), 0o600)
			}})
		serverOut.Close()
		serverIn.Close()
		e.code <- code
	}()
	e.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(both{editorIn, editorOut}, jsonrpc2.VSCodeObjectCodec{}), e)
	var result struct{ Capabilities map[string]any }
	e.call("initialize", map[string]any{"processId": nil, "workspaceFolders": []protocol.Folder{{URI: project.URI(dir), Name: "test"}}, "initializationOptions": options,
		"capabilities": map[string]any{
			"window":       map[string]any{"showDocument": map[string]any{"support": true}},
			"workspace":    map[string]any{"workspaceEdit": map[string]any{"documentChanges": true, "resourceOperations": []string{"create"}}},
			"textDocument": map[string]any{"completion": map[string]any{"completionItem": map[string]any{"snippetSupport": true}}},
		}}, &result)
	e.caps = result.Capabilities
	e.tell("initialized", struct{}{})
	t.Cleanup(e.end)
	return e
}

type logTo struct{ t testing.TB }

// Write implements io.Writer. Whatever the server logs is a bug.
func (l logTo) Write(b []byte) (int, error) {
	if !strings.Contains(string(b), "jsonrpc2: protocol error") {
		l.t.Errorf("the server logs: %s", b)
	}
	return len(b), nil
}

type both struct {
	io.ReadCloser
	w io.WriteCloser
}

func (b both) Write(p []byte) (int, error) { return b.w.Write(p) }

func (b both) Close() error {
	b.w.Close()
	return b.ReadCloser.Close()
}

// end is the end of the session, as the protocol wants it.
func (e *editor) end() {
	e.call("shutdown", nil, nil)
	e.tell("exit", nil)
	select {
	case code := <-e.code:
		if code != 0 {
			e.t.Errorf("the server ends with %d", code)
		}
	case <-time.After(20 * time.Second):
		e.t.Error("the server doesn't end")
	}
	e.conn.Close()
}

// Handle implements jsonrpc2.Handler.
func (e *editor) Handle(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	switch r.Method {
	case "textDocument/publishDiagnostics":
		var p protocol.PublishParams
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			e.t.Error(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.problems[e.rel(p.URI)] = p.Diagnostics
		if p.Version != nil {
			e.versions[e.rel(p.URI)] = *p.Version
		}
		close(e.changed)
		e.changed = make(chan struct{})
	default:
		if r.Method == "window/showDocument" {
			var p protocol.ShowDocument
			_ = json.Unmarshal(*r.Params, &p)
			e.mu.Lock()
			e.shown = p.URI
			e.mu.Unlock()
		}
		if !r.Notif {
			_ = c.Reply(ctx, r.ID, nil)
		}
	}
}

func (e *editor) uri(name string) string { return project.URI(filepath.Join(e.dir, name)) }

func (e *editor) rel(uri string) string {
	rel, err := filepath.Rel(e.dir, project.Path(uri))
	if err != nil {
		e.t.Fatal(err)
	}
	return filepath.ToSlash(rel)
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := e.conn.Call(ctx, method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) tell(method string, params any) {
	e.t.Helper()
	if err := e.conn.Notify(context.Background(), method, params); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

// open opens a file of the directory, as it is there.
func (e *editor) open(name string) {
	e.t.Helper()
	src, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil {
		e.t.Fatal(err)
	}
	e.version++
	e.texts[name], e.sent[name] = string(src), e.version
	e.tell("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": e.uri(name), "languageId": "terraform", "version": e.version, "text": string(src)}})
}

// replace edits an open file: the first text becomes the second, sent as an edit of a range.
func (e *editor) replace(name, from, to string) {
	e.t.Helper()
	before := e.texts[name]
	at := strings.Index(before, from)
	if at < 0 {
		e.t.Fatalf("%s has no %q:\n%s", name, from, before)
	}
	e.version++
	r := protocol.Range{Start: position(before, at), End: position(before, at+len(from))}
	e.texts[name], e.sent[name] = before[:at]+to+before[at+len(from):], e.version
	e.tell("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": e.uri(name), "version": e.version}, "contentChanges": []protocol.Change{{Range: &r, Text: to}}})
}

// position is the place of a byte in a text of ASCII.
func position(text string, at int) protocol.Position {
	line := strings.Count(text[:at], "\n")
	return protocol.Position{Line: line, Character: at - (strings.LastIndexByte(text[:at], '\n') + 1)}
}

// at is the place behind the first part of a mark, which has a "|" where the cursor is.
func (e *editor) at(name, mark string) protocol.PositionParams {
	e.t.Helper()
	before, after, ok := strings.Cut(mark, "|")
	i := strings.Index(e.texts[name], before+after)
	if !ok || i < 0 {
		e.t.Fatalf("%s has no %q:\n%s", name, mark, e.texts[name])
	}
	return protocol.PositionParams{TextDocument: protocol.Document{URI: e.uri(name)}, Position: position(e.texts[name], i+len(before))}
}

// text is what a range has, in the file of a URI.
func (e *editor) text(uri string, r protocol.Range) string {
	e.t.Helper()
	name := e.rel(uri)
	src, ok := e.texts[name]
	if !ok {
		data, err := os.ReadFile(filepath.Join(e.dir, name))
		if err != nil {
			e.t.Fatal(err)
		}
		src = string(data)
	}
	return src[offset(src, r.Start):offset(src, r.End)]
}

func offset(src string, p protocol.Position) int {
	at := 0
	for range p.Line {
		at += strings.IndexByte(src[at:], '\n') + 1
	}
	return at + p.Character
}

// wait waits until the problems of a file are as wanted: their messages contain the texts,
// one each, in order.
func (e *editor) wait(name string, want ...string) []protocol.Diagnostic {
	e.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		e.mu.Lock()
		changed, got, told := e.changed, e.problems[name], e.versions[name]
		e.mu.Unlock()
		if !slices.ContainsFunc(want, func(text string) bool { return strings.Contains(text, "refers to") }) {
			got = slices.DeleteFunc(slices.Clone(got), func(d protocol.Diagnostic) bool { return d.Severity == protocol.SeverityHint })
		}
		same := len(got) == len(want) && (told == e.sent[name] || len(want) > 0)
		for i := range want {
			same = same && strings.Contains(got[i].Message, want[i])
		}
		if same {
			return got
		}
		select {
		case <-changed:
		case <-deadline:
			e.t.Fatalf("problems of %s:\n%+v\nwant %q", name, got, want)
		}
	}
}
