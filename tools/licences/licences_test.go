package licences

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func module(t *testing.T, files map[string]string) Module {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Module{Path: "m", Dir: dir}
}

func TestLicences(t *testing.T) {
	const bsd = "Redistribution and use in source\nand binary forms\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"one", map[string]string{"LICENSE": bsd, "README": "Apache License"}, "BSD-2-Clause"},
		{"over line ends", map[string]string{"LICENSE.md": bsd + "endorse or\n  promote products"}, "BSD-3-Clause"},
		{"two", map[string]string{"LICENSE": "Apache License", "LICENSE.libyaml": "Permission is hereby granted, free of charge", "NOTICE": bsd}, "Apache-2.0 MIT"},
		{"none", map[string]string{"README": bsd}, "m has no licence"},
		{"another", map[string]string{"COPYING": "Do what you like."}, "COPYING of m isn't known"},
	} {
		got, err := module(t, test.files).Licences()
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != test.want || !strings.Contains(text, test.want) {
			t.Errorf("%s: got %s, want %s", test.name, text, test.want)
		}
	}
}
