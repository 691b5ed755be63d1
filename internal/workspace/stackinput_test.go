package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/workspace/statebackend"
)

// Every block of both languages, an argument to a line.
const (
	everyComponent = `required_providers {
  sim = { source = "hashicorp/sim" }
}
provider "sim" "main" {
  config {
  }
}
provider "sim" "many" {
  for_each = toset(["k"])
}
variable "name" {
  type = string
  default = "x"
  description = "a name"
  sensitive = false
  ephemeral = false
  nullable = false
  validation {
    condition = var.name != ""
    error_message = "It is empty."
  }
}
locals {
  keys = toset(["k"])
}
component "a" {
  source = "./m"
  inputs = { name = var.name }
  providers = { sim = provider.sim.main }
}
component "b" {
  source = "./m"
  for_each = local.keys
  inputs = { name = each.key }
  providers = { sim = provider.sim.many[each.key] }
  depends_on = [component.a]
}
stack "s" {
  source = "./s"
  for_each = local.keys
  inputs = { name = each.key }
  depends_on = [component.a]
}
removed {
  from = component.gone
  source = "./m"
  providers = { sim = provider.sim.main }
  lifecycle {
    destroy = false
  }
}
output "id" {
  type = string
  value = component.a.id
  description = "an id"
  sensitive = false
  ephemeral = false
}
`
	everyDeployment = `locals {
  name = "n"
}
identity_token "t" {
  audience = ["a"]
}
store "varset" "v" {
  id = "varset-1"
  name = "secrets"
  category = "terraform"
}
upstream_input "up" {
  type = "stack"
  source = "../up"
}
deployment_auto_approve "r" {
  check {
    condition = context.plan.changes.remove == 0
    reason = "It removes ${context.plan.changes.remove}."
  }
}
deployment_group "g" {
  auto_approve_checks = [deployment_auto_approve.r]
}
deployment "d" {
  inputs = { name = local.name }
  deployment_group = deployment_group.g
  destroy = false
  import = false
}
orchestrate "auto_approve" "o" {
  check {
    condition = context.success
    reason = "It failed."
  }
}
publish_output "id" {
  value = deployment.d.id
  description = "an id"
}
`
	everySetting = `variable "passphrase" {
}
locals {
  bits = 1
}
terraform {
  backend "local" {
    path = "states"
  }
}
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    state {
      method = method.aes_gcm.m
    }
  }
}
`
)

// bad are changes to a text that spoil it, each of one line or block, with what they are.
func bad(text string) map[string]string {
	all := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var within []string
	for i, line := range lines {
		with := func(what string, now ...string) {
			whole := append(append(append([]string{}, lines[:i]...), now...), lines[i+1:]...)
			all[strings.Join(within, " ")+": "+what] = strings.Join(whole, "\n") + "\n"
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		header, opens := strings.CutSuffix(strings.TrimSpace(line), " {")
		switch name, _, is := strings.Cut(strings.TrimSpace(line), " = "); {
		case opens:
			within = append(within, header)
			kind, labels, _ := strings.Cut(header, " ")
			with("an argument that there isn't", line, indent+"  nonsense = 1")
			with("a block that there isn't", line, indent+"  nonsense {", indent+"  }")
			with("one label more", indent+header+" \"more\" {")
			if labels != "" {
				with("no labels", indent+kind+" {")
				with("a name that isn't one", indent+strings.Join(append(strings.Fields(header)[:len(strings.Fields(header))-1], `"1 x"`), " ")+" {")
			}
			end := i + 1
			for lines[end] != indent+"}" {
				end++
			}
			block := append(append([]string{}, lines[i:end+1]...), line)
			with("twice", block...)
		case line == indent+"}":
			within = within[:len(within)-1]
		case is:
			with(name + " missing")
			for _, v := range []string{"nope.nope", "12", `"text"`, "null", "[]", "{ x = 1 }", "["} {
				with(name+" = "+v, indent+name+" = "+v)
			}
		}
	}
	return all
}

// TestBadInput: whatever is wrong in any block of a stack, each problem has a place in the
// file, and says more than that something is wrong. Anything that is valid after all is
// listed.
func TestBadInput(t *testing.T) {
	base := map[string]string{
		"s.tfcomponent.hcl": everyComponent, "d.tfdeploy.hcl": everyDeployment, "b.tfbackend.hcl": everySetting,
		"s/s.tfcomponent.hcl": "required_providers {\n  sim = { source = \"hashicorp/sim\" }\n}\nprovider \"sim\" \"main\" {}\nvariable \"name\" {\n  type = string\n}\ncomponent \"c\" {\n  source = \"../m\"\n  inputs = { name = var.name }\n  providers = { sim = provider.sim.main }\n}\n",
	}
	dir := t.TempDir()
	problems := func(file, text string) diag.List {
		s := newSite(t, dir, cloud(), machines{}, base)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		stack, diags := OpenStack(t.Context(), s.Directory)
		if !diags.HasErrors() {
			diags.Append(StackValidate{stack, stack.Deployments}.Run(t.Context()))
		}
		if file == "b.tfbackend.hcl" { // the rest is inspected where states are opened
			diags.Append(stack.Prepare(t.Context(), nil, true).Without(statebackend.NotInitialized))
		}
		return diags.Only(diag.Error)
	}
	for file, text := range base {
		if diags := problems(file, text); diags != nil {
			t.Fatal(diags)
		}
	}
	var valid []string
	for _, file := range []string{"s.tfcomponent.hcl", "d.tfdeploy.hcl", "b.tfbackend.hcl"} {
		for what, text := range bad(base[file]) {
			diags := problems(file, text)
			if len(diags) == 0 {
				valid = append(valid, file+" "+what)
			}
			for _, d := range diags {
				if d.Subject == nil || d.Subject.Filename == "" || len(strings.Fields(d.Detail)) < 4 || strings.Contains(d.Detail, "%!") {
					t.Errorf("%s: %s: %v", file, what, d)
				}
			}
		}
	}
	slices.Sort(valid)
	const known = "testdata/valid_stack_input.txt"
	want, err := os.ReadFile(known)
	if got := strings.Join(valid, "\n") + "\n"; err != nil || got != string(want) {
		t.Errorf("%s has other changes that leave a stack valid than these, %v:\n%s", known, err, got)
	}
}
