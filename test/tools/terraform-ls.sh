#!/usr/bin/env bash
# initialize, open, diagnostics, completion, hover, symbols, formatting, and the commands init, validate, module.providers and module.terraform, which run the engine
. "$TOOLS/lib.sh"
needs terraform-ls python3
mirror hashicorp/random
version terraform-ls version
cat > main.tf <<'T'
terraform {
  required_providers {
    random = { source = "registry.opentofu.org/hashicorp/random" }
  }
}
resource "random_pet" "name" {
  length = 2

}
output "name" { value = random_pet.name.id }
T
code init terraform init
cat > client.py <<'T'
import json, os, subprocess, sys, threading, queue
p = subprocess.Popen(["terraform-ls", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
answers, notes, count = {}, queue.Queue(), 0
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    p.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body); p.stdin.flush()
def read():
    while True:
        length = 0
        while (line := p.stdout.readline().strip()):
            if line.lower().startswith(b"content-length"): length = int(line.split(b":")[1])
        if not length: return
        m = json.loads(p.stdout.read(length))
        if "method" in m and "id" in m: send({"id": m["id"], "result": None})
        elif "method" in m: notes.put(m)
        else: answers.setdefault(m["id"], queue.Queue()).put(m)
threading.Thread(target=read, daemon=True).start()
def ask(method, params):
    global count; count += 1; answers.setdefault(count, queue.Queue())
    send({"id": count, "method": method, "params": params})
    m = answers[count].get(timeout=90)
    return m.get("result", m.get("error"))
def show(name, value): print("=== " + name); print("exit 0"); print(json.dumps(value, indent=1, sort_keys=True))
root = "file://" + os.getcwd(); doc = {"uri": root + "/main.tf"}
text = open("main.tf").read()
start = ask("initialize", {"processId": None, "rootUri": root, "capabilities": {"textDocument": {"publishDiagnostics": {}}}, "initializationOptions": {"terraform": {"timeout": "60s"}}})
show("initialize", sorted(start["capabilities"]))
send({"method": "initialized", "params": {}})
send({"method": "textDocument/didOpen", "params": {"textDocument": {**doc, "languageId": "terraform", "version": 1, "text": text}}})
def command(name): return ask("workspace/executeCommand", {"command": "terraform-ls." + name, "arguments": ["uri=" + root]})
import time
def settled(name, good):
    for _ in range(60):
        value = command(name)
        if good(value): break
        time.sleep(1)
    return value
show("module.providers", settled("module.providers", lambda v: v.get("installed_providers") and v.get("provider_requirements")))
show("module.terraform", settled("module.terraform", lambda v: v.get("discovered_version")))
labels = lambda v: sorted({i["label"] for i in (v or {}).get("items", [])})
show("completion", labels(ask("textDocument/completion", {"textDocument": doc, "position": {"line": 7, "character": 0}})))
show("hover", ask("textDocument/hover", {"textDocument": doc, "position": {"line": 6, "character": 4}}))
show("symbols", [s["name"] for s in ask("textDocument/documentSymbol", {"textDocument": doc})])
send({"method": "textDocument/didChange", "params": {"textDocument": {**doc, "version": 2}, "contentChanges": [{"text": text.replace("  length = 2", "     length=2\n  wrong = local.missing")}]}})
open("main.tf", "w").write(text.replace("  length = 2", "     length=2\n  wrong = local.missing"))
send({"method": "textDocument/didSave", "params": {"textDocument": doc}})
show("formatting", ask("textDocument/formatting", {"textDocument": doc, "options": {"tabSize": 2, "insertSpaces": True}}))
show("validate", command("terraform.validate"))
last, end = {}, time.time() + 15
while time.time() < end:
    try: m = notes.get(timeout=5)
    except queue.Empty: break
    if m["method"] == "textDocument/publishDiagnostics": last[m["params"]["uri"]] = m["params"]["diagnostics"]
show("diagnostics", sorted({(d["range"]["start"]["line"], d["severity"], d.get("source", "")) for v in last.values() for d in v}))
show("init", command("terraform.init"))
ask("shutdown", None); send({"method": "exit"})
T
python3 client.py | normal
