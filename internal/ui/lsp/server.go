// Package lsp serves editors by the Language Server Protocol: problems while typing,
// navigation, completion, renaming and refactorings.
//
// It owns the session with one editor. Package project reads configurations, package assist
// makes proposals. It asks no backend for a state unless that is a file of
// this machine, and changes nothing but through the editor.
package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/lsp/textdoc"
	"weir.dev/weir/internal/workspace/environment"
)

// Options are what a session takes from outside.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Log     io.Writer // for people who look for a bug of the server or of an editor
	Version string
	Outside environment.Options
	// Run runs a command of weir in a directory and returns a new file with what it prints, errors
	// as well, whose name fits the pattern. Without it no code lenses are offered.
	Run func(ctx context.Context, dir, pattern string, args ...string) (file string, err error)
	// Open opens a root module in weir's page and returns the address of that. Without it no lens
	// offers that.
	Open func(ctx context.Context, dir string) (address string, err error)
}

// Codes of errors that the protocol defines.
const (
	notInitialized = -32002
	cancelled      = -32800
	failed         = -32803
)

type server struct {
	options Options
	project *project.Project
	conn    *jsonrpc2.Conn
	client  protocol.ClientCapabilities
	checks  *checks
	methods map[string]method

	mu          sync.Mutex
	initialized bool
	shutdown    bool
	exit        chan int
	running     map[jsonrpc2.ID]context.CancelFunc
	pending     sync.WaitGroup
	settings    settings
}

// settings are those that an editor may give.
type settings struct {
	// Providers says whether providers check their configurations when a file is saved.
	Providers *bool `json:"providers"`
	// Hints says whether values and numbers of instances are shown in the text.
	Hints *bool `json:"hints"`
}

func isSet(b *bool) bool { return b == nil || *b }

// Serve runs a session until the editor ends it, and returns the exit code.
func Serve(ctx context.Context, o Options) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &server{options: o, methods: methods(), project: project.New(o.Outside), exit: make(chan int, 1), running: map[jsonrpc2.ID]context.CancelFunc{}}
	defer s.project.Close()
	s.checks = newChecks(ctx, s)
	ready := make(chan struct{})
	s.conn = jsonrpc2.NewConn(ctx, jsonrpc2.NewBufferedStream(pipe{o.In, o.Out}, jsonrpc2.VSCodeObjectCodec{}),
		handler(func(ctx context.Context, r *jsonrpc2.Request) { <-ready; s.handle(ctx, r) }), jsonrpc2.SetLogger(log.New(o.Log, "", 0)))
	close(ready)
	code := 1 // without a word the editor has gone
	select {
	case code = <-s.exit:
	case <-s.conn.DisconnectNotify():
	case <-ctx.Done():
	}
	stop()
	s.checks.wait()
	s.pending.Wait()
	return code
}

// A pipe is the two directions of a session.
type pipe struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer: the process owns both.
func (pipe) Close() error { return nil }

type handler func(context.Context, *jsonrpc2.Request)

func (h handler) Handle(ctx context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) { h(ctx, r) }

// handle is called for one message after the other. Notifications are done at once, and requests
// see the documents as they are now, whatever comes next.
func (s *server) handle(ctx context.Context, r *jsonrpc2.Request) {
	defer s.survive(ctx, r)
	params := json.RawMessage("null")
	if r.Params != nil {
		params = *r.Params
	}
	if r.Notif {
		s.notified(r.Method, params)
		return
	}
	s.mu.Lock()
	initialized, down := s.initialized, s.shutdown
	s.mu.Unlock()
	switch {
	case r.Method == "initialize":
		s.reply(ctx, r, s.initialize(params))
		return
	case r.Method == "shutdown":
		s.mu.Lock()
		s.shutdown = true
		s.mu.Unlock()
		s.reply(ctx, r, nil)
		return
	case !initialized:
		s.fail(ctx, r, notInitialized, "The session isn't initialized yet.")
		return
	case down:
		s.fail(ctx, r, jsonrpc2.CodeInvalidRequest, "The session was shut down.")
		return
	}
	method, ok := s.methods[r.Method]
	if !ok {
		s.fail(ctx, r, jsonrpc2.CodeMethodNotFound, "weir doesn't know the method "+r.Method+".")
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[r.ID] = cancel
	s.mu.Unlock()
	q := &request{Context: ctx, server: s, View: s.project.View()}
	s.pending.Go(func() {
		defer s.survive(ctx, r)
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.running, r.ID)
			s.mu.Unlock()
		}()
		result, err := method(q, params)
		switch {
		case ctx.Err() != nil:
			s.fail(context.WithoutCancel(ctx), r, cancelled, "The request was cancelled.")
		case err != nil:
			s.fail(ctx, r, failed, err.Error())
		default:
			s.reply(ctx, r, result)
		}
	})
}

// survive reports a panic as the error of the request that it came from.
func (s *server) survive(ctx context.Context, r *jsonrpc2.Request) {
	if problem := recover(); problem != nil {
		fmt.Fprintf(s.options.Log, "weir: a bug in %s: %v\n%s\n", r.Method, problem, debug.Stack())
		if !r.Notif {
			s.fail(ctx, r, jsonrpc2.CodeInternalError, fmt.Sprintf("A bug of weir: %v.", problem))
		}
	}
}

func (s *server) reply(ctx context.Context, r *jsonrpc2.Request, result any) {
	if err := s.conn.Reply(ctx, r.ID, result); err != nil {
		fmt.Fprintf(s.options.Log, "weir: no answer to %s: %v\n", r.Method, err)
	}
}

func (s *server) fail(ctx context.Context, r *jsonrpc2.Request, code int64, text string) {
	_ = s.conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: code, Message: text})
}

func (s *server) initialize(params json.RawMessage) any {
	var p protocol.InitializeParams
	_ = json.Unmarshal(params, &p)
	var folders []string
	for _, f := range p.WorkspaceFolders {
		folders = append(folders, project.Path(f.URI))
	}
	if len(folders) == 0 && p.RootURI != "" {
		folders = append(folders, project.Path(p.RootURI))
	}
	s.project.SetFolders(folders, nil)
	if slices.Contains(p.Capabilities.General.PositionEncodings, string(textdoc.UTF8)) {
		s.project.Use(textdoc.UTF8)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.Unmarshal(p.Options, &s.settings)
	s.client = p.Capabilities
	s.initialized = true
	return protocol.InitializeResult{Capabilities: capabilities(s.project.Encoding()), ServerInfo: protocol.ServerInfo{Name: "weir", Version: s.options.Version}}
}

// notified does what a notification says. One that nobody knows is ignored, as the protocol
// demands.
func (s *server) notified(method string, params json.RawMessage) {
	switch method {
	case "exit":
		s.mu.Lock()
		code := 1
		if s.shutdown {
			code = 0
		}
		s.mu.Unlock()
		select {
		case s.exit <- code:
		default:
		}
	case "$/cancelRequest":
		var p struct {
			ID jsonrpc2.ID `json:"id"`
		}
		if json.Unmarshal(params, &p) == nil {
			s.mu.Lock()
			cancel := s.running[p.ID]
			s.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	case "textDocument/didOpen":
		var p protocol.DidOpenParams
		if json.Unmarshal(params, &p) == nil {
			d := s.project.Open(p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text)
			s.checks.changed(d.Path, saved)
		}
	case "textDocument/didChange":
		var p protocol.DidChangeParams
		if json.Unmarshal(params, &p) == nil {
			version := 0
			if p.TextDocument.Version != nil {
				version = *p.TextDocument.Version
			}
			if d := s.project.Change(p.TextDocument.URI, version, p.ContentChanges); d != nil {
				s.checks.changed(d.Path, typed)
			}
		}
	case "textDocument/didSave":
		var p protocol.DocumentParams
		if json.Unmarshal(params, &p) == nil {
			s.checks.changed(project.Path(p.TextDocument.URI), saved)
		}
	case "textDocument/didClose":
		var p protocol.DocumentParams
		if json.Unmarshal(params, &p) == nil {
			s.project.Shut(p.TextDocument.URI)
			s.checks.closed()
			if path := project.Path(p.TextDocument.URI); isSettings(path) {
				s.checks.changed(path, typed)
			}
		}
	case "workspace/didChangeWatchedFiles":
		var p struct {
			Changes []protocol.Document `json:"changes"`
		}
		if json.Unmarshal(params, &p) == nil {
			for _, c := range p.Changes {
				s.checks.changed(project.Path(c.URI), typed)
			}
		}
	case "workspace/didChangeWorkspaceFolders":
		var p protocol.FoldersChange
		if json.Unmarshal(params, &p) == nil {
			paths := func(list []protocol.Folder) (out []string) {
				for _, f := range list {
					out = append(out, project.Path(f.URI))
				}
				return out
			}
			s.project.SetFolders(paths(p.Event.Added), paths(p.Event.Removed))
		}
	case "workspace/didChangeConfiguration":
		var p struct {
			Settings struct {
				Weir json.RawMessage `json:"weir"`
			} `json:"settings"`
		}
		if json.Unmarshal(params, &p) == nil && p.Settings.Weir != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			_ = json.Unmarshal(p.Settings.Weir, &s.settings)
		}
	}
}

// A request is one question of the editor, with the documents as they were when it came.
type request struct {
	context.Context
	*server
	*project.View
}

type method func(q *request, params json.RawMessage) (any, error)

// on makes a method of a function with typed parameters.
func on[P any](f func(*request, P) (any, error)) method {
	return func(q *request, params json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return f(q, p)
	}
}

// methods are the requests that the server answers.
func methods() map[string]method {
	return map[string]method{
		"textDocument/inlayHint":            on((*request).inlayHints),
		"textDocument/codeLens":             on((*request).codeLenses),
		"textDocument/documentLink":         on((*request).links),
		"textDocument/prepareCallHierarchy": on((*request).prepareHierarchy),
		"callHierarchy/incomingCalls":       on((*request).incomingCalls),
		"callHierarchy/outgoingCalls":       on((*request).outgoingCalls),
		"workspace/executeCommand":          on((*request).execute),
		"textDocument/completion":           on((*request).completion),
		"textDocument/signatureHelp":        on((*request).signature),
		"textDocument/hover":                on((*request).hover),
		"textDocument/rename":               on((*request).rename),
		"textDocument/prepareRename":        on((*request).prepareRename),
		"textDocument/codeAction":           on((*request).codeActions),
		"textDocument/formatting":           on((*request).format),
		"textDocument/rangeFormatting":      on((*request).formatRange),
		"textDocument/definition":           on((*request).definition),
		"textDocument/references":           on((*request).references),
		"textDocument/documentHighlight":    on((*request).highlights),
		"textDocument/documentSymbol":       on((*request).documentSymbols),
		"workspace/symbol":                  on((*request).workspaceSymbols),
		"textDocument/foldingRange":         on((*request).folding),
		"textDocument/selectionRange":       on((*request).selection),
		"textDocument/semanticTokens/full":  on((*request).tokens),
	}
}

// capabilities are what the server says that it can do.
func capabilities(e textdoc.Encoding) map[string]any {
	return map[string]any{
		"positionEncoding":                e,
		"textDocumentSync":                map[string]any{"openClose": true, "change": 2, "save": true},
		"completionProvider":              map[string]any{"triggerCharacters": []string{".", "\"", " ", "("}},
		"signatureHelpProvider":           map[string]any{"triggerCharacters": []string{"(", ","}},
		"hoverProvider":                   true,
		"inlayHintProvider":               true,
		"codeLensProvider":                map[string]any{},
		"documentLinkProvider":            map[string]any{},
		"callHierarchyProvider":           true,
		"executeCommandProvider":          map[string]any{"commands": commands()},
		"renameProvider":                  map[string]any{"prepareProvider": true},
		"codeActionProvider":              map[string]any{"codeActionKinds": []string{"quickfix", "refactor.extract", "refactor.move"}},
		"documentFormattingProvider":      true,
		"documentRangeFormattingProvider": true,
		"definitionProvider":              true,
		"referencesProvider":              true,
		"documentHighlightProvider":       true,
		"documentSymbolProvider":          true,
		"workspaceSymbolProvider":         true,
		"foldingRangeProvider":            true,
		"selectionRangeProvider":          true,
		"semanticTokensProvider": map[string]any{
			"legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": []string{}}, "full": true,
		},
		"workspace": map[string]any{"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true}},
	}
}
