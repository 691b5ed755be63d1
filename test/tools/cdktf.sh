#!/usr/bin/env bash
# synth, diff, deploy of two stacks with a cross reference, output, list, deploy again, destroy
. "$TOOLS/lib.sh"
needs cdktf node
# The engine is TERRAFORM_BINARY_NAME. Nothing is sent anywhere.
export TERRAFORM_BINARY_NAME=tofu CHECKPOINT_DISABLE=1 DISABLE_VERSION_CHECK=1 CI=1
modules=$(dirname "$(dirname "$(realpath "$(command -v cdktf)")")")
while [ ! -d "$modules/cdktf" ] && [ "$modules" != / ]; do modules=$(dirname "$modules"); done
[ -d "$modules/cdktf" ] || skip "no library cdktf beside the program cdktf"
export NODE_PATH=$modules
version cdktf --version
ln -s "$modules" node_modules
cat > main.js <<'T'
const { App, TerraformStack, TerraformOutput, DataResource, LocalBackend } = require("cdktf");
class One extends TerraformStack {
  constructor(scope, name) {
    super(scope, name);
    this.a = new DataResource(this, "a", { input: "from one" });
    new TerraformOutput(this, "id", { value: this.a.output });
  }
}
class Two extends TerraformStack {
  constructor(scope, name, one) {
    super(scope, name);
    const b = new DataResource(this, "b", { input: one.a.output, triggersReplace: process.env.TRIGGER || "1" });
    new TerraformOutput(this, "value", { value: b.output });
    new TerraformOutput(this, "secret", { value: "hidden", sensitive: true });
  }
}
const app = new App();
const one = new One(app, "one");
new Two(app, "two", one);
app.synth();
T
cat > cdktf.json <<'T'
{ "language": "javascript", "app": "node main.js", "projectId": "00000000-0000-0000-0000-000000000000", "sendCrashReports": "false" }
T
outputs() { node -e 'const o = JSON.parse(require("fs").readFileSync("outputs.json")); console.log(JSON.stringify(o, null, 1))'; }
states() { for s in one two; do tofu state list -state="terraform.$s.tfstate" 2>/dev/null; done; }
code synth cdktf synth
code list cdktf list
code diff cdktf diff one
code deploy cdktf deploy one two --auto-approve --outputs-file outputs.json --outputs-file-include-sensitive-outputs
step outputs outputs
step states states
code "deploy again" cdktf deploy one two --auto-approve
export TRIGGER=2
code "deploy replaces" cdktf deploy two --auto-approve --ignore-missing-stack-dependencies
step "output" sh -c 'cdktf output two --outputs-file outputs.json >/dev/null; cat outputs.json'
code destroy cdktf destroy one two --auto-approve
step "states afterwards" states
sed -i 's/input: "from one"/input: "${local.missing}"/' main.js
code "wrong configuration" cdktf deploy one --auto-approve
