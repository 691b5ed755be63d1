#!/usr/bin/env bash
# policies over the JSON of a plan and of a state, which pass, warn and fail
. "$TOOLS/lib.sh"
needs conftest
version sh -c 'go version -m "$(command -v conftest)" | grep -w mod'
mkdir policy
cat > policy/plan.rego <<'T'
package main
import rego.v1
deny contains msg if {
  some c in input.resource_changes
  "delete" in c.change.actions
  msg := sprintf("%s would be deleted", [c.address])
}
warn contains msg if {
  some c in input.resource_changes
  c.change.after_unknown.id
  msg := sprintf("the id of %s is unknown", [c.address])
}
deny contains msg if {
  some r in input.configuration.root_module.resources
  r.expressions.input.constant_value == "bad"
  msg := sprintf("%s has a bad input", [r.address])
}
deny contains msg if {
  some r in input.values.root_module.resources
  r.values.input == "old"
  msg := sprintf("%s has an old input", [r.address])
}
T
echo 'resource "terraform_data" "a" { input = "good" }
resource "terraform_data" "b" { input = "old" }' > main.tf
code init tofu init
plan() { tofu plan -out=tfplan "$@" >/dev/null; tofu show -json tfplan > plan.json; }
plan
step "plan passes with warnings" conftest test plan.json
code apply tofu apply tfplan
tofu show -json > state.json
step "state fails" conftest test state.json
echo 'resource "terraform_data" "a" { input = "bad" }' > main.tf
plan
step "plan fails" conftest test plan.json
step "as JSON" conftest test --output json plan.json
