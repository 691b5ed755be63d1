package modules

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"weir.dev/weir/test/backends/engines"
)

type object = map[string]any

// release stores a version of a provider, with packages for this platform and another one.
func release(t *testing.T, to http.Handler, repository, tag, version string) {
	t.Helper()
	const manifests = "application/vnd.oci.image.manifest.v1+json"
	described := func(mediaType, reference string, manifest object) object {
		manifest["schemaVersion"], manifest["mediaType"] = 2, mediaType
		content, err := json.Marshal(manifest)
		must(t, err)
		if reference == "" {
			reference = digest(content)
		}
		put(t, to, repository, http.MethodPut, "manifests/"+reference, mediaType, content)
		return object{"mediaType": mediaType, "artifactType": manifest["artifactType"], "digest": digest(content), "size": len(content)}
	}
	blob := func(content []byte) object {
		put(t, to, repository, http.MethodPost, "blobs/uploads/?digest="+digest(content), "application/octet-stream", content)
		return object{"mediaType": "archive/zip", "digest": digest(content), "size": len(content)}
	}
	config := blob([]byte("{}"))
	config["mediaType"] = "application/vnd.oci.empty.v1+json"
	var all []object
	for _, platform := range [][2]string{{runtime.GOOS, runtime.GOARCH}, {"plan9", "mips"}} {
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		header := &zip.FileHeader{Name: "terraform-provider-net_v" + version}
		header.SetMode(0o755)
		w, err := z.CreateHeader(header)
		must(t, err)
		_, err = io.WriteString(w, "a program for "+platform[0])
		must(t, err)
		must(t, z.Close())
		image := described(manifests, "", object{"artifactType": "application/vnd.opentofu.provider-target", "config": config, "layers": []object{blob(packed.Bytes())}})
		image["platform"] = object{"os": platform[0], "architecture": platform[1]}
		all = append(all, image)
	}
	described("application/vnd.oci.image.index.v1+json", tag, object{"artifactType": "application/vnd.opentofu.provider", "manifests": all})
}

// TestProviders has both engines install a provider from an oci_mirror, with the same locks.
func TestProviders(t *testing.T) {
	depot := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	const repository = "team/example.com-acme-net"
	release(t, depot, repository, "1.0.0", "1.0.0")
	release(t, depot, repository, "1.2.0_build.7", "1.2.0")
	push(t, depot, repository, "for-people", "not a provider")
	const mirror = "provider_installation {\n  oci_mirror {\n    repository_template = \"registry.example.com/team/${hostname}-${namespace}-${type}\"\n  }\n}\n"
	hosts := []string{"registry.example.com"}
	for version, want := range map[string]string{"1.0.0": "1.0.0", "~> 1.0": "1.2.0+build.7"} {
		t.Run(want, func(t *testing.T) {
			engines.Providers(t, engines.Intercept(t, hosts, depot), mirror, "example.com/acme/net", version, want)
		})
	}
	t.Run("with a token", func(t *testing.T) {
		engines.Providers(t, engines.Intercept(t, hosts, guarded(depot)),
			mirror+"oci_credentials \"registry.example.com/team\" {\n  username = \"me\"\n  password = \"secret\"\n}\n", "example.com/acme/net", "1.0.0", "1.0.0")
	})
	t.Run("stored", func(t *testing.T) {
		home := t.TempDir()
		must(t, os.Mkdir(filepath.Join(home, ".docker"), 0o755))
		must(t, os.WriteFile(filepath.Join(home, ".docker", "config.json"), []byte(`{"auths":{"registry.example.com":{"auth":"bWU6c2VjcmV0"}}}`), 0o600))
		engines.Providers(t, append(engines.Intercept(t, hosts, guarded(depot)), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR="), mirror, "example.com/acme/net", "1.0.0", "1.0.0")
	})
}
