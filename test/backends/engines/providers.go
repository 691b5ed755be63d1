package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Providers has weir, and the other program if there is one, install a provider. The version
// they choose has to be the wanted one, and their lock files the same but for the comments.
func Providers(t *testing.T, environment []string, settings, source, version, want string) {
	weir := os.Getenv("IAC_BIN")
	if weir == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	main := fmt.Sprintf("terraform {\n  required_providers {\n    x = {\n      source  = %q\n      version = %q\n    }\n  }\n}\n", source, version)
	locked := ""
	for _, bin := range []string{weir, os.Getenv("PEER")} {
		if bin == "" {
			continue
		}
		e := start(t, bin, bin, Place{Env: environment, Settings: settings}, map[string]string{"main.tf": main})
		e.run("init", "-input=false", "-no-color")
		content, err := os.ReadFile(filepath.Join(e.dir, ".terraform.lock.hcl"))
		must(t, err)
		_, locks, _ := strings.Cut(string(content), "provider ")
		if !strings.Contains(locks, fmt.Sprintf("%q", want)) {
			t.Errorf("%s locks\n%s", bin, locks)
		}
		if locked == "" {
			locked = locks
		}
		if locks != locked {
			t.Errorf("one locks\n%s\nthe other\n%s", locked, locks)
		}
		e.run("init", "-input=false", "-no-color", "-lockfile=readonly")
	}
}
