// Search, copy buttons and keys. The index is loaded when the search is first used, so that
// pages stay small; it is a script, because browsers don't fetch files from disk.
(function () {
  const up = document.body.dataset.up;
  const field = document.getElementById("search");
  const list = document.getElementById("results");
  let index, chosen = -1;

  function load(name, then) {
    const script = document.createElement("script");
    script.src = up + name;
    script.onload = then;
    document.head.append(script);
  }

  function ready(then) {
    if (index) return then();
    load("minisearch.js", () => load("search-index.js", () => {
      index = new MiniSearch({
        fields: ["heading", "title", "text"], storeFields: ["heading", "title", "url", "text"],
        searchOptions: { boost: { heading: 4, title: 2 }, prefix: true, fuzzy: t => t.length > 4 ? 0.2 : 0, combineWith: "AND" },
      });
      index.addAll(window.searchDocuments);
      then();
    }));
  }

  function excerpt(text, terms) {
    const lower = text.toLowerCase();
    const at = Math.max(0, Math.min(...terms.map(t => lower.indexOf(t)).filter(i => i >= 0), text.length) - 40);
    return (at ? "…" : "") + text.slice(at === text.length - 40 ? 0 : at, at + 140);
  }

  function show() {
    const query = field.value.trim();
    list.replaceChildren();
    chosen = -1;
    list.hidden = !query;
    if (!query) return;
    const found = index.search(query).slice(0, 12);
    if (!found.length) {
      const none = document.createElement("li");
      none.textContent = "No results for “" + query + "”.";
      list.append(none);
    }
    for (const hit of found) {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = up + hit.url;
      const name = document.createElement("b"), where = document.createElement("small"), text = document.createElement("span");
      name.textContent = hit.heading;
      where.textContent = hit.heading === hit.title ? "" : hit.title;
      text.textContent = excerpt(hit.text, hit.terms);
      link.append(name, where, text);
      item.append(link);
      list.append(item);
    }
  }

  field.addEventListener("focus", () => ready(() => {}));
  field.addEventListener("input", () => ready(show));
  field.addEventListener("keydown", event => {
    const links = list.querySelectorAll("a");
    if (event.key === "Escape") { field.value = ""; list.hidden = true; }
    if (event.key === "Enter" && links.length) links[Math.max(chosen, 0)].click();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = Math.max(0, Math.min(links.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1)));
      links.forEach((link, i) => link.classList.toggle("chosen", i === chosen));
      if (links[chosen]) links[chosen].scrollIntoView({ block: "nearest" });
    }
  });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    }
  });
  document.addEventListener("click", event => { if (!event.target.closest("[role=search]")) list.hidden = true; });
  if (location.hash === "#search") field.focus();

  for (const block of document.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => {
      const text = block.querySelector("code").textContent, commands = text.match(/^\$ .*$/gm);
      navigator.clipboard.writeText(commands ? commands.map(c => c.slice(2)).join("\n") : text).then(() => {
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    });
    const frame = document.createElement("div");
    frame.className = "code";
    block.replaceWith(frame);
    frame.append(block, button);
  }
  const here = document.querySelector("nav.pages [aria-current]");
  if (here) here.scrollIntoView({ block: "center" });
})();
