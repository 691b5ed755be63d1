package module

import (
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
)

func TestParseRemote(t *testing.T) {
	for _, tt := range []struct{ source, pkg, subdir string }{
		{"git::https://example.com/x.git", "git::https://example.com/x.git", ""},
		{"git::https://example.com/x.git//a/b?ref=v1&depth=2", "git::https://example.com/x.git?ref=v1&depth=2", "a/b"},
		{"git::ssh://git@example.com/x.git//a/../b", "git::ssh://git@example.com/x.git", "b"},
		{"git::git@example.com:org/x.git?ref=v1", "git::ssh://git@example.com/org/x.git?ref=v1", ""},
		{"git@github.com:org/x.git//m", "git::ssh://git@github.com/org/x.git", "m"},
		{"git::/srv/x.git", "git::file:///srv/x.git", ""},
		{"github.com/org/x", "git::https://github.com/org/x.git", ""},
		{"github.com/org/x.git//m?ref=v1", "git::https://github.com/org/x.git?ref=v1", "m"},
		{"github.com/org/x//m?ref=feature/a", "git::https://github.com/org/x.git?ref=feature/a", "m"},
		{"git::https://example.com/x.git?ref=feature/a/b", "git::https://example.com/x.git?ref=feature/a/b", ""},
		{"bitbucket.org/org/x", "git::https://bitbucket.org/org/x.git", ""},
		{"https://example.com/x.zip", "https://example.com/x.zip", ""},
		{"https://example.com/x.zip//modules/*?checksum=abc", "https://example.com/x.zip?checksum=abc", "modules/*"},
		{"https://example.com/x?next=https://other//y", "https://example.com/x?next=https://other//y", ""},
		{"/srv/modules/a//b", "file:///srv/modules/a", "b"},
		{"file::/srv/a.zip", "file:///srv/a.zip", ""},
		{"file:///srv/a", "file:///srv/a", ""},
		{"hg::https://example.com/x", "hg::https://example.com/x", ""},
		{"s3::https://s3.amazonaws.com/bucket/x.zip", "s3::https://s3.amazonaws.com/bucket/x.zip", ""},
		{"bucket.s3.amazonaws.com/x.zip", "s3::https://bucket.s3.amazonaws.com/x.zip", ""},
		{"gcs::https://www.googleapis.com/storage/v1/b/x.zip", "gcs::https://www.googleapis.com/storage/v1/b/x.zip", ""},
		{"oci://example.com/x//m?tag=v1", "oci://example.com/x?tag=v1", "m"},
	} {
		r, err := ParseRemote(tt.source)
		if err != nil || r.Package() != tt.pkg || r.Subdir != tt.subdir {
			t.Errorf("%s: got %q and %q, %v; want %q and %q", tt.source, r.Package(), r.Subdir, err, tt.pkg, tt.subdir)
		}
		if again, err := ParseRemote(r.String()); err != nil || again != r {
			t.Errorf("%s: %s isn't read as the same again: %+v, %v", tt.source, r, again, err)
		}
	}
	for _, source := range []string{"", "bare", "a/b", "github.com/org", "git::https://example.com/x.git//../up", "git::https://%zz/x"} {
		if r, err := ParseRemote(source); err == nil {
			t.Errorf("%q: no error, but %+v", source, r)
		}
	}
}

func TestParseRegistry(t *testing.T) {
	for source, want := range map[string]string{
		"ns/name/prov":                     "registry.opentofu.org/ns/name/prov ",
		"ns/name/prov//a/b":                "registry.opentofu.org/ns/name/prov a/b",
		"example.com:8080/ns/name/prov":    "example.com:8080/ns/name/prov ",
		"Example.com/ns/name/prov//./a":    "example.com/ns/name/prov a",
		"gitlab.com/group/name/prov":       "gitlab.com/group/name/prov ",
		"github.com/org/name":              "",
		"github.com/org/name/sub":          "",
		"./ns/name/prov":                   "",
		"git::https://example.com/ns/n/p":  "",
		"ns/name":                          "",
		"ns/name/prov/more":                "",
		"ns/name/prov//../up":              "",
		"https://example.com/ns/name/prov": "",
	} {
		r, err := ParseRegistry(Canonical(source, addr.OpenTofu))
		got := ""
		if err == nil {
			got = r.Package() + " " + r.Subdir
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

func FuzzParseRemote(f *testing.F) {
	for _, seed := range []string{"git::https://example.com/x.git//a?ref=v1", "git@github.com:a/b", "github.com/a/b//c", "/a//b", "::", "a://b//c//d?//e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		r, err := ParseRemote(source)
		if err != nil {
			return
		}
		if strings.HasPrefix(r.Subdir, "/") || r.Subdir == ".." || strings.HasPrefix(r.Subdir, "../") {
			t.Errorf("%q leaves the package with %q", source, r.Subdir)
		}
		once := Canonical(source, addr.OpenTofu)
		if again := Canonical(once, addr.OpenTofu); again != once {
			t.Errorf("%q becomes %q and then %q", source, once, again)
		}
	})
}
