package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/lockfile"
	"weir.dev/weir/internal/provider/version"
	"weir.dev/weir/internal/sys/durable"
)

// provide puts the chosen version into the working directory, over the shared
// cache when there is one.
func (in *installer) provide(ctx context.Context, p addr.Provider, r *result, emit func(Event)) {
	v := r.version
	old, _ := in.locks.Get(p)
	known := lockfile.Lock{Provider: p, Version: v}
	if old.Version == v {
		known.Hashes = old.Hashes // another version has other packages
	}
	r.lock = known
	r.lock.Constraints = in.constraints[p]

	target := in.target(p, v)
	if r.inPlace || in.fits(target, known) {
		emit(Event{Kind: AlreadyInstalled, Provider: p, Version: v.String()})
		return
	}
	cache := in.Config.PluginCacheDir
	if cache == "" {
		in.fetch(ctx, p, target, known, r, emit, false)
		return
	}
	shared := packageDir(cache, p, v, in.Platform)
	switch {
	case in.fits(shared, known):
		emit(Event{Kind: AlreadyInstalled, Provider: p, Version: v.String(), Shared: true})
	case in.Config.CacheMayBreakLocks && len(known.Hashes) == 0 && hasExecutable(shared, p):
		hash, err := in.Verified.hash(shared)
		if err != nil {
			in.installFailed(p, v, r, err)
			return
		}
		r.lock.Hashes = []string{hash}
		r.incomplete = true
	default:
		if in.fetch(ctx, p, shared, known, r, emit, true); r.diags.HasErrors() {
			return
		}
	}
	if err := link(shared, target); err != nil {
		r.diags.Add(NotInstalled.As("Failed to install provider from shared cache").New(diag.Error, "Error while importing %s v%s from the shared cache directory: %s.", in.Registry.Display(p), v, err))
		return
	}
	emit(Event{Kind: Linked, Provider: p, Version: v.String(), Shared: true})
}

func hasExecutable(dir string, p addr.Provider) bool {
	_, err := Executable(dir, p)
	return err == nil
}

func (in *installer) installFailed(p addr.Provider, v version.Version, r *result, err error) {
	d := NotInstalled.New(diag.Error, "Error while installing %s v%s: %s", in.Registry.Display(p), v, err)
	if errors.As(err, new(unsuitable)) {
		d.Code, d.Summary = "", "Incompatible provider version"
	}
	r.diags.Add(d)
	r.lock = lockfile.Lock{}
}

// unsuitable: there is a package, but it can't be used.
type unsuitable struct{ why string }

func (u unsuitable) Error() string { return u.why }

// fetch gets a package from its source to a directory and updates the lock.
func (in *installer) fetch(ctx context.Context, p addr.Provider, to string, known lockfile.Lock, r *result, emit func(Event), shared bool) {
	v := r.version
	f, err := in.find(ctx, p, v)
	if err == nil {
		emit(Event{Kind: Installing, Provider: p, Version: v.String(), Shared: shared})
		var hashes []string
		f.told = func(done, size int64, over bool) {
			emit(Event{Kind: Downloading, Provider: p, Version: v.String(), Done: done, Size: size, Over: over})
		}
		hashes, err = in.unpackFound(ctx, p, f, to, known)
		r.lock.Hashes = slices.Concat(known.Hashes, hashes, f.lockable)
		r.incomplete = len(f.lockable) == 0 && onlyLocal(known.Hashes, hashes)
	}
	if err != nil {
		in.installFailed(p, v, r, err)
		return
	}
	emit(Event{Kind: Installed, Provider: p, Version: v.String(), Shared: shared, Authentication: f.authentication, KeyID: f.keyID})
}

// onlyLocal reports whether nothing was known but what is known of the
// package of this platform.
func onlyLocal(known, local []string) bool {
	for _, hash := range known {
		if !slices.Contains(local, hash) {
			return false
		}
	}
	return true
}

// unpackFound checks a package and puts it in place. It returns the hashes
// that it has.
func (in *installer) unpackFound(ctx context.Context, p addr.Provider, f *found, to string, known lockfile.Lock) ([]string, error) {
	if f.dir != "" {
		hash, err := in.Verified.hash(f.dir)
		if err != nil {
			return nil, err
		}
		if err := check([]string{hash}, f.authorized, known); err != nil {
			return nil, err
		}
		if _, err := Executable(f.dir, p); err != nil {
			return nil, err
		}
		return []string{hash}, link(f.dir, to)
	}
	archive := f.archive
	remote := f.url != "" || f.blob != nil
	if remote {
		tmp, err := durable.NewScratch("", "weir-provider")
		if err != nil {
			return nil, err
		}
		defer tmp.Remove()
		archive = tmp.Join("package.zip")
		if err := in.download(ctx, f, archive); err != nil {
			return nil, err
		}
	}
	zh, h1, err := HashArchive(archive)
	if err != nil {
		return nil, fmt.Errorf("the archive can't be read: %w", err)
	}
	if err := check([]string{zh, h1}, f.authorized, known); err != nil {
		return nil, err
	}
	if err := unpack(archive, to); err != nil {
		return nil, err
	}
	if _, err := Executable(to, p); err != nil {
		return nil, err
	}
	if !remote {
		return []string{h1}, nil
	}
	return []string{h1, zh}, nil
}

// check holds a package with the given hashes to what the source and the lock
// file know.
func check(hashes, authorized []string, known lockfile.Lock) error {
	has := func(hash string) bool { return slices.Contains(hashes, hash) }
	if len(authorized) > 0 && !slices.ContainsFunc(authorized, has) {
		return fmt.Errorf("the package doesn't have the checksum that its source announced, %s: it may be damaged or tampered with", strings.Join(authorized, " or "))
	}
	understood := slices.DeleteFunc(slices.Clone(known.Hashes), func(hash string) bool {
		return !strings.HasPrefix(hash, "h1:") && !strings.HasPrefix(hash, "zh:")
	})
	if len(understood) > 0 && !slices.ContainsFunc(understood, has) {
		return diag.Say("the package doesn't match any of the checksums previously recorded in the dependency lock file "+
			"(they may be those of packages for other platforms). If the new package is to be trusted, "+
			"run \"%s\", or delete the hashes of %s from %s", diag.Run("providers lock", ""), known.Provider, lockfile.Name)
	}
	return nil
}
