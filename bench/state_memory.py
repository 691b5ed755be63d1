#!/usr/bin/env python3
"""Measure the memory of commands that read a large state, in sizes of its file: 250,000 objects
of half a kilobyte, and 50,000 of 2.3.

    bench/state_memory.py BIN...
"""
import json, multiprocessing, os, subprocess, sys, tempfile, time

COMMANDS = (["state", "pull"], ["state", "list"], ["output"], ["show", "-json"], ["show"])
PROVIDER = 'provider["terraform.io/builtin/terraform"]'


def write(path, count, attributes):
    instances = [{"index_key": i, "schema_version": 0, "attributes": attributes(i), "sensitive_attributes": []} for i in range(count)]
    resource = {"mode": "managed", "type": "terraform_data", "name": "a", "provider": PROVIDER, "instances": instances}
    with open(path, "w") as f:
        json.dump({"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {}, "resources": [resource], "check_results": None}, f, indent=2)


def small(i):
    value = {"type": "string", "value": f"value of {i}"}
    return {"id": f"{i:032x}", "input": value, "output": value, "triggers_replace": None}


def large(i):
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:Get*", f"s3:List{n}"], "Resource": f"arn:aws:s3:::bucket-{i}/*"} for n in range(5)]}
    value = {"arn": f"arn:aws:iam::123456789012:role/service-{i}", "tags": {f"tag{n}": f"value {n} of {i}" for n in range(12)}, "policy": json.dumps(policy)}
    typ = ["object", {"arn": "string", "tags": ["map", "string"], "policy": "string"}]
    return {"id": str(i), "input": {"type": typ, "value": value}, "output": {"type": "string", "value": "x" * 300}, "triggers_replace": None}


for count, attributes in (250_000, small), (50_000, large):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "terraform.tfstate")
        # In a process of its own: children begin with the memory of this one.
        writer = multiprocessing.Process(target=write, args=(path, count, attributes))
        writer.start()
        writer.join()
        time.sleep(5)  # a file that has just changed is read twice
        size = os.path.getsize(path)
        for binary in sys.argv[1:]:
            for command in COMMANDS:
                p = subprocess.Popen([os.path.abspath(binary), *command], cwd=folder, stdout=subprocess.DEVNULL)
                _, status, used = os.wait4(p.pid, 0)
                if status:
                    sys.exit(f"{binary} {command}: {status}")
                print(f"{count:>7} {os.path.basename(binary):10} {' '.join(command):12} {used.ru_maxrss * 1024 / size:5.1f} sizes {used.ru_utime + used.ru_stime:6.1f} s", flush=True)
