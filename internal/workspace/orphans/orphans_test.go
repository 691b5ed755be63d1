package orphans

import (
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/moduletest/testresult"
)

// TestDirectory: the directory of a test's state is named by the file of the test,
// and is one below the shelf's.
func TestDirectory(t *testing.T) {
	s := Shelf{Dir: filepath.Join(t.TempDir(), "shelf")}
	dir, err := s.directory(testresult.Label{File: "tests/Net-1_a.tftest.hcl é"})
	if err != nil {
		t.Fatal(err)
	}
	if got := filepath.Base(dir); !strings.HasPrefix(got, "tests_Net-1_a.tftest.hcl__-") || filepath.Dir(dir) != s.Dir {
		t.Errorf("%s", dir)
	}
}
