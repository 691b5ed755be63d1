package install

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/sys/durable"
)

// HashDir is the h1 hash of an unpacked package.
func HashDir(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return dirhash.HashDir(real, "", dirhash.Hash1)
}

// HashArchive gives the zh hash of an archive and the h1 hash of its content.
func HashArchive(path string) (zh, h1 string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", "", err
	}
	h1, err = dirhash.HashZip(path, dirhash.Hash1)
	return "zh:" + hex.EncodeToString(sum.Sum(nil)), h1, err
}

// Executable finds the provider's program in an unpacked package.
func Executable(dir string, p addr.Provider) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("the package directory can't be read: %w", err)
	}
	prefix := "terraform-provider-" + p.Type
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if ok && (rest == "" || rest[0] == '_' || rest[0] == '.') && !isDir(filepath.Join(dir, e.Name())) {
			return filepath.Join(dir, e.Name()), nil
		}
	}
	return "", fmt.Errorf("could not find executable file starting with %s in %s", prefix, dir)
}

// moveInto renames a new directory or link to where something older may be. Anything that has
// the same content stays, so that others can use it all the time.
func moveInto(from, to string) error {
	err := os.Rename(from, to)
	for range 10 {
		if err == nil || sameContent(from, to) {
			return nil
		}
		if err := moveAway(to); err != nil {
			return err
		}
		err = os.Rename(from, to)
	}
	return err
}

func sameContent(a, b string) bool {
	x, err := HashDir(a)
	if err != nil {
		return false
	}
	y, err := HashDir(b)
	return err == nil && x == y
}

// moveAway removes a package at once, for those who look at it.
func moveAway(path string) error {
	old, err := durable.NewScratch(filepath.Dir(path), ".replaced")
	if err != nil {
		return err
	}
	defer old.Remove()
	err = os.Rename(path, old.Join("x"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else did
	}
	return err
}

// unpack extracts an archive to a directory, which appears as a whole.
func unpack(archive, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	tmp, err := durable.NewScratch(filepath.Dir(to), ".unpacked")
	if err != nil {
		return err
	}
	defer tmp.Remove()
	if err := os.Chmod(tmp.Path, 0o755); err != nil {
		return err
	}
	if err := extract(archive, tmp.Path); err != nil {
		return fmt.Errorf("the archive %s can't be unpacked: %w", filepath.Base(archive), err)
	}
	return moveInto(tmp.Path, to)
}

func extract(archive, dir string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if len(r.File) > mostFiles {
		return errTooLarge
	}
	left := mostBytes
	for _, f := range r.File {
		n, err := extractFile(root, f, left)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		left -= n
	}
	return nil
}

// extractFile extracts a member, and returns its size, which may be so many bytes.
func extractFile(root *os.Root, f *zip.File, most int64) (n int64, err error) {
	name := filepath.FromSlash(f.Name)
	if !filepath.IsLocal(name) {
		return 0, errors.New("the name leads out of the package")
	}
	if strings.HasSuffix(f.Name, "/") {
		return 0, root.MkdirAll(name, 0o755)
	}
	if !f.Mode().IsRegular() {
		return 0, errors.New("it is neither a file nor a directory")
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode().Perm()|0o200)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, most+1))
	if err == nil && n > most {
		err = errTooLarge
	}
	return n, errors.Join(err, out.Close())
}

// link makes an unpacked package available at another place: by a symbolic
// link where the file system can, otherwise by a copy. A relative directory
// gives a relative link, so that the whole can be moved.
func link(from, to string) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if at, err := filepath.EvalSymlinks(to); err == nil && at == real {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	target, err := linkTarget(from, to)
	if err != nil {
		return err
	}
	tmp, err := durable.NewScratch(filepath.Dir(to), ".unpacked")
	if err != nil {
		return err
	}
	defer tmp.Remove()
	fresh := tmp.Join("x")
	if err := os.Symlink(target, fresh); err != nil {
		if err := os.CopyFS(fresh, os.DirFS(real)); err != nil {
			return err
		}
	}
	return moveInto(fresh, to)
}

func linkTarget(from, to string) (string, error) {
	absolute, err := filepath.Abs(from)
	if err != nil || filepath.IsAbs(from) {
		return absolute, err
	}
	parent, err := filepath.Abs(filepath.Dir(to))
	if err != nil {
		return "", err
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return "", err
	}
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return "", err
	}
	return filepath.Rel(parent, absolute)
}
