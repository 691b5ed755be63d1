// Package fetch fetches modules to the disk: from registries, git repositories, archives on
// the web and directories.
//
// It owns the protocols and what is safe to unpack. It doesn't choose which modules are
// needed, to note what is installed or read configurations.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/net/sameorigin"
	"weir.dev/weir/internal/net/stalltimeout"
	"weir.dev/weir/internal/sys/durable"
)

// Tokens gives the bearer token for a host, or an empty one.
type Tokens interface {
	Token(ctx context.Context, host string) (string, error)
}

// Options are what a Fetcher takes from outside.
type Options struct {
	HTTP *http.Client // nil for the default client
	// Login finds who asks a registry of the OCI; nil for anybody.
	Login  func(ctx context.Context, from ociregistry.Repository) (ociregistry.Login, error)
	Tokens Tokens // nil for none
	// Buckets opens the bucket of a package; nil for none.
	Buckets func(Place) (Objects, error)
	// Services are what users wrote in place of service discovery, by host and
	// name of the service.
	Services map[string]map[string]any
	// Retries is how often a request to a registry is repeated, and Timeout
	// how long one may take; zero for no limit.
	Retries int
	Timeout time.Duration
	// Silence is for how long a server of packages may do nothing; 0 is no limit.
	Silence time.Duration
	// Version is the engine version that registries are reported.
	Version string
	// Environ is the environment of git, and where .netrc is looked up.
	Environ []string
	// Begin is notified of each package before it is fetched or copied; the version is empty
	// for sources without. Nil for nobody.
	Begin func(pkg, version string)
}

// A Fetcher is a module.Fetcher for one run of init. It fetches a package once
// and copies it where it is needed again.
type Fetcher struct {
	Options
	limits     limits
	containers *ociregistry.Client

	mu        sync.Mutex
	fetched   map[string]string // directories by package
	hosts     map[string]*host
	locations map[string]location // of versions of registry modules
}

var _ module.Fetcher = (*Fetcher)(nil)

// New gives a Fetcher.
func New(o Options) *Fetcher {
	if o.HTTP == nil {
		o.HTTP = http.DefaultClient
	}
	o.HTTP = stalltimeout.Client(sameorigin.Follow(o.HTTP), o.Silence)
	return &Fetcher{Options: o, limits: defaultLimits, containers: &ociregistry.Client{HTTP: o.HTTP, Login: o.Login}, fetched: map[string]string{}, hosts: map[string]*host{}, locations: map[string]location{}}
}

// Fetch implements module.Fetcher.
func (f *Fetcher) Fetch(ctx context.Context, source, constraint, dir string) (string, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	moduleDir, version, err := f.fetch(ctx, source, constraint, dir)
	if err != nil && ctx.Err() != nil {
		err = &module.Problem{Summary: "Module download was interrupted", Detail: fmt.Sprintf("The download of module %s was cancelled before it was complete.", source)}
	}
	return moduleDir, version, err
}

func (f *Fetcher) fetch(ctx context.Context, source, constraint, dir string) (moduleDir, version string, err error) {
	if registry, err := module.ParseRegistry(source); err == nil {
		return f.fromRegistry(ctx, registry, constraint, dir)
	}
	remote, err := module.ParseRemote(source)
	if err != nil {
		return "", "", err
	}
	f.begin(remote.Package(), "")
	if err := f.place(ctx, remote, dir); err != nil {
		return "", "", err
	}
	moduleDir, err = inside(dir, remote.Subdir)
	return moduleDir, "", err
}

func (f *Fetcher) begin(pkg, version string) {
	if f.Begin != nil {
		f.Begin(pkg, version)
	}
}

// place puts a package into a directory in place of what is there. The
// directory appears as a whole.
func (f *Fetcher) place(ctx context.Context, remote module.Remote, dir string) error {
	return f.placeAs(remote.Package(), dir, func(to string) error { return f.get(ctx, remote, to, 0) })
}

// placeAs puts the package with a name into a directory, by copying it when it
// was fetched before.
func (f *Fetcher) placeAs(pkg, dir string, get func(to string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := durable.NewScratch(filepath.Dir(dir), ".fetched")
	if err != nil {
		return err
	}
	defer tmp.Remove()
	fresh := tmp.Join("package")
	if from, ok := f.fetched[pkg]; ok && from != dir && exists(from) {
		err = duplicate(from, fresh)
	} else {
		err = get(fresh)
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("the old content can't be removed: %w", err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return err
	}
	for other, at := range f.fetched {
		if at == dir {
			delete(f.fetched, other)
		}
	}
	f.fetched[pkg] = dir
	return nil
}

// get fetches a package to a directory that doesn't exist yet.
func (f *Fetcher) get(ctx context.Context, remote module.Remote, to string, redirects int) error {
	switch remote.Getter {
	case "git":
		return f.git(ctx, remote.URL, to)
	case "http", "https":
		return f.web(ctx, remote, to, redirects)
	case "file":
		return f.file(remote.URL, to)
	case "hg":
		return f.hg(ctx, remote.URL, to)
	case "oci":
		return f.oci(ctx, remote.URL, to)
	case "s3", "gcs":
		return f.bucket(ctx, remote.Getter, remote.URL, to)
	case "ssh":
		return errors.New("it isn't known what kind of repository this is. For git, write git:: in front of the address")
	}
	return fmt.Errorf("there is no kind of source named %q: use git, hg, http, https, s3, gcs, oci or file", remote.Getter)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// inside finds the directory of a module in a package.
func inside(dir, subdir string) (string, error) {
	if subdir == "" {
		return dir, nil
	}
	if strings.ContainsAny(subdir, "*?[") && !exists(filepath.Join(dir, filepath.FromSlash(subdir))) {
		// Patterns are for the package alone: its own path may have brackets.
		found, err := fs.Glob(os.DirFS(dir), subdir)
		switch {
		case err != nil:
			return "", &module.Problem{Summary: "Failed to expand subdir globs", Detail: fmt.Sprintf("The subdirectory %q isn't a valid pattern: %s.", subdir, err)}
		case len(found) == 0:
			return "", &module.Problem{Summary: "Failed to expand subdir globs", Detail: fmt.Sprintf("Nothing in the package matches the subdirectory %q.", subdir)}
		case len(found) > 1:
			return "", &module.Problem{Summary: "Failed to expand subdir globs", Detail: fmt.Sprintf("The subdirectory %q matches more than one directory: %s.", subdir, strings.Join(found, ", "))}
		}
		subdir = found[0]
	}
	at := filepath.Join(dir, filepath.FromSlash(subdir))
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return "", &module.Problem{Summary: "Module subdirectory not found", Detail: fmt.Sprintf("The package has no directory %q. The requested subdirectory was %q.", missing(dir, subdir), subdir)}
	}
	return at, nil
}

// missing is the part of a subdirectory up to the first directory that isn't
// there.
func missing(dir, subdir string) string {
	parts := strings.Split(subdir, "/")
	for n := range parts {
		if part := path.Join(parts[:n+1]...); !exists(filepath.Join(dir, filepath.FromSlash(part))) {
			return part
		}
	}
	return subdir
}

// duplicate copies a package. Links stay links; version control stays out.
func duplicate(from, to string) error {
	if target, err := os.Readlink(from); err == nil {
		return os.Symlink(target, to) // a directory elsewhere on this disk
	}
	return filepath.WalkDir(from, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case slices.Contains([]string{".git", ".hg"}, entry.Name()):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(at)
			if err != nil {
				return err
			}
			return os.Symlink(link, target) // #nosec G122 -- into a directory of our own
		case !entry.Type().IsRegular():
			return nil
		}
		return copyFile(at, target, entry)
	})
}

// Copy puts what isn't hidden in a directory into another one, which has nothing
// of the same name.
func Copy(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := duplicateEntry(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

func duplicateEntry(from, to string, entry fs.DirEntry) error {
	if entry.IsDir() || entry.Type()&fs.ModeSymlink != 0 {
		return duplicate(from, to)
	}
	if !entry.Type().IsRegular() {
		return nil
	}
	return copyFile(from, to, entry)
}

func copyFile(from, to string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm()|0o600) // #nosec G703 -- a name that was listed in a directory
}

// getenv reads a variable of the environment that the fetcher was given.
func (f *Fetcher) getenv(name string) string {
	value := ""
	for _, pair := range f.Environ {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}
