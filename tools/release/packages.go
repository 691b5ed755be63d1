package main

import (
	"io"
	"io/fs"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // formats of packages
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes packages of Debian, Fedora and Alpine for Linux.
func (r *release) packages() error {
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm", "apk"} {
			if err := r.pack(p, format); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) pack(p platform, format string) error {
	zsh := "/usr/share/zsh/site-functions/_weir"
	if format == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_weir"
	}
	var contents files.Contents
	add := func(source, destination string, mode int64) {
		contents = append(contents, &files.Content{Source: source, Destination: destination,
			FileInfo: &files.ContentFileInfo{Mode: fs.FileMode(mode), MTime: r.date, Owner: "root", Group: "root"}})
	}
	add(r.program(p), "/usr/bin/weir", 0o755)
	add(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/weir/copyright", 0o644)
	add(filepath.Join(r.root, "NOTICE"), "/usr/share/doc/weir/NOTICE", 0o644)
	add(filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/weir/CHANGELOG.md", 0o644)
	add(filepath.Join(r.work, "completions/weir.bash"), "/usr/share/bash-completion/completions/weir", 0o644)
	add(filepath.Join(r.work, "completions/_weir"), zsh, 0o644)
	add(filepath.Join(r.work, "completions/weir.fish"), "/usr/share/fish/vendor_completions.d/weir.fish", 0o644)
	pages, err := filepath.Glob(filepath.Join(r.work, "man", "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		add(page, "/usr/share/man/man1/"+filepath.Base(page), 0o644)
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "weir", Arch: p.arch, Platform: p.os, Version: r.version, MTime: r.date,
		Section: "admin", Priority: "optional", Maintainer: "The weir authors <release@weir.dev>", Vendor: "weir", Homepage: "https://weir.dev", License: "MPL-2.0",
		Description: "Plan and apply infrastructure that is described in files\nIt reads the configurations, states and provider plugins of OpenTofu and Terraform.",
		Overridables: nfpm.Overridables{
			Contents:   contents,
			Recommends: []string{"ca-certificates", "git"}, // for registries, and modules from git
			RPM:        nfpm.RPM{BuildHost: "weir.dev"},    // not the name of this machine
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.dir, packager.ConventionalFileName(info)), func(w io.Writer) error { return packager.Package(info, w) })
}
