#!/usr/bin/env python3
"""Compare language servers in a clone of a public repository.

lsp.py -prepare FOLDER MIRROR WEIR    makes the roots in FOLDER look as after init: each with a
                                      provider of aws gets a lock file and the providers of MIRROR
lsp.py FOLDER WEIR [OTHER]            measures WEIR and, in turn, OTHER (terraform-ls)
lsp.py -directories FOLDER WEIR       memory of WEIR after a file of each directory was open

Figures are medians of ROUNDS runs (3). Expected answers come from the text of the files: a
definition has to lead to the declaration that a search in the module finds, and a completion
has to propose the word that stood there before its end was cut off."""
import collections, glob, json, os, random, re, shutil, statistics, subprocess, sys, tempfile, threading, time

ROUNDS = int(os.environ.get("ROUNDS", "3"))
QUIET = 3  # seconds after which a server that does nothing is idle

class Server:
    """A session with a language server, whose processes are watched."""
    def __init__(self, command, folder, env):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.n, self.answers, self.problems, self.event = 0, {}, {}, threading.Condition()
        self.peak = self.tree = self.gone = 0
        self.versions, self.cpus = {}, {}
        for work in (self.read, self.watch):
            threading.Thread(target=work, daemon=True).start()
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
        with self.event:
            self.n += 1
            n = self.n
            self.send({"id": n, "method": method, "params": params})
            if not self.event.wait_for(lambda: n in self.answers, 120):
                return None
            return self.answers.pop(n).get("result")
    def wait(self, test, most=120):
        with self.event:
            return self.event.wait_for(test, most)
    def until(self, ask):
        """Give the server time to load what was opened."""
        end = time.time() + 3
        while not ask() and time.time() < end:
            time.sleep(0.1)
    def open(self, path, text=None):
        if text is None:
            text = open(path).read()
        self.versions[path] = 1
        self.tell("textDocument/didOpen", {"textDocument": {"uri": "file://" + path, "languageId": "terraform", "version": 1, "text": text}})
    def change(self, path, start, end, text):
        self.versions[path] += 1
        self.tell("textDocument/didChange", {"textDocument": {"uri": "file://" + path, "version": self.versions[path]},
            "contentChanges": [{"range": {"start": start, "end": end}, "text": text}]})
    def close(self, path):
        self.tell("textDocument/didClose", {"textDocument": {"uri": "file://" + path}})
    def at(self, method, path, place, more={}):
        return self.call("textDocument/" + method, {"textDocument": {"uri": "file://" + path}, "position": place, **more})
    def processes(self):
        todo = [self.p.pid]
        while todo:
            pid = todo.pop()
            try:
                f = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
                yield pid, (int(f[11]) + int(f[12]) + int(f[13]) + int(f[14])) / os.sysconf("SC_CLK_TCK"), int(f[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
                todo += [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]
            except OSError:
                pass
    def cpu(self):
        """CPU seconds of the server, of its processes, and of those that have ended."""
        return sum(cpu for _, cpu, _ in self.processes())
    def watch(self):
        while self.p.poll() is None:
            own = [(pid, rss) for pid, _, rss in self.processes()]
            self.peak = max(self.peak, sum(rss for pid, rss in own if pid == self.p.pid))
            self.tree = max(self.tree, sum(rss for _, rss in own))
            time.sleep(0.1)
    def idle(self, most=180):
        """Wait until the server has hardly used the CPU for a while."""
        end, since, before = time.time() + most, time.time(), self.cpu()
        while time.time() < end and time.time() - since < QUIET:
            time.sleep(0.5)
            now = self.cpu()
            if now - before > 0.02:
                since = time.time()
            before = now

def tf(folder):
    return sorted(p for p in glob.glob(folder + "/**/*.tf", recursive=True) if "/." not in p)

def place(text, at):
    return {"line": text.count("\n", 0, at), "character": len(text[text.rfind("\n", 0, at) + 1:at].encode("utf-16-le")) // 2}

# What declares a name, by the first words of references to it.
DECLARED = {"var": 'variable "%s"', "module": 'module "%s"', "local": "%s ="}

def declaration(kind, name):
    if kind in DECLARED:
        return DECLARED[kind] % name
    return '%s "%s" "%s"' % ("data" if "." in kind else "resource", kind.rpartition(".")[2], name)

def declarations(text):
    """How often each declaration is in a text. Any argument may be one of a local value."""
    found = re.findall(r'^(?:variable|module)\s+"?[\w-]+"?|^(?:resource|data)\s+"\w+"\s+"[\w-]+"|^\s+\w+\s*=', text, re.M)
    return collections.Counter(re.sub(r"\s+", " ", re.sub(r'^variable\s+(\w+)$', r'variable "\1"', d.strip().replace("=", " ="))) for d in found)

BODY = r'^(resource|data)\s+"(aws_\w+)"\s+"(\w+)"\s*\{\n(.*?)^\}'

def tests(folder, seed=1):
    """100 references and 100 completions: (kind, file, place, word, declaration)."""
    rnd = random.Random(seed)
    modules = {}
    for path in tf(folder):
        modules.setdefault(os.path.dirname(path), {})[path] = open(path).read()
    declared = {where: declarations("\n".join(files.values())) for where, files in modules.items()}
    found = {"reference": [], "value": [], "argument": [], "input": []}
    for where, files in modules.items():
        for path, text in files.items():
            code = re.sub(r"(?m)^\s*(#|//).*$|/\*.*?\*/|<<[\s\S]*?^\s*EOF", lambda m: re.sub(r"[^\n]", " ", m[0]), text)
            for m in re.finditer(r"(?<![\w.\"-])(var|local|module|data\.aws_\w+|aws_\w+)\.(\w{4,})\b(?!\()", code):
                kind, name = m[1], m[2]
                if declared[where][declaration(kind, name)] == 1:
                    found["reference"].append((path, m.end(), name, declaration(kind, name)))
                    if kind != "module":
                        found["value"].append((path, m.end(), name, None))
            for m in re.finditer(BODY, code, re.M | re.S):
                for a in re.finditer(r"^  (\w{4,})( *)= ", m[4], re.M):
                    if a[1] not in ("count", "for_each", "provider", "depends_on"):
                        found["argument"].append((path, m.start(4) + a.end(1), a[1], None))
            for m in re.finditer(r'^module\s+"\w+"\s*\{\n(.*?)^\}', code, re.M | re.S):
                s = re.search(r'source\s*=\s*"(\.\.?/[^"]+)"', m[1])
                called = s and declared.get(os.path.normpath(os.path.join(where, s[1])))
                for a in re.finditer(r"^  (\w{4,})( *)= ", m[1], re.M):
                    if called and called[declaration("var", a[1])]:
                        found["input"].append((path, m.start(1) + a.end(1), a[1], None))
    take = lambda kind, n: [(kind, *t) for t in rnd.sample(found[kind], n)]
    return take("reference", 100) + take("value", 40) + take("argument", 40) + take("input", 20)

def leads(answer, path, declaration):
    """Whether a definition leads into the module, to the line that declares the name."""
    for a in answer if isinstance(answer, list) else [answer] if answer else []:
        there = (a.get("uri") or a.get("targetUri"))[7:]
        line = (a.get("range") or a.get("targetSelectionRange"))["start"]["line"]
        if os.path.dirname(there) == os.path.dirname(path) and declaration in declarations(open(there).read().split("\n")[line]):
            return True
    return False

def words(answer):
    items = answer.get("items", []) if isinstance(answer, dict) else answer or []
    return {re.split(r"[^\w]", w)[0] if not w.startswith(("var.", "local.", "data.", "aws_")) else w.split(".")[-1]
            for i in items for w in (i["label"], (i.get("textEdit") or {}).get("newText") or "")} | {i["label"] for i in items}

def median(rows):
    return {k: statistics.median(r[k] for r in rows) for k in rows[0]}

def run(folder, command, env, asked):
    row = {}
    first = asked[0][1]
    begun = time.time()
    s = Server(command, folder, env)
    uri = "file://" + first
    s.open(first, open(first).read() + '\nlocals {\n  x = \n}\n')
    s.wait(lambda: s.problems.get(uri))
    row["first problem, s"] = time.time() - begun
    s.close(first)
    roots = sorted({os.path.dirname(t[1]) for t in asked})
    anchor = next(p for d in roots if os.path.exists(d + "/.terraform.lock.hcl") for p in tf(d))
    s.open(anchor)  # stays open, so that there are schemas
    s.idle()
    row["memory after opening, MiB"] = max(r for p, _, r in s.processes() if p == s.p.pid)
    row["CPU until then, s"] = s.cpu()
    right, took, asking = {}, {"definition": [], "completion": []}, 0
    wrong = []
    for kind, path, at, name, wanted in asked:
        text = open(path).read()
        if path != anchor:
            s.open(path, text)
        s.until(lambda: s.call("textDocument/documentSymbol", {"textDocument": {"uri": "file://" + path}}))
        if kind == "reference":
            s.until(lambda: s.at("definition", path, place(text, at - 1)))
            begun = time.time()
            ok = leads(s.at("definition", path, place(text, at - 1)), path, wanted)
            took["definition"].append(time.time() - begun)
        else:
            s.until(lambda: s.at("hover", path, place(text, at - 1)))
            cut = len(name) - 2
            s.change(path, place(text, at - cut), place(text, at), "")
            begun = time.time()
            ok = name in words(s.at("completion", path, place(text, at - cut), {"context": {"triggerKind": 1}}))
            took["completion"].append(time.time() - begun)
            s.change(path, place(text, at - cut), place(text, at - cut), text[at - cut:at])
        right[kind] = right.get(kind, 0) + ok
        if not ok:
            wrong.append((kind, path[len(folder):], text[:at].count("\n") + 1, name))
        if path != anchor:
            s.close(path)
    for kind, times in took.items():
        times.sort()
        row[kind + " p50, ms"] = statistics.median(times) * 1000
        row[kind + " p95, ms"] = times[int(len(times) * 0.95)] * 1000
    for kind, n in right.items():
        row["right: " + kind] = n
    s.idle()
    before = s.cpu()
    keys = 0
    path = anchor
    text = open(path).read()
    end = place(text, len(text))
    s.change(path, end, end, "\nlocals {\n  typed = \n}\n")
    line = end["line"] + 2
    for _ in range(10):
        for i, c in enumerate("var.environment_name"):
            s.change(path, {"line": line, "character": 10 + i}, {"line": line, "character": 10 + i}, c)
            keys += 1
            time.sleep(0.1)
        s.change(path, {"line": line, "character": 10}, {"line": line, "character": 30}, "")
    s.idle()
    row["CPU for a key, ms"] = (s.cpu() - before) * 1000 / keys
    row["memory, highest, MiB"] = s.peak
    row["with its processes, MiB"] = s.tree
    s.p.kill()
    return row, wrong

def prepare(folder, mirror, weir):
    """Give each root a lock file and the providers, as init would. Modules of registries stay away."""
    with tempfile.TemporaryDirectory() as t:
        names = sorted(os.listdir(mirror + "/registry.terraform.io/hashicorp"))
        open(t + "/rc", "w").write('provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' % os.path.abspath(mirror))
        open(t + "/main.tf", "w").write("terraform {\n  required_providers {\n" + "".join('    %s = {\n      source = "hashicorp/%s"\n    }\n' % (n, n) for n in names) + "  }\n}\n")
        env = {**os.environ, "TF_CLI_CONFIG_FILE": t + "/rc", "WEIR_COMPAT": "terraform"}
        subprocess.run([weir, "-chdir=" + t, "init"], env=env, check=True, stdout=subprocess.DEVNULL)
        schemas = subprocess.run([weir, "-chdir=" + t, "providers", "schema", "-json"], env=env, check=True, stdout=subprocess.PIPE).stdout
        os.makedirs(folder + "/.terraform", exist_ok=True)
        open(folder + "/.terraform/schemas.json", "wb").write(schemas)
        # A terraform that answers at once costs its server nothing.
        version = {"terraform_version": "1.15.9", "platform": "linux_amd64", "provider_selections": {}, "terraform_outdated": False}
        fake = folder + "/.terraform/terraform"
        open(fake, "w").write("#!/bin/sh\ncase \"$*\" in\nversion*) echo '%s';;\n*schema*) exec cat %s;;\n*) exit 1;;\nesac\n" % (json.dumps(version), os.path.abspath(folder) + "/.terraform/schemas.json"))
        os.chmod(fake, 0o755)
        roots = sorted({os.path.dirname(p) for p in tf(folder) if re.search(r'^provider "aws"', open(p).read(), re.M)})
        for d in roots:
            shutil.copy(t + "/.terraform.lock.hcl", d)
            shutil.copytree(t + "/.terraform", d + "/.terraform", symlinks=True, dirs_exist_ok=True)
        print(f"{len(roots)} roots of {len({os.path.dirname(p) for p in tf(folder)})} directories prepared")

def main(args):
    if args[:1] == ["-prepare"]:
        return prepare(*args[1:4])
    if args[:1] == ["-directories"]:
        return directories(os.path.abspath(args[1]), args[2])
    folder, programs = os.path.abspath(args[0]), args[1:]
    env = {**os.environ, "WEIR_COMPAT": "terraform", "TF_CLI_CONFIG_FILE": "/dev/null", "PATH": folder + "/.terraform:" + os.environ["PATH"]}
    asked = tests(folder)
    if only := os.environ.get("ONLY"):
        asked = asked[:: int(only)]
    rows = {p: [] for p in programs}
    for _ in range(ROUNDS):
        for p in programs:
            row, wrong = run(folder, [p, "serve" if "-ls" in os.path.basename(p) else "lsp"], env, asked)
            rows[p].append(row)
            if os.environ.get("WRONG"):
                print(p, row)
                for w in wrong:
                    print("  wrong:", *w)
    got = [median(rows[p]) for p in programs]
    print("| | " + " | ".join(os.path.basename(p) for p in programs) + " |")
    print("|---|" + "---:|" * len(programs))
    for k in got[0]:
        print(f"| {k} | " + " | ".join(f"{g[k]:,.0f}" if g[k] >= 10 or g[k] == int(g[k]) else f"{g[k]:.2f}" for g in got) + " |")

def directories(folder, weir):
    s = Server([weir, "lsp"], folder, {**os.environ, "WEIR_COMPAT": "terraform"})
    dirs = {}
    for p in tf(folder):
        dirs.setdefault(os.path.dirname(p), p)
    begun = time.time()
    for p in list(dirs.values())[:1000]:
        s.open(p)
        s.at("documentSymbol", p, {"line": 0, "character": 0})
        s.close(p)
    took = time.time() - begun
    found = len(s.call("workspace/symbol", {"query": "a"}) or [])
    s.idle()
    print(f"{min(len(dirs), 1000)} of {len(dirs)} directories in {took:.0f} s, {found} symbols: at most {s.peak:.0f} MiB, {s.tree:.0f} MiB with its processes")
    s.p.kill()

if __name__ == "__main__":
    main(sys.argv[1:])
