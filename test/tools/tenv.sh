#!/usr/bin/env bash
# detection of the version that a configuration needs, and of an installed engine, which it starts by its name
. "$TOOLS/lib.sh"
needs tenv
version tenv version
export TENV_ROOT=$PWD/root TENV_AUTO_INSTALL=false TENV_VALIDATION=none TENV_QUIET=false
# The engine as tenv would have installed it.
mkdir -p root/OpenTofu/1.12.6 root/OpenTofu/1.11.0
ln -s "$(realpath "$(command -v tofu)")" root/OpenTofu/1.12.6/tofu
ln -s "$(realpath "$(command -v tofu)")" root/OpenTofu/1.11.0/tofu
echo 'terraform { required_version = ">= 1.12.0, < 2" }
resource "terraform_data" "a" { input = 1 }' > main.tf
step list sh -c "tenv tofu list | sed 's/ *(.*//'"
step detect tenv tofu detect
step use tenv tofu use latest-allowed
step "list again" sh -c "tenv tofu list | sed 's/ *(.*//'"
step start sh -c '"root/OpenTofu/$(cat root/OpenTofu/version)/tofu" version | head -1'
step apply sh -c '"root/OpenTofu/$(cat root/OpenTofu/version)/tofu" apply -auto-approve -no-color | tail -1'
echo 1.11.0 > .opentofu-version
step "detect by file" tenv tofu detect
