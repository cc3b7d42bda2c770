/* Tables that sort by a click on a heading and are filtered by a text; long ones are folded. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;

  const MISSING = "–";
  // From so many rows on a table can be filtered, and from so many only the first are shown.
  const [FILTERED, FOLDED, FIRST, LONG] = [9, 31, 15, 40];
  const format = (value, digits) => {
    if (value === null || value === undefined) return MISSING;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value !== "number") return visible(value);
    const size = Math.min(Math.max(Number(digits) || 0, 0), 12);
    return value.toLocaleString("en", { minimumFractionDigits: size, maximumFractionDigits: size }).replace("-", "−");
  };

  /* A line above the rows: a text to filter by, how many rows are shown, and a button for all. */
  function sifted(body, rows) {
    if (rows.length < FILTERED) return [null, () => {}];
    let folded = rows.length >= FOLDED;
    const text = el("input", { type: "search", placeholder: "filter rows", "aria-label": "Filter the rows of this table", oninput: () => sift() });
    const count = el("span", { role: "status" });
    const all = el("button", { type: "button", text: `show all ${rows.length} rows`, onclick: () => { folded = false; sift(); } });
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    function sift() {
      const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = [...body.children].filter((row) => wanted.every((word) => texts.get(row).includes(word)));
      const shown = new Set(folded && !wanted.length ? fits.slice(0, FIRST) : fits);
      for (const row of body.children) row.hidden = !shown.has(row);
      count.textContent = shown.size < rows.length ? `${shown.size} of ${rows.length}` : "";
      all.hidden = !folded || wanted.length > 0;
    }
    sift();
    return [el("div", { class: "fl-sift", role: "search" }, text, count, all), sift];
  }

  function table(data) {
    const bold = new Set(data.bold.map(([row, column]) => `${row}:${column}`));
    const body = el("tbody");
    // A page beside this one and nothing else: no scheme, no folder.
    const cell = (text, column) => {
      if (column.link && /^\w[\w-]*\.html$/.test(text)) return [el("a", { href: text, text })];
      // An interval stands below its value.
      const at = column.align === "right" ? text.indexOf(" [") + 1 : 0;
      return at ? [text.slice(0, at), el("span", { class: "interval", text: text.slice(at) })] : [text];
    };
    const aside = new Set(data.aside || []);
    // Sentences: on a phone they need more room than a column of words.
    const long = data.columns.map((column, x) => column.align !== "right" && data.rows.some((row) => String(row[x] ?? "").length > LONG));
    const rows = data.rows.map((row, y) => el("tr", { class: aside.has(y) ? "aside" : null, "data-cases": data.cases?.[y] }, ...row.map((value, x) => el("td", {
      class: `${data.columns[x].align === "right" ? "right" : "left"}${bold.has(`${y}:${x}`) ? " best" : ""}${long[x] ? " long" : ""}`,
    }, ...cell(format(value, data.columns[x].digits), data.columns[x])))));
    body.append(...rows);
    const [filter, sift] = sifted(body, rows);
    let last = null;
    const sort = (x, head) => {
      const down = last === head && head.getAttribute("aria-sort") === "ascending";
      if (last) last.removeAttribute("aria-sort");
      last = head;
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (y) => data.rows[y][x];
      const order = data.rows.map((_, y) => y).sort((a, b) => {
        const [p, q] = [key(a), key(b)];
        if (p === null || q === null) return (p === null) - (q === null) || a - b;
        const by = typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q), "en", { numeric: true });
        return (down ? -by : by) || a - b;
      });
      body.replaceChildren(...order.map((y) => rows[y]));
      sift();
    };
    const heads = data.columns.map((column, x) => {
      const head = el("th", { scope: "col", class: column.align === "right" ? "right" : "left" });
      head.append(data.rows.length > 2
        ? el("button", { type: "button", title: "sort", text: visible(column.title), onclick: () => sort(x, head) })
        : visible(column.title));
      return head;
    });
    return [
      filter,
      el("div", { class: rows.length < FOLDED ? "fl-scroll" : "fl-scroll long", tabindex: "0", role: "region", "aria-label": "table" },
        el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)),
      data.note ? el("p", { class: "fl-note", text: visible(data.note) }) : null,
    ];
  }

  window.formlabReport.kinds.table = (data, box) => {
    const parts = table(data).filter(Boolean);
    box.replaceChildren(...data.fold ? [el("details", { class: "fl-fold" }, el("summary", { text: visible(data.fold) }), ...parts)] : parts);
  };
})();
