#!/usr/bin/env bash
# inspection of nested modules that init installed, with call_module_type=all and variables
. "$TOOLS/lib.sh"
needs tflint
version tflint --version
mkdir -p a/b
cat > main.tf <<'T'
variable "unused" {}
variable "size" { default = 1 }
module "a" {
  source = "./a"
  size   = var.size
}
T
cat > a/main.tf <<'T'
variable "size" {}
module "b" {
  source = "./b"
  size   = var.size
}
T
echo 'variable "size" {}
resource "terraform_data" "b" { input = "${var.size}" }' > a/b/main.tf
cat > .tflint.hcl <<'T'
config { call_module_type = "all" }
plugin "terraform" {
  enabled = true
  preset  = "all"
}
T
step "before init" tflint
code init tofu init
step text tflint
step json tflint --format json
step checkstyle tflint --format checkstyle --var size=3
step recursive tflint --recursive
