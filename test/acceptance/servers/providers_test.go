// Package servers applies configurations with real providers to their real servers.
//
// The providers come from clones of their repositories, which make servers builds
// into a mirror that WEIR_MIRROR names; the servers are Debian's. A test whose
// provider or server isn't there is skipped and says so.
package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/test/acceptance/engine"
)

// provider finds a provider in the mirror.
func provider(t *testing.T, source, version string) engine.Provider {
	t.Helper()
	mirror := os.Getenv("WEIR_MIRROR")
	name := source[strings.LastIndex(source, "/")+1:]
	file := filepath.Join(mirror, "registry.terraform.io", filepath.FromSlash(source), version, engine.Platform, "terraform-provider-"+name+"_v"+version)
	if _, err := os.Stat(file); mirror == "" || err != nil {
		t.Skipf("the provider %s %s isn't built: make servers SOURCES=DIR does it from clones (see test/providers/README.md)", source, version)
	}
	return engine.Provider{Source: source, Version: version, Plugin: file}
}
