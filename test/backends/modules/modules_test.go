// Package modules tests that weir and OpenTofu install modules from a real OCI registry.
package modules

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// put makes a request of a registry that has to be granted.
func put(t *testing.T, to http.Handler, repository, method, path, media string, content []byte) {
	t.Helper()
	r := httptest.NewRequest(method, "/v2/"+repository+"/"+path, bytes.NewReader(content))
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	to.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// push stores a package and returns the digest of its manifest.
func push(t *testing.T, to http.Handler, repository, tag, text string) string {
	t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, dir := range []string{"", "inner/"} {
		w, err := z.Create(dir + "main.tf")
		must(t, err)
		_, err = io.WriteString(w, "output \"is\" { value = \""+dir+text+"\" }\n")
		must(t, err)
	}
	must(t, z.Close())
	for _, blob := range [][]byte{packed.Bytes(), []byte("{}")} {
		put(t, to, repository, http.MethodPost, "blobs/uploads/?digest="+digest(blob), "application/octet-stream", blob)
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": "application/vnd.opentofu.modulepkg",
		"config": map[string]any{"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest([]byte("{}")), "size": 2},
		"layers": []any{map[string]any{"mediaType": "archive/zip", "digest": digest(packed.Bytes()), "size": packed.Len()}},
	})
	must(t, err)
	put(t, to, repository, http.MethodPut, "manifests/"+tag, "application/vnd.oci.image.manifest.v1+json", manifest)
	return digest(manifest)
}

// guarded asks for a token, which user and password get.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && user == "me" && password == "secret":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"token":"good"}`)
		case r.URL.Path == "/token":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("Authorization") != "Bearer good":
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+r.Host+`/token",service="registry",scope="repository:team/net:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func TestRegistry(t *testing.T) {
	depot := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	fixed := push(t, depot, "team/net", "1.0", "one")
	push(t, depot, "team/net", "latest", "two")
	sources := map[string]string{
		"oci://registry.example.com/team/net?tag=1.0":           "one",
		"oci://registry.example.com/team/net":                   "two",
		"oci://registry.example.com/team/net//inner?tag=1.0":    "inner/one",
		"oci://registry.example.com/team/net?digest=" + fixed:   "one",
		"oci://registry.example.com/team/net//inner?tag=latest": "inner/two",
	}
	hosts := []string{"registry.example.com"}
	t.Run("open", func(t *testing.T) { engines.Modules(t, engines.Intercept(t, hosts, depot), "", sources) })
	t.Run("settings", func(t *testing.T) {
		engines.Modules(t, engines.Intercept(t, hosts, guarded(depot)), `
oci_credentials "registry.example.com/team" {
  username = "me"
  password = "secret"
}
oci_credentials "registry.example.com" {
  username = "other"
  password = "wrong"
}
`, sources)
	})
	t.Run("stored", func(t *testing.T) {
		home := t.TempDir()
		must(t, os.Mkdir(filepath.Join(home, ".docker"), 0o755))
		must(t, os.WriteFile(filepath.Join(home, ".docker", "config.json"), []byte(`{"auths":{"registry.example.com":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("me:secret"))+`"}}}`), 0o600))
		engines.Modules(t, append(engines.Intercept(t, hosts, guarded(depot)), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR="), "", sources)
	})
	t.Run("helper", func(t *testing.T) {
		bin := t.TempDir()
		must(t, os.WriteFile(filepath.Join(bin, "docker-credential-test"), []byte("#!/bin/sh\nread host\n[ \"$1 $host\" = \"get https://registry.example.com\" ] && echo '{\"Username\":\"me\",\"Secret\":\"secret\"}'\n"), 0o755))
		path := strings.Join([]string{bin, os.Getenv("PATH")}, string(os.PathListSeparator))
		t.Setenv("PATH", path)
		engines.Modules(t, engines.Intercept(t, hosts, guarded(depot)), "oci_default_credentials {\n  discover_ambient_credentials = false\n  docker_credentials_helper = \"test\"\n}\n", sources)
	})
}

// TestBuckets has packages in buckets: an archive, and files below a key.
func TestBuckets(t *testing.T) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create("main.tf")
	must(t, err)
	_, err = io.WriteString(w, "output \"is\" { value = \"zip\" }\n")
	must(t, err)
	must(t, z.Close())
	content := map[string]string{
		"m/x.zip": packed.String(), "m/dir/main.tf": "output \"is\" { value = \"dir\" }\n", "m/dir/inner/main.tf": "output \"is\" { value = \"inner\" }\n",
	}
	t.Run("s3", func(t *testing.T) {
		objects := s3mem.New()
		must(t, objects.CreateBucket("states"))
		for key, text := range content {
			_, err := objects.PutObject("states", key, nil, strings.NewReader(text), int64(len(text)), nil)
			must(t, err)
		}
		server := httptest.NewServer(gofakes3.New(objects).Server())
		t.Cleanup(server.Close)
		const who = "region=us-east-1&aws_access_key_id=key&aws_access_key_secret=secret"
		engines.Modules(t, []string{"AWS_EC2_METADATA_DISABLED=true"}, "", map[string]string{
			"s3::" + server.URL + "/states/m/x.zip?" + who:      "zip",
			"s3::" + server.URL + "/states/m/dir?" + who:        "dir",
			"s3::" + server.URL + "/states/m/dir//inner?" + who: "inner",
		})
	})
	t.Run("gcs", func(t *testing.T) {
		objects := &testservers.Google{}
		for key, text := range content {
			objects.Put(key, []byte(text))
		}
		server := httptest.NewServer(objects)
		t.Cleanup(server.Close)
		engines.Modules(t, []string{"STORAGE_EMULATOR_HOST=" + server.URL}, "", map[string]string{
			"gcs::https://www.googleapis.com/storage/v1/states/m/x.zip":      "zip",
			"gcs::https://www.googleapis.com/storage/v1/states/m/dir":        "dir",
			"gcs::https://www.googleapis.com/storage/v1/states/m/dir//inner": "inner",
		})
	})
}
