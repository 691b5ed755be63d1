// Package kubernetes tests weir and OpenTofu with states in the same cluster.
package kubernetes

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	coordination "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestEngines(t *testing.T) {
	cluster := &testservers.Kubernetes{}
	server := httptest.NewServer(plain(t, cluster))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(file, []byte(`
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "`+server.URL+`"}}]
users: [{name: u, user: {token: t}}]
`), 0o600))
	engines.Run(t, engines.Place{
		Kind: "kubernetes",
		Arguments: `
    config_path = "` + file + `"
    secret_suffix = "%s"`,
		Content: func(t *testing.T, name string) []byte {
			r, err := gzip.NewReader(bytes.NewReader(cluster.Data("tfstate-default-"+name, "tfstate")))
			must(t, err)
			content, err := io.ReadAll(r)
			must(t, err)
			return content
		},
	})
}

// plain has a server that reads JSON only get it: clients of Kubernetes send leases as
// protobuf.
func plain(t *testing.T, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			// An engine was killed while it sent this: no server would act on it.
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if packed, found := bytes.CutPrefix(body, []byte("k8s\x00")); found {
			var envelope runtime.Unknown
			var lease coordination.Lease
			if err = errors.Join(envelope.Unmarshal(packed), lease.Unmarshal(envelope.Raw)); err == nil {
				body, err = json.Marshal(&lease)
			}
		}
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
