
// Shows what happens and sends answers. All text is set as text.
(() => {
  const at = (id) => document.getElementById(id);
  const make = (name, text, cls) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    return e;
  };
  const mostShown = 40;
  let state, last = 0, lost = false;
  const reset = () => {
    state = { heading: "Planning…", status: "", running: new Map(), failures: [], problems: [], mood: "", ask: null, of: 0, count: null, result: null, over: false, document: "", title: "", earlier: false, times: null, end: null, stoppable: false, stopping: false, objects: new Map() };
    tell();
  };
  // The plan shows what becomes of its objects, in a frame that may not reach this page.
  const tell = () => {
    const frame = at("plan").contentWindow;
    if (frame && state) frame.postMessage({ weir: 1, objects: [...state.objects] }, "*");
  };
  const become = (name, to) => { state.objects.set(name, { ...state.objects.get(name), ...to }); tellSoon(); };
  let telling = false;
  const tellSoon = () => {
    if (telling) return;
    telling = true;
    setTimeout(() => { telling = false; tell(); }, 100);
  };
  const number = (n, what) => n === 1 ? "1 " + what : n + " " + what + "s";
  const progress = () => {
    const c = state.count || { done: 0, failed: 0, skipped: 0 };
    return `${c.done} of ${state.of} done` + (c.failed ? `, ${c.failed} failed` : "") + (c.skipped ? `, ${c.skipped} not begun` : "");
  };
  const take = {
    planning: (m) => { reset(); state.status = m.why; },
    loaded: (m) => { state.document = "graph/" + m.plan; state.title = "The configuration"; },
    earlier: () => { state.earlier = true; },
    looked: (m) => { state.status = `Refreshed ${m.done} of ${number(m.of, "object")}.`; },
    planned: (m) => {
      state.heading = m.heading; state.mood = m.failed ? "failed" : ""; if (m.document) { state.document = "plan/" + m.plan; state.title = "The plan"; }
      state.running.clear(); state.status = ""; state.of = 0; state.count = null;
    },
    lived: (m) => { state.times = m.times; },
    problems: (m) => { state.problems.push(m); },
    ask: (m) => {
      state.ask = m;
      state.status = m.choices.includes("approve") ? "Nothing is done before you approve." + (at("part") ? "" : " Files that change are planned again.") : "Files that change are planned again.";
    },
    answered: (m) => { state.ask = null; state.status = m.choice === "approve" ? "Approved." : m.choice === "again" ? "Planning again…" : m.choice.startsWith("back ") ? "Going back to serial " + m.choice.slice(5) + "…" : ""; },
    withdrawn: () => { state.ask = null; state.status = "The question was withdrawn."; },
    applying: (m) => { state.ask = null; state.earlier = false; state.heading = "Applying…"; state.of = m.of; state.stoppable = m.stoppable; state.count = null; state.objects.clear(); tellSoon(); },
    count: (m) => { state.count = m; },
    start: (m) => { state.running.set(m.call, { ...m }); become(m.name, { state: "running", word: m.word, at: m.at }); },
    word: (m) => { const one = state.running.get(m.call); if (one) { one.word = m.word; become(one.name, { word: m.word }); } },
    finish: (m) => {
      const one = state.running.get(m.call);
      state.running.delete(m.call);
      if (one && m.failed) state.failures.push(one);
      if (one) become(one.name, { state: m.failed || state.objects.get(one.name).state === "failed" ? "failed" : "done", took: m.at - one.at });
    },
    reason: (m) => {
      const one = state.failures.find((f) => f.name === m.name && !f.reason);
      if (one) one.reason = m.text;
      else state.failures.push({ name: m.name, reason: m.text });
      become(m.name, { state: "failed", reason: m.text });
    },
    stopping: () => { state.stopping = true; },
    result: (m) => { state.result = m; state.end = null; state.running.clear(); state.heading = m.heading; state.mood = m.mood; state.status = ""; state.over = true; },
    end: (m) => { state.end = m; state.ask = null; state.running.clear(); state.heading = m.heading; state.mood = m.mood; state.status = ""; },
  };
  const words = { approve: "Approve and apply", refuse: "Discard", again: "Plan again", end: "Close" };
  const button = (text, choice, cls) => {
    const b = make("button", text, cls), plan = state.ask.plan;
    b.dataset.choice = choice;
    b.addEventListener("click", () => answer(plan, choice));
    return b;
  };
  // The history is read when somebody wants to see it. Each state shows what its run changed,
  // and what going back changes before it can be gone back to.
  const past = async () => {
    const into = at("earlier").lastElementChild;
    if (!at("earlier").open || !state.ask) return;
    into.replaceChildren(make("p", "Reading…"));
    let list = [];
    try { list = await (await fetch("earlier")).json(); } catch { into.replaceChildren(make("p", "weir doesn't answer any more.")); return; }
    const signs = { "+": "create", "-": "delete", "~": "update" };
    const diff = (changes) => {
      const shown = changes.slice(0, mostShown), all = make("pre", "");
      for (const c of shown) all.append(make("span", c + "\n", signs[c[0]] || ""));
      if (changes.length > shown.length) all.append(`and ${changes.length - shown.length} more`);
      return all;
    };
    const count = (sign, n) => make("span", sign + n, n ? signs[sign] : "quiet");
    if (!list.length) { into.replaceChildren(make("p", "The state has no history yet.", "quiet")); return; }
    into.replaceChildren(make("p", "Each entry is a state and the run that wrote it. Going back changes the state and not the infrastructure. The next plan compares the two.", "quiet"), ...list.map((s) => {
      const one = make("details"), head = make("summary", `Serial ${s.serial}: ${number(s.objects, "object")}`), r = s.run;
      if (s.now) head.append(" (now)");
      if (r) {
        const sums = make("span", "", "sums"), who = make("span", "", "quiet");
        sums.append(count("+", r.added), " ", count("~", r.changed), " ", count("-", r.removed));
        who.append(`${r.command} by ${r.who}, ${r.at}` + (r.seconds ? `, took ${elapsed(r.seconds * 1000)}` : ""));
        head.append(" ", sums, " ", who);
      } else head.append(make("span", s.until ? ` until ${s.until}, run not recorded` : " run not recorded", "quiet"));
      one.append(head);
      if (s.problem) { one.append(make("pre", s.problem, "error")); return one; }
      if (s.changes) one.append(make("p", s.changes.length ? "This run changed:" : "This run changed no object.", "quiet"));
      if (s.changes && s.changes.length) one.append(diff(s.changes));
      if (state.ask && state.ask.choices.includes("back " + s.serial)) {
        one.append(make("p", s.back && s.back.length ? "Going back would change in the state:" : "It has the same objects as the present state.", "quiet"));
        if (s.back && s.back.length) one.append(diff(s.back));
        one.append(button("Go back to serial " + s.serial, "back " + s.serial));
      }
      return one;
    }));
  };
  at("earlier").addEventListener("toggle", past);
  const answer = async (plan, choice) => {
    const all = document.querySelectorAll("button[data-choice]");
    for (const b of all) b.disabled = true;
    let problem = "";
    try {
      const r = await fetch("answer", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ plan, choice }) });
      if (!r.ok) problem = await r.text();
    } catch { problem = "weir doesn't answer any more. See the terminal."; }
    if (state.end) return;
    at("refused").textContent = problem;
    at("refused").hidden = !problem;
    if (problem) for (const b of all) b.disabled = false;
  };
  // What is on the page already; it is touched only where something else is to be seen.
  const shown = {};
  const once = (name, key, draw) => { if (shown[name] !== key) { shown[name] = key; draw(); } };
  const text = (id, s) => once(id, s, () => { at(id).textContent = s; });
  const elapsed = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000));
    return s < 60 ? s + "s" : Math.floor(s / 60) + "m" + String(s % 60).padStart(2, "0") + "s";
  };
  const draw = () => {
    document.body.className = state.mood + (state.failures.length ? " failing" : "");
    text("heading", state.heading);
    once("title", state.heading, () => { document.title = (at("part") ? at("part").textContent + ": " : "") + state.heading; });
    const going = state.of > 0;
    text("status", lost ? "weir doesn't answer. It may have ended: see the terminal." : going ? progress() + (state.stopping && !state.end && !state.over ? ". Stopping: weir waits for running operations and starts no new ones." : "") : state.status);
    const bar = at("bar"), c = state.count;
    bar.hidden = !going;
    const stoppable = going && state.stoppable && !state.end && !state.over && !lost;
    once("stop", `${stoppable} ${state.stopping}`, () => {
      at("stop").hidden = !stoppable;
      at("stop").disabled = false;
      at("stop").textContent = state.stopping ? "Stop now, without waiting" : "Stop";
      at("stop").className = state.stopping ? "hard" : "";
    });
    if (going) { bar.max = state.of; bar.value = c ? c.done + c.failed : 0; }
    once("answers", state.ask ? state.ask.plan + state.ask.choices.join() : "", () => {
      at("answers").replaceChildren(...(state.ask ? state.ask.choices : []).filter((c) => words[c]).map((choice) =>
        button(words[choice], choice, choice === "approve" || choice === "again" ? "go" : "")));
      at("refused").hidden = true;
    });
    once("earlier", state.earlier && state.ask ? state.ask.plan : 0, () => {
      at("earlier").hidden = !(state.earlier && state.ask);
      at("earlier").open = false;
    });
    const said = state.end && state.end.text ? state.end : state.result;
    once("end", said, () => {
      at("end").hidden = !said || !said.text;
      at("end").firstElementChild.textContent = said ? said.text : "";
    });
    once("times", state.times, () => {
      const t = state.times;
      at("times").hidden = !t || !t.bars.length;
      if (at("times").hidden) return;
      at("times").querySelector("p").textContent = `${t.length || "No time"} from start to end. Bold steps are the critical path.` +
        (t.not_begun ? ` Without a row: ${number(t.not_begun, "step")} not begun.` : "") + (t.left ? ` ${number(t.left, "further row")} left out.` : "");
      at("times").querySelector("tbody").replaceChildren(...t.bars.map((b) => {
        const row = make("tr", undefined, b.critical ? "critical" : ""), what = make("th"), lane = make("td", undefined, "lane"), bar = make("span", undefined, "bar " + b.class);
        what.scope = "row";
        what.append(make("code", b.what), b.critical ? make("small", " on the critical path") : "", b.failed ? make("small", ` ${b.failed} failed`, "delete") : "");
        bar.style.marginLeft = b.from + "%";
        bar.style.width = b.width + "%";
        lane.append(bar);
        row.append(what, make("td", b.count), make("td", b.took), lane);
        return row;
      }));
    });
    once("problems", state.problems.at(-1), () => {
      at("problems").hidden = !state.problems.length;
      at("problems").replaceChildren(at("problems-head"), ...state.problems.map((p) => make("pre", p.text, p.errors ? "error" : "warning")));
    });
    // At the end the problems have the reasons, with their places in the configuration.
    const reasons = !state.over && !state.end;
    once("failures", reasons + state.failures.map((f) => f.reason ? 2 : 1).join(), () => {
      at("failures").hidden = !state.failures.length;
      at("failures").querySelector("small").textContent = state.failures.length || "";
      at("failures").querySelector("ul").replaceChildren(...state.failures.slice(0, mostShown).map((f) => {
        const item = make("li");
        item.append(make("code", f.name), " ", make("span", f.word ? `failed while ${f.word}` : "failed", "delete"));
        if (f.reason && reasons) item.append(make("pre", f.reason, "error"));
        return item;
      }), ...(state.failures.length > mostShown ? [make("li", `and ${state.failures.length - mostShown} more`)] : []));
    });
    const rows = [...state.running.values()].slice(0, mostShown);
    once("running", [...rows.map((r) => r.call + r.word), state.running.size].join(), () => {
      at("running").hidden = !rows.length;
      at("running").querySelector("small").textContent = state.running.size > rows.length ? `${state.running.size}, the first ${rows.length} of them:` : state.running.size;
      at("running").querySelector("tbody").replaceChildren(...rows.map((r) => {
        const row = make("tr"), name = make("td"), time = make("td");
        name.append(make("code", r.name));
        time.dataset.at = r.at;
        row.append(name, make("td", r.word, r.class), time);
        return row;
      }));
    });
    for (const cell of document.querySelectorAll("[data-at]")) cell.textContent = elapsed(Date.now() - cell.dataset.at);
    once("plan", state.document, () => {
      at("plan").hidden = !state.document;
      at("plan").title = state.title;
      at("plan").src = state.document || "about:blank";
    });
  };
  at("plan").addEventListener("load", tell);
  at("stop").addEventListener("click", async () => {
    at("stop").disabled = true;
    let problem = "";
    try {
      const r = await fetch("stop", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
      if (!r.ok) problem = await r.text();
    } catch { problem = "weir doesn't answer any more. See the terminal."; }
    at("refused").textContent = problem;
    at("refused").hidden = !problem;
    if (problem) at("stop").disabled = false;
  });
  let planned = false;
  const soon = () => {
    if (planned) return;
    planned = true;
    setTimeout(() => { planned = false; draw(); }, 50);
  };
  reset();
  const events = new EventSource("events");
  events.onopen = () => { lost = false; soon(); };
  events.onmessage = (e) => {
    const m = JSON.parse(e.data), id = Number(e.lastEventId);
    if (id <= last) return;
    last = id;
    take[m.type]?.(m);
    if (m.type === "end") events.close();
    soon();
  };
  events.onerror = () => {
    if (state.end) return;
    lost = true;
    soon();
  };
  setInterval(() => { if (state.running.size) draw(); }, 1000);
})();
