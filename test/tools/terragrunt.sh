#!/usr/bin/env bash
# run --all of validate, plan, apply and destroy, with dependencies, mocks and saved plans. Generated files, hooks, retries and reports. Stacks. The provider cache server
. "$TOOLS/lib.sh"
needs terragrunt jq python3
mirror hashicorp/random hashicorp/null
version terragrunt --version
export TG_TF_PATH=tofu TG_NON_INTERACTIVE=true TG_NO_COLOR=true TG_LOG_LEVEL=error TG_TELEMETRY_TRACE_EXPORTER=none
mkdir -p live/net live/app live/db modules/one
cat > live/root.hcl <<'T'
remote_state {
  backend = "local"
  config = {
    path = "${get_parent_terragrunt_dir()}/states/${path_relative_to_include()}/terraform.tfstate"
  }
  generate = {
    path      = "backend.tf"
    if_exists = "overwrite_terragrunt"
  }
}
terraform {
  source = "${get_parent_terragrunt_dir()}/../modules/one"
  extra_arguments "quick" {
    commands  = ["plan", "apply", "destroy"]
    arguments = ["-lock-timeout=1m"]
    env_vars  = { TF_VAR_from_environment = "yes" }
  }
  before_hook "before" {
    commands = ["apply"]
    execute  = ["sh", "-c", "echo before >> ${get_parent_terragrunt_dir()}/hooks.txt"]
  }
  error_hook "failed" {
    commands  = ["apply"]
    execute   = ["sh", "-c", "echo failed >> ${get_parent_terragrunt_dir()}/hooks.txt"]
    on_errors = [".*Invalid value.*"]
  }
}
T
cat > modules/one/main.tf <<'T'
variable "name" {
  validation {
    condition     = var.name != "wrong"
    error_message = "The name is wrong."
  }
}
variable "upstream" { default = null }
variable "from_environment" { default = "no" }
resource "terraform_data" "a" { input = [var.name, var.upstream, var.from_environment] }
output "name" { value = terraform_data.a.output[0] }
output "all" { value = terraform_data.a.output }
T
unit() { # NAME DEPENDENCY...
  local name=$1 d; shift
  { echo 'include "root" { path = find_in_parent_folders("root.hcl") }'
    echo "inputs = {"; echo "  name = \"$name\""
    for d; do echo "  upstream = dependency.$d.outputs.name"; done
    echo "}"
    for d; do echo "dependency \"$d\" {
  config_path  = \"../$d\"
  mock_outputs = { name = \"mocked\" }
  mock_outputs_allowed_terraform_commands = [\"validate\", \"plan\"]
}"; done; } > "live/$name/terragrunt.hcl"
}
unit net; unit db net; unit app net db
tg() { local dir=$1; shift; TG_WORKING_DIR=$dir terragrunt "$@"; }
outputs() { for u in net db app; do tg "live/$u" output -json | jq -S .; done; }
states() { for u in net db app; do tofu state list -state="live/states/$u/terraform.tfstate" 2>/dev/null; done; }
step find tg live find --json --dag
step list tg live list --dag
code "run --all validate" tg live run --all validate
code "run --all plan" tg live run --all --out-dir "$PWD/plans" --json-out-dir "$PWD/json" -- plan
step "plans as JSON" sh -c 'for f in $(find json -name "*.json" | sort); do jq -S ".resource_changes[].change | {actions, after}" "$f"; done'
code "run --all apply of plans with mocks" tg live run --all --out-dir "$PWD/plans" -- apply
code "run --all apply" tg live run --all apply
step outputs outputs
step states states
step hooks sort live/hooks.txt
code "run --all plan -detailed-exitcode" tg live run --all -- plan -detailed-exitcode
sed -i 's/name = "net"/name = "net2"/' live/net/terragrunt.hcl
code "changes with -detailed-exitcode" tg live run --all -- plan -detailed-exitcode
code "plans of changes" tg live run --all --out-dir "$PWD/plans2" -- plan
code "apply of these plans" tg live run --all --out-dir "$PWD/plans2" -- apply
code "one unit" tg live/net apply -auto-approve
code "filtered" tg live run --all --filter 'app' -- apply
step "outputs after changes" outputs
step console sh -c 'echo "1 + 1" | terragrunt run --working-dir live/net -- console'
code "force-unlock" tg live/net force-unlock -- -force 01234567-0000-0000-0000-000000000000
code "state list" tg live/net state list
code "import" tg live/net import terraform_data.a 01234567
sed -i 's/name = "db"/name = "wrong"/' live/db/terragrunt.hcl
code "a unit fails" tg live run --all --report-file "$PWD/report.json" -- apply
step report jq -S '[.[] | {Name, Result, Reason}] | sort_by(.Name)' report.json
step "hooks after a failure" sort live/hooks.txt
unit db net
cat >> live/db/terragrunt.hcl <<'T'
errors {
  retry "flaky" {
    retryable_errors   = [".*local-exec provisioner error.*"]
    max_attempts       = 3
    sleep_interval_sec = 1
  }
}
T
mkdir -p modules/two; cat modules/one/main.tf - > modules/two/main.tf <<T
resource "terraform_data" "flaky" {
  provisioner "local-exec" { command = "echo x >> $PWD/tries; [ \$(wc -l < $PWD/tries) -ge 2 ]" }
}
T
sed -i 's/^inputs/terraform { source = "${get_terragrunt_dir()}\/..\/..\/modules\/two" }\ninputs/' live/db/terragrunt.hcl
code "error that is retried" tg live/db apply -auto-approve
step tries cat tries
code "run --all destroy" tg live run --all destroy
step "states afterwards" states

mkdir -p stack units/unit
cp modules/one/main.tf units/unit/
echo 'inputs = {
  name = values.name
}' > units/unit/terragrunt.hcl
cat > stack/terragrunt.stack.hcl <<'T'
unit "first" {
  source = "../units/unit"
  path   = "first"
  values = { name = "first" }
}
unit "second" {
  source = "../units/unit"
  path   = "second"
  values = { name = "second" }
}
T
code "stack generate" tg stack stack generate
code "stack run plan" tg stack stack run plan
code "stack run apply" tg stack stack run apply
step "stack output" sh -c 'terragrunt stack output --format json --working-dir stack | jq -S .'
step "stack output of a unit" tg stack stack output --format raw first.name
code "stack run destroy" tg stack stack run destroy
code "stack clean" tg stack stack clean

# The provider cache server takes packages from a mirror as "providers mirror" writes it, and serves all units.
platform=$(basename "$(ls -d "$MIRROR"/registry.opentofu.org/hashicorp/null/*/* | head -1)")
for p in random null; do
  from=$MIRROR/registry.opentofu.org/hashicorp/$p to=packed/registry.opentofu.org/hashicorp/$p
  v=$(ls "$from" | tail -1); zip=terraform-provider-${p}_${v}_$platform.zip
  mkdir -p "$to"
  (cd "$from/$v/$platform" && python3 -m zipfile -c "$OLDPWD/$to/$zip" terraform-provider-*)
  echo "{\"versions\":{\"$v\":{}}}" > "$to/index.json"
  echo "{\"archives\":{\"$platform\":{\"url\":\"$zip\"}}}" > "$to/$v.json"
done
printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$PWD/packed" > cli.tfrc
export TF_CLI_CONFIG_FILE=$PWD/cli.tfrc
mkdir -p cache/a cache/b
for u in a b; do
  cat > cache/$u/main.tf <<'T'
terraform {
  required_providers {
    random = {
      source  = "hashicorp/random"
      version = "~> 3.0"
    }
    null = { source = "hashicorp/null" }
  }
}
resource "random_integer" "i" {
  min = 1
  max = 1
}
resource "null_resource" "n" { triggers = { i = random_integer.i.result } }
output "i" { value = random_integer.i.result }
T
  echo > cache/$u/terragrunt.hcl
done
export TG_PROVIDER_CACHE=true TG_PROVIDER_CACHE_DIR=$PWD/provider-cache
code "provider cache: init" tg cache run --all init
code "provider cache: apply" tg cache run --all apply
step "provider cache: outputs" sh -c 'for u in a b; do terragrunt output -json --working-dir cache/$u | jq -S .; done'
step "provider cache: lock files" cat cache/a/.terraform.lock.hcl cache/b/.terraform.lock.hcl
step "provider cache: packages" sh -c 'cd provider-cache && find . -name "terraform-provider-*" | sort'
code "provider cache: plan again" tg cache run --all -- plan -detailed-exitcode
code "provider cache: destroy" tg cache run --all destroy
