/* From a bar, a dot, a cell or a row to the cases behind it: the page's address selects them, and
   the galleries of the page show what the address says. */
"use strict";
(() => {
  const { el, visible, words, selection, show, valuesOf } = window.formlabGallery;
  const { kinds } = window.formlabReport;
  const HINT = "click: show these cases";
  // Whose cases they are: left out of an address where all cases are theirs.
  const WHOSE = new Set(["system", "benchmark", "level", "task"]);
  const LONGEST = 4_000;
  const galleries = [];
  kinds.gallery = async (data, box) => {
    box.replaceChildren();
    const gallery = show(box, data);
    if (gallery.loading) await gallery.ready;
    galleries.push(gallery);
  };

  /* The numbers of the cases of a gallery that have one of these values. */
  const members = new WeakMap();
  function having(gallery, column, values) {
    if (!members.has(gallery)) members.set(gallery, new Map());
    const known = members.get(gallery);
    const line = selection.text([[column, values]]);
    if (!known.has(line)) {
      const fits = (item) => valuesOf(item, column).some((own) => values.some((value) => selection.fits(own, value)));
      known.set(line, new Set([...gallery.cases.keys()].filter((i) => fits(gallery.cases[i]))));
    }
    return known.get(line);
  }

  /* The address for the line of a mark; null where no gallery of the page has a case of it. */
  const addresses = new Map();
  function address(line) {
    if (!addresses.has(line)) addresses.set(line, shortened(line));
    return addresses.get(line);
  }
  function shortened(line) {
    const chosen = [...selection.read(line) ?? []];
    const knowing = galleries.filter((gallery) => gallery.knows(new Map(chosen)));
    // The explorer holds more cases than its page: it counts those that fit itself.
    const some = (gallery) => {
      if (gallery.fitting) return gallery.fitting(new Map(chosen)) > 0;
      const [first, ...others] = chosen.map(([column, values]) => having(gallery, column, values)).sort((a, b) => a.size - b.size);
      return first && [...first].some((i) => others.every((cases) => cases.has(i)));
    };
    if (!knowing.some(some)) return null;
    const telling = chosen.filter(([column, values]) => !WHOSE.has(column)
      || knowing.some((gallery) => gallery.fitting || having(gallery, column, values).size < gallery.cases.length));
    return telling.length ? selection.text(telling) : null;
  }

  const notice = el("p", { class: "fl-notice", role: "status", hidden: "" });
  function named(chosen) {
    const value = (text) => (text === null ? "none" : words(visible(text)).slice(0, 80));
    return [...chosen].map(([column, values]) => `${words(visible(column))} ${values.map(value).join(" or ")}`).join(", ");
  }

  /* Show what the address says; `jump` also scrolls to it. */
  let last = null;
  let busy = false;
  function follow(jump) {
    const line = location.hash.slice(1);
    const chosen = line.length > LONGEST ? null : selection.read(line);
    if (chosen === null) return;
    const knowing = galleries.filter((gallery) => gallery.knows(chosen));
    const key = selection.key(line);
    busy = true;
    const shown = knowing.map((gallery) => gallery.choose(chosen));
    busy = false;
    const first = knowing[Math.max(0, shown.findIndex((n) => n > 0))];
    notice.hidden = chosen.size === 0 || !first || shown.some((n) => n > 0);
    if (!notice.hidden) {
      notice.textContent = `No wrong case of ${named(chosen)} is in this gallery.`;
      first.root.before(notice);
    }
    if (jump && first && chosen.size) goTo(notice.hidden ? first.root : notice, first.root);
    if (key !== null) galleries.some((gallery) => gallery.open(key));
  }

  function goTo(place, root) {
    root.tabIndex = -1;
    root.focus({ preventScroll: true });
    place.scrollIntoView({ block: "start", behavior: "instant" });
  }

  function go(line) {
    const to = address(line);
    if (to === null) return;
    if (location.hash.slice(1) === to) follow(true);
    else location.hash = to;
  }

  /* An entry that has a place came back by Back or Forward: the browser scrolls by itself, and
     whoever comes back to a mark goes on from it with the keyboard. */
  const place = () => history.state?.formlab;
  let at = place() ?? 0;
  const remember = (to) => history.replaceState({ formlab: at }, "", to);
  const rewrite = (line) => remember(line ? `#${line}` : location.pathname + location.search);
  addEventListener("hashchange", () => {
    if (!galleries.length) return;
    const came = place();
    const back = came < at;
    at = came ?? at + 1;
    remember(location.href);
    follow(came === undefined);
    if (back) last?.focus({ preventScroll: true });
  });
  document.addEventListener("formlab-selection", (event) => {
    if (busy || !galleries.some((gallery) => gallery.root === event.target)) return;
    notice.hidden = true;
    rewrite(String(event.detail?.line ?? ""));
  });
  // A case that was closed does not open again on the way back.
  document.addEventListener("close", (event) => {
    if (!galleries.some((gallery) => gallery.root.contains(event.target)) || selection.key(location.hash) === null) return;
    rewrite(location.hash.slice(1).split("&").filter((part) => !part.startsWith("case=")).join("&"));
  }, true);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (link && link.hash === location.hash) follow(true);
  });

  /* Marks: shapes of a chart and rows of a table. Of lines and areas only the points have cases. */
  const LINES = new Set(["line", "area", "trail", "group"]);
  const STOPS = new Set(["rect", "symbol", "arc"]);
  function lineOf(node) {
    const item = node.__data__;
    const line = item?.mark && !LINES.has(item.mark.marktype) ? item.datum?._cases : node.dataset.cases;
    return typeof line === "string" && address(line) !== null ? line : null;
  }
  const stops = (node) => node.tagName === "TR"
    || (STOPS.has(node.__data__.mark.marktype) && node.getAttribute("aria-roledescription") !== "tick");

  /* One stop for Tab in a chart or table; arrow keys go on to the marks beside it. */
  function attach(box) {
    const marks = [...box.querySelectorAll(".fl-vega svg *, tr[data-cases]")].filter((node) => lineOf(node) !== null);
    let first = "0";
    for (const node of marks) {
      node.classList.add("fl-leads");
      if (!stops(node)) continue;
      node.setAttribute("tabindex", first);
      if (node.tagName === "TR") node.title = HINT;
      else node.setAttribute("role", "link");
      first = "-1";
    }
    const chart = marks.length ? box.querySelector(".fl-vega") : null;
    if (chart) {
      chart.setAttribute("role", "group");
      chart.setAttribute("aria-description", "Enter shows the cases of a mark, arrow keys go to the next");
    }
    const holder = box.querySelector(".fl-plotly");
    if (holder?.on) attachPlotly(holder);
    for (const link of box.querySelectorAll("a[href^='#']")) {
      const row = link.classList.contains("fl-step");
      const to = selection.read(link.hash)?.size ? address(link.hash.slice(1)) : "";
      if (row && to) link.setAttribute("href", `#${to}`);
      else if (row) link.removeAttribute("href");
      if (row || to !== null) continue;
      // No gallery of this page can show these cases: no link, and no point before it.
      if (link.previousSibling?.nodeType === Node.TEXT_NODE) link.previousSibling.remove();
      link.remove();
    }
  }

  // Texts of plotly's figures are escaped.
  const plain = (line) => line.replaceAll("&amp;", "&");

  /* Of a surface `layout.meta.cases` has the lines of its cells, by row and column. */
  function attachPlotly(holder) {
    const lines = holder.layout?.meta?.cases;
    if (!Array.isArray(lines) || !lines.flat().some((line) => typeof line === "string" && address(plain(line)) !== null)) return;
    const at = (point) => {
      const [y, x] = Array.isArray(point.pointIndex) && point.data.type === "heatmap" ? point.pointIndex : [point.y, point.x].map(Math.round);
      const line = lines?.[y]?.[x];
      return typeof line === "string" ? plain(line) : null;
    };
    holder.classList.add("fl-linked");
    holder.after(el("p", { class: "fl-note", text: "Click a cell to show its cases." }));
    holder.on("plotly_click", ({ points }) => { const line = at(points[0]); if (line) go(line); });
  }

  const middle = (node) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return [Math.round(top + height / 2), left + width / 2];
  };
  /* Left and right go through all marks in the order of reading, up and down to the next row. */
  function next(box, node, key) {
    const marks = [...box.querySelectorAll(".fl-leads[tabindex]")].filter((mark) => mark.getClientRects().length)
      .map((mark) => [mark, ...middle(mark)]).sort((a, b) => a[1] - b[1] || a[2] - b[2]);
    const place = marks.findIndex(([mark]) => mark === node);
    const [, y, x] = marks[place];
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (key === "Home" || key === "End") return marks[key === "Home" ? 0 : marks.length - 1][0];
    const rows = key === "ArrowUp" || key === "ArrowDown" ? marks.filter((mark) => (mark[1] - y) * step > 4) : [];
    const near = rows.sort((a, b) => Math.abs(a[1] - y) - Math.abs(b[1] - y) || Math.abs(a[2] - x) - Math.abs(b[2] - x))[0];
    return (near ?? marks[place + step])?.[0];
  }

  function listen(box) {
    // A chart is drawn again in other colours, and for another width.
    if (box.dataset.kind === "vega") new MutationObserver(() => attach(box)).observe(box, { childList: true, subtree: true });
    const of = (event) => event.target.closest?.(".fl-leads");
    box.addEventListener("click", (event) => {
      const node = of(event);
      if (!node || event.target.closest("a, button") || String(getSelection())) return;
      last = node;
      go(lineOf(node));
    });
    box.addEventListener("keydown", (event) => {
      const node = of(event);
      if (!node || event.target !== node || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Enter" || event.key === " ") { last = node; go(lineOf(node)); } else {
        if (!/^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) return;
        const mark = next(box, node, event.key);
        if (mark) { node.setAttribute("tabindex", "-1"); mark.setAttribute("tabindex", "0"); mark.focus(); }
      }
      event.preventDefault();
    });
  }

  /* Called once all objects but the charts, which are drawn when they come near, are there. */
  function start(boxes) {
    started = true;
    boxes.forEach(listen);
    boxes.filter((box) => box.dataset.state === "drawn").forEach(attach);
    if (!galleries.length) return;
    remember(location.href);
    if (location.hash) follow(true);
  }
  let started = false;
  const drawn = (box) => { if (started && box.dataset.kind !== "vega") attach(box); };
  const hint = (item) => (item?.datum && started && !LINES.has(item.mark?.marktype) && typeof item.datum._cases === "string" && address(item.datum._cases) !== null ? HINT : null);
  window.formlabReport.links = { start, drawn, hint, galleries };
})();
