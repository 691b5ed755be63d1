package lint

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVersions checks that the modules that make test builds require the engine's versions, so
// that what is tested has the versions of what is released, and is compiled once. It compares
// what the engine requires itself, and the modules of Go and gRPC.
func TestVersions(t *testing.T) {
	engine, direct := required(t, "go.mod")
	compared := 0
	for _, module := range []string{"test/libraries", "test/conformance", "test/conformance/simcloud", "test/acceptance", "test/backends", "examples/embed"} {
		versions, _ := required(t, module+"/go.mod")
		for name, version := range versions {
			want := engine[name]
			if want == "" || !direct[name] && !strings.HasPrefix(name, "golang.org/x/") && !strings.HasPrefix(name, "google.golang.org/") {
				continue
			}
			compared++
			if version != want {
				t.Errorf("%s/go.mod requires %s %s, and the engine %s: run \"go get %s@%s\" there", module, name, version, want, name, want)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d versions are compared", compared)
	}
}

var requirement = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)( // indirect)?$`)

// required reads the versions that a module requires, and which of them it imports itself.
func required(t *testing.T, file string) (versions map[string]string, direct map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	versions, direct = map[string]string{}, map[string]bool{}
	for _, match := range requirement.FindAllStringSubmatch(string(text), -1) {
		versions[match[1]], direct[match[1]] = match[2], match[3] == ""
	}
	return versions, direct
}
