package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/net/stalltimeout"
)

type entry struct {
	kind       byte
	name, body string
}

func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Mode: 0o4777}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.body))
		} else {
			h.Linkname = e.body
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			io.WriteString(w, e.body)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bzipped is a tar.bz2 archive with the file main.tf, "# bz\n".
const bzipped = "QlpoOTFBWSZTWdqQQ+QAAHP7hMmQAEJIAWeAACBxI54QAACACCAAVDKj0QDQGmJpk9QSVMmjQaGgA0aeT3g1qED3AJGeTyN1lRhQkgYHzBsmRnJ1aJjcRBHRe3dGoKPysnKnAqGYTVgWvy3kkD8XckU4UJDakEPk"

func TestKindsOfArchives(t *testing.T) {
	plain := tarOf(t, entry{tar.TypeDir, "./", ""}, entry{tar.TypeReg, "./main.tf", "# x"}, entry{tar.TypeSymlink, "link.tf", "main.tf"}, entry{tar.TypeLink, "hard.tf", "main.tf"})
	var gz, x bytes.Buffer
	g := gzip.NewWriter(&gz)
	g.Write(plain)
	g.Close()
	c, err := xz.NewWriter(&x)
	if err != nil {
		t.Fatal(err)
	}
	c.Write(plain)
	c.Close()
	bz, err := base64.StdEncoding.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		data       []byte
	}{
		{"a.tar", "# x", plain}, {"a.tar.gz", "# x", gz.Bytes()}, {"a.tgz", "# x", gz.Bytes()}, {"a.tar.xz", "# x", x.Bytes()}, {"a.txz", "# x", x.Bytes()},
		{"a.tar.bz2", "# bz\n", bz}, {"a.tbz2", "# bz\n", bz}, {"a.zip", "# x", zipOf(t, map[string]string{"main.tf": "# x"})},
	} {
		file := filepath.Join(t.TempDir(), tt.name)
		if err := os.WriteFile(file, tt.data, 0o644); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "m")
		if err := New(Options{}).unpack(file, kindOf(tt.name), to); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := read(t, to, "main.tf"); got != tt.text {
			t.Errorf("%s: got %q", tt.name, got)
		}
		if info, err := os.Stat(filepath.Join(to, "main.tf")); err != nil || info.Mode()&(os.ModeSetuid|0o022) != 0 {
			t.Errorf("%s: the mode is %v, %v", tt.name, info.Mode(), err)
		}
		sniffed, err := sniff(file)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := New(Options{}).unpack(file, sniffed, filepath.Join(t.TempDir(), "m")); err != nil {
			t.Errorf("%s, which looks like %s: %v", tt.name, sniffed, err)
		}
	}
}

// TestArchivesStayInside has archives that mean to write or point elsewhere.
func TestArchivesStayInside(t *testing.T) {
	for name, entries := range map[string][]entry{
		"parent":             {{tar.TypeReg, "../x", ""}},
		"deep parent":        {{tar.TypeReg, "a/../../x", ""}},
		"absolute":           {{tar.TypeReg, "/x", ""}},
		"directory":          {{tar.TypeDir, "../x/", ""}},
		"absolute link":      {{tar.TypeSymlink, "l", "/etc/passwd"}},
		"link out":           {{tar.TypeSymlink, "a/l", "../../x"}},
		"link over link":     {{tar.TypeDir, "d/", ""}, {tar.TypeSymlink, "d/e", ".."}, {tar.TypeSymlink, "d/e/l", "../x"}},
		"hard link out":      {{tar.TypeLink, "l", "../outside"}},
		"hard link absolute": {{tar.TypeLink, "l", "/etc/passwd"}},
		"device":             {{tar.TypeChar, "dev", ""}},
		"pipe":               {{tar.TypeFifo, "main.tf", ""}},
	} {
		base := t.TempDir()
		if err := os.WriteFile(filepath.Join(base, "outside"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(base, "a.tar")
		if err := os.WriteFile(file, tarOf(t, entries...), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := New(Options{}).unpack(file, "tar", filepath.Join(base, "m")); err == nil {
			t.Errorf("%s: no error", name)
		}
		if exists(filepath.Join(base, "x")) {
			t.Errorf("%s: it was written outside", name)
		}
	}
}

func TestWriteThroughLink(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "a.tar")
	data := tarOf(t, entry{tar.TypeReg, "real", "old"}, entry{tar.TypeSymlink, "l", "real"}, entry{tar.TypeReg, "l", "new"})
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(base, "m")
	if err := New(Options{}).unpack(file, "tar", to); err != nil {
		t.Fatal(err)
	}
	if read(t, to, "real") != "old" || read(t, to, "l") != "new" {
		t.Error("an entry was written through a link")
	}
}

func TestZipEscapes(t *testing.T) {
	for _, name := range []string{"../x", "/x", "a/../../x"} {
		file := filepath.Join(t.TempDir(), "a.zip")
		if err := os.WriteFile(file, zipOf(t, map[string]string{name: "x"}), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := New(Options{}).unpack(file, "zip", filepath.Join(filepath.Dir(file), "m")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "l"}
	h.SetMode(os.ModeSymlink | 0o777)
	f, err := w.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "../../etc/passwd")
	w.Close()
	file := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, New(Options{}).unpack(file, "zip", filepath.Join(filepath.Dir(file), "m")), "leads out of the package")
}

func TestLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(file, tarOf(t, entry{tar.TypeReg, "a", strings.Repeat("x", 60)}, entry{tar.TypeReg, "b", strings.Repeat("x", 60)}), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, l := range map[string]limits{"too large": {bytes: 100, files: 9}, "too many files": {bytes: 1000, files: 1}} {
		f := New(Options{})
		f.limits = l
		wantError(t, f.unpack(file, "tar", filepath.Join(t.TempDir(), "m")), want)
	}
	f := New(Options{})
	f.limits = limits{bytes: 120, files: 2}
	if err := f.unpack(file, "tar", filepath.Join(t.TempDir(), "m")); err != nil {
		t.Error(err)
	}
}

// TestLongSource: a file of configuration that nobody could read isn't unpacked to its
// end, whatever the archive may hold in all.
func TestLongSource(t *testing.T) {
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "main.tf", Mode: 0o644, Size: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, module.MaxSource+1<<20); err != nil { // no block of it is on the disk
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "m")
	wantError(t, New(Options{}).unpack(file, "tar", to), `"main.tf": it is longer than a file of configuration may be, 64 MiB`)
}

// TestSilentDownload: a server that stops in the middle of an archive is given up.
func TestSilentDownload(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("PK"))
		w.(http.Flusher).Flush()
		<-done
	}))
	defer server.Close()
	defer close(done)
	at, err := url.Parse(server.URL + "/m.zip")
	if err != nil {
		t.Fatal(err)
	}
	f := New(Options{HTTP: server.Client(), Silence: 20 * time.Millisecond})
	if err := f.download(t.Context(), at, "", filepath.Join(t.TempDir(), "m"), nil); !stalltimeout.Is(err) {
		t.Errorf("%v", err)
	}
}
