// Package project has the configurations in the folders of an editor: documents with unsaved
// text, compiled modules, the calls between directories, and checks of root modules.
//
// It owns what is cached and when that is stale. It doesn't know the protocol's requests.
package project

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/version"
	"weir.dev/weir/internal/sys/readlimit"
	"weir.dev/weir/internal/ui/lsp/protocol"
	"weir.dev/weir/internal/ui/lsp/textdoc"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/providersource"
)

// A Doc is an open document.
type Doc struct {
	URI     string
	Path    string
	Version int
	Text    *textdoc.Text
}

// A Project is what an editor has open.
type Project struct {
	// Outside is what checks take from outside; directories and texts are added.
	Outside environment.Options

	mu       sync.Mutex
	encoding textdoc.Encoding
	folders  []string
	docs     map[string]*Doc
	cache    cache
	units    map[string]*unit
	decoded  providersource.Decoded
}

// New is a project without folders.
func New(o environment.Options) *Project {
	return &Project{Outside: o, encoding: textdoc.UTF16, docs: map[string]*Doc{}, units: map[string]*unit{}}
}

// Use sets the encoding of positions, before documents are opened.
func (p *Project) Use(e textdoc.Encoding) { p.encoding = e }

// Encoding is that of positions.
func (p *Project) Encoding() textdoc.Encoding { return p.encoding }

// SetFolders adds and removes folders.
func (p *Project) SetFolders(added, removed []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.folders = slices.DeleteFunc(p.folders, func(f string) bool { return slices.Contains(removed, f) })
	for _, f := range added {
		if f != "" && !slices.Contains(p.folders, f) {
			p.folders = append(p.folders, f)
		}
	}
}

// Open adds a document.
func (p *Project) Open(uri string, version int, text string) *Doc {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &Doc{uri, Path(uri), version, textdoc.New([]byte(text), p.encoding)}
	p.docs[d.Path] = d
	return d
}

// Change edits a document; nil if it isn't open.
func (p *Project) Change(uri string, version int, changes []protocol.Change) *Doc {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.docs[Path(uri)]
	if d == nil {
		return nil
	}
	d = &Doc{d.URI, d.Path, version, d.Text.Apply(changes)}
	p.docs[d.Path] = d
	return d
}

// Shut removes a document.
func (p *Project) Shut(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.docs, Path(uri))
}

// Prune forgets the checks of directories that no document needs any longer, and returns the
// directories.
func (p *Project) Prune() []string {
	p.mu.Lock()
	open := opened(p.docs)
	var gone []*unit
	for dir, u := range p.units {
		if u.finished() && !u.serves(open) {
			gone = append(gone, u)
			delete(p.units, dir)
		}
	}
	p.mu.Unlock()
	var dirs []string
	for _, u := range gone {
		u.close()
		dirs = append(dirs, u.dir)
	}
	return dirs
}

// opened are the directories of documents.
func opened(docs map[string]*Doc) []string {
	dirs := map[string]bool{}
	for path := range docs {
		dir := filepath.Dir(path)
		dirs[dir] = true
		if filepath.Base(dir) == testsDir {
			dirs[filepath.Dir(dir)] = true
		}
	}
	return slices.Collect(maps.Keys(dirs))
}

// Close ends everything.
func (p *Project) Close() {
	p.mu.Lock()
	units := slices.Collect(maps.Values(p.units))
	p.units = map[string]*unit{}
	p.mu.Unlock()
	for _, u := range units {
		u.close()
	}
}

// A View is the project at one moment: documents that change later don't change in it.
type View struct {
	*Project
	Docs map[string]*Doc
	Dirs []string // the folders
}

// View is the project as it is now.
func (p *Project) View() *View {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &View{p, maps.Clone(p.docs), slices.Clone(p.folders)}
}

// Doc is the document of a URI, or nil.
func (v *View) Doc(uri string) *Doc { return v.Docs[Path(uri)] }

// texts are the texts of the documents by path.
func (v *View) texts() map[string][]byte {
	all := make(map[string][]byte, len(v.Docs))
	for path, d := range v.Docs {
		all[path] = d.Text.Bytes
	}
	return all
}

// Files are the files with the texts of the documents.
func (v *View) Files() module.Files {
	return module.Edited{Files: module.Disk{}, Root: string(filepath.Separator), Text: v.texts()}
}

// Text is the text of a file; nil if it can't be read.
func (v *View) Text(path string) *textdoc.Text {
	if d := v.Docs[path]; d != nil {
		return d.Text
	}
	src, err := readlimit.File(path)
	if err != nil {
		return nil
	}
	return textdoc.New(src, v.encoding)
}

// URI is that of a file, as the editor has written it.
func (v *View) URI(path string) string {
	if d := v.Docs[path]; d != nil {
		return d.URI
	}
	return URI(path)
}

// Path is the file of a URI.
func Path(uri string) string {
	rest, ok := strings.CutPrefix(uri, "file://")
	if !ok {
		return uri
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	if len(rest) > 2 && rest[0] == '/' && rest[2] == ':' { // /c:/folder
		rest = rest[1:]
	}
	return filepath.Clean(filepath.FromSlash(rest))
}

// URI is the URI of a file.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// IsConfig reports whether a file is part of a module.
func (p *Project) IsConfig(path string) bool {
	primary, override := module.Select([]string{filepath.Base(path)}, p.Outside.Dialect)
	return len(primary)+len(override) > 0
}

// skipped are folders without configurations of their own.
func skipped(name string) bool {
	return len(name) > 1 && strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

// Directories are those with configuration in the folders and around the documents, in order.
func (v *View) Directories(ctx context.Context) []string {
	found := map[string]bool{}
	for path := range v.Docs {
		if v.IsConfig(path) {
			found[filepath.Dir(path)] = true
		}
	}
	for _, folder := range v.Dirs {
		_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return nil // what can't be read has nothing
			case e.IsDir() && path != folder && skipped(e.Name()):
				return fs.SkipDir
			case !e.IsDir() && !found[filepath.Dir(path)] && v.IsConfig(path):
				found[filepath.Dir(path)] = true
			}
			return nil
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// Locks are the chosen providers of the root module that a directory belongs to, none without one.
func (v *View) Locks(ctx context.Context, dir string) *lockfile.Locks {
	if root := v.Root(ctx, dir); root != "" {
		if locks, diags := lockfile.Read(filepath.Join(root, lockfile.Name)); !diags.HasErrors() {
			return locks
		}
	}
	return &lockfile.Locks{}
}

// Versions are those of a provider that this machine has, the newest first: the locked one,
// and those in the directory of the root module, in the plugin cache and in mirrors.
func (v *View) Versions(ctx context.Context, dir string, p addr.Provider) []string {
	var found []version.Version
	if lock, ok := v.Locks(ctx, dir).Get(p); ok {
		found = append(found, lock.Version)
	}
	d := v.directory(v.unit(dir))
	defer d.Close()
	places := []string{filepath.Join(cmp.Or(v.Root(ctx, dir), dir), ".terraform", "providers")}
	if settings, _, _ := d.Place.UserSettings(); settings != nil {
		if settings.PluginCacheDir != "" {
			places = append(places, settings.PluginCacheDir)
		}
		if settings.Installation != nil {
			for _, m := range settings.Installation.Methods {
				if m.Kind == cliconfig.FilesystemMirror {
					places = append(places, m.Location)
				}
			}
		}
	}
	for _, place := range places {
		entries, _ := os.ReadDir(filepath.Join(place, p.Host, p.Namespace, p.Type))
		for _, e := range entries {
			name := strings.TrimPrefix(e.Name(), "terraform-provider-"+p.Type+"_") // of a packed one
			name, _, _ = strings.Cut(name, "_")
			if one, err := version.Parse(name); err == nil {
				found = append(found, one)
			}
		}
	}
	slices.SortFunc(found, func(a, b version.Version) int {
		switch {
		case a.GreaterThan(b):
			return -1
		case b.GreaterThan(a):
			return 1
		}
		return 0
	})
	var list []string
	for _, one := range found {
		list = append(list, one.String())
	}
	return slices.Compact(list)
}

// Initialised reports whether init has chosen the providers of a directory.
func Initialised(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, lockfile.Name))
	return err == nil
}

// Callers are the directories of the project with a call that loads a directory.
func (v *View) Callers(ctx context.Context, dir string) []string {
	var list []string
	for _, d := range v.Directories(ctx) {
		if o := v.Outline(ctx, d); o != nil && slices.Contains(slices.Collect(maps.Values(o.Calls)), dir) {
			list = append(list, d)
		}
	}
	return list
}

// Root is a directory that init was run in and that loads a directory, directly or through
// others; empty without one.
func (v *View) Root(ctx context.Context, dir string) string {
	calls := map[string][]string{} // callers by directory
	for _, d := range v.Directories(ctx) {
		if o := v.Outline(ctx, d); o != nil {
			for _, to := range o.Calls {
				calls[to] = append(calls[to], d)
			}
		}
	}
	seen := map[string]bool{dir: true}
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		if Initialised(queue[0]) {
			return queue[0]
		}
		for _, caller := range calls[queue[0]] {
			if !seen[caller] {
				seen[caller] = true
				queue = append(queue, caller)
			}
		}
	}
	return ""
}

// called are the directories that the calls of a program load, by the name of the call, as
// far as that is known without evaluating; and the versions of those that init has installed.
func called(files module.Files, dir string, p *program.Program) (all, versions map[string]string) {
	all, versions = map[string]string{}, map[string]string{}
	var manifest module.Manifest
	for _, c := range p.Calls {
		if c.Source == nil || len(c.Source.Refs) > 0 {
			continue
		}
		v, diags := c.Source.Value(nil)
		if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type().FriendlyName() != "string" {
			continue
		}
		source := v.AsString()
		if module.IsLocal(source) {
			all[c.Name] = filepath.Join(dir, filepath.FromSlash(source))
			continue
		}
		if manifest == nil {
			if manifest, _ = module.ReadManifest(files, filepath.Join(dir, ".terraform")); manifest == nil {
				manifest = module.Manifest{}
			}
		}
		if r, ok := manifest[c.Name]; ok {
			all[c.Name], versions[c.Name] = filepath.Join(dir, r.Dir), r.Version
		}
	}
	return all, versions
}
