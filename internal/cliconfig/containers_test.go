package cliconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/net/ociregistry"
)

// TestContainerLogin: the longest part of a repository's name counts, wherever it is
// written, and a helper for all comes last.
func TestContainerLogin(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, ".docker", "config.json"), `{
	  "auths": {"a.example.com": {"auth": "ZDpwdw=="}, "a.example.com/x/y": {"auth": "ZGVlcDpwdw=="}, "https://index.docker.io/v1/": {"auth": "aHViOnB3"}, "h.example.com": {}},
	  "credHelpers": {"h.example.com": "token"}, "credsStore": "all"}`, 0o600)
	write(filepath.Join(bin, "docker-credential-token"), "#!/bin/sh\necho '{\"Username\":\"<token>\",\"Secret\":\"refresh\"}'\n", 0o755)
	write(filepath.Join(bin, "docker-credential-all"), "#!/bin/sh\nread host\ncase $host in *none*) echo 'credentials not found in native keychain'; exit 1;; *bad*) echo oops >&2; exit 1;; esac\necho '{\"Username\":\"all\",\"Secret\":\"pw\"}'\n", 0o755)
	write(filepath.Join(home, "one.json"), `{"auths": {"a.example.com": {"auth": "b25lOnB3"}}}`, 0o600)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	env := Environment{Home: home, Getenv: func(string) string { return "" }, All: os.Environ()}
	const written = `
oci_credentials "a.example.com/x" {
  username = "w"
  password = "pw"
}
oci_credentials "t.example.com" {
  access_token  = "access"
}
`
	for _, test := range []struct{ settings, of, want string }{
		{"", "a.example.com/z", "d"}, {"", "a.example.com/x", "d"}, {"", "a.example.com/x/y", "deep"}, {"", "a.example.com/x/yz", "d"},
		{"", "docker.io/library/x", "hub"}, {"", "h.example.com/x", "refresh refresh"}, {"", "other.example.com/x", "all"},
		{"", "none.example.com/x", ""}, {"", "bad.example.com/x", "! docker-credential-all failed"},
		{written, "a.example.com/x/z", "w"}, {written, "a.example.com/x/y", "deep"}, {written, "a.example.com/z", "d"}, {written, "t.example.com/x", "token access"},
		{"oci_default_credentials {\n  discover_ambient_credentials = false\n}\n" + written, "a.example.com/x/y", "w"},
		{"oci_default_credentials {\n  discover_ambient_credentials = false\n}\n", "a.example.com/x/y", ""},
		{"oci_default_credentials {\n  docker_credentials_helper = \"all\"\n  docker_style_config_files = [\"one.json\"]\n}\n", "a.example.com/x/y", "one"},
		{"oci_default_credentials {\n  docker_credentials_helper = \"all\"\n  docker_style_config_files = []\n}\n", "a.example.com/x/y", "all"},
		{"oci_default_credentials {\n  docker_style_config_files = [\"none.json\"]\n}\n", "a.example.com/x/y", "! none.json can't be read"},
		{"oci_default_credentials {\n  discover_ambient_credentials = false\n  docker_style_config_files = []\n}\n", "a.example.com/x", "? remove one of the two"},
		{"oci_credentials \"a.example.com\" {}\n", "a.example.com/x", "? takes either"},
		{"oci_credentials \"a.example.com\" {\n  username = \"a\"\n  access_token = \"b\"\n}\n", "a.example.com/x", "? takes either"},
		{"oci_credentials \"a.example.com/x\" {\n  docker_credentials_helper = \"all\"\n}\n", "a.example.com/x", "? whole registries only"},
		{"oci_default_credentials {\n  docker_credentials_helper = \"../x\"\n}\n", "a.example.com/x", "? can't be the end"},
	} {
		var c Config
		diags := c.Read(filepath.Join(home, "settings"), []byte(test.settings), env.Getenv, dialect.OpenTofu.Registry())
		if problem, bad := strings.CutPrefix(test.want, "? "); bad || diags.HasErrors() {
			if !bad || len(diags) != 1 || !strings.Contains(diags[0].Detail, problem) {
				t.Errorf("%s: %v", test.settings, diags)
			}
			continue
		}
		registry, name, _ := strings.Cut(test.of, "/")
		l, err := c.ContainerLogin(t.Context(), env, ociregistry.Repository{Registry: registry, Name: name})
		got := l.User
		for kind, text := range map[string]string{"token ": l.Token, "refresh ": l.Refresh} {
			if text != "" {
				got += kind + text
			}
		}
		if err != nil {
			got = "! " + err.Error()
		}
		if problem, bad := strings.CutPrefix(test.want, "! "); got != test.want && !(bad && strings.Contains(got, problem)) {
			t.Errorf("%s for %s: %q, want %q", test.settings, test.of, got, test.want)
		}
	}
}
