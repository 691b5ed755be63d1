package lockedstate

import (
	"bytes"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"weir.dev/weir/internal/state/encryption"
)

// TestLooks: the record is kept in the data directory, in clear only where states are, and
// one that can't be read is none.
func TestLooks(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(&server{})
	defer at.Close()
	record := []byte(`{"version":1,"looks":[]}`)
	for name, by := range map[string]encryption.State{"in clear": {}, "encrypted": seals(t, strict)} {
		s := open(t, at.URL, by)
		if got := Looks(s); got != nil {
			t.Errorf("%s: there is %s", name, got)
		}
		KeepLooks(s, record, nil)
		stored, err := os.ReadFile(looksFile(s))
		if got := Looks(s); err != nil || !bytes.Equal(got, record) || bytes.Contains(stored, record) == by.Encrypts() {
			t.Errorf("%s: %s of %s, %v", name, got, stored, err)
		}
		more := []byte("{}\n")
		KeepLooks(s, slices.Concat(record, more), more)
		if got := Looks(s); !bytes.Equal(got, slices.Concat(record, more)) {
			t.Errorf("%s: %s after something was added", name, got)
		}
		if info, err := os.Stat(looksFile(s)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if !by.Encrypts() {
			continue
		}
		for _, damaged := range [][]byte{stored[:len(stored)/2], record, nil, []byte("{}")} {
			if err := os.WriteFile(looksFile(s), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := Looks(s); got != nil {
				t.Errorf("%s is read as %s", damaged, got)
			}
		}
	}
	// Where nothing can be written, nothing is kept.
	s := open(t, at.URL, encryption.State{})
	if err := os.RemoveAll(s.DataDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.DataDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if KeepLooks(s, record, nil); Looks(s) != nil {
		t.Error("it is kept nowhere, and read")
	}
}
