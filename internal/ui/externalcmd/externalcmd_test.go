package externalcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFind: beside this program, then in PATH, never in the working directory.
func TestFind(t *testing.T) {
	beside, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	path := strings.Join([]string{".", "", first, second}, string(filepath.ListSeparator))
	c := Call{Name: "weir-other", For: "Tests", Beside: filepath.Join(beside, "weir"), Path: path}
	if _, diags := Run(c); len(diags) != 1 || !Missing.Is(diags[0]) || diags[0].Summary != "Missing program" || !strings.Contains(diags[0].Detail, "beside weir") {
		t.Errorf("without the program: %v", diags)
	}
	for _, folder := range []string{second, first, beside} {
		file := filepath.Join(folder, "weir-other")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := c.find(); got != file {
			t.Errorf("got %q, want %q", got, file)
		}
	}
	t.Chdir(beside)
	c = Call{Name: "weir-other", Path: ".", Beside: "weir"}
	if got := c.find(); got != "" {
		t.Errorf("the working directory has %q", got)
	}
}
