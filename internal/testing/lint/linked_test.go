package lint

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinked: nothing is linked into the program, by whichever way, that every start
// would pay for. A template calls methods by name, so that the linker keeps all of all
// packages; gRPC's trace pages bring templates along; go-plugin is for tests.
func TestLinked(t *testing.T) {
	list := exec.Command("go", "list", "-tags", "grpcnotrace", "-deps", "weir.dev/weir/cmd/weir")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for path := range strings.Lines(string(out)) {
		linked[strings.TrimSpace(path)] = true
	}
	if !linked["weir.dev/weir/internal/ui/view/page"] {
		t.Fatal("the list isn't that of the program")
	}
	for _, path := range []string{"text/template", "html/template", "golang.org/x/net/trace", "github.com/hashicorp/go-plugin"} {
		if linked[path] {
			t.Errorf("%s is linked: it costs memory at every start", path)
		}
	}
}
