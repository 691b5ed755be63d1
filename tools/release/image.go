package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The user of the image. Debian has no such number.
const user = "65532"

// image writes an OCI image for all architectures of Linux as one file. It has Debian's git,
// OpenSSH client and certificates. scripts/rootfs makes these root file systems.
func (r *release) image(rootfs string) error {
	if rootfs == "" {
		return nil
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		image, err := r.imageFor(p, filepath.Join(rootfs, "rootfs-"+p.arch+".tar"))
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.os, Architecture: p.arch},
		}})
	}
	dir := filepath.Join(r.work, "image")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// Loading the file gives the image this name.
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "weir:" + r.version})); err != nil {
		return err
	}
	return create(r.file("image.tar"), func(w io.Writer) error { return r.tarDir(w, os.DirFS(dir)) })
}

func (r *release) imageFor(p platform, rootfs string) (v1.Image, error) {
	base, err := tarball.LayerFromFile(rootfs, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	text, err := r.programLayer(p)
	if err != nil {
		return nil, err
	}
	top, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: r.date.UTC()}
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "scripts/rootfs"}},
		mutate.Addendum{Layer: top, History: v1.History{Created: created, CreatedBy: "tools/release"}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configFile(image, &v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: created,
		Config: v1.Config{
			User: user + ":" + user, WorkingDir: "/work", Entrypoint: []string{"/usr/bin/weir"},
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/weir"},
			Labels: map[string]string{"org.opencontainers.image.title": "weir", "org.opencontainers.image.version": r.version,
				"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "MPL-2.0"},
		},
	}))
}

// configFile adds the layers of an image to a configuration.
func configFile(image v1.Image, c *v1.ConfigFile) *v1.ConfigFile {
	if now, err := image.ConfigFile(); err == nil {
		c.RootFS, c.History = now.RootFS, now.History
	}
	return c
}

// programLayer has the program, and a user who isn't root with folders of its own.
func (r *release) programLayer(p platform) ([]byte, error) {
	program, err := os.ReadFile(r.program(p))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name, text string, mode int64, owner int) {
		header := &tar.Header{Name: name, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(text)), ModTime: r.date, Format: tar.FormatUSTAR}
		if name[len(name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err == nil {
			err = w.WriteHeader(header)
		}
		if err == nil {
			_, err = io.WriteString(w, text)
		}
	}
	const owner = 65532
	add("etc/passwd", fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\nweir:x:%s:%s:weir:/home/weir:/bin/sh\n", user, user), 0o644, 0)
	add("etc/group", fmt.Sprintf("root:x:0:\nweir:x:%s:\n", user), 0o644, 0)
	add("home/weir/", "", 0o755, owner)
	add("work/", "", 0o755, owner)
	add("usr/bin/weir", string(program), 0o755, 0)
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// tarDir writes the files of a folder in the order of their names.
func (r *release) tarDir(out io.Writer, dir fs.FS) error {
	w := tar.NewWriter(out)
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := dir.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), ModTime: r.date, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}
