package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/apparentlymart/go-versions/versions"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/lazyregexp"
	"weir.dev/weir/internal/provider/version"
)

// A CopyEvent is progress of Copy: about a provider without a version, about
// its version without a platform, about a package otherwise.
type CopyEvent struct {
	Provider    addr.Provider
	Builtin     bool // and therefore not copied
	Version     string
	Locked      bool   // the version is that of the lock file
	Constraints string // on the version
	Platform    string
	// Done: the package is there, after it was found to be good.
	Done           bool
	Authentication Authentication
}

// Copy fills a directory with packages of the required providers, from their
// registries whatever the configuration says, so that it can be a mirror: on
// this disk or, with the index files that it gets, on the web.
func Copy(ctx context.Context, o Options, dir string, platforms []string, tell func(CopyEvent)) diag.List {
	o.Config = only(o.Config, cliconfig.Method{Kind: cliconfig.Direct, DownloadRetries: -1})
	o.PluginDirs, o.Implied, o.Verified = nil, nil, nil
	var installers []*installer
	var diags diag.List
	for _, platform := range platforms {
		o.Platform = platform
		in, more := prepare(o)
		if more.HasErrors() {
			return more
		}
		installers = append(installers, in)
	}
	for _, p := range slices.SortedFunc(maps.Keys(o.Requirements), addr.Provider.Compare) {
		if p.IsBuiltin() {
			tell(CopyEvent{Provider: p, Builtin: true})
			continue
		}
		tell(CopyEvent{Provider: p})
		v, more := installers[0].chooseCopy(ctx, p, tell)
		diags.Append(more)
		if more.HasErrors() {
			continue
		}
		for _, in := range installers {
			diags.Append(in.copyPackage(ctx, p, v, dir, tell))
		}
	}
	if cancelled := interrupted(ctx); cancelled != nil {
		return cancelled
	}
	if err := writeIndexes(dir); err != nil {
		diags.Add(NotInstalled.As("Failed to update indexes").New(diag.Error, "%s.", err))
	}
	return diags
}

// chooseCopy finds the version to copy: that of the lock file, where it has one.
func (in *installer) chooseCopy(ctx context.Context, p addr.Provider, tell func(CopyEvent)) (version.Version, diag.List) {
	var diags diag.List
	constraints := in.constraints[p]
	ev := CopyEvent{Provider: p, Constraints: constraints.String()}
	lock, locked := in.locks.Get(p)
	switch {
	case locked && !constraints.Allowed().Has(lock.Version):
		diags.Add(InconsistentLocks.New(diag.Error, "The lock file has %s %s, which doesn't meet the constraints %s. To update the locked dependency selections to match a changed configuration, run:\n  %s", in.Registry.Display(p), lock.Version, constraints, diag.Run("init", "-upgrade")))
		return versions.Unspecified, diags
	case locked:
		ev.Version, ev.Locked = lock.Version.String(), true
		tell(ev)
		return lock.Version, nil
	case !in.locks.Empty():
		diags.Add(NotInstalled.As("Provider not found in lockfile").New(diag.Error, "Failed to find %s in the lock file. Run init to add it.", p))
		return versions.Unspecified, diags
	}
	available, _, err := in.versions(ctx, p)
	newest, ok := version.Newest(available, constraints.Allowed())
	if err == nil && !ok {
		err = fmt.Errorf("no releases match the given constraints %s", constraints)
	}
	if err != nil {
		diags.Add(Needed.As("Provider not available").New(diag.Error, "Failed to download %s from its origin registry: %s.", p, err))
		return versions.Unspecified, diags
	}
	ev.Version = newest.String()
	tell(ev)
	return newest, nil
}

// copyPackage downloads a package and puts it into the directory once it is
// known to be good.
func (in *installer) copyPackage(ctx context.Context, p addr.Provider, v version.Version, dir string, tell func(CopyEvent)) diag.List {
	ev := CopyEvent{Provider: p, Version: v.String(), Platform: in.Platform}
	tell(ev)
	var diags diag.List
	failed := func(summary string, err error) diag.List {
		diags.Add(NotInstalled.As(summary).New(diag.Error, "Failed to download %s v%s for %s: %s.", p, v, in.Platform, err))
		return diags
	}
	f, err := in.find(ctx, p, v)
	if err != nil {
		return failed("Provider release not available", err)
	}
	to := filepath.Join(dir, p.Host, p.Namespace, p.Type, fmt.Sprintf("terraform-provider-%s_%s_%s.zip", p.Type, v, in.Platform))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return failed("Cannot download provider release", err)
	}
	staged := filepath.Join(filepath.Dir(to), "."+filepath.Base(to))
	defer os.Remove(staged)
	if err := in.download(ctx, f, staged); err != nil {
		return failed("Cannot download provider release", err)
	}
	zh, h1, err := HashArchive(staged)
	if err != nil {
		return failed("Invalid provider package", err)
	}
	// The lock file may have no hash for this platform, but the registry has.
	if len(f.authorized) > 0 && !slices.Contains(f.authorized, zh) && !slices.Contains(f.authorized, h1) {
		return failed("Invalid provider package", errors.New("it doesn't have the checksum that the registry announced"))
	}
	if err := os.Rename(staged, to); err != nil {
		return failed("Cannot download provider release", err)
	}
	ev.Done, ev.Authentication = true, f.authentication
	tell(ev)
	return diags
}

var packageForm = lazyregexp.New(`^terraform-provider-(.+)_([0-9][^_]*)_([a-z0-9]+_[a-z0-9]+)\.zip$`)

// archiveIndex is what a network mirror reports one package.
type archiveIndex struct {
	Hashes []string `json:"hashes"`
	URL    string   `json:"url"`
}

// writeIndexes describes all archives in a mirror, also those that were there
// before.
func writeIndexes(dir string) error {
	archives, err := filepath.Glob(filepath.Join(globEscape(dir), "*", "*", "*", "terraform-provider-*.zip"))
	if err != nil {
		return err
	}
	byDir := map[string]map[string]map[string]archiveIndex{} // by directory, version and platform
	for _, path := range archives {
		at, name := filepath.Split(path)
		m := packageForm.Get().FindStringSubmatch(name)
		if m == nil || m[1] != filepath.Base(at) {
			continue
		}
		v, err := version.Parse(m[2])
		if err != nil {
			continue // not a package
		}
		zh, h1, err := HashArchive(path)
		if err != nil {
			return fmt.Errorf("failed to determine a hash value for %s: %w", path, err)
		}
		if byDir[at] == nil {
			byDir[at] = map[string]map[string]archiveIndex{}
		}
		if byDir[at][v.String()] == nil {
			byDir[at][v.String()] = map[string]archiveIndex{}
		}
		byDir[at][v.String()][m[3]] = archiveIndex{Hashes: []string{h1, zh}, URL: name}
	}
	for _, at := range slices.Sorted(maps.Keys(byDir)) {
		list := map[string]struct{}{}
		for v, archives := range byDir[at] {
			list[v] = struct{}{}
			if err := writeIndex(filepath.Join(at, v+".json"), map[string]any{"archives": archives}); err != nil {
				return err
			}
		}
		// Last, so that it never names a version that has no file yet.
		if err := writeIndex(filepath.Join(at, "index.json"), map[string]any{"versions": list}); err != nil {
			return err
		}
	}
	return nil
}

// globEscape makes a path a pattern that only matches itself.
func globEscape(path string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(path, `\$0`)
}

// writeIndex replaces a file at once: the directory may be in use.
func writeIndex(path string, content any) error {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".index-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
