#!/bin/sh
# Takes a copy of the network of hosts through a run that is killed: plan, apply, kill,
# recover, why, and a plan that finds nothing to do. It fails where a step doesn't do what
# it is said to. Usage: examples/demo.sh PATH-OF-WEIR
# With PAUSE=SECONDS each part has a screen of its own for so long: scripts/record films that.
set -eu
weir=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$(dirname "$0")"/hosts/main.tf "$dir"
cd "$dir"
unset TF_CLI_CONFIG_FILE 2>/dev/null || true

rest() { [ -z "${PAUSE:-}" ] || { sleep "$PAUSE"; printf '\033[H\033[J'; }; }
say() { rest; printf '\n\033[1m# %s\033[0m\n' "$1"; }
run() { printf '\n\033[1m$ weir %s\033[0m\n' "$*"; "$weir" "$@"; }

say "A plan holds every step of its apply."
run init
rest
run plan -out=hosts.plan

say "The apply is killed while a host is provisioned."
printf '\n\033[1m$ weir apply hosts.plan & sleep 2; kill -9 $!\033[0m\n'
"$weir" apply hosts.plan & pid=$!
sleep 2
kill -9 $pid
wait $pid 2>/dev/null || true
printf '\n\nKilled\n'

say "Nothing is lost: the journal has what was created, and the next run takes over."
run recover
run state list
"$weir" state list | grep -q 'terraform_data.host\[2\]' || { echo "host[2] is lost" >&2; exit 1; }

say "The rest is applied. What was killed while it was provisioned is replaced."
run apply -auto-approve

say "Why would another zone change a host?"
run why -var zone=south 'terraform_data.host[1]'
"$weir" why -var zone=south 'terraform_data.host[1]' | grep -q 'given with -var' || { echo "why doesn't name the variable" >&2; exit 1; }

say "A second plan finds nothing to do."
run plan -detailed-exitcode

rest
cat <<END

To plan, approve and follow an apply in the browser:

    cd examples/hosts
    ../../bin/weir init
    ../../bin/weir ui
END
[ -z "${PAUSE:-}" ] || sleep "$PAUSE"
