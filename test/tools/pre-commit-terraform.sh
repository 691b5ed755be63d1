#!/usr/bin/env bash
# hooks terraform_fmt, terraform_validate with and without its retry, terraform_providers_lock
. "$TOOLS/lib.sh"
needs terraform_validate.sh git
mirror hashicorp/null hashicorp/random
hooks=$(dirname "$(command -v terraform_validate.sh)")
version sed -n 1,5p "$hooks/../CHANGELOG.md"
export PCT_TFPATH=tofu PRE_COMMIT_COLOR=never
git init -q -b main .
mkdir -p a b
echo 'terraform {
  required_providers {
    null = { source = "hashicorp/null" }
  }
}
resource "null_resource" "a" {}' > a/main.tf
echo 'variable   "x" {
default=1
}
output "x" { value = var.x }' > b/main.tf
git add -A
hook() { local name=$1; shift; step "$name" "$hooks/$1" --hook-config=--parallelism-ci-cpu-cores=1 "${@:2}"; }
hook "fmt changes" terraform_fmt.sh --args=-no-color -- a/main.tf b/main.tf
step "formatted" cat b/main.tf
hook "fmt again" terraform_fmt.sh --args=-no-color -- a/main.tf b/main.tf
hook validate terraform_validate.sh -- a/main.tf b/main.tf
# Its retry knows problems of a broken working directory by their summaries. It initializes again only where folders
# of modules or providers are missing.
retried() {
  "$hooks/terraform_validate.sh" --hook-config=--retry-once-with-cleanup=true --hook-config=--parallelism-ci-cpu-cores=1 -- a/main.tf > retried.log 2>&1
  echo "hook $?"
  grep -E "Removing|Re-validating|Validation failed|Command" retried.log
}
broken() {
  local name=$1; shift
  "$@"
  code "$name" "$hooks/terraform_validate.sh" --hook-config=--parallelism-ci-cpu-cores=1 -- a/main.tf
  step "$name, retried" retried
}
mkdir a/m a/m2; cp b/main.tf a/m/main.tf; cp b/main.tf a/m2/main.tf
echo 'module "m" { source = "./m" }' >> a/main.tf
broken "new module" true
broken "no providers" sh -c 'rm -rf a/.terraform/providers/*'
broken "no lock file" rm a/.terraform.lock.hcl
broken "new provider" sh -c 'echo "resource \"random_pet\" \"n\" {}" >> a/m/main.tf'
broken "another module" sh -c 'echo "module \"n\" { source = \"./m2\" }" >> a/main.tf'
broken "no module manifest" sh -c 'rm a/.terraform/modules/*'
code "providers lock" "$hooks/terraform_providers_lock.sh" --hook-config=--mode=only-check-is-current-lockfile-cross-platform --args=-fs-mirror="$MIRROR" --args=-platform="$(go env GOOS 2>/dev/null || echo linux)_$(go env GOARCH 2>/dev/null || echo amd64)" -- a/main.tf
step "lock file" cat a/.terraform.lock.hcl
echo 'output "z" { value = local.missing }' > b/z.tf
code "wrong configuration" "$hooks/terraform_validate.sh" -- b/z.tf
