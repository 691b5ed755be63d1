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
	"weir.dev/weir/internal/stack/deploy"
	"weir.dev/weir/internal/stack/shardedstate"
	"weir.dev/weir/internal/workspace"
	"weir.dev/weir/internal/workspace/environment"
	"weir.dev/weir/internal/workspace/providersource"
	"weir.dev/weir/temporal/depot"
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

// A site is a deployment under a lease, in a directory.
type site struct {
	*workspace.Stack
	one  *deploy.Deployment
	ctx  context.Context // ends when the lease is lost
	look context.Context // ends also when nothing new is to be started
	stop <-chan struct{} // is closed then
}

// key is the name of a deployment's files in the depot.
func key(stack, deployment string) string { return stack + "/" + deployment }

// at does something in the directory of a deployment, under its lease. When the context ends
// nothing new is to be started. The result may be a failure.
func (w *Worker) at(ctx context.Context, stack, deployment, hash string, do func(*site) error) error {
	name := key(stack, deployment)
	done, err := w.alone(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	b, err := w.bundle(ctx, hash)
	if err != nil {
		return err
	}
	lease, err := depot.Wait(ctx, w.Depot, name, w.Holder, w.Long, func() {})
	if err != nil {
		return err
	}
	// An interrupt lets end what is under way; a lost lease doesn't.
	held, release := depot.Hold(context.WithoutCancel(ctx), w.Depot, lease, w.Long)
	defer release()
	m := &mirror{ctx: held, depot: w.Depot, lease: lease, folder: filepath.Join(b.dir, shardedstate.Dir, deployment)}
	if err := m.fill(); err != nil {
		return err
	}
	defer os.RemoveAll(m.folder)
	pool, leave := w.enter(b)
	defer leave()
	d := workspace.New(w.options(b.dir, m))
	defer d.Close()
	if d.Place.Upstreams, err = w.upstreams(ctx, b.dir); err != nil {
		return err
	}
	s, diags := workspace.OpenStack(held, d)
	if diags.HasErrors() {
		return failure{diags}
	}
	s.Use(pool)
	list, more := s.Choose([]string{deployment})
	if diags.Append(more); diags.HasErrors() {
		return failure{diags}
	}
	if more := s.Evaluate(held, list); more.HasErrors() {
		return failure{more}
	}
	look, end := context.WithCancel(held)
	defer end()
	defer context.AfterFunc(ctx, end)()
	err = do(&site{s, list[0], held, look, ctx.Done()})
	if cause := context.Cause(held); err != nil && cause != nil {
		err = cause
	}
	return err
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

// bundle unpacks a bundle and installs its providers, once in this process.
func (w *Worker) bundle(ctx context.Context, hash string) (*bundle, error) {
	w.mu.Lock()
	if w.bundles == nil {
		w.bundles = map[string]*bundle{}
	}
	b := w.bundles[hash]
	if b == nil {
		b = &bundle{}
		w.bundles[hash] = b
	}
	w.mu.Unlock()
	b.once.Do(func() { b.err = w.unpack(context.WithoutCancel(ctx), hash, b) })
	if b.err != nil { // perhaps not the next time
		w.mu.Lock()
		if w.bundles[hash] == b {
			delete(w.bundles, hash)
		}
		w.mu.Unlock()
		return nil, b.err
	}
	if b.diags.HasErrors() {
		return nil, failure{b.diags}
	}
	return b, nil
}

func (w *Worker) unpack(ctx context.Context, hash string, b *bundle) error {
	data, err := w.Depot.Get(ctx, hash)
	if err != nil {
		return fmt.Errorf("the files of the stack can't be had: %w", err)
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
