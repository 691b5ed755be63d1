package lsp_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir.dev/weir"
	"weir.dev/weir/internal/ui/lsp/protocol"
)

const counted = `
-- main.tf --
variable "names" {
  default = ["x", "y${1}"]
}

locals {
  here = "local"
}

resource "terraform_data" "list" {
  count = length(var.names)
  input = "${count.index}: ${var.names[count.index]}"
}

# The number of these is only a number.
resource "terraform_data" "number" {
  count = local.here == "local" ? 2 : 0
  input = [terraform_data.list[1].id, terraform_data.list[count.index].output, local.here, var.names[0]]
}

resource "terraform_data" "user" {
  input      = [for d in terraform_data.number : d.id]
  depends_on = [terraform_data.list]
}

output "all" {
  value = [terraform_data.list[*].output, terraform_data.number[0].id, terraform_data.user.id]
}
`

// written takes an action over: into the editor's files and those on the disk.
func (e *editor) written(t *testing.T, a protocol.CodeAction) {
	t.Helper()
	for name, text := range e.apply(*a.Edit) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(e.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, open := e.texts[name]; open {
			e.version++
			e.texts[name] = text
			e.tell("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": e.uri(name), "version": e.version}, "contentChanges": []protocol.Change{{Text: text}}})
		}
	}
}

// changes are the changes of a plan but moves.
func (e *editor) changes(t *testing.T) (list []string) {
	t.Helper()
	p, err := e.workspace(t).Plan(t.Context(), weir.PlanOptions{})
	if err != nil {
		t.Fatalf("%v\n%s", err, e.source("main.tf"))
	}
	for _, c := range p.Changes() {
		if c.Action != "no-op" && c.Action != "" && c.Action != "move" {
			list = append(list, fmt.Sprintf("%s %s", c.Action, c.Address))
		}
	}
	for _, o := range p.Outputs() {
		if o.Action != "no-op" {
			list = append(list, fmt.Sprintf("%s output %s", o.Action, o.Name))
		}
	}
	return list
}

func TestForEach(t *testing.T) {
	e := edit(t, counted)
	e.open("main.tf")
	e.applied(t)
	for _, c := range []struct {
		block string
		want  []string
	}{
		{"\"list\"", []string{
			"  for_each = toset(var.names)\n  input = \"${index(var.names, each.value)}: ${each.value}\"\n",
			"moved {\n  from = terraform_data.list[1]\n  to   = terraform_data.list[\"y1\"]\n}\n",
			`[terraform_data.list["y1"].id, [for k in var.names : terraform_data.list[k]][count.index].output, local.here, var.names[0]]`,
			"depends_on = [terraform_data.list]", "[[for k in var.names : terraform_data.list[k]][*].output,",
		}},
		{"\"number\"", []string{
			`for_each = toset([for i in range(local.here == "local" ? 2 : 0) : tostring(i)])`,
			"terraform_data.list[k]][tonumber(each.key)].output", `terraform_data.number["0"].id`,
			"moved {\n  from = terraform_data.number[0]\n  to   = terraform_data.number[\"0\"]\n}\n",
		}},
	} {
		a, ok := e.actions("main.tf", c.block)["Turn count into for_each"]
		if !ok {
			t.Fatalf("not offered for %s", c.block)
		}
		e.written(t, a)
		for _, want := range c.want {
			if !strings.Contains(e.texts["main.tf"], want) {
				t.Errorf("%s: %q isn't in\n%s", c.block, want, e.texts["main.tf"])
			}
		}
		if got := e.changes(t); len(got) > 0 {
			t.Fatalf("%s: the plan has %q\n%s", c.block, got, e.texts["main.tf"])
		}
	}
	if _, ok := e.actions("main.tf", "\"user\"")["Turn count into for_each"]; ok {
		t.Error("offered for a block without count")
	}
}

func TestToModule(t *testing.T) {
	e := edit(t, counted)
	e.open("main.tf")
	e.applied(t)
	a, ok := e.actions("main.tf", "\"number\"")[`Move to a new module "number"`]
	if !ok {
		t.Fatal("not offered")
	}
	e.written(t, a)
	for name, want := range map[string][]string{
		"main.tf": {
			"module \"number\" {\n  source = \"./number\"\n\n  here      = local.here\n  list      = terraform_data.list\n  list_1_id = terraform_data.list[1].id\n  names     = var.names\n}\n\nmoved {\n  from = terraform_data.number\n  to   = module.number.terraform_data.number\n}\n\nresource \"terraform_data\" \"user\" {\n",
			"input      = [for d in module.number.number : d.id]", "module.number.number[0].id",
		},
		"number/main.tf":      {"# The number of these is only a number.\nresource \"terraform_data\" \"number\" {\n  count = var.here == \"local\" ? 2 : 0\n  input = [var.list_1_id, var.list[count.index].output, var.here, var.names[0]]\n}\n"},
		"number/variables.tf": {"variable \"here\" {\n}\n\nvariable \"list\" {\n}\n"},
		"number/outputs.tf":   {"output \"number\" {\n  value = terraform_data.number\n}\n"},
	} {
		for _, want := range want {
			if got := e.source(name); !strings.Contains(got, want) {
				t.Errorf("%s: %q isn't in\n%s", name, want, got)
			}
		}
	}
	if got := e.changes(t); len(got) > 0 {
		t.Fatalf("the plan has %q\n%s", got, e.source("main.tf"))
	}
	// Several blocks, one of which a resource outside depends on.
	text := e.texts["main.tf"]
	part := text[strings.Index(text, "resource \"terraform_data\" \"list\""):strings.Index(text, "output \"all\"")]
	if _, ok := e.actions("main.tf", part)[`Move to a new module "list"`]; ok {
		t.Error("offered with the call of a module among the blocks")
	}
	e.replace("main.tf", "input      = [for d in module.number.number : d.id]", "input      = terraform_data.list[0].id")
	a, ok = e.actions("main.tf", "\"list\"")[`Move to a new module "list"`]
	if !ok {
		t.Fatal("not offered for list")
	}
	if got := e.apply(*a.Edit)["main.tf"]; !strings.Contains(got, "depends_on = [module.list]") || !strings.Contains(got, "module.list.list[0].id") {
		t.Errorf("depends_on is\n%s", got)
	}
}

// TestNoModule: what a block says that means something else in a module, or can't be said there.
func TestNoModule(t *testing.T) {
	for name, block := range map[string]string{
		"its directory":        "input = path.module",
		"another's change":     "lifecycle {\n    replace_triggered_by = [terraform_data.other]\n  }",
		"another's end":        "depends_on = [terraform_data.other]",
		"a provider":           "provider = terraform",
		"an ephemeral value":   "input = var.secret",
		"":                     "input = terraform_data.other.id",
		"a name of its own":    "input = [for terraform_data in [1] : terraform_data]",
		"a change that counts": "}\nresource \"terraform_data\" \"user\" {\n  lifecycle {\n    replace_triggered_by = [terraform_data.a]\n  }",
		"a former name":        "}\nmoved {\n  from = terraform_data.before\n  to   = terraform_data.a",
	} {
		e := edit(t, "\n-- main.tf --\nvariable \"secret\" {\n  ephemeral = true\n  default = 1\n}\nresource \"terraform_data\" \"other\" {}\nresource \"terraform_data\" \"a\" {\n  "+block+"\n}\n")
		e.open("main.tf")
		_, ok := e.actions("main.tf", "\"a\"")[`Move to a new module "a"`]
		if want := name == "" || name == "a name of its own"; ok != want {
			t.Errorf("%s: offered %t, want %t", name, ok, want)
		}
	}
}

// After any refactoring a plan has no changes, as before.
func TestRefactoringsPlanNothing(t *testing.T) {
	done := map[string]int{}
	for seed, last := number(t, 12, 3); seed < last; seed++ {
		r := rand.New(rand.NewPCG(seed, 37))
		e := edit(t, random(r))
		e.applied(t)
		e.open("main.tf")
		for range 4 {
			var list []protocol.Symbol
			e.call("textDocument/documentSymbol", protocol.DocumentParams{TextDocument: e.doc("main.tf")}, &list)
			s := list[r.IntN(len(list))]
			at := protocol.Range{Start: s.SelectionRange.Start, End: s.SelectionRange.Start}
			var actions []protocol.CodeAction
			e.call("textDocument/codeAction", protocol.CodeActionParams{TextDocument: e.doc("main.tf"), Range: at}, &actions)
			actions = slices.DeleteFunc(actions, func(a protocol.CodeAction) bool {
				return a.Kind != "refactor.rewrite" && !strings.Contains(a.Title, "new module")
			})
			if len(actions) == 0 {
				continue
			}
			a, before := actions[r.IntN(len(actions))], e.texts["main.tf"]
			e.written(t, a)
			done[a.Kind]++
			if got := e.changes(t); len(got) > 0 {
				t.Fatalf("seed %d, %s of %s: the plan has %q\nbefore:\n%s\nafter:\n%s", seed, a.Title, s.Name, got, before, e.texts["main.tf"])
			}
		}
	}
	t.Log(done)
	if testing.Short() {
		return // with too few for every kind
	}
	if done["refactor.rewrite"] == 0 || done["refactor.move"] == 0 {
		t.Errorf("not every kind was done: %v", done)
	}
}

// TestUnused: a hint at what nothing refers to, and its removal.
func TestUnused(t *testing.T) {
	e := edit(t, `
-- main.tf --
# It isn't needed.
variable "idle" {
  default = 1
}

variable "given" {
  default = 1
}

locals {
  used = 1
  idle = var.given
}

output "used" {
  value = local.used
}
`)
	e.open("main.tf")
	for _, name := range []string{"local.idle", "var.given", "var.idle"} {
		found := e.wait("main.tf", map[string][]string{
			"local.idle": {"refers to var.idle", "refers to local.idle"}, "var.given": {"refers to var.idle", "refers to var.given"}, "var.idle": {"refers to var.idle"},
		}[name]...)
		d := found[len(found)-1]
		if d.Message != "Nothing in this module refers to "+name+"." || d.Severity != protocol.SeverityHint || !slices.Equal(d.Tags, []int{protocol.TagUnnecessary}) {
			t.Errorf("%q, severity %d, tags %v", d.Message, d.Severity, d.Tags)
		}
		e.written(t, e.actions("main.tf", "", d)["Remove the declaration"])
	}
	if want := "locals {\n  used = 1\n}\n\noutput \"used\" {\n  value = local.used\n}\n"; e.texts["main.tf"] != want {
		t.Errorf("what is left:\n%s", e.texts["main.tf"])
	}
}

// TestCompanions: the blocks that go with a resource.
func TestCompanions(t *testing.T) {
	e := edit(t, `
-- main.tf --
# Comment.
resource "terraform_data" "a" {
  count = 1
}

resource "random_pet" "b" {
}
-- versions.tf --
terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}
`)
	e.open("main.tf")
	for _, c := range []struct{ at, title, file, want string }{
		{"\"a\"", "Write an import block", "main.tf", "}\n\nimport {\n  to = terraform_data.a[0]\n  id = \"\"\n}\n\nresource"},
		{"\"a\"", "Forget its objects with a removed block", "main.tf", "removed {\n  from = terraform_data.a\n  lifecycle {\n    destroy = false\n  }\n}\n\nresource \"random_pet\""},
		{"\"b\"", "Add \"random\" to required_providers", "versions.tf", "required_providers {\n    random = {\n      source = \"hashicorp/random\"\n    }\n    aws = {"},
	} {
		a, ok := e.actions("main.tf", c.at)[c.title]
		if !ok {
			t.Errorf("%s: not offered", c.title)
			continue
		}
		if got := e.apply(*a.Edit)[c.file]; !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s", c.title, got)
		}
	}
	if _, ok := e.actions("main.tf", "\"a\"")["Add \"terraform\" to required_providers"]; ok {
		t.Error("the built-in provider is to be required")
	}
	e = edit(t, "\n-- main.tf --\nresource \"terraform_data\" \"a\" {\n}\n")
	e.open("main.tf")
	e.applied(t)
	if _, ok := e.actions("main.tf", "\"a\"")["Write an import block"]; ok {
		t.Error("an import is offered for a resource that has objects")
	}
}
