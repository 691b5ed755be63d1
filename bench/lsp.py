#!/usr/bin/env python3
"""Measure a language server: lsp.py FOLDER COMMAND... prints a row of figures.

lsp.py -make FOLDER [N] writes the workspace: a root module that calls N modules with
resources of hashicorp/aws. Run init in FOLDER/root before measuring."""
import json, os, statistics, subprocess, sys, threading, time

def make(folder, n):
    def write(path, text):
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write(text)
    for i in range(n):
        write(f"modules/m{i}/main.tf", "".join(
            f'resource "aws_s3_bucket" "b{k}" {{\n  bucket = "${{var.name}}-{k}"\n  tags   = local.tags\n}}\n\n'
            f'resource "aws_sqs_queue" "q{k}" {{\n  name = "${{aws_s3_bucket.b{k}.id}}-{k}"\n}}\n\n' for k in range(5)))
        write(f"modules/m{i}/variables.tf", 'variable "name" {\n  type        = string\n  description = "The name."\n}\n\n'
              'variable "team" {\n  type    = string\n  default = "core"\n}\n\nlocals {\n  tags = { team = var.team }\n}\n')
        write(f"modules/m{i}/outputs.tf", 'output "arn" {\n  value = aws_s3_bucket.b0.arn\n}\n')
    write("root/main.tf", 'terraform {\n  required_providers {\n    aws = {\n      source  = "hashicorp/aws"\n      version = "5.100.0"\n    }\n  }\n}\n\nlocals {\n  prefix = "x"\n}\n\n'
          'resource "aws_instance" "web" {\n  ami           = "ami"\n  instance_type = "t3.micro"\n\n}\n\noutput "o" {\n  value = local.prefix\n}\n')
    write("root/modules.tf", "".join(f'module "m{i}" {{\n  source = "../modules/m{i}"\n  name   = "m{i}"\n}}\n\n' for i in range(n)))

class Server:
    def __init__(self, command, folder):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.n, self.answers, self.problems, self.event = 0, {}, {}, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        uri = "file://" + folder
        self.call("initialize", {"processId": os.getpid(), "rootUri": uri, "workspaceFolders": [{"uri": uri, "name": "w"}],
            "capabilities": {"textDocument": {"completion": {"completionItem": {"snippetSupport": True}}, "publishDiagnostics": {}}, "workspace": {"workspaceFolders": True}}})
        self.tell("initialized", {})
    def read(self):
        out = self.p.stdout
        while True:
            size = 0
            while (line := out.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            if size == 0:
                return
            m = json.loads(out.read(size))
            with self.event:
                if "method" in m and "id" in m:
                    self.send({"id": m["id"], "result": None})
                elif m.get("method") == "textDocument/publishDiagnostics":
                    self.problems[m["params"]["uri"]] = m["params"]["diagnostics"]
                elif "id" in m:
                    self.answers[m["id"]] = m
                self.event.notify_all()
    def send(self, m):
        body = json.dumps({"jsonrpc": "2.0", **m}).encode()
        self.p.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.p.stdin.flush()
    def tell(self, method, params):
        self.send({"method": method, "params": params})
    def call(self, method, params):
        self.n += 1
        n = self.n
        self.send({"id": n, "method": method, "params": params})
        with self.event:
            self.event.wait_for(lambda: n in self.answers, 300)
            return self.answers.pop(n).get("result")
    def wait(self, test, most=300):
        with self.event:
            return self.event.wait_for(test, most)
    def stat(self):
        """CPU seconds and MiB of the process and its children."""
        cpu = rss = 0
        todo = [self.p.pid]
        while todo:
            pid = todo.pop()
            try:
                f = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
                cpu += (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")
                rss += int(f[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
                todo += [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]
            except OSError:
                pass
        return cpu, rss

def measure(folder, command):
    path = os.path.join(folder, "root/main.tf")
    uri, text = "file://" + path, open(path).read()
    begun = time.time()
    s = Server(command, folder)
    broken = text.replace("local.prefix", "local.missing")
    s.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "terraform", "version": 1, "text": broken}})
    ok = s.wait(lambda: len(s.problems.get(uri, [])) > 0)
    first = time.time() - begun
    version = 2
    s.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]})
    # Until the schema is known.
    lines = text.split("\n")
    line = next(i for i, l in enumerate(lines) if "t3.micro" in l) + 1
    def complete():
        r = s.call("textDocument/completion", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 2}})
        return [i["label"] for i in (r["items"] if isinstance(r, dict) else r or [])]
    def type_(old, new):
        nonlocal version
        version += 1
        s.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": version},
            "contentChanges": [{"range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": len(old)}}, "text": new}]})
    type_("", "  ")
    known = time.time()
    while "availability_zone" not in complete() and time.time() - known < 240:
        time.sleep(0.2)
    ready = time.time() - begun
    time.sleep(10)
    cpu, rss = s.stat()
    took, right, keys = [], 0, 0
    for n in range(100):
        for old, new in (("  ", "  a"), ("  a", "  av"), ("  av", "  ")):
            type_(old, new)
            keys += 1
        t = time.time()
        right += "availability_zone" in complete()
        took.append((time.time() - t) * 1000)
        time.sleep(0.05)
    time.sleep(2)
    after, rss2 = s.stat()
    took.sort()
    print(f"{os.path.basename(command[0])}: first problem {first:.2f} s{'' if ok else ' (never)'}, schema known after {ready:.1f} s, memory {max(rss, rss2):.0f} MiB, "
          f"completion p50 {statistics.median(took):.1f} ms p95 {took[int(len(took)*.95)]:.1f} ms, CPU {(after-cpu)*1000/keys:.1f} ms a key, {right} of 100 completions right")
    s.p.kill()

if sys.argv[1] == "-make":
    make(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 300)
else:
    measure(os.path.abspath(sys.argv[1]), sys.argv[2:])
