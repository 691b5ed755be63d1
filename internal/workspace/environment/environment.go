// Package environment finds the files of a working directory, the values of variables, the selected
// workspace and the user's settings. It holds the environment, clock, randomness and output of
// the process.
//
// It owns what is where. It rejects programs, states and providers.
package environment

import (
	"cmp"
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

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/core/secret"
	"weir.dev/weir/internal/incremental/parsecache"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/plugin"
	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
	"weir.dev/weir/internal/workspace/statebackend"
	"weir.dev/weir/internal/workspace/workdir"
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
	Unchosen    bool   // nobody has said which dialect; it is the usual one
	Program     string // the name in messages that say what to run
	Command     string // the name of the command that runs; empty where no command does
	Executable  string // the file of the program; empty where it isn't the command
	Now         func() time.Time
	Random      io.Reader // of what has to be unique; not of keys
	// Who informs people who wait for a lock whose it is.
	Who func() string
	// Saving is for how long what was started may still be ended, such as saving and
	// unlocking; nil stands for without end.
	Saving func() context.Context
	// Interrupted is closed when people don't want to wait any longer for what another
	// program writes to a pipe; nil is never.
	Interrupted <-chan struct{}
	// SettingsVars are values of variables for operations that need them for the
	// settings of the backend and the encryption only.
	SettingsVars []Var
	// Values are values of variables that count more than all others.
	Values map[string]module.VariableInput
	// StateDisk is where states and journals are changed, and Processes reports who holds
	// locks; nil for those of the system.
	StateDisk *durable.Disk
	Processes storage.Processes
	// Upstreams are the directories of other stacks by their sources, before what the
	// user's settings say.
	Upstreams map[string]string
	// Workspace is the one to work in; empty stands for the selected one.
	Workspace string
	// FS has the files of the configuration in place of Dir, where everything is
	// that is written.
	FS fs.FS
	// Unsaved has the text of files that an editor has open, by absolute path; nil where no
	// editor asks. Local modules need no init then.
	Unsaved map[string][]byte
	// Notes has what applies are about to create where nothing may be written to the disk:
	// then there is no journal, and stores without room for a note of their own have theirs
	// here. nil stands for journals.
	Notes *storage.Notes
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
	Backend *statebackend.Backend
	// RemoteStates has the types of backends that terraform_remote_state reads; nil stands for all.
	RemoteStates storage.Registry
	// Memo has what texts of files were made into by earlier operations; nil for nothing.
	Memo *parsecache.Memo
	// Secrets learns which values must not be shown, for who shows what problems and logs say;
	// nil makes one.
	Secrets *secret.Known
	Reports
}

// Reports are how operations tell while they are under way. A nil function informs nobody.
type Reports struct {
	// Notice reports why it takes long.
	Notice func(text string)
	// Problem reports what can't be returned any more.
	Problem func(diag.List)
	// Aside is given warnings about states and keys, which are no part of any result, and
	// returns those that are to be reported with it nevertheless.
	Aside func(diag.List) diag.List
	// Settings reports warnings about the user's settings.
	Settings func(diag.List)
	// Log gets what providers log.
	Log io.Writer
}

// ErrNoAnswer is the error of asking where there is nobody to answer.
var ErrNoAnswer = errors.New("input is not available")

// A Place is a working directory with what is around it.
type Place struct {
	Options
	sources          *sources
	warnedOfSettings bool
	closers          []func()
}

// New is the place that the options name. Nothing is read yet.
func New(o Options) *Place {
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
	if o.Secrets == nil {
		o.Secrets = new(secret.Known)
	}
	return &Place{Options: o, sources: &sources{files: map[string][]byte{}}}
}

// With is the same place for operations that tell elsewhere.
func (d *Place) With(r Reports) *Place {
	o := d.Options
	o.Reports = r
	next := New(o)
	next.warnedOfSettings = d.warnedOfSettings
	next.AddSources(d.Sources())
	return next
}

// In is a place in another directory, named as seen from this one, with the same around
// it.
func (d *Place) In(dir string) *Place {
	o := d.Options
	o.Program += " -chdir=" + d.Seen(d.Path(dir))
	o.Dir, o.FS, o.Values, o.Workspace, o.Backend, o.Upstreams = d.Path(dir), nil, nil, "", nil, nil
	next := New(o)
	next.warnedOfSettings = d.warnedOfSettings
	return next
}

// Close ends the providers and releases the locks that are left.
func (d *Place) Close() {
	for _, f := range slices.Backward(d.closers) {
		f()
	}
	d.closers = nil
}

// OnClose adds something to do when the operations have ended, on every path.
func (d *Place) OnClose(f func()) { d.closers = append(d.closers, f) }

// sources are files that diagnostics may be about, by name.
type sources struct {
	mu    sync.Mutex
	files map[string][]byte
}

// Sources are the files that diagnostics may be about, by name.
func (d *Place) Sources() map[string][]byte {
	d.sources.mu.Lock()
	defer d.sources.mu.Unlock()
	return maps.Clone(d.sources.files)
}

// AddSources adds files that diagnostics may be about.
func (d *Place) AddSources(files map[string][]byte) {
	d.sources.mu.Lock()
	defer d.sources.mu.Unlock()
	maps.Copy(d.sources.files, files)
}

func (d *Place) AddSource(name string, data []byte) {
	d.AddSources(map[string][]byte{name: data})
}

// Path is where a file is that is named as seen from the directory.
func (d *Place) Path(name string) string {
	if d.Dir == "." || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Dir, name)
}

// Files are the directory's, by names as seen from it.
func (d *Place) Files() module.Files {
	disk := module.Disk{Root: d.Dir, FS: d.FS, Interrupted: d.Interrupted}
	if d.Unsaved != nil {
		return module.Edited{Files: disk, Root: d.Dir, Text: d.Unsaved}
	}
	return disk
}

// Silence is for how long a server may do nothing. Anything that is wrong with the setting is
// said where the backend takes it.
func (d *Place) Silence() time.Duration {
	limit, err := stalltimeout.Limit(d.Getenv)
	if err != nil {
		return stalltimeout.Usual
	}
	return limit
}

// Input reads what is named by hand, and may come from another program.
func (d *Place) Input(name string) ([]byte, error) { return readlimit.Any(d.Path(name), d.Interrupted) }

// ReadFile reads a file that is named as seen from the directory.
func (d *Place) ReadFile(name string) ([]byte, error) { return d.Files().ReadFile(name) }

// OptionalFile reads a file that needn't exist.
func (d *Place) OptionalFile(name string) ([]byte, error) {
	data, err := d.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return data, err
}

// Locks are what the dependency lock file has.
func (d *Place) Locks() (*lockfile.Locks, diag.List) {
	data, err := d.LockFile()
	if err != nil {
		return &lockfile.Locks{}, lockfile.Invalid.As("Failed to read dependency lock file").List("%s.", err)
	}
	return lockfile.Parse(data, d.Path(lockfile.Name))
}

// LockFile is the dependency lock file: where init has written it, or else beside the
// configuration.
func (d *Place) LockFile() ([]byte, error) {
	if d.FS != nil {
		if data, err := readlimit.File(d.Path(lockfile.Name)); !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return d.OptionalFile(lockfile.Name)
}

// Memory is what the directory remembers between operations.
func (d *Place) Memory() workdir.Dir { return workdir.Open(d.Dir, d.Environ["TF_DATA_DIR"]) }

// DataDir is where init puts things.
func (d *Place) DataDir() string { return filepath.Clean(d.Memory().Data()) }

// DataName is the data directory as seen from the directory.
func (d *Place) DataName() string {
	if d.FS != nil {
		return d.DataDir()
	}
	return filepath.Clean(workdir.Open(".", d.Environ["TF_DATA_DIR"]).Data())
}

// Environment is the environment as processes get it.
func (d *Place) Environment() []string {
	all := make([]string, 0, len(d.Environ))
	for _, name := range slices.Sorted(maps.Keys(d.Environ)) {
		all = append(all, name+"="+d.Environ[name])
	}
	return all
}

// Seen is a path as seen from where the command was given, for people.
func (d *Place) Seen(path string) string {
	there, err := filepath.Abs(path)
	if err != nil || d.OriginalDir == "" {
		return path
	}
	if rel, err := filepath.Rel(d.OriginalDir, there); err == nil {
		return rel
	}
	return path
}

// ProcessDir is where processes are started; empty is where this one is.
func (d *Place) ProcessDir() string {
	if d.Dir == "." {
		return ""
	}
	return d.Dir
}

func (d *Place) Getenv(name string) string { return d.Environ[name] }

func (d *Place) Disk() fsfuncs.Disk {
	return fsfuncs.Disk{Root: d.Dir, FS: d.FS, HomeDir: cmp.Or(d.Environ["HOME"], d.Home)}
}
