/* An explorer: a gallery with rates by a column above it, and the Python of what is shown. */
"use strict";
(() => {
  const { el, visible, shape, button, select, bdi, fold, fill, words, several, count, selection, Gallery, kinds } = window.formlabGallery;
  const [MOST, DRAWS] = [15, 1000];
  const ORDERS = [["given", "in order"], ["worst", "worst first"], ["most", "most values first"]];
  const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100];
  const quiet = (act) => { try { return act(); } catch { return null; } };
  const percent = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)} %`);
  const plain = (value) => (value === null ? "–" : value.toFixed(3));
  const interval = ({ low, high }, form) => (low === null ? "" : ` (${form(low).replace(" %", "")}–${form(high)})`);
  const add = (values) => values.reduce((a, b) => a + b, 0);
  const plus = (sums, document, number) => sums.set(document, (sums.get(document) ?? 0) + number);

  /* ---- counts: sums by document of the units that a selection chooses, and draws of documents ---- */

  /* A small generator of random numbers with a seed: mulberry32. */
  function randoms(seed) {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  /* As numpy's quantile: linear between neighbours. */
  function quantile(sorted, share) {
    const [at, low] = [share * (sorted.length - 1), Math.floor(share * (sorted.length - 1))];
    return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  }

  /* Whole numbers as they are packed: base64 of one, two or four bytes for each of so many. */
  function unpack(text, many) {
    const { buffer } = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const kind = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[buffer.byteLength / many] ?? Uint8Array;
    return new kind(buffer);
  }

  /* The units of all evaluations, one after the other. */
  class Counts {
    constructor({ evaluations, document, columns, measures }) {
      let start = 0;
      this.evaluations = evaluations.map((each) => ({ ...each, start, end: start += each.units }));
      const unpacked = (each) => [each.name, { ...each, codes: unpack(each.codes, start) }];
      this.document = unpack(document, start);
      this.columns = new Map(columns.map((each) => unpacked({ ...each, values: [null, ...each.values] })));
      this.measures = new Map(measures.map(unpacked));
    }

    /* The evaluation that a unit is of. */
    of(unit) {
      return this.evaluations.findIndex(({ end }) => unit < end);
    }

    /* For each unit: 2 if it fits, 1 if it fits but for what became of it, else 0. */
    fits(chosen) {
      const fit = new Uint8Array(this.document.length).fill(2);
      for (const [name, values] of chosen) {
        const { values: known, codes, after } = this.columns.get(name);
        const ok = known.map((own) => values.some((value) => selection.fits(own, value)));
        codes.forEach((code, unit) => { if (!ok[code]) fit[unit] = after ? Math.min(fit[unit], 1) : 0; });
      }
      return fit;
    }

    /* How many units of some evaluations fit. */
    chosen(fit, places) {
      return add(places.map((e) => fit.subarray(this.evaluations[e].start, this.evaluations[e].end).filter((n) => n === 2).length));
    }

    /* A measure by the values of a column, or over all units that fit. Errors are counted among all
       values, whatever became of them. */
    rows(e, measure, fit, by = null) {
      const { start, end } = this.evaluations[e];
      const { pairs, codes } = this.measures.get(measure);
      if (!codes.subarray(start, end).some((code) => pairs[code][0] > 0 || pairs[code][1] > 0)) return [];
      const [column, errors, groups] = [this.columns.get(by), measure === "errors", new Map()];
      const all = errors && column?.after ? { total: new Map(), cases: 0 } : null;
      for (let unit = start; unit < end; unit += 1) {
        const [hits, total] = pairs[codes[unit]];
        if (fit[unit] < (errors ? 1 : 2)) continue;
        const code = column ? column.codes[unit] : 0;
        if (!groups.has(code) && (!all || (fit[unit] === 2 && hits > 0))) groups.set(code, { hits: new Map(), ...all ?? { total: new Map(), cases: 0 } });
        const group = all ?? groups.get(code);
        plus(group.total, this.document[unit], total);
        group.cases += total > 0;
        if (fit[unit] === 2 && hits > 0) plus(groups.get(code).hits, this.document[unit], hits);
      }
      const below = all && this.summed(e, all.total);
      const made = [...groups].map(([code, { hits, total, cases }]) => {
        const whole = add([...total.values()]);
        const documents = [...total.values()].filter((n) => n > 0).length;
        const [low, high] = documents > 1 ? this.interval(this.summed(e, hits), below ?? this.summed(e, total)) : [null, null];
        const value = whole > 0 ? add([...hits.values()]) / whole : null;
        return { code, label: column?.values[code] ?? null, value, low, high, documents, cases: all?.cases ?? cases };
      });
      return made.sort((a, b) => (a.code || Infinity) - (b.code || Infinity));
    }

    interval(hits, total) {
      const known = hits.map((n, draw) => n / total[draw]).filter(Number.isFinite).sort();
      return known.length ? [quantile(known, 0.025), quantile(known, 0.975)] : [null, null];
    }

    /* One number of each document summed over each draw. */
    summed(e, sums) {
      const [often, made] = [this.draws(this.evaluations[e]), new Float64Array(DRAWS)];
      for (const [document, n] of sums) if (n !== 0) for (let draw = 0; draw < DRAWS; draw += 1) made[draw] += often[document * DRAWS + draw] * n;
      return made;
    }

    /* How often each document is in each draw, draw by draw for the first, and so on. */
    draws(evaluation) {
      const { documents } = evaluation;
      if (!evaluation.often) {
        const random = randoms(1);
        evaluation.often = new Uint8Array(documents * DRAWS);
        for (let draw = 0; draw < DRAWS; draw += 1) for (let n = 0; n < documents; n += 1) evaluation.often[Math.floor(random() * documents) * DRAWS + draw] += 1;
      }
      return evaluation.often;
    }
  }

  /* ---- the page ---- */

  const marker = (n, colour) => shape("path", { class: n ? "second" : "first", fill: colour, d: n ? "M-4.5-4.5h9v9h-9z" : "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0" });

  class Explorer extends Gallery {
    constructor(root, data) {
      super(root, data.gallery);
      Object.assign(this, { counts: new Counts(data), cards: data.cards, colours: data.colours, first: data.first, of: [0], by: data.first.by, measured: data.first.measure });
    }

    start() {
      super.start(el("div"));
      addEventListener("popstate", () => this.arrive());
      this.arrive();
    }

    /* A filter is one of all parts. */
    offered() {
      const { columns } = this.counts;
      const facets = super.offered().filter(({ column }) => columns.has(column));
      this.titles = new Map([...columns].map(([name, { title }]) => [name, title]));
      this.columns = new Set([...columns.keys(), "system"]);
      return facets;
    }

    values(i, column) {
      const known = this.counts.columns.get(column);
      if (!known) return super.values(i, column);
      const value = known.values[known.codes[this.cards[i]]];
      return value === null && column === "finding" ? [] : [value].flat();
    }

    fits(i) {
      return this.of.includes(this.counts.of(this.cards[i])) && super.fits(i);
    }

    /* The evaluations of a selection's systems, and what else it asks for. */
    parted(wanted) {
      const [chosen, systems] = [new Map(wanted), wanted.get("system")];
      chosen.delete("system");
      return [[...this.counts.evaluations.keys()].filter((e) => !systems || systems.includes(this.counts.evaluations[e].system)), chosen];
    }

    matching(wanted) {
      const [places, chosen] = this.parted(wanted);
      return this.counts.chosen(this.counts.fits(chosen), places);
    }

    choose(wanted) {
      const [places, chosen] = this.parted(wanted);
      this.unknown = [...chosen.keys()].filter((name) => !this.columns.has(name));
      for (const name of this.unknown) chosen.delete(name);
      if (wanted.has("system") && places.length) this.of = places.slice(0, 2);
      // A finding is about evaluations of its own.
      const owners = chosen.has("finding") ? places.filter((e) => this.counts.chosen(this.counts.fits(chosen), [e])) : [];
      if (owners.length && !owners.some((e) => this.of.includes(e))) this.of = [owners[0]];
      super.choose(chosen);
      return this.counts.chosen(this.fit, places);
    }

    line() {
      const views = Object.entries({ of: this.of.join(","), by: this.by, measure: this.measured }).filter(([name, value]) => value !== String(this.first[name] ?? 0));
      return [selection.text(this.chosen), ...views.map(([name, value]) => `view=${name}:${encodeURIComponent(value)}`)].filter(Boolean).join("&");
    }

    /* Shows what the page's address says. */
    arrive() {
      const { counts, first } = this;
      const parts = location.hash.slice(1).split("&").filter(Boolean);
      const line = parts.filter((part) => !part.startsWith("view=")).join("&");
      const chosen = selection.read(line);
      // Headings have addresses as well.
      if (!chosen && this.unknown) return;
      const view = Object.fromEntries(parts.filter((part) => part.startsWith("view=")).map((part) => part.slice(5).split(":")).map(([name, value = ""]) => [name, quiet(() => decodeURIComponent(value)) ?? ""]));
      const there = (view.of ?? "0").split(",").map(Number).filter((e) => counts.evaluations[e]);
      this.of = there.length ? [...new Set(there)].slice(0, 2) : [0];
      this.by = [view.by, first.by].find((name) => counts.columns.has(name) && name !== "finding");
      this.measured = [view.measure, first.measure].find((name) => counts.measures.has(name));
      this.choose(chosen ?? new Map());
      if (line && chosen) this.root.scrollIntoView({ block: "start" });
    }

    filtered() {
      this.update();
      this.tell();
      const line = this.line();
      quiet(() => history.pushState(null, "", line ? `#${line}` : location.pathname + location.search));
    }

    build(box) {
      this.choices = [0, 1].map((n) => select(n ? "Beside it" : "Evaluation", (value) => {
        const e = Number(value);
        if (n === 0) this.of = [e, ...this.of.slice(1).filter((other) => other !== e)];
        else this.of = e < 0 ? this.of.slice(0, 1) : [this.of[0], e];
        this.filtered();
      }));
      this.status = el("div", { class: "fx-status", role: "status", "aria-live": "polite" });
      this.note = el("p", { class: "fx-note" });
      this.python = el("pre", { "aria-label": "Python of this view" });
      this.root.classList.add("fx");
      super.build(box);
      this.root.append(el("div", { class: "fx-row" }, ...this.choices.map((node, n) => el("label", {}, el("span", { text: n ? "Beside it " : "Evaluation " }), node))),
        this.status, this.chips, this.panel(), this.note, fold("fx-python", "Show me the Python", button("Copy", () => quiet(() => navigator.clipboard.writeText(this.python.textContent))), this.python), box);
    }

    /* Rows of one column: a point with its interval for each evaluation, and its numbers. */
    panel() {
      const choice = (name, act) => select(name, (value) => { this.all = false; act(value); });
      this.measure = choice("Measure", (value) => { this.measured = value; this.filtered(); });
      this.column = choice("By", (value) => { [this.by, this.placed] = [value, null]; this.filtered(); });
      this.sorted = choice("Order", (value) => { this.placed = value; this.draw(); });
      [this.head, this.title] = [el("th", { scope: "col" }), el("th", { scope: "col" })];
      this.body = el("tbody", { onclick: (event) => this.clicked(event) });
      this.foot = el("td", {});
      this.more = button("", () => { this.all = true; this.draw(); });
      return el("section", { "aria-label": "chart", class: "fx-panel" }, el("div", { class: "fx-row" }, this.measure, "by", this.column, this.sorted), el("table", {},
        el("thead", {}, el("tr", {}, this.title, this.head, el("th", { class: "right", scope: "col", text: "value" }, el("i", { text: ", 95 % interval" })), el("th", { class: "right", scope: "col", text: "n" }))),
        this.body, el("tfoot", {}, el("tr", {}, el("td", {}), this.foot, el("td", {}), el("td", {})))), this.more);
    }

    /* What became of a value is no group to take a share of, and of chosen errors no share is right:
       their rate among all values is shown. */
    get shownMeasure() {
      const { columns } = this.counts;
      this.after = [...this.chosen.keys()].some((name) => columns.get(name).after);
      return this.measured === "outcome" && (this.after || columns.get(this.by).after) ? "errors" : this.measured;
    }

    update() {
      const { counts: { evaluations, columns, measures }, of } = this;
      const names = evaluations.map(({ name }, e) => [e, visible(name)]);
      fill(this.choices[0], names, of[0]);
      fill(this.choices[1], [[-1, "none"], ...names.filter((_, e) => e !== of[0])], of[1] ?? -1);
      this.choices[1].parentNode.hidden = evaluations.length < 2;
      fill(this.measure, [...measures].map(([name, { title }]) => [name, title]), this.shownMeasure);
      fill(this.column, [...columns].filter(([name]) => name !== "finding").map(([name, { title }]) => [name, title]), this.by);
      this.fit = this.counts.fits(this.chosen);
      this.status.replaceChildren(...of.map((e, n) => this.summary(e, n)));
      const unknown = (this.unknown ?? []).map((name) => `There is no column ${visible(name)} here: that filter is left out. `);
      this.note.textContent = `${unknown.join("")}A click on a row filters all parts by it; with Ctrl or Shift it joins the rows chosen before.`;
      this.draw();
      this.python.textContent = this.code();
      super.update();
      // A filter of the gallery with one value left is none.
      for (const { select: node } of this.facets) node.parentNode.hidden = node.value === "" && node.length < 3;
    }

    summary(e, n) {
      const { name, system } = this.counts.evaluations[e];
      const [row] = this.counts.rows(e, this.after ? "errors" : "outcome", this.fit);
      const rate = row?.cases ? `${percent(row.value)} of ${several(row.cases, "value")} ${this.after ? "wrong as chosen" : "right"}${interval(row, percent)}, in ${several(row.documents, "document")}`
        : several(this.counts.chosen(this.fit, [e]), "value");
      const mark = shape("svg", { viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" }, marker(n, this.colours[system]));
      return el("p", {}, mark, el("b", {}, bdi(` ${name} `)), rate);
    }

    draw() {
      const { counts, of, by } = this;
      const column = counts.columns.get(by);
      const measure = counts.measures.get(this.shownMeasure);
      const order = this.placed ?? (by === "doc_id" || column.after ? "worst" : "given");
      fill(this.sorted, ORDERS, order);
      const fit = counts.fits([...this.chosen].filter(([name]) => name !== by));
      const rows = new Map();
      of.forEach((e, at) => counts.rows(e, measure.name, fit, by).forEach((row) => {
        if (!rows.has(row.code)) rows.set(row.code, { code: row.code, label: row.label, own: [] });
        rows.get(row.code).own[at] = row;
      }));
      const worst = ({ own }) => { const { value } = own.find(Boolean); return value === null ? Infinity : measure.down ? -value : value; };
      const most = ({ own }) => -Math.max(...own.filter(Boolean).map(({ cases }) => cases));
      const given = ({ code }) => code || Infinity;
      const rank = { given, worst, most }[order];
      this.rows = [...rows.values()].sort((a, b) => (rank(a) === rank(b) ? a.code - b.code : rank(a) - rank(b)));
      const end = Math.max(0, ...this.rows.flatMap(({ own }) => own.flatMap(({ value, high }) => [value ?? 0, high ?? 0])));
      this.high = measure.high !== null && end > measure.high / 2 ? Math.max(measure.high, end) : end * 1.05 || 1;
      [this.title.textContent, this.head.textContent] = [column.title, measure.title];
      const top = this.all ? this.rows : this.rows.slice(0, MOST);
      this.more.hidden = top.length === this.rows.length;
      this.more.textContent = `Show all ${count(this.rows.length)} rows`;
      this.body.replaceChildren(...top.map((row, place) => this.row(row, place, measure.percent ? percent : plain)));
      const none = measure.name === "errors" ? "No error fits these filters." : "Nothing of it was scored under these filters.";
      if (!top.length) this.body.append(el("tr", {}, el("td", { colspan: 4, class: "fx-note", text: none })));
      this.foot.replaceChildren(this.axis(measure.percent));
    }

    row({ label, own }, place, form) {
      const { by, of } = this;
      const chosen = (this.chosen.get(by) ?? []).includes(label);
      const name = label === null ? "no value" : visible(this.counts.columns.get(by).after ? words(label) : label) || "(empty)";
      const plot = shape("svg", { width: "100%", height: 20 * of.length, "aria-hidden": "true" }, ...of.flatMap((e, at) => (own[at] ? this.point(own[at], this.colours[this.counts.evaluations[e].system], at) : [])));
      const lines = (make) => of.map((_, at) => (own[at] ? make(own[at]) : el("span", { text: "–" })));
      return el("tr", { "data-place": place, "data-chosen": chosen ? "yes" : this.chosen.has(by) ? "no" : null },
        el("th", { scope: "row" }, el("button", { type: "button", "aria-pressed": String(chosen), title: name }, bdi(name))), el("td", {}, plot),
        el("td", { class: "right" }, ...lines((each) => el("span", {}, el("b", { text: form(each.value) }), el("i", { text: interval(each, form) })))),
        el("td", { class: "right" }, ...lines((each) => el("span", { text: count(each.cases), title: `in ${several(each.documents, "document")}` }))));
    }

    point({ value, low, high }, colour, at) {
      const [y, x] = [20 * at + 10, (number) => `${Math.min(100, (100 * number) / this.high)}%`];
      const line = (kind, from, to, more = {}) => shape("line", { class: kind, x1: from, x2: to, y1: y, y2: y, ...more });
      const span = low === null ? [] : [line(`span ${at ? "second" : "first"}`, x(low), x(high), { stroke: colour })];
      return [line("rule", 0, "100%"), ...value === null ? [] : [...span, shape("svg", { x: x(value), y, overflow: "visible" }, marker(at, colour))]];
    }

    axis(shares) {
      const step = STEPS.find((each) => this.high / each <= 4) ?? this.high;
      const labels = Array.from({ length: Math.floor((this.high * 1.0001) / step) + 1 }, (_, n) => n * step).map((at) => shape("text", {
        x: `${(100 * at) / this.high}%`, y: 12, "text-anchor": at === 0 ? "start" : at > this.high * 0.95 ? "end" : "middle",
      }, shares ? `${+(100 * at).toFixed(1)}` : `${+at.toFixed(3)}`));
      return shape("svg", { width: "100%", height: 16, "aria-hidden": "true" }, ...labels);
    }

    clicked(event) {
      const place = event.target.closest("tr")?.dataset.place;
      if (place === undefined || String(getSelection()) !== "") return;
      const { label } = this.rows[Number(place)];
      const values = this.chosen.get(this.by) ?? [];
      const rest = values.filter((other) => other !== label);
      const joined = event.ctrlKey || event.metaKey || event.shiftKey;
      this.set(this.by, rest.length < values.length ? rest : joined ? [...values, label] : [label]);
      this.body.querySelector(`tr[data-place="${place}"] button`)?.focus({ preventScroll: true });
    }

    /* The Python that makes the tables and the cases shown. A JSON text is one of Python too. */
    code() {
      const quote = JSON.stringify;
      const findings = this.chosen.has("finding");
      const more = findings ? ", findings=findings" : "";
      const rows = selection.text([...this.chosen].filter(([name]) => name !== this.by));
      const sources = (evaluations) => evaluations.map(({ source }) => `    ${source},`);
      return [
        "from formlab import analysis, charts, explore, gallery", "", "results = [", ...sources(this.of.map((e) => this.counts.evaluations[e])), "]",
        ...(findings ? ["findings = analysis.findings([", ...sources(this.counts.evaluations), "])"] : []),
        `table = explore.rates(results, by=${quote(this.by)}, measure=${quote(this.shownMeasure)}, line=${quote(rows)}${more})`,
        "display(charts.dots(table, \"slice_value\", colour=\"system\"), charts.table(table))",
        `cases = [explore.cases(result, ${quote(selection.text(this.chosen))}${more}) for result in results]`,
        "for result, chosen in zip(results, cases):", "    display(gallery.errors(chosen, of=result))",
      ].join("\n");
    }
  }

  kinds.explorer = (root, data) => new Explorer(root, data).start();
})();
