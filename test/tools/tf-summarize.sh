#!/usr/bin/env bash
# tables, trees, drawings, Markdown, JSON and HTML of a JSON plan and a binary plan with create, update, replace, delete and moves
. "$TOOLS/lib.sh"
needs tf-summarize
version tf-summarize -v
cat > main.tf <<'T'
resource "terraform_data" "updated" { input = 1 }
resource "terraform_data" "replaced" { triggers_replace = 1 }
resource "terraform_data" "old" { input = "moved" }
resource "terraform_data" "deleted" {}
module "part" { source = "./part" }
output "changed" { value = 1 }
T
mkdir part; echo 'resource "terraform_data" "each" { for_each = toset(["a", "b"]) }' > part/main.tf
code init tofu init
code apply tofu apply -auto-approve
cat > main.tf <<'T'
resource "terraform_data" "updated" { input = 2 }
resource "terraform_data" "replaced" { triggers_replace = 2 }
resource "terraform_data" "new" { input = "moved" }
moved {
  from = terraform_data.old
  to   = terraform_data.new
}
resource "terraform_data" "created" {}
module "part" { source = "./part" }
output "changed" { value = 2 }
T
sed -i 's/"b"/"c"/' part/main.tf
code plan tofu plan -out=tfplan
tofu show -json tfplan > plan.json
for form in "" -tree "-tree -draw" "-separate-tree" -md -json -json-sum -html; do
  # The tool iterates over a map: the order of its sections is random.
  step "of JSON $form" sh -c "tf-summarize $form plan.json | sort"
done
step "of a binary plan" sh -c "tf-summarize tfplan | sort"
