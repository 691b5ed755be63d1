package engine

import (
	"bytes"
	"path/filepath"
	"slices"
	"sync"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/program"
)

// Programs keeps what directories were compiled to, for further loads of them. A directory is
// compiled again unless all that was inspected then is the same byte for byte, so loads with
// and without it give the same result. The zero value is empty.
type Programs struct {
	mu   sync.Mutex
	kept map[source]*kept
}

// A source is what a program was compiled from, but for the content of its files: places in
// programs begin with dir, which is at a place of the disk.
type source struct {
	language moduleLanguage
	dir, at  string
	root     bool
}

// kept is what came of a source, with what was inspected for it.
type kept struct {
	*compiled
	lists map[string][]string
	reads map[string][]byte
}

// compile is what a directory compiles to, as seen from where the load is, which key reports from
// others of it, by what is kept where that is still right. Other languages than that of modules keep nothing.
func (p *Programs) compile(l Language, files module.Files, from, key, dir string, call *program.Call) *compiled {
	language, ok := l.(moduleLanguage)
	if p == nil || !ok {
		return compileIn(l, files, key, dir, call)
	}
	at := dir
	if !filepath.IsAbs(dir) {
		at = filepath.Join(from, dir)
	}
	src := source{language, dir, at, call == nil}
	p.mu.Lock()
	before := p.kept[src]
	p.mu.Unlock()
	if before != nil && before.isSame(files) {
		return before.compiled
	}
	seen := &looked{inner: files, kept: &kept{lists: map[string][]string{}, reads: map[string][]byte{}}}
	done := compileIn(l, seen, key, dir, call)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[source]*kept{}
	}
	delete(p.kept, src)
	if !seen.failed {
		seen.kept.compiled = done
		p.kept[src] = seen.kept
	}
	return done
}

func compileIn(l Language, files module.Files, key, dir string, call *program.Call) *compiled {
	done := &compiled{key: key}
	done.source, done.program, done.diags = l.Compile(files, dir, call)
	return done
}

// isSame reports whether everything that was inspected is still so.
func (k *kept) isSame(files module.Files) bool {
	for dir, names := range k.lists {
		now, err := files.List(dir)
		if err != nil || !slices.Equal(names, now) {
			return false
		}
	}
	for path, data := range k.reads {
		now, err := files.ReadFile(path)
		if err != nil || !bytes.Equal(data, now) {
			return false
		}
	}
	return true
}

// looked are files that note what is inspected.
type looked struct {
	inner module.Files

	mu     sync.Mutex
	kept   *kept
	failed bool // something couldn't be read, which may be otherwise the next time
}

// List implements module.Files.
func (l *looked) List(dir string) ([]string, error) {
	names, err := l.inner.List(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = l.failed || err != nil
	l.kept.lists[dir] = slices.Clone(names)
	return names, err
}

// ReadFile implements module.Files.
func (l *looked) ReadFile(path string) ([]byte, error) {
	data, err := l.inner.ReadFile(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = l.failed || err != nil
	l.kept.reads[path] = data
	return data, err
}
