#!/usr/bin/env bash
# Runs the tests of a copy of tested/ in all ways: tested.sh WEIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); weir=$(realpath "$1")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp -r "$here/tested" "$work"
cd "$work/tested"
export TF_INPUT=0 NO_COLOR=1
unset TF_CLI_CONFIG_FILE TF_DATA_DIR TF_WORKSPACE TF_CLI_ARGS

run() { # weir's arguments
  printf '\n$ weir %s\n' "$*"
  "$weir" "$@"
}
has() { # FILE TEXT
  grep -q -- "$2" "$1" || { echo "$1 doesn't have: $2" >&2; exit 1; }
}

run init
run test -coverage -coverage-html=coverage.html | tee out
has out '100 samples'
has out 'main.tf         1/1         2/2         3/3         4/4         4/4         3/4'
has coverage.html 'never fails'

# The tests don't try the bounds of the number of machines; mutation finds that.
run test -mutate | tee out
has out 'not noticed main.tf:16, in var.machines: 1 becomes 2'

# What is planned otherwise than recorded is shown.
sed -i.old 's/"small"/"tiny"/' main.tf
if run test >out 2>&1; then echo "a changed plan passes" >&2; exit 1; fi
cat out
has out '+ .*"tiny"'
run test -update -coverage
