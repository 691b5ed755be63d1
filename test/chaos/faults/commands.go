//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// secret is in the variable of all configurations, and in no file that is encrypted.
const secret = "vRt7-clear-text-Qx2"

// objects is how many objects of a configuration are counted.
const objects = 3

// config has objects that write their ids when they are made and destroyed. LOG is a
// folder outside of the file system.
func config(log, version, settings string) string {
	return settings + fmt.Sprintf(`
variable "secret" {
  type      = string
  sensitive = true
}
resource "terraform_data" "a" {
  count            = %d
  input            = { secret = nonsensitive(var.secret), n = count.index, v = %q }
  triggers_replace = %q
  provisioner "local-exec" {
    command = "echo ${self.id} >> %s/made"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo ${self.id} >> %s/gone"
  }
}
resource "terraform_data" "b" {
  input = terraform_data.a[0].id
}
output "o" {
  value = terraform_data.b.output
}
`, objects, version, version, log, log)
}

const encrypted = `
terraform {
  encryption {
    key_provider "external" "key" {
      command = ["sh", "../key.sh"]
    }
    method "aes_gcm" "m" {
      keys = key_provider.external.key
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
`

const provided = `
terraform {
  required_providers {
    null = {
      source = "proof/null"
    }
  }
}
module "m" {
  source = "./m"
}
resource "null_resource" "x" {}
`

// A command is what faults happen to.
type command struct {
	name      string
	setup     func(s *site) error
	args      []string
	applies   bool // objects are made, and a second apply makes what is missing
	encrypted bool
	states    []string // files that have objects; without any, terraform.tfstate
}

var commands = []command{
	{name: "plan -out", setup: fresh, args: []string{"plan", "-out=p"}, applies: true},
	{name: "apply", setup: fresh, args: []string{"apply", "-auto-approve"}, applies: true},
	{name: "apply PLAN", setup: planned, args: []string{"apply", "p"}, applies: true},
	{name: "apply, replace", setup: changed, args: []string{"apply", "-auto-approve"}, applies: true},
	{name: "apply, encrypted", setup: freshEncrypted, args: []string{"apply", "-auto-approve"}, applies: true, encrypted: true},
	{name: "plan -out, encrypted", setup: freshEncrypted, args: []string{"plan", "-out=p"}, applies: true, encrypted: true},
	{name: "destroy", setup: applied, args: []string{"destroy", "-auto-approve"}, applies: true},
	{name: "refresh", setup: applied, args: []string{"apply", "-refresh-only", "-auto-approve"}, applies: true},
	{name: "state mv", setup: applied, args: []string{"state", "mv", "terraform_data.b", "terraform_data.c"}, applies: true},
	{name: "state rm", setup: applied, args: []string{"state", "rm", "terraform_data.b"}, applies: true},
	{name: "state undo", setup: edited, args: []string{"state", "undo", "-auto-approve"}, applies: true},
	{name: "taint", setup: applied, args: []string{"taint", "terraform_data.b"}, applies: true},
	{name: "import", setup: importing, args: []string{"import", "terraform_data.b", "given"}, applies: true},
	{name: "workspace new", setup: applied, args: []string{"workspace", "new", "three"}},
	{name: "workspace select", setup: workspaces, args: []string{"workspace", "select", "two"}},
	{name: "workspace delete", setup: workspaces, args: []string{"workspace", "delete", "two"}},
	{name: "init", setup: uninstalled, args: []string{"init"}},
	{name: "providers lock", setup: installed, args: []string{"providers", "lock", "-fs-mirror=../mirror"}},
	{name: "fmt", setup: unformatted, args: []string{"fmt"}},
	{name: "test", setup: tested, args: []string{"test"}},
	{name: "stacks apply", setup: stacked, args: []string{"stacks", "apply", "-auto-approve"}, applies: true,
		states: []string{"stacks.tfstate.d/one/c.tfstate", "stacks.tfstate.d/two/c.tfstate"}},
}

func fresh(s *site) error { return s.begin(config(s.log, "1", "")) }

// freshEncrypted has a key that costs nothing to make.
func freshEncrypted(s *site) error {
	const key = `"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="`
	if err := s.write("../key.sh", `echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
read meta
echo '{"keys":{"encryption_key":`+key+`,"decryption_key":`+key+`},"meta":{"external_data":{}}}'
`); err != nil {
		return err
	}
	return s.begin(config(s.log, "1", encrypted))
}

func applied(s *site) error {
	if err := fresh(s); err != nil {
		return err
	}
	return s.must("apply", "-auto-approve")
}

func planned(s *site) error {
	if err := fresh(s); err != nil {
		return err
	}
	return s.must("plan", "-out=p")
}

func changed(s *site) error {
	if err := applied(s); err != nil {
		return err
	}
	return s.write("main.tf", config(s.log, "2", ""))
}

func edited(s *site) error {
	if err := applied(s); err != nil {
		return err
	}
	return s.must("state", "mv", "terraform_data.b", "terraform_data.c")
}

func importing(s *site) error {
	if err := applied(s); err != nil {
		return err
	}
	return s.must("state", "rm", "terraform_data.b")
}

func workspaces(s *site) error {
	if err := applied(s); err != nil {
		return err
	}
	if err := s.must("workspace", "new", "two"); err != nil {
		return err
	}
	return s.must("workspace", "select", "default")
}

func uninstalled(s *site) error {
	dir := fmt.Sprintf("../mirror/registry.opentofu.org/proof/null/1.0.0/%s_%s", runtime.GOOS, runtime.GOARCH)
	program := filepath.Join(dir, "terraform-provider-null_v1.0.0")
	for name, content := range map[string]string{"main.tf": provided, "m/m.tf": "output \"x\" {\n  value = 1\n}\n", program: "#!/bin/sh\nexit 1\n"} {
		if err := s.write(name, content); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(s.real, program), 0o755)
}

func installed(s *site) error {
	if err := uninstalled(s); err != nil {
		return err
	}
	if err := s.must("init"); err != nil {
		return err
	}
	return os.Remove(filepath.Join(s.real, ".terraform.lock.hcl"))
}

func unformatted(s *site) error {
	for i := range 3 {
		if err := s.write(fmt.Sprintf("f%d.tf", i), fmt.Sprintf("locals {\n a%d=1\n   bbbb = 2\n}\n", i)); err != nil {
			return err
		}
	}
	return nil
}

func tested(s *site) error {
	if err := s.begin(config(s.log, "1", "")); err != nil {
		return err
	}
	return s.write("a.tftest.hcl", `
run "one" {
}
run "two" {
  assert {
    condition     = output.o != ""
    error_message = "no output"
  }
}
`)
}

func stacked(s *site) error {
	for name, content := range map[string]string{
		"s.tfcomponent.hcl": "variable \"secret\" {\n  type = string\n}\ncomponent \"c\" {\n  source = \"./m\"\n  inputs = { secret = var.secret }\n}\n",
		"d.tfdeploy.hcl":    "deployment \"one\" {\n  inputs = { secret = \"1\" }\n}\ndeployment \"two\" {\n  inputs = { secret = \"2\" }\n}\n",
		"m/main.tf":         config(s.log, "1", ""),
	} {
		if err := s.write(name, content); err != nil {
			return err
		}
	}
	return s.must("stacks", "init")
}
