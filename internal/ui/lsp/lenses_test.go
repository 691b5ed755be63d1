package lsp_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/internal/ui/lsp/project"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

const repeated = `
-- main.tf --
variable "secret" {
  default   = "hidden"
  sensitive = true
}

locals {
  plain = 3
  twice = local.plain * 2
  names = [for n in range(local.plain) : "a long name of number ${n}"]
  token = var.secret
}

resource "terraform_data" "a" {
  count = local.plain
  input = local.token
}

module "net" {
  source   = "./net"
  for_each = toset(["x"])
}
-- net/main.tf --
module "leaf" {
  source = "../leaf"
}
-- leaf/main.tf --
resource "terraform_data" "b" {
}
`

// workspace is the directory of the editor after init.
func (e *editor) workspace(t *testing.T) *weir.Workspace {
	t.Helper()
	ws, err := weir.Open(e.dir, weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	if err := ws.Init(t.Context(), weir.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	return ws
}

// applied makes the objects of the configuration.
func (e *editor) applied(t *testing.T) {
	t.Helper()
	if _, err := e.workspace(t).PlanAndApply(t.Context(), weir.PlanOptions{}, weir.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (e *editor) doc(name string) protocol.Document { return protocol.Document{URI: e.uri(name)} }

// TestInlayHints: values of local values that aren't written there, and numbers of instances.
func TestInlayHints(t *testing.T) {
	e := edit(t, repeated)
	hints := func(first, last int) (list []string) {
		var got []protocol.InlayHint
		e.call("textDocument/inlayHint", protocol.RangeParams{TextDocument: e.doc("main.tf"), Range: protocol.Range{Start: protocol.Position{Line: first}, End: protocol.Position{Line: last}}}, &got)
		lines := strings.Split(e.texts["main.tf"], "\n")
		for _, h := range got {
			if h.Position.Character != len(lines[h.Position.Line]) {
				t.Errorf("%q isn't at the end of its line, but at %d", h.Label, h.Position.Character)
			}
			name, _, _ := strings.Cut(strings.TrimSpace(lines[h.Position.Line]), " ")
			list = append(list, name+" "+h.Label)
		}
		slices.Sort(list)
		return list
	}
	e.open("main.tf")
	if got := hints(0, 100); len(got) > 0 {
		t.Errorf("hints without a state: %q", got)
	}
	e.applied(t)
	want := []string{"count 3 instances", "for_each 1 instance", `names = [ "a long name of number 0", "a long nam…`, "token = (sensitive value)", "twice = 6"}
	if got := hints(0, 100); !slices.Equal(got, want) {
		t.Errorf("hints %q, want %q", got, want)
	}
	if got := hints(0, 7); !slices.Equal(got, want[4:]) {
		t.Errorf("hints of the first lines: %q, want %q", got, want[4:])
	}
	e.tell("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"weir": map[string]any{"hints": false}}})
	if got := hints(0, 100); len(got) > 0 {
		t.Errorf("hints that the settings exclude: %q", got)
	}
}

// TestCodeLenses: the commands of weir above the blocks of a root module, and what one prints as
// a document.
func TestCodeLenses(t *testing.T) {
	e := edit(t, repeated)
	e.open("main.tf")
	var got []protocol.CodeLens
	e.call("textDocument/codeLens", protocol.DocumentParams{TextDocument: e.doc("net/main.tf")}, &got)
	if len(got) > 0 {
		t.Errorf("lenses of a module that others call: %v", got)
	}
	e.call("textDocument/codeLens", protocol.DocumentParams{TextDocument: e.doc("main.tf")}, &got)
	var list []string
	for _, l := range got {
		list = append(list, strings.TrimSpace(e.text(e.uri("main.tf"), l.Range)+" "+l.Command.Title))
	}
	want := []string{"variable Plan", "resource Why", "resource Impact", "module Why", "module Impact"}
	if !slices.Equal(list, want) {
		t.Fatalf("lenses %q, want %q", list, want)
	}
	var uri string
	e.call("workspace/executeCommand", map[string]any{"command": got[3].Command.Command, "arguments": got[3].Command.Arguments}, &uri)
	e.mu.Lock()
	shown := e.shown
	e.mu.Unlock()
	if uri == "" || shown != uri {
		t.Errorf("the editor shows %q, the answer is %q", shown, uri)
	}
	out, err := os.ReadFile(project.Path(uri))
	if want := "-chdir=" + e.dir + " why -lock=false -no-color module.net\n"; err != nil || string(out) != want {
		t.Errorf("the command is %q, %v, want %q", out, err, want)
	}
	if err := e.conn.Call(context.Background(), "workspace/executeCommand", map[string]any{"command": "weir.apply"}, nil); err == nil || !strings.Contains(err.Error(), "doesn't know") {
		t.Errorf("a command that no lens has: %v", err)
	}
}

// TestLinks: the type of a resource leads to its page in the version that the lock file has.
func TestLinks(t *testing.T) {
	e := edit(t, `
-- main.tf --
resource "aws_s3_bucket" "a" {
}
data "google_project" "b" {
}
resource "terraform_data" "c" {
}
-- .terraform.lock.hcl --
provider "registry.opentofu.org/hashicorp/aws" {
  version = "5.100.0"
}
`)
	e.open("main.tf")
	var got []protocol.DocumentLink
	e.call("textDocument/documentLink", protocol.DocumentParams{TextDocument: e.doc("main.tf")}, &got)
	var list []string
	for _, l := range got {
		list = append(list, e.text(e.uri("main.tf"), l.Range)+" "+l.Target)
	}
	want := []string{
		"aws_s3_bucket https://search.opentofu.org/provider/hashicorp/aws/v5.100.0/docs/resources/s3_bucket",
		"google_project https://search.opentofu.org/provider/hashicorp/google/latest/docs/datasources/project",
	}
	if !slices.Equal(list, want) {
		t.Errorf("links %q, want %q", list, want)
	}
}

// TestCallHierarchy: modules with those that call them and that they call.
func TestCallHierarchy(t *testing.T) {
	e := edit(t, repeated)
	e.open("main.tf")
	var items []protocol.HierarchyItem
	e.call("textDocument/prepareCallHierarchy", e.at("main.tf", `module "ne|t"`), &items)
	if len(items) != 1 || items[0].Name != "net" {
		t.Fatalf("the module at the call is %v", items)
	}
	var in []protocol.IncomingCall
	e.call("callHierarchy/incomingCalls", protocol.HierarchyParams{Item: items[0]}, &in)
	if len(in) != 1 || in[0].From.Name != "." || len(in[0].Ranges) != 1 || e.text(in[0].From.URI, in[0].Ranges[0]) != "net" {
		t.Errorf("callers of net: %+v", in)
	}
	var out []protocol.OutgoingCall
	e.call("callHierarchy/outgoingCalls", protocol.HierarchyParams{Item: items[0]}, &out)
	if len(out) != 1 || out[0].To.Name != "leaf" || len(out[0].Ranges) != 1 || e.text(items[0].URI, out[0].Ranges[0]) != "leaf" {
		t.Errorf("net calls %+v", out)
	}
}
