#!/usr/bin/env bash
# Runs the first commands on a copy of hello/: demo.sh WEIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); weir=$(realpath "$1")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp -r "$here/hello" "$work"
cd "$work/hello"
export TF_INPUT=0
unset TF_CLI_CONFIG_FILE TF_DATA_DIR TF_WORKSPACE TF_CLI_ARGS

run() { # weir's arguments
  printf '\n\033[1m$ weir %s\033[0m\n' "$*"
  "$weir" "$@"
}

run init
run plan -out=first.plan
run apply first.plan
run output
run state list
run show
run plan # the second finds nothing to do
