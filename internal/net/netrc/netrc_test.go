package netrc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestEntry(t *testing.T) {
	const text = "# comment\nmacdef init\n machine a login no password no\n\nmachine a login x account z password y\ndefault login d password e\n"
	for host, want := range map[string]string{"a": "x y true", "b": "d e true"} {
		user, password, ok := entry(text, host)
		if got := fmt.Sprint(user, " ", password, " ", ok); got != want {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
	if _, _, ok := entry("machine a login x", "b"); ok {
		t.Error("an entry for another host was taken")
	}
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{".netrc": "machine a login home password x", "other": "machine a login other password x"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, environ := range map[string]map[string]string{
		"home":  {"HOME": home},
		"other": {"HOME": home, "NETRC": filepath.Join(home, "other")},
		"":      {"NETRC": filepath.Join(home, "none")},
	} {
		if user, _, ok := Find(func(name string) string { return environ[name] }, "a"); user != want || ok != (want != "") {
			t.Errorf("got %q, want %q", user, want)
		}
	}
	if _, _, ok := Find(func(string) string { return "" }, "a"); ok {
		t.Error("an entry without a home")
	}
}
