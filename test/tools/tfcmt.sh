#!/usr/bin/env bash
# comments for a plan without changes, with changes, with a failure, and for an apply
. "$TOOLS/lib.sh"
needs tfcmt
version tfcmt version
cat > main.tf <<'T'
variable "size" { default = 1 }
resource "terraform_data" "a" { input = var.size }
resource "terraform_data" "b" { triggers_replace = var.size }
T
code init tofu init
common="-owner o -repo r -pr 1 -sha 0123456 -output comment.md"
comment() {
  local name=$1; shift
  rm -f comment.md
  code "$name" tfcmt $common "$@"
  # Objects change at once, in any order. OpenTofu wraps one line a word earlier.
  step "comment of $name" sh -c "sed -z 's/execution\\nplan. /execution plan.\\n/' comment.md | sort"
}
comment plan plan -- tofu plan -no-color
comment apply apply -- tofu apply -auto-approve -no-color
comment "no changes" plan -- tofu plan -no-color
comment replace plan -- tofu plan -no-color -var size=2
comment destroy plan -- tofu plan -no-color -destroy
comment "destroy apply" apply -- tofu apply -destroy -auto-approve -no-color
echo 'resource "terraform_data" "c" { input = local.missing }' > c.tf
comment failure plan -- tofu plan -no-color
