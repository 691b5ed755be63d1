package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"

	"weir.dev/weir/tools/sbom"
)

// An entry is a file of an archive.
type entry struct {
	name, source string
	mode         int64
}

// archives writes an archive and a list of modules for each platform.
func (r *release) archives() error {
	for _, p := range r.platforms {
		entries, err := r.entries(p)
		if err != nil {
			return err
		}
		pack, suffix := r.tarball, ".tar.gz"
		if p.os == "windows" {
			pack, suffix = r.zipped, ".zip"
		}
		if err := create(r.file(p.String()+suffix), func(w io.Writer) error { return pack(w, entries) }); err != nil {
			return err
		}
		if err := sbom.Write(r.program(p), r.file(p.String()+".cdx.json"), r.version); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) entries(p platform) ([]entry, error) {
	program := r.program(p)
	list := []entry{{filepath.Base(program), program, 0o755}}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		list = append(list, entry{name, filepath.Join(r.root, name), 0o644})
	}
	for _, dir := range []string{"completions", "man"} {
		files, err := filepath.Glob(filepath.Join(r.work, dir, "*"))
		if err != nil {
			return nil, err
		}
		slices.Sort(files)
		for _, file := range files {
			list = append(list, entry{dir + "/" + filepath.Base(file), file, 0o644})
		}
	}
	return list, nil
}

func (r *release) tarball(out io.Writer, entries []entry) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		data, err := os.ReadFile(e.source)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(data)), ModTime: r.date, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return z.Close()
}

func (r *release) zipped(out io.Writer, entries []entry) error {
	w := zip.NewWriter(out)
	for _, e := range entries {
		data, err := os.ReadFile(e.source)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.date.UTC()}
		header.SetMode(os.FileMode(e.mode))
		file, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(data); err != nil {
			return err
		}
	}
	return w.Close()
}

// create writes a file.
func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
