package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"

	"weir.dev/weir/internal/core/dialect"
)

const wrapped = `variable "v" {
  type = string
}
resource "terraform_data" "a" {
  input = var.v
}
output "o" {
  value = terraform_data.a.output
}
`

// TestTerraformExec drives the binary through the library that most Go tools
// use, which parses versions, JSON and the texts of errors.
func TestTerraformExec(t *testing.T) {
	binary, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(wrapped), 0o644); err != nil {
		t.Fatal(err)
	}
	tf, err := tfexec.NewTerraform(dir, binary)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %s", what, err)
		}
	}
	v, _, err := tf.Version(ctx, true)
	ok("version", err)
	if v.String() != dialect.OpenTofu.Version() {
		t.Errorf("version %s", v)
	}
	ok("init", tf.Init(ctx, tfexec.Upgrade(true)))
	valid, err := tf.Validate(ctx)
	ok("validate", err)
	if !valid.Valid {
		t.Error("not valid")
	}
	changes, err := tf.Plan(ctx, tfexec.Out("p"), tfexec.Var("v=1"))
	ok("plan", err)
	if !changes {
		t.Error("no changes")
	}
	p, err := tf.ShowPlanFile(ctx, "p")
	ok("show plan", err)
	if len(p.ResourceChanges) != 1 || !p.ResourceChanges[0].Change.Actions.Create() {
		t.Errorf("changes %v", p.ResourceChanges)
	}
	_, err = tf.ShowPlanFileRaw(ctx, "p")
	ok("show plan as text", err)
	ok("apply", tf.Apply(ctx, tfexec.DirOrPlan("p")))
	outputs, err := tf.Output(ctx)
	ok("output", err)
	if string(outputs["o"].Value) != `"1"` {
		t.Errorf("output %s", outputs["o"].Value)
	}
	shown, err := tf.Show(ctx)
	ok("show", err)
	if len(shown.Values.RootModule.Resources) != 1 {
		t.Errorf("state %v", shown.Values.RootModule)
	}
	schemas, err := tf.ProvidersSchema(ctx)
	ok("providers schema", err)
	if len(schemas.Schemas) != 1 {
		t.Errorf("schemas of %d providers", len(schemas.Schemas))
	}
	_, err = tf.Graph(ctx)
	ok("graph", err)
	ok("state mv", tf.StateMv(ctx, "terraform_data.a", "terraform_data.b"))
	ok("state mv", tf.StateMv(ctx, "terraform_data.b", "terraform_data.a"))
	ok("refresh", tf.Refresh(ctx, tfexec.Var("v=1")))
	changes, err = tf.Plan(ctx, tfexec.Var("v=1"))
	ok("plan", err)
	if changes {
		t.Error("changes after everything was applied")
	}
	ok("workspace new", tf.WorkspaceNew(ctx, "dev"))
	names, current, err := tf.WorkspaceList(ctx)
	ok("workspace list", err)
	if current != "dev" || !slices.Contains(names, "default") {
		t.Errorf("workspaces %v, current %s", names, current)
	}
	ok("workspace select", tf.WorkspaceSelect(ctx, "default"))
	ok("workspace delete", tf.WorkspaceDelete(ctx, "dev"))
	formatted, _, err := tf.FormatCheck(ctx)
	ok("fmt", err)
	if !formatted {
		t.Error("not formatted")
	}
	if _, err := tf.Plan(ctx); err == nil {
		t.Error("no error without the variable")
	}
	ok("destroy", tf.Destroy(ctx, tfexec.Var("v=1")))
}
