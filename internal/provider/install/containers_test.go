package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/net/ociregistry"
	"weir.dev/weir/internal/provider/lockfile"
)

// A depot is a registry of the OCI with one repository, mirror/weir-a, whose list of tags
// has one on a page.
type depot struct {
	tags      []string
	manifests map[string][]byte // by tag and digest
	types     map[string]string
	blobs     map[string][]byte
	busy      int // how many requests are rejected first
}

func (d *depot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
		w.Header().Set("WWW-Authenticate", `Basic realm="depot"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if d.busy > 0 {
		d.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	rest, here := strings.CutPrefix(r.URL.Path, "/v2/mirror/weir-a/")
	kind, name, _ := strings.Cut(rest, "/")
	switch {
	case !here:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors":[{"code":"NAME_UNKNOWN","message":"no such repository"}]}`)
	case rest == "tags/list":
		next := 0
		if last := r.URL.Query().Get("last"); last != "" {
			next = slices.Index(d.tags, last) + 1
		}
		if next+1 < len(d.tags) {
			w.Header().Set("Link", fmt.Sprintf(`</v2/mirror/weir-a/tags/list?n=1&last=%s>; rel="next"`, d.tags[next]))
		}
		_ = json.NewEncoder(w).Encode(object{"name": "mirror/weir-a", "tags": d.tags[next:min(next+1, len(d.tags))]})
	case kind == "manifests" && d.manifests[name] != nil:
		w.Header().Set("Content-Type", d.types[name])
		_, _ = w.Write(d.manifests[name])
	case kind == "blobs" && d.blobs[name] != nil:
		_, _ = w.Write(d.blobs[name])
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"nothing of that name"}]}`)
	}
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// push stores a manifest under its digest, and returns what others say of it.
func (d *depot) push(t *testing.T, mediaType string, manifest object) object {
	t.Helper()
	manifest["mediaType"] = mediaType
	content, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	digest := digestOf(content)
	d.manifests[digest], d.types[digest] = content, mediaType
	return object{"mediaType": mediaType, "artifactType": manifest["artifactType"], "digest": digest, "size": len(content)}
}

func (d *depot) name(tag string, of object) {
	digest := of["digest"].(string)
	d.tags = append(d.tags, tag)
	d.manifests[tag], d.types[tag] = d.manifests[digest], d.types[digest]
}

func onPlatform(d object, system, architecture string) object {
	d["platform"] = object{"os": system, "architecture": architecture}
	return d
}

func TestContainers(t *testing.T) {
	content, zh, h1 := archiveBytes(t)
	method := cliconfig.Method{Kind: cliconfig.OCIMirror, DownloadRetries: -1}
	for name, test := range map[string]struct {
		change func(t *testing.T, d *depot, index, image, layer object)
		want   string // a part of the problem, "" for none
	}{
		"all is well": {},
		"busy at first": {change: func(_ *testing.T, d *depot, _, _, _ object) {
			d.busy = 1
		}},
		"other platforms alone": {func(_ *testing.T, _ *depot, index, _, _ object) {
			index["manifests"] = index["manifests"].([]object)[1:]
		}, "has this version, but no package for " + Platform},
		"twice for the platform": {func(_ *testing.T, _ *depot, index, _, _ object) {
			index["manifests"] = append(index["manifests"].([]object), index["manifests"].([]object)[0])
		}, "2 packages for " + Platform + " instead of one"},
		"another artifact": {func(_ *testing.T, _ *depot, index, _, _ object) {
			index["artifactType"] = "application/vnd.opentofu.modulepkg"
		}, `its artifact type is "application/vnd.opentofu.modulepkg"`},
		"damaged": {func(_ *testing.T, d *depot, _, _, layer object) {
			d.blobs[layer["digest"].(string)] = slices.Concat(content[:len(content)-1], []byte("!"))
		}, "damaged or replaced"},
		"cut off": {func(_ *testing.T, d *depot, _, _, layer object) {
			d.blobs[layer["digest"].(string)] = content[:9]
		}, "hasn't the size"},
		"one image for all": {func(t *testing.T, d *depot, _, image, _ object) {
			d.tags = nil
			d.name("1.1.0", image)
		}, "no manifest of the type " + imageIndex},
		"unknown": {func(_ *testing.T, _ *depot, _, _, _ object) {}, "weir/b was not found in any of the search locations"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &depot{manifests: map[string][]byte{}, types: map[string]string{}, blobs: map[string][]byte{}}
			server := httptest.NewTLSServer(d)
			defer server.Close()
			layer := object{"mediaType": zipLayer, "digest": digestOf(content), "size": len(content)}
			d.blobs[digestOf(content)] = content
			image := d.push(t, imageManifest, object{"artifactType": providerPackage, "layers": []object{layer}})
			other := d.push(t, imageManifest, object{"artifactType": providerPackage, "layers": []object{}})
			index := object{"artifactType": providerAll, "manifests": []object{onPlatform(image, runtime.GOOS, runtime.GOARCH), onPlatform(other, "plan9", "mips")}}
			reqs := require("weir/a", "")
			if name == "unknown" {
				reqs = require("weir/b", "")
			}
			d.name("1.0.0", d.push(t, imageIndex, object{"artifactType": providerAll}))
			d.name("for-people", image)
			if test.change != nil {
				test.change(t, d, index, image, layer)
			}
			if d.tags != nil && !slices.Contains(d.tags, "1.1.0") {
				d.name("1.1.0", d.push(t, imageIndex, index))
			}
			method.Location = strings.TrimPrefix(server.URL, "https://") + "/mirror/${namespace}-${type}"
			o := Options{
				Config:       &cliconfig.Config{Installation: &cliconfig.Installation{Methods: []cliconfig.Method{method}}, Registry: cliconfig.Registry{Retries: 1}},
				Requirements: reqs, HTTP: server.Client(), Dir: t.TempDir(),
				Login: func(context.Context, ociregistry.Repository) (ociregistry.Login, error) {
					return ociregistry.Login{User: "me", Password: "secret"}, nil
				},
			}
			locks, events, diags := run(t, o)
			if test.want != "" {
				if got := fmt.Sprint(diags); !strings.Contains(got, test.want) {
					t.Errorf("got %s, want %s", got, test.want)
				}
				return
			}
			if diags.HasErrors() || !strings.HasSuffix(events, "installed a 1.1.0 verified checksum") {
				t.Fatalf("%v\n%s", diags, events)
			}
			if got := lockOf(t, locks, provider("weir/a")).Hashes; !slices.Equal(got, []string{h1, zh}) {
				t.Errorf("hashes %v", got)
			}
			o.Locks, o.Config = &lockfile.Locks{}, nil
			locks, changes, diags := Lock(t.Context(), o, &method, []string{Platform})
			if len(changes) != 1 || diags.HasErrors() || !slices.Contains(lockOf(t, locks, provider("weir/a")).Hashes, zh) {
				t.Errorf("locked %v, %v", changes, diags)
			}
		})
	}
}
