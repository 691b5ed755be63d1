#!/usr/bin/env bash
# The other direction: has weir make what the configurations describe and the
# peer plan on its state. back.sh WEIR PEER MIRROR
# It fails if the peer's plan for complete/ isn't empty, or says something else
# than changes.txt for interrupted/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); weir=$(realpath "$1"); peer=$(realpath "$2"); mirror=$(realpath "$3")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$mirror" >"$work/cli.tfrc"
export TF_CLI_CONFIG_FILE=$work/cli.tfrc CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_INPUT=0
cp -r "$here/complete" "$here/interrupted" "$work"
rm -rf "$work"/*/*.tfstate* "$work"/*/out "$work"/*/.terraform*

cd "$work/complete"
"$weir" init -no-color >init.log || { cat init.log; exit 1; }
"$weir" apply -no-color -auto-approve >apply.log || { cat apply.log; exit 1; }
"$weir" state list | diff "$here/complete/state-list.txt" -
"$peer" init -no-color >init.log || { cat init.log; exit 1; }
"$peer" plan -no-color -detailed-exitcode >plan.log || { cat plan.log; exit 1; }
"$peer" state list | diff "$here/complete/state-list.txt" -

cd "$work/interrupted"
"$weir" init -no-color >init.log
"$weir" apply -no-color -auto-approve -var step=1 >apply.log 2>&1 && exit 1
"$weir" apply -no-color -auto-approve -var step=2 >apply.log 2>&1 && exit 1
"$peer" init -no-color >init.log
"$peer" plan -no-color -var step=2 -out=tfplan >plan.log
"$peer" show -json tfplan | python3 -c '
import json, sys
for c in json.load(sys.stdin)["resource_changes"]:
    print(c["address"], *(["deposed"] if "deposed" in c else []), "+".join(c["change"]["actions"]), c.get("action_reason", ""))
' | sed 's/ *$//' | diff "$here/interrupted/changes.txt" -
echo "the peer agrees"
