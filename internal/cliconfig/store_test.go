package cliconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
)

func TestStore(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sub", "credentials.tfrc.json")
	c := NewCredentials(&Config{Tokens: map[string]string{"written.example.com": "w"}}, nil)
	origin := func(host string, want Origin) {
		t.Helper()
		if got, err := c.Origin(file, host); got != want || err != nil {
			t.Errorf("%s: origin is %d, %v, want %d", host, got, err, want)
		}
	}
	origin("a.example.com", Nowhere)
	origin("written.example.com", Elsewhere)
	for _, host := range []string{"a.example.com", "b.example.com:8443", "a.example.com"} {
		if err := c.Store(t.Context(), file, host, "token of "+host); err != nil {
			t.Fatal(err)
		}
	}
	origin("a.example.com", InFile)
	config := &Config{Tokens: map[string]string{}}
	src, _ := os.ReadFile(file)
	if diags := config.Read(file, src, func(string) string { return "" }, addr.OpenTofu); diags.HasErrors() || config.Tokens["a.example.com"] != "token of a.example.com" || config.Tokens["b.example.com:8443"] == "" {
		t.Errorf("%v in %s", diags, src)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := c.Forget(t.Context(), file, "a.example.com"); err != nil {
		t.Fatal(err)
	}
	origin("a.example.com", Nowhere)
	origin("b.example.com:8443", InFile)

	// Settings of others stay, and a name in another form is the same host.
	if err := os.WriteFile(file, []byte(`{"credentials": {"B.example.com": {"token": "x", "more": 1}, "c.example.com": {"token": "y"}}, "other": [1]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	origin("b.example.com", InFile)
	if err := c.Store(t.Context(), file, "b.example.com", "new"); err != nil {
		t.Fatal(err)
	}
	src, _ = os.ReadFile(file)
	if text := strings.Join(strings.Fields(string(src)), ""); text != `{"credentials":{"b.example.com":{"token":"new"},"c.example.com":{"token":"y"}},"other":[1]}` {
		t.Errorf("the file is %s", text)
	}
	for _, broken := range []string{"{", `{"credentials": 1}`} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Store(t.Context(), file, "b.example.com", "new"); err == nil {
			t.Errorf("%s was overwritten", broken)
		}
	}
}

func TestStoreWithHelper(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >>" + dir + "/calls\n[ $2 = store ] && cat >>" + dir + "/calls\nexit 0\n"
	if err := os.WriteFile(filepath.Join(dir, "terraform-credentials-test"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "credentials.tfrc.json")
	c := NewCredentials(&Config{Helper: &Helper{Name: "test", Args: []string{"-x"}}}, []string{dir})
	if origin, err := c.Origin(file, "a.example.com"); origin != InHelper || err != nil {
		t.Error(origin, err)
	}
	if err := c.Store(t.Context(), file, "a.example.com", "secret"); err != nil {
		t.Fatal(err)
	}
	if err := c.Forget(t.Context(), file, "a.example.com"); err != nil {
		t.Fatal(err)
	}
	calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
	if string(calls) != "-x store a.example.com\n{\"token\":\"secret\"}-x forget a.example.com\n" {
		t.Errorf("the helper was called with %s", calls)
	}
	if exists(file) {
		t.Error("the token is in the file too")
	}
}
