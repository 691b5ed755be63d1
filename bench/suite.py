#!/usr/bin/env python3
"""Time the workloads with goals, and compare with the goals and with the last recorded table.

    suite.py -b BINARY [--mirror DIR --bare BINARY] [--sim DIR] [--peer BINARY]... [--huge] [--record] [PATTERN]

Each workload runs at a quarter of its size and at its size, which gives the
growth exponents of CPU time and memory. It does so three times, the sizes in
turn, and the least CPU time counts, as well as the middle peak of memory: what
else a machine does only ever adds to the time. 100,000 instances run once.
With peers, tests of modules run
once with each of them too, between the rounds. results.json beside this file has the
recorded table, RESULTS.md shows it. PATTERN picks workloads by name.
"""
import argparse, datetime, json, math, os, re, shutil, subprocess, sys, tempfile
from bench import timed, HERE

STEPS = {"plan": ["plan", "-no-color", "-out=tfplan"], "apply": ["apply", "-no-color", "tfplan"],
         "no-op plan": ["plan", "-no-color", "-detailed-exitcode"], "destroy": ["destroy", "-no-color", "-auto-approve"]}
ALL = list(STEPS)
# name, sizes, generator flags, {step: (must: CPU s, MiB or None; aim)}
SUITE = [
    ("tiny", [1], [], {"plan": ((0.015, None), (0.008, 20))}),
    ("static", [2000, 8000], [], {"plan": (None, ("units", 1.0))}),
    ("static", [5000, 20000], [], {"plan": ((2.4, None), (0.8, None)), "no-op plan": ((3.2, 300), (1.2, 130))}),
    ("count", [250, 1000], [], {"plan": ((0.3, None), (0.1, None)), "apply": ((0.6, None), (0.15, None))}),
    ("count", [500, 2000], [], {"plan": (None, ("units", 0.25))}),
    ("count", [5000, 20000], [], {"plan": ((None, None), (3.0, None))}),
    ("foreach", [250, 1000], [], {"plan": ((0.3, None), (0.1, None))}),
    ("modules", [75, 300], [], {"plan": ((0.4, None), ("units", 0.3))}),
    ("calls", [25, 100], [], {"plan": ((0.4, None), (0.15, None))}),
    ("chain", [500, 2000], [], {"plan": ((0.4, None), ("units", 0.3))}),
    ("dense", [200, 800], ["-degree", "25"], {}),
    ("dense", [200], ["-degree", "100"], {"plan": ((0.5, None), (0.2, None))}),
    ("exprs", [750, 3000], [], {"plan": ((0.8, None), ("units", 0.9))}),
]
HUGE = [("count", [50000], [], {"plan": (None, (None, 400))}), ("modules", [10000], [], {"apply": (None, (None, 900))})]
# the loop that CPU time is a multiple of
UNIT = [sys.executable, "-c", "import hashlib\nb = b'x' * 1024\nfor _ in range(400000): hashlib.sha256(b).digest()"]
# what a step consists of without an engine; the files of a saved plan have the objects
FLOOR = {"plan": ("start", "parse", "encode"), "apply": ("start", "parse", "read", "decode", "encode"),
         "no-op plan": ("start", "parse", "read", "decode"), "destroy": ("start", "parse", "read", "decode"),
         "state list": ("start", "read"), "show -json": ("start", "read", "decode", "encode")}
# commands on a given state or on files
GIVEN = [("state list", ["state", "list"], ((0.3, None), (0.1, None))), ("show -json", ["show", "-json"], ((0.6, None), (0.3, None)))]
NULL = [("no-op plan", ["plan", "-no-color", "-detailed-exitcode"], "noop", (1.6, 1.25)),
        ("create plan", ["plan", "-no-color", "-state=none.tfstate"], "create", (1.8, 1.3))]
GROWTH = (1.15, 1.05)
# deployments of components
STACK = {"stack": "", "providers": "", "module": 'resource "terraform_data" "r" {\n  input            = var.name\n  triggers_replace = var.after\n}\noutput "id" {\n  value = terraform_data.r.id\n}\n'}
NULL_STACK = {"stack": 'required_providers {\n  null = { source = "hashicorp/null" }\n}\nprovider "null" "main" {}\n',
              "providers": "  providers = { null = provider.null.main }\n",
              "module": 'terraform {\n  required_providers {\n    null = { source = "hashicorp/null" }\n  }\n}\nresource "null_resource" "r" {\n  triggers = { name = var.name, after = var.after }\n}\noutput "id" {\n  value = null_resource.r.id\n}\n'}


class Suite:
    def __init__(self, a):
        self.a, self.rows, self.base = a, [], tempfile.mkdtemp(prefix="weirbench-")
        self.env = dict(os.environ, CHECKPOINT_DISABLE="1", TF_IN_AUTOMATION="1", TF_INPUT="0")
        self.unit = math.inf

    def measure_unit(self):
        """How long the unit takes: the least of all times, a few before each workload."""
        runs = [timed(UNIT, self.base, self.env, 60, os.path.join(self.base, "log"))["cpu"] for _ in range(3)]
        self.unit = min(self.unit, *runs)

    def gen(self, *args):
        d = os.path.join(self.base, "w")
        shutil.rmtree(d, ignore_errors=True)
        subprocess.run([os.path.join(HERE, "gen"), "-out", d, *map(str, args)], check=True)
        return d

    def time(self, args, d, repeat=1, binary=None):
        runs = []
        for _ in range(repeat):
            runs.append(timed([binary or self.a.b] + args, d, self.env, 900, os.path.join(self.base, "log")))
            if runs[-1]["rc"] not in (0, 2):
                sys.exit(f"{args} in {d}: exit {runs[-1]['rc']}\n" + open(os.path.join(self.base, "log"), errors="replace").read()[-2000:])
        return best(runs)

    def parts(self, d, *more):
        """What the parts of the work on the files and the state of a folder take without an engine."""
        state = os.path.join(d, "terraform.tfstate")
        cmd = [self.a.bare, "-files", d, *(["-state", state] if os.path.exists(state) else []), *more]
        return json.loads(subprocess.run(cmd, check=True, capture_output=True, text=True).stdout)

    def floor(self, floors, *parts):
        """The least of each part."""
        return sum(min(f[part] for f in floors) for part in parts) if floors else None

    def add(self, workload, size, step, r, smaller=None, goal=None, ratio=None, **more):
        row = dict(workload=workload, size=size, step=step, cpu=r["cpu"], rss=r["rss"], wall=r["wall"], **more)
        row["units"] = round(r["cpu"] / self.unit, 3)
        if more.get("floor"):
            row["floor"], row["of_floor"] = round(more["floor"], 3), round(r["cpu"] / more["floor"], 2)
        if smaller:
            n, s = smaller
            for key in ("cpu", "rss"):
                row[key + "_exponent"] = round(math.log(max(r[key], .001) / max(s[key], .001)) / math.log(size / n), 2)
        if ratio:
            row["ratio"] = round(ratio, 2 if ratio >= 1 else 3)
        row["must"], row["aim"] = (verdict(row, g) for g in (goal or (None, None)))
        if goal:
            row["goal"] = goal
        self.rows.append(row)
        print(line(row, self.a.recorded), flush=True)

    def wanted(self, name):
        return not self.a.pattern or re.search(self.a.pattern, name)

    def run(self):
        self.measure_unit()
        if self.wanted("version"):
            d = self.gen("-w", "tiny", "-n", 1)
            floor = self.floor([self.parts(d) for _ in range(7)] if self.a.bare else [], "start")
            self.add("version", 1, "–", self.time(["version"], d, 7), goal=((0.012, 30), (0.006, 15)), floor=floor)
        for name, sizes, flags, goals in SUITE + (HUGE if self.a.huge else []):
            if self.wanted(name):
                self.workload(name, sizes, flags, goals)
        if self.wanted("stacks"):
            self.stacks("stacks", STACK)
        if self.a.mirror and self.wanted("stacks of null"):
            self.use_mirror()
            self.stacks("stacks of null", NULL_STACK)
        if self.wanted("state"):
            self.given()
        if self.wanted("edit"):
            self.edit()
        if self.wanted("fmt"):
            self.fmt()
        if self.a.mirror and self.wanted("null"):
            self.null()
        if self.a.mirror and self.wanted("tests"):
            self.tests()
        if self.a.mirror and self.wanted("roots"):
            self.roots()
        if self.a.sim and self.wanted("refresh"):
            self.refresh()
        if os.path.exists(self.a.b + "-temporal") and self.wanted("durable"):
            self.durable()
        if self.a.aws and self.a.smallaws and self.wanted("aws"):
            self.aws()
        shutil.rmtree(self.base)

    def workload(self, name, sizes, flags, goals):
        runs, more, floors = {}, {}, []
        self.measure_unit()
        for _ in range(1 if sizes[-1] >= 10000 and len(sizes) == 1 else 3):
            for n in sizes:
                d = self.gen("-w", name, "-n", n, *flags)
                self.time(["init", "-no-color"], d)
                for step in ALL:
                    runs.setdefault((step, n), []).append(self.time(STEPS[step], d, 5 if n == 1 and step == "plan" else 1))
                    if step == "apply":
                        more = {"state_mib": round(os.path.getsize(os.path.join(d, "terraform.tfstate")) / 2**20, 2)}
                        if self.a.bare and n == sizes[-1]:
                            floors.append(self.parts(d))
        small, big = sizes[0], sizes[-1]
        for step in ALL:
            smaller = (small, best(runs[step, small])) if small < big else None
            floor = self.floor(floors, *FLOOR[step])
            self.add(name, big, step, best(runs[step, big]), smaller, goals.get(step), floor=floor, **(more if step == "apply" else {}))

    def stacks(self, name, files):
        """Deployments of 10 components; without a provider of their own, or with one that all configure alike."""
        runs, floors = {}, []
        steps = {"plan": ["stacks", "plan", "-no-color"], "apply": ["stacks", "apply", "-no-color", "-auto-approve"],
                 "no-op plan": ["stacks", "plan", "-no-color", "-detailed-exitcode"]}
        for _ in range(3):
            for n in (25, 100):
                d = os.path.join(self.base, "w")
                shutil.rmtree(d, ignore_errors=True)
                os.makedirs(os.path.join(d, "m"))
                with open(os.path.join(d, "s.tfcomponent.hcl"), "w") as f:
                    f.write(files["stack"] + 'variable "name" {\n  type = string\n}\n' + "".join(
                        'component "c%d" {\n  source = "./m"\n%s  inputs = {\n    name  = "${var.name}-%d"\n    after = %s\n  }\n}\n'
                        % (i, files["providers"], i, f"component.c{i - 1}.id" if i % 2 else '""') for i in range(10)))
                with open(os.path.join(d, "d.tfdeploy.hcl"), "w") as f:
                    f.write("".join('deployment "d%d" {\n  inputs = { name = "d%d" }\n}\n' % (i, i) for i in range(n)))
                with open(os.path.join(d, "m", "main.tf"), "w") as f:
                    f.write('variable "name" {\n  type = string\n}\nvariable "after" {\n  type = string\n}\n' + files["module"])
                self.time(["stacks", "init", "-no-color"], d)
                for step, args in steps.items():
                    runs.setdefault((step, n), []).append(self.time(args, d))
            if self.a.bare:
                floors.append(self.parts(d))
        for step in steps:
            goal = ((0.4, 120), (0.2, 60)) if files is STACK and step != "apply" else None
            self.add(name, 100, step, best(runs[step, 100]), (25, best(runs[step, 25])), goal, floor=self.floor(floors, "start", "parse"))

    def given(self):
        runs, floors = {}, []
        for _ in range(3):
            for n in (5000, 20000):
                d = self.gen("-w", "static", "-n", n, "-state", "registry.opentofu.org")
                self.time(["init", "-no-color"], d)
                for name, args, goal in GIVEN:
                    runs.setdefault((name, n), []).append(self.time(args, d))
            if self.a.bare:
                floors.append(self.parts(d))
        for name, args, goal in GIVEN:
            self.add(name, 20000, "–", best(runs[name, 20000]), (5000, best(runs[name, 5000])), goal, floor=self.floor(floors, *FLOOR[name]))

    def edit(self):
        """Plans with -refresh=auto after an edit of one of 20,000 blocks each, by themselves and by a daemon, whose time counts, too."""
        n, plan = 20000, ["plan", "-no-color", "-refresh=auto"]
        d = self.gen("-w", "static", "-n", n, "-state", "registry.opentofu.org")
        self.time(["init", "-no-color"], d)
        files = sorted(f for f in os.listdir(d) if re.fullmatch(r"main_[0-9]+\.tf", f))
        socket = os.path.join(self.base, "socket")
        os.makedirs(socket, 0o700)
        usual, runs = self.env, {}
        for way in ("cold", "daemon"):
            self.env = dict(usual, WEIR_DAEMON=os.path.join(socket, "s") if way == "daemon" else "off")
            served = subprocess.Popen([self.a.b, "daemon"], env=self.env, stdout=subprocess.PIPE) if way == "daemon" else None
            try:
                if served:
                    served.stdout.readline()
                for _ in range(2):  # looks at everything, and is remembered
                    self.time(plan, d)
                for i in range(7):
                    path = os.path.join(d, files[i])
                    text = open(path).read()
                    with open(path, "w") as f:
                        f.write(text.replace('input = "', f'input = "{way} {i} ', 1))
                    before = spent(served)
                    r = self.time(plan, d)
                    runs.setdefault(way, []).append(dict(r, cpu=r["cpu"] + spent(served) - before))
                    with open(path, "w") as f:
                        f.write(text)
            finally:
                if served:
                    served.terminate()
                    served.wait()
        self.env = usual
        for way, goal in (("cold", 0.35), ("daemon", 0.05)):
            self.add("edit", n, way, best(runs[way]), goal=((1.0, None), (goal, None)))

    def fmt(self):
        runs, floors = {500: [], 2000: []}, []
        for _ in range(3):
            for n, list in runs.items():
                d = self.gen("-w", "fmt", "-n", n)
                list.append(self.time(["fmt", "-recursive"], d))
            if self.a.bare:
                floors.append(self.parts(self.gen("-w", "fmt", "-n", 2000), "-layout"))
        self.add("fmt", 2000, "–", best(runs[2000]), (500, best(runs[500])), ((0.9, None), (0.5, None)), floor=self.floor(floors, "start", "layout"))

    def use_mirror(self):
        rc = os.path.join(self.base, "rc")
        with open(rc, "w") as f:
            f.write('provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' % os.path.abspath(self.a.mirror))
        self.env["TF_CLI_CONFIG_FILE"] = rc

    def tests(self):
        """Runs over 50 mocked resources. The limit is a twentieth of what the better peer takes."""
        self.use_mirror()

        def run(n, binary=None):
            d = self.gen("-w", "tests", "-kind", "null", "-n", n)
            self.time(["init", "-no-color"], d, 1, binary)
            return self.time(["test", "-no-color"], d, 1, binary)

        runs, peers, floors = {50: [], 200: []}, [], []
        for i in range(3):
            for n, list in runs.items():
                list.append(run(n))
            if self.a.bare:
                floors.append(self.parts(os.path.join(self.base, "w")))
            peers += [run(200, b) for b in self.a.peer[i::3]]
        more, goals = {}, ((24.6 / 20, None), (24.6 / 35, None))
        if peers:
            more = {"times": round(best(peers)["cpu"] / best(runs[200])["cpu"], 1)}
            goals = (("times", 20), ("times", 35))
        self.add("tests", 200, "test", best(runs[200]), (50, best(runs[50])), goals, floor=self.floor(floors, "start", "parse"), **more)

    def roots(self):
        """Roots with 100 objects of one module each, of which nine read the state of the tenth, planned in one run; and by
        200 runs, of which the ratio is the part that the one run takes. The one run starts one process of the provider."""
        self.use_mirror()
        required = 'terraform {\n  required_providers {\n    null = { source = "hashicorp/null" }\n  }\n}\n'
        runs, singles = {50: [], 200: []}, []
        for n in runs:
            d = os.path.join(self.base, "estate", str(n))
            os.makedirs(os.path.join(d, "module"))
            with open(os.path.join(d, "module", "main.tf"), "w") as f:
                f.write(required + 'variable "name" {\n  type = string\n}\nresource "null_resource" "r" {\n  count    = 100\n  triggers = { name = "${var.name}-${count.index}" }\n}\n'
                        'output "ids" {\n  value = null_resource.r[*].id\n}\n')
            for i in range(n):
                root, up = os.path.join(d, f"r{i:03d}"), i - i % 10
                os.makedirs(root)
                name = f'"r{i}"' if i == up else "data.terraform_remote_state.up.outputs.first"
                with open(os.path.join(root, "main.tf"), "w") as f:
                    f.write(required + 'provider "null" {}\nmodule "m" {\n  source = "../module"\n  name   = %s\n}\noutput "first" {\n  value = module.m.ids[0]\n}\n' % name)
                    if i != up:
                        f.write('data "terraform_remote_state" "up" {\n  backend = "local"\n  config  = { path = "../r%03d/terraform.tfstate" }\n}\n' % up)
            self.time(["init", "-all", "-no-color"], d)
            self.time(["apply", "-all", "-no-color", "-auto-approve"], d)
        plan = ["plan", "-no-color", "-detailed-exitcode"]
        for _ in range(3):
            for n in runs:
                runs[n].append(self.time(plan + ["-all"], os.path.join(self.base, "estate", str(n))))
            each = [self.time(plan, os.path.join(self.base, "estate", "200", f"r{i:03d}")) for i in range(200)]
            singles.append(dict(cpu=sum(r["cpu"] for r in each), wall=sum(r["wall"] for r in each), rss=max(r["rss"] for r in each)))
        counters = os.path.join(self.base, "counters")
        self.env["WEIR_COUNTERS"] = counters
        self.time(plan + ["-all"], os.path.join(self.base, "estate", "200"))
        del self.env["WEIR_COUNTERS"]
        if "started 1\n" not in open(counters).read():
            sys.exit("plan -all has started several processes of one configuration:\n" + open(counters).read())
        one = best(singles)
        self.add("roots", 200, "single plans", one)
        self.add("roots", 200, "plan -all", best(runs[200]), (50, best(runs[50])), (("ratio", 0.7), None), ratio=best(runs[200])["cpu"] / one["cpu"])

    def refresh(self):
        """2,000 objects of a simulated cloud that takes 100 ms for a read: as many at once as the engine finds good, to
        ten at a time, by the clock; and with a limit of calls a second, of which the ratio is the part that is used."""
        n, d = 2000, os.path.join(self.base, "cloud")
        os.makedirs(os.path.join(d, "objects"))
        instances = []
        for i in range(n):
            id = f"singleton-n{i}-1"
            with open(os.path.join(d, "objects", id + ".json"), "w") as f:
                json.dump(dict(type="sim_singleton", id=id, name=f"n{i}", region="home", generation=1, attributes={}), f)
            instances.append(dict(index_key=i, schema_version=0, attributes=dict(id=id, name=f"n{i}", replace_key=None, value=None)))
        for name, text in {
            "rc": 'provider_installation {\n  dev_overrides {\n    "weir/sim" = "%s"\n  }\n}\n' % os.path.abspath(self.a.sim),
            "main.tf": 'terraform {\n  required_providers {\n    sim = { source = "weir/sim" }\n  }\n}\nresource "sim_singleton" "a" {\n  count = %d\n  name  = "n${count.index}"\n}\n' % n,
            "terraform.tfstate": json.dumps(dict(version=4, terraform_version="1.12.0", serial=1, lineage="bench", outputs={}, resources=[dict(
                mode="managed", type="sim_singleton", name="a", provider='provider["registry.opentofu.org/weir/sim"]', instances=instances)])),
        }.items():
            with open(os.path.join(d, name), "w") as f:
                f.write(text)
        usual, plan = self.env, ["plan", "-no-color", "-detailed-exitcode"]
        self.env = dict(usual, TF_CLI_CONFIG_FILE=os.path.join(d, "rc"), SIM_CLOUD=d, SIM_LOG="off", SIM_LATENCY="100ms", SIM_AT_ONCE="100")
        ten, many = self.time(plan + ["-parallelism=10"], d), min((self.time(plan, d) for _ in range(3)), key=lambda r: r["wall"])
        self.add("refresh", n, "ten at once", ten)
        self.add("refresh", n, "default ÷ ten", many, goal=(("ratio", 0.15), None), ratio=many["wall"] / ten["wall"])
        self.env.update(SIM_PER_SECOND="50")
        held = self.time(plan, d)
        self.add("refresh", n, "50 a second", held, goal=(("part", 0.9), None), ratio=n / held["wall"] / 50)
        self.env = usual

    def durable(self):
        """200 deployments of ten components on Temporal with a server and three workers, which are killed or not, and in
        one process without it. The time is that of all processes, the memory that of the largest."""
        for step, args in {"3 workers, 20 kills": ["--trials", "20"], "3 workers": ["--trials", "0"], "one process": ["--trials", "0", "--workers", "0"]}.items():
            out = os.path.join(self.base, "durable.json")
            r = self.time([os.path.join(HERE, "..", "test", "chaos", "chaos.py"), "--bin", self.a.b, "--only", "durable", "--n", "2000", "--json", out, *args], self.base, 1, sys.executable)
            with open(out) as f:
                d = json.load(f)["durable"]
            mib = d["mib"]
            self.add("durable", 200, step, dict(r, wall=d["seconds"], rss=max(mib.values()) if isinstance(mib, dict) else mib), a_second=round(d["objects"] / d["seconds"], 1))

    def aws(self):
        """A role and a policy document of hashicorp/aws with a small AWS, what it declares being known; with the calls alone;
        and roles of five configurations, each of which needs a process of its own."""
        found = subprocess.run(["find", self.a.aws, "-name", "terraform-provider-aws_*"], capture_output=True, text=True).stdout.split()
        if not found:
            return print("no hashicorp/aws in the mirror", file=sys.stderr)
        server = subprocess.Popen([self.a.smallaws, "-port", "0"], stdout=subprocess.PIPE, text=True)
        usual, runs, bare = self.env, {1: [], 5: []}, []
        rc, schemas = os.path.join(self.base, "rc"), os.path.join(self.base, "aws.schemas")
        with open(rc, "w") as f:
            f.write('provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' % os.path.abspath(self.a.aws))
        self.env = dict(usual, TF_CLI_CONFIG_FILE=rc, XDG_CACHE_HOME=os.path.join(self.base, "cache"), AWS_ENDPOINT_URL=server.stdout.readline().strip(), AWS_ACCESS_KEY_ID="test",
                        AWS_SECRET_ACCESS_KEY="test", AWS_EC2_METADATA_DISABLED="true", AWS_MAX_ATTEMPTS="2")
        provider = 'provider "aws" {\n  alias                       = "%s"\n  region                      = "%s"\n  skip_credentials_validation = true\n  skip_requesting_account_id  = true\n  skip_metadata_api_check     = true\n}\nresource "aws_iam_role" "%s" {\n  provider           = aws.%s\n  name               = "r"\n  assume_role_policy = data.aws_iam_policy_document.d.json\n}\n'
        try:
            for n in runs:
                os.makedirs(os.path.join(self.base, "aws", str(n)))
                with open(os.path.join(self.base, "aws", str(n), "main.tf"), "w") as f:
                    f.write('terraform {\n  required_providers {\n    aws = { source = "registry.terraform.io/hashicorp/aws" }\n  }\n}\ndata "aws_iam_policy_document" "d" {\n  provider = aws.a\n  statement {\n    actions = ["sts:AssumeRole"]\n  }\n}\n')
                    for alias, region in zip("abcde", ["us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1"][:n]):
                        f.write(provider % (alias, region, alias, alias))
            for i in range(4):  # the first time the provider is asked what it declares
                for n in runs:
                    d = os.path.join(self.base, "aws", str(n))
                    if i == 0:
                        self.time(["init", "-no-color"], d)
                    runs[n].append(self.time(["plan", "-no-color"], d))
                bare.append(self.time(["-provider", found[-1], "-aws", "-schemas", schemas], self.base, 1, self.a.bare))
        finally:
            server.terminate()
            server.wait()
        self.env = usual
        one, five, floor = best(runs[1][1:]), best(runs[5][1:]), best(bare[1:])["cpu"]
        self.add("aws", 1, "plan", one, goal=(("of_floor", 1.2), (0.6, None)), floor=floor)
        self.add("aws", 5, "plan, ÷ one", five, goal=(("of_floor", 1.2), ("ratio", 1.6)), ratio=five["cpu"] / one["cpu"], floor=5 * floor)

    def null(self):
        self.use_mirror()
        found = subprocess.run(["find", os.path.join(os.path.abspath(self.a.mirror), "registry.opentofu.org"), "-name", "terraform-provider-null_*"], capture_output=True, text=True).stdout.split()
        if not found:
            return print("no null provider in the mirror", file=sys.stderr)
        runs, bare = {}, {}
        for _ in range(3):
            for n in (1250, 5000):
                d = self.gen("-w", "static", "-kind", "null", "-n", n, "-state", "registry.opentofu.org")
                self.time(["init", "-no-color"], d)
                for step, args, calls, _ in NULL:
                    runs.setdefault((step, n), []).append(self.time(args, d))
                    if n == 5000:
                        bare.setdefault(step, []).append(self.time(["-provider", found[-1], "-n", str(n), "-plan", calls], d, 1, self.a.bare))
        for step, _, _, limits in NULL:
            r = best(runs[step, 5000])
            floor = best(bare[step])["cpu"]
            self.add("null_resource", 5000, step, r, (1250, best(runs[step, 1250])), [("ratio", l) for l in limits], ratio=r["cpu"] / floor, floor=floor)


def spent(process):
    """The CPU time that a process has used, in seconds, by the clock ticks that the system counts; 0 for none."""
    if process is None:
        return 0
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def best(runs):
    """The run with the least CPU time, with the middle peak of memory."""
    rss = sorted(r["rss"] for r in runs)[len(runs) // 2]
    return dict(min(runs, key=lambda r: r["cpu"]), rss=rss)


def verdict(row, goal):
    if goal is None:
        return None
    if goal[0] == "ratio":
        return row["ratio"] <= goal[1]
    if goal[0] == "part":
        return row["ratio"] >= goal[1]
    if goal[0] == "times":
        return row["times"] >= goal[1]
    if goal[0] in ("units", "of_floor"):
        return row[goal[0]] <= goal[1]
    cpu, rss = goal
    if cpu is None and rss is None:
        return None
    return (cpu is None or row["cpu"] <= cpu) and (rss is None or row["rss"] <= rss)


HEAD = "| workload | size | step | CPU s | MiB | units | floor s | ÷ floor | exponent CPU / memory | of another row | objects a second | peer ÷ | must | aim | CPU before |\n" + "|---" * 15 + "|"


def line(r, recorded):
    mark = {True: "met", False: "**missed**", None: ""}
    exponent = f"{r['cpu_exponent']} / {r['rss_exponent']}" if "cpu_exponent" in r else ""
    before = recorded.get((r["workload"], r["size"], r["step"]), {}).get("cpu", "")
    aim = mark[r["aim"]] + (f" {r['goal'][1][1]} units" if r.get("goal") and r["goal"][1] and r["goal"][1][0] == "units" else "")
    of_floor = r["ratio"] if r["workload"] == "null_resource" else r.get("of_floor", "")
    of_time = r.get("ratio", "") if r["workload"] in ("roots", "refresh", "aws") else ""
    return f"| {r['workload']} | {r['size']} | {r['step']} | {r['cpu']:.3f} | {r['rss']:.0f} | {r.get('units', '')} | {r.get('floor') or ''} | {of_floor} | {exponent} | {of_time} | {r.get('a_second', '')} | {r.get('times', '')} | {mark[r['must']]} | {aim} | {before} |"


def commit():
    return subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()


def main():
    ap = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    ap.add_argument("-b", required=True, help="binary")
    ap.add_argument("--mirror", help="folder with the null provider")
    ap.add_argument("--bare", help="the program of bench/bare")
    ap.add_argument("--sim", help="folder with the provider of the simulated cloud")
    ap.add_argument("--aws", help="folder with hashicorp/aws")
    ap.add_argument("--smallaws", help="the program of test/cloud/cmd/smallaws")
    ap.add_argument("--peer", action="append", default=[], help="another engine, for tests of modules")
    ap.add_argument("--huge", action="store_true", help="100,000 instances too")
    ap.add_argument("--record", action="store_true")
    ap.add_argument("pattern", nargs="?")
    a = ap.parse_args()
    store = os.path.join(HERE, "results.json")
    old = json.load(open(store)) if os.path.exists(store) else []
    a.recorded = {(r["workload"], r["size"], r["step"]): r for r in old}
    print(HEAD)
    s = Suite(a)
    s.run()
    steep = [r for r in s.rows if r.get("cpu_exponent", 0) > GROWTH[0] or r.get("rss_exponent", 0) > GROWTH[0]]
    for kind in ("must", "aim"):
        of = [r for r in s.rows if r[kind] is not None]
        print(f"\n{kind}: {sum(r[kind] for r in of)} of {len(of)} met", end="")
    print(f"; steeper than {GROWTH[0]}: " + (", ".join(f"{r['workload']} {r['step']}" for r in steep) or "none"))
    if a.record:
        merged = dict(a.recorded)
        merged.update({(r["workload"], r["size"], r["step"]): r for r in s.rows})
        rows = list(merged.values())
        json.dump(rows, open(store, "w"), indent=1)
        with open(os.path.join(HERE, "RESULTS.md"), "w") as f:
            f.write(f"# The last recorded table\n\nWritten by `make bench RECORD=1` on {datetime.date.today()} at commit {commit()}, on {os.cpu_count()} processors. CPU is user and system time of the process and its children; memory is the peak of the largest process. The exponent is between a quarter of the size and the size. A unit is a bare loop of 400,000 hashes of 1 KiB in Python. The floor is the CPU time of the bare work: start, parsing, decoding, encoding, or calls of a provider.\n\n")
            f.write(HEAD + "\n" + "\n".join(line(r, {}) for r in rows) + "\n")


if __name__ == "__main__":
    main()
