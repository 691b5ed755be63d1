package planfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/plan"
)

func sample(t *testing.T) Content {
	t.Helper()
	return Content{Engine: "1", Plan: &plan.Plan{Timestamp: time.Unix(0, 0)}, Files: map[string][]byte{"main.tf": []byte("locals {}")}}
}

func TestWriteIsPrivateAndReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, sample(t), nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, diags := Read(data, path, nil); diags.HasErrors() {
		t.Error(diags)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// TestLeftOut: a saved plan says what wasn't looked at for it.
func TestLeftOut(t *testing.T) {
	c := sample(t)
	since := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, want := range []*plan.LeftOut{nil, {Objects: 5, Since: since}} {
		c.Plan.LeftOut = want
		data, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil || (want == nil) != (got.Plan.LeftOut == nil) || want != nil && *got.Plan.LeftOut != *want {
			t.Errorf("%+v, %v", got.Plan.LeftOut, err)
		}
	}
}

// TestDamage changes a file at every place: no change may go unnoticed.
func TestDamage(t *testing.T) {
	data, err := Encode(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(data); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x20
		if _, err := Decode(bad); err == nil {
			t.Errorf("a changed byte at %d: no error", i)
		}
		if _, err := Decode(data[:i]); err == nil {
			t.Errorf("cut off after %d bytes: no error", i)
		}
	}
}

func TestForeign(t *testing.T) {
	archive := func(files ...string) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range files {
			f, err := w.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(f, "x")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "isn't a saved plan"},
		{"text", []byte("hello"), "isn't a saved plan"},
		{"archive", archive("a.txt"), "isn't a saved plan"},
		{"another program", archive("tfplan", "tfstate"), "saved by another program"},
		{"wrong digest", archive("weir.json", "digest"), "digest doesn't match"},
		{"twice", archive("a", "a"), "two entries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestReadNothing(t *testing.T) {
	_, diags := Read(nil, "p", nil)
	if !diags.HasErrors() {
		t.Error("no error for a file without content")
	}
}

func FuzzDecode(f *testing.F) {
	data, err := Encode(Content{Plan: &plan.Plan{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = Decode(data) })
}

// TestClaims: an entry that claims to be larger than all of a plan may be isn't unpacked,
// and one that is larger than it claims is damage.
func TestClaims(t *testing.T) {
	for claim, want := range map[uint64]string{maxContent + 1: "claims 2147483649 bytes", 4 << 30: "claims 4294967296 bytes", 1: "damaged"} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h := &zip.FileHeader{Name: "plan", Method: zip.Store, UncompressedSize64: claim, CompressedSize64: 3}
		entry, err := w.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		if err := w.SetComment(strings.Repeat("0", sealLength)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(b.Bytes()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", claim, err)
		}
	}
}
