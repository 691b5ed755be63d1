package engines

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Keys has the engines open what the other one has encrypted. The block is the body of a key
// provider of that type; the service is reported when it is to reject everything.
func Keys(t *testing.T, typ, block string, environment []string, refuse func()) {
	weir := os.Getenv("IAC_BIN")
	if weir == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	other := os.Getenv("PEER")
	if other == "" {
		other = weir
	}
	files := map[string]string{"main.tf": configuration, "encryption.tf": fmt.Sprintf(`
terraform {
  encryption {
    key_provider %q "k" {
%s
    }
    method "aes_gcm" "m" {
      keys = key_provider.%s.k
    }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }
    plan {
      method   = method.aes_gcm.m
      enforced = true
    }
  }
}
`, typ, block, typ)}
	a := start(t, "weir", weir, Place{Env: environment}, files)
	b := start(t, "the other engine", other, Place{Env: environment}, files)
	b.dir = a.dir
	a.run("init", "-input=false", "-no-color")
	a.apply("-var=size=314159")
	stored := func() []byte {
		content, err := os.ReadFile(filepath.Join(a.dir, "terraform.tfstate"))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for n := range 4 {
		if clear := stored(); bytes.Contains(clear, []byte("314159")) || !bytes.Contains(clear, []byte("encrypted_data")) {
			t.Fatalf("stored in clear: %s", clear)
		}
		b.settled(fmt.Sprintf("-var=size=%d", 314159+n))
		b.run("plan", "-input=false", "-no-color", "-out=plan", fmt.Sprintf("-var=size=%d", 314159+n+1))
		b.run("apply", "-input=false", "-no-color", "plan")
		a.settled(fmt.Sprintf("-var=size=%d", 314159+n+1))
		a, b = b, a
	}
	before := stored()
	refuse()
	a.ends(1, "apply", "-auto-approve", "-input=false", "-no-color", "-var=size=1")
	b.ends(1, "apply", "-auto-approve", "-input=false", "-no-color", "-var=size=1")
	if !bytes.Equal(before, stored()) {
		t.Error("the state was changed without its key")
	}
}
