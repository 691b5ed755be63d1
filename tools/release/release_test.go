package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

var platforms = []platform{{"linux", "amd64"}, {"darwin", "arm64"}, {"windows", "arm64"}}

// written is a release whose programs are this test, without compiling weir.
func written(t *testing.T, key signingKey) *release {
	t.Helper()
	r := &release{root: "../..", work: t.TempDir(), dir: filepath.Join(t.TempDir(), "v1.2.3"), version: "1.2.3", commit: "abc",
		date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), url: "https://example.com/releases/", platforms: platforms}
	self, err := os.Executable()
	check(t, err)
	program, err := os.ReadFile(self)
	check(t, err)
	write := func(path string, data []byte) {
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, data, 0o644))
	}
	check(t, os.MkdirAll(r.dir, 0o755))
	for _, p := range r.platforms {
		write(r.program(p), program)
	}
	for _, name := range []string{"man/weir.1", "completions/weir.bash", "completions/_weir", "completions/weir.fish", "completions/weir.ps1"} {
		write(filepath.Join(r.work, name), []byte(name))
	}
	var rootfs bytes.Buffer
	w := tar.NewWriter(&rootfs)
	check(t, w.WriteHeader(&tar.Header{Name: "./bin/", Typeflag: tar.TypeDir, Mode: 0o755}))
	check(t, w.Close())
	write(filepath.Join(r.work, "rootfs-amd64.tar"), rootfs.Bytes())
	for _, step := range []func() error{r.archives, r.packages, func() error { return r.image(r.work) }, r.formula, func() error { return r.sign(key) },
		func() error { return r.index(filepath.Join(filepath.Dir(r.dir), "index.json")) }} {
		check(t, step())
	}
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	return data
}

func TestRelease(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "key.pem")
	key, err := loadKey(file)
	check(t, err)
	r := written(t, key)
	if again, err := loadKey(file); err != nil || !again.Equal(key.PrivateKey) {
		t.Errorf("the key was read as another one: %v", err)
	}

	t.Run("twice", func(t *testing.T) {
		other := written(t, key)
		one, err := digests(r.dir)
		check(t, err)
		two, err := digests(other.dir)
		check(t, err)
		for i := range one {
			if one[i].Name != two[i].Name || one[i].Digest["sha256"] != two[i].Digest["sha256"] {
				t.Errorf("%s is different in the second release", one[i].Name)
			}
		}
	})
	t.Run("archives", func(t *testing.T) {
		want := []string{"weir", "LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "completions/_weir", "completions/weir.bash", "completions/weir.fish", "completions/weir.ps1", "man/weir.1"}
		z, err := gzip.NewReader(bytes.NewReader(read(t, r.file("darwin_arm64.tar.gz"))))
		check(t, err)
		var names []string
		for archive := tar.NewReader(z); ; {
			h, err := archive.Next()
			if err == io.EOF {
				break
			}
			check(t, err)
			names = append(names, h.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("got %q", names)
		}
		w, err := zip.OpenReader(r.file("windows_arm64.zip"))
		check(t, err)
		defer func() { _ = w.Close() }()
		if len(w.File) != len(want) || w.File[0].Name != "weir.exe" || w.File[0].Mode() != 0o755 {
			t.Errorf("got %v", w.File)
		}
	})
	t.Run("index", func(t *testing.T) {
		path := filepath.Join(filepath.Dir(r.dir), "index.json")
		r.version = "1.3.0"
		check(t, r.index(path))
		check(t, r.index(path))
		r.version = "1.2.3"
		var all index
		check(t, json.Unmarshal(read(t, path), &all))
		if len(all.Versions) != 2 || all.Versions[0].ID != "1.3.0" || all.Versions[1].ID != "1.2.3" {
			t.Fatalf("got %+v", all)
		}
		for _, name := range []string{"weir_1.2.3_amd64.deb", "weir-1.2.3-1.x86_64.rpm", "weir_1.2.3_x86_64.apk", "weir_1.2.3_image.tar", "weir_1.2.3_linux_amd64.cdx.json", "weir.rb", "weir_1.2.3_checksums.txt.sig"} {
			if !slices.Contains(all.Versions[1].Files, name) {
				t.Errorf("%s is missing in %q", name, all.Versions[1].Files)
			}
		}
	})
	t.Run("formula", func(t *testing.T) {
		text := string(read(t, filepath.Join(r.dir, "weir.rb")))
		sums := string(read(t, r.file("checksums.txt")))
		for _, name := range []string{"weir_1.2.3_linux_amd64.tar.gz", "weir_1.2.3_darwin_arm64.tar.gz"} {
			sum, _, _ := strings.Cut(sums[strings.LastIndex(sums[:strings.Index(sums, name)], "\n")+1:], " ")
			if !strings.Contains(text, "url \"https://example.com/releases/v1.2.3/"+name+"\"\n      sha256 \""+sum+"\"") {
				t.Errorf("%s and its checksum %s are missing in %s", name, sum, text)
			}
		}
		if strings.Contains(text, "windows") {
			t.Error("Homebrew has no Windows")
		}
	})
	t.Run("image", func(t *testing.T) {
		dir := t.TempDir()
		for archive := tar.NewReader(bytes.NewReader(read(t, r.file("image.tar")))); ; {
			h, err := archive.Next()
			if err == io.EOF {
				break
			}
			check(t, err)
			data, err := io.ReadAll(archive)
			check(t, err)
			path := filepath.Join(dir, h.Name)
			check(t, os.MkdirAll(filepath.Dir(path), 0o755))
			check(t, os.WriteFile(path, data, 0o644))
		}
		index, err := layout.ImageIndexFromPath(dir)
		check(t, err)
		manifest, err := index.IndexManifest()
		check(t, err)
		if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "weir:1.2.3" {
			t.Fatalf("got %+v", manifest)
		}
		index, err = index.ImageIndex(manifest.Manifests[0].Digest)
		check(t, err)
		manifest, err = index.IndexManifest()
		check(t, err)
		if len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.Architecture != "amd64" {
			t.Fatalf("got %+v", manifest)
		}
		image, err := index.Image(manifest.Manifests[0].Digest)
		check(t, err)
		config, err := image.ConfigFile()
		check(t, err)
		if c := config.Config; c.User != "65532:65532" || c.Entrypoint[0] != "/usr/bin/weir" || c.Labels["org.opencontainers.image.revision"] != "abc" {
			t.Errorf("got %+v", c)
		}
		modes := map[string]int64{}
		content := mutate.Extract(image)
		defer func() { _ = content.Close() }()
		for archive := tar.NewReader(content); ; {
			h, err := archive.Next()
			if err == io.EOF {
				break
			}
			check(t, err)
			modes[strings.Trim(h.Name, "./")] = h.Mode
		}
		if modes["usr/bin/weir"] != 0o755 || modes["bin"] != 0o755 || modes["etc/passwd"] != 0o644 {
			t.Errorf("got %v", modes)
		}
	})
	t.Run("signature", func(t *testing.T) {
		block, _ := pem.Decode(read(t, filepath.Join(filepath.Dir(r.dir), "weir.pem")))
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		check(t, err)
		signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(read(t, r.file("checksums.txt.sig")))))
		check(t, err)
		sum := sha256.Sum256(read(t, r.file("checksums.txt")))
		if !ecdsa.VerifyASN1(public.(*ecdsa.PublicKey), sum[:], signature) {
			t.Error("the signature of the checksums is wrong")
		}
	})
	t.Run("provenance", func(t *testing.T) {
		var envelope dsse.Envelope
		check(t, json.Unmarshal(read(t, r.file("provenance.intoto.jsonl")), &envelope))
		verifier, err := dsse.NewEnvelopeVerifier(publicKey{key})
		check(t, err)
		_, err = verifier.Verify(context.Background(), &envelope)
		check(t, err)
		payload, err := envelope.DecodeB64Payload()
		check(t, err)
		var statement struct {
			Subject   []subject
			Predicate struct {
				BuildDefinition struct {
					ExternalParameters struct{ Version, Commit string }
				}
			}
		}
		check(t, json.Unmarshal(payload, &statement))
		if p := statement.Predicate.BuildDefinition.ExternalParameters; p.Version != "1.2.3" || p.Commit != "abc" {
			t.Errorf("got %+v", p)
		}
		sums := string(read(t, r.file("checksums.txt")))
		for _, s := range statement.Subject {
			if !strings.Contains(sums, s.Digest["sha256"]+"  "+s.Name+"\n") {
				t.Errorf("%s has another checksum in the list", s.Name)
			}
		}
		if len(statement.Subject) != 11 {
			t.Errorf("got %d subjects: %v", len(statement.Subject), statement.Subject)
		}
		envelope.Payload = base64.StdEncoding.EncodeToString(append(payload, ' '))
		if _, err := verifier.Verify(context.Background(), &envelope); err == nil {
			t.Error("a changed statement is valid")
		}
	})
}

// publicKey verifies with the public half of a key.
type publicKey struct{ signingKey }

func (k publicKey) Public() crypto.PublicKey { return k.PrivateKey.Public() }
func (k publicKey) Verify(_ context.Context, data, signature []byte) error {
	sum := sha256.Sum256(data)
	if !ecdsa.VerifyASN1(&k.PublicKey, sum[:], signature) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func TestLoadKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	for text, want := range map[string]string{
		"text": "isn't in PEM",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "asn1",
	} {
		check(t, os.WriteFile(file, []byte(text), 0o600))
		if _, err := loadKey(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
