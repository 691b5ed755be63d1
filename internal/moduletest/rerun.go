package moduletest

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/moduletest/filewatch"
	"weir.dev/weir/internal/moduletest/testfile"
)

// A Watch knows what each test file depends on: itself, its mocks, the
// modules that its runs load, and the files that expressions in these read.
type Watch struct {
	dir     string
	tests   string
	watcher filewatch.Watcher
	files   map[string]*testReads // by name, from when they were carried out last
}

type testReads struct {
	mocks   map[string]bool // directories
	modules map[string]bool // directories
	reads   *filewatch.Reads
}

const watchInterval = 200 * time.Millisecond

// NewWatch begins to look at the files of a directory and the tests in it.
func NewWatch(dir, tests string) *Watch {
	w := &Watch{dir: dir, tests: tests, files: map[string]*testReads{}, watcher: filewatch.Watcher{Dir: dir, Interval: watchInterval}}
	w.watcher.Begin(w.watched())
	return w
}

// Note has a suite tell what test files depend on that are about to be carried out.
func (w *Watch) Note(list []*testfile.File, o *Options) {
	for _, f := range list {
		r := &testReads{mocks: map[string]bool{}, modules: map[string]bool{}, reads: filewatch.NewReads(o.World.Disk)}
		for _, p := range f.Providers {
			if p.Mock != nil && p.Mock.Source != "" {
				r.mocks[filepath.Clean(filepath.FromSlash(p.Mock.Source))] = true
			}
		}
		w.files[f.Name] = r
	}
	o.Reader = func(f *testfile.File) fsfuncs.Source { return w.files[f.Name].reads }
	o.Configured = func(f *testfile.File, c *engine.Config) { w.files[f.Name].loaded(c.Tree) }
}

// loaded notes the modules of a configuration.
func (r *testReads) loaded(tree *program.Tree) {
	if tree.Program != nil {
		r.modules[filepath.Clean(tree.Program.Dir)] = true
	}
	for _, child := range tree.Calls() {
		r.loaded(child)
	}
}

// watched are the files and directories to look at.
func (w *Watch) watched() (names, dirs []string) {
	all, in := map[string]bool{}, map[string]bool{".": true, filepath.Clean(w.tests): true}
	for _, r := range w.files {
		maps.Copy(in, r.mocks)
		maps.Copy(in, r.modules)
		for _, name := range r.reads.Files() {
			all[name] = true
		}
		for _, dir := range r.reads.Dirs() {
			in[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(in))
}

// Wait waits until something changes, and returns what; nothing when the context
// ends.
func (w *Watch) Wait(ctx context.Context) []string {
	names, dirs := w.watched()
	w.watcher.Extend(names, dirs)
	changed := w.watcher.Wait(ctx, names, dirs)
	w.watcher.Begin(names, dirs)
	return changed
}

// Modules is how many modules the tests load.
func (w *Watch) Modules() int {
	all := map[string]bool{}
	for _, r := range w.files {
		maps.Copy(all, r.modules)
	}
	return len(all)
}

// Affected are the test files that changes can make a difference to, and those
// that weren't carried out yet.
func (w *Watch) Affected(list []*testfile.File, changed []string) []*testfile.File {
	var chosen []*testfile.File
	for _, f := range list {
		r := w.files[f.Name]
		if r == nil || slices.ContainsFunc(changed, func(name string) bool { return r.affectedBy(f, name) }) {
			chosen = append(chosen, f)
		}
	}
	return chosen
}

func (r *testReads) affectedBy(f *testfile.File, name string) bool {
	base, dir := filepath.Base(name), filepath.Dir(name)
	switch {
	case filepath.ToSlash(name) == f.Name, slices.Contains(r.reads.Files(), name), slices.Contains(r.reads.Dirs(), dir):
		return true
	case testfile.IsName(base):
		return r.mocks[dir]
	case hasSuffix(base, ".tfvars", ".tfvars.json"), base == ".terraform.lock.hcl":
		return true
	}
	return r.modules[dir] && hasSuffix(base, ".tf", ".tofu", ".tf.json", ".tofu.json")
}

func hasSuffix(name string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
