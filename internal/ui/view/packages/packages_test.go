package packages

import (
	"testing"

	"weir.dev/weir/internal/provider/install"
)

// How a package was authenticated is reported in words.
func TestAuthentication(t *testing.T) {
	ev := install.Event{Kind: install.Installed, Version: "1.2.0", Platform: "linux_amd64", Authentication: install.Signed, KeyID: "0C0AF313E5FD9F80"}
	for got, want := range map[string]string{
		Installing("weir/a", ev): "Installed weir/a v1.2.0 (signed, key ID 0C0AF313E5FD9F80)",
		Fetching("weir/a", ev):   "Retrieved weir/a 1.2.0 for linux_amd64 (signed, key ID 0C0AF313E5FD9F80)",
		Installing("weir/a", install.Event{Kind: install.Installed, Version: "1.2.0", Authentication: install.Checked}): "Installed weir/a v1.2.0 (verified checksum)",
	} {
		if got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}
