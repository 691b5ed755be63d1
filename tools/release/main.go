// Command release builds a whole release of a work tree without publishing anything:
//
//	go run . -root ../.. -version 0.1.0 -commit HASH -date 2026-01-02T03:04:05Z -key key.pem -out ../../dist
//
// The output is laid out as a release server serves it: index.json and a folder for the version.
// Two runs on one commit write the same bytes.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A release is one version of the program and the files that are written for it.
type release struct {
	root, work, dir string // the work tree, a folder for what archives are made of, the output
	version, commit string
	date            time.Time
	url             string
	platforms       []platform
}

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// program is the path of the program built for a platform.
func (r *release) program(p platform) string {
	name := "weir"
	if p.os == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.work, p.String(), name)
}

// file is the path of a file of the release. Its name starts with the version.
func (r *release) file(suffix string) string {
	return filepath.Join(r.dir, "weir_"+r.version+"_"+suffix)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	r := &release{}
	root := flag.String("root", ".", "the work tree")
	out := flag.String("out", "dist", "write the release to `DIR`")
	keyFile := flag.String("key", "", "sign with the ECDSA key in `FILE`, in PEM; created where it is missing")
	platforms := flag.String("platforms", "linux_amd64,linux_arm64,darwin_amd64,darwin_arm64,windows_amd64,windows_arm64", "build for these platforms")
	images := flag.String("rootfs", "", "build the image on the root file systems rootfs-ARCH.tar in `DIR`")
	date := flag.String("date", "", "the date of the commit, as in RFC 3339")
	flag.StringVar(&r.version, "version", "", "the version")
	flag.StringVar(&r.commit, "commit", "", "the commit")
	flag.StringVar(&r.url, "url", "https://weir.dev/releases", "where the release will be served, for the Homebrew formula")
	flag.Parse()

	var err error
	if r.date, err = time.Parse(time.RFC3339, *date); err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	if r.version == "" || r.commit == "" || *keyFile == "" {
		return errors.New("-version, -commit and -key are needed")
	}
	if r.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "release"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	r.dir = filepath.Join(*out, "v"+r.version)
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	for name := range strings.SplitSeq(*platforms, ",") {
		system, arch, ok := strings.Cut(name, "_")
		if !ok {
			return fmt.Errorf("platform %q isn't OS_ARCH", name)
		}
		r.platforms = append(r.platforms, platform{system, arch})
	}
	key, err := loadKey(*keyFile)
	if err != nil {
		return err
	}
	if err := r.build(); err != nil {
		return err
	}
	for _, step := range []func() error{r.archives, r.packages, func() error { return r.image(*images) }, r.formula} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := r.sign(key); err != nil {
		return err
	}
	return r.index(filepath.Join(*out, "index.json"))
}

// build compiles the program for each platform, and writes the man pages and completion scripts.
func (r *release) build() error {
	const info = "weir.dev/weir/internal/sys/buildinfo."
	flags := fmt.Sprintf("-s -w -X %sversion=%s -X %scommit=%s -X %sdate=%s", info, r.version, info, r.commit, info, r.date.UTC().Format(time.RFC3339))
	for _, p := range r.platforms {
		build := exec.Command("go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags="+flags, "-o", r.program(p), "./cmd/weir")
		if err := r.exec(build, "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0"); err != nil {
			return err
		}
	}
	return r.exec(exec.Command("go", "run", "./cmd/reference", "-man", filepath.Join(r.work, "man"), "-completions", filepath.Join(r.work, "completions"), "-version", r.version),
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

func (r *release) exec(c *exec.Cmd, env ...string) error {
	c.Dir, c.Stdout, c.Stderr = r.root, os.Stderr, os.Stderr
	c.Env = append(append(os.Environ(), "GOWORK="+cmp.Or(os.Getenv("GOWORK"), "off")), env...)
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
	}
	return nil
}
