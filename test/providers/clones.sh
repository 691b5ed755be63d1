#!/usr/bin/env bash
# Builds providers that no module proxy has from clones of their repositories into a mirror:
#   clones.sh SOURCES MIRROR [NAME...]
# SOURCES holds the clones under the names of the table below, OWNER+REPOSITORY (bare or not); what is missing is named
# and left out. Their own dependencies come from the proxy. Without names these are the providers of make servers.
# `modules` are those that public AWS modules need beside hashicorp/aws, in releases that they admit.
set -euo pipefail
sources=$(realpath "$1"); mirror=$2; shift 2
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false'
platform=$(go env GOOS)_$(go env GOARCH); mkdir -p "$mirror"; mirror=$(realpath "$mirror")
wanted=" ${*:-postgresql dns powerdns rabbitmq} "
wanted=${wanted/ modules / archive cloudinit external http local null random template time tls }
put() { # name namespace version clone
  case $wanted in *" $1 "*) ;; *) return 0;; esac
  local repo=$sources/$4 to=$mirror/registry.terraform.io/$2/$1/$3/$platform
  [ ! -x "$to/terraform-provider-$1_v$3" ] || return 0
  [ -d "$repo" ] || { echo "$1: there is no clone $4 in $sources" >&2; return 0; }
  local work; work=$(mktemp -d)
  mkdir -p "$to"
  git -C "$repo" archive "v$3" | tar -x -C "$work" && go build -C "$work" -p 2 -ldflags '-s -w' -o "$to/terraform-provider-$1_v$3" . ||
    { rm -rf "$work" "$to"; echo "$1 $3: doesn't build" >&2; return 0; }
  rm -rf "$work"
}
put postgresql cyrilgdn  1.26.0 cyrilgdn+terraform-provider-postgresql
put dns        hashicorp 3.6.1  hashicorp+terraform-provider-dns
put powerdns   pan-net   1.5.0  pan-net+terraform-provider-powerdns
put rabbitmq   cyrilgdn  1.10.1 cyrilgdn+terraform-provider-rabbitmq
put archive    hashicorp 2.8.0  hashicorp+terraform-provider-archive
put cloudinit  hashicorp 2.4.0  hashicorp+terraform-provider-cloudinit
put external   hashicorp 2.4.0  hashicorp+terraform-provider-external
put http       hashicorp 3.6.0  hashicorp+terraform-provider-http
put local      hashicorp 2.9.0  hashicorp+terraform-provider-local
put local      hashicorp 2.1.0  hashicorp+terraform-provider-local
put null       hashicorp 3.3.1  hashicorp+terraform-provider-null
put random     hashicorp 3.9.0  hashicorp+terraform-provider-random
put template   hashicorp 2.2.0  hashicorp+terraform-provider-template
put template   cloudposse 2.2.0 cloudposse+terraform-provider-template
put time       hashicorp 0.14.0 hashicorp+terraform-provider-time
put tls        hashicorp 4.2.1  hashicorp+terraform-provider-tls
mkdir -p "$mirror/registry.terraform.io"
cp -alf "$mirror/registry.terraform.io/." "$mirror/registry.opentofu.org" # hard links: tofu ignores a symlinked host or namespace folder
