package storagetest

import (
	"net/http"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/state/storage"
)

// Do ends the test where there is an error.
func Do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// State opens a workspace's state.
func State(t *testing.T, b storage.Backend, workspace string) storage.Store {
	t.Helper()
	s, err := b.State(workspace)
	Do(t, err)
	return s
}

// Said is what diagnostics say, one a line.
func Said(diags diag.List) string {
	var said []string
	for _, d := range diags {
		said = append(said, d.Summary+": "+d.Detail)
	}
	return strings.Join(said, "\n")
}

// Only has every request go to one address, in clear, as if it were its host.
type Only struct{ Address string }

// RoundTrip implements http.RoundTripper.
func (o Only) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = "http", o.Address
	return http.DefaultTransport.RoundTrip(r)
}
