#!/usr/bin/env bash
# community.general.terraform: check mode, diff, planned, plan file, workspaces, purge, variables, targets, backend configuration, state file, plugin paths, absent
. "$TOOLS/lib.sh"
needs ansible-playbook
[ -n "$(ansible-doc -t module community.general.terraform 2>/dev/null)" ] || skip "no collection community.general of Ansible"
version ansible --version
export ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false ANSIBLE_NOCOLOR=1 ANSIBLE_PYTHON_INTERPRETER=$(command -v python3)
[ -x /usr/bin/python3 ] && export ANSIBLE_PYTHON_INTERPRETER=/usr/bin/python3
mkdir p
cat > p/main.tf <<'T'
terraform {
  backend "local" {}
}
variable "size" { default = 1 }
variable "tags" {
  type    = object({ names = list(string), nested = map(number) })
  default = { names = [], nested = {} }
}
resource "terraform_data" "a" { input = var.size }
resource "terraform_data" "b" { input = var.tags }
output "size" { value = terraform_data.a.output }
output "tags" { value = terraform_data.b.output }
T
# task NAME ARGUMENTS [FLAGS]: changed, failed, outputs, command and the state afterwards.
task() {
  local name=$1 arguments=$2; shift 2
  cat > play.yml <<T
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - community.general.terraform: { project_path: $PWD/p, binary_path: $ENGINES/tofu, $arguments }
      register: result
      ignore_errors: true
      diff: true
    - copy:
        dest: $PWD/result.json
        content: "{{ { 'changed': result.changed | default(false), 'failed': result.failed | default(false), 'outputs': result.outputs | default({}), 'workspace': result.workspace | default(''), 'state': result.state | default(''), 'diff': result.diff is defined } | to_nice_json(sort_keys=True) }}"
      check_mode: false
T
  rm -f result.json
  step "$name" sh -c "ansible-playbook play.yml $* > play.log 2>&1; echo playbook \$?; cat result.json; tofu -chdir=p workspace list; tofu -chdir=p state list 2>/dev/null | sort; ls p/*.tfstate p/tfplan 2>/dev/null"
  [ -z "${TOOLS_VERBOSE:-}" ] || cat play.log >&2
}
backend='force_init: true, backend_config: { path: chosen.tfstate }'
task "check mode" "$backend, state: present" --check
task present "$backend, state: present"
task "present again" "state: present"
task "variable" "state: present, variables: { size: 2 }"
task "targets" "state: present, variables: { size: 3 }, targets: [terraform_data.a]"
task "complex variables" "state: present, complex_vars: true, variables: { size: 3, tags: { names: [x, y], nested: { one: 1 } } }"
task "planned" "state: planned, plan_file: $PWD/p/tfplan, variables: { size: 4 }"
task "plan file" "state: present, plan_file: $PWD/p/tfplan, variables: { size: 4 }"
task "plan file and targets" "state: planned, plan_file: $PWD/p/tfplan, targets: [terraform_data.b]"
task "workspace" "state: present, workspace: other"
task "purge" "state: absent, workspace: other, purge_workspace: true"
task "backend configuration" "force_init: true, init_reconfigure: true, state: present, backend_config: { path: moved.tfstate }"
task "lock and parallelism" "state: present, lock: true, lock_timeout: 5, parallelism: 2"
task "check_destroy" "state: present, check_destroy: true, variables: { size: 7 }"
echo 'resource "terraform_data" "c" { input = local.missing }' > p/c.tf
task "wrong configuration" "state: present"
rm p/c.tf
task absent "state: absent"
task "absent again" "state: absent"
