#!/usr/bin/env python3
"""Breaks the engine in one place after the other, without touching a file, and says
how many histories the simulation plays until it notices. Prints rows for docs/trust.md.

    internal/testing/simulation/mutants.py [HISTORIES [NAME]]
"""
import json, os, re, subprocess, sys, tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
MUTANTS = [
    ("an intent isn't synced", "internal/state/journal/writer.go",
     "\tw.write(text)\n\treturn w.sync(w.added)", "\tw.write(text)\n\treturn w.err"),
    ("the intent comes after the call", "internal/apply/journal.go",
     "if diags = r.intent(i.Intent); diags.HasErrors() {\n\t\t\treturn\n\t\t}\n\t\tbegun = true\n\t\tr.tell(e)\n\t\tafter, diags = s.Apply(ctx, in)",
     "begun = true\n\t\tr.tell(e)\n\t\tafter, diags = s.Apply(ctx, in)\n\t\tdiags.Append(r.intent(i.Intent))"),
    ("results aren't journalled", "internal/workspace/lockedstate/recorder.go",
     "err := r.w.Result(at, stored)", "var err error"),
    ("a call without an answer isn't in doubt", "internal/workspace/lockedstate/recorder.go",
     "\t\tr.doubts[at] = o\n\t}\n\tr.mu.Unlock()", "\t}\n\tr.mu.Unlock()"),
    ("a lock stays nowhere, whatever is unsettled", "internal/workspace/lockedstate/held.go",
     "return unsettled && lasting", "return false && unsettled && lasting"),
    ("the old file of a state is written to before the new name is synced", "internal/state/storage/local/replace.go",
     "\ts.disk.SyncFolder(filepath.Dir(path))\n\n\t// The new state", "\n\t// The new state"),
    ("doubts are forgotten when the run ends", "internal/workspace/lockedstate/recorder.go",
     "if len(left) == 0 {", "if len(left) >= 0 {"),
    ("the folder of a new journal isn't synced", "internal/state/journal/writer.go",
     "\tdisk.SyncFolder(folder)\n\treturn w, nil", "\treturn w, nil"),
    ("a folder's own name isn't synced", "internal/sys/durable/disk.go",
     "\t\td.SyncFolder(filepath.Dir(at))\n", "\t\t_ = at\n"),
    ("states are written in place", "internal/state/storage/local/replace.go",
     "\ttemp, err := writeTemp(s.disk, path, content, modeOf(path, 0o600))\n",
     "\tif s.held != nil && isAt(s.held.file.File, path) {\n\t\treturn overwrite(s.held.file, content)\n\t}\n\ttemp, err := writeTemp(s.disk, path, content, modeOf(path, 0o600))\n"),
    ("notes aren't read", "internal/workspace/lockedstate/notes.go",
     "\tif !s.claimed {\n\t\treturn nil //", "\tif true {\n\t\treturn nil //"),
    ("creations don't wait for the note", "internal/workspace/lockedstate/notes.go",
     "if n == nil || o.Action != journal.Create {", "if n != nil || o.Action != journal.Create {"),
    ("a note is settled by what was there before", "internal/state/journal/journal.go",
     "there != nil && Tell(there) != o.Former", "there != nil"),
    ("what others kept replaces what the run made", "internal/state/journal/journal.go",
     " || former[nameOf(there)]", ""),
    ("any lock is taken over", "internal/workspace/lockedstate/held.go",
     "if left.Operation == plans || !s.remote() {", "if true {"),
    ("nothing is locked", "internal/workspace/lockedstate/session.go",
     "\tif l.Off {\n", "\tif true {\n"),
    ("uploads have no condition", "internal/state/storage/gcs/store.go",
     "\tif s.seen != nil {\n\t\tif replaces", "\tif false {\n\t\tif replaces"),
    ("the journal goes before the state is saved", "internal/workspace/lockedstate/recorder.go",
     "\tif err := s.save(ctx, result); err != nil {", "\tif r != nil {\n\t\t_ = s.Disk.Remove(s.journalPath())\n\t}\n\tif err := s.save(ctx, result); err != nil {"),
]


def play(name, path, old, new, histories):
    with open(os.path.join(ROOT, path)) as f:
        text = f.read()
    if text.count(old) != 1:
        return f"| {name} | the place is found {text.count(old)} times | |"
    with tempfile.TemporaryDirectory() as d:
        broken, overlay, binary = os.path.join(d, "broken.go"), os.path.join(d, "overlay.json"), os.path.join(d, "test")
        with open(broken, "w") as f:
            f.write(text.replace(old, new))
        with open(overlay, "w") as f:
            json.dump({"Replace": {os.path.join(ROOT, path): broken}}, f)
        package = os.path.join(ROOT, "internal/testing/simulation")
        build = subprocess.run(["go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "."], cwd=package, capture_output=True, text=True)
        if build.returncode:
            return f"| {name} | doesn't compile: {build.stderr[:300]} | |"
        run = subprocess.run([binary, "-test.run", "TestHistories", "-histories", str(histories)], cwd=package, capture_output=True, text=True)
        found = re.search(r"seed (\d+): (\w+):", run.stdout)
        if not found:
            return f"| {name} | not in {histories} | |"
        return f"| {name} | {found[1]} | {found[2]} |"


def main():
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| what is broken | found by history | rule |\n|---|---:|---|", flush=True)
    for m in MUTANTS:
        if len(sys.argv) < 3 or sys.argv[2] in m[0]:
            print(play(*m, histories), flush=True)


main()
