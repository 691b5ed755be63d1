#!/usr/bin/env bash
# Builds providers that no module proxy has from clones of their repositories into a mirror:
#   clones.sh SOURCES MIRROR [NAME...]
# SOURCES holds the clones under the names of the table below, OWNER+REPOSITORY (bare or not); what is missing is told
# and left out. Their own dependencies come from the proxy.
set -euo pipefail
sources=$(realpath "$1"); mirror=$2; shift 2
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false'
platform=$(go env GOOS)_$(go env GOARCH); mkdir -p "$mirror"; mirror=$(realpath "$mirror")
wanted=" ${*:-postgresql dns powerdns rabbitmq} "
put() { # name namespace version clone
  case $wanted in *" $1 "*) ;; *) return 0;; esac
  local repo=$sources/$4 to=$mirror/registry.terraform.io/$2/$1/$3/$platform
  [ ! -x "$to/terraform-provider-$1_v$3" ] || return 0
  [ -d "$repo" ] || { echo "$1: there is no clone $4 in $sources" >&2; return 0; }
  local work; work=$(mktemp -d)
  mkdir -p "$to"
  git -C "$repo" archive "v$3" | tar -x -C "$work" && go build -C "$work" -p 2 -ldflags '-s -w' -o "$to/terraform-provider-$1_v$3" . ||
    { rm -rf "$work" "$to"; echo "$1: doesn't build" >&2; return 0; }
  rm -rf "$work"
}
put postgresql cyrilgdn  1.26.0 cyrilgdn+terraform-provider-postgresql
put dns        hashicorp 3.6.1  hashicorp+terraform-provider-dns
put powerdns   pan-net   1.5.0  pan-net+terraform-provider-powerdns
put rabbitmq   cyrilgdn  1.10.1 cyrilgdn+terraform-provider-rabbitmq
