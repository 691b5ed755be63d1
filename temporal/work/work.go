// Package work runs the steps of rounds with the operations of weir: in its own directory,
// under a lease, on a copy of the deployment's files. Every change is in the depot before it
// is in the copy.
//
// It owns this directory, and what of plans and problems the workflow gets to see. It doesn't
// know when steps are made, and who asked.
package work

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/provider/install"
	"weir.dev/weir/internal/roots"
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/rounds"
)

// A Worker carries out steps. Any number of them may be under way.
type Worker struct {
	Depot depot.Depot
	// Dir is where this process has its copies. Nothing in it is needed afterwards.
	Dir string
	// Holder informs people who has a lease.
	Holder string
	// Long is how long a lease lasts that isn't renewed.
	Long       time.Duration
	Environ    map[string]string
	Home       string
	Executable string
	Dialect    dialect.Dialect
	Program    string
	Log        io.Writer
	// Most is how many steps are made at the same time.
	Most int

	mu      sync.Mutex
	bundles map[string]*bundle
	busy    map[string]chan struct{}
}

// A bundle is one that is unpacked and initialized.
type bundle struct {
	once  sync.Once
	dir   string
	diags diag.List
	err   error

	// roots are the root modules by their names, nil for a stack.
	roots map[string]*roots.Root
	// ready are the roots that were initialized. The mutex guards it.
	mu    sync.Mutex
	ready map[string]bool

	// The steps under way in it share the processes of providers. The worker guards these.
	steps int
	pool  *providersource.Common
	end   func()
}

// A failure is a problem of the configuration or of providers: to try again makes no
// difference.
type failure struct{ diags diag.List }

func (f failure) Error() string { return Text(f.diags) }

// Text is what people are notified of problems.
func Text(diags diag.List) string {
	var b strings.Builder
	for _, d := range diags {
		if d.Severity != diag.Error {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "Error: %s", d.Summary)
		if d.Subject != nil {
			fmt.Fprintf(&b, "\n  on %s line %d", filepath.Base(d.Subject.Filename), d.Subject.Start.Line)
		}
		if d.Detail != "" {
			b.WriteString("\n\n" + d.Detail)
		}
	}
	return b.String()
}

// A site is a deployment or a root module under a lease, in a directory.
type site struct {
	// Stack and one are those of a deployment, nil for a root.
	*workspace.Stack
	one     *deploy.Deployment
	dir     *workspace.Directory
	subject workspace.Subject
	vars    []environment.Var // of a root
	close   func()
	ctx     context.Context // ends when the lease is lost
	look    context.Context // ends also when nothing new is to be started
	stop    <-chan struct{} // is closed then
}

// key is the name of a deployment's files in the depot.
func key(stack, deployment string) string { return stack + "/" + deployment }

// at does something in the directory of a deployment or root, under its lease. When the context ends
// nothing new is to be started. The result may be a failure.
func (w *Worker) at(ctx context.Context, r rounds.Request, do func(*site) error) error {
	name := key(r.Stack, r.Deployment)
	done, err := w.alone(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	b, err := w.bundle(ctx, r.Bundle, r.States != "")
	if err != nil {
		return err
	}
	lease, err := w.claim(ctx, name, r)
	if err != nil {
		return err
	}
	// An interrupt lets end what is under way; a lost lease doesn't.
	held, release := depot.Hold(context.WithoutCancel(ctx), w.Depot, lease, w.Long)
	defer release()
	m := &mirror{ctx: held, depot: w.Depot, lease: lease, folder: filepath.Join(b.dir, shardedstate.Dir, r.Deployment)}
	open := w.openDeployment
	if r.States != "" {
		// Roots may have names below those of others, and a folder has the files of one.
		m.folder, open = filepath.Join(w.Dir, "states", depot.Hash([]byte(name))), w.openRoot
	}
	if err := m.fill(); err != nil {
		return err
	}
	defer os.RemoveAll(m.folder)
	s, err := open(held, b, r, m)
	if err != nil {
		return err
	}
	defer s.close()
	look, end := context.WithCancel(held)
	defer end()
	defer context.AfterFunc(ctx, end)()
	s.ctx, s.look, s.stop = held, look, ctx.Done()
	err = do(s)
	if cause := context.Cause(held); err != nil && cause != nil {
		err = cause
	}
	return err
}

// openDeployment opens a deployment of the stack in a bundle, with its state in the folder of a
// mirror.
func (w *Worker) openDeployment(ctx context.Context, b *bundle, r rounds.Request, m *mirror) (_ *site, err error) {
	pool, leave := w.enter(b)
	d := workspace.New(w.options(b.dir, m))
	s := &site{dir: d, close: func() { d.Close(); leave() }}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if d.Place.Upstreams, err = w.upstreams(ctx, b.dir); err != nil {
		return nil, err
	}
	stack, diags := workspace.OpenStack(ctx, d)
	if diags.HasErrors() {
		return nil, failure{diags}
	}
	stack.Use(pool)
	list, more := stack.Choose([]string{r.Deployment})
	if diags.Append(more); diags.HasErrors() {
		return nil, failure{diags}
	}
	if more := stack.Evaluate(ctx, list); more.HasErrors() {
		return nil, failure{more}
	}
	s.Stack, s.one, s.subject = stack, list[0], stack.Subject(list[0])
	return s, nil
}

// alone waits until no other step of this process is about a deployment.
func (w *Worker) alone(ctx context.Context, name string) (done func(), err error) {
	for {
		w.mu.Lock()
		if w.busy == nil {
			w.busy = map[string]chan struct{}{}
		}
		before := w.busy[name]
		if before == nil {
			mine := make(chan struct{})
			w.busy[name] = mine
			w.mu.Unlock()
			return func() {
				w.mu.Lock()
				delete(w.busy, name)
				w.mu.Unlock()
				close(mine)
			}, nil
		}
		w.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *Worker) options(dir string, m *mirror) environment.Options {
	o := environment.Options{
		Dir: dir, OriginalDir: dir, Environ: w.Environ, Home: w.Home, Dialect: w.Dialect, Program: w.Program, Executable: w.Executable,
		Now: time.Now, Random: rand.Reader, Who: func() string { return w.Holder },
		Reports: environment.Reports{Log: w.Log, Problem: func(l diag.List) { fmt.Fprintln(w.Log, Text(l)) }},
	}
	if m != nil {
		o.StateDisk = m.disk()
	}
	return o
}

// processes is how many processes of providers there may be for each step under way, but
// for those that one step needs by itself.
const processes = 10

// enter is the pool of a bundle for one more step. The last one that leaves ends its
// processes: what they have found out, such as credentials, isn't kept for later.
func (w *Worker) enter(b *bundle) (p *providersource.Common, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.steps == 0 {
		d := workspace.New(w.options(b.dir, nil))
		d.Settings.OfStack()
		b.pool, b.end = d.Providers.Common(processes*max(1, w.Most)), d.Close
	}
	b.steps++
	return b.pool, func() {
		w.mu.Lock()
		b.steps--
		end := b.end
		if b.steps > 0 {
			end = func() {}
		}
		w.mu.Unlock()
		end()
	}
}

// bundle unpacks a bundle, once in this process. For a stack it also installs the providers.
func (w *Worker) bundle(ctx context.Context, hash string, ofRoots bool) (*bundle, error) {
	name := hash
	if ofRoots {
		name += " with roots"
	}
	w.mu.Lock()
	if w.bundles == nil {
		w.bundles = map[string]*bundle{}
	}
	b := w.bundles[name]
	if b == nil {
		b = &bundle{}
		w.bundles[name] = b
	}
	w.mu.Unlock()
	b.once.Do(func() { b.err = w.unpack(context.WithoutCancel(ctx), hash, b, ofRoots) })
	if b.err != nil { // perhaps not the next time
		w.mu.Lock()
		if w.bundles[name] == b {
			delete(w.bundles, name)
		}
		w.mu.Unlock()
		return nil, b.err
	}
	if b.diags.HasErrors() {
		return nil, failure{b.diags}
	}
	return b, nil
}

func (w *Worker) unpack(ctx context.Context, hash string, b *bundle, ofRoots bool) error {
	data, err := w.Depot.Get(ctx, hash)
	if err != nil {
		return fmt.Errorf("the files can't be had: %w", err)
	}
	if err := private(w.Dir); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(w.Dir, hash[:12]+"-")
	if err != nil {
		return err
	}
	if b.dir, err = Unpack(data, folder); err != nil {
		return err
	}
	if ofRoots {
		b.diags = w.findRoots(ctx, b)
		return nil
	}
	d := workspace.New(w.options(b.dir, nil))
	defer d.Close()
	s, diags := workspace.OpenStack(ctx, d)
	if !diags.HasErrors() {
		diags.Append(workspace.StackInit{Stack: s, Deployments: s.Deployments, Init: workspace.Init{Backend: true}}.Run(ctx, quiet{}))
	}
	b.diags = diags
	return nil
}

// quiet informs nobody of an initialization, in which nothing is asked.
type quiet struct{}

func (quiet) Begins(workspace.Part) {}
func (quiet) BackendSet(string)     {}
func (quiet) BackendUnset(string)   {}
func (quiet) Copy(context.Context, workspace.Copies) (bool, error) {
	return false, environment.ErrNoAnswer
}
func (quiet) Choose(context.Context, string, []string) (string, error) {
	return "", environment.ErrNoAnswer
}
func (quiet) Chosen(string)          {}
func (quiet) Module(string)          {}
func (quiet) Provider(install.Event) {}
func (quiet) Locked(bool)            {}

// NewDir is a directory below a data directory for a process that begins; those of
// processes that have ended are removed.
func NewDir(data string) (string, error) {
	folder := filepath.Join(data, "run")
	if err := private(folder); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if path := filepath.Join(folder, e.Name()); e.IsDir() && !inUse(path) {
			_ = os.RemoveAll(path)
		}
	}
	var own [6]byte
	_, _ = rand.Read(own[:])
	dir := filepath.Join(folder, hex.EncodeToString(own[:]))
	if err := private(dir); err != nil {
		return "", err
	}
	return dir, use(dir)
}
