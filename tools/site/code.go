package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// formatter writes classes, so that one style sheet serves light and dark.
var formatter = html.New(html.WithClasses(true))

// colours returns the style sheet of highlighted code.
func colours() ([]byte, error) {
	var css bytes.Buffer
	css.WriteString("@media (prefers-color-scheme: light) {\n") // the dark style leaves some classes out
	if err := formatter.WriteCSS(&css, styles.Get("github")); err != nil {
		return nil, err
	}
	css.WriteString("}\n@media (prefers-color-scheme: dark) {\n")
	if err := formatter.WriteCSS(&css, styles.Get("github-dark")); err != nil {
		return nil, err
	}
	css.WriteString("}\n.chroma, .bg { background: var(--code) !important; }\n.chroma .err { color: inherit; background: none; }\n")
	return css.Bytes(), nil
}

// A highlighter renders code blocks with colours.
type highlighter struct{}

func (h highlighter) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindCodeBlock, h.render)
	register.Register(ast.KindFencedCodeBlock, h.render)
}

func (highlighter) render(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var code strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		code.Write(line.Value(source))
	}
	language := guess(code.String())
	if fenced, ok := n.(*ast.FencedCodeBlock); ok && fenced.Language(source) != nil {
		language = string(fenced.Language(source))
	}
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, code.String())
	if err != nil {
		return ast.WalkStop, err
	}
	return ast.WalkSkipChildren, formatter.Format(w, styles.Get("github"), tokens)
}

var (
	isHCL   = regexp.MustCompile(`(?m)^[a-z_]+( "[^"]*")* \{$`)
	isShell = regexp.MustCompile(`(?m)^(weir|make|export|cd|cp|go|git|\w+=\S+ weir|bin/weir) `)
)

// guess returns the language of a block that doesn't name one.
func guess(code string) string {
	switch {
	case strings.HasPrefix(code, "$ "):
		return "console"
	case isHCL.MatchString(code):
		return "hcl"
	case isShell.MatchString(code):
		return "sh"
	}
	return "text"
}

// A document is a part of a page that the search finds: a heading with its text.
type document struct {
	ID      int    `json:"id"`
	Title   string `json:"title"`
	Heading string `json:"heading"`
	URL     string `json:"url"`
	Text    string `json:"text"`
}

// searchIndex returns a script with the documents of all pages.
func (b *Book) searchIndex() ([]byte, error) {
	var list []document
	for _, name := range b.names {
		p := b.pages[name]
		current := document{Title: p.title, Heading: p.title, URL: address(name)}
		finish := func() {
			current.ID, current.Text = len(list), strings.Join(strings.Fields(current.Text), " ")
			list = append(list, current)
		}
		at := 0
		for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
			if _, ok := n.(*ast.Heading); ok {
				h := p.headings[at]
				if at++; h.Level > 1 {
					finish()
					current = document{Title: p.title, Heading: h.Text, URL: address(name) + "#" + h.ID}
				}
				continue
			}
			current.Text += " " + words(n, p.source)
		}
		finish()
	}
	content, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "window.searchDocuments = %s;\n", content), nil
}

// words is the text of a node, code included.
func words(n ast.Node, source []byte) string {
	var s strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			s.Write(n.Segment.Value(source))
			s.WriteByte(' ')
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				s.Write(line.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return s.String()
}
