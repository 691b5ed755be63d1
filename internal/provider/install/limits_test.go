package install

import (
	"archive/zip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTooLarge: a download without end, an archive that unpacks to more than any
// package, and one with more files, are given up.
func TestTooLarge(t *testing.T) {
	defer func(bytes int64, files int) { mostBytes, mostFiles = bytes, files }(mostBytes, mostFiles)
	mostBytes, mostFiles = 1<<20, 10
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<16); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	in := &installer{Options: Options{HTTP: server.Client()}}
	if err := in.download(t.Context(), &found{url: server.URL}, filepath.Join(dir, "archive")); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
	pack := func(name string, files, size int) string {
		t.Helper()
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		w := zip.NewWriter(file)
		for n := range files {
			member, err := w.Create(fmt.Sprint("file", n))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := member.Write([]byte(strings.Repeat("x", size))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return file.Name()
	}
	for name, tt := range map[string]struct {
		files, size int
		fits        bool
	}{"fits": {8, 1 << 17, true}, "large": {1, 1<<20 + 1, false}, "large together": {3, 1 << 19, false}, "many": {11, 1, false}} {
		err := unpack(pack(name+".zip", tt.files, tt.size), filepath.Join(dir, name))
		if (err == nil) != tt.fits || !tt.fits && !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
