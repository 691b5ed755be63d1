//go:build unix

package cli

import (
	"strings"
	"testing"
	"time"
)

// TestRunForKeys: a command may leave an agent behind, and its failure is told
// with what it says of it.
func TestRunForKeys(t *testing.T) {
	began := time.Now()
	output, err := runForKeys([]string{"/bin/sh", "-c", "sleep 20 & cat"}, []byte("key"))
	if err != nil || string(output) != "key" || time.Since(began) > 15*time.Second {
		t.Errorf("%q, %v after %v", output, err, time.Since(began))
	}
	if _, err = runForKeys([]string{"/bin/sh", "-c", "sleep 20 & echo why >&2; exit 3"}, nil); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("%v", err)
	}
}
