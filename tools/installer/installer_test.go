// Package installer tests scripts/install.sh with a release of its own on a local server.
package installer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// release is what a server has: files by name, signed by a key.
type release struct {
	files map[string][]byte
	key   string // file with the public key
}

const version = "1.2.3"

var (
	archive = "weir_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	sums    = "weir_" + version + "_checksums.txt"
)

func newRelease(t *testing.T) *release {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) {
		if out, err := exec.Command("openssl", args...).CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v: %s", args, err, out)
		}
	}
	private, public := filepath.Join(dir, "private.pem"), filepath.Join(dir, "public.pem")
	run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private)
	run("ec", "-in", private, "-pubout", "-out", public)
	r := &release{files: map[string][]byte{archive: packed(t, "#!/bin/sh\necho installed\n")}, key: public}
	r.files[sums] = fmt.Appendf(nil, "%x  other.zip\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(r.files[archive]), archive)
	file := filepath.Join(dir, sums)
	if err := os.WriteFile(file, r.files[sums], 0o600); err != nil {
		t.Fatal(err)
	}
	run("dgst", "-sha256", "-sign", private, "-out", file+".sig", file)
	signature, err := os.ReadFile(file + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	r.files[sums+".sig"] = []byte(base64.StdEncoding.EncodeToString(signature) + "\n")
	return r
}

func packed(t *testing.T, program string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "weir", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(program)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestInstall installs a release, and nothing of releases that were changed.
func TestInstall(t *testing.T) {
	for _, tool := range []string{"curl", "openssl", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool, "is missing")
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("the script is for Unix")
	}
	for name, c := range map[string]struct {
		change func(*release)
		want   string // of the error
	}{
		"whole":           {func(*release) {}, ""},
		"other archive":   {func(r *release) { r.files[archive] = packed(t, "#!/bin/sh\necho evil\n") }, "the checksum of " + archive},
		"other checksums": {func(r *release) { r.files[sums] = append(r.files[sums], '\n') }, "the signature of " + sums},
		"other key":       {func(r *release) { r.key = newRelease(t).key }, "the signature of " + sums},
		"other signature": {func(r *release) { r.files[sums+".sig"] = newRelease(t).files[sums+".sig"] }, "the signature of " + sums},
		"no checksum":     {func(r *release) { delete(r.files, archive); r.files[sums] = nil }, "the signature of " + sums},
		"no signature":    {func(r *release) { delete(r.files, sums+".sig") }, sums + ".sig can't be downloaded"},
		"no archive":      {func(r *release) { delete(r.files, archive) }, archive + " can't be downloaded"},
		"no key":          {func(r *release) { r.key = "" }, "set WEIR_KEY"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			r := newRelease(t)
			c.change(r)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				file, ok := r.files[strings.TrimPrefix(q.URL.Path, "/v"+version+"/")]
				if !ok {
					http.NotFound(w, q)
					return
				}
				_, _ = w.Write(file)
			}))
			defer server.Close()
			home := t.TempDir()
			install := exec.Command("sh", "../../scripts/install.sh")
			install.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "WEIR_RELEASES=" + server.URL, "WEIR_VERSION=" + version, "WEIR_KEY=" + r.key}
			out, err := install.CombinedOutput()
			program := filepath.Join(home, ".local/bin/weir")
			if c.want != "" {
				if err == nil || !strings.Contains(string(out), c.want) {
					t.Errorf("%v: %s; want %q", err, out, c.want)
				}
				if _, err := os.Stat(program); err == nil {
					t.Error("the program is installed")
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if said, err := exec.Command(program).Output(); err != nil || string(said) != "installed\n" {
				t.Errorf("%s, %v", said, err)
			}
		})
	}
}
