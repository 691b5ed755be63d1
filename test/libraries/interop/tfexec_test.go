package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
)

const driven = `
terraform {
  required_version = ">= 1.6"
}

variable "size" {
  type    = number
  default = 2
}

variable "token" {
  type      = string
  default   = "not really"
  sensitive = true
}

resource "terraform_data" "base" {
  input = { size = var.size, token = var.token }
}

resource "terraform_data" "node" {
  count            = var.size
  input            = "node ${count.index}"
  triggers_replace = [terraform_data.base.id]
}

module "child" {
  source = "./child"
  name   = terraform_data.node[0].output
}

check "size" {
  assert {
    condition     = var.size < 10
    error_message = "Too many."
  }
}

output "nodes" {
  value = terraform_data.node[*].output
}

output "token" {
  value     = terraform_data.base.output.token
  sensitive = true
}
`

const drivenChild = `
variable "name" {
  type = string
}

resource "terraform_data" "leaf" {
  input = upper(var.name)
}
`

// A driver is the library with a folder it works in. Its methods return what
// commands print, after parsing, or fail the test.
type driver struct {
	folder
	*tfexec.Terraform
}

func drive(t *testing.T) driver {
	t.Helper()
	f := newFolder(t, "")
	f.write("main.tf", driven)
	f.write("child/main.tf", drivenChild)
	tf, err := tfexec.NewTerraform(f.dir, binary)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, pair := range f.env {
		name, value, _ := strings.Cut(pair, "=")
		// The library sets these itself and doesn't be given them.
		if len(tfexec.ProhibitedEnv(map[string]string{name: value})) == 0 {
			env[name] = value
		}
	}
	if err := tf.SetEnv(env); err != nil {
		t.Fatal(err)
	}
	return driver{f, tf}
}

func (d driver) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// plan saves a plan and returns it as it is shown.
func (d driver) plan(want bool, options ...tfexec.PlanOption) *tfjson.Plan {
	d.t.Helper()
	changes, err := d.Plan(d.t.Context(), append(options, tfexec.Out("tfplan"))...)
	d.ok(err)
	if changes != want {
		d.t.Errorf("plan: changes %v, want %v", changes, want)
	}
	p, err := d.ShowPlanFile(d.t.Context(), "tfplan")
	d.ok(err)
	return p
}

// addresses are those of the objects in the state.
func (d driver) addresses() string {
	d.t.Helper()
	s, err := d.Show(d.t.Context())
	d.ok(err)
	if s.Values == nil {
		return ""
	}
	var all []string
	var walk func(*tfjson.StateModule)
	walk = func(m *tfjson.StateModule) {
		for _, r := range m.Resources {
			all = append(all, r.Address)
		}
		for _, child := range m.ChildModules {
			walk(child)
		}
	}
	walk(s.Values.RootModule)
	return strings.Join(all, " ")
}

func actions(p *tfjson.Plan) string {
	var all []string
	for _, c := range p.ResourceChanges {
		words := []string{c.Address}
		for _, a := range c.Change.Actions {
			words = append(words, string(a))
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, "\n") + "\n"
}

func TestDrivenCycle(t *testing.T) {
	d, ctx := drive(t), t.Context()
	version, _, err := d.Version(ctx, true)
	d.ok(err)
	if version.String() != "1.12.6" {
		t.Errorf("version %s", version)
	}
	d.ok(d.Init(ctx, tfexec.Upgrade(true)))
	valid, err := d.Validate(ctx)
	d.ok(err)
	if !valid.Valid || len(valid.Diagnostics) > 0 {
		t.Errorf("validate: %+v", valid)
	}

	p := d.plan(true)
	d.same("actions", actions(p), "terraform_data.base create\nterraform_data.node[0] create\nterraform_data.node[1] create\nmodule.child.terraform_data.leaf create\n")
	if c := p.OutputChanges["token"]; c == nil || c.AfterSensitive != true {
		t.Errorf("output change of token: %+v", c)
	}
	if p.Config == nil || p.Config.RootModule.ModuleCalls["child"] == nil {
		t.Error("the plan lacks the configuration of the module call")
	}
	text, err := d.ShowPlanFileRaw(ctx, "tfplan")
	d.ok(err)
	if !strings.Contains(text, "Plan: 4 to add, 0 to change, 0 to destroy.") {
		t.Errorf("the plan as text:\n%s", text)
	}
	d.ok(d.Apply(ctx, tfexec.DirOrPlan("tfplan")))
	d.same("addresses", d.addresses(), "terraform_data.base terraform_data.node[0] terraform_data.node[1] module.child.terraform_data.leaf")
	outputs, err := d.Output(ctx)
	d.ok(err)
	var nodes []string
	d.ok(json.Unmarshal(outputs["nodes"].Value, &nodes))
	d.same("nodes", strings.Join(nodes, ", "), "node 0, node 1")
	if !outputs["token"].Sensitive || string(outputs["token"].Value) != `"not really"` {
		t.Errorf("output token: %+v", outputs["token"])
	}

	d.same("actions afterwards", actions(d.plan(false)), strings.ReplaceAll(actions(p), "create", "no-op"))
	d.ok(d.Refresh(ctx))
	d.ok(d.Apply(ctx, tfexec.Var("size=1")))
	d.same("addresses of one node", d.addresses(), "terraform_data.base terraform_data.node[0] module.child.terraform_data.leaf")
	d.same("actions to destroy", actions(d.plan(true, tfexec.Destroy(true))), "terraform_data.base delete\nterraform_data.node[0] delete\nmodule.child.terraform_data.leaf delete\n")
	d.ok(d.Destroy(ctx))
	d.same("addresses at the end", d.addresses(), "")
}

func TestDrivenState(t *testing.T) {
	d, ctx := drive(t), t.Context()
	d.ok(d.Init(ctx))
	d.ok(d.Apply(ctx))
	d.ok(d.StateMv(ctx, "module.child.terraform_data.leaf", "terraform_data.moved"))
	d.ok(d.StateRm(ctx, "terraform_data.node[1]"))
	d.same("addresses", d.addresses(), "terraform_data.base terraform_data.moved terraform_data.node[0]")
	d.ok(d.Taint(ctx, "terraform_data.node[0]"))
	if p := d.plan(true, tfexec.Target("terraform_data.node[0]")); !p.ResourceChanges[1].Change.Actions.DestroyBeforeCreate() {
		t.Errorf("plan after taint:\n%s", actions(p))
	}
	d.ok(d.Untaint(ctx, "terraform_data.node[0]"))

	pulled, err := d.StatePull(ctx)
	d.ok(err)
	d.write("pulled.tfstate", pulled)
	s, err := d.ShowStateFile(ctx, "pulled.tfstate")
	d.ok(err)
	if n := len(s.Values.RootModule.Resources); n != 3 {
		t.Errorf("%d objects in the pulled state", n)
	}
	d.ok(d.StatePush(ctx, "pulled.tfstate"))
	d.ok(d.Import(ctx, "terraform_data.node[1]", "given-id"))
	d.same("addresses after import", d.addresses(), "terraform_data.base terraform_data.moved terraform_data.node[0] terraform_data.node[1]")
}

func TestDrivenWorkspaces(t *testing.T) {
	d, ctx := drive(t), t.Context()
	d.ok(d.Init(ctx))
	d.ok(d.WorkspaceNew(ctx, "other"))
	d.ok(d.Apply(ctx, tfexec.Var("size=3")))
	names, current, err := d.WorkspaceList(ctx)
	d.ok(err)
	d.same("workspaces", strings.Join(names, " ")+" "+current, "default other other")
	d.ok(d.WorkspaceSelect(ctx, "default"))
	shown, err := d.WorkspaceShow(ctx)
	d.ok(err)
	d.same("workspace", shown, "default")
	d.same("addresses", d.addresses(), "")
	if err := d.WorkspaceDelete(ctx, "other"); err == nil {
		t.Error("a workspace with objects was deleted")
	}
	d.ok(d.WorkspaceDelete(ctx, "other", tfexec.Force(true)))
}

func TestDrivenDescriptions(t *testing.T) {
	d, ctx := drive(t), t.Context()
	d.ok(d.Init(ctx))
	d.ok(d.Get(ctx, tfexec.Update(true)))
	schemas, err := d.ProvidersSchema(ctx)
	d.ok(err)
	found := false
	for _, s := range schemas.Schemas {
		found = found || s.ResourceSchemas["terraform_data"] != nil
	}
	if !found {
		t.Error("no schema of terraform_data")
	}
	functions, err := d.MetadataFunctions(ctx)
	d.ok(err)
	if f := functions.Signatures["upper"]; f == nil || f.ReturnType.FriendlyName() != "string" {
		t.Errorf("signature of upper: %+v", f)
	}
	graph, err := d.Graph(ctx)
	d.ok(err)
	if !strings.Contains(graph, "digraph") || !strings.Contains(graph, "terraform_data.base") {
		t.Errorf("graph:\n%s", graph)
	}

	formatted, err := d.FormatString(ctx, "a=1\nbb  =  2\n")
	d.ok(err)
	d.same("formatted", formatted, "a  = 1\nbb = 2\n")
	d.write("ugly.tf", "locals {\n a=1\n}\n")
	good, names, err := d.FormatCheck(ctx)
	d.ok(err)
	d.same("badly formatted", strings.Join(names, " "), "ugly.tf")
	d.ok(d.FormatWrite(ctx))
	if good {
		t.Error("fmt -check found nothing")
	}
	d.same("written", d.read("ugly.tf"), "locals {\n  a = 1\n}\n")
}

// The library passes -json where it wants messages for programs.
func TestDrivenMessages(t *testing.T) {
	d, ctx := drive(t), t.Context()
	types := func(what string, run func(io.Writer) error) string {
		t.Helper()
		var out bytes.Buffer
		if err := run(&out); err != nil {
			t.Fatalf("%s: %s\n%s", what, err, out.String())
		}
		var all []string
		for line := range strings.Lines(out.String()) {
			var message struct{ Type string }
			if err := json.Unmarshal([]byte(line), &message); err != nil {
				t.Fatalf("%s: %q isn't JSON", what, line)
			}
			all = append(all, message.Type)
		}
		slices.Sort(all)
		return strings.Join(slices.Compact(all), " ")
	}
	d.same("init", types("init", func(w io.Writer) error { return d.InitJSON(ctx, w) }), " version")
	d.same("plan", types("plan", func(w io.Writer) error {
		changes, err := d.PlanJSON(ctx, w)
		if !changes {
			t.Error("nothing to do")
		}
		return err
	}), "change_summary outputs planned_change version")
	d.same("apply", types("apply", func(w io.Writer) error { return d.ApplyJSON(ctx, w) }), "apply_complete apply_start change_summary outputs planned_change version")
	d.same("refresh", types("refresh", func(w io.Writer) error { return d.RefreshJSON(ctx, w) }), "outputs refresh_complete refresh_start version")
	d.same("destroy", types("destroy", func(w io.Writer) error { return d.DestroyJSON(ctx, w) }), "apply_complete apply_start change_summary outputs planned_change refresh_complete refresh_start version")
}

func TestDrivenProblems(t *testing.T) {
	d, ctx := drive(t), t.Context()
	d.ok(d.Init(ctx))
	d.write("bad.tf", "output \"bad\" {\n  value = terraform_data.nosuch.id\n}\n")
	valid, err := d.Validate(ctx)
	d.ok(err)
	if valid.Valid || valid.ErrorCount != 1 || len(valid.Diagnostics) != 1 {
		t.Fatalf("validate: %+v", valid)
	}
	got := valid.Diagnostics[0]
	if got.Range == nil || got.Range.Filename != "bad.tf" || got.Range.Start.Line != 2 || got.Snippet == nil {
		t.Errorf("diagnostic: %+v", got)
	}
	if _, err := d.Plan(ctx); err == nil || !strings.Contains(err.Error(), "Reference to undeclared resource") {
		t.Errorf("plan: %v", err)
	}
}
