package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

//go:embed site.js
var script []byte

//go:embed minisearch.js
var minisearch []byte

var layouted = template.Must(template.New("page").Parse(layout))

// A section is a heading of the index with the pages that it leads to.
type section struct {
	Title  string
	Items  []item
	Folded bool
}

// Has reports whether a page is among the items.
func (s section) Has(path string) bool {
	return slices.ContainsFunc(s.Items, func(i item) bool { page, _, _ := strings.Cut(i.Path, "#"); return page == path })
}

type item struct {
	Title, Path string
}

// Write makes the site again in dir: each page where it is in the repository, and the files
// that pages link to.
func (b *Book) Write(dir string) error {
	found, err := b.searchIndex()
	if err != nil {
		return err
	}
	colours, err := colours()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"style.css": append(slices.Clone(style), colours...), "site.js": script, "minisearch.js": minisearch, "search-index.js": found,
	}
	sections := b.sections()
	for _, name := range b.names {
		p := b.pages[name]
		content, err := b.html(p, sections)
		if err != nil {
			return err
		}
		files[address(name)] = content
		for _, l := range p.links {
			to := b.target(l)
			if to == "" || b.pages[to] != nil || b.folder(to) {
				continue
			}
			if files[to], err = fs.ReadFile(b.files, to); err != nil {
				return err
			}
		}
	}
	fresh := filepath.Clean(dir) + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

func (b *Book) folder(name string) bool {
	info, err := fs.Stat(b.files, name)
	return err == nil && info.IsDir()
}

// address is where a page is in the site.
func address(name string) string {
	if dir, file := path.Split(name); file == "README.md" {
		return dir + "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// sections are what the index has, for the list beside every page.
func (b *Book) sections() []section {
	p := b.pages[index]
	if p == nil {
		return nil
	}
	list := []section{{Items: []item{{"Overview", address("README.md")}, {"All pages", address(index)}}}}
	links := map[ast.Node]*link{}
	for _, l := range p.links {
		links[l.node] = l
	}
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			list = append(list, section{Title: plain(h, p.source)})
		}
		if l := links[n]; l != nil {
			if to := b.target(l); b.pages[to] != nil {
				last := &list[len(list)-1]
				last.Items = append(last.Items, item{plain(n, p.source), address(to)})
			}
		}
		return ast.WalkContinue, nil
	})
	return append(list, b.reference()...)
}

// reference lists the pages of commands and the functions.
func (b *Book) reference() []section {
	commands, functions := section{Title: "All commands", Folded: true}, section{Title: "All functions", Folded: true}
	for _, name := range b.names {
		dir, file := path.Split(name)
		switch {
		case dir != "docs/reference/" || file == "README.md" || file == "language.md":
		case file == "functions.md":
			for _, h := range b.pages[name].headings {
				if h.Level == 2 {
					functions.Items = append(functions.Items, item{h.Text, address(name) + "#" + h.ID})
				}
			}
		default:
			commands.Items = append(commands.Items, item{strings.TrimPrefix(b.pages[name].title, "weir "), address(name)})
		}
	}
	var list []section
	for _, s := range []section{commands, functions} {
		if len(s.Items) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// neighbours are the pages before and after one in the list of pages.
func neighbours(sections []section, here string) (previous, next *item) {
	var all []item
	for _, s := range sections {
		for _, i := range s.Items {
			if !strings.Contains(i.Path, "#") {
				all = append(all, i)
			}
		}
	}
	at := slices.IndexFunc(all, func(i item) bool { return i.Path == here })
	if at > 0 {
		previous = &all[at-1]
	}
	if at >= 0 && at+1 < len(all) {
		next = &all[at+1]
	}
	return previous, next
}

// html is a page as it stands in the site. It changes the tree: once for each page.
func (b *Book) html(p *page, sections []section) ([]byte, error) {
	for _, l := range p.links {
		b.point(p, l)
	}
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			id, _ := h.AttributeString("id")
			anchor := ast.NewLink()
			anchor.Destination = append([]byte("#"), id.([]byte)...)
			anchor.SetAttributeString("class", []byte("anchor"))
			anchor.SetAttributeString("aria-label", []byte("Link to this heading"))
			anchor.AppendChild(anchor, ast.NewString([]byte("#")))
			h.AppendChild(h, anchor)
		}
		return ast.WalkContinue, nil
	})
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.source, p.root); err != nil {
		return nil, err
	}
	var outline []heading
	for _, h := range p.headings {
		if h.Level == 2 {
			outline = append(outline, h)
		}
	}
	if len(outline) < 3 {
		outline = nil
	}
	up := strings.Repeat("../", strings.Count(p.name, "/"))
	previous, next := neighbours(sections, address(p.name))
	var page bytes.Buffer
	err := layouted.Execute(&page, map[string]any{
		"Title": p.title, "Up": up, "Here": address(p.name), "Sections": sections,
		"Outline": outline, "Previous": previous, "Next": next, "Version": b.version, "Body": template.HTML(body.String()), // our own
	})
	return page.Bytes(), err
}

// point has a link lead to where its file is in the site. Anything that isn't there, as
// folders of sources, is text.
func (b *Book) point(p *page, l *link) {
	to := b.target(l)
	if to == "" {
		return
	}
	if b.folder(to) {
		parent := l.node.Parent()
		for child := l.node.FirstChild(); child != nil; child = l.node.FirstChild() {
			parent.InsertBefore(parent, l.node, child)
		}
		parent.RemoveChild(parent, l.node)
		return
	}
	if b.pages[to] != nil {
		to = address(to)
	}
	if l.fragment != "" {
		to += "#" + l.fragment
	}
	to = strings.Repeat("../", strings.Count(p.name, "/")) + to
	switch n := l.node.(type) {
	case *ast.Link:
		n.Destination = []byte(to)
	case *ast.Image:
		n.Destination = []byte(to)
	}
}
