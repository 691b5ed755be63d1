package fetch

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"

	"weir.dev/weir/internal/lang/module"
)

// limits keep a small archive from filling the disk.
type limits struct {
	bytes int64 // of all files together
	files int
}

var defaultLimits = limits{bytes: 8 << 30, files: 500_000}

// kinds of archives by the end of a file name; longer ones first.
var kinds = []string{"tar.gz", "tar.bz2", "tar.tbz2", "tar.xz", "tgz", "tbz2", "txz", "zip", "tar"}

// kindOf is the kind of archive that a path names, or empty.
func kindOf(path string) string {
	for _, kind := range kinds {
		if strings.HasSuffix(path, "."+kind) {
			return kind
		}
	}
	return ""
}

// sniff is the kind of archive that a file begins like.
func sniff(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 262)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return "zip", nil
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "tar.gz", nil
	case bytes.HasPrefix(head, []byte("BZh")):
		return "tar.bz2", nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return "tar.xz", nil
	case bytes.HasSuffix(head, []byte("ustar")):
		return "tar", nil
	}
	return "", errors.New("the download is no archive of a known kind (zip, tar, tar.gz, tar.bz2, tar.xz)")
}

// unpack extracts an archive to a new directory.
func (f *Fetcher) unpack(file, kind, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	x := &extraction{root: root, left: f.limits}
	if kind == "zip" {
		err = x.zip(file)
	} else {
		err = x.tar(file, kind)
	}
	if err == nil {
		err = checkLinks(root)
	}
	if err != nil {
		return fmt.Errorf("the archive can't be unpacked: %w", err)
	}
	return nil
}

// An extraction writes into one directory. Paths that the operating system resolves stay inside, by root; names and links are checked besides, so that archives which mean to leave are rejected
// and not merely held back.
type extraction struct {
	root *os.Root
	left limits
}

func (x *extraction) zip(file string) error {
	r, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, entry := range r.File {
		if err := x.zipEntry(entry); err != nil {
			return fmt.Errorf("%q: %w", entry.Name, err)
		}
	}
	return nil
}

func (x *extraction) zipEntry(entry *zip.File) error {
	if entry.Mode().IsDir() {
		return x.dir(entry.Name)
	}
	in, err := entry.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	switch {
	case entry.Mode().IsRegular():
		return x.file(entry.Name, in, entry.Mode())
	case entry.Mode()&fs.ModeSymlink != 0:
		target, err := io.ReadAll(io.LimitReader(in, 4096))
		if err != nil {
			return err
		}
		return x.link(entry.Name, string(target))
	}
	return errors.New("it is neither a file, a directory nor a link")
}

func (x *extraction) tar(file, kind string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	stream, err := decompress(bufio.NewReader(in), kind)
	if err != nil {
		return err
	}
	r := tar.NewReader(stream)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := x.tarEntry(r, header); err != nil {
			return fmt.Errorf("%q: %w", header.Name, err)
		}
	}
}

func decompress(in io.Reader, kind string) (io.Reader, error) {
	switch kind {
	case "tar.gz", "tgz":
		return gzip.NewReader(in)
	case "tar.bz2", "tar.tbz2", "tbz2":
		return bzip2.NewReader(in), nil
	case "tar.xz", "txz":
		return xz.NewReader(in)
	case "tar":
		return in, nil
	}
	return nil, fmt.Errorf("archives of the kind %s aren't supported: use zip, tar.gz, tar.bz2 or tar.xz", kind)
}

func (x *extraction) tarEntry(in io.Reader, header *tar.Header) error {
	switch header.Typeflag {
	case tar.TypeXGlobalHeader, tar.TypeXHeader:
		return nil
	case tar.TypeDir:
		return x.dir(header.Name)
	case tar.TypeReg:
		return x.file(header.Name, in, header.FileInfo().Mode())
	case tar.TypeSymlink:
		return x.link(header.Name, header.Linkname)
	case tar.TypeLink:
		old, err := localName(header.Linkname)
		if err != nil {
			return err
		}
		name, err := x.prepare(header.Name)
		if err != nil {
			return err
		}
		return x.root.Link(old, name)
	}
	return errors.New("it is neither a file, a directory nor a link")
}

// localName is the name of an entry as a path that stays inside.
func localName(name string) (string, error) {
	clean := filepath.FromSlash(path.Clean(strings.TrimSuffix(name, "/")))
	if strings.Contains(name, `\`) && filepath.Separator == '\\' || !filepath.IsLocal(clean) {
		return "", errors.New("the name leads out of the package")
	}
	return clean, nil
}

// prepare counts an entry and makes the directory that it is in.
func (x *extraction) prepare(name string) (string, error) {
	if x.left.files--; x.left.files < 0 {
		return "", errors.New("the archive has too many files for a module")
	}
	local, err := localName(name)
	if err != nil {
		return "", err
	}
	if dir := filepath.Dir(local); dir != "." {
		if err := x.root.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	return local, nil
}

func (x *extraction) dir(name string) error {
	local, err := x.prepare(name)
	if err != nil || local == "." {
		return err
	}
	return x.root.MkdirAll(local, 0o755)
}

func (x *extraction) file(name string, in io.Reader, mode fs.FileMode) error {
	local, err := x.prepare(name)
	if err != nil {
		return err
	}
	if _, err := x.root.Lstat(local); err == nil {
		// The last one of a name counts; nothing is written through a link.
		if err := x.root.Remove(local); err != nil {
			return err
		}
	}
	out, err := x.root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm()&0o755|0o600)
	if err != nil {
		return err
	}
	most := x.left.bytes
	if module.IsSource(local) {
		most = min(most, module.MaxSource) // nobody could read more
	}
	n, err := io.Copy(out, io.LimitReader(in, most+1))
	switch x.left.bytes -= n; {
	case err != nil:
	case x.left.bytes < 0:
		err = errors.New("the archive is too large for a module")
	case n > most:
		err = fmt.Errorf("it is longer than a file of configuration may be, %d MiB", module.MaxSource>>20)
	}
	return errors.Join(err, out.Close())
}

func (x *extraction) link(name, target string) error {
	local, err := x.prepare(name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(local), filepath.FromSlash(target))) {
		return fmt.Errorf("the link to %q leads out of the package", target)
	}
	return x.root.Symlink(filepath.FromSlash(target), local)
}

// checkLinks finds links that leave a directory by way of other links.
func checkLinks(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink == 0 {
			return err
		}
		if _, err := root.Stat(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the link %q leads out of the package, or nowhere: %w", name, err)
		}
		return nil
	})
}
