package access

import (
	"strings"
	"testing"
)

// TestAllows: only the credential of the token is allowed, and it isn't the token.
func TestAllows(t *testing.T) {
	credential := Credential("secret")
	if strings.Contains(credential, "secret") {
		t.Errorf("the credential has the token: %s", credential)
	}
	for header, want := range map[string]bool{
		credential: true, "": false, "secret": false, "Bearer secret": false, "Bearer ": false,
		strings.TrimPrefix(credential, "Bearer "): false, Credential("other"): false, Credential(""): false, credential + "0": false,
	} {
		if got := Allows("secret", header); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if Allows("", Credential("")) {
		t.Error("without a token everybody is allowed")
	}
}
