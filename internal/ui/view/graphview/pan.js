"use strict";
// Moves, scales and searches the drawing in #graph.
(() => {
  const canvas = document.getElementById("graph");
  const svg = canvas && canvas.querySelector("svg");
  if (!svg) return;
  const whole = svg.viewBox.baseVal;
  const full = { x: 0, y: 0, w: whole.width, h: whole.height };
  let at = { ...full };
  const show = () => svg.setAttribute("viewBox", [at.x, at.y, at.w, at.h].join(" "));
  const tall = () => Math.min(Math.max(full.h + 8, 120), innerHeight * 0.7);
  const fit = () => {
    if (canvas.dataset.fits !== undefined) canvas.style.height = tall() + "px";
    // As large as it is drawn where there is room, else as large as fits, but readable.
    const r = canvas.getBoundingClientRect();
    const scale = Math.max(0.45, Math.min(1, r.width / full.w, r.height / full.h));
    at = { x: 0, y: 0, w: r.width / scale, h: r.height / scale };
    at.x = Math.min(0, (full.w - at.w) / 2);
    at.y = Math.min(0, (full.h - at.h) / 2);
    show();
  };
  const zoom = (by, px = 0.5, py = 0.5) => {
    const w = Math.min(Math.max(at.w / by, 80), full.w * 8 + 800);
    const k = w / at.w;
    at = { x: at.x + at.w * px * (1 - k), y: at.y + at.h * py * (1 - k), w, h: at.h * k };
    show();
  };
  const move = (dx, dy) => { at.x += dx; at.y += dy; show(); };
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey && document.activeElement !== canvas) return;
    e.preventDefault();
    const r = canvas.getBoundingClientRect();
    zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15, (e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
  }, { passive: false });
  let from = null, moved = false;
  canvas.addEventListener("pointerdown", (e) => { from = { x: e.clientX, y: e.clientY }; moved = false; });
  canvas.addEventListener("pointermove", (e) => {
    if (!from || !e.buttons) return;
    if (!moved && Math.abs(e.clientX - from.x) + Math.abs(e.clientY - from.y) < 4) return;
    if (!moved) canvas.setPointerCapture(e.pointerId);
    moved = true;
    const k = at.w / canvas.clientWidth;
    move((from.x - e.clientX) * k, (from.y - e.clientY) * k);
    from = { x: e.clientX, y: e.clientY };
  });
  canvas.addEventListener("pointerup", () => { from = null; });
  canvas.addEventListener("keydown", (e) => {
    const step = at.w / 10;
    const keys = {
      ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0), ArrowUp: () => move(0, -step), ArrowDown: () => move(0, step),
      "+": () => zoom(1.25), "-": () => zoom(0.8), "0": fit,
    };
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  });
  for (const b of document.querySelectorAll("[data-zoom]")) {
    b.addEventListener("click", () => (b.dataset.zoom === "fit" ? fit() : zoom(Number(b.dataset.zoom))));
  }
  const nodes = [...svg.querySelectorAll(".node")], edges = [...svg.querySelectorAll(".edge")];
  const light = (chosen) => {
    for (const n of nodes) {
      n.classList.toggle("dim", chosen !== null && !chosen.has(n.dataset.node));
      n.classList.toggle("lit", chosen !== null && chosen.has(n.dataset.node));
    }
    for (const e of edges) {
      const on = chosen !== null && chosen.has(e.dataset.from) && chosen.has(e.dataset.to);
      e.classList.toggle("dim", chosen !== null && !on);
      e.classList.toggle("lit", on);
    }
  };
  // All that a node needs and that needs it.
  const around = (start) => {
    const chosen = new Set([start]);
    for (const [a, b] of [["from", "to"], ["to", "from"]]) {
      const todo = [start], seen = new Set(todo);
      while (todo.length) {
        const n = todo.pop();
        for (const e of edges) {
          if (e.dataset[a] === n && !seen.has(e.dataset[b])) { seen.add(e.dataset[b]); chosen.add(e.dataset[b]); todo.push(e.dataset[b]); }
        }
      }
    }
    return chosen;
  };
  canvas.addEventListener("click", (e) => {
    if (moved) return;
    const n = e.target.closest(".node");
    light(n ? around(n.dataset.node) : null);
  });
  const find = document.getElementById("find"), found = document.getElementById("found");
  if (find) find.addEventListener("input", () => {
    const text = find.value.trim().toLowerCase();
    if (!text) { light(null); found.textContent = ""; return; }
    const hit = nodes.filter((n) => n.textContent.toLowerCase().includes(text));
    light(new Set(hit.map((n) => n.dataset.node)));
    found.textContent = hit.length + " found";
    if (hit.length) {
      const m = hit[0].transform.baseVal.consolidate().matrix;
      at.x = m.e + 60 - at.w / 2; at.y = m.f - at.h / 2; show();
    }
  });
  fit();
  addEventListener("resize", fit);
})();
