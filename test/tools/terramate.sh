#!/usr/bin/env bash
# generation of backends and inputs, run in the order of stacks, changed stacks after a commit, scripts, outputs shared between stacks
. "$TOOLS/lib.sh"
export TM_DISABLE_SAFEGUARDS=all
needs terramate git
version terramate version
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
git init -q -b main .
printf '.terraform\n*.tfstate*\n*.log\n*.lock.hcl\n*.tfplan\n' > .gitignore
cat > terramate.tm.hcl <<'T'
terramate {
  config {
    telemetry { enabled = false }
    experiments = ["scripts", "outputs-sharing"]
    git {
      default_branch    = "main"
      check_untracked   = false
      check_uncommitted = false
      check_remote      = false
    }
  }
}
sharing_backend "default" {
  type     = terraform
  filename = "shared.tf"
  command  = ["tofu", "output", "-json"]
}
generate_hcl "backend.tf" {
  content {
    terraform {
      backend "local" { path = "${terramate.stack.name}.tfstate" }
    }
  }
}
script "deploy" {
  description = "plan and apply"
  job {
    commands = [
      ["tofu", "init", "-input=false"],
      ["tofu", "plan", "-out", "out.tfplan", "-lock=false"],
      ["tofu", "apply", "-input=false", "-auto-approve", "out.tfplan"],
    ]
  }
}
T
mkdir -p net app
echo 'stack {
  name = "net"
  id   = "net"
}
output "id" {
  backend = "default"
  value   = terraform_data.a.output
}' > net/stack.tm.hcl
echo 'resource "terraform_data" "a" { input = "net" }' > net/main.tf
echo 'stack {
  name  = "app"
  id    = "app"
  after = ["/net"]
}
input "net_id" {
  backend       = "default"
  from_stack_id = "net"
  value         = outputs.id.value
  mock          = "mocked"
}' > app/stack.tm.hcl
echo 'resource "terraform_data" "b" { input = var.net_id }' > app/main.tf
outputs() { for s in net app; do tofu -chdir=$s state list 2>/dev/null; tofu -chdir=$s output -json; tofu -chdir=$s state show -no-color terraform_data.b 2>/dev/null | grep input; done; }
step generate terramate generate
git add -A; git commit -qm first
step list terramate list --run-order
code init terramate run -- tofu init
code plan terramate run --enable-sharing --mock-on-fail -- tofu plan
code apply terramate run --enable-sharing -- tofu apply -auto-approve
step outputs outputs
code "no changes" terramate run --enable-sharing -- tofu plan -detailed-exitcode
git checkout -qb change
sed -i 's/"net"/"net2"/' net/main.tf; git commit -qam second
step changed terramate list --changed
code "changed only" terramate run --changed -- tofu apply -auto-approve
code "changes elsewhere" terramate run --enable-sharing -- tofu plan -detailed-exitcode
echo 'resource "terraform_data" "c" { input = local.missing }' > net/c.tf
code "fails first" terramate run --enable-sharing -- tofu plan
code "continues" terramate run --continue-on-error --enable-sharing --mock-on-fail -- tofu plan
rm net/c.tf
code script terramate script run -C net deploy
code destroy terramate run --reverse --enable-sharing --mock-on-fail -- tofu apply -destroy -auto-approve
step "outputs afterwards" outputs
