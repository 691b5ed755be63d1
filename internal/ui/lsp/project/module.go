package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/lang/compiler"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/lang/symbols"
)

// A Module is one directory, compiled.
type Module struct {
	Dir     string
	Source  *module.Source
	Program *program.Program
	// Whole is the module when it last had no errors of syntax: what it declared then helps
	// to complete what is being typed. It is the module itself if it has none.
	Whole *Module
	// Occurrences are by file and place; Calls are the directories that calls load.
	Occurrences []symbols.Occurrence
	Calls       map[string]string
	// Versions are those of installed modules, by the name of the call.
	Versions map[string]string

	stamp []stamp
}

// An Outline is what is remembered of every directory.
type Outline struct {
	Dir     string
	Calls   map[string]string
	Symbols []Declared

	stamp []stamp
}

// Declared is a declaration and the range of its label.
type Declared struct {
	Kind  symbols.Kind
	Name  string
	Range hcl.Range
}

// A stamp says which version of a file something was made from.
type stamp struct {
	path    string
	doc     *Doc
	size    int64
	changed int64
}

// fullModules is how many compiled modules are cached; the rest is remembered as outlines.
const fullModules = 12

// cache has what was made of directories. Its lock is held while one is compiled, so that two
// requests don't compile the same.
type cache struct {
	last     sync.Map // what was last compiled of each directory in full
	mu       sync.Mutex
	full     []*Module // the last used one last
	outlines map[string]*Outline
}

// stamps are those of the files of a directory; none for one that can't be read.
func (v *View) stamps(files module.Files, dir string) []stamp {
	names, err := files.List(dir)
	if err != nil {
		return nil
	}
	primary, override := module.Select(names, v.Outside.Dialect)
	var list []stamp
	for _, name := range append(primary, override...) {
		s := stamp{path: filepath.Join(dir, name)}
		if s.doc = v.Docs[s.path]; s.doc == nil {
			if info, err := os.Stat(s.path); err == nil {
				s.size, s.changed = info.Size(), info.ModTime().UnixNano()
			}
		}
		list = append(list, s)
	}
	return list
}

// Module compiles a directory unless that is cached; nil for one without configuration.
func (v *View) Module(ctx context.Context, dir string) *Module {
	files := v.Files()
	now := v.stamps(files, dir)
	if len(now) == 0 || ctx.Err() != nil {
		return nil
	}
	c := &v.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.full, func(m *Module) bool { return m.Dir == dir })
	var before *Module
	if at >= 0 {
		before = c.full[at]
		c.full = slices.Delete(c.full, at, at+1)
		if slices.Equal(before.stamp, now) {
			c.full = append(c.full, before)
			return before
		}
	}
	m := compile(v, files, dir)
	m.stamp, m.Whole = now, m
	if m.Source.Partial && before != nil && !before.Whole.Source.Partial {
		m.Whole = before.Whole
	}
	c.last.Store(dir, m)
	if c.full = append(c.full, m); len(c.full) > fullModules {
		c.last.Delete(c.full[0].Dir)
		c.full = slices.Delete(c.full, 0, 1)
	}
	c.remember(m)
	return m
}

// Typed is the module of a document while somebody types in a line: as it was compiled last, if
// nothing but that line has changed since. No proposal for a line depends on its own declaration.
func (v *View) Typed(ctx context.Context, path string, line int) *Module {
	dir := filepath.Dir(path)
	last, _ := v.cache.last.Load(dir)
	before, _ := last.(*Module)
	if before == nil {
		return v.Module(ctx, dir)
	}
	now := v.stamps(v.Files(), dir)
	if len(now) != len(before.stamp) {
		return v.Module(ctx, dir)
	}
	for i, s := range now {
		then := before.stamp[i]
		if s != then && (s.path != path || then.path != path || s.doc == nil || then.doc == nil || !s.doc.Text.SameBut(line, then.doc.Text)) {
			return v.Module(ctx, dir)
		}
	}
	return before
}

func compile(v *View, files module.Files, dir string) *Module {
	src, _ := module.Load(files, dir, v.Outside.Dialect)
	p, _ := compiler.Compile(src)
	calls, versions := called(files, dir, p)
	return &Module{Dir: dir, Source: src, Program: p, Occurrences: symbols.Occurrences(src, p), Calls: calls, Versions: versions}
}

func (c *cache) remember(m *Module) {
	if c.outlines == nil {
		c.outlines = map[string]*Outline{}
	}
	o := &Outline{Dir: m.Dir, Calls: m.Calls, stamp: m.stamp}
	for _, occ := range m.Occurrences {
		if occ.Definition {
			o.Symbols = append(o.Symbols, Declared{occ.Kind, occ.Name, occ.Range})
		}
	}
	c.outlines[m.Dir] = o
}

// Outline is what a directory declares and calls; nil for one without configuration.
func (v *View) Outline(ctx context.Context, dir string) *Outline {
	files := v.Files()
	now := v.stamps(files, dir)
	if len(now) == 0 || ctx.Err() != nil {
		return nil
	}
	c := &v.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.outlines[dir]; o != nil && slices.Equal(o.stamp, now) {
		return o
	}
	m := compile(v, files, dir)
	m.stamp = now
	c.remember(m)
	return c.outlines[dir]
}

// At is the occurrence at a byte of a file, or nil.
func (m *Module) At(path string, offset int) *symbols.Occurrence {
	for i := range m.Occurrences {
		o := &m.Occurrences[i]
		if o.Range.Filename == path && o.Range.Start.Byte <= offset && offset <= o.Range.End.Byte {
			return o
		}
	}
	return nil
}

// A Home is the directory of a declaration, with the declaration as that sees it.
type Home struct {
	Dir string
	symbols.Target
}

// Home follows calls to the module that has a declaration. It is false where a call can't be
// followed.
func (v *View) Home(ctx context.Context, m *Module, t symbols.Target) (Home, bool) {
	dir := m.Dir
	for i, call := range t.Through {
		next, ok := m.Calls[call]
		if !ok {
			return Home{}, false
		}
		dir = next
		if i < len(t.Through)-1 {
			if m = v.Module(ctx, dir); m == nil {
				return Home{}, false
			}
		}
	}
	t.Through = nil
	return Home{dir, t}, true
}

// A Place is an occurrence with the module that it stands in.
type Place struct {
	Module *Module
	symbols.Occurrence
}

// Places are where a declaration is written: in its module and in those that call it.
func (v *View) Places(ctx context.Context, h Home) []Place {
	var list []Place
	dirs := append([]string{h.Dir}, v.Callers(ctx, h.Dir)...)
	seen := map[string]bool{}
	for len(dirs) > 0 {
		dir := dirs[0]
		dirs = dirs[1:]
		m := v.Module(ctx, dir)
		if m == nil || seen[dir] {
			continue
		}
		seen[dir] = true
		for _, o := range m.Occurrences {
			if o.Kind != h.Kind || o.Name != h.Name || len(o.Through) == 0 && dir != h.Dir {
				continue
			}
			if at, ok := v.Home(ctx, m, o.Target); ok && at.Dir == h.Dir {
				list = append(list, Place{m, o})
			}
		}
	}
	return list
}

// Definition is where a declaration stands.
func (v *View) Definition(ctx context.Context, h Home) (Place, bool) {
	m := v.Module(ctx, h.Dir)
	if m == nil {
		return Place{}, false
	}
	for _, o := range m.Occurrences {
		if o.Definition && o.Is(h.Target) {
			return Place{m, o}, true
		}
	}
	return Place{}, false
}
