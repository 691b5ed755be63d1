// Package terratest_test tests a module with Terratest, as its users do. Built as a program, it
// runs the engine with the name tofu on PATH. Engines have to lead to the same log.
package terratest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gruntwork-io/terratest/modules/logger"
	"github.com/gruntwork-io/terratest/modules/terraform"
)

const module = `
variable "names" {
  type = list(string)
}
variable "size" {
  default = 1
  validation {
    condition     = var.size > 0
    error_message = "A size is positive."
  }
}
resource "terraform_data" "each" {
  for_each = toset(var.names)
  input    = "${each.key}-${var.size}"
}
output "names" {
  value = var.names
}
output "map" {
  value = { for k, v in terraform_data.each : k => v.output }
}
output "objects" {
  value = [for n in var.names : { name = n, size = var.size }]
}
output "secret" {
  value     = "s3cret"
  sensitive = true
}
`

func options(t *testing.T, vars map[string]any) *terraform.Options {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(module), 0o644); err != nil {
		t.Fatal(err)
	}
	return terraform.WithDefaultRetryableErrors(t, &terraform.Options{
		TerraformDir: dir, TerraformBinary: "tofu", Vars: vars, NoColor: true, Logger: logger.Discard,
	})
}

var two = map[string]any{"names": []string{"a", "b"}, "size": 3}

// show logs what is compared.
func show(t *testing.T, name string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", name, text)
}

func TestApply(t *testing.T) {
	o := options(t, two)
	defer terraform.Destroy(t, o)
	terraform.InitAndApplyAndIdempotent(t, o)
	show(t, "list", terraform.OutputList(t, o, "names"))
	show(t, "map", terraform.OutputMap(t, o, "map"))
	show(t, "objects", terraform.OutputListOfObjects(t, o, "objects"))
	show(t, "secret", terraform.Output(t, o, "secret"))
	show(t, "all", terraform.OutputAll(t, o))
	_, err := terraform.OutputE(t, o, "missing")
	show(t, "a missing output is an error", err != nil)
}

func TestPlan(t *testing.T) {
	o := options(t, two)
	o.PlanFilePath = filepath.Join(o.TerraformDir, "plan.out")
	plan := terraform.InitAndPlanAndShowWithStruct(t, o)
	var planned []string
	for address, change := range plan.ResourceChangesMap {
		planned = append(planned, address+" "+string(change.Change.Actions[0]))
	}
	show(t, "changes", len(planned))
	terraform.RequirePlannedValuesMapKeyExists(t, plan, "terraform_data.each[\"a\"]")
	show(t, "values", plan.ResourcePlannedValuesMap["terraform_data.each[\"a\"]"].AttributeValues["input"])
	terraform.Apply(t, o)
	o.PlanFilePath = ""
	show(t, "exit code without changes", terraform.PlanExitCode(t, o))
	o.Vars["size"] = 4
	show(t, "exit code with changes", terraform.PlanExitCode(t, o))
	show(t, "counts", terraform.GetResourceCount(t, terraform.Plan(t, o)))
	show(t, "counts of apply", terraform.GetResourceCount(t, terraform.Apply(t, o)))
	show(t, "counts of destroy", terraform.GetResourceCount(t, terraform.Destroy(t, o)))
}

func TestWorkspaces(t *testing.T) {
	o := options(t, two)
	terraform.Init(t, o)
	show(t, "new", terraform.WorkspaceSelectOrNew(t, o, "dev"))
	terraform.Apply(t, o)
	show(t, "again", terraform.WorkspaceSelectOrNew(t, o, "default"))
	show(t, "exit code", terraform.PlanExitCode(t, o))
	terraform.WorkspaceSelectOrNew(t, o, "dev")
	terraform.Destroy(t, o)
	show(t, "after the deletion", terraform.WorkspaceDelete(t, o, "dev"))
}

func TestFailures(t *testing.T) {
	o := options(t, map[string]any{"names": []string{"a"}, "size": 0})
	_, err := terraform.InitAndApplyE(t, o)
	show(t, "an invalid variable is an error", err != nil && strings.Contains(err.Error(), "A size is positive."))
	show(t, "valid", terraform.InitAndValidate(t, options(t, nil)) != "")
	broken := options(t, two)
	if err := os.WriteFile(filepath.Join(broken.TerraformDir, "broken.tf"), []byte("resource {"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = terraform.InitE(t, broken)
	show(t, "a broken file is an error", err != nil)
}
