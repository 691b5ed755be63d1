#!/usr/bin/env python3
"""Runs small configurations of real providers with weir and OpenTofu: schema, validate and plan.

    beside.py WEIR OPENTOFU MIRROR [-page FILE -commit COMMIT] [NAME...]

Each configuration in examples/ needs no server: nothing is applied. The JSON of both engines has to be equal. CPU is
that of the engine with its provider, memory the peak of the engine itself. A provider that the mirror lacks is named.
"""
import argparse, json, os, pathlib, re, resource, shutil, subprocess, tempfile, threading, time

here = pathlib.Path(__file__).resolve().parent
COMMANDS = {"schema": ["providers", "schema", "-json"], "validate": ["validate", "-json"],
            "plan": ["plan", "-input=false", "-out=tfplan", "-no-color"], "show": ["show", "-json", "tfplan"]}


def measured(command, cwd, env):
    """Run a command: exit code, what it prints, CPU seconds with its children, peak MiB of itself."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        peak = [0]

        def watch():
            while p.poll() is None:
                try:
                    found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{p.pid}/status").read_text())
                    peak[0] = max(peak[0], int(found[1]) // 1024 if found else 0)
                except (OSError, TypeError):
                    pass
                time.sleep(0.005)
        watcher = threading.Thread(target=watch)
        watcher.start()
        p.wait(600)
        watcher.join()
        out.seek(0)
        text = out.read().decode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return p.returncode, text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak[0]


def comparable(name, text):
    """What both engines have to agree on. docs/where-weir-differs.md has the rest."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if name == "schema":
        return {p: {k: v for k, v in s.items() if k not in ("action_schemas", "list_resource_schemas")} for p, s in value.get("provider_schemas", {}).items()}
    if name == "validate":
        return {k: value.get(k) for k in ("valid", "error_count", "warning_count")}
    return {k: value.get(k) for k in ("resource_changes", "output_changes", "planned_values", "prior_state", "configuration")}


def run(engine, example, mirror, work):
    shutil.copy(example, work / "main.tf")
    (work / "cli.tfrc").write_text('provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' % mirror)
    env = {"PATH": os.environ["PATH"], "HOME": str(work), "TF_CLI_CONFIG_FILE": str(work / "cli.tfrc"), "WEIR_COMPAT": "opentofu", "CHECKPOINT_DISABLE": "1"}
    code, text, _, _ = measured([engine, "init", "-input=false", "-no-color"], work, env)
    if code:
        return {"init": (code, text, 0, 0)}
    return {name: measured([engine, *command], work, env) for name, command in COMMANDS.items()}


def lines(args):
    for example in sorted((here / "examples").glob("*.tf")):
        name = example.stem
        if args.names and name not in args.names:
            continue
        source = re.search(r'source\s*=\s*"([^"]+)"', example.read_text())[1]
        versions = sorted(p.parent.parent for p in (args.mirror / "registry.opentofu.org" / source).glob("*/*/terraform-provider-*"))
        if not versions:
            yield name, "", "not in the mirror", None, None
            continue
        results = []
        for engine in (args.peer, args.weir):
            with tempfile.TemporaryDirectory() as work:
                results.append(run(engine, example, args.mirror, pathlib.Path(work)))
        peer, weir = results
        bad = [n for n in peer if n not in weir or peer[n][0] != weir[n][0] or n in ("schema", "validate", "show") and comparable(n, peer[n][1]) != comparable(n, weir[n][1])]
        if "init" in peer or "init" in weir:
            outcome = "init fails: " + (peer.get("init") or weir.get("init"))[1].strip().splitlines()[-1]
        elif bad:
            outcome = "different: " + ", ".join(bad)
            for n in bad:
                for who, r in (("opentofu", peer), ("weir", weir)):
                    path = args.out / f"{name}.{n}.{who}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(r[n][1] if n in r else "")
        elif peer["plan"][0]:
            outcome = "equal; both plans fail"
        else:
            changes = len(json.loads(weir["show"][1]).get("resource_changes", []))
            outcome = f"equal, plan with {changes} changes"
        yield name, versions[-1].name, outcome, peer, weir


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weir", type=os.path.abspath)
    parser.add_argument("peer", type=os.path.abspath)
    parser.add_argument("mirror", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("-page", type=pathlib.Path)
    parser.add_argument("-commit", default="")
    parser.add_argument("-out", type=pathlib.Path, default=".cache/providers")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    rows, failed = [], False
    for name, version, outcome, peer, weir in lines(args):
        print(f"{name:12} {version:10} {outcome}", flush=True)
        failed |= outcome.startswith("different")
        cells = ["", "", ""]
        if peer and "schema" in peer and "schema" in weir:
            cells = [f"{peer[n][2]:.1f} / {weir[n][2]:.1f}, {peer[n][3]} / {weir[n][3]}" for n in ("schema", "validate", "plan")]
        rows.append("| " + " | ".join([name, version, outcome, *cells]) + " |")
    if args.page:
        before, _, rest = args.page.read_text().partition("<!-- providers -->\n")
        after = rest.partition("<!-- end -->\n")[2]
        table = [f"Recorded at commit {args.commit} with `make providers-beside OPENTOFU=BINARY`:", "",
                 "| provider | version | schema, validate, plan | schema | validate | plan |", "|---|---|---|---|---|---|", *rows]
        args.page.write_text(before + "<!-- providers -->\n" + "\n".join(table) + "\n<!-- end -->\n" + after)
    raise SystemExit(failed)


main()
