#!/usr/bin/env bash
# its server, with a Git server beside it. Plan and apply by its API, in two directories and workspaces. Failures and deletions
. "$TOOLS/lib.sh"
needs atlantis git python3 curl jq
version atlantis version
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
mkdir -p git/o states data
git init -q --bare -b main git/o/r.git
git clone -q git/o/r.git repo 2>/dev/null; git -C repo checkout -q -b main
mkdir repo/one repo/two
cat > repo/one/main.tf <<T
terraform {
  backend "local" {
    path          = "$PWD/states/one.tfstate"
    workspace_dir = "$PWD/states/one"
  }
}
resource "terraform_data" "a" { input = "a-\${terraform.workspace}" }
resource "terraform_data" "b" { input = terraform_data.a.output }
output "b" { value = terraform_data.b.output }
T
sed 's/states\/one/states\/two/' repo/one/main.tf > repo/two/main.tf
commit() { git -C repo add -A; git -C repo commit -qm "$1"; git -C repo push -q origin main; }
commit first
cat > server.py <<'T'
import http.server, json, os, subprocess, sys
class Handler(http.server.BaseHTTPRequestHandler):
    """GitLab's API as far as Atlantis needs it, and Git by its own program."""
    def answer(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if path.startswith("/api/"):
            text = json.dumps({"id": 1, "version": "17.0.0", "http_url_to_repo": "http://127.0.0.1:%d/o/r.git" % self.server.server_port}).encode()
            self.send_response(200); self.send_header("Content-Type", "application/json"); self.end_headers(); self.wfile.write(text)
            return
        env = {**os.environ, "GIT_PROJECT_ROOT": os.path.abspath("git"), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
               "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        out = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True).stdout
        head, _, text = out.partition(b"\r\n\r\n")
        headers = dict(l.split(": ", 1) for l in head.decode().split("\r\n") if ": " in l)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items(): self.send_header(name, value)
        self.end_headers(); self.wfile.write(text)
    do_GET = do_POST = answer
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open("port", "w").write(str(server.server_port))
server.serve_forever()
T
python3 server.py > /dev/null 2>&1 &
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
api=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
atlantis server --gitlab-user u --gitlab-token t --gitlab-hostname "http://127.0.0.1:$(cat port)" --repo-allowlist '*' --api-secret secret \
  --port "$api" --data-dir "$PWD/data" --tf-distribution opentofu --tf-download=false --atlantis-url "http://127.0.0.1:$api" --log-level debug > server.log 2>&1 &
for _ in $(seq 300); do curl -fs --max-time 5 "http://127.0.0.1:$api/healthz" >/dev/null && break; sleep 0.2; done
# ask COMMAND DIRECTORY [WORKSPACE]
ask() {
  curl -s --max-time 240 "http://127.0.0.1:$api/api/$1" -H 'X-Atlantis-Token: secret' -H 'Content-Type: application/json' \
    -d "{\"Repository\": \"o/r\", \"Ref\": \"main\", \"Type\": \"Gitlab\", \"Paths\": [{\"Directory\": \"$2\", \"Workspace\": \"${3:-default}\"}]}" > answer.json
  jq -r 'if .ProjectResults then .ProjectResults[] | "error \(.Error != null) failure \(.Failure)", (.PlanSuccess.TerraformOutput // empty), (.ApplySuccess | select(. != "") // empty) else . end' answer.json |
    sed -z -E 's/execution\nplan. /execution plan.\n/; s/\n(weir|OpenTofu) has compared[^.]*\././' | grep -v -e 'Refreshing state' -e 'Creating...' -e 'Creation complete' -e 'Destr' -e 'Still '
}
failed() { ask "$@" | head -1; }
states() { for s in states/*.tfstate states/*/*/*.tfstate; do echo "$s"; tofu state list -state="$s"; tofu output -json -state="$s"; done 2>/dev/null; }
step plan ask plan one
step apply ask apply one
step "plan again" ask plan one
step "apply of another workspace" ask apply two stage
step states states
sed -i 's/"a-/"z-/' repo/one/main.tf; commit second
step "plan of a change" ask plan one
step "apply of a change" ask apply one
echo 'resource "terraform_data" "c" { input = local.missing }' > repo/one/c.tf; commit third
step "failing plan" failed plan one
rm repo/one/c.tf; sed -i '/^resource/d; /^output/d' repo/one/main.tf; commit fourth
step "apply that deletes" ask apply one
step "states afterwards" states
