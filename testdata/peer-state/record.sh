#!/usr/bin/env bash
# Records the states anew: record.sh BIN MIRROR
# BIN is OpenTofu, MIRROR what test/providers/build.sh made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); bin=$(realpath "$1"); mirror=$(realpath "$2")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$mirror" >"$work/cli.tfrc"
export TF_CLI_CONFIG_FILE=$work/cli.tfrc CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_INPUT=0

cp -r "$here/complete" "$here/interrupted" "$work"
rm -rf "$work"/*/*.tfstate* "$work"/*/out
cd "$work/complete"
"$bin" init -no-color
"$bin" apply -no-color -auto-approve
"$bin" apply -no-color -auto-approve # data that were read during the first
"$bin" plan -no-color -detailed-exitcode
"$bin" show -json | python3 -m json.tool --indent 2 >show.json
"$bin" state list >state-list.txt
rm -rf "$here/complete/out"
cp -r terraform.tfstate .terraform.lock.hcl show.json state-list.txt out "$here/complete"

cd "$work/interrupted"
"$bin" init -no-color
"$bin" apply -no-color -auto-approve -var step=1 && exit 1
"$bin" apply -no-color -auto-approve -var step=2 && exit 1
grep -q '"deposed"' terraform.tfstate && grep -q '"tainted"' terraform.tfstate
"$bin" plan -no-color -var step=2 -out=tfplan
"$bin" show -json tfplan | python3 -c '
import json, sys
for c in json.load(sys.stdin)["resource_changes"]:
    print(c["address"], *(["deposed"] if "deposed" in c else []), "+".join(c["change"]["actions"]), c.get("action_reason", ""))
' | sed 's/ *$//' >changes.txt
rm -rf "$here/interrupted/out"
"$bin" state list >state-list.txt
cp -r terraform.tfstate .terraform.lock.hcl state-list.txt changes.txt out "$here/interrupted"
