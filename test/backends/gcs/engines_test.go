// Package gcs tests weir and OpenTofu with states in the same Cloud Storage bucket.
package gcs

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestEngines(t *testing.T) {
	bucket := &testservers.Google{}
	server := httptest.NewServer(bucket)
	t.Cleanup(server.Close)
	engines.Run(t, engines.Place{
		Kind: "gcs",
		Arguments: fmt.Sprintf(`
    bucket = "states"
    prefix = "%%s"
    access_token = "token"
    storage_custom_endpoint = "%s/storage/v1/"`, server.URL),
		Content: func(_ *testing.T, name string) []byte {
			content, _ := bucket.Object(name + "/default.tfstate")
			return content
		},
	})
}
