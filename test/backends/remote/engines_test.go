// Package remote tests weir and OpenTofu with states in the same organization of a service
// like HCP Terraform.
package remote

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestEngines(t *testing.T) {
	for _, kind := range []string{"remote", "cloud"} {
		t.Run(kind, func(t *testing.T) {
			service := &testservers.Remote{Mode: "local"}
			server := httptest.NewServer(service)
			t.Cleanup(server.Close)
			engines.Run(t, engines.Place{
				Kind: kind,
				Settings: fmt.Sprintf(`
host "app.example.com" {
  services = { "tfe.v2" = "%[1]s/api/v2/", "tfe.v2.1" = "%[1]s/api/v2/" }
}
credentials "app.example.com" {
  token = "someone-token"
}
`, server.URL),
				Arguments: `
    hostname     = "app.example.com"
    organization = "org"
    workspaces {
      name = "%s"
    }`,
				Remote: `
    hostname     = "app.example.com"
    organization = "org"
    workspaces   = { name = "%s" }`,
				Lock: regexp.MustCompile(`lock ID: "([^"]+)"`),
				Only: true,
				Content: func(_ *testing.T, name string) []byte {
					state, _ := service.State(name)
					return state
				},
			})
		})
	}
}
