package lsp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/ui/lsp/protocol"
)

const small = `
-- main.tf --
variable "size" {
  type    = number
  default = 1
}

locals {
  twice = var.size * 2
}

resource "terraform_data" "a" {
  input = local.twice
}

module "net" {
  source = "./net"
  cidr   = "10.0.0.0/8"
}

output "net" {
  value = [module.net.id, terraform_data.a.output, var.size]
}
-- terraform.tfvars --
size = 2
-- net/main.tf --
variable "cidr" {
  type = string
}

output "id" {
  value = "net-${var.cidr}"
}
`

// Problems of unsaved text appear while typing and go away again, in the file and in callers.
func TestProblems(t *testing.T) {
	e := edit(t, small)
	e.open("main.tf")
	e.wait("main.tf")
	e.replace("main.tf", "local.twice", "local.twic")
	found := e.wait("main.tf", `Did you mean "twice"`)[0]
	if got := e.text(e.uri("main.tf"), found.Range); got != "local.twic" || found.Code != "undeclared-local" || found.Severity != protocol.SeverityError || found.Source != "weir" {
		t.Errorf("%q: %+v", got, found)
	}
	e.replace("main.tf", "local.twic", "local.twice")
	e.wait("main.tf")
	e.replace("main.tf", "input = local.twice", "inputs = local.twice")
	e.wait("main.tf", "Unsupported argument")
	e.replace("main.tf", "inputs = local.twice", "input = \"")
	if got := e.wait("main.tf", "Invalid multi-line string"); got[0].Code != "invalid-syntax" {
		t.Errorf("%+v", got)
	}
	e.replace("main.tf", "input = \"", "input = local.twice")
	e.wait("main.tf")

	// An output that is gone is a problem of the caller.
	e.open("net/main.tf")
	e.wait("net/main.tf")
	e.replace("net/main.tf", `output "id"`, `output "ident"`)
	e.wait("main.tf", "Unsupported attribute")
	e.replace("net/main.tf", `output "ident"`, `output "id"`)
	e.wait("main.tf")
}

// A problem names the declarations that it has to do with.
func TestRelated(t *testing.T) {
	e := edit(t, small)
	e.open("main.tf")
	e.wait("main.tf")
	e.replace("main.tf", "value = [module.net.id", "value = [module.net.nothing")
	found := e.wait("main.tf", "Unsupported attribute")[0]
	if len(found.RelatedInformation) == 0 || e.text(found.RelatedInformation[0].Location.URI, found.RelatedInformation[0].Location.Range) != "net" {
		t.Errorf("%+v", found)
	}
	e.replace("main.tf", "module.net.nothing", "module.net.id")
	e.wait("main.tf")
	e.replace("main.tf", `output "net"`, "variable \"size\" {}\noutput \"net\"")
	found = e.wait("main.tf", "Duplicate")[0]
	if len(found.RelatedInformation) != 1 {
		t.Errorf("%+v", found)
	}
}

func (e *editor) locations(method string, params any) string {
	e.t.Helper()
	var list []protocol.Location
	e.call(method, params, &list)
	var out []string
	for _, l := range list {
		out = append(out, fmt.Sprintf("%s:%d:%s", e.rel(l.URI), l.Range.Start.Line+1, e.text(l.URI, l.Range)))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestDefinition(t *testing.T) {
	e := edit(t, small)
	e.open("main.tf")
	e.open("net/main.tf")
	for _, c := range []struct{ file, mark, want string }{
		{"main.tf", "local.tw|ice", "main.tf:7:twice"},
		{"main.tf", "var.si|ze *", "main.tf:1:size"},
		{"main.tf", "module.n|et.id", "main.tf:14:net"},
		{"main.tf", "module.net.i|d", "net/main.tf:5:id"},
		{"main.tf", "  ci|dr   =", "net/main.tf:1:cidr"},
		{"main.tf", "terraform_data.a|.output", "main.tf:10:a"},
		{"net/main.tf", "${var.ci|dr}", "net/main.tf:1:cidr"},
		{"main.tf", "resou|rce", ""},
	} {
		if got := e.locations("textDocument/definition", e.at(c.file, c.mark)); got != c.want {
			t.Errorf("%s: %q, want %q", c.mark, got, c.want)
		}
	}
}

func TestReferences(t *testing.T) {
	e := edit(t, small)
	e.open("net/main.tf")
	for _, c := range []struct{ mark, want string }{
		{`variable "ci|dr"`, "main.tf:16:cidr net/main.tf:1:cidr net/main.tf:6:cidr"},
		{`output "i|d"`, "main.tf:20:id net/main.tf:5:id"},
	} {
		params := protocol.ReferenceParams{PositionParams: e.at("net/main.tf", c.mark)}
		params.Context.IncludeDeclaration = true
		if got := e.locations("textDocument/references", params); got != c.want {
			t.Errorf("%s: %q, want %q", c.mark, got, c.want)
		}
	}
}

func TestSymbols(t *testing.T) {
	e := edit(t, small)
	e.open("main.tf")
	var list []protocol.Symbol
	e.call("textDocument/documentSymbol", protocol.DocumentParams{TextDocument: protocol.Document{URI: e.uri("main.tf")}}, &list)
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "var.size local.twice terraform_data.a module.net output.net" {
		t.Error(got)
	}
	var all []protocol.WorkspaceSymbol
	e.call("workspace/symbol", protocol.WorkspaceSymbolParams{Query: "CID"}, &all)
	if len(all) != 1 || all[0].Name != "var.cidr" || all[0].ContainerName != "net" {
		t.Errorf("%+v", all)
	}
}

func TestFormat(t *testing.T) {
	e := edit(t, "-- main.tf --\nlocals {\na=1\n  bbb = 2\n}\n")
	e.open("main.tf")
	doc := protocol.DocumentParams{TextDocument: protocol.Document{URI: e.uri("main.tf")}}
	var edits []protocol.TextEdit
	e.call("textDocument/formatting", doc, &edits)
	if len(edits) != 1 || edits[0].NewText != "  a   = 1" {
		t.Errorf("%+v", edits)
	}
	e.call("textDocument/rangeFormatting", protocol.RangeParams{TextDocument: doc.TextDocument, Range: protocol.Range{Start: protocol.Position{Line: 3}, End: protocol.Position{Line: 3}}}, &edits)
	if len(edits) != 0 {
		t.Errorf("%+v", edits)
	}
	var folds []protocol.FoldingRange
	e.call("textDocument/foldingRange", doc, &folds)
	if len(folds) != 1 || folds[0].StartLine != 0 || folds[0].EndLine != 2 {
		t.Errorf("%+v", folds)
	}
	var selections []protocol.SelectionRange
	e.call("textDocument/selectionRange", protocol.SelectionParams{TextDocument: doc.TextDocument, Positions: []protocol.Position{{Line: 1, Character: 2}}}, &selections)
	if len(selections) != 1 || e.text(e.uri("main.tf"), selections[0].Range) != "1" || selections[0].Parent == nil || e.text(e.uri("main.tf"), selections[0].Parent.Range) != "a=1" {
		t.Errorf("%+v", selections)
	}
	var tokens protocol.SemanticTokens
	e.call("textDocument/semanticTokens/full", doc, &tokens)
	if got := fmt.Sprint(tokens.Data); got != "[0 0 6 0 0 1 0 1 1 0 0 2 1 5 0 1 2 3 1 0 0 6 1 5 0]" {
		t.Error(got)
	}
}

// TestStack: the problems of a stack are found in its components, its deployments, and the modules that
// they use.
func TestStack(t *testing.T) {
	e := edit(t, `
-- main.tfcomponent.hcl --
variable "size" {
  type = number
}

component "net" {
  source = "./net"
  inputs = {
    size = var.size
  }
}

output "id" {
  type  = string
  value = component.net.id
}
-- prod.tfdeploy.hcl --
deployment "prod" {
  inputs = {
    size = 3
  }
}
-- net/main.tf --
variable "size" {
  type = number
}

resource "terraform_data" "a" {
  input = var.size
}

output "id" {
  value = terraform_data.a.id
}
`)
	e.open("main.tfcomponent.hcl")
	e.open("prod.tfdeploy.hcl")
	e.wait("main.tfcomponent.hcl")
	e.replace("main.tfcomponent.hcl", "component.net.id", "component.nat.id")
	e.wait("main.tfcomponent.hcl", "nat")
	e.replace("main.tfcomponent.hcl", "component.nat.id", "component.net.id")
	e.wait("main.tfcomponent.hcl")
	e.replace("prod.tfdeploy.hcl", "size = 3", "size = \"many\"")
	e.wait("prod.tfdeploy.hcl", "number")
}

// Schemas are known although a module isn't installed, and the problems of what is closed go.
func TestMissingModule(t *testing.T) {
	e := edit(t, `
-- main.tf --
module "label" {
  source = "cloudposse/label/null"
}

resource "terraform_data" "a" {
  in
}
`)
	e.open("main.tf")
	e.wait("main.tf", "Argument or block definition required", "Module not installed")
	if labels, _ := e.proposals("main.tf", "  in|\n", "input"); !slices.Contains(labels, "input") {
		t.Errorf("proposals: %q", labels)
	}
	e.tell("textDocument/didClose", protocol.DocumentParams{TextDocument: e.doc("main.tf")})
	e.wait("main.tf")
}

// CLI configurations are documents, too.
func TestSettingsFile(t *testing.T) {
	e := edit(t, "-- .tofurc --\nplugin_cache = \"x\"\n")
	e.open(".tofurc")
	e.wait(".tofurc", "Unknown setting in CLI configuration")
	e.replace(".tofurc", "plugin_cache = \"x\"\n", "plug\n")
	if labels, _ := e.proposals(".tofurc", "plug|", ""); !slices.Contains(labels, "plugin_cache_dir") {
		t.Errorf("proposals: %q", labels)
	}
	e.replace(".tofurc", "plug\n", "plugin_cache_dir = \"x\"\n")
	e.wait(".tofurc")
}

// Versions are proposed that the lock file and the directories of providers and modules have.
func TestVersions(t *testing.T) {
	e := edit(t, `
-- main.tf --
terraform {
  required_providers {
    null = {
      source  = "hashicorp/null"
      version = "1"
    }
  }
}

module "label" {
  source  = "cloudposse/label/null"
  version = "0"
}
-- .terraform.lock.hcl --
provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.1"
}
-- .terraform/providers/registry.opentofu.org/hashicorp/null/3.2.4/here --
-- .terraform/modules/label/main.tf --
-- .terraform/modules/modules.json --
{"Modules": [{"Key": "", "Source": "", "Dir": "."}, {"Key": "label", "Source": "registry.opentofu.org/cloudposse/label/null", "Version": "0.25.0", "Dir": ".terraform/modules/label"}]}
`)
	e.open("main.tf")
	e.replace("main.tf", "\"1\"", "\"\"")
	e.replace("main.tf", "\"0\"", "\"\"")
	for mark, want := range map[string][]string{
		"version = \"|\"\n    }": {"~> 3.2", "3.2.4", ">= 3.2.4", "3.2.1"}, "version = \"|\"\n}": {"~> 0.25", "0.25.0", ">= 0.25.0"}, "source  = \"|hashi": nil,
	} {
		if labels, _ := e.proposals("main.tf", mark, ""); !slices.Equal(labels, want) {
			t.Errorf("%s: %q", mark, labels)
		}
	}
}
