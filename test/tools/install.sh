#!/usr/bin/env bash
# Installs pinned releases of tools from the Go module proxy and npm: install.sh FOLDER [NAME...]
# What can't be had is named and left out. Tools on PATH need no installation.
set -uo pipefail
here=$(realpath "$(dirname "$0")")
to=$(mkdir -p "$1" && realpath "$1"); shift
wanted=" $* "
unset GOFLAGS
export CGO_ENABLED=0 GOBIN=$to
wants() { [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]; }
module() { # NAME MODULE@VERSION
  wants "$1" || return 0
  [ "$(cat "$to/.$1" 2>/dev/null)" = "$2" ] && return 0
  local said
  if said=$(nice -n 5 go install -trimpath -p 2 -ldflags '-s -w' "$2" 2>&1); then echo "$2" > "$to/.$1"; else
    echo "$1: ${2#*@} can't be installed: $(grep -v '^go: downloading' <<<"$said" | tail -1)" >&2
  fi
}
tests() { # NAME FOLDER MODULE: a program that has the tests of a folder beside this file, which are about a module
  wants "$1" || return 0
  local said version
  version=$(sed -n "s,^require $3 \\(v.*\\),$3@\\1,p" "$here/$2/go.mod")
  [ "$(cat "$to/.$1" 2>/dev/null)" = "$version" ] && return 0
  if said=$(nice -n 5 go test -C "$here/$2" -trimpath -p 2 -c -o "$to/$1" . 2>&1); then echo "$version" > "$to/.$1"; else
    echo "$1: $version can't be built: $(grep -v '^go: downloading' <<<"$said" | tail -1)" >&2
  fi
}
package() { # NAME PACKAGE@VERSION...
  wants "$1" || return 0
  local name=$1; shift
  [ "$(cat "$to/.$name" 2>/dev/null)" = "$*" ] && return 0
  if command -v npm >/dev/null && npm install --prefix "$to/npm" --no-fund --no-audit --ignore-scripts --silent "$@" &&
    ln -sf "npm/node_modules/.bin/$name" "$to/$name"; then echo "$*" > "$to/.$name"; else
    echo "$name: $* can't be installed by npm" >&2
  fi
}
module conftest       github.com/open-policy-agent/conftest@v0.71.1
module tflint         github.com/terraform-linters/tflint@v0.64.0
module tf-summarize   github.com/dineshba/tf-summarize@v0.3.20
module tfcmt          github.com/suzuki-shunsuke/tfcmt/v4/cmd/tfcmt@v4.14.18
module tfmigrate      github.com/minamijoyo/tfmigrate@v0.4.5
module terraform-docs github.com/terraform-docs/terraform-docs@v0.24.0
module terraform-ls   github.com/hashicorp/terraform-ls@v0.39.1
module terragrunt     github.com/gruntwork-io/terragrunt@v1.1.3
module terramate      github.com/terramate-io/terramate/cmd/terramate@v0.17.2
module tenv           github.com/tofuutils/tenv/v4/cmd/tenv@v4.14.8
module atlantis       github.com/runatlantis/atlantis@v0.47.1
tests   terratest terratest github.com/gruntwork-io/terratest
package cdktf         cdktf-cli@0.21.0 cdktf@0.21.0 constructs@10.4.2
