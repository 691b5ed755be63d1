//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDumps: what the program prints when it is ended by SIGQUIT or SIGABRT in the middle of
// an apply has no secret, and no core file is left, also where the system allows one.
func TestDumps(t *testing.T) {
	const secret = "kX7-dumped-secret-Zq"
	for name, signal := range map[string]syscall.Signal{"quit": syscall.SIGQUIT, "abort": syscall.SIGABRT} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := `
variable "secret" {
  sensitive = true
}
resource "terraform_data" "a" {
  input = var.secret
  provisioner "local-exec" {
    command     = "touch begun; sleep 20"
    environment = { SECRET = var.secret }
  }
}
`
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -c unlimited; exec "$0" apply -auto-approve -no-color -input=false`, os.Args[0])
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), roleEnv+"=weir", "HOME="+dir, "TF_CLI_CONFIG_FILE=", "WEIR_DAEMON=off", "TF_VAR_secret="+secret)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			cmd.WaitDelay = time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for range 400 {
				if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
					break
				}
				time.Sleep(25 * time.Millisecond)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if !strings.Contains(out.String(), "goroutine ") {
				t.Errorf("it isn't ended by the signal:\n%s", &out)
			}
			if strings.Contains(out.String(), secret) {
				t.Errorf("the secret is printed:\n%s", &out)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*core*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
