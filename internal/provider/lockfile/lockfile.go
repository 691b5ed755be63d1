// Package lockfile reads and writes the dependency lock file, .terraform.lock.hcl, with the
// selected version and package hashes of each provider.
//
// It owns the format, which is that of OpenTofu and Terraform to the byte. It doesn't choose
// versions or compute hashes.
package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider/version"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// Name is the name of the file in the root module's directory.
const Name = ".terraform.lock.hcl"

// A Lock is the choice for one provider. Hashes are sorted, each is written
// SCHEME:VALUE: h1 is about the unpacked content, zh about the archive.
type Lock struct {
	Provider    addr.Provider
	Version     version.Version
	Constraints version.Constraints
	Hashes      []string
}

// Locks has at most one lock for each provider. The zero value is empty;
// methods with a pointer to it change it.
type Locks struct{ m map[addr.Provider]Lock }

// Get returns the lock of a provider.
func (l *Locks) Get(p addr.Provider) (Lock, bool) {
	lock, ok := l.m[p]
	return lock, ok
}

// Set adds or replaces a lock.
func (l *Locks) Set(lock Lock) {
	if l.m == nil {
		l.m = make(map[addr.Provider]Lock)
	}
	lock.Hashes = slices.Clone(lock.Hashes)
	slices.Sort(lock.Hashes)
	lock.Hashes = slices.Compact(lock.Hashes)
	l.m[lock.Provider] = lock
}

// Remove takes a lock out.
func (l *Locks) Remove(p addr.Provider) { delete(l.m, p) }

// Empty reports whether there is no lock.
func (l *Locks) Empty() bool { return len(l.m) == 0 }

// All lists the locks in order.
func (l *Locks) All() []Lock {
	return slices.SortedFunc(maps.Values(l.m), func(a, b Lock) int { return a.Provider.Compare(b.Provider) })
}

// Clone gives a copy to change.
func (l *Locks) Clone() *Locks { return &Locks{maps.Clone(l.m)} }

// Equal reports whether both would be written alike.
func (l *Locks) Equal(other *Locks) bool { return bytes.Equal(l.Bytes(""), other.Bytes("")) }

// SamePackages reports whether both select the same packages: versions and hashes. Constraints
// are only a record, and don't matter.
func (l *Locks) SamePackages(other *Locks) bool {
	return maps.EqualFunc(l.m, other.m, func(a, b Lock) bool {
		return a.Version.String() == b.Version.String() && slices.Equal(a.Hashes, b.Hashes)
	})
}

// SameProviders reports whether both are about the same providers.
func (l *Locks) SameProviders(other *Locks) bool {
	return maps.EqualFunc(l.m, other.m, func(a, b Lock) bool { return true })
}

// Adopt adds locks for providers of a registry whose namesake in the other public
// registry is locked: the version is kept, but not the hashes, since those are of
// other packages. It lists what it added.
func (l *Locks) Adopt(registry addr.Registry) []addr.Provider {
	var added []addr.Provider
	for _, lock := range l.All() {
		p := lock.Provider
		if !registry.Other().Has(p) || p.Namespace != "hashicorp" {
			continue
		}
		p.Host = string(registry)
		if _, ok := l.m[p]; !ok {
			l.Set(Lock{Provider: p, Version: lock.Version, Constraints: lock.Constraints})
			added = append(added, p)
		}
	}
	return added
}

// Bytes is the content of the file, which says that the init command of the given
// program maintains it.
func (l *Locks) Bytes(program string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# This file is maintained automatically by \"%s init\".\n# Manual edits may be lost in future updates.\n", program)
	for _, lock := range l.All() {
		fmt.Fprintf(&b, "\nprovider %s {\n", addr.Quote(lock.Provider.String()))
		if constraints := lock.Constraints.String(); constraints != "" {
			fmt.Fprintf(&b, "  version     = %s\n  constraints = %s\n", addr.Quote(lock.Version.String()), addr.Quote(constraints))
		} else {
			fmt.Fprintf(&b, "  version = %s\n", addr.Quote(lock.Version.String()))
		}
		if len(lock.Hashes) > 0 {
			b.WriteString("  hashes = [\n")
			for _, hash := range lock.Hashes {
				fmt.Fprintf(&b, "    %s,\n", addr.Quote(hash))
			}
			b.WriteString("  ]\n")
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

// Read reads a lock file. A file that isn't there has no locks.
func Read(path string) (*Locks, diag.List) {
	src, err := readlimit.File(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Locks{}, nil
	}
	if err != nil {
		var diags diag.List
		diags.Add(Invalid.As("Failed to read dependency lock file").New(diag.Error, "%s.", err))
		return &Locks{}, diags
	}
	return Parse(src, path)
}

// Write replaces the file, so that a reader sees the old or the new content; a file with that
// content is left alone. Without locks, a file that isn't it doesn't exist made.
func (l *Locks) Write(path, program string) error {
	content := l.Bytes(program)
	old, err := readlimit.File(path)
	if err == nil && bytes.Equal(old, content) || errors.Is(err, fs.ErrNotExist) && l.Empty() {
		return nil
	}
	if err := durable.Replace(path, content, 0o644); err != nil {
		return fmt.Errorf("can't write %s: %w", path, strip(err))
	}
	return nil
}

// strip leaves the name of the temporary file out.
func strip(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// CheckHash reports whether a hash has the form SCHEME:VALUE.
func CheckHash(hash string) error {
	scheme, value, ok := strings.Cut(hash, ":")
	if !ok || scheme == "" || value == "" {
		return fmt.Errorf("a hash is written SCHEME:VALUE, as in h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	}
	return nil
}
