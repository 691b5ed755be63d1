#!/usr/bin/env bash
# Two linked stacks, with a token, a store and a rule: stacks.sh WEIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); weir=$(realpath "$1")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp -r "$here/stacks" "$work"
cd "$work/stacks"
export TF_INPUT=0 NO_COLOR=1
unset TF_DATA_DIR TF_WORKSPACE TF_CLI_ARGS
export TF_CLI_CONFIG_FILE=$PWD/settings.tfrc CLOUD_TOKEN=token SHOP_password=secret

run() { # weir's arguments
  printf '\n$ weir %s\n' "$*"
  "$weir" "$@"
}
has() { # FILE TEXT
  grep -q -- "$2" "$1" || { echo "$1 doesn't have: $2" >&2; exit 1; }
}

for stack in network shop; do
  run -chdir=$stack stacks init
  run -chdir=$stack stacks validate
done

# The shop waits for what the network publishes.
if run -chdir=shop stacks plan >out 2>&1; then echo "a plan without its upstream" >&2; exit 1; fi
cat out
has out 'has published nothing yet'

# From then on it follows: its rule approves plans that only add.
run -chdir=network stacks apply -auto-approve 2>&1 | tee out
has out '2 added'
has out '4 added'

# Other addresses change machines, so somebody has to look at that.
sed -i.old 's/10.1/10.2/' network/network.tfdeploy.hcl
run -chdir=network stacks apply -auto-approve 2>&1 | tee out
has out '2 changed'
has out 'It touches 4 objects'
run -chdir=shop stacks plan -out=shop.tfplan
run -chdir=shop stacks apply shop.tfplan | tee out
has out '4 changed'

# A deployment is taken down as a whole, upstream last.
run -chdir=shop stacks destroy -auto-approve
run -chdir=network stacks destroy -auto-approve -downstream=false
