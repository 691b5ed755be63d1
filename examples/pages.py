#!/usr/bin/env python3
"""Run the commands of a page in an empty folder and compare what they print.

    examples/pages.py PROGRAM PAGE...

A fenced block "hcl FILE" is the content of FILE. In a block "console" a line that starts
with "$ " is a command, and the lines below it are its output on a terminal of 100 columns.
"…" stands for any text in a line, or alone for any lines. An "Enter a value: X" is answered
with X. A command that prints an address of this machine serves a page: it is loaded, and then
the command gets an interrupt.

A page that uses tofu or terraform is skipped where that program isn't in the PATH."""
import os, pty, re, select, shutil, signal, subprocess, sys, tempfile, time, urllib.request, fcntl, struct, termios

LIMIT = 120  # seconds for one command
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b[=>]")


def blocks(page):
    """The fenced blocks of a page: line, words behind the fence, text."""
    inside, words, start, indent, lines = False, [], 0, 0, []
    for n, line in enumerate(page.split("\n"), 1):
        if line.strip().startswith("```"):
            if inside:
                yield start, words, lines
            indent = len(line) - len(line.lstrip())
            inside, words, start, lines = not inside, line.strip()[3:].split(), n, []
        elif inside:
            lines.append(line[indent:])


def commands(lines, start):
    """The commands of a block: line, command, output."""
    found = []
    for n, line in enumerate(lines, start + 1):
        if line.startswith("$ "):
            found.append([n, line[2:], []])
        elif found and found[-1][1].endswith("\\"):
            found[-1][1] += "\n" + line
        elif found:
            found[-1][2].append(line)
    return found


def play(command, answers, folder, env, memory):
    """Run a command on a terminal of its own. Folder and variables last, as in one shell."""
    script = f"set +m; [ -e {memory}/env ] && . {memory}/env\ncd \"$(cat {memory}/pwd)\"\n{command}\n"
    script += f"code=$?; pwd >{memory}/pwd; export -p >{memory}/env; exit $code"
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "-c", script], env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    out, end, served, answers = b"", time.time() + LIMIT, False, list(answers)
    seen = 0
    while True:
        if time.time() > end:
            os.kill(pid, signal.SIGKILL)
            raise SystemExit(f"{command}: no end after {LIMIT} s\n{out.decode()}")
        ready, _, _ = select.select([fd], [], [], 0.2)
        if ready:
            try:
                data = os.read(fd, 65536)
            except OSError:
                data = b""
            if not data:
                break
            out += data
        if answers and b"Enter a value: " in out[seen:] and not ready:
            seen = len(out)
            os.write(fd, answers.pop(0).encode() + b"\n")
        address = re.search(rb"http://127\.0\.0\.1:\d+/[\w-]+/", out)
        if address and not served and not ready:
            served = True
            with urllib.request.urlopen(address[0].decode(), timeout=10) as page:
                if b"<html" not in page.read():
                    raise SystemExit(f"{address[0].decode()} serves no page")
            os.write(fd, b"\x03")
    os.waitpid(pid, 0)
    text = ESCAPES.sub("", out.decode()).replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"(?m)^bash: line \d+: +\d+ Killed.*\n", "", text)  # bash may say so, if it is fast enough


def matches(want, got):
    """Whether lines match, where … is any text, and a line of … any lines."""
    def strip(lines):
        return [l.rstrip() for l in lines if l.strip()]
    pattern = ""
    for line in strip(want):
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"[^\n]*".join(re.escape(part) for part in line.split("…")) + r"\n"
    return re.fullmatch(pattern, "".join(l + "\n" for l in strip(got)))


def run(program, name):
    with open(name, encoding="utf-8") as f:
        page = f.read()
    played = [b for b in blocks(page) if b[1] and b[1][0] == "console"]
    used = {c[1].split()[0] for b in played for c in commands(b[2], b[0])}
    missing = [p for p in ("tofu", "terraform") if p in used and not shutil.which(p)]
    if missing:
        print(f"{name}: skipped, {missing[0]} isn't in the PATH")
        return True
    count = 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as memory:
        os.mkdir(f"{memory}/bin")
        os.symlink(os.path.abspath(program), f"{memory}/bin/weir")
        env = {"HOME": f"{memory}/home", "TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8",
               "PATH": f"{memory}/bin:{os.environ['PATH']}", "WEIR_DAEMON": "off", "CHECKPOINT_DISABLE": "1"}
        os.mkdir(f"{memory}/home")
        with open(f"{memory}/pwd", "w") as f:
            f.write(folder)
        for start, words, lines in blocks(page):
            here = open(f"{memory}/pwd").read().strip()
            if words and words[0] in ("hcl", "json") and len(words) == 2:
                os.makedirs(os.path.dirname(f"{here}/{words[1]}"), exist_ok=True)
                with open(f"{here}/{words[1]}", "w", encoding="utf-8") as f:
                    f.write("\n".join(lines) + "\n")
            if not words or words[0] != "console":
                continue
            for line, command, want in commands(lines, start):
                answers = re.findall(r"Enter a value: (\S+)", "\n".join(want))
                got = play(command, answers, folder, env, memory)
                count += 1
                if not matches(want, got.split("\n")):
                    print(f"{name}:{line}: {command}\n--- the page has\n" + "\n".join(want) + f"\n--- it prints\n{got}")
                    return False
    if not count:
        print(f"{name} has no commands")
        return False
    print(f"{name}: {count} commands")
    return True


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(0 if all([run(sys.argv[1], page) for page in sys.argv[2:]]) else 1)
