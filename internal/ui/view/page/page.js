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
    if (d.waits && d.waits.length) body.append(list("Waits for", d.waits.map((text) => make("li", text)), true));
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

  // Rows of many blocks whose names differ in numbers only are folded: the first stands for all.
  const folds = new Map(), unfolded = new Set(), heads = [];
  if (rows.length > 200) {
    for (const row of rows) {
      const key = row.dataset.kind + " " + row.querySelector(".address").textContent.replace(/\d+/g, "*");
      if (!folds.has(key)) folds.set(key, []);
      folds.get(key).push(row);
    }
    for (const [key, members] of folds) {
      if (members.length < 10) continue;
      const head = make("li", undefined, "fold"), b = make("button", "");
      b.type = "button";
      b.setAttribute("aria-expanded", "false");
      const say = () => { b.textContent = `${unfolded.has(key) ? "▾" : "▸"} ${members[0].querySelector(".word").textContent} ${key.slice(key.indexOf(" ") + 1)} ×${members.length}`; };
      b.addEventListener("click", () => {
        if (!unfolded.delete(key)) unfolded.add(key);
        b.setAttribute("aria-expanded", String(unfolded.has(key)));
        say();
        apply();
      });
      say();
      const state = make("span", "", "live");
      head.append(b, state);
      heads.push({ head, members, live: state });
      for (const row of members) row.fold = key;
      members[0].before(head);
    }
  }
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
      row.hidden = !on || row.fold !== undefined && !words.length && !unfolded.has(row.fold);
      if (on) count++;
    }
    shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} rows`;
    none.hidden = count > 0;
    for (const h of heads) h.head.hidden = words.length > 0 || !h.members.some((row) => kinds.has(row.dataset.kind) && (!module || row.dataset.module === module || row.dataset.module.startsWith(module + ".")));
  };
  const form = filter.closest("form");
  form.addEventListener("input", apply);
  form.addEventListener("submit", (e) => e.preventDefault());
  apply();
  // A page that is printed shows what is open; addresses in the URL open their row.
  const named = () => {
    const want = decodeURIComponent(location.hash.slice(1));
    const row = want && rows.find((r) => r.querySelector(".address").textContent === want);
    if (row && row.fold !== undefined && !unfolded.has(row.fold)) heads.find((h) => h.members.includes(row)).head.firstElementChild.click();
    if (row) { row.firstElementChild.open = true; open(row.firstElementChild); row.scrollIntoView(); }
  };
  addEventListener("hashchange", named);
  named();
  // While it is applied, the page around this one says what becomes of each object.
  let objects = new Map(), rowOf;
  const of = (ms) => ms < 60000 ? Math.floor(ms / 1000) + "s" : Math.floor(ms / 60000) + "m" + String(Math.floor(ms / 1000) % 60).padStart(2, "0") + "s";
  const sums = (list) => {
    const n = { running: 0, done: 0, failed: 0 };
    for (const o of list) n[o.state]++;
    return n;
  };
  const brief = (text) => { const line = text.replace(/\s+/g, " "); return line.length > 160 ? line.slice(0, 159) + "…" : line; };
  const phrase = (list, all) => {
    const n = sums(list), one = list[0];
    if (all === 1 && one) return one.state === "running" ? `${one.word} ${of(Date.now() - one.at)}` : one.state === "done" ? `done in ${of(one.took)}` : "failed" + (one.reason ? ": " + brief(one.reason) : "");
    return [n.running && `${n.running} running`, n.done && `${n.done} of ${all} done`, n.failed && `${n.failed} failed`].filter(Boolean).join(", ") || "waiting";
  };
  const live = () => {
    if (!rowOf) {
      rowOf = new Map();
      data().rows.forEach((d, i) => { for (const c of d.changes || []) rowOf.set(c.address, i); });
    }
    const byRow = new Map(), byBlock = new Map(), byNode = new Map();
    const put = (map, key, list) => {
      if (!map.has(key)) map.set(key, []);
      for (const o of list) map.get(key).push(o);
    };
    for (const [name, o] of objects) {
      const i = rowOf.get(name);
      if (i !== undefined) put(byRow, i, [o]);
      put(byBlock, name.replace(/\[[^\]]*\]/g, ""), [o]);
    }
    for (const h of heads) {
      const list = h.members.flatMap((row) => byRow.get(Number(row.firstElementChild.dataset.row)) || []), n = sums(list);
      h.live.textContent = objects.size ? phrase(list, h.members.length) : "";
      h.live.className = "live " + (n.failed ? "failed" : n.running ? "running" : n.done ? "done" : "");
    }
    for (const row of rows) {
      const i = Number(row.firstElementChild.dataset.row), list = byRow.get(i) || [];
      let at = row.querySelector(".live");
      if (!at) { at = make("span", "", "live"); row.querySelector(".said").prepend(at); }
      const d = data().rows[i], n = sums(list), said = objects.size ? phrase(list, (d.changes || []).length + (d.left || 0)) : "";
      if (at.textContent !== said) at.textContent = said;
      at.className = "live " + (n.failed ? "failed" : n.running ? "running" : n.done ? "done" : "");
    }
    for (const [block, list] of byBlock) put(byNode, nodeOf(block), list);
    for (const { node } of nodes) {
      const n = sums(byNode.get(node) || []);
      for (const c of ["failed", "running", "done"]) node.classList.toggle("is-" + c, c === (n.failed ? "failed" : n.running ? "running" : n.done ? "done" : ""));
    }
  };
  // A box of the graph stands for a block, a module, or blocks whose names have a pattern.
  const nodes = [...document.querySelectorAll("g.node")].map((node) => {
    const [address, kind] = node.querySelector("title").textContent.split("\n");
    const form = address.replace(/\[[^\]]*\]/g, "").replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^.]*");
    return { node, form: new RegExp("^" + form + (kind.startsWith("module") ? "\\." : "$")) };
  });
  const found = new Map();
  const nodeOf = (block) => {
    if (!found.has(block)) found.set(block, nodes.find((n) => n.form.test(block))?.node);
    return found.get(block);
  };
  addEventListener("message", (e) => {
    if (e.source !== parent || parent === window || !e.data || e.data.weir !== 1 || !Array.isArray(e.data.objects)) return;
    objects = new Map(e.data.objects);
    if (objects.size || rowOf) live();
  });
  setInterval(() => { if ([...objects.values()].some((o) => o.state === "running")) live(); }, 1000);
})();
