package releases

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir.dev/weir/internal/net/httpcall"
)

func TestLatest(t *testing.T) {
	for name, c := range map[string]struct{ index, current, want, fails string }{
		"unordered":                {`{"versions": [{"id": "0.9.0"}, {"id": "0.10.0"}, {"id": "0.2.0"}]}`, "0.2.0", "0.10.0", ""},
		"no pre-release of others": {`{"versions": [{"id": "0.3.0-rc1"}, {"id": "0.2.0"}]}`, "0.2.0", "0.2.0", ""},
		"a later pre-release":      {`{"versions": [{"id": "0.3.0-rc1"}, {"id": "0.2.0"}]}`, "0.3.0-beta1", "0.3.0-rc1", ""},
		"after a pre-release":      {`{"versions": [{"id": "0.3.0-rc1"}, {"id": "0.3.0"}]}`, "0.3.0-rc1", "0.3.0", ""},
		"more than versions":       {`{"versions": [{"id": "nightly"}, {"id": "0.2.0", "files": ["a"]}], "x": 1}`, "0.1.0", "0.2.0", ""},
		"none":                     {`{"versions": []}`, "0.1.0", "", "lists no release"},
		"a page":                   {`<html>`, "0.1.0", "", "isn't valid"},
		"missing":                  {``, "0.1.0", "", "answered with the status 404"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.index == "" || r.URL.Path != "/weir/index.json" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, c.index)
		}))
		for _, slash := range []string{"", "/"} {
			got, err := Latest(context.Background(), httpcall.Client{HTTP: server.Client()}, server.URL+"/weir"+slash, c.current)
			if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
		}
		server.Close()
	}
	for _, address := range []string{"releases", "ftp://example.com", "https://", ":"} {
		if _, err := Latest(context.Background(), httpcall.Client{}, address, "0.1.0"); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
}

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		version, current string
		want             bool
	}{{"0.2.0", "0.1.0", true}, {"0.1.0", "0.1.0", false}, {"0.1.0", "0.2.0", false}, {"0.1.0", "0.1.0-dev", true}} {
		if got := Newer(c.version, c.current); got != c.want {
			t.Errorf("%s newer than %s: %t", c.version, c.current, got)
		}
	}
}
