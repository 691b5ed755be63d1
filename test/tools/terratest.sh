#!/usr/bin/env bash
# tests of a module: init, plan, apply, outputs of each type, counts, exit codes, plan structures, workspaces, failures, destroy
. "$TOOLS/lib.sh"
needs terratest
sed "s,.*@v,version v," "$(dirname "$(command -v terratest)")/.terratest"
run() { # TEST: what the tests log of their own, without the engine's text
  terratest -test.run "^$1\$" -test.v > run.log 2>&1; local code=$?
  grep -E '^(--- |PASS|FAIL)|terratest_test\.go' run.log
  return $code
}
for test in $(terratest -test.list .); do step "$test" run "$test"; done
