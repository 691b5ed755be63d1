// Package consul tests weir and OpenTofu with states in the same Consul.
package consul

import (
	"net/http/httptest"
	"strings"
	"testing"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

func TestEngines(t *testing.T) {
	agent := &testservers.Consul{}
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	engines.Run(t, engines.Place{
		Kind: "consul",
		Arguments: `
    address = "` + strings.TrimPrefix(server.URL, "http://") + `"
    path = "states/%s"`,
		Content: func(_ *testing.T, name string) []byte {
			value, _ := agent.Value("states/" + name)
			return value
		},
	})
}
