package engines

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Modules has weir, and the other program if there is one, install modules by their sources.
// Each has an output "is" with the wanted text.
func Modules(t *testing.T, environment []string, settings string, sources map[string]string) {
	weir := os.Getenv("IAC_BIN")
	if weir == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	var main strings.Builder
	names := map[string]string{}
	for source, want := range sources {
		name := fmt.Sprintf("m%d", len(names))
		names[name] = want
		fmt.Fprintf(&main, "module %q {\n  source = %q\n}\noutput %q { value = module.%s.is }\n", name, source, name, name)
	}
	for name, bin := range map[string]string{"weir": weir, "the other engine": os.Getenv("PEER")} {
		if bin == "" {
			continue
		}
		e := start(t, name, bin, Place{Env: environment, Settings: settings}, map[string]string{"main.tf": main.String()})
		e.run("init", "-input=false", "-no-color")
		e.apply()
		for output, want := range names {
			if got := e.run("output", "-raw", output); got != want {
				t.Errorf("%s: %q instead of %q", name, got, want)
			}
		}
	}
}
