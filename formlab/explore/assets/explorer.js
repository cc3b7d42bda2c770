/* An explorer: rates by a column, filters, a gallery of their cases, and the Python of what is shown. */
"use strict";
(() => {
  const { el, visible, shape, words, count, several, selection } = window.formlabGallery;
  const [MOST, DRAWS] = [15, 1000];
  const label = (value, column) => (value === null ? "no value" : visible(column?.after ? words(value) : value) || "(empty)");
  const quiet = (act) => { try { return act(); } catch { return null; } };
  const option = (value, text, chosen) => el("option", { value, text, selected: value === chosen ? "" : null });
  const percent = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)} %`);
  const plain = (value) => (value === null ? "–" : value.toFixed(3));
  const interval = ({ low, high }, form) => (low === null ? "" : ` (${form(low).replace(" %", "")}–${form(high)})`);
  const add = (values) => values.reduce((a, b) => a + b, 0);

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

  class Counts {
    constructor({ evaluations, columns, measures }) {
      const unpacked = (each) => each.codes.map((text, e) => unpack(text, evaluations[e].units));
      this.evaluations = evaluations.map((each) => ({ ...each, document: unpack(each.document, each.units) }));
      this.columns = new Map(columns.map((column) => [column.name, { ...column, codes: unpacked(column), number: new Map(column.values.map((value, n) => [value, n + 1])) }]));
      this.measures = new Map(measures.map((measure) => [measure.name, { ...measure, codes: unpacked(measure) }]));
      this.drawn = new Map();
    }

    /* How often each document is in each draw, draw by draw for the first, and so on. */
    draws(e) {
      if (!this.drawn.has(e)) {
        const { documents } = this.evaluations[e];
        const often = new Uint8Array(documents * DRAWS);
        const random = randoms(1);
        for (let draw = 0; draw < DRAWS; draw += 1) for (let n = 0; n < documents; n += 1) often[Math.floor(random() * documents) * DRAWS + draw] += 1;
        this.drawn.set(e, often);
      }
      return this.drawn.get(e);
    }

    /* For each unit: 2 if it fits, 1 if it fits but for what became of it, else 0. */
    fits(e, chosen) {
      const fit = new Uint8Array(this.evaluations[e].units).fill(2);
      for (const [name, values] of chosen) {
        const { values: known, number, claims, codes, after } = this.columns.get(name);
        const ok = new Uint8Array(known.length + 1);
        for (const value of values) {
          const code = value === null ? 0 : number.get(value);
          if (code !== undefined) ok[code] = 1;
          // The values of findings are sets of numbers.
          if (claims) known.forEach((set, n) => { if (set.includes(value)) ok[n + 1] = 1; });
        }
        codes[e].forEach((code, unit) => { if (!ok[code]) fit[unit] = after ? Math.min(fit[unit], 1) : 0; });
      }
      return fit;
    }

    /* The rows of a measure by a column. */
    rows(e, by, measure, chosen) {
      const others = new Map([...chosen].filter(([name]) => name !== by));
      const column = this.columns.get(by);
      const [fit, codes, errors] = [this.fits(e, others), column.codes[e], measure === "errors"];
      const [sums, all] = [new Map(), new Sums()];
      const of = (code) => { if (!sums.has(code)) sums.set(code, new Sums()); return sums.get(code); };
      this.each(e, measure, (unit, document, hits, total) => {
        if (fit[unit] === 0 || (fit[unit] === 1 && !errors)) return;
        if (!errors) of(codes[unit]).add(document, hits, total);
        else if (!column.after) of(codes[unit]).add(document, fit[unit] === 2 ? hits : 0, total);
        else {
          all.add(document, 0, total);
          if (fit[unit] === 2 && hits > 0) of(codes[unit]).add(document, hits, 0);
        }
      });
      if (!this.scored(e, measure)) return [];
      const made = [...sums].map(([code, sum]) => this.finish(e, errors && column.after ? sum.over(all) : sum, { code, label: code === 0 ? null : column.values[code - 1] }));
      const place = ({ code }) => (code === 0 ? Infinity : code);
      return made.sort((a, b) => place(a) - place(b));
    }

    /* One number over what a selection chooses. */
    row(e, measure, chosen) {
      const [sum, fit] = [new Sums(), this.fits(e, chosen)];
      this.each(e, measure, (unit, document, hits, total) => {
        if (fit[unit] === 2) sum.add(document, hits, total);
        else if (fit[unit] === 1 && measure === "errors") sum.add(document, 0, total);
      });
      return this.finish(e, sum, {});
    }

    scored(e, measure) {
      const { pairs, codes } = this.measures.get(measure) ?? { pairs: [], codes: [] };
      return codes[e]?.some((code) => pairs[code][1] > 0 || pairs[code][0] > 0) ?? false;
    }

    each(e, measure, use) {
      const { pairs, codes } = this.measures.get(measure);
      const { document } = this.evaluations[e];
      codes[e].forEach((code, unit) => use(unit, document[unit], pairs[code][0], pairs[code][1]));
    }

    finish(e, sum, head) {
      const whole = add(sum.total);
      const documents = sum.taken.filter((n) => n > 0).length;
      const [low, high] = documents > 1 ? this.interval(e, sum) : [null, null];
      return { ...head, value: whole > 0 ? add(sum.hits) / whole : null, low, high, documents, cases: sum.cases };
    }

    interval(e, sum) {
      // Rows that share their values share their totals.
      const whole = sum.all ?? sum;
      whole.below ??= this.summed(e, whole, whole.total);
      const known = this.summed(e, sum, sum.hits).map((hits, draw) => hits / whole.below[draw]).filter(Number.isFinite).sort();
      return known.length ? [quantile(known, 0.025), quantile(known, 0.975)] : [null, null];
    }

    /* One number of each document summed over each draw. */
    summed(e, { place }, numbers) {
      const [often, sums] = [this.draws(e), new Float64Array(DRAWS)];
      for (const [document, n] of place) if (numbers[n] !== 0) for (let draw = 0; draw < DRAWS; draw += 1) sums[draw] += often[document * DRAWS + draw] * numbers[n];
      return sums;
    }
  }

  /* Hits and total of each document that has any, and how many units are in the total. */
  class Sums {
    constructor() { Object.assign(this, { place: new Map(), hits: [], total: [], taken: [], cases: 0 }); }

    add(document, hits, total) {
      if (!this.place.has(document)) {
        this.place.set(document, this.hits.length);
        for (const list of [this.hits, this.total, this.taken]) list.push(0);
      }
      const n = this.place.get(document);
      this.hits[n] += hits;
      this.total[n] += total;
      if (total > 0) { this.taken[n] += 1; this.cases += 1; }
    }

    /* These hits over the totals of another. */
    over(all) {
      const sum = new Sums();
      for (const [document, n] of all.place) sum.add(document, 0, all.total[n]);
      for (const [document, n] of this.place) sum.add(document, this.hits[n], 0);
      return Object.assign(sum, { all, taken: [...all.taken], cases: all.cases });
    }
  }

  /* ---- the page ---- */

  class Explorer {
    constructor(root, data) {
      this.root = root;
      this.counts = new Counts(data);
      this.cards = new Map(data.evaluations.map((_, e) => [e, new Map()]));
      data.cards.forEach(([e, unit], n) => this.cards.get(e).set(unit, n));
      this.first = data.first;
      this.build(data.gallery);
      this.arrive();
      addEventListener("popstate", () => this.arrive());
    }

    take({ of, by, measure, line }) {
      const { evaluations, columns, measures } = this.counts;
      const there = (of ?? []).filter((e) => evaluations[e]);
      this.of = there.length ? [...new Set(there)].slice(0, 2) : [0];
      this.by = columns.has(by) && by !== "finding" ? by : [...columns.keys()][0];
      this.measured = measures.has(measure) ? measure : [...measures.keys()][0];
      [this.wasAfter, this.gaveWay] = [false, false];
      this.choose(selection.read(line ?? ""));
    }

    /* Its system, if a selection names one, is an evaluation here. */
    choose(wanted) {
      const chosen = new Map(wanted ?? []);
      const systems = chosen.get("system");
      chosen.delete("system");
      const named = [...this.counts.evaluations.keys()].filter((e) => systems?.includes(this.counts.evaluations[e].system));
      if (named.length) this.of = named.slice(0, 2);
      // A finding is about evaluations of its own.
      const owners = (chosen.get("finding") ?? []).flatMap((n) => this.counts.columns.get("finding")?.owners[n - 1] ?? []);
      if (owners.length && !owners.some((e) => this.of.includes(e))) this.of = [owners[0]];
      this.unknown = [...chosen.keys()].filter((name) => !this.counts.columns.has(name));
      for (const name of this.unknown) chosen.delete(name);
      this.selection = chosen;
    }

    /* What the links of a report ask of a gallery. */
    get linked() {
      const { evaluations, columns } = this.counts;
      const fitting = (chosen) => {
        const rest = new Map([...chosen].filter(([name]) => name !== "system"));
        const systems = chosen.get("system");
        const fit = [...evaluations.keys()].filter((e) => !systems || systems.includes(evaluations[e].system)).map((e) => this.counts.fits(e, rest));
        return add(fit.map((units) => units.filter((unit) => unit === 2).length));
      };
      return {
        root: this.root, fitting, knows: (chosen) => [...chosen.keys()].every((name) => columns.has(name) || name === "system"),
        choose: (chosen) => { this.choose(chosen); this.update(); return fitting(chosen); }, open: (key) => this.gallery.open(key),
      };
    }

    address() {
      const views = Object.entries({ of: this.of.join(","), by: this.by, measure: this.measured }).filter(([name, value]) => value !== String(this.first[name]))
        .map(([name, value]) => `view=${name}:${encodeURIComponent(value)}`);
      return [selection.text(this.selection), ...views].filter(Boolean).join("&");
    }

    arrive() {
      const parts = location.hash.slice(1).split("&").filter(Boolean);
      const state = { ...this.first };
      const lines = parts.filter((part) => !part.startsWith("view="));
      for (const part of parts.filter((text) => text.startsWith("view="))) {
        const [name, value = ""] = part.slice(5).split(":");
        const read = quiet(() => decodeURIComponent(value)) ?? "";
        if (["of", "by", "measure"].includes(name)) state[name] = name === "of" ? read.split(",").map(Number) : read;
      }
      const chosen = selection.read(lines.join("&"));
      // Headings have addresses as well.
      if (parts.length && chosen) state.line = lines.join("&");
      if (chosen || !this.of) this.take(state);
      if (lines.length && chosen) this.root.scrollIntoView({ block: "start" });
      this.update();
    }

    changed() {
      this.update();
      const address = this.address();
      quiet(() => history.pushState(null, "", address ? `#${address}` : location.pathname + location.search));
    }

    build(data) {
      const button = (text, onclick, more = {}) => el("button", { type: "button", text, onclick, ...more });
      this.choices = [0, 1].map((n) => el("select", { "aria-label": n ? "Beside it" : "Evaluation", onchange: ({ target }) => {
        const e = Number(target.value);
        if (n === 0) this.of = [e, ...this.of.slice(1).filter((other) => other !== e)];
        else this.of = e < 0 ? this.of.slice(0, 1) : [this.of[0], e];
        this.changed();
      } }));
      this.chips = el("div", { class: "fx-row", role: "group", "aria-label": "filters" });
      this.status = el("div", { class: "fx-status", role: "status", "aria-live": "polite" });
      this.panel = new Panel(this);
      this.python = el("pre", { "aria-label": "Python of this view" });
      const copy = button("Copy", ({ target }) => {
        getSelection().selectAllChildren(this.python);
        (navigator.clipboard?.writeText(this.python.textContent) ?? Promise.reject()).then(() => { target.textContent = "Copied"; }, () => { target.textContent = "Selected"; });
      });
      this.note = el("p", { class: "fx-note" });
      const box = el("div", {});
      this.root.classList.add("fx", "fl-gallery");
      this.root.append(el("div", { class: "fx-row" }, ...this.choices.map((select, n) => el("label", {}, el("span", { text: n ? "Beside it " : "Evaluation " }), select))),
        this.status, this.chips, this.panel.node,
        el("details", { class: "fx-python" }, el("summary", { text: "Show me the Python" }), copy, this.python), this.note, box);
      this.gallery = window.formlabGallery.show(box, data);
      box.addEventListener("formlab-selection", (event) => { event.stopPropagation(); this.fromGallery(selection.read(event.detail.line)); });
    }

    toggle(column, value, alone) {
      const values = this.selection.get(column) ?? [];
      const rest = values.filter((other) => other !== value);
      this.set(column, rest.length < values.length ? rest : alone ? [value] : [...values, value]);
      this.changed();
    }

    set(column, values) {
      if (values.length) this.selection.set(column, values); else this.selection.delete(column);
    }

    /* What the filters of the gallery changed is changed here too. */
    fromGallery(wanted) {
      for (const { column } of this.gallery.facets.filter((facet) => this.counts.columns.has(facet.column))) {
        const [before, now] = [this.selection.get(column) ?? [], wanted.get(column) ?? []];
        if (String(before.length === 1 ? before : []) !== String(now)) this.set(column, now);
      }
      this.changed();
    }

    update() {
      const { evaluations } = this.counts;
      this.choices.forEach((select, n) => {
        const names = evaluations.map((each, e) => option(String(e), visible(each.name), String(this.of[n] ?? -1)));
        select.replaceChildren(...(n ? [option("-1", "none", String(this.of[1] ?? -1)), ...names.filter((_, e) => e !== this.of[0])] : names));
      });
      this.choices[1].parentNode.hidden = evaluations.length < 2;
      this.measureErrors();
      this.fit = new Map(this.of.map((e) => [e, this.counts.fits(e, this.selection)]));
      this.drawFilters();
      this.drawStatus();
      this.panel.draw();
      this.python.textContent = this.code();
      this.drawGallery();
    }

    drawFilters() {
      const chip = (text, act, label_ = null) => el("button", { type: "button", class: "fx-chip", "aria-label": label_, onclick: act }, el("bdi", { text }));
      const chips = [...this.selection].flatMap(([name, values]) => values.map((value) => {
        const column = this.counts.columns.get(name);
        const text = `${column.title}: ${label(column.claims?.[Number(value) - 1] ?? value, column)}`;
        return chip(`${text} ×`, () => this.toggle(name, value), `remove the filter ${text}`);
      }));
      if (chips.length > 1) chips.push(el("button", { type: "button", text: "Clear all", onclick: () => { this.selection.clear(); this.changed(); } }));
      if (!chips.length) chips.push(el("span", { class: "fx-note", text: "No filter. A click on a row below filters all parts by it; with Ctrl or Shift it joins the rows chosen before." }));
      for (const name of this.unknown) chips.push(el("span", { class: "fx-note", text: `There is no column ${visible(name)} here: that filter is left out.` }));
      this.chips.replaceChildren(...chips);
    }

    /* Of chosen errors no share is right: while they are chosen, that measure gives way. */
    measureErrors() {
      // Whether a filter is of what became of values: then these are errors among all values.
      this.after = [...this.selection.keys()].some((name) => this.counts.columns.get(name).after);
      if (this.after === this.wasAfter) return;
      this.wasAfter = this.after;
      if (this.after && this.measured === "outcome") [this.measured, this.gaveWay] = ["errors", true];
      else if (this.gaveWay && this.measured === "errors") [this.measured, this.gaveWay] = ["outcome", false];
    }

    drawStatus() {
      this.status.replaceChildren(...this.of.map((e, n) => {
        const each = this.counts.evaluations[e];
        const thing = each.whole ? "document" : "value";
        const name = this.after ? "errors" : "outcome";
        const row = this.counts.scored(e, name) ? this.counts.row(e, name, this.selection) : null;
        const chosen = this.fit.get(e).filter((fit) => fit === 2).length;
        const rate = row?.cases ? `${percent(row.value)} of ${several(row.cases, thing)} ${this.after ? "wrong as chosen" : "right"}${interval(row, percent)}, in ${several(row.documents, "document")}` : several(chosen, thing);
        const mark = shape("svg", { viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" }, marker(n, each.colour));
        return el("p", {}, mark, el("b", {}, el("bdi", { text: ` ${visible(each.name)} ` })), (each.whole ? "No field of it was scored: these are whole documents. " : "") + rate);
      }));
    }

    /* The gallery's own filters do what they can show, so that they offer what other filters leave. */
    drawGallery() {
      const facets = new Set(this.gallery.facets.map(({ column }) => column));
      const rest = new Map([...this.selection].filter(([name, values]) => values.length !== 1 || !facets.has(name)));
      const errors = this.counts.measures.get("errors");
      const shown = [];
      let [wrong, some] = [0, 0];
      for (const e of this.of) {
        const full = this.fit.get(e);
        this.counts.fits(e, rest).forEach((fit, unit) => {
          const card = this.cards.get(e).get(unit);
          if (fit === 2 && card !== undefined) shown.push(card);
          if (full[unit] < 2) return;
          if (errors?.pairs[errors.codes[e][unit]][0] > 0) wrong += 1;
          if (card !== undefined) some += 1;
        });
      }
      this.note.textContent = some < wrong ? `Of ${several(wrong, "wrong case")} chosen, a sample of ${count(some)} is below.` : `${several(wrong, "wrong case")} chosen, all below.`;
      this.gallery.mirror(shown, this.counts.columns, this.selection);
      // A filter of the gallery with one value left is none.
      for (const { select, chosen } of this.gallery.facets) select.parentNode.hidden = chosen === "" && select.length < 3;
    }

    /* The Python that makes the tables and the cases shown. A JSON text is one of Python too. */
    code() {
      const quote = JSON.stringify;
      const line = selection.text(this.selection);
      const findings = this.selection.has("finding");
      const more = findings ? ", findings=findings" : "";
      const rows = new Map([...this.selection].filter(([name]) => name !== this.by));
      const sources = (evaluations) => evaluations.map(({ source }) => `    ${source},`);
      return [
        "from formlab import analysis, charts, explore, gallery", "", "results = [", ...sources(this.of.map((e) => this.counts.evaluations[e])), "]",
        ...(findings ? ["findings = analysis.findings([", ...sources(this.counts.evaluations), "])"] : []),
        `table = explore.rates(results, by=${quote(this.by)}, measure=${quote(this.measured)}, line=${quote(selection.text(rows))}${more})`,
        "display(charts.dots(table, \"slice_value\", colour=\"system\"), charts.Table(table))",
        `cases = [explore.cases(result, ${quote(line)}${more}) for result in results]`, "for result, chosen in zip(results, cases):", "    display(gallery.errors(chosen, of=result))",
      ].join("\n");
    }
  }

  const marker = (n, colour) => shape("path", { class: n ? "second" : "first", fill: colour, d: n ? "M-4.5-4.5h9v9h-9z" : "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0" });

  /* Rows of one column: a point with its interval for each evaluation, and its numbers. */
  class Panel {
    constructor(explorer) {
      Object.assign(this, { explorer, order: null, all: false });
      const choice = (name, act) => el("select", { "aria-label": name, onchange: ({ target }) => { this.all = false; act(target.value); } });
      this.measure = choice("Measure", (value) => { explorer.measured = value; explorer.changed(); });
      this.by = choice("By", (value) => this.group(value));
      this.sort = choice("Order", (value) => { this.order = value; this.draw(); });
      this.body = el("tbody", { onclick: (event) => this.clicked(event) });
      this.head = el("th", { scope: "col" });
      this.title = el("th", { scope: "col" });
      this.foot = el("td", {});
      this.more = el("button", { type: "button", onclick: () => { this.all = true; this.draw(); } });
      this.node = el("section", { "aria-label": "chart", class: "fx-panel" }, el("div", { class: "fx-row" }, this.measure, "by", this.by, this.sort), el("table", {},
        el("thead", {}, el("tr", {}, this.title, this.head, el("th", { class: "right", scope: "col", text: "value" }, el("i", { text: ", 95 % interval" })), el("th", { class: "right", scope: "col", text: "n" }))),
        this.body, el("tfoot", {}, el("tr", {}, el("td", {}), this.foot, el("td", {}), el("td", {})))), this.more);
    }

    /* What became of a value is no group to take a share of; its rate of errors is. */
    group(value) {
      const { explorer } = this;
      explorer.by = value;
      if (explorer.counts.columns.get(value).after && explorer.measured === "outcome") explorer.measured = "errors";
      this.order = null;
      explorer.changed();
    }

    draw() {
      const { explorer } = this;
      const { counts, of, by, measured: name } = explorer;
      const measure = counts.measures.get(name);
      this.placed = this.order ?? (by === "doc_id" || counts.columns.get(by).after ? "worst" : "given");
      const titles = [...counts.columns].filter(([, column]) => !column.claims).map(([value, column]) => option(value, column.title, by));
      this.by.replaceChildren(...titles);
      this.measure.replaceChildren(...[...counts.measures].map(([value, each]) => option(value, each.title, name)));
      this.sort.replaceChildren(...[["given", "in order"], ["worst", "worst first"], ["most", "most values first"]].map(([value, text]) => option(value, text, this.placed)));
      const rows = new Map();
      of.forEach((e, at) => counts.rows(e, by, name, explorer.selection).forEach((row) => {
        if (!rows.has(row.code)) rows.set(row.code, { code: row.code, label: row.label, own: [] });
        rows.get(row.code).own[at] = row;
      }));
      this.rows = this.sorted([...rows.values()], measure);
      this.form = measure.percent ? percent : plain;
      const ends = this.rows.flatMap(({ own }) => own.flatMap((row) => [row.value ?? 0, row.high ?? 0]));
      const most = Math.max(0, ...ends);
      this.high = measure.high !== null && most > measure.high / 2 ? Math.max(measure.high, most) : most * 1.05 || 1;
      this.title.textContent = counts.columns.get(by).title;
      this.head.textContent = measure.title;
      const shown = this.all ? this.rows : this.rows.slice(0, MOST);
      this.more.hidden = shown.length === this.rows.length;
      this.more.textContent = `Show all ${count(this.rows.length)} rows`;
      this.body.replaceChildren(...shown.map((row, place) => this.row(row, place)));
      const none = name === "errors" ? "No error fits these filters." : "Nothing of it was scored under these filters.";
      if (!shown.length) this.body.append(el("tr", {}, el("td", { colspan: 4, class: "fx-note", text: none })));
      this.foot.replaceChildren(this.axis(measure.percent));
    }

    sorted(rows, { down }) {
      const worst = ({ own }) => { const { value } = own.find(Boolean); return value === null ? Infinity : down ? -value : value; };
      const most = ({ own }) => -Math.max(...own.filter(Boolean).map((row) => row.cases));
      const given = ({ code }) => (code === 0 ? Infinity : code);
      const by = { given, worst, most }[this.placed];
      return rows.sort((a, b) => (by(a) === by(b) ? a.code - b.code : by(a) - by(b)));
    }

    row(row, place) {
      const { explorer, form } = this;
      const { by } = explorer;
      const chosen = (explorer.selection.get(by) ?? []).includes(row.label);
      const lines = (make) => explorer.of.map((e, at) => (row.own[at] ? make(row.own[at], explorer.counts.evaluations[e], at) : el("span", { text: "–" })));
      const plot = shape("svg", { width: "100%", height: 20 * explorer.of.length, "aria-hidden": "true" });
      lines((own, evaluation, at) => { this.point(plot, own, evaluation.colour, at); return ""; });
      const name = label(row.label, explorer.counts.columns.get(by));
      return el("tr", { "data-place": place, "data-chosen": chosen ? "yes" : explorer.selection.has(by) ? "no" : null },
        el("th", { scope: "row" }, el("button", { type: "button", "aria-pressed": String(chosen), title: name }, el("bdi", { text: name }))), el("td", {}, plot),
        el("td", { class: "right" }, ...lines((own) => el("span", {}, el("b", { text: form(own.value) }), el("i", { text: interval(own, form) })))),
        el("td", { class: "right" }, ...lines((own) => el("span", { text: count(own.cases), title: `in ${several(own.documents, "document")}` }))));
    }

    point(plot, { value, low, high }, colour, at) {
      const [y, x] = [20 * at + 10, (number) => `${Math.min(100, (100 * number) / this.high)}%`];
      plot.append(shape("line", { class: "rule", x1: 0, x2: "100%", y1: y, y2: y }));
      if (value === null) return;
      if (low !== null) plot.append(shape("line", { class: `span ${at ? "second" : "first"}`, x1: x(low), x2: x(high), y1: y, y2: y, stroke: colour }));
      plot.append(shape("svg", { x: x(value), y, overflow: "visible" }, marker(at, colour)));
    }

    axis(shares) {
      const svg = shape("svg", { width: "100%", height: 16, "aria-hidden": "true" });
      const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100].find((each) => this.high / each <= 4) ?? this.high;
      for (let at = 0; at <= this.high * 1.0001; at += step) {
        svg.append(shape("text", { x: `${(100 * at) / this.high}%`, y: 12, "text-anchor": at === 0 ? "start" : at > this.high * 0.95 ? "end" : "middle" }, shares ? `${+(100 * at).toFixed(1)}` : `${+at.toFixed(3)}`));
      }
      return svg;
    }

    clicked(event) {
      const place = event.target.closest("tr")?.dataset.place;
      if (place === undefined || String(getSelection()) !== "") return;
      const { explorer } = this;
      explorer.toggle(explorer.by, this.rows[Number(place)].label, !(event.ctrlKey || event.metaKey || event.shiftKey));
      this.body.querySelector(`tr[data-place="${place}"] button`)?.focus({ preventScroll: true });
    }
  }

  const explorers = [];
  const show = (root, data) => {
    explorers.push(new Explorer(root, data));
    return explorers.at(-1);
  };
  window.formlabExplorer = Object.freeze({ show, explorers });
  const data = document.getElementById("fl-explorer-data");
  if (data) show(document.getElementById("fl-explorer"), JSON.parse(data.textContent));
})();
