package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// host is a server that lets one user log in.
func host(t *testing.T, document string) *httptest.Server {
	challenge, back := "", ""
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/terraform.json", func(w http.ResponseWriter, r *http.Request) {
		if document == "" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, document)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("client_id") != "weir-cli" || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("scope") != "a b" {
			t.Errorf("asked with %s", r.URL.RawQuery)
		}
		challenge, back = q.Get("code_challenge"), q.Get("redirect_uri")
		http.Redirect(w, r, back+"?"+url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if r.FormValue("code") != "the-code" || r.FormValue("redirect_uri") != back || base64.RawURLEncoding.EncodeToString(sum[:]) != challenge {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "invalid_grant", "error_description": "the proof is wrong"}`)
			return
		}
		fmt.Fprint(w, `{"access_token": "the-token", "token_type": "bearer"}`)
	})
	s := httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	return s
}

const offer = `{"login.v1": {"client": "weir-cli", "authz": "/authorize", "token": "/token", "grant_types": ["authz_code"], "ports": [20000, 40000], "scopes": ["a", "b"]}}`

func discover(t *testing.T, s *httptest.Server) (*Client, error) {
	return Discover(t.Context(), s.Client(), strings.TrimPrefix(s.URL, "https://"), nil)
}

func TestObtain(t *testing.T) {
	s := host(t, offer)
	c, err := discover(t, s)
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.Obtain(t.Context(), s.Client(), func(address string) {
		u, _ := url.Parse(address)
		back := u.Query().Get("redirect_uri")
		// Others on this machine can't get in between.
		for _, wrong := range []string{"?code=x&state=guess", "?code=x", "/other?code=x", "?state=" + u.Query().Get("state")} {
			resp, err := http.Get(back + wrong)
			if err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %v %v", wrong, resp, err)
			}
		}
		resp, err := s.Client().Get(address)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the browser gets %v, %v", resp, err)
			return
		}
		page, _ := io.ReadAll(resp.Body)
		if !strings.Contains(string(page), "successful") {
			t.Errorf("the page is %s", page)
		}
	})
	if err != nil || token != "the-token" {
		t.Errorf("got %q, %v", token, err)
	}
}

func TestObtainFails(t *testing.T) {
	s := host(t, offer)
	c, err := discover(t, s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Obtain(t.Context(), s.Client(), func(address string) {
		u, _ := url.Parse(address)
		resp, err := http.Get(u.Query().Get("redirect_uri") + "?code=another&state=" + u.Query().Get("state"))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Error(resp, err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "the proof is wrong") {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.Obtain(ctx, s.Client(), func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	listener, _, err := c.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := 0
	fmt.Sscanf(listener.Addr().String(), "127.0.0.1:%d", &port)
	c.MinPort, c.MaxPort = port, port
	if _, err := c.Obtain(t.Context(), s.Client(), func(string) {}); err == nil || !strings.Contains(err.Error(), "no TCP port") {
		t.Errorf("error is %v", err)
	}
}

// TestCodeStays has a host that redirects the request with the code to another server.
func TestCodeStays(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server got %s %s", r.Method, r.URL)
	}))
	defer other.Close()
	tokens := httptest.NewTLSServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer tokens.Close()
	at, _ := url.Parse(tokens.URL)
	c := &Client{Token: at}
	if _, err := c.exchange(t.Context(), tokens.Client(), url.Values{"code": {"x"}}); err == nil || !strings.Contains(err.Error(), "sends on to another one") {
		t.Errorf("error is %v", err)
	}
}

func TestDiscover(t *testing.T) {
	for document, want := range map[string]string{
		"":                    "does not support",
		`{"modules.v1": "/"}`: "does not support",
		`<html>`:              "expected JSON",
		`{"login.v1": {"authz": "/a", "token": "/t"}}`:                                             "no client",
		`{"login.v1": {"client": "x", "authz": "/a", "token": "/t", "grant_types": ["password"]}}`: "only one that is supported",
		`{"login.v1": {"client": "x", "authz": "/a", "token": "/t", "ports": [80, 90]}}`:           "1024",
		`{"login.v1": {"client": "x", "authz": "ftp://a", "token": "/t"}}`:                         "invalid login address",
		`{"login.v1": {"client": "x", "authz": "/a"}}`:                                             "invalid login address",
		`{"login.v1": "x"}`: "invalid login settings",
	} {
		if _, err := discover(t, host(t, document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", document, err, want)
		}
	}
	written := map[string]any{Service: []map[string]any{{"client": "x", "authz": "https://a.example.com/a", "token": "https://a.example.com/t"}}}
	if c, err := Discover(t.Context(), nil, "example.com", written); err != nil || c.Token.Host != "a.example.com" {
		t.Error(c, err)
	}
}
