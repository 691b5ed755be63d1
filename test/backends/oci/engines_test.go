// Package oci tests two runs of weir with states in the same bucket of Oracle's Object
// Storage. OpenTofu has no such backend, so PEER counts only if PEER_OCI says that it has one.
package oci

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestEngines(t *testing.T) {
	if os.Getenv("PEER_OCI") == "" {
		t.Setenv("PEER", "")
	}
	cloud := testservers.NewOracle()
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, []byte(cloud.Key()), 0o600); err != nil {
		t.Fatal(err)
	}
	engines.Run(t, engines.Place{
		Kind: "oci",
		Arguments: `
    bucket = "states"
    namespace = "ns"
    key = "%s.tfstate"
    workspace_key_prefix = "%s"
    region = "eu-frankfurt-1"
    tenancy_ocid = "tenancy"
    user_ocid = "user"
    fingerprint = "print"
    private_key_path = "` + key + `"`,
		Env:     []string{"CLIENT_HOST_OVERRIDES=oci_object_storage.ObjectStorageClient=" + server.URL},
		Content: func(_ *testing.T, name string) []byte { return cloud.Object(name + ".tfstate") },
	})
}
