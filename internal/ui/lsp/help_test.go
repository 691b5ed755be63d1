package lsp_test

import (
	"slices"
	"strings"
	"testing"

	"weir.dev/weir/internal/ui/lsp/protocol"
)

const rich = `
-- main.tf --
variable "size" {
  type        = number
  description = "How large it is."
}

variable "tags" {
  type = object({ team = string, cost = optional(number) })
}

locals {
  count = 3
  where = var.tags
}

resource "terraform_data" "a" {
  count = 2
  input = local.where
}

module "net" {
  source = "./net"
  cidr   = "10.0.0.0/8"
}

output "net" {
  value = module.net.id
}
-- net/main.tf --
variable "cidr" {
  type        = string
  description = "The range of addresses."
}

variable "private" {
  type    = bool
  default = true
}

output "id" {
  value = "net-${var.cidr}"
}
`

// proposals are the labels that are proposed at a mark, and the proposal with a label.
func (e *editor) proposals(name, mark, of string) (labels []string, one protocol.CompletionItem) {
	e.t.Helper()
	var list protocol.CompletionList
	e.call("textDocument/completion", e.at(name, mark), &list)
	for _, item := range list.Items {
		labels = append(labels, item.Label)
		if item.Label == of {
			one = item
		}
	}
	return labels, one
}

// Proposals appear in text that isn't finished, as it is while somebody types.
func TestCompletion(t *testing.T) {
	e := edit(t, rich)
	e.open("main.tf")
	e.wait("main.tf")
	for _, c := range []struct {
		from, to, mark string // what is typed, and where the cursor is then
		label, insert  string
		detail         string
		not            string
	}{
		{"output \"net\"", "res\noutput \"net\"", "res|\n", "resource", "resource \"${1:type}\" \"${2:name}\" {\n  $0\n}", "block", "count"},
		{"value = module.net.id", "value = var.", "value = var.|", "size", "var.size", "number", "tags2"},
		{"value = module.net.id", "value = var.tags.", "var.tags.|", "team", "var.tags.team", "string", "size"},
		{"value = module.net.id", "value = local.where.c", "local.where.c|", "cost", "local.where.cost", "number", ""},
		{"value = module.net.id", "value = module.net.", "module.net.|", "id", "module.net.id", "any", "cidr"},
		{"value = module.net.id", "value = \"x-${terraform_data.a[0].}\"", "terraform_data.a[0].|", "output", "terraform_data.a[0].output", "any", "a"},
		{"value = module.net.id", "value = merge(v", "merge(v|", "var.size", "var.size", "number", ""},
		{"value = module.net.id", "value = { for s in var.", "in var.|", "size", "var.size", "number", ""},
		{"value = module.net.id", "value = upp", "upp|", "upper", "upper(${1})", "upper(str string) string", ""},
		{"  count = 2\n", "  inp\n", "  inp|\n", "input", "input = ${1}", "any, optional", "output"},
		{"  count = 2\n", "  tri\n", "  tri|\n", "triggers_replace", "triggers_replace = ${1}", "any, optional", "id"},
		{"  count = 2\n", "  life\n", "  life|\n", "lifecycle", "lifecycle {\n  $0\n}", "block", ""},
		{"  count = 2\n", "  lifecycle {\n    prev\n  }\n", "prev|\n", "prevent_destroy", "prevent_destroy = ${1}", "argument", "input"},
		{"  count = 2\n", "  lifecycle {\n    prevent_destroy = t\n  }\n", "prevent_destroy = t|", "true", "true", "", ""},
		{"module \"net\" {\n", "module \"b\" {\n\n}\nmodule \"net\" {\n", "\"b\" {\n|", "source", "source = ${1}", "required argument", "required arguments"},
		{"  cidr   = \"10.0.0.0/8\"\n", "  \n", "net\"\n  |\n", "cidr", "cidr = \"${1}\"", "string, required", "required arguments"},
		{"  count = 2\n", "  lifecycle {\n    precondition {\n      \n    }\n  }\n", "{\n      |\n", "required arguments", "condition = ${1}\nerror_message = ${2}", "condition, error_message", ""},
		{"  cidr   =", "  priv\n  cidr   =", "  priv|\n", "private", "private = ${1}", "bool, optional", "size"},
		{"  cidr   =", "  private = \n  cidr   =", "private = |\n", "false", "false", "bool", ""},
		{"type        = number", "type        = l", "= l|\n", "list", "list(${1})", "type", "var.size"},
		{"\"terraform_data\" \"a\"", "\"terr\" \"a\"", "\"terr|\"", "terraform_data", "terraform_data", "terraform.io/builtin/terraform", ""},
	} {
		e.replace("main.tf", c.from, c.to)
		labels, one := e.proposals("main.tf", c.mark, c.label)
		if one.Label == "" || one.TextEdit.NewText != c.insert || one.Detail != c.detail {
			t.Errorf("%q: %q of %q: %+v %+v", c.to, c.label, labels, one, one.TextEdit)
		}
		if c.not != "" && slices.Contains(labels, c.not) {
			t.Errorf("%q: %q is proposed", c.to, c.not)
		}
		e.replace("main.tf", c.to, c.from)
	}
}

func TestHover(t *testing.T) {
	e := edit(t, rich)
	e.open("main.tf")
	e.wait("main.tf")
	for _, c := range []struct{ mark, want string }{
		{`variable "si|ze"`, "**variable** `size`: `number`\n\nA value is required.\n\nHow large it is."},
		{"input = local.wh|ere", "**local** `where`: `object({cost=number,team=string})`"},
		{"  ci|dr   =", "**variable** `cidr`: `string`\n\nA value is required.\n\nThe range of addresses."},
		{"  inp|ut =", "`input`: `any`, optional"},
		{`resource "terraform_da|ta"`, "**resource** `terraform_data`"},
		{`module.ne|t.id`, "**module** `net`"},
	} {
		var h protocol.Hover
		e.call("textDocument/hover", e.at("main.tf", c.mark), &h)
		if !strings.HasPrefix(h.Contents.Value, c.want) {
			t.Errorf("%s: %q, want %q", c.mark, h.Contents.Value, c.want)
		}
	}
	e.replace("main.tf", "module.net.id", "join(\",\", [])")
	var h protocol.Hover
	e.call("textDocument/hover", e.at("main.tf", "jo|in("), &h)
	if !strings.Contains(h.Contents.Value, "join(separator string, ") {
		t.Error(h.Contents.Value)
	}
	var s protocol.SignatureHelp
	e.call("textDocument/signatureHelp", e.at("main.tf", `join(",", [|])`), &s)
	if len(s.Signatures) != 1 || s.ActiveParameter != 1 || s.Signatures[0].Parameters[0].Label != "separator string" {
		t.Errorf("%+v", s)
	}
}

// apply is a workspace edit applied to the files of the directory.
func (e *editor) apply(edit protocol.WorkspaceEdit) map[string]string {
	e.t.Helper()
	out := map[string]string{}
	for _, change := range edit.DocumentChanges {
		m := change.(map[string]any)
		if m["kind"] == "create" {
			out[e.rel(m["uri"].(string))] = ""
			continue
		}
		uri := m["textDocument"].(map[string]any)["uri"].(string)
		name := e.rel(uri)
		src, ok := out[name]
		if !ok {
			src = e.source(name)
		}
		var list []protocol.TextEdit
		decode(e.t, m["edits"], &list)
		for _, one := range slices.Backward(list) {
			src = src[:offset(src, one.Range.Start)] + one.NewText + src[offset(src, one.Range.End):]
		}
		out[name] = src
	}
	return out
}

func (e *editor) rename(name, mark, to string) map[string]string {
	e.t.Helper()
	var edit protocol.WorkspaceEdit
	e.call("textDocument/rename", protocol.RenameParams{PositionParams: e.at(name, mark), NewName: to}, &edit)
	return e.apply(edit)
}

func TestRename(t *testing.T) {
	e := edit(t, `
-- main.tf --
variable "size" { type = number }
locals { twice = var.size * 2 }
resource "terraform_data" "a" { input = [local.twice, "${var.size}"] }
output "a" { value = terraform_data.a.output }
module "net" {
  source = "./net"
  cidr   = "10.0.0.0/8"
}
moved {
  from = terraform_data.before
  to   = terraform_data.a
}
-- prod.tfvars --
size = 3
-- tests/a.tftest.hcl --
variables {
  size = 1
}
run "a" {
  assert {
    condition     = terraform_data.a.output != var.size
    error_message = "x"
  }
}
-- net/main.tf --
variable "cidr" {}
output "id" { value = var.cidr }
`)
	e.open("main.tf")
	e.open("net/main.tf")
	got := e.rename("main.tf", `variable "si|ze"`, "large")
	for name, want := range map[string]string{
		"main.tf":            `resource "terraform_data" "a" { input = [local.twice, "${var.large}"] }`,
		"prod.tfvars":        "large = 3\n",
		"tests/a.tftest.hcl": "  large = 1\n",
	} {
		if !strings.Contains(got[name], want) || strings.Contains(got[name], "size") {
			t.Errorf("%s:\n%s", name, got[name])
		}
	}
	got = e.rename("net/main.tf", `variable "ci|dr"`, "range")
	if !strings.Contains(got["main.tf"], "  range   = \"10") || !strings.Contains(got["net/main.tf"], "value = var.range") {
		t.Errorf("%q", got)
	}
	got = e.rename("main.tf", `value = terraform_data.a|.output`, "b")
	for _, want := range []string{`resource "terraform_data" "b"`, "value = terraform_data.b.output", "  to   = terraform_data.a\n", "moved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}"} {
		if !strings.Contains(got["main.tf"], want) {
			t.Errorf("no %q in:\n%s", want, got["main.tf"])
		}
	}
	if !strings.Contains(got["tests/a.tftest.hcl"], "terraform_data.b.output") {
		t.Errorf("%q", got)
	}
	for _, c := range []struct{ mark, to, want string }{
		{`variable "si|ze"`, "9x", "isn't a name"},
		{`"terraform_data" "a|"`, "a b", "isn't a name"},
		{`"terraform_|data" "a"`, "b", "none of them"},
	} {
		err := e.conn.Call(t.Context(), "textDocument/rename", protocol.RenameParams{PositionParams: e.at("main.tf", c.mark), NewName: c.to}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.mark, err)
		}
	}
}

// actions are the code actions at the part of a file, with the problems there.
func (e *editor) actions(name, part string, problems ...protocol.Diagnostic) map[string]protocol.CodeAction {
	e.t.Helper()
	at := strings.Index(e.texts[name], part)
	p := protocol.CodeActionParams{TextDocument: protocol.Document{URI: e.uri(name)}, Range: protocol.Range{Start: position(e.texts[name], at), End: position(e.texts[name], at+len(part))}}
	p.Context.Diagnostics = problems
	var list []protocol.CodeAction
	e.call("textDocument/codeAction", p, &list)
	all := map[string]protocol.CodeAction{}
	for _, a := range list {
		all[a.Title] = a
	}
	return all
}

func TestFixes(t *testing.T) {
	e := edit(t, small)
	e.open("main.tf")
	e.wait("main.tf")
	for _, c := range []struct{ from, to, problem, title, want string }{
		{"local.twice", "local.twic", "Did you mean", `Replace "twic" by "twice"`, "input = local.twice"},
		{"input = ", "inputt = ", "Unsupported argument", `Replace "inputt" by "input"`, "  input = local.twice"},
		{"var.size]", "var.other]", "undeclared input variable", `Declare the variable "other"`, "\n\nvariable \"other\" {\n}\n"},
		{"  cidr   = \"10.0.0.0/8\"\n", "", "Missing required argument", `Add the argument "cidr"`, "module \"net\" {\n  cidr = null\n  source"},
	} {
		e.replace("main.tf", c.from, c.to)
		found := e.wait("main.tf", c.problem)
		action, ok := e.actions("main.tf", c.from[:0], found...)[c.title]
		if !ok {
			t.Errorf("no %q for %+v", c.title, found)
		} else if got := e.apply(*action.Edit)["main.tf"]; !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s", c.title, got)
		}
		if c.to == "" {
			e.replace("main.tf", "  source = \"./net\"\n", "  source = \"./net\"\n"+c.from)
		} else {
			e.replace("main.tf", c.to, c.from)
		}
		e.wait("main.tf")
	}
}

func TestRefactor(t *testing.T) {
	e := edit(t, small)
	e.open("main.tf")
	a, ok := e.actions("main.tf", "var.size * 2")["Extract to a local value"]
	if got := e.apply(*a.Edit)["main.tf"]; !ok || !strings.Contains(got, "twice = local.extracted\n") || !strings.HasSuffix(got, "\nlocals {\n  extracted = var.size * 2\n}\n") {
		t.Error(got)
	}
	a, ok = e.actions("main.tf", `output "net"`)["Move the block to outputs.tf"]
	got := e.apply(*a.Edit)
	if !ok || strings.Contains(got["main.tf"], "output") || !strings.HasPrefix(got["outputs.tf"], "output \"net\" {\n") {
		t.Errorf("%q", got)
	}
	if list := e.actions("main.tf", "source = \"./net\""); len(list) != 0 {
		t.Errorf("%v", list)
	}
}
