package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/net/ociregistry"
)

// A depot is a registry with one repository, team/net.
type depot struct {
	manifests map[string][]byte // by tag and by digest
	blobs     map[string][]byte // by digest
	password  string            // that a token is made for, "" for none
	elsewhere string            // where blobs are, "" for here
	log       []string
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (d *depot) push(tag, artifact, media string, content []byte) {
	if d.manifests == nil {
		d.manifests, d.blobs = map[string][]byte{}, map[string][]byte{}
	}
	d.blobs[digestOf(content)] = content
	manifest, _ := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": imageManifest, "artifactType": artifact,
		"layers": []any{map[string]any{"mediaType": media, "digest": digestOf(content), "size": len(content)}},
	})
	d.manifests[tag], d.manifests[digestOf(manifest)] = manifest, manifest
}

func (d *depot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.log = append(d.log, r.URL.Path+" "+r.Header.Get("Authorization"))
	at := strings.TrimPrefix(r.URL.Path, "/v2/team/net/")
	switch _, password, _ := r.BasicAuth(); {
	case r.URL.Path == "/token":
		if password != d.password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"token":"for ` + r.URL.Query().Get("scope") + `"}`))
	case d.password != "" && r.Header.Get("Authorization") != "Bearer for repository:team/net:pull":
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+r.Host+`/token",service="depot",scope="repository:team/net:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(at, "manifests/") && d.manifests[at[len("manifests/"):]] != nil:
		w.Header().Set("Content-Type", imageManifest)
		_, _ = w.Write(d.manifests[at[len("manifests/"):]])
	case strings.HasPrefix(at, "blobs/") && d.elsewhere != "":
		http.Redirect(w, r, d.elsewhere+"/"+at, http.StatusTemporaryRedirect)
	case strings.HasPrefix(at, "blobs/") && d.blobs[at[len("blobs/"):]] != nil:
		_, _ = w.Write(d.blobs[at[len("blobs/"):]])
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"errors":[{"code":"MANIFEST_UNKNOWN","message":"there is no such thing"}]}`))
	}
}

func TestContainers(t *testing.T) {
	for name, test := range map[string]struct {
		query    string
		set      func(d *depot, made []byte)
		password string
		want     string // what main.tf has, or a problem
	}{
		"tag":             {query: "?tag=1.0", want: "# one"},
		"latest":          {query: "", want: "# one"},
		"digest":          {query: "?digest=DIGEST", want: "# one"},
		"subdirectory":    {query: "//sub?tag=1.0", want: "# sub"},
		"no such tag":     {query: "?tag=2.0", want: "! there is no such thing"},
		"with a token":    {query: "?tag=1.0", password: "secret", want: "# one", set: func(d *depot, _ []byte) { d.password = "secret" }},
		"without one":     {query: "?tag=1.0", password: "other", want: "! 401", set: func(d *depot, _ []byte) { d.password = "secret" }},
		"other artifact":  {query: "?tag=1.0", want: "! isn't a module package", set: func(d *depot, made []byte) { d.push("1.0", "application/x", zipLayer, made) }},
		"other layer":     {query: "?tag=1.0", want: "! has no layer", set: func(d *depot, made []byte) { d.push("1.0", modulePackage, "archive/tar", made) }},
		"damaged":         {query: "?tag=1.0", want: "! damaged or replaced", set: func(d *depot, made []byte) { d.blobs[digestOf(made)] = append([]byte("x"), made[1:]...) }},
		"longer":          {query: "?tag=1.0", want: "! hasn't the size", set: func(d *depot, made []byte) { d.blobs[digestOf(made)] = append(made, 'x') }},
		"other manifest":  {query: "?digest=DIGEST", want: "! damaged or replaced", set: func(d *depot, made []byte) { d.push("1.0", modulePackage, zipLayer, append(made, 0)) }},
		"blobs elsewhere": {query: "?tag=1.0", want: "# one", password: "secret", set: func(d *depot, _ []byte) { d.password, d.elsewhere = "secret", "elsewhere" }},
	} {
		t.Run(name, func(t *testing.T) {
			made := zipOf(t, map[string]string{"main.tf": "# one", "sub/main.tf": "# sub"})
			d := &depot{}
			d.push("1.0", modulePackage, zipLayer, made)
			d.manifests["latest"] = d.manifests["1.0"]
			digest := digestOf(d.manifests["1.0"])
			server := httptest.NewTLSServer(d)
			defer server.Close()
			if test.set != nil {
				test.set(d, made)
			}
			if d.elsewhere != "" {
				other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Authorization") != "" {
						t.Error("the token went to another server")
					}
					_, _ = w.Write(made)
				}))
				defer other.Close()
				d.elsewhere = other.URL
			}
			if name == "other manifest" {
				d.manifests[digest] = d.manifests["1.0"]
			}
			f := New(Options{HTTP: server.Client(), Login: func(_ context.Context, from ociregistry.Repository) (ociregistry.Login, error) {
				if from.Name != "team/net" {
					t.Errorf("asked for %s", from)
				}
				return ociregistry.Login{User: "me", Password: test.password}, nil
			}})
			got, _, err := f.Fetch(t.Context(), "oci://"+strings.TrimPrefix(server.URL, "https://")+"/team/net"+strings.Replace(test.query, "DIGEST", digest, 1), "", filepath.Join(t.TempDir(), "m"))
			if problem, bad := strings.CutPrefix(test.want, "! "); bad {
				wantError(t, err, problem)
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, strings.Join(d.log, "\n"))
			}
			if text := read(t, got, "main.tf"); text != test.want {
				t.Errorf("got %q", text)
			}
		})
	}
}

func TestMercurial(t *testing.T) {
	if _, err := exec.LookPath("hg"); err != nil {
		t.Skip("there is no hg")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("hg", append([]string{"--cwd", dir}, args...)...)
		cmd.Env = append(os.Environ(), "HGPLAIN=1", "HGUSER=me", "HGRCPATH=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("hg %v: %v\n%s", args, err, out)
		}
	}
	run("init")
	for _, text := range []string{"# first", "# second"} {
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"main.tf", "sub/main.tf"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run("commit", "--addremove", "--message", text)
		if text == "# first" {
			run("tag", "v1")
		}
	}
	f := New(Options{Environ: append(os.Environ(), "HGRCPATH=")})
	for source, want := range map[string]string{
		"hg::file://" + dir:                   "# second",
		"hg::file://" + dir + "//sub?rev=v1":  "# first",
		"hg::file://" + dir + "?rev=nonsense": "! hg update failed",
		"hg::file://" + dir + "-none":         "! hg clone failed",
	} {
		got, _, err := f.Fetch(t.Context(), source, "", filepath.Join(t.TempDir(), "m"))
		if problem, bad := strings.CutPrefix(want, "! "); bad {
			wantError(t, err, problem)
		} else if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if text := read(t, got, "main.tf"); text != want {
			t.Errorf("%s: %q", source, text)
		}
	}
}
