package ociregistry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const imageManifest = "application/vnd.oci.image.manifest.v1+json"

// A registry has one manifest, one blob and two pages of tags in each of its repositories. It
// makes a token for each repository, which no other repository accepts.
type registry struct {
	tokens    string // where tokens are made, "" for here
	challenge string // instead of asking for tokens
	blobs     string // where blobs are, "" for here
	log       []string
}

const content = "content"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (g *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		_ = r.ParseForm()
		_, password, _ := r.BasicAuth()
		g.log = append(g.log, r.Method+" "+r.Form.Get("scope")+" "+password+r.PostForm.Get("refresh_token"))
		if password+r.PostForm.Get("refresh_token") != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"access_token": "for %s"}`, r.Form.Get("scope"))
		return
	}
	name, rest := "", ""
	for _, kind := range []string{"/manifests/", "/blobs/", "/tags/"} {
		if at := strings.Index(r.URL.Path, kind); at > 0 {
			name, rest = r.URL.Path[len("/v2/"):at], r.URL.Path[at:]
		}
	}
	authorized := r.Header.Get("Authorization")
	g.log = append(g.log, name+" "+authorized)
	if g.challenge != "" && !strings.HasPrefix(authorized, "Basic ") {
		w.Header().Set("WWW-Authenticate", g.challenge)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if g.challenge == "" && authorized != "Bearer for repository:"+name+":pull" {
		at := g.tokens
		if at == "" {
			at = "https://" + r.Host + "/token"
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+at+`",service="registry",scope="repository:`+name+`:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch {
	case strings.HasPrefix(rest, "/manifests/"):
		w.Header().Set("Content-Type", imageManifest)
		io.WriteString(w, content)
	case strings.HasPrefix(rest, "/blobs/") && g.blobs != "":
		http.Redirect(w, r, g.blobs, http.StatusTemporaryRedirect)
	case strings.HasPrefix(rest, "/blobs/"):
		io.WriteString(w, content)
	case r.URL.Query().Get("last") == "":
		w.Header().Set("Link", `</v2/`+name+`/tags/list?last=1.0>; rel="next"`)
		io.WriteString(w, `{"tags": ["1.0"]}`)
	default:
		io.WriteString(w, `{"tags": ["2.0"]}`)
	}
}

func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	return s
}

func client(s *httptest.Server, login Login) *Client {
	return &Client{HTTP: s.Client(), Login: func(context.Context, Repository) (Login, error) { return login, nil }}
}

func at(s *httptest.Server, name string) Repository {
	return Repository{Registry: strings.TrimPrefix(s.URL, "https://"), Name: name}
}

// TestRepositories reads two repositories of one registry by turns. Each gets its own token,
// once, by every kind of login.
func TestRepositories(t *testing.T) {
	for name, login := range map[string]Login{
		"password": {User: "me", Password: "secret"},
		"refresh":  {Refresh: "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &registry{}
			s := serve(t, g)
			c := client(s, login)
			for range 2 {
				for _, repository := range []string{"team/a", "team/b"} {
					got, sum, err := c.Manifest(t.Context(), at(s, repository), "1.0", imageManifest)
					if err != nil || string(got) != content || sum != digest(content) {
						t.Errorf("%s: %q, %s, %v", repository, got, sum, err)
					}
				}
			}
			made := slices.DeleteFunc(slices.Clone(g.log), func(line string) bool { return !strings.Contains(line, "secret") })
			if len(made) != 2 || !strings.Contains(made[0], "team/a") || !strings.Contains(made[1], "team/b") {
				t.Errorf("tokens were made for %q", made)
			}
			for _, line := range g.log {
				if repository, token, _ := strings.Cut(line, " "); strings.HasPrefix(token, "Bearer") && !strings.Contains(token, repository) {
					t.Errorf("%s got the token %q", repository, token)
				}
			}
		})
	}
}

// TestSecretsStay has servers that redirect to another one, which must get no secret.
func TestSecretsStay(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for name, login := range map[string]Login{
			"password": {User: "me", Password: "secret"},
			"refresh":  {Refresh: "secret"},
		} {
			t.Run(fmt.Sprint(status, " ", name), func(t *testing.T) {
				asked := 0
				other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					body, _ := io.ReadAll(r.Body)
					if seen := fmt.Sprint(r.URL, r.Header, string(body)); strings.Contains(seen, "secret") || r.Header.Get("Authorization") != "" {
						t.Errorf("the other server sees %s", seen)
					}
					w.WriteHeader(http.StatusForbidden)
				}))
				tokens := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, other.URL+"/token", status)
				}))
				s := serve(t, &registry{tokens: tokens.URL})
				_, _, err := client(s, login).Manifest(t.Context(), at(s, "team/a"), "1.0", imageManifest)
				if err == nil {
					t.Error("no error")
				}
				if status >= http.StatusTemporaryRedirect && login.Refresh != "" && (asked > 0 || !strings.Contains(err.Error(), "sends on to another one")) {
					t.Errorf("asked %d times: %v", asked, err)
				}
			})
		}
	}
	// Registries keep blobs elsewhere, so that redirect is followed without the token.
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token went to another server")
		}
		io.WriteString(w, content)
	}))
	s := serve(t, &registry{blobs: other.URL})
	var got bytes.Buffer
	err := client(s, Login{User: "me", Password: "secret"}).Blob(t.Context(), at(s, "team/a"), digest(content), int64(len(content)), &got)
	if err != nil || got.String() != content {
		t.Errorf("%q, %v", got.String(), err)
	}
}

// TestTags reads all pages.
func TestTags(t *testing.T) {
	s := serve(t, &registry{challenge: `Basic realm="registry"`})
	got, err := client(s, Login{User: "me", Password: "secret"}).Tags(t.Context(), at(s, "team/a"))
	if err != nil || !slices.Equal(got, []string{"1.0", "2.0"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := client(s, Login{}).Tags(t.Context(), at(s, "team/a")); err == nil || !strings.Contains(err.Error(), "accepts none") {
		t.Error(err)
	}
}

// TestAnswers has contents and realms that are wrong.
func TestAnswers(t *testing.T) {
	s := serve(t, &registry{})
	c, from := client(s, Login{Refresh: "secret"}), at(s, "team/a")
	if err := c.Blob(t.Context(), from, digest("other!!"), int64(len(content)), io.Discard); err == nil || !strings.Contains(err.Error(), "damaged or replaced") {
		t.Error(err)
	}
	if err := c.Blob(t.Context(), from, digest(content), 3, io.Discard); err == nil || !strings.Contains(err.Error(), "size of 3 bytes") {
		t.Error(err)
	}
	if _, _, err := c.Manifest(t.Context(), from, "1.0", "text/plain"); err == nil || !strings.Contains(err.Error(), "no manifest of the type") {
		t.Error(err)
	}
	for _, realm := range []string{"http://127.0.0.1/token", "/token", ""} {
		s := serve(t, &registry{challenge: `Bearer realm="` + realm + `"`})
		_, err := client(s, Login{Refresh: "secret"}).Tags(t.Context(), at(s, "team/a"))
		if err == nil || !strings.Contains(err.Error(), "names no address for tokens") {
			t.Errorf("%s: %v", realm, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, r := range []Repository{{"", "a"}, {"host/x", "a"}, {"host", "A"}, {"host", "a//b"}} {
		if r.Check() == nil {
			t.Errorf("%s is accepted", r)
		}
	}
	if err := (Repository{"host:5000", "team/net_x"}).Check(); err != nil {
		t.Error(err)
	}
	if CheckTag("v1.0_x") != nil || CheckTag(".x") == nil || CheckDigest(digest("")) != nil || CheckDigest("md5:00") == nil || CheckDigest("sha256:00") == nil {
		t.Error("tags or digests")
	}
}
