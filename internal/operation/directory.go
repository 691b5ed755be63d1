// Package operation is what one command does on one state: find the inputs, the
// backend, the encryption and the providers of a directory, load it, lock and
// read its state, plan, apply what was approved, and keep what came of it.
//
// It owns the order of these steps, whoever asks for them. It refuses flags,
// terminals and words about what was done, and takes from its caller what a
// process has only once: directories, environment, clock, randomness, answers
// of people. So any number of operations can be under way in one process.
package operation

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"weir.dev/weir/internal/addr"
	"weir.dev/weir/internal/backend"
	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/diag"
	"weir.dev/weir/internal/dialect"
	"weir.dev/weir/internal/engine"
	"weir.dev/weir/internal/module"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/workdir"
)

// Options are what the operations in a directory take from outside.
type Options struct {
	// Dir has the root module: "." for where the process is, or an absolute path.
	// Names of files, in what is given here and in diagnostics, start from there.
	Dir string
	// OriginalDir is what path.cwd says.
	OriginalDir string
	Environ     map[string]string
	Home        string // where the environment doesn't say
	Dialect     dialect.Dialect
	Program     string // the name in messages that say what to run
	Now         func() time.Time
	Random      io.Reader // of what has to be unique; not of keys
	// Who tells people who wait for a lock whose it is.
	Who func() string
	// Saving is for how long what was begun may still be ended, such as saving and
	// unlocking; nil stands for without end.
	Saving func() context.Context
	// SettingsVars are values of variables for operations that need them for the
	// settings of the backend and the encryption only.
	SettingsVars []Var
	// Values are values of variables that count more than all others.
	Values map[string]engine.VariableInput
	// Workspace is the one to work in; empty stands for the selected one.
	Workspace string
	// FS has the files of the configuration in place of Dir, where everything is
	// that is written.
	FS fs.FS
	// Unjournaled: an apply isn't recorded on disk while it runs. What it was about
	// to create isn't known any more where the process ends meanwhile.
	Unjournaled bool
	// Catalog has the providers; nil stands for those that are installed, and for
	// those that follow.
	Catalog provider.Catalog
	// Inside are providers within this process, Attached those that run already.
	Inside   map[addr.Provider]plugin.Builtin
	Attached map[addr.Provider]plugin.Reattach
	// Installation says where providers are installed from; nil leaves that to the
	// user's settings.
	Installation *cliconfig.Installation
	// Backend has the states; nil stands for the one that is configured.
	Backend *backend.Backend
	Reports
}

// Reports are how operations tell while they are under way. A nil
// function tells nobody.
type Reports struct {
	// Notice tells why it takes long.
	Notice func(text string)
	// Problem tells of what can't be returned any more.
	Problem func(diag.List)
	// Aside is given warnings about states and keys, which are no part of any
	// result, and returns those that are to be told with it nevertheless.
	Aside func(diag.List) diag.List
	// Settings tells of warnings about the user's settings.
	Settings func(diag.List)
	// Log gets what providers log.
	Log io.Writer
}

// ErrNoAnswer is the error of asking where there is nobody to answer.
var ErrNoAnswer = errors.New("input is not available")

// A Directory is a working directory with what was found out about it. Its
// operations follow one another; With has others at the same time.
type Directory struct {
	Options
	sealing          *sealing
	sources          *sources
	warnedOfSettings bool
	closers          []func()
}

// New is the directory that the options name. Nothing is read yet.
func New(o Options) *Directory {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Problem == nil {
		o.Problem = func(diag.List) {}
	}
	if o.Aside == nil {
		o.Aside = func(l diag.List) diag.List { return l }
	}
	if o.Settings == nil {
		o.Settings = func(diag.List) {}
	}
	return &Directory{Options: o, sealing: &sealing{}, sources: &sources{files: map[string][]byte{}}}
}

// With is the same directory for operations that tell elsewhere. What it
// opens it closes itself.
func (d *Directory) With(r Reports) *Directory {
	o := d.Options
	o.Reports = r
	next := New(o)
	next.sealing, next.warnedOfSettings = d.sealing, d.warnedOfSettings
	next.AddSources(d.Sources())
	return next
}

// Close ends the providers and releases the locks that are left.
func (d *Directory) Close() {
	for _, f := range slices.Backward(d.closers) {
		f()
	}
	d.closers = nil
}

// onClose adds something to do when the operations have ended, on every path.
func (d *Directory) onClose(f func()) { d.closers = append(d.closers, f) }

// sources are files that diagnostics may be about, by name.
type sources struct {
	mu    sync.Mutex
	files map[string][]byte
}

// Sources are the files that diagnostics may be about, by name.
func (d *Directory) Sources() map[string][]byte {
	d.sources.mu.Lock()
	defer d.sources.mu.Unlock()
	return maps.Clone(d.sources.files)
}

// AddSources adds files that diagnostics may be about.
func (d *Directory) AddSources(files map[string][]byte) {
	d.sources.mu.Lock()
	defer d.sources.mu.Unlock()
	maps.Copy(d.sources.files, files)
}

func (d *Directory) addSource(name string, data []byte) {
	d.AddSources(map[string][]byte{name: data})
}

// path is where a file is that is named as seen from the directory.
func (d *Directory) path(name string) string {
	if d.Dir == "." || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Dir, name)
}

// Files are the directory's, by names as seen from it.
func (d *Directory) Files() module.Files { return module.Disk{Root: d.Dir, FS: d.FS} }

// readFile reads a file that is named as seen from the directory.
func (d *Directory) readFile(name string) ([]byte, error) { return d.Files().ReadFile(name) }

// optionalFile reads a file that needn't exist.
func (d *Directory) optionalFile(name string) ([]byte, error) {
	data, err := d.readFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}

// locks are what the dependency lock file has.
func (d *Directory) locks() (*lockfile.Locks, diag.List) {
	data, err := d.lockFile()
	if err != nil {
		return &lockfile.Locks{}, diag.OneError("Failed to read dependency lock file", "%s.", err)
	}
	return lockfile.Parse(data, d.path(lockfile.Name))
}

// lockFile is the dependency lock file: where init has written it, or else beside the
// configuration.
func (d *Directory) lockFile() ([]byte, error) {
	if d.FS != nil {
		if data, err := os.ReadFile(d.path(lockfile.Name)); !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return d.optionalFile(lockfile.Name)
}

// Memory is what the directory remembers between operations.
func (d *Directory) Memory() workdir.Dir { return workdir.Open(d.Dir, d.Environ["TF_DATA_DIR"]) }

// DataDir is where init puts things.
func (d *Directory) DataDir() string { return filepath.Clean(d.Memory().Data()) }

// dataName is the data directory as seen from the directory.
func (d *Directory) dataName() string {
	if d.FS != nil {
		return d.DataDir()
	}
	return filepath.Clean(workdir.Open(".", d.Environ["TF_DATA_DIR"]).Data())
}

// environ is the environment as processes get it.
func (d *Directory) environ() []string {
	all := make([]string, 0, len(d.Environ))
	for _, name := range slices.Sorted(maps.Keys(d.Environ)) {
		all = append(all, name+"="+d.Environ[name])
	}
	return all
}

// processDir is where processes are started; empty is where this one is.
func (d *Directory) processDir() string {
	if d.Dir == "." {
		return ""
	}
	return d.Dir
}

func (d *Directory) getenv(name string) string { return d.Environ[name] }
