# Sourced by the script of each tool. A script writes a transcript to standard output: steps with their exit
# codes and what they print. Transcripts of weir and OpenTofu have to be equal.
#
# PATH starts with a folder where `tofu` and `terraform` are the engine. MIRROR is a mirror with real
# providers, or empty. The working directory is empty and goes away.
set -u
trap 'kill $(jobs -p) 2>/dev/null' EXIT # servers that a script started

# needs PROGRAM...: end the script where one isn't on PATH.
needs() {
  local program
  for program; do
    command -v "$program" >/dev/null || skip "no $program on PATH"
  done
}

# mirror PROVIDER...: end the script where the mirror lacks one.
mirror() {
  local provider
  for provider; do
    [ -n "$MIRROR" ] && [ -d "$MIRROR/registry.opentofu.org/$provider" ] || skip "no $provider in the provider mirror: make providers"
  done
}

skip() { echo "$*" >&2; exit 77; }

# version COMMAND...: name the tool's version, the first that it prints.
version() {
  "$@" </dev/null 2>&1 | grep -oE 'v?[0-9]+\.[0-9]+(\.[0-9]+)?[-+a-z0-9.]*' | head -1 | sed 's/^v\{0,1\}/version v/'
}

# step NAME COMMAND...: compare the exit code and what is printed.
step() {
  local name=$1 out code; shift
  out=$("$@" 2>&1 </dev/null); code=$?
  printf '=== %s\nexit %s\n%s\n' "$name" "$code" "$(normal <<<"$out")"
}

# code NAME COMMAND...: compare the exit code, where the tool passes on what the engine prints.
code() {
  local name=$1 code; shift
  "$@" >"last.log" 2>&1 </dev/null; code=$?
  printf '=== %s\nexit %s\n' "$name" "$code"
  [ -z "${TOOLS_VERBOSE:-}" ] || cat last.log >&2
}

# normal: leave out what differs between two runs of the same engine.
normal() {
  sed -E -e 's/\x1b\[[0-9;]*m//g' -e "s|$PWD|DIR|g" -e "s|$ENGINES|BIN|g" \
    -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/UUID/g' \
    -e 's/[0-9]{4}[-\/][0-9]{2}[-\/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[-+][0-9]{2}:?[0-9]{2})?/TIME/g' \
    -e 's/\b[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?/TIME/g' -e 's/\b([0-9]+m)?[0-9]+(\.[0-9]+)?(s|ms|µs)\b/TIME/g' -e 's/[ \t]+$//'
}
