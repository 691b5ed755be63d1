package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEnvironment holds docs/environment.md to the sources: what they read is on the page as
// read, and nothing else is.
func TestEnvironment(t *testing.T) {
	page, err := os.ReadFile("../../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	read, unread, found := strings.Cut(string(page), "## Not read")
	if !found {
		t.Fatal("the page has no part about what isn't read")
	}
	written := regexp.MustCompile("`((?:TF|TOFU|WEIR|OPENTOFU|TERRAFORM)_[A-Z0-9_]+)`")
	literal := regexp.MustCompile(`"((?:TF|TOFU|WEIR|OPENTOFU|TERRAFORM)_[A-Z0-9_]*[A-Z0-9_])[="]`)
	inCode := map[string]bool{}
	err = filepath.WalkDir("../../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "proof" || strings.HasPrefix(e.Name(), ".") && len(e.Name()) > 2):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		if rest, _ := filepath.Rel("../../..", path); !strings.HasPrefix(rest, "internal") && !strings.HasPrefix(rest, "cmd") && strings.Contains(rest, string(filepath.Separator)) {
			return nil // programs beside the engine
		}
		text, err := os.ReadFile(path)
		for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
			inCode[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(inCode) < 30 {
		t.Fatalf("only %d variables found in the sources", len(inCode))
	}
	for name := range inCode {
		if !strings.Contains(read, "`"+name) {
			t.Errorf("the sources read %s, and the page doesn't say so", name)
		}
	}
	// By a prefix that the sources have, such as TF_VAR_.
	known := func(name string) bool {
		if inCode[name] {
			return true
		}
		for prefix := range inCode {
			if strings.HasSuffix(prefix, "_") && strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	for _, m := range written.FindAllStringSubmatch(read, -1) {
		if !known(m[1]) {
			t.Errorf("the page says that %s is read, and the sources don't know it", m[1])
		}
	}
	for _, m := range written.FindAllStringSubmatch(unread, -1) {
		if inCode[m[1]] && !strings.HasPrefix(m[1], "WEIR_") {
			t.Errorf("the page says that %s isn't read, and the sources do", m[1])
		}
	}
}
