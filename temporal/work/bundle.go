package work

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/stack/shardedstate"
)

// A bundle is all that a worker needs of a stack: its files, those of local modules
// beside it, what init has installed of other modules, and the dependency lock file. The same files
// are always the same bytes.

// at says, on the first line of a bundle, where the stack is in it.
const at = "weir-stack"

// Pack makes a bundle of the stack in a directory, with the directories outside of it
// that it needs, which are given as seen from it.
func Pack(dir string, outside []string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root := dir
	folders := []string{dir}
	for _, o := range outside {
		folder := filepath.Join(dir, o)
		for !within(root, folder) {
			root = filepath.Dir(root)
		}
		folders = append(folders, folder)
	}
	files := map[string]string{} // by name in the bundle
	for _, folder := range folders {
		if err := collect(root, folder, files); err != nil {
			return nil, err
		}
	}
	place, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	return pack(filepath.ToSlash(place), files)
}

func within(folder, file string) bool {
	rel, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(rel)
}

// collect finds the files below a folder, but for states, what isn't of the stack, and
// what a worker installs itself.
func collect(root, folder string, files map[string]string) error {
	return filepath.WalkDir(folder, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		parent := filepath.Base(filepath.Dir(file))
		if e.IsDir() {
			skip := slices.Contains([]string{shardedstate.Dir, ".git", "terraform.tfstate.d"}, e.Name()) || parent == ".terraform" && e.Name() != "modules"
			if skip && file != folder {
				return fs.SkipDir
			}
			return nil
		}
		if parent == ".terraform" || strings.HasSuffix(e.Name(), ".tfplan") || strings.Contains(e.Name(), ".tfstate") {
			return nil
		}
		info, err := os.Stat(file) // what links lead to
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder, so workers can't get it. Put a copy in its place", file)
		}
		name, err := filepath.Rel(root, file)
		files[filepath.ToSlash(name)] = file
		return err
	})
}

func pack(place string, files map[string]string) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	add := func(name string, mode int64, data []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	err := add(at, 0o600, []byte(place))
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err != nil {
			break
		}
		var data []byte
		var info fs.FileInfo
		if data, err = os.ReadFile(files[name]); err == nil {
			info, err = os.Stat(files[name])
		}
		if err == nil {
			err = add(path.Join("root", name), int64(info.Mode().Perm()&0o700), data)
		}
	}
	err = errors.Join(err, w.Close(), z.Close())
	return b.Bytes(), err
}

// Unpack puts a bundle into a folder and returns the directory of the stack.
func Unpack(bundle []byte, folder string) (dir string, err error) {
	z, err := gzip.NewReader(bytes.NewReader(bundle))
	if err != nil {
		return "", err
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg {
			return "", fmt.Errorf("%q can't be in a bundle", h.Name)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return "", err
		}
		if h.Name == at {
			dir = string(data)
			continue
		}
		file := filepath.Join(folder, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, data, fs.FileMode(h.Mode)&0o700); err != nil {
			return "", err
		}
	}
	if dir == "" || !filepath.IsLocal(dir) && dir != "." {
		return "", errors.New("the bundle doesn't say where the stack is")
	}
	dir = filepath.Join(folder, "root", filepath.FromSlash(dir))
	return dir, os.MkdirAll(dir, 0o700)
}
