#!/usr/bin/env bash
# Twelve roots that read each other's states, planned and applied in one run:
# estate.sh WEIR [MIRROR [TOFU]]. With a provider mirror the modules use real providers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); weir=$(realpath "$1"); mirror=${2:+$(realpath "$2")}; tofu=${3:-}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp -r "$here/estate" "$work"
cd "$work/estate"
export TF_INPUT=0 NO_COLOR=1
unset TF_DATA_DIR TF_WORKSPACE TF_CLI_ARGS
if [ -n "$mirror" ]; then
  rm -r modules
  mv modules-with-providers modules
  cat >"$work/settings.tfrc" <<END
provider_installation {
  filesystem_mirror {
    path = "$mirror"
  }
}
END
  export TF_CLI_CONFIG_FILE=$work/settings.tfrc
fi

run() { # weir's arguments
  printf '\n$ weir %s\n' "$*"
  "$weir" "$@"
}
has() { # FILE TEXT
  grep -q -- "$2" "$1" || { echo "$1 doesn't have: $2" >&2; exit 1; }
}

run roots | tee out
has out 'prod/apps/web'
roots=$("$weir" roots | grep -o '^[a-z]*/[a-z/]*')
[ "$(wc -l <<<"$roots")" = 12 ]
run init -all >/dev/null

# The first plan shows all roots, with what isn't known yet.
run plan -all | tee out
has out 'prod/apps/web .*has changes: 1 to add'
has out '10.12.2.0/24'
run apply -all -auto-approve | tee out
has out 'prod/apps/web .*done: 1 added'
[ -z "$mirror" ] || [ "$(ls {prod,stage,test}/apps/{api,web}/release.json | wc -l)" = 6 ]

# Each root by itself has no changes, also for OpenTofu.
for root in $roots; do
  "$weir" -chdir="$root" plan -detailed-exitcode >/dev/null
  [ -z "$tofu" ] || (cd "$root" && "$tofu" init >/dev/null && "$tofu" plan -detailed-exitcode >/dev/null)
done

# An edit of the network shows its effects on the cluster before anything is applied.
sed -i 's/10.10.0.0/10.20.0.0/' test/network/main.tf
code=0; run plan -all -detailed-exitcode >out || code=$?
cat out
[ $code = 2 ]
has out '10.20.2.0/24'
has out 'test/cluster .*has changes'
has out 'prod/cluster .*no changes'
run plan -root=test/network -with-downstream -out=plans >out
run apply -all plans | tee out
has out 'test/cluster .*done'
run plan -all -detailed-exitcode >out
run drift -all | tee out
has out 'test/network .*no drift'
run destroy -all -auto-approve >out
has out 'prod/network .*done: 1 destroyed'
