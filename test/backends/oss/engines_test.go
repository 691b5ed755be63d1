// Package oss tests weir and OpenTofu with states in the same bucket of Alibaba's OSS.
package oss

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestEngines(t *testing.T) {
	cloud := testservers.NewAlibaba()
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	engines.Run(t, engines.Place{
		Kind: "oss",
		Arguments: fmt.Sprintf(`
    bucket = "states"
    prefix = "%%s"
    region = "eu-central-1"
    endpoint = %[1]q
    access_key = "key"
    secret_key = "secret"
    tablestore_endpoint = %[1]q
    tablestore_table = "locks"`, server.URL),
		Content: func(_ *testing.T, name string) []byte { return cloud.Object(name + "/terraform.tfstate") },
	})
}
