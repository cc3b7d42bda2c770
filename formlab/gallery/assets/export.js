/* The chosen cases as a file: JSON Lines, or CSV for a spreadsheet. */
"use strict";
(() => {
  const { el, answers } = window.formlabGallery;
  const SKIPPED = new Set(["image", "sheet"]);
  /* What a spreadsheet would run gets an apostrophe, as in reports/csv_export.py. */
  const FORMULA = /^[\s\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*[=+\-@＝＋－＠]|^[\t\r\n]/;

  /* A case as one flat row, as gallery.rows has it in Python. */
  function flat(item) {
    const row = Object.create(null);
    answers(item).forEach((answer, n) => {
      for (const [name, value] of Object.entries(answer)) {
        if (SKIPPED.has(name) || (value !== null && typeof value === "object")) continue;
        row[n ? `${name}_${n + 1}` : name] = value;
      }
    });
    for (const [name, value] of Object.entries(item.slices)) row[name] ??= Array.isArray(value) ? value.join("; ") : value;
    if (item.finding.length) row.finding = item.finding.join("; ");
    return row;
  }

  function cell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value !== "string") return String(value);
    const safe = (FORMULA.test(value) ? `'${value}` : value).replaceAll("\0", "␀");
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function csv(rows) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    return [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
  }

  const jsonl = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const KINDS = { jsonl: [jsonl, "application/jsonl"], csv: [csv, "text/csv"] };

  function save(items, kind) {
    const [write, type] = KINDS[kind];
    const url = URL.createObjectURL(new Blob([write(items.map(flat))], { type: `${type};charset=utf-8` }));
    // Some browsers ignore a click on a link that does not stand in the document.
    const link = el("a", { href: url, download: `cases.${kind}`, hidden: true });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  Object.assign(window.formlabGallery, { save });
})();
