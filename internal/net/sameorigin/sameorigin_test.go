package sameorigin

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"https://a/x", "https://a:443/y", true},
		{"http://a", "https://a", true},
		{"https://a", "http://a", false},
		{"http://a:8080", "https://a:8443", false},
		{"https://a", "https://b.a", false},
		{"https://a", "https://a:8443", false},
	} {
		a, _ := url.Parse(test.a)
		b, _ := url.Parse(test.b)
		if Same(a, b) != test.same {
			t.Errorf("%s and %s: %v", a, b, !test.same)
		}
	}
}

// TestRedirects has a server that sends on to itself and to another one.
func TestRedirects(t *testing.T) {
	var got string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
			return
		}
		got = "other " + r.Header.Get("Authorization")
	}))
	defer other.Close()
	var own *httptest.Server
	own = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		case "/there":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/through":
			http.Redirect(w, r, other.URL+"/back?to="+own.URL, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		default:
			got = "own " + r.Header.Get("Authorization")
		}
	}))
	defer own.Close()
	for _, test := range []struct {
		client     *http.Client
		path, want string
		body       string
	}{
		{Follow(http.DefaultClient), "/here", "own secret", ""},
		{Follow(http.DefaultClient), "/there", "other ", ""},
		{Follow(http.DefaultClient), "/there", "sends on to another", "body"},
		{Follow(http.DefaultClient), "/through", "sends on to another", "body"},
		{Follow(http.DefaultClient), "/here", "own secret", "body"},
		{Follow(http.DefaultClient), "/through", "own ", ""},
		{Follow(http.DefaultClient), "/round", "stopped after 10", ""},
		{Stay(http.DefaultClient), "/here", "own secret", ""},
		{Stay(http.DefaultClient), "/there", "sends on to another", ""},
		{Stay(http.DefaultClient), "/round", "stopped after 10", ""},
	} {
		got = ""
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, own.URL+test.path, strings.NewReader(test.body))
		req.Header.Set("Authorization", "secret")
		resp, err := test.client.Do(req)
		if err != nil {
			got += err.Error()
		} else {
			resp.Body.Close()
		}
		if !strings.Contains(got, test.want) || strings.HasPrefix(test.want, "o") && got != test.want {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
}

func TestSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"git::https://user:pass%2Fword@host/repo.git?ref=v1&sshkey=abc": "pass%2Fword pass/word abc",
		"https://ghp_0123456789012345678901234@host/x":                  "ghp_0123456789012345678901234",
		"git::ssh://git@host/x":                                         "",
		"https://host/x?X-Amz-Signature=a1b2&x=y":                       "a1b2",
		"https://user:pw@host/x":                                        "pw :pw@",
		"hashicorp/consul/aws":                                          "",
		"https://host/a:b@c":                                            "",
	} {
		if got := strings.Join(Secrets(address), " "); got != want {
			t.Errorf("%s: %q, not %q", address, got, want)
		}
	}
}
