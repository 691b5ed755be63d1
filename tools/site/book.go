package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// index is the page that leads to all others.
const index = "docs/README.md"

// Book is the pages that are reached from those in docs and at the root.
type Book struct {
	files fs.FS
	pages map[string]*page // by path, as a/b.md
	names []string         // sorted

	version string // of weir, shown on each page
}

type page struct {
	name, title string
	source      []byte
	root        ast.Node
	headings    []heading
	links       []*link
}

type heading struct {
	Level    int
	ID, Text string
}

// A link is what a page refers to, by Markdown, where it stands.
type link struct {
	node     ast.Node
	line     int
	to       string // as it is written
	path     string // from the root of the repository; "" for another site
	fragment string
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(highlighter{}, 100))), // pages are ours, comments among them
)

// Read reads the pages and whatever pages they link to.
func Read(files fs.FS) (*Book, error) {
	b := &Book{files: files, pages: map[string]*page{}}
	queue, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(files, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(name) == ".md" {
			queue = append(queue, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if b.pages[name] != nil {
			continue
		}
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		p := parse(name, source)
		b.pages[name] = p
		b.names = append(b.names, name)
		for _, l := range p.links {
			if to := b.target(l); path.Ext(to) == ".md" {
				queue = append(queue, to)
			}
		}
	}
	slices.Sort(b.names)
	return b, nil
}

// target is the file that a link leads to: for a folder with a README that; "" where there
// is no such file.
func (b *Book) target(l *link) string {
	if l.path == "" || !fs.ValidPath(l.path) {
		return ""
	}
	info, err := fs.Stat(b.files, l.path)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		return l.path
	}
	readme := path.Join(l.path, "README.md")
	if _, err := fs.Stat(b.files, readme); err == nil {
		return readme
	}
	return l.path
}

func parse(name string, source []byte) *page {
	p := &page{name: name, title: name, source: source}
	p.root = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&slugs{}))))
	line := 1
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			line = 1 + strings.Count(string(source[:n.Lines().At(0).Start]), "\n")
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			h := heading{n.Level, string(id.([]byte)), plain(n, source)}
			if h.Level == 1 && len(p.headings) == 0 {
				p.title = h.Text
			}
			p.headings = append(p.headings, h)
		case *ast.Link:
			p.links = append(p.links, newLink(p, n, line, string(n.Destination)))
		case *ast.Image:
			p.links = append(p.links, newLink(p, n, line, string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
	return p
}

func newLink(p *page, n ast.Node, line int, to string) *link {
	l := &link{node: n, line: line, to: to}
	u, err := url.Parse(to)
	switch {
	case err != nil:
		l.path = "?" // no path is written like this, so that it isn't found
	case u.Scheme != "" || u.Host != "":
	case u.Path == "":
		l.path, l.fragment = p.name, u.Fragment
	default:
		l.path, l.fragment = path.Join(path.Dir(p.name), u.Path), u.Fragment
	}
	return l
}

// plain is what a node says without its marks.
func plain(n ast.Node, source []byte) string {
	var s strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				s.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					s.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				s.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return s.String()
}

// slugs makes the anchors of headings as code hosts do: small letters, digits, - and _, spaces
// as -, and a number after duplicates.
type slugs struct{ used map[string]bool }

func (s *slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	id := b.String()
	for n := 1; s.used[id]; n++ {
		id = b.String() + "-" + strconv.Itoa(n)
	}
	s.Put([]byte(id))
	return []byte(id)
}

func (s *slugs) Put(value []byte) {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	s.used[string(value)] = true
}

// made are folders of what is built: what is it doesn't exist there for everybody.
var made = []string{"bin", "dist", ".cache"}

// Check returns what is wrong with the links, a sentence each: files and headings that
// aren't there, and pages in docs to which the index doesn't lead.
func (b *Book) Check() []string {
	var faults []string
	for _, name := range b.names {
		for _, l := range b.pages[name].links {
			if err := b.follow(l); err != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: %s: %v", name, l.line, l.to, err))
			}
		}
	}
	led := map[string]bool{}
	b.lead(index, led)
	for _, name := range b.names {
		if strings.HasPrefix(name, "docs/") && !led[name] {
			faults = append(faults, fmt.Sprintf("%s: %s doesn't lead there", name, index))
		}
	}
	return faults
}

func (b *Book) follow(l *link) error {
	if l.path == "" {
		return nil
	}
	first, _, _ := strings.Cut(l.path, "/")
	to := b.target(l)
	if to == "" || slices.Contains(made, first) {
		return errors.New("there is no such file")
	}
	if l.fragment == "" {
		return nil
	}
	if p := b.pages[to]; p == nil || !slices.ContainsFunc(p.headings, func(h heading) bool { return h.ID == l.fragment }) {
		return fmt.Errorf("%s has no such heading", to)
	}
	return nil
}

// lead marks the pages that one leads to, over others in docs.
func (b *Book) lead(name string, led map[string]bool) {
	p := b.pages[name]
	if p == nil || led[name] {
		return
	}
	led[name] = true
	if !strings.HasPrefix(name, "docs/") {
		return
	}
	for _, l := range p.links {
		b.lead(b.target(l), led)
	}
}
