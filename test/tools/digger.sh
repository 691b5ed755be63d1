#!/usr/bin/env bash
# digger-summary, a program that prints what digger's libs/iac_utils reads in a JSON plan and in the output of applies
. "$TOOLS/lib.sh"
needs digger-summary
echo 'variable "size" { default = 1 }
resource "terraform_data" "a" { count = var.size }
resource "terraform_data" "b" { triggers_replace = var.size }
output "size" { value = var.size }' > main.tf
code init tofu init
run() {
  local name=$1; shift
  tofu plan -out=tfplan "$@" >/dev/null; tofu show -json tfplan > plan.json
  step "plan of $name" digger-summary-of plan plan.json
  tofu apply -no-color tfplan > apply.log; code=$?
  step "apply of $name" digger-summary-of apply apply.log
}
digger-summary-of() { digger-summary "$1" < "$2"; }
step() { local name=$1 out code; shift; out=$("$@" 2>&1); code=$?; printf '=== %s\nexit %s\n%s\n' "$name" "$code" "$(normal <<<"$out")"; }
run create
run nothing
run replace -var size=3
run fewer -var size=1
run destroy -destroy
run "destroy again" -destroy
