package main

import (
	_ "embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed weir.rb
var formulaText string

var formulaTemplate = template.Must(template.New("weir.rb").Parse(formulaText))

// formula writes a Homebrew formula of the archives for macOS and Linux.
func (r *release) formula() error {
	list, err := digests(r.dir)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for _, s := range list {
		sums[s.Name] = s.Digest["sha256"]
	}
	type archive struct{ System, Arch, URL, Sum string }
	var archives []archive
	for _, p := range r.platforms {
		file := r.file(p.String() + ".tar.gz")
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue // Windows has a zip
		}
		system, arch := p.os, "intel"
		if system == "darwin" {
			system = "macos"
		}
		if p.arch == "arm64" {
			arch = "arm"
		}
		name := filepath.Base(file)
		archives = append(archives, archive{system, arch, strings.TrimSuffix(r.url, "/") + "/v" + r.version + "/" + name, sums[name]})
	}
	return create(filepath.Join(r.dir, "weir.rb"), func(w io.Writer) error {
		return formulaTemplate.Execute(w, map[string]any{"Version": r.version, "Archives": archives})
	})
}
