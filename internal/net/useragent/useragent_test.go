package useragent

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.UserAgent()) }))
	t.Cleanup(server.Close)
	name := Name(func(name string) string { return map[string]string{"TF_APPEND_USER_AGENT": " Build/7\n(CI) "}[name] })
	if !strings.HasPrefix(name, "weir/") || !strings.HasSuffix(name, " Build/7 (CI)") {
		t.Errorf("%q", name)
	}
	if plain := Name(func(string) string { return "" }); plain != Name(nil) || strings.Contains(plain, " ") {
		t.Errorf("%q", plain)
	}
	for own, want := range map[string]string{"": name, "mine": "mine"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if own != "" {
			request.Header.Set(header, own)
		}
		response, err := Client(server.Client(), name).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(got) != want {
			t.Errorf("%q", got)
		}
	}
}
