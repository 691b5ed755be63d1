package lsp

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

// A cause is why something is checked: more is checked when a file is saved.
type cause uint8

const (
	typed cause = iota + 1
	saved
)

// pause is how long nothing may change before a check begins.
const pause = 80 * time.Millisecond

// checksAtOnce is how many directories are checked at once: more would delay what is typed, and
// take memory for each.
const checksAtOnce = 2

// checks finds the problems of directories in the background, and publishes those of each
// file. A directory is checked once at a time; what changes meanwhile has it checked again.
type checks struct {
	*server
	ctx context.Context

	mu      sync.Mutex
	dirty   map[string]cause // by directory, until the pause is over
	timer   *time.Timer
	again   map[string]cause  // by unit that is being checked
	dirs    map[string]string // the directory of the last change, by unit
	asking  map[string]context.CancelFunc
	found   map[string]map[string]diag.List // by unit and file
	pending sync.WaitGroup
	slots   chan struct{} // a place for each check that runs

	publishing sync.Mutex
	published  map[string]bool // files with problems in the editor
}

func newChecks(ctx context.Context, s *server) *checks {
	return &checks{server: s, ctx: ctx, dirty: map[string]cause{}, again: map[string]cause{}, dirs: map[string]string{}, slots: make(chan struct{}, checksAtOnce), asking: map[string]context.CancelFunc{}, found: map[string]map[string]diag.List{}, published: map[string]bool{}}
}

// wait returns when no check runs. None begins after the context's end.
func (c *checks) wait() {
	c.mu.Lock()
	if c.timer != nil && c.timer.Stop() {
		c.pending.Done()
	}
	c.timer = nil
	c.mu.Unlock()
	c.pending.Wait()
}

// changed has what a file belongs to checked after a pause.
func (c *checks) changed(path string, why cause) {
	if isSettings(path) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ctx.Err() == nil {
			c.pending.Go(func() { c.settingsFile(path) })
		}
		return
	}
	if filepath.Ext(path) == "" {
		return
	}
	dir := filepath.Dir(path)
	if base := filepath.Base(dir); base == "tests" && strings.Contains(filepath.Base(path), "test.") {
		dir = filepath.Dir(dir)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	c.dirty[dir] = max(c.dirty[dir], why)
	for _, stop := range c.asking {
		stop() // processes of providers don't delay what is typed
	}
	if c.timer != nil && c.timer.Stop() {
		c.pending.Done()
	}
	c.pending.Add(1)
	c.timer = time.AfterFunc(pause, func() {
		defer c.pending.Done()
		c.begin()
	})
}

// begin starts the checks that the changes make necessary.
func (c *checks) begin() {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = map[string]cause{}
	c.mu.Unlock()
	v := c.project.View()
	units, dirs := map[string]cause{}, map[string]string{}
	for dir, why := range dirty {
		for _, unit := range v.Units(c.ctx, dir) {
			units[unit], dirs[unit] = max(units[unit], why), dir
		}
	}
	for unit, why := range units {
		c.mu.Lock()
		_, runs := c.again[unit]
		c.again[unit], c.dirs[unit] = max(c.again[unit], why), dirs[unit]
		c.mu.Unlock()
		if !runs {
			c.pending.Go(func() { c.run(unit) })
		}
	}
}

// run checks a unit until nothing changed meanwhile.
func (c *checks) run(unit string) {
	defer func() {
		if problem := recover(); problem != nil {
			c.bug("checking "+unit, problem)
			c.mu.Lock()
			delete(c.again, unit)
			delete(c.dirs, unit)
			c.mu.Unlock()
		}
	}()
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	defer c.forget()
	for {
		v := c.project.View()
		c.mu.Lock()
		why := c.again[unit]
		if why == 0 || c.ctx.Err() != nil || !v.Needs(unit, c.dirs[unit]) {
			delete(c.again, unit)
			delete(c.dirs, unit)
			c.mu.Unlock()
			return
		}
		c.again[unit] = 0
		ctx, stop := context.WithCancel(c.ctx)
		c.mu.Unlock()
		if done, ok := v.Check(ctx, unit, false); ok {
			c.publish(v, unit, done)
		}
		if why == saved && c.asks() {
			c.mu.Lock()
			c.asking[unit] = stop
			c.mu.Unlock()
			if done, ok := v.Check(ctx, unit, true); ok {
				c.publish(v, unit, done)
			}
			c.mu.Lock()
			delete(c.asking, unit)
			c.mu.Unlock()
		}
		stop()
	}
}

func (c *checks) asks() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return isSet(c.settings.Providers)
}

// publish sends the problems of the files that a check read, or had read before.
func (c *checks) publish(v *project.View, unit string, done *project.Checked) {
	byFile := map[string]diag.List{}
	for _, name := range done.Files {
		byFile[name] = nil
	}
	for _, d := range done.Diags {
		path := c.place(v, unit, done, d)
		byFile[path] = append(byFile[path], d)
	}
	c.mu.Lock()
	touched := maps.Clone(byFile)
	maps.Copy(touched, c.found[unit])
	c.found[unit] = byFile
	c.mu.Unlock()
	c.send(v, slices.Sorted(maps.Keys(touched)))
}

// place is the file of a problem: one without a place is shown at the first file of the unit
// that is open, or else at its first.
func (c *checks) place(v *project.View, unit string, done *project.Checked, d diag.Diagnostic) string {
	if d.Subject != nil {
		return d.Subject.Filename
	}
	first := ""
	for _, name := range done.Files {
		if stack, _ := module.IsStackFile(name); filepath.Dir(name) == unit && (stack || v.IsConfig(name)) {
			if v.Docs[name] != nil {
				return name
			}
			if first == "" {
				first = name
			}
		}
	}
	return first
}

// send publishes what all checks have found in files. Files that init has downloaded have no
// problems that people could solve there.
func (c *checks) send(v *project.View, files []string) {
	c.publishing.Lock()
	defer c.publishing.Unlock()
	for _, path := range files {
		if path == "" || strings.Contains(filepath.ToSlash(path), "/.terraform/") {
			continue
		}
		var all diag.List
		c.mu.Lock()
		for _, unit := range slices.Sorted(maps.Keys(c.found)) {
			all = all.Merged(c.found[unit][path])
		}
		c.mu.Unlock()
		if len(all) == 0 && !c.published[path] && v.Docs[path] == nil {
			continue
		}
		text := v.Text(path)
		if text == nil {
			all = nil
		}
		c.published[path] = len(all) > 0
		p := protocol.PublishParams{URI: v.URI(path), Diagnostics: []protocol.Diagnostic{}}
		if d := v.Docs[path]; d != nil {
			p.Version = &d.Version
		}
		for _, d := range all {
			if !d.Follows {
				p.Diagnostics = append(p.Diagnostics, c.diagnostic(c.ctx, v, text, d))
			}
		}
		if v.Docs[path] != nil {
			p.Diagnostics = append(p.Diagnostics, unused(c.ctx, v, path, text)...)
		}
		_ = c.conn.Notify(c.ctx, "textDocument/publishDiagnostics", p)
	}
}

// closed forgets what a closed document needed.
func (c *checks) closed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.pending.Go(c.forget)
	}
}

// forget takes back the problems of directories that are no longer checked.
func (c *checks) forget() {
	gone := c.project.Prune()
	if len(gone) == 0 {
		return
	}
	files := map[string]bool{}
	c.mu.Lock()
	for _, dir := range gone {
		for path := range c.found[dir] {
			files[path] = true
		}
		delete(c.found, dir)
	}
	c.mu.Unlock()
	c.send(c.project.View(), slices.Sorted(maps.Keys(files)))
}
