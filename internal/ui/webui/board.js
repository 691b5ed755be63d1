
// Shows a card for each deployment. All text is set as text.
(() => {
  const at = (id) => document.getElementById(id);
  const make = (name, text, cls) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    return e;
  };
  const number = (n, what) => n === 1 ? "1 " + what : n + " " + what + "s";
  const cards = new Map(), items = new Map();
  let last = 0, lost = false, asks = false, end = null, stopping = false;
  const stage = (c) => c.mood ? c.mood : c.asks ? "asks" : c.of ? "applying" : "planning";
  const said = (c) => {
    if (c.asks) return "Waiting for approval";
    if (c.of) return `${c.done} of ${c.of} done` + (c.failed ? `, ${c.failed} failed` : "");
    if (c.problems && !c.mood) return number(c.problems, "problem");
    return c.looked ? `Refreshed ${c.looked} of ${number(c.known, "object")}` : "";
  };
  const show = (c) => {
    let item = items.get(c.part);
    if (!item) {
      item = make("li");
      const link = make("a");
      link.href = `part/${c.part}/`;
      link.append(make("h2"), make("p", "", "heading"), make("p", "", "quiet"), make("progress"));
      link.lastElementChild.setAttribute("aria-hidden", "true"); // the line above says it
      item.append(link);
      items.set(c.part, item);
      const later = [...items.keys()].filter((n) => n > c.part);
      at("board").insertBefore(item, later.length ? items.get(Math.min(...later)) : null);
    }
    const [name, heading, status, bar] = item.firstElementChild.children;
    item.className = stage(c);
    name.textContent = c.name;
    heading.textContent = c.heading;
    status.textContent = said(c);
    bar.hidden = !c.of;
    if (c.of) { bar.max = c.of; bar.value = c.done + c.failed; }
  };
  const draw = () => {
    const counts = {}, words = { asks: "waiting for approval", planning: "planning", applying: "applying", done: "done", discarded: "discarded", stopped: "stopped", failed: "failed" };
    for (const c of cards.values()) { counts[stage(c)] = (counts[stage(c)] || 0) + 1; show(c); }
    const heading = end ? end.heading : number(cards.size, "deployment");
    at("heading").textContent = heading;
    document.title = (counts.asks ? `(${counts.asks}) ` : "") + heading;
    document.body.className = end ? counts.failed ? "failed" : end.failed ? "stopped" : "done" : "";
    at("stop").hidden = !counts.applying || !!end || lost;
    at("stop").textContent = stopping ? "Stop all now, without waiting" : "Stop all";
    at("stop").className = stopping ? "hard" : "";
    const status = lost ? "weir doesn't answer. It may have ended: see the terminal." : Object.keys(words).filter((k) => counts[k]).map((k) => `${counts[k]} ${words[k]}`).join(", ");
    if (at("status").textContent !== status) at("status").textContent = status;
    at("answers").hidden = !asks;
    const waiting = [...cards.values()].filter((c) => c.asks);
    at("all").hidden = waiting.length < 2;
    at("all").textContent = `Approve all ${waiting.length}`;
    const words2 = at("filter").value.toLowerCase(), only = at("stage").value;
    for (const c of cards.values()) items.get(c.part).hidden = !(c.name.toLowerCase().includes(words2) && (!only || stage(c) === only));
  };
  const send = (path, plan, choice) => fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ plan, choice }) });
  // Every plan that is shown here as waiting is approved, and no later one.
  at("all").addEventListener("click", async () => {
    const waiting = [...cards.values()].filter((c) => c.asks);
    let failed = 0;
    for (const c of waiting) {
      try { if (!(await send(`part/${c.part}/answer`, c.plan, "approve")).ok) failed++; } catch { failed++; }
    }
    at("sent").textContent = failed ? `${failed} of ${waiting.length} weren't taken: see their pages.` : "";
  });
  at("stop").addEventListener("click", async () => {
    at("stop").disabled = true;
    let problem = "";
    try {
      const r = await fetch("stop", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
      if (!r.ok) problem = await r.text();
    } catch { problem = "weir doesn't answer any more. See the terminal."; }
    at("sent").textContent = problem;
    at("stop").disabled = false;
  });
  for (const id of ["filter", "stage"]) at(id).addEventListener("input", () => soon());
  let planned = false;
  const soon = () => {
    if (planned) return;
    planned = true;
    setTimeout(() => { planned = false; draw(); }, 50);
  };
  const take = {
    card: (m) => { cards.set(m.card.part, m.card); },
    stopping: () => { stopping = true; },
    over: (m) => { end = m; },
    ask: () => { asks = true; },
    answered: () => { asks = false; events.close(); },
    withdrawn: () => { asks = false; events.close(); },
  };
  at("answers").firstElementChild.addEventListener("click", () => {
    fetch("answer", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ plan: 0, choice: "end" }) }).catch(() => { lost = true; soon(); });
  });
  const events = new EventSource("events");
  events.onopen = () => { lost = false; soon(); };
  events.onmessage = (e) => {
    const m = JSON.parse(e.data), id = Number(e.lastEventId);
    if (id <= last) return;
    last = id;
    take[m.type]?.(m);
    soon();
  };
  events.onerror = () => {
    lost = true;
    soon();
  };
})();
