#!/usr/bin/env python3
"""Draw docs/images/plan-cost.svg from what is recorded: weir's CPU seconds in results.json,
those of the better peer in the table of README.md. Nothing is measured here."""
import json, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "docs", "images", "plan-cost.svg")

# the row of README.md; workload, size and step of results.json; what the chart says
ROWS = [
    ("modules 300 (3000 resources)", ("modules", 300, "plan"), "3,000 objects, 300 module calls"),
    ("foreach 2×1000", ("foreach", 1000, "plan"), "2,000 objects by for_each"),
    ("count 2×1000", ("count", 1000, "plan"), "2,000 objects by count"),
    ("chain 2000", ("chain", 2000, "plan"), "2,000 objects, one after the other"),
    ("null_resource 5k", ("null_resource", 5000, "no-op plan"), "5,000 objects of a real provider"),
]

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1d2330; }
.quiet { fill: #5b6475; } .title { font-weight: 600; font-size: 15px; } .ours { fill: #0b6bcb; } .theirs { fill: #a7b0bf; } .times { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #dde2ea; } .quiet { fill: #98a2b3; } .ours { fill: #62a8f0; } .theirs { fill: #596273; }
}"""


def peers():
    """CPU seconds of the better peer, by row and step."""
    found = {}
    for line in open(os.path.join(HERE, "README.md"), encoding="utf-8"):
        cells = [c.strip() for c in line.split("|")]
        m = len(cells) > 4 and re.match(r"([\d.]+) s\b", cells[3])
        if m:
            found[cells[1], cells[2]] = float(m[1])
    return found


def ours():
    with open(os.path.join(HERE, "results.json"), encoding="utf-8") as f:
        return {(r["workload"], r["size"], r["step"]): r["cpu"] for r in json.load(f)}


def draw(rows):
    left, width, top, step = 250, 330, 72, 46
    most = max(theirs for _, theirs, _ in rows)
    height = top + step * len(rows) + 8
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" width="720" height="{height}" role="img">',
           "<title>CPU seconds of a plan: " + "; ".join(f"{l}: weir {m:.2f}, OpenTofu or Terraform {t:.1f}" for l, t, m in rows) + "</title>",
           f"<style>{STYLE}</style>",
           '<text x="12" y="24" class="title">CPU seconds of a plan</text>',
           '<rect x="12" y="38" width="12" height="12" class="ours"/><text x="30" y="49">weir</text>',
           '<rect x="82" y="38" width="12" height="12" class="theirs"/><text x="100" y="49">the faster of OpenTofu and Terraform</text>']
    for i, (label, theirs, mine) in enumerate(rows):
        y = top + step * i
        bar = lambda v: max(2, round(width * v / most, 1))
        out += [f'<text x="{left - 12}" y="{y + 20}" text-anchor="end">{label}</text>',
                f'<rect x="{left}" y="{y}" width="{bar(mine)}" height="14" class="ours"/>',
                f'<text x="{left + bar(mine) + 6}" y="{y + 12}">{mine:.2f}</text>',
                f'<rect x="{left}" y="{y + 16}" width="{bar(theirs)}" height="14" class="theirs"/>',
                f'<text x="{left + bar(theirs) + 6}" y="{y + 28}">{theirs:.1f}</text>',
                f'<text x="708" y="{y + 20}" text-anchor="end" class="times">{theirs / mine:.{0 if theirs / mine > 10 else 1}f}× faster</text>']
    return "\n".join(out + ["</svg>", ""])


def main():
    theirs, mine = peers(), ours()
    text = draw([(label, theirs[row, key[2]], mine[key]) for row, key, label in ROWS])
    with open(OUT, "w", encoding="utf-8") as f:
        f.write(text)
    print(f"{os.path.relpath(OUT)}: {len(text.encode())} bytes")


if __name__ == "__main__":
    sys.exit(main())
