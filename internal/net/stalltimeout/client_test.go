package stalltimeout

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestClient: silence counts before an answer and in the middle of it, and what comes in
// time isn't touched.
func TestClient(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/before":
			<-done
		case "/within":
			_, _ = io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
			<-done
		default:
			_, _ = io.WriteString(w, "all of it")
		}
	}))
	defer server.Close()
	defer close(done)
	get := func(c *http.Client, path string) (string, error) {
		resp, err := c.Get(server.URL + path)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	if text, err := get(Client(server.Client(), time.Minute), "/"); text != "all of it" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	brief := Client(server.Client(), 50*time.Millisecond)
	for path, want := range map[string]string{"/before": "", "/within": "begun"} {
		if text, err := get(brief, path); text != want || !Is(err) || !strings.Contains(err.Error(), strings.TrimPrefix(server.URL, "http://")) {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if c := server.Client(); Client(c, 0) != c {
		t.Error("a limit that nobody asked for")
	}
}
