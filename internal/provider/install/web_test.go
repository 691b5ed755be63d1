package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"weir.dev/weir/internal/cliconfig"
	"weir.dev/weir/internal/core/addr"
)

// A site serves documents by path and notes who asked with which token.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	pages    map[string]any // []byte, an int for a status, or what becomes JSON
	requests []string
}

func newSite(t *testing.T) *site {
	s := &site{pages: make(map[string]any)}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Authorization")))
		switch page := s.pages[r.URL.Path].(type) {
		case nil:
			http.NotFound(w, r)
		case int:
			delete(s.pages, r.URL.Path) // the next time it is another page, or none
			if again, ok := s.pages[r.URL.Path+"#then"]; ok {
				s.pages[r.URL.Path] = again
			}
			w.WriteHeader(page)
		case []byte:
			w.Write(page)
		default:
			json.NewEncoder(w).Encode(page)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) host() string { return strings.TrimPrefix(s.URL, "https://") }

type fixedTokens map[string]string

func (f fixedTokens) Token(_ context.Context, host string) (string, error) { return f[host], nil }

type object = map[string]any

func archiveBytes(t *testing.T) (content []byte, zh, h1 string) {
	path := filepath.Join(t.TempDir(), "p.zip")
	packed(t, path, "terraform-provider-a_v1.1.0", "program")
	zh, h1, err := HashArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content, zh, h1
}

func TestNetworkMirror(t *testing.T) {
	s := newSite(t)
	content, zh, h1 := archiveBytes(t)
	a := provider("weir/a")
	base := "/mirror/registry.opentofu.org/weir/a/"
	s.pages[base+"index.json"] = object{"versions": object{"1.0.0": object{}, "1.1.0": object{}}}
	archives := object{Platform: object{"url": "a.zip", "hashes": []string{h1}}, "plan9_mips": object{"url": "x", "hashes": []string{"h1:other"}}}
	s.pages[base+"1.1.0.json"] = object{"archives": archives}
	s.pages[base+"a.zip"] = content
	method := cliconfig.Method{Kind: cliconfig.NetworkMirror, Location: s.URL + "/mirror/", DownloadRetries: -1}
	config := &cliconfig.Config{Installation: &cliconfig.Installation{Methods: []cliconfig.Method{method}}}
	o := Options{Config: config, Requirements: require("weir/a", ""), HTTP: s.Client(), Tokens: fixedTokens{s.host(): "secret"}}

	o.Dir = t.TempDir()
	var came []Event
	o.Events = func(e Event) {
		if e.Kind == Downloading {
			came = append(came, e)
		}
	}
	locks, events, diags := run(t, o)
	if n := len(came) - 1; n < 1 || came[n].Done != int64(len(content)) || came[n].Size != came[n].Done || !came[n].Over || came[0].Over || came[0].Provider != a {
		t.Errorf("the download: %+v", came)
	}
	o.Events = nil
	if diags.HasErrors() || !strings.HasSuffix(events, "installed a 1.1.0 verified checksum") {
		t.Fatalf("%v\n%s", diags, events)
	}
	if got := lockOf(t, locks, a).Hashes; !slices.Equal(got, []string{h1, zh}) {
		t.Errorf("hashes %v", got)
	}
	for _, request := range s.requests {
		if !strings.HasSuffix(request, " Bearer secret") {
			t.Errorf("without the token: %s", request)
		}
	}

	// The word of a trusted mirror counts for other platforms.
	config.Installation.Methods[0].TrustAllHashes = true
	o.Dir = t.TempDir()
	locks, _, diags = run(t, o)
	if got := lockOf(t, locks, a).Hashes; diags != nil || !slices.Contains(got, "h1:other") {
		t.Errorf("%v %v", got, diags)
	}

	for name, change := range map[string]func(){
		"doesn't have the checksum":        func() { archives[Platform] = object{"url": "a.zip", "hashes": []string{"h1:wrong"}} },
		"no package for " + Platform:       func() { delete(archives, Platform) },
		"address for the package":          func() { archives[Platform] = object{"url": "ftp://x"} },
		"was not found":                    func() { delete(s.pages, base+"index.json") },
		"didn't answer with":               func() { s.pages[base+"index.json"] = []byte("<html>") },
		"which isn't a version":            func() { s.pages[base+"index.json"] = object{"versions": object{"x": object{}}} },
		"asks for credentials, or doesn't": func() { s.pages[base+"index.json"] = http.StatusForbidden },
	} {
		old := archives[Platform]
		change()
		o.Dir = t.TempDir()
		if _, _, diags := run(t, o); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), name) {
			t.Errorf("%s: %v", name, diags)
		}
		archives[Platform] = old
		s.pages[base+"index.json"] = object{"versions": object{"1.1.0": object{}}}
	}
}

// signingKey makes a key and signs a document with it.
func signingKey(t *testing.T, document []byte) (public string, signature []byte, id string) {
	return signedWith(t, document, &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
}

func signedWith(t *testing.T, document []byte, config *packet.Config) (public string, signature []byte, id string) {
	entity, err := openpgp.NewEntity("weir", "", "weir@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	var key bytes.Buffer
	w, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := entity.Serialize(w); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var sig bytes.Buffer
	if err := openpgp.DetachSign(&sig, entity, bytes.NewReader(document), config); err != nil {
		t.Fatal(err)
	}
	return key.String(), sig.Bytes(), entity.PrimaryKey.KeyIdString()
}

// TestExpired: a key that has expired since proves who signed, unless good keys
// are asked for; one that hasn't does in any case.
func TestExpired(t *testing.T) {
	list := []byte("sums")
	past := &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, KeyLifetimeSecs: 3600,
		Time: func() time.Time { return time.Now().Add(-48 * time.Hour) },
	}
	expired, signature, id := signedWith(t, list, past)
	if got, err := verifySignature([]string{expired}, list, signature, false); err != nil || got != id {
		t.Errorf("%q %v", got, err)
	}
	if got, err := verifySignature([]string{expired}, list, signature, true); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("%q %v", got, err)
	}
	good, signature, id := signingKey(t, list)
	if got, err := verifySignature([]string{expired, good}, list, signature, true); err != nil || got != id {
		t.Errorf("%q %v", got, err)
	}
}

// publish makes the site a registry with weir/a 1.1.0 at its host.
func publish(t *testing.T, s *site) (release object, hash, key string) {
	content, zh, _ := archiveBytes(t)
	sum := strings.TrimPrefix(zh, "zh:")
	other := sha256.Sum256(nil)
	list := []byte(sum + "  a.zip\n" + hex.EncodeToString(other[:]) + "  b.zip\n")
	public, signature, id := signingKey(t, list)
	system, arch, _ := strings.Cut(Platform, "_")
	release = object{
		"protocols": []string{"5.0"}, "os": system, "arch": arch, "filename": "a.zip", "download_url": "/files/a.zip",
		"shasum": sum, "shasums_url": "/files/sums", "shasums_signature_url": "/files/sums.sig",
		"signing_keys": object{"gpg_public_keys": []object{{"ascii_armor": public}}},
	}
	s.pages["/.well-known/terraform.json"] = object{service: "/v1/providers/"}
	s.pages["/v1/providers/weir/a/versions"] = object{"versions": []object{{"version": "1.0.0"}, {"version": "1.1.0"}, {"version": "?"}}, "warnings": []string{"it is archived"}}
	s.pages["/v1/providers/weir/a/1.1.0/download/"+system+"/"+arch] = release
	s.pages["/files/a.zip"] = content
	s.pages["/files/sums"] = list
	s.pages["/files/sums.sig"] = signature
	return release, zh, id
}

func TestRegistry(t *testing.T) {
	s := newSite(t)
	release, zh, key := publish(t, s)
	a := addr.Provider{Host: s.host(), Namespace: "weir", Type: "a"}
	reqs := Requirements{a: {{Constraint: "~> 1.0"}}}
	limits := cliconfig.Registry{Retries: 1, Timeout: 5 * time.Second, DownloadRetries: 1}
	o := Options{Config: &cliconfig.Config{Registry: limits}, Requirements: reqs, HTTP: s.Client(), Tokens: fixedTokens{s.host(): "secret"}}

	s.pages["/files/a.zip#then"] = s.pages["/files/a.zip"]
	s.pages["/files/a.zip"] = http.StatusServiceUnavailable // once
	o.Dir = t.TempDir()
	locks, events, diags := run(t, o)
	if diags.HasErrors() || !strings.HasSuffix(events, "installed a 1.1.0 "+key+" signed") {
		t.Fatalf("%v\n%s", diags, events)
	}
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "it is archived") {
		t.Errorf("warnings of the registry: %v", diags)
	}
	if got := lockOf(t, locks, a).Hashes; len(got) != 3 || !slices.Contains(got, zh) {
		t.Errorf("hashes %v", got)
	}
	if !slices.Contains(s.requests, "/v1/providers/weir/a/versions Bearer secret") || !slices.Contains(s.requests, "/files/a.zip") {
		t.Errorf("requests %v", s.requests)
	}

	public := release["signing_keys"]
	elsewhere, _, _ := signingKey(t, nil)
	sums := s.pages["/files/sums"]
	for want, change := range map[string]func(){
		"names no key":                  func() { release["signing_keys"] = object{} },
		"unknown issuer":                func() { release["signing_keys"] = object{"gpg_public_keys": []object{{"ascii_armor": elsewhere}}} },
		"error decoding signing key":    func() { release["signing_keys"] = object{"gpg_public_keys": []object{{"ascii_armor": "x"}}} },
		"error checking signature":      func() { s.pages["/files/sums"] = append(slices.Clone(sums.([]byte)), '\n') },
		"the list of checksums doesn't": func() { s.pages["/files/sums"] = []byte("x") },
		"list of checksums can't be":    func() { delete(s.pages, "/files/sums") },
		"needs plugin protocol 4.0":     func() { release["protocols"] = []string{"4.0"} },
		"named one for plan9":           func() { release["os"] = "plan9" },
		"an invalid address":            func() { release["download_url"] = "file:///etc/passwd" },
		"doesn't have the checksum":     func() { s.pages["/files/a.zip"] = []byte("PK") },
	} {
		before := make(object)
		for k, v := range release {
			before[k] = v
		}
		archive := s.pages["/files/a.zip"]
		change()
		o.Dir = t.TempDir()
		_, _, diags := run(t, o)
		if err := diags.Err(); err == nil || !strings.Contains(err.Error(), want) && want != "doesn't have the checksum" {
			t.Errorf("%s: %v", want, diags)
		}
		for k, v := range before {
			release[k] = v
		}
		release["signing_keys"] = public
		s.pages["/files/sums"], s.pages["/files/a.zip"] = sums, archive
	}
}

func TestDiscovery(t *testing.T) {
	s := newSite(t)
	publish(t, s)
	a := addr.Provider{Host: s.host(), Namespace: "weir", Type: "a"}
	o := Options{Requirements: Requirements{a: nil}, HTTP: s.Client()}
	for want, change := range map[string]func(){
		"does not offer a provider registry":  func() { delete(s.pages, "/.well-known/terraform.json") },
		"does not offer a provider registry.": func() { s.pages["/.well-known/terraform.json"] = object{"modules.v1": "/x"} },
		"address for providers.v1":            func() { s.pages["/.well-known/terraform.json"] = object{service: "ftp://x"} },
		"was not found":                       func() { delete(s.pages, "/v1/providers/weir/a/versions") },
		"no package of it for":                func() { s.pages["/v1/providers/weir/a/versions"] = object{"versions": []object{{"version": "9.0.0"}}} },
	} {
		publish(t, s)
		change()
		o.Dir, o.Config = t.TempDir(), &cliconfig.Config{}
		if _, _, diags := run(t, o); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), want) {
			t.Errorf("%s: %v", want, diags)
		}
	}
	// A host block takes the place of the document.
	publish(t, s)
	delete(s.pages, "/.well-known/terraform.json")
	o.Config = &cliconfig.Config{Hosts: map[string]map[string]any{s.host(): {service: s.URL + "/v1/providers"}}}
	if _, _, diags := run(t, o); diags.HasErrors() {
		t.Error(diags)
	}
}

func TestDefaultRegistryMayNotSign(t *testing.T) {
	s := newSite(t)
	release, _, _ := publish(t, s)
	release["signing_keys"] = object{}
	release["packages"] = object{"plan9_mips": object{"hashes": []string{"h1:other"}}}
	base, _ := url.Parse(s.URL + "/v1/providers/")
	a := provider("weir/a")
	o := Options{Dir: t.TempDir(), Requirements: Requirements{a: nil}, HTTP: s.Client(),
		Config: &cliconfig.Config{Hosts: map[string]map[string]any{string(addr.OpenTofu): {service: base.String()}}}}
	locks, events, diags := run(t, o)
	if diags.HasErrors() || !strings.HasSuffix(events, "signature validation was skipped") {
		t.Fatalf("%v\n%s", diags, events)
	}
	if got := lockOf(t, locks, a).Hashes; !slices.Contains(got, "h1:other") {
		t.Errorf("hashes %v", got)
	}
	o.Dir, o.Config.Registry.RequireSignatures = t.TempDir(), true
	if _, _, diags := run(t, o); !diags.HasErrors() {
		t.Error("signatures are required, and none is there")
	}
}

// everyone has a token for each host.
type everyone struct{}

func (everyone) Token(context.Context, string) (string, error) { return "secret", nil }

// TestGetNamed: a registry doesn't choose which other host gets a token.
func TestGetNamed(t *testing.T) {
	server := func() *url.URL {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Header.Get("Authorization"))
		}))
		t.Cleanup(web.Close)
		u, err := url.Parse(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	registry, other := server(), server()
	secure := *registry
	secure.Scheme = "https"
	w := &web{client: http.DefaultClient, tokens: everyone{}}
	for _, test := range []struct {
		name   string
		by, to *url.URL
		want   string
	}{
		{"its own host", registry, registry, "Bearer secret"},
		{"another host", registry, other, ""},
		{"in clear", &secure, registry, ""},
	} {
		got, _, err := w.getOf(t.Context(), endpoint{"registry.example", test.by}, test.to)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %q, %v", test.name, got, err)
		}
	}
}

// TestNetrc: the hosts of packages and of their checksums get what .netrc has for them. The
// registry's interface, which has tokens, doesn't.
func TestNetrc(t *testing.T) {
	s := newSite(t)
	publish(t, s)
	a := addr.Provider{Host: s.host(), Namespace: "weir", Type: "a"}
	o := Options{
		Dir: t.TempDir(), Config: &cliconfig.Config{}, Requirements: Requirements{a: nil}, HTTP: s.Client(),
		Netrc: func(host string) (user, password string, ok bool) { return "me", "pw", host == "127.0.0.1" },
	}
	if _, _, diags := run(t, o); diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, request := range s.requests {
		path, authorization, _ := strings.Cut(request, " ")
		if strings.HasPrefix(authorization, "Basic ") != strings.HasPrefix(path, "/files/") {
			t.Errorf("%s got %q", path, authorization)
		}
	}
}
