// Package protocol has the messages of the Language Server Protocol that weir uses, with the
// field names of version 3.17.
//
// It defines data only. Messages that weir neither reads nor sends aren't here.
package protocol

import "encoding/json"

// Position is a place in a text: Character counts the units of the negotiated encoding.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a part of a text; End isn't in it.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Location is a range in a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// Document names a document.
type Document struct {
	URI string `json:"uri"`
}

// VersionedDocument names a version of a document; Version is null for any.
type VersionedDocument struct {
	URI     string `json:"uri"`
	Version *int   `json:"version"`
}

// InitializeParams begin a session.
type InitializeParams struct {
	ProcessID        *int               `json:"processId"`
	RootURI          string             `json:"rootUri"`
	RootPath         string             `json:"rootPath"`
	Capabilities     ClientCapabilities `json:"capabilities"`
	WorkspaceFolders []Folder           `json:"workspaceFolders"`
	Options          json.RawMessage    `json:"initializationOptions"`
}

// Folder is a folder that the editor has open.
type Folder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// ClientCapabilities are those that decide what weir sends.
type ClientCapabilities struct {
	General struct {
		PositionEncodings []string `json:"positionEncodings"`
	} `json:"general"`
	Workspace struct {
		WorkspaceEdit struct {
			DocumentChanges    bool     `json:"documentChanges"`
			ResourceOperations []string `json:"resourceOperations"`
		} `json:"workspaceEdit"`
		ApplyEdit bool `json:"applyEdit"`
	} `json:"workspace"`
	Window struct {
		ShowDocument struct {
			Support bool `json:"support"`
		} `json:"showDocument"`
	} `json:"window"`
	TextDocument struct {
		Completion struct {
			CompletionItem struct {
				SnippetSupport bool `json:"snippetSupport"`
			} `json:"completionItem"`
		} `json:"completion"`
	} `json:"textDocument"`
}

// InitializeResult says what the server can do.
type InitializeResult struct {
	Capabilities map[string]any `json:"capabilities"`
	ServerInfo   ServerInfo     `json:"serverInfo"`
}

// ServerInfo names the server.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// DidOpenParams have a document that the editor opened.
type DidOpenParams struct {
	TextDocument struct {
		URI        string `json:"uri"`
		LanguageID string `json:"languageId"`
		Version    int    `json:"version"`
		Text       string `json:"text"`
	} `json:"textDocument"`
}

// DidChangeParams have edits of a document, one after the other.
type DidChangeParams struct {
	TextDocument   VersionedDocument `json:"textDocument"`
	ContentChanges []Change          `json:"contentChanges"`
}

// Change replaces a range of a text, or all of it where Range is null.
type Change struct {
	Range *Range `json:"range,omitempty"`
	Text  string `json:"text"`
}

// DocumentParams are about a whole document.
type DocumentParams struct {
	TextDocument Document `json:"textDocument"`
}

// PositionParams are about a place in a document.
type PositionParams struct {
	TextDocument Document `json:"textDocument"`
	Position     Position `json:"position"`
}

// RangeParams are about a part of a document.
type RangeParams struct {
	TextDocument Document `json:"textDocument"`
	Range        Range    `json:"range"`
}

// ReferenceParams ask for the uses of a name.
type ReferenceParams struct {
	PositionParams
	Context struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"`
}

// RenameParams ask for another name.
type RenameParams struct {
	PositionParams
	NewName string `json:"newName"`
}

// SelectionParams ask for what stands around places.
type SelectionParams struct {
	TextDocument Document   `json:"textDocument"`
	Positions    []Position `json:"positions"`
}

// SelectionRange is a part of a text that a selection may grow to.
type SelectionRange struct {
	Range  Range           `json:"range"`
	Parent *SelectionRange `json:"parent,omitempty"`
}

// CodeActionParams ask for fixes and refactorings of a range.
type CodeActionParams struct {
	TextDocument Document `json:"textDocument"`
	Range        Range    `json:"range"`
	Context      struct {
		Diagnostics []Diagnostic `json:"diagnostics"`
		Only        []string     `json:"only"`
	} `json:"context"`
}

// CodeAction is an edit that the editor offers.
type CodeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []Diagnostic   `json:"diagnostics,omitempty"`
	Edit        *WorkspaceEdit `json:"edit,omitempty"`
	IsPreferred bool           `json:"isPreferred,omitempty"`
}

// WorkspaceEdit has the edits of documents: Changes for editors without DocumentChanges.
type WorkspaceEdit struct {
	Changes         map[string][]TextEdit `json:"changes,omitempty"`
	DocumentChanges []any                 `json:"documentChanges,omitempty"`
}

// DocumentEdit edits one document.
type DocumentEdit struct {
	TextDocument VersionedDocument `json:"textDocument"`
	Edits        []TextEdit        `json:"edits"`
}

// CreateFile makes a file; Kind is "create".
type CreateFile struct {
	Kind    string        `json:"kind"`
	URI     string        `json:"uri"`
	Options CreateOptions `json:"options"`
}

// CreateOptions say what to do where the file exists.
type CreateOptions struct {
	IgnoreIfExists bool `json:"ignoreIfExists"`
}

// TextEdit replaces a range.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// The severities of diagnostics.
const (
	SeverityError   = 1
	SeverityWarning = 2
	SeverityInfo    = 3
	SeverityHint    = 4
)

// TagUnnecessary and TagDeprecated are the tags of diagnostics.
const (
	TagUnnecessary = 1
	TagDeprecated  = 2
)

// Diagnostic is a problem in a document.
type Diagnostic struct {
	Range              Range            `json:"range"`
	Severity           int              `json:"severity"`
	Code               string           `json:"code,omitempty"`
	CodeDescription    *CodeDescription `json:"codeDescription,omitempty"`
	Source             string           `json:"source"`
	Message            string           `json:"message"`
	Tags               []int            `json:"tags,omitempty"`
	RelatedInformation []Related        `json:"relatedInformation,omitempty"`
}

// CodeDescription leads to the page of a code.
type CodeDescription struct {
	Href string `json:"href"`
}

// Related is a place that has to do with a problem.
type Related struct {
	Location Location `json:"location"`
	Message  string   `json:"message"`
}

// PublishParams are the problems of a document.
type PublishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Symbol is a declaration in a document.
type Symbol struct {
	Name           string   `json:"name"`
	Detail         string   `json:"detail,omitempty"`
	Kind           int      `json:"kind"`
	Range          Range    `json:"range"`
	SelectionRange Range    `json:"selectionRange"`
	Children       []Symbol `json:"children,omitempty"`
}

// WorkspaceSymbol is a declaration in a folder.
type WorkspaceSymbol struct {
	Name          string   `json:"name"`
	Kind          int      `json:"kind"`
	Location      Location `json:"location"`
	ContainerName string   `json:"containerName,omitempty"`
}

// WorkspaceSymbolParams ask for declarations whose names match a query.
type WorkspaceSymbolParams struct {
	Query string `json:"query"`
}

// The kinds of symbols that weir uses.
const (
	SymbolModule    = 2
	SymbolNamespace = 3
	SymbolClass     = 5
	SymbolProperty  = 7
	SymbolField     = 8
	SymbolInterface = 11
	SymbolFunction  = 12
	SymbolVariable  = 13
	SymbolConstant  = 14
	SymbolEvent     = 24
)

// Markup is text with its kind, "markdown" or "plaintext".
type Markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// Hover is what is known of a place.
type Hover struct {
	Contents Markup `json:"contents"`
	Range    *Range `json:"range,omitempty"`
}

// CompletionList has proposals.
type CompletionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []CompletionItem `json:"items"`
}

// The formats of inserted texts.
const (
	PlainText = 1
	Snippet   = 2
)

// The kinds of completions that weir uses.
const (
	CompleteFunction = 3
	CompleteField    = 5
	CompleteVariable = 6
	CompleteClass    = 7
	CompleteModule   = 9
	CompleteProperty = 10
	CompleteValue    = 12
	CompleteEnum     = 13
	CompleteKeyword  = 14
	CompleteSnippet  = 15
	CompleteFile     = 17
)

// CompletionItem is one proposal.
type CompletionItem struct {
	Label            string    `json:"label"`
	Kind             int       `json:"kind,omitempty"`
	Detail           string    `json:"detail,omitempty"`
	Documentation    *Markup   `json:"documentation,omitempty"`
	Deprecated       bool      `json:"deprecated,omitempty"`
	SortText         string    `json:"sortText,omitempty"`
	FilterText       string    `json:"filterText,omitempty"`
	InsertTextFormat int       `json:"insertTextFormat,omitempty"`
	TextEdit         *TextEdit `json:"textEdit,omitempty"`
}

// SignatureHelp has the signature of the call around a place.
type SignatureHelp struct {
	Signatures      []Signature `json:"signatures"`
	ActiveSignature int         `json:"activeSignature"`
	ActiveParameter int         `json:"activeParameter"`
}

// Signature is that of a function.
type Signature struct {
	Label         string      `json:"label"`
	Documentation string      `json:"documentation,omitempty"`
	Parameters    []Parameter `json:"parameters"`
}

// Parameter is the part of a signature's label that names a parameter.
type Parameter struct {
	Label string `json:"label"`
}

// FoldingRange is a part that can be hidden.
type FoldingRange struct {
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Kind      string `json:"kind,omitempty"`
}

// SemanticTokens has five numbers a token, as the protocol encodes them.
type SemanticTokens struct {
	Data []int `json:"data"`
}

// Command is something that the editor or the server runs.
type Command struct {
	Title     string `json:"title"`
	Command   string `json:"command"`
	Arguments []any  `json:"arguments,omitempty"`
}

// InlayHint is a word that the editor shows in a text without being part of it.
type InlayHint struct {
	Position    Position `json:"position"`
	Label       string   `json:"label"`
	PaddingLeft bool     `json:"paddingLeft,omitempty"`
}

// CodeLens is a command above a line.
type CodeLens struct {
	Range   Range   `json:"range"`
	Command Command `json:"command"`
}

// ExecuteParams have the server run a command.
type ExecuteParams struct {
	Command   string            `json:"command"`
	Arguments []json.RawMessage `json:"arguments"`
}

// ShowDocument asks the editor to open a document.
type ShowDocument struct {
	URI       string `json:"uri"`
	TakeFocus bool   `json:"takeFocus"`
	External  bool   `json:"external"` // in another program, such as a browser
}

// DocumentLink leads from a part of a text to an address.
type DocumentLink struct {
	Range   Range  `json:"range"`
	Target  string `json:"target"`
	Tooltip string `json:"tooltip,omitempty"`
}

// HierarchyItem is a module in the hierarchy of calls.
type HierarchyItem struct {
	Name           string `json:"name"`
	Kind           int    `json:"kind"`
	URI            string `json:"uri"`
	Range          Range  `json:"range"`
	SelectionRange Range  `json:"selectionRange"`
}

// HierarchyParams ask for the calls from or to a module.
type HierarchyParams struct {
	Item HierarchyItem `json:"item"`
}

// IncomingCall is a module with its calls of the item. The ranges are in the module's file.
type IncomingCall struct {
	From   HierarchyItem `json:"from"`
	Ranges []Range       `json:"fromRanges"`
}

// OutgoingCall is a module that the item calls. The ranges are in the item's file.
type OutgoingCall struct {
	To     HierarchyItem `json:"to"`
	Ranges []Range       `json:"fromRanges"`
}

// FoldersChange are folders that were opened and closed.
type FoldersChange struct {
	Event struct {
		Added   []Folder `json:"added"`
		Removed []Folder `json:"removed"`
	} `json:"event"`
}
