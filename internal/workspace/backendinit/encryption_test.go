//go:build unix

package backendinit

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"weir.dev/weir/internal/workspace/environment"
)

// TestRunForKeys: a command may leave an agent behind, and its failure is reported with what
// it says of it.
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

// TestEncryptionOnce: however many ask at the same time, keys are asked for once.
func TestEncryptionOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = `
key_provider "external" "k" { command = ["/bin/sh", "-c", "echo asked >> asked; sleep 0.1; echo '{\"magic\":\"OpenTofu-External-Key-Provider\",\"version\":1}'; echo '{\"keys\":{\"encryption_key\":\"MDEyMzQ1Njc4OWFiY2RlZg==\"},\"meta\":{}}'"] }
method "aes_gcm" "m" { keys = key_provider.external.k }
state { method = method.aes_gcm.m }`
	d := New(environment.New(environment.Options{Dir: ".", Environ: map[string]string{EncryptionVariable: text}}))
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if found, diags := d.Encryption(); diags.HasErrors() || !found.State().Encrypts() {
				t.Error(diags.Err())
			}
		})
	}
	all.Wait()
	if asked, err := os.ReadFile("asked"); err != nil || string(asked) != "asked\n" {
		t.Errorf("%q %v", asked, err)
	}
}
