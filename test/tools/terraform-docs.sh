#!/usr/bin/env bash
# markdown and JSON of a module with a lock file; variables, outputs and providers
. "$TOOLS/lib.sh"
needs terraform-docs
mirror hashicorp/random hashicorp/null
version terraform-docs --version
cat > main.tf <<'T'
terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    null   = { source = "hashicorp/null" }
  }
}
variable "size" {
  type        = number
  default     = 2
  description = "How long the name is."
}
resource "random_pet" "name" { length = var.size }
resource "null_resource" "all" { triggers = { name = random_pet.name.id } }
output "name" { value = random_pet.name.id }
T
code init tofu init
step markdown terraform-docs markdown table --lockfile .
step json terraform-docs json --lockfile .
T=$(sha256sum < .terraform.lock.hcl)
step "lock file" echo "$T"
step values sh -c 'tofu apply -auto-approve >/dev/null && tofu output -json > outputs.json && terraform-docs json --output-values --output-values-from=outputs.json . | sed "s/\"value\": \"[a-z-]*\"/\"value\": PET/"'
