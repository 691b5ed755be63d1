#!/usr/bin/env bash
# Runs the commands that docs/concepts.md shows, as they stand there: concepts.sh WEIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); weir=$(realpath "$1")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"; ln -s "$weir" "$work/bin/weir"
cp -r "$here/hello" "$work"
cd "$work/hello"
export PATH="$work/bin:$PATH" NO_COLOR=1
unset TF_CLI_CONFIG_FILE TF_DATA_DIR TF_WORKSPACE TF_CLI_ARGS

n=0
while read -r line; do
  printf '\n$ %s\n' "$line"
  bash -euo pipefail -c "$line" <<<yes # whoever reads the page answers so
  n=$((n + 1))
done < <(sed -n 's/^    \(weir .*\)/\1/p' "$here/../docs/concepts.md")
[ "$n" -ge 15 ] || { echo "only $n commands were found on the page" >&2; exit 1; }
[ -s graph.svg ] || { echo "there is no graph.svg" >&2; exit 1; }
