#!/usr/bin/env bash
# plan and apply of state mv, xmv, rm and import within a state, and mv between states, with history
. "$TOOLS/lib.sh"
needs tfmigrate
export TFMIGRATE_EXEC_PATH=tofu
version tfmigrate --version
mkdir one two
cat > .tfmigrate.hcl <<'T'
tfmigrate {
  migration_dir = "./migrations"
  history {
    storage "local" { path = "history.json" }
  }
}
T
mkdir migrations
resources() { for n; do echo "resource \"terraform_data\" \"$n\" { input = \"$n\" }"; done; }
resources a b c d > one/main.tf
resources e > two/main.tf
for d in one two; do tofu -chdir=$d init >/dev/null; tofu -chdir=$d apply -auto-approve >/dev/null; done
states() { for d in one two; do echo "$d:"; tofu -chdir=$d state list; tofu -chdir=$d plan -detailed-exitcode >/dev/null; echo "plan $?"; done; }
migrate() { # NAME TEXT
  echo "$2" > "migrations/$1.hcl"
  code "plan $1" tfmigrate plan "migrations/$1.hcl"
  code "apply $1" tfmigrate apply "migrations/$1.hcl"
  step "states after $1" states
}
resources a2 b c d > one/main.tf
migrate mv 'migration "state" "mv" {
  dir = "one"
  actions = ["mv terraform_data.a terraform_data.a2"]
}'
resources a2 bx cx d > one/main.tf
migrate xmv 'migration "state" "xmv" {
  dir = "one"
  actions = ["xmv terraform_data.b terraform_data.bx", "xmv terraform_data.c terraform_data.cx"]
}'
resources a2 bx cx > one/main.tf
migrate rm 'migration "state" "rm" {
  dir = "one"
  actions = ["rm terraform_data.d"]
}'
echo 'resource "terraform_data" "i" {}' >> one/main.tf
migrate import 'migration "state" "import" {
  dir = "one"
  actions = ["import terraform_data.i 01234567"]
}'
resources bx cx > one/main.tf; echo 'resource "terraform_data" "i" {}' >> one/main.tf
resources e a2 > two/main.tf
migrate between 'migration "multi_state" "between" {
  from_dir = "one"
  to_dir   = "two"
  actions  = ["mv terraform_data.a2 terraform_data.a2"]
}'
resources > one/main.tf; echo 'resource "terraform_data" "i" {}' >> one/main.tf
resources e a2 by cy > two/main.tf
migrate "several between" 'migration "multi_state" "several" {
  from_dir = "one"
  to_dir   = "two"
  actions  = ["mv terraform_data.bx terraform_data.by", "mv terraform_data.cx terraform_data.cy"]
}'
migrate "into nothing" 'migration "state" "wrong" {
  dir = "one"
  actions = ["mv terraform_data.nothing terraform_data.n"]
}'
migrate "unplanned" 'migration "state" "unplanned" {
  dir = "two"
  actions = ["rm terraform_data.e"]
}'
step list tfmigrate list
step history grep -c '"status": "applied"\|"name"' history.json
