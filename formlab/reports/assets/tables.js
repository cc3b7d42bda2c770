/* Tables that sort by a click on a heading. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;

  const MISSING = "–";
  const format = (value, digits) => {
    if (value === null || value === undefined) return MISSING;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value !== "number") return visible(value);
    const size = Math.min(Math.max(Number(digits) || 0, 0), 12);
    return value.toLocaleString("en", { minimumFractionDigits: size, maximumFractionDigits: size }).replace("-", "−");
  };

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
    const rows = data.rows.map((row, y) => el("tr", aside.has(y) ? { class: "aside" } : {}, ...row.map((value, x) => el("td", {
      class: `${data.columns[x].align === "right" ? "right" : "left"}${bold.has(`${y}:${x}`) ? " best" : ""}`,
    }, ...cell(format(value, data.columns[x].digits), data.columns[x])))));
    body.append(...rows);
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
    };
    const heads = data.columns.map((column, x) => {
      const head = el("th", { scope: "col", class: column.align === "right" ? "right" : "left" });
      head.append(data.rows.length > 2
        ? el("button", { type: "button", title: "sort", text: visible(column.title), onclick: () => sort(x, head) })
        : visible(column.title));
      return head;
    });
    return [
      el("div", { class: "fl-scroll", tabindex: "0", role: "region", "aria-label": "table" },
        el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)),
      data.note ? el("p", { class: "fl-note", text: visible(data.note) }) : null,
    ];
  }

  window.formlabReport.kinds.table = (data, box) => { box.replaceChildren(...table(data).filter(Boolean)); };
})();
