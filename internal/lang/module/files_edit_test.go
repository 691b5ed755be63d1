package module

import (
	"slices"
	"testing"
)

// Text of an editor counts for files that are there, and adds those that were never saved.
func TestEdited(t *testing.T) {
	files := Edited{
		Files: Memory{"a.tf": []byte("saved"), "b.tf": []byte("b")}, Root: "/conf",
		Text: map[string][]byte{"/conf/a.tf": []byte("typed"), "/conf/new.tf": []byte("new"), "/conf/net/x.tf": []byte("x")},
	}
	for name, want := range map[string]string{"a.tf": "typed", "./a.tf": "typed", "b.tf": "b", "new.tf": "new", "/conf/new.tf": "new", "net/x.tf": "x"} {
		if got, err := files.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for dir, want := range map[string][]string{".": {"a.tf", "b.tf", "new.tf"}, "net": {"x.tf"}} {
		if got, err := files.List(dir); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
	if _, err := files.List("none"); err == nil {
		t.Error("a directory without files is listed")
	}
}
