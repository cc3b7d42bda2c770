/* A report: its objects that scripts draw, tables, the way from marks to cases, theme, contents. */
"use strict";
(() => {
  const { el, visible, words, selection, kinds, galleries } = window.formlabGallery;
  const root = document.documentElement;
  const state = new Map();
  kinds.plotly = (box, data) => window.formlabPlotly(data, box).then(() => linkPlotly(box));

  /* ---- objects ---- */
  async function draw(box) {
    if (state.has(box)) return;
    state.set(box, true);
    try {
      const data = JSON.parse(box.fl);
      box.replaceChildren();
      await kinds[box.dataset.kind](box, data);
      box.dataset.state = "drawn";
    } catch (error) {
      box.dataset.state = "failed";
      box.replaceChildren(el("p", { class: "fl-noimage", text: `This ${box.dataset.kind} could not be drawn: ${visible(error.message).slice(0, 300)}` }));
    }
  }
  function erase(box) {
    box.style.minHeight = `${box.offsetHeight}px`;
    window.Plotly.purge(box.querySelector(".fl-plotly"));
    state.delete(box);
    box.dataset.state = "waiting";
  }
  /* Browsers keep about 16 WebGL contexts: a surface scrolled far away gives its own back. */
  const near = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => { if (isIntersecting) draw(target); }), { rootMargin: "600px" });
  const far = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => { if (!isIntersecting && target.dataset.solid === "yes" && state.has(target)) erase(target); }), { rootMargin: "3000px" });
  const boxes = [...document.querySelectorAll("div.fl-object:not([data-state])")];
  for (const box of boxes) {
    box.fl = box.querySelector('script[type="application/json"]').textContent;
    if (box.dataset.kind === "plotly") { near.observe(box); far.observe(box); } else draw(box);
  }

  /* ---- from a mark to its cases: the page's address selects them ---- */
  const LONGEST = 4_000;
  // Whose cases they are: left out of an address where all cases are theirs.
  const WHOSE = new Set(["system", "benchmark", "level", "task"]);
  const matching = (gallery, chosen) => gallery.matching(new Map(chosen));

  /* The address for the line of a mark; null where no gallery of the page has a case of it. */
  const addresses = new Map();
  function address(line) {
    if (!addresses.has(line)) {
      const chosen = [...selection.read(line) ?? []];
      const knowing = galleries.filter((gallery) => gallery.knows(new Map(chosen)));
      const some = chosen.length > 0 && knowing.some((gallery) => matching(gallery, chosen) > 0);
      const telling = chosen.filter((pair) => !WHOSE.has(pair[0]) || knowing.some((gallery) => matching(gallery, [pair]) < matching(gallery, [])));
      addresses.set(line, some && telling.length ? selection.text(telling) : null);
    }
    return addresses.get(line);
  }

  const notice = el("p", { class: "fl-notice", role: "status", hidden: "" });
  let busy = false;
  function follow() {
    const line = location.hash.slice(1);
    const chosen = line.length > LONGEST ? null : selection.read(line);
    if (chosen === null || !galleries.length) return;
    const knowing = galleries.filter((gallery) => gallery.knows(chosen));
    busy = true;
    const shown = knowing.map((gallery) => gallery.choose(chosen));
    busy = false;
    const first = knowing[Math.max(0, shown.findIndex((n) => n > 0))];
    notice.hidden = chosen.size === 0 || !first || shown.some((n) => n > 0);
    if (!notice.hidden) {
      const value = (text) => (text === null ? "none" : words(visible(text)).slice(0, 80));
      notice.textContent = `No wrong case of ${[...chosen].map(([column, values]) => `${words(visible(column))} ${values.map(value).join(" or ")}`).join(", ")} is in this gallery.`;
      first.root.before(notice);
    }
    if (first && chosen.size) (notice.hidden ? first.root : notice).scrollIntoView({ block: "start", behavior: "instant" });
    const key = selection.key(line);
    if (key !== null) galleries.some((gallery) => gallery.open(key));
  }
  addEventListener("hashchange", follow);
  const rewrite = (line) => history.replaceState(null, "", line ? `#${line}` : location.pathname + location.search);
  document.addEventListener("formlab-selection", ({ target, detail }) => {
    if (busy || !galleries.some((gallery) => gallery.root === target)) return;
    notice.hidden = true;
    rewrite(String(detail?.line ?? ""));
  });
  // A case that was closed does not open again on the way back.
  document.addEventListener("close", () => {
    if (selection.key(location.hash) !== null) rewrite(location.hash.slice(1).split("&").filter((part) => !part.startsWith("case=")).join("&"));
  }, true);

  /* Links to cases that no gallery of the page has are none. */
  for (const link of document.querySelectorAll("main a[href^='#']")) {
    const line = link.getAttribute("href").slice(1);
    const row = link.closest("tr");
    if (!selection.read(line)?.size) continue;
    const to = address(line);
    if (to !== null) link.setAttribute("href", `#${to}`);
    else if (link.closest(".fl-to")) link.closest(".fl-to").remove();
    else link.removeAttribute("href");
    if (to !== null) row?.classList.add("fl-leads");
    if (to !== null) link.classList.add("fl-leads");
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']") ?? event.target.closest?.("tr.fl-leads")?.querySelector("a[href^='#']");
    if (!link || String(getSelection()) !== "") return;
    const to = link.getAttribute("href");
    if (to === location.hash) follow();
    else if (!event.target.closest("a")) location.hash = to;
  });

  /* Of a surface `layout.meta.cases` has the lines of its cells, by row and column; texts of
     plotly's figures are escaped. */
  function linkPlotly(box) {
    const holder = box.querySelector(".fl-plotly");
    const lines = holder.layout?.meta?.cases;
    const to = (line) => (typeof line === "string" ? address(line.replaceAll("&amp;", "&")) : null);
    if (!Array.isArray(lines) || !lines.flat().some((line) => to(line) !== null)) return;
    holder.after(el("p", { class: "fl-note", text: "Click a cell to show its cases." }));
    holder.on("plotly_click", ({ points: [point] }) => {
      const [y, x] = Array.isArray(point.pointIndex) && point.data.type === "heatmap" ? point.pointIndex : [point.y, point.x].map(Math.round);
      const line = to(lines[y]?.[x]);
      if (line !== null) location.hash = line;
    });
  }
  if (location.hash) follow();

  /* ---- tables sort by a click on a heading and are filtered by a text; long ones are folded ---- */
  const [FILTERED, FOLDED, FIRST] = [9, 31, 15];
  for (const box of document.querySelectorAll('[data-kind="table"]')) {
    const body = box.querySelector("tbody");
    const rows = [...body?.rows ?? []];
    let folded = rows.length >= FOLDED;
    const text = el("input", { type: "search", placeholder: "filter rows", "aria-label": "Filter the rows of this table", oninput: () => sift() });
    const shown = el("span", { role: "status" });
    const all = el("button", { type: "button", text: `show all ${rows.length} rows`, onclick: () => { folded = false; sift(); } });
    const sift = () => {
      const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = [...body.rows].filter((row) => wanted.every((word) => row.textContent.toLowerCase().includes(word)));
      const first = new Set(folded && !wanted.length ? fits.slice(0, FIRST) : fits);
      for (const row of body.rows) row.hidden = !first.has(row);
      shown.textContent = first.size < rows.length ? `${first.size} of ${rows.length}` : "";
      all.hidden = !folded || wanted.length > 0;
    };
    if (rows.length >= FILTERED) {
      box.querySelector(".fl-scroll").before(el("div", { class: "fl-sift", role: "search" }, text, shown, all));
      sift();
    }
    const heads = rows.length > 2 ? [...box.querySelectorAll("thead th")] : [];
    heads.forEach((head, x) => {
      const value = (row) => row.cells[x].textContent;
      const number = (row) => { const n = parseFloat(value(row).replace("−", "-").replaceAll(",", "")); return Number.isNaN(n) ? null : n; };
      head.replaceChildren(el("button", { type: "button", title: "sort", text: head.textContent, onclick: () => {
        const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
        const by = (a, b) => (head.className === "right" ? number(a) - number(b) : value(a).localeCompare(value(b), "en", { numeric: true }));
        const missing = (row) => value(row) === "–";
        body.append(...[...rows].sort((a, b) => missing(a) - missing(b) || down * by(a, b) || rows.indexOf(a) - rows.indexOf(b)));
        sift();
      } }));
    });
  }

  /* ---- the page ---- */
  const stored = (value) => { try { return value === undefined ? localStorage.getItem("formlab-theme") : localStorage.setItem("formlab-theme", value); } catch { return null; } };
  const themes = ["auto", "light", "dark"];
  const switcher = document.getElementById("fl-theme");
  const redraw = () => boxes.forEach((box) => { if (box.querySelector(".fl-plotly") && state.has(box)) { erase(box); draw(box); } });
  function apply(theme) {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    if (switcher) Object.assign(switcher, { textContent: `Theme: ${theme}`, hidden: false });
  }
  apply(themes.includes(stored()) ? stored() : "auto");
  switcher?.addEventListener("click", () => {
    const theme = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
    stored(theme);
    apply(theme);
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  const code = document.getElementById("fl-code");
  if (code) {
    code.hidden = false;
    root.classList.add("fl-folded");
    code.addEventListener("click", () => {
      const folded = root.classList.toggle("fl-folded");
      code.setAttribute("aria-pressed", String(!folded));
      for (const source of document.querySelectorAll("details.fl-source")) source.open = !folded;
    });
  }

  const toc = document.getElementById("fl-toc");
  if (toc && matchMedia("(max-width: 1100px)").matches) toc.open = false;

  addEventListener("beforeprint", () => {
    boxes.forEach(draw);
    for (const details of document.querySelectorAll(".fl-made details, .fl-how")) details.open = true;
  });
  window.formlabReport = { links: { galleries } };
  root.dataset.ready = "yes";
})();
