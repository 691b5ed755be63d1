package module

import (
	"maps"
	"slices"
	"testing"

	"weir.dev/weir/internal/core/dialect"
)

func TestSettings(t *testing.T) {
	files := Memory{
		"main.tf":       []byte("resource \"terraform_data\" \"a\" {\n}\n"),
		"backend.tf":    []byte("/* here */ terraform {\n}\n"),
		"vars.tf.json":  []byte(`{"variable": {"v": {}}}`),
		"names.tf":      []byte("locals {\n}"),
		"x_override.tf": []byte("resource \"a\" \"b\" {\n}\nvariable \"v\" {\n}\n"),
		"readme.md":     []byte("terraform"),
	}
	few, err := Settings(files, ".", dialect.OpenTofu)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"backend.tf", "names.tf", "vars.tf.json", "x_override.tf"}
	if got := slices.Sorted(maps.Keys(few)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
