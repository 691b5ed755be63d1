package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weir.dev/weir/internal/lang/module"
)

type fixedTokens map[string]string

func (t fixedTokens) Token(_ context.Context, host string) (string, error) { return t[host], nil }

// zipOf makes an archive with files.
func zipOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A site answers what it was reported, and notes what it was asked.
type site struct {
	*httptest.Server
	pages map[string]http.HandlerFunc

	mu    sync.Mutex
	asked []string
}

func newSite(t *testing.T) *site {
	s := &site{pages: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		page := s.pages[r.URL.Path]
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) host() string { return strings.TrimPrefix(s.URL, "https://") }

func (s *site) serve(path string, body []byte) {
	s.pages[path] = func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error is %v, want one with %q", err, part)
	}
}

func wantProblem(t *testing.T, err error, summary string) {
	t.Helper()
	var p *module.Problem
	if !errors.As(err, &p) || p.Summary != summary {
		t.Errorf("error is %#v, want a problem %q", err, summary)
	}
}

func registrySite(t *testing.T) (*site, *Fetcher, *[]string) {
	s := newSite(t)
	s.serve("/.well-known/terraform.json", []byte(`{"modules.v1": "/api/modules"}`))
	s.pages["/api/modules/ns/net/aws/versions"] = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"modules":[{"versions":[{"version":"1.0.0"},{"version":"1.10.0"},{"version":"1.9.0"},{"version":"2.0.0-beta1"},{"version":"odd"}]}]}`)
	}
	for _, v := range []string{"1.0.0", "1.9.0", "1.10.0", "2.0.0-beta1"} {
		s.serve("/files/"+v+".zip", zipOf(t, map[string]string{"top/main.tf": "# " + v, "top/sub/main.tf": "# sub " + v}))
	}
	s.pages["/api/modules/ns/net/aws/1.0.0/download"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Terraform-Get", "/files/1.0.0.zip//top")
		w.WriteHeader(http.StatusNoContent)
	}
	s.pages["/api/modules/ns/net/aws/1.9.0/download"] = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"location": %q}`, s.URL+"/files/1.9.0.zip//top")
	}
	s.pages["/api/modules/ns/net/aws/1.10.0/download"] = s.pages["/api/modules/ns/net/aws/1.9.0/download"]
	s.pages["/api/modules/ns/net/aws/1.10.0/download"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Terraform-Get", "../../../../../../files/1.10.0.zip//*")
		fmt.Fprint(w, "not json")
	}
	s.pages["/api/modules/ns/net/aws/2.0.0-beta1/download"] = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"location": "/direct", "use_registry_credentials": true}`)
	}
	s.pages["/direct"] = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write(zipOf(t, map[string]string{"main.tf": "# direct", "sub/main.tf": ""}))
	}
	var begun []string
	f := New(Options{HTTP: s.Client(), Tokens: fixedTokens{s.host(): "secret"}, Begin: func(pkg, version string) {
		begun = append(begun, strings.TrimPrefix(pkg, s.host()+"/")+" "+version)
	}})
	return s, f, &begun
}

func TestRegistry(t *testing.T) {
	s, f, begun := registrySite(t)
	for _, tt := range []struct{ source, constraint, version, dir, text string }{
		{"ns/net/aws", "~> 1.0.0", "1.0.0", "top", "# 1.0.0"},
		{"ns/net/aws//sub", "< 1.10", "1.9.0", "top/sub", "# sub 1.9.0"},
		{"ns/net/aws", "", "1.10.0", "*", "# 1.10.0"},
		{"ns/net/aws", ">= 1.0, != 1.10.0", "1.9.0", "top", "# 1.9.0"},
		{"ns/net/aws", "2.0.0-beta1", "2.0.0-beta1", "", "# direct"},
		{"ns/net/aws", "~> v1.0.0", "1.0.0", "top", "# 1.0.0"},
		{"ns/net/aws", "v2.0.0-beta1", "2.0.0-beta1", "", "# direct"},
	} {
		t.Run(tt.source+" "+tt.constraint, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "m")
			got, version, err := f.Fetch(t.Context(), s.host()+"/"+tt.source, tt.constraint, dir)
			want := filepath.Join(dir, tt.dir)
			if tt.dir == "*" {
				want = filepath.Join(dir, "top")
			}
			if err != nil || version != tt.version || got != want {
				t.Fatalf("got %s %s, %v; want %s %s", got, version, err, want, tt.version)
			}
			if text := read(t, got, "main.tf"); text != tt.text {
				t.Errorf("the module is %q, want %q", text, tt.text)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".fetch-*")); left != nil {
				t.Errorf("%v was left behind", left)
			}
		})
	}
	if got := strings.Join(*begun, ", "); got != "ns/net/aws 1.0.0, ns/net/aws 1.9.0, ns/net/aws 1.10.0, ns/net/aws 1.9.0, ns/net/aws 2.0.0-beta1, ns/net/aws 1.0.0, ns/net/aws 2.0.0-beta1" {
		t.Errorf("began %s", got)
	}
}

func TestRegistryRefuses(t *testing.T) {
	s, f, _ := registrySite(t)
	dir := filepath.Join(t.TempDir(), "m")
	s.serve("/api/modules/ns/none/aws/versions", []byte(`{"modules":[{"versions":[]}]}`))
	s.serve("/api/modules/ns/broken/aws/versions", []byte(`<html>`))
	s.serve("/api/modules/ns/local/aws/versions", []byte(`{"modules":[{"versions":[{"version":"1.0.0"}]}]}`))
	s.serve("/api/modules/ns/local/aws/1.0.0/download", []byte(`{"location": "file:///etc"}`))
	s.serve("/api/modules/ns/silent/aws/versions", []byte(`{"modules":[{"versions":[{"version":"1.0.0"}]}]}`))
	s.serve("/api/modules/ns/silent/aws/1.0.0/download", []byte(`{}`))
	for _, tt := range []struct{ source, constraint, summary string }{
		{"ns/net/aws", "~> 3.0", "Unresolvable module version constraint"},
		{"ns/net/aws", "nonsense", "Invalid version constraint"},
		{"ns/net/aws//nosuch/x", "1.0.0", "Module subdirectory not found"},
		{"ns/none/aws", "", "Module has no versions"},
		{"ns/broken/aws", "", "Invalid response from remote module registry"},
		{"ns/nosuch/aws", "", "Module not found"},
		{"ns/local/aws", "", "Error accessing remote module registry"},
		{"ns/silent/aws", "", "Error accessing remote module registry"},
	} {
		_, _, err := f.Fetch(t.Context(), s.host()+"/"+tt.source, tt.constraint, dir)
		wantProblem(t, err, tt.summary)
	}
	f = New(Options{HTTP: s.Client()})
	_, _, err := f.Fetch(t.Context(), s.host()+"/ns/net/aws", "", dir)
	wantProblem(t, err, "Error accessing remote module registry")
	wantError(t, err, "asks for credentials")
	f = New(Options{HTTP: s.Client(), Services: map[string]map[string]any{s.host(): {"providers.v1": "https://x"}}})
	_, _, err = f.Fetch(t.Context(), s.host()+"/ns/net/aws", "", dir)
	wantError(t, err, "does not provide a module registry")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = New(Options{HTTP: s.Client()}).Fetch(ctx, s.host()+"/ns/net/aws", "", dir)
	wantProblem(t, err, "Module download was interrupted")
}

func TestEachPackageOnce(t *testing.T) {
	s := newSite(t)
	s.serve("/a.zip", zipOf(t, map[string]string{"x/main.tf": "# x", "y/main.tf": "# y"}))
	f := New(Options{HTTP: s.Client()})
	base := t.TempDir()
	for _, name := range []string{"x", "y"} {
		dir, _, err := f.Fetch(t.Context(), s.URL+"/a.zip//"+name, "", filepath.Join(base, name))
		if err != nil || read(t, dir, "main.tf") != "# "+name {
			t.Fatal(name, dir, err)
		}
	}
	if len(s.asked) != 1 {
		t.Errorf("the package was asked for %d times", len(s.asked))
	}
	// Anything that is fetched to a place makes it no source for what was there before.
	s.serve("/b.zip", zipOf(t, map[string]string{"main.tf": "# b"}))
	if _, _, err := f.Fetch(t.Context(), s.URL+"/b.zip", "", filepath.Join(base, "x")); err != nil {
		t.Fatal(err)
	}
	if dir, _, err := f.Fetch(t.Context(), s.URL+"/a.zip//x", "", filepath.Join(base, "z")); err != nil || read(t, dir, "main.tf") != "# x" {
		t.Error(dir, err)
	}
}

func TestWeb(t *testing.T) {
	s := newSite(t)
	data := zipOf(t, map[string]string{"main.tf": "# web", "deep/er/main.tf": "# deep"})
	s.serve("/a.zip", data)
	s.serve("/plain", data)
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	s.serve("/SUMS", []byte("0000  other.zip\n"+sum+"  a.zip\n"))
	s.pages["/header"] = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("terraform-get") != "1" {
			t.Error("the parameter terraform-get is missing")
		}
		w.Header().Set("X-Terraform-Get", "./plain?archive=zip")
	}
	s.pages["/empty"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Terraform-Get", "./a.zip")
		w.WriteHeader(http.StatusNoContent)
	}
	s.serve("/meta", []byte(`<html><head><title>x</title><meta name="terraform-get" content="/a.zip//deep"></head><body>`))
	s.serve("/body", []byte(`<html><body><meta name="terraform-get" content="/a.zip"></body>`))
	s.serve("/loop", []byte(`<meta name="terraform-get" content="/loop">`))
	s.serve("/local", []byte(`<meta name="terraform-get" content="file:///etc">`))
	s.pages["/private.zip"] = func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "pw" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Write(data)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine other login a password b\nmachine 127.0.0.1\n login me\n password pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := New(Options{HTTP: s.Client(), Environ: []string{"HOME=" + home}})
	for _, tt := range []struct{ source, text, problem string }{
		{"/a.zip", "# web", ""},
		{"/a.zip//deep/er", "# deep", ""},
		{"/a.zip//*/er", "# deep", ""},
		{"/plain?archive=zip", "# web", ""},
		{"/a.zip?checksum=sha256:" + sum, "# web", ""},
		{"/a.zip?checksum=" + sum, "# web", ""},
		{"/a.zip?checksum=file:SUMS", "# web", ""},
		{"/header", "# web", ""},
		{"/empty", "# web", ""},
		{"/meta//er", "# deep", ""},
		{"/private.zip", "# web", ""},
		{"/a.zip?checksum=sha256:" + strings.Repeat("0", 64), "", "Checksums did not match"},
		{"/a.zip?checksum=xx", "", "hexadecimal"},
		{"/a.zip?checksum=sha7:00", "", "no known kind"},
		{"/plain?checksum=" + sum, "", "needs an archive"},
		{"/plain", "", "neither an archive nor a page"},
		{"/a.zip?archive=rar", "", "aren't supported"},
		{"/a.zip?archive=tar.gz", "", "can't be unpacked"},
		{"/nosuch.zip", "", "404"},
		{"/body", "", "neither an archive nor a page"},
		{"/loop", "", "no end"},
		{"/local", "", "can't know"},
		{"/a.zip//d*/nosuch", "", "Nothing in the package matches"},
	} {
		dir, _, err := f.Fetch(t.Context(), s.URL+tt.source, "", filepath.Join(t.TempDir(), "m"))
		if tt.problem != "" {
			wantError(t, err, tt.problem)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.source, err)
			continue
		}
		if text := read(t, dir, "main.tf"); text != tt.text {
			t.Errorf("%s: the module is %q, want %q", tt.source, text, tt.text)
		}
	}
}

func TestRetries(t *testing.T) {
	s := newSite(t)
	data := zipOf(t, map[string]string{"main.tf": ""})
	n := 0
	s.pages["/a.zip"] = func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Write(data)
	}
	if _, _, err := New(Options{HTTP: s.Client(), Retries: 1}).Fetch(t.Context(), s.URL+"/a.zip", "", filepath.Join(t.TempDir(), "m")); err != nil {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "dir")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"dir/main.tf": "# top", "dir/sub/main.tf": "# sub", "x.zip": string(zipOf(t, map[string]string{"main.tf": "# zip"})), "text": "x"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := New(Options{})
	for source, want := range map[string]string{
		dir:                               "# top",
		dir + "//sub":                     "# sub",
		"file::" + dir:                    "# top",
		"file://" + base + "/x.zip":       "# zip",
		"file::" + base + "/x.zip":        "# zip",
		base + "/text":                    "! neither a directory nor an archive",
		base + "/nosuch":                  "! no such file",
		"file://host" + dir:               "! absolute path",
		"hg::svn://x/y":                   "! hg can't fetch from svn:",
		"hg::ssh://-x/y":                  "! begin with a dash",
		"hg::https://x/y?rev=--config":    "! begin with a dash",
		"s3::https://x/y":                 "! names no bucket with a key",
		"gcs::https://x/y":                "! isn't an address of Cloud Storage",
		"s3::ftp://x/y/z":                 "! isn't the address of a bucket",
		"oci://x/Y":                       "! isn't the name of a repository",
		"oci://x/y?tag=a&digest=b":        "! cannot set both",
		"oci://x/y?tag=-a":                "! isn't a tag",
		"oci://x/y?digest=sha256:0":       "! isn't a digest",
		"oci://x/y?archive=zip":           "! is not allowed",
		"oci://x/y?ref=1":                 "! unsupported argument",
		"oci::https://x/y":                "! isn't an address of the form oci://",
		"ssh://git@x/y":                   "! git::",
		"ftp://x/y":                       "! no kind of source",
		base + "/x.zip?checksum=md5:0000": "! did not match",
	} {
		got, _, err := f.Fetch(t.Context(), source, "", filepath.Join(t.TempDir(), "m"))
		if problem, bad := strings.CutPrefix(want, "! "); bad {
			wantError(t, err, problem)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if text := read(t, got, "main.tf"); text != want {
			t.Errorf("%s: the module is %q, want %q", source, text, want)
		}
	}
	// A directory that is replaced is only unlinked.
	at := filepath.Join(base, "m")
	for _, source := range []string{dir, "file://" + base + "/x.zip"} {
		if _, _, err := f.Fetch(t.Context(), source, "", at); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, dir, "main.tf") != "# top" || read(t, at, "main.tf") != "# zip" {
		t.Error("the directory behind the link was changed")
	}
}

func TestCopy(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"main.tf", ".hidden", "sub/x.tf", "sub/.git/config", ".git/config"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("main.tf", filepath.Join(from, "link.tf")); err != nil {
		t.Fatal(err)
	}
	if err := Copy(from, to); err != nil {
		t.Fatal(err)
	}
	if read(t, to, "main.tf") != "main.tf" || read(t, to, "sub", "x.tf") != "sub/x.tf" || read(t, to, "link.tf") != "main.tf" {
		t.Error("a file isn't what it was")
	}
	if exists(filepath.Join(to, ".hidden")) || exists(filepath.Join(to, ".git")) || exists(filepath.Join(to, "sub", ".git")) {
		t.Error("hidden files were copied")
	}
}

// TestRedirectedCredentials: neither what .netrc has for a host nor its token go to
// another one that it sends on to, not even by another port.
func TestRedirectedCredentials(t *testing.T) {
	data := zipOf(t, map[string]string{"main.tf": "# elsewhere"})
	got := "never asked"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.Write(data)
	}))
	defer other.Close()
	here := ""
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = r.Header.Get("Authorization")
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}))
	defer own.Close()
	file := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(file, []byte("machine 127.0.0.1 login me password pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := New(Options{HTTP: own.Client(), Environ: []string{"NETRC=" + file}})
	dir, _, err := f.Fetch(t.Context(), own.URL+"/a.zip", "", filepath.Join(t.TempDir(), "m"))
	if err != nil || read(t, dir, "main.tf") != "# elsewhere" {
		t.Fatal(err)
	}
	if !strings.HasPrefix(here, "Basic ") || got != "" {
		t.Errorf("the host got %q, the other one %q", here, got)
	}
}

func TestListed(t *testing.T) {
	for list, want := range map[string]string{
		"aa  x.zip\nbb *y.zip": "bb", "SHA256 (y.zip) = cc": "sha256:cc", "dd\n": "dd", "aa x.zip": "", "ee  ./dist/y.zip": "ee",
	} {
		if got := listed([]byte(list), "y.zip"); got != want {
			t.Errorf("%q: got %q, want %q", list, got, want)
		}
	}
}

// TestNamedByServers: a repository in the file system is only believed of a
// server on the same machine.
func TestNamedByServers(t *testing.T) {
	for _, test := range []struct {
		source, server string
		local          bool
	}{
		{"git::file:///repo", "https://modules.example.com", true},
		{"git::file:///repo", "http://127.0.0.1:8080", false},
		{"git::file:///repo", "http://[::1]:8080", false},
		{"git::file:///repo", "http://localhost", false},
		{"git::https://example.com/repo", "https://modules.example.com", false},
		{"file:///dir", "http://localhost", true},
	} {
		remote, err := module.ParseRemote(test.source)
		if err != nil {
			t.Fatal(err)
		}
		server, _ := url.Parse(test.server)
		if ofThisMachine(remote, server) != test.local {
			t.Errorf("%s from %s: %v", test.source, test.server, !test.local)
		}
	}
}

// TestServersNameNoFiles: what a server says of where a package is leads to no file of this
// machine, in a page and in a registry.
func TestServersNameNoFiles(t *testing.T) {
	victim := t.TempDir()
	if err := os.WriteFile(filepath.Join(victim, "main.tf"), []byte("# precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	named := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get", named)
		if strings.HasSuffix(r.URL.Path, "/versions") {
			_, _ = io.WriteString(w, `{"modules":[{"versions":[{"version":"1.0.0"}]}]}`)
		}
	}))
	defer server.Close()
	// It is reached by the name of another machine.
	elsewhere := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}}
	for _, named = range []string{"file://" + victim, "git::file://" + victim, "file::" + victim, "hg::file://" + victim} {
		for _, source := range []string{"http://modules.example.com/m", "modules.example.com/a/b/c"} {
			f := New(Options{HTTP: elsewhere, Environ: os.Environ(), Services: map[string]map[string]any{
				"modules.example.com": {service: "http://modules.example.com/v1/"},
			}})
			dir, _, err := f.Fetch(t.Context(), source, "", filepath.Join(t.TempDir(), "m"))
			if err == nil || !strings.Contains(err.Error(), "can't know") {
				t.Errorf("%s from %s: %s, %v", named, source, dir, err)
			}
		}
	}
}
