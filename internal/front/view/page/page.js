// Opens and filters the rows of a plan. All text is set as text.
(() => {
  const data = () => (data.of ||= JSON.parse(document.getElementById("data").textContent));
  const make = (name, text, cls) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    return e;
  };
  const marks = [[/^ *(-\/\+|\+\/-) /, "replace"], [/^ *~ /, "update"], [/^ *\+ /, "create"], [/^ *- /, "delete"], [/^ *#/, "quiet"]];
  const diff = (text) => {
    const pre = make("pre", undefined, "diff");
    for (const line of text.replace(/\n+$/, "").split("\n")) {
      const mark = marks.find(([form]) => form.test(line));
      pre.append(make("span", line + "\n", mark ? mark[1] : ""));
    }
    return pre;
  };
  const list = (title, items, open) => {
    const part = make("details", undefined, "part");
    part.open = open;
    const all = make("ul");
    all.append(...items);
    part.append(make("summary", title), all);
    return part;
  };
  // What depends on a block, nearest first.
  const dependents = (start) => {
    const blocks = data().blocks, seen = new Set([start]), found = [];
    let level = [start];
    while (level.length) {
      const next = [];
      for (const n of level) for (const by of blocks[n].by || []) {
        if (!seen.has(by)) { seen.add(by); next.push(by); found.push({ block: blocks[by], direct: n === start }); }
      }
      level = next;
    }
    return found;
  };
  const fill = (row) => {
    const d = data().rows[row.dataset.row], body = make("div", undefined, "body");
    if (d.why && d.why.length) body.append(list("Why", d.why.map((text) => make("li", text)), true));
    const by = d.block < 0 ? [] : dependents(d.block);
    if (by.length) {
      const touched = by.filter((x) => x.block.class !== "none").length;
      body.append(list(`Blast radius: ${by.length === 1 ? "1 block depends" : by.length + " blocks depend"} on it, ${touched} of them ${touched === 1 ? "changes" : "change"}`, by.map((x) => {
        const item = make("li");
        item.append(make("span", "", "dot " + x.block.class), " ", make("code", x.block.address), (x.block.count > 1 ? " ×" + x.block.count : "") + " " + x.block.word + (x.direct ? "" : ", through others"));
        return item;
      }), by.length <= 12));
    } else if (d.block >= 0) body.append(make("p", "Nothing depends on it.", "quiet"));
    const changes = d.changes || [];
    changes.forEach((c, i) => {
      if (i === 0) { body.append(diff(c.text)); return; }
      const one = make("details", undefined, "part");
      one.append(make("summary", c.address));
      one.addEventListener("toggle", () => { if (one.open && one.children.length === 1) one.append(diff(c.text)); });
      body.append(one);
    });
    if (d.left) body.append(make("p", `${d.left} further changes like these aren't in this page: there was no room for them.`, "quiet"));
    row.append(body);
  };
  const rows = [...document.querySelectorAll(".row")];
  const open = (details) => { if (details.children.length === 1) fill(details); };
  document.querySelector(".rows").addEventListener("toggle", (e) => {
    if (e.target.dataset.row !== undefined && e.target.open) open(e.target);
  }, true);

  const filter = document.getElementById("filter"), shown = document.getElementById("shown"), none = document.getElementById("none");
  const texts = new Map();
  const text = (row) => {
    if (!texts.has(row)) texts.set(row, row.querySelector("summary").textContent.toLowerCase());
    return texts.get(row);
  };
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kinds = new Set([...document.querySelectorAll("[name=kind]:checked")].map((e) => e.value));
    const at = document.querySelector("[name=module]:checked"), module = at ? at.value : "";
    let count = 0;
    for (const row of rows) {
      const m = row.dataset.module;
      const on = kinds.has(row.dataset.kind) && (!module || m === module || m.startsWith(module + ".")) && words.every((w) => text(row).includes(w));
      row.hidden = !on;
      if (on) count++;
    }
    shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} rows`;
    none.hidden = count > 0;
  };
  const form = filter.closest("form");
  form.addEventListener("input", apply);
  form.addEventListener("submit", (e) => e.preventDefault());
  apply();
  // A page that is printed shows what is open; addresses in the URL open their row.
  const named = () => {
    const want = decodeURIComponent(location.hash.slice(1));
    const row = want && rows.find((r) => r.querySelector(".address").textContent === want);
    if (row) { row.firstElementChild.open = true; open(row.firstElementChild); row.scrollIntoView(); }
  };
  addEventListener("hashchange", named);
  named();
})();
