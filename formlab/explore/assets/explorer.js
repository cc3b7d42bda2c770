/* An explorer: rates by columns beside each other, filters that all parts share, a gallery, and
   the Python of what is shown. */
"use strict";
(() => {
  const { el, visible, shape, words, selection } = window.formlabGallery;
  const { Counts } = window.formlabExplorer;
  const SLICES = " slices";
  const MOST = 15;
  const grouped = new Intl.NumberFormat("en");
  const count = (n, name) => `${grouped.format(n)} ${name}${n === 1 ? "" : "s"}`;
  const label = (value, column) => (value === null ? "no value" : visible(column?.after ? words(value) : value) || "(empty)");
  const quiet = (act) => { try { return act(); } catch { return null; } };
  const option = (value, text, chosen) => {
    const node = el("option", { value, text });
    node.selected = value === chosen;
    return node;
  };

  class Explorer {
    constructor(root, payload) {
      const data = JSON.parse(payload.data);
      this.counts = new Counts(data);
      this.shown = new Map(data.evaluations.map((_, e) => [e, new Map()]));
      data.cards.forEach(([e, unit], n) => this.shown.get(e).set(unit, n));
      this.first = { of: [0], by: ["kind", "cause"], measures: ["outcome", "errors"], line: "", slices: {}, ...data.first };
      this.key = `formlab slices of ${document.title}`;
      this.root = root;
      this.build(payload.gallery);
      this.take(this.first);
      this.remember(quiet(() => JSON.parse(localStorage.getItem(this.key))));
      this.arrive();
      // The draws for intervals under filters are ready before the first click.
      setTimeout(() => this.of.forEach((e) => this.counts.draws(e)), 50);
      addEventListener("popstate", () => this.arrive());
      addEventListener("message", (event) => {
        if (event.source === parent && event.data?.formlab === "choose") { this.take({ ...this.state(), ...event.data.state }); this.update(); }
      });
    }

    /* What is chosen, as Python has it. */
    state() {
      return { of: this.of, by: this.by, measures: this.measured, line: selection.text(this.selection), slices: Object.fromEntries(this.slices) };
    }

    take({ of, by, measures, line, slices }) {
      const { evaluations, columns, measures: known } = this.counts;
      const there = (of ?? []).filter((e) => evaluations[e]);
      this.of = there.length ? [...new Set(there)].slice(0, 2) : [0];
      const offered = (name) => (columns.has(name) && name !== "finding") || name === SLICES;
      this.by = [0, 1].map((n) => (offered(by?.[n]) ? by[n] : [...columns.keys()][Math.min(n, columns.size - 1)]));
      this.measured = [0, 1].map((n) => (known.has(measures?.[n]) ? measures[n] : [...known.keys()][0]));
      [this.slices, this.wasAfter, this.gaveWay] = [new Map(), false, null];
      this.remember(slices);
      this.choose(selection.read(line ?? ""));
    }

    remember(slices) {
      for (const [name, line] of Object.entries(slices ?? {})) if (this.known(line) !== null) this.slices.set(String(name), String(line));
    }

    /* A line as a selection of columns that are here, or null. */
    known(line) {
      const chosen = selection.read(line);
      return chosen && [...chosen.keys()].every((name) => this.counts.columns.has(name)) ? chosen : null;
    }

    /* Its system, if a selection names one, is an evaluation here. */
    choose(wanted) {
      const chosen = new Map(wanted ?? []);
      const systems = chosen.get("system");
      chosen.delete("system");
      const named = this.counts.evaluations.map((each, e) => e).filter((e) => systems?.includes(this.counts.evaluations[e].system));
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
      const every = evaluations.map((_, e) => e);
      const fitting = (chosen) => {
        const rest = new Map([...chosen].filter(([name]) => name !== "system"));
        const systems = chosen.get("system");
        const own = every.filter((e) => !systems || systems.includes(evaluations[e].system));
        return own.reduce((sum, e) => sum + this.counts.fits(e, rest).filter((fit) => fit === 2).length, 0);
      };
      return {
        root: this.root, fitting, cases: { length: every.reduce((sum, e) => sum + evaluations[e].units, 0) },
        knows: (chosen) => [...chosen.keys()].every((name) => columns.has(name) || name === "system"),
        choose: (chosen) => { this.choose(chosen); this.update(); return fitting(chosen); },
        open: (key) => this.gallery.open(key),
      };
    }

    /* ---- the address ---- */
    address() {
      const views = [["of", this.of], ["by", this.by], ["measures", this.measured]]
        .filter(([name, values]) => String(values) !== String(this.first[name]))
        .map(([name, values]) => `view=${name}:${values.map(encodeURIComponent).join(",")}`);
      for (const [name, line] of this.slices) views.push(`view=slice:${encodeURIComponent(name)}:${encodeURIComponent(line)}`);
      return [selection.text(this.selection), ...views].filter(Boolean).join("&");
    }

    arrive() {
      const parts = quiet(() => location.hash.slice(1).split("&").filter(Boolean)) ?? [];
      const state = { ...this.first, slices: Object.fromEntries(this.slices) };
      const lines = [];
      for (const part of parts) {
        const [name, value, line] = (part.startsWith("view=") ? part.slice(5) : "").split(":");
        const read = (text) => quiet(() => decodeURIComponent(text)) ?? "";
        if (name === "") lines.push(part);
        else if (name === "slice") state.slices = { ...state.slices, [read(value)]: read(line ?? "") };
        else if (["of", "by", "measures"].includes(name)) state[name] = (value ?? "").split(",").map(read).map((text) => (name === "of" ? Number(text) : text));
      }
      // Headings have addresses as well.
      if (selection.read(lines.join("&")) === null) return this.update({ quietly: true });
      if (parts.length) state.line = lines.join("&");
      if (lines.length) this.root.scrollIntoView({ block: "start" });
      this.take(state);
      return this.update({ quietly: true });
    }

    changed() {
      this.update();
      const address = `#${this.address()}`;
      quiet(() => history.pushState({ formlab: true }, "", address === "#" ? location.pathname + location.search : address));
      quiet(() => localStorage.setItem(this.key, JSON.stringify(Object.fromEntries(this.slices))));
    }

    /* ---- the parts of the page ---- */
    build(data) {
      const button = (text, onclick, more = {}) => el("button", { type: "button", text, onclick, ...more });
      this.choices = [0, 1].map((n) => el("select", {
        "aria-label": n === 0 ? "Evaluation" : "Beside it",
        onchange: (event) => {
          const e = Number(event.target.value);
          if (n === 0) this.of = [e, ...this.of.slice(1).filter((other) => other !== e)];
          else this.of = e < 0 ? this.of.slice(0, 1) : [this.of[0], e];
          this.changed();
        },
      }));
      this.chips = el("div", { class: "fx-chips", role: "group", "aria-label": "filters" });
      this.status = el("div", { class: "fx-status", role: "status", "aria-live": "polite" });
      this.panels = [0, 1].map((n) => new Panel(this, n));
      this.name = el("input", { type: "text", "aria-label": "Name of the slice", placeholder: "name of this slice", onkeydown: (event) => { if (event.key === "Enter") this.save(); } });
      this.saved = el("ul", { class: "fx-saved" });
      this.json = el("pre", { "aria-label": "my slices as JSON" });
      this.python = el("pre", { "aria-label": "Python of this view" });
      const copied = (pre) => button("Copy", (event) => {
        const done = (text) => () => { event.target.textContent = text; };
        getSelection().selectAllChildren(pre);
        (navigator.clipboard?.writeText(pre.textContent) ?? Promise.reject()).then(done("Copied"), done("Selected"));
      });
      const exported = el("details", {}, el("summary", { text: "JSON" }), copied(this.json), this.json);
      this.mine = el("div", { class: "fx-mine" }, this.saved, exported);
      this.box = el("div");
      this.cardsNote = el("p", { class: "fx-note" });
      this.root.classList.add("fx", "fl-gallery");
      this.root.append(
        el("div", { class: "fx-top" }, ...this.choices.map((select, n) => el("label", {}, el("span", { text: n === 0 ? "Evaluation" : "Beside it" }), select))),
        this.status, this.chips,
        el("div", { class: "fx-save" }, this.name, button("Save as my slice", () => this.save())), this.mine,
        el("div", { class: "fx-panels" }, ...this.panels.map((panel) => panel.node)),
        el("details", { class: "fx-python" }, el("summary", { text: "Show me the Python" }), copied(this.python), this.python),
        this.cardsNote, this.box,
      );
      this.gallery = window.formlabGallery.show(this.box, data);
      this.box.addEventListener("formlab-selection", (event) => { event.stopPropagation(); this.fromGallery(event.detail.line); });
    }

    save() {
      const name = this.name.value.trim();
      if (name === "" || this.selection.size === 0) {
        this.status.append(el("p", { class: "fx-note", text: name === "" ? "A slice needs a name." : "Choose rows first: a slice is what the filters leave." }));
        this.name.focus();
        return;
      }
      this.slices.set(name, selection.text(this.selection));
      this.name.value = "";
      this.changed();
    }

    toggle(column, value, alone) {
      const values = this.selection.get(column) ?? [];
      const rest = values.filter((other) => other !== value);
      const now = rest.length < values.length ? rest : alone ? [value] : [...values, value];
      if (now.length) this.selection.set(column, now); else this.selection.delete(column);
      this.changed();
    }

    /* What the filters of the gallery changed is changed here too. */
    fromGallery(line) {
      const wanted = selection.read(line) ?? new Map();
      for (const { column } of this.gallery.filters.facets) {
        if (!this.counts.columns.has(column)) continue;
        const before = this.selection.get(column) ?? [];
        const now = wanted.get(column) ?? [];
        if (String(before.length === 1 ? before : []) === String(now)) continue;
        if (now.length) this.selection.set(column, now); else this.selection.delete(column);
      }
      this.changed();
    }

    update({ quietly = false } = {}) {
      const { evaluations } = this.counts;
      this.choices.forEach((select, n) => {
        const names = evaluations.map((each, e) => option(String(e), visible(each.name), String(this.of[n] ?? -1)));
        select.replaceChildren(...(n ? [option("-1", "none", String(this.of[1] ?? -1)), ...names.filter((_, e) => e !== this.of[0])] : names));
      });
      this.choices[1].parentNode.hidden = evaluations.length < 2;
      this.measureErrors();
      this.fit = new Map(this.of.map((e) => [e, this.counts.fits(e, this.selection)]));
      this.drawChips();
      this.drawStatus();
      this.drawSlices();
      for (const panel of this.panels) panel.draw();
      this.python.textContent = this.code();
      this.drawGallery();
      if (!quietly) quiet(() => parent !== window && parent.postMessage({ formlab: "chosen", state: this.state() }, "*"));
    }

    drawChips() {
      const chips = [...this.selection].flatMap(([name, values]) => values.map((value) => {
        const column = this.counts.columns.get(name);
        const text = `${column.title}: ${label(column.claims?.[Number(value) - 1] ?? value, column)}`;
        return el("button", { type: "button", class: "fx-chip", "aria-label": `remove the filter ${text}`, onclick: () => this.toggle(name, value) },
          el("bdi", { text }), el("span", { "aria-hidden": "true", text: " ×" }));
      }));
      if (chips.length > 1) chips.push(el("button", { type: "button", class: "fx-clear", text: "Clear all", onclick: () => { this.selection.clear(); this.changed(); } }));
      if (!chips.length) chips.push(el("span", { class: "fx-note", text: "No filter. A click on a row below filters all parts by it; with Ctrl or Shift it joins the rows chosen before." }));
      for (const name of this.unknown) chips.push(el("span", { class: "fx-note", text: `There is no column ${visible(name)} here: that filter is left out.` }));
      this.chips.replaceChildren(...chips);
    }

    /* Whether a filter is of what became of values: then these are errors among all values. */
    get after() {
      return [...this.selection.keys()].some((name) => this.counts.columns.get(name).after);
    }

    /* Of chosen errors no share is right: while they are chosen, that measure gives way. */
    measureErrors() {
      const { after } = this;
      if (after === this.wasAfter) return;
      this.wasAfter = after;
      const given = this.gaveWay ?? [false, false];
      this.gaveWay = [0, 1].map((n) => after && this.measured[n] === "outcome");
      [0, 1].forEach((n) => {
        if (this.gaveWay[n]) this.measured[n] = "errors";
        else if (!after && given[n] && this.measured[n] === "errors") this.measured[n] = "outcome";
      });
    }

    drawStatus() {
      this.status.replaceChildren(...this.of.map((e, n) => {
        const each = this.counts.evaluations[e];
        const thing = each.whole ? "document" : "value";
        const name = this.after ? "errors" : "outcome";
        const row = this.counts.scored(e, name) ? this.counts.row(e, name, this.selection) : null;
        const chosen = this.fit.get(e).reduce((sum, fit) => sum + (fit === 2), 0);
        const scope = each.whole ? "No field of it was scored: these are whole documents. " : "";
        const rate = row?.cases ? `${percent(row.value)} of ${count(row.cases, thing)} ${this.after ? "wrong as chosen" : "right"}${interval(row, percent)}, in ${count(row.documents, "document")}` : count(chosen, thing);
        return el("p", {}, mark(each, n), el("b", {}, el("bdi", { text: ` ${visible(each.name)} ` })), scope + rate);
      }));
    }

    drawSlices() {
      this.mine.hidden = this.slices.size === 0;
      this.saved.replaceChildren(...[...this.slices].map(([name, line]) => el("li", {},
        el("button", { type: "button", class: "fx-chip", title: visible(line), onclick: () => { this.choose(selection.read(line)); this.changed(); } }, el("bdi", { text: visible(name) })),
        el("button", { type: "button", class: "fx-clear", text: "×", "aria-label": `forget the slice ${visible(name)}`, onclick: () => { this.slices.delete(name); this.changed(); } }))));
      this.json.textContent = JSON.stringify(Object.fromEntries(this.slices), null, 1);
    }

    /* The gallery's own filters do what they can show, so that they offer what other filters leave. */
    drawGallery() {
      const { filters } = this.gallery;
      const facets = new Set(filters.facets.map(({ column }) => column));
      const rest = new Map([...this.selection].filter(([name, values]) => values.length !== 1 || !facets.has(name)));
      const cards = [];
      const wrongs = this.counts.measures.get("errors");
      let [wrong, shown] = [0, 0];
      for (const e of this.of) {
        const full = this.fit.get(e);
        this.counts.fits(e, rest).forEach((fit, unit) => {
          if (fit < 2) return;
          const card = this.shown.get(e)?.get(unit);
          if (card !== undefined) cards.push(card);
          if (full[unit] < 2) return;
          if (wrongs?.pairs[wrongs.codes[e][unit]][0] > 0) wrong += 1;
          if (card !== undefined) shown += 1;
        });
      }
      this.cardsNote.textContent = shown < wrong ? `Of ${count(wrong, "wrong case")} chosen, a sample of ${grouped.format(shown)} is below.` : `${count(wrong, "wrong case")} chosen, all below.`;
      filters.mirror(cards, this.counts.columns, this.selection);
      this.gallery.update();
      // A filter of the gallery with one value left is none.
      for (const { select, chosen } of filters.facets) select.parentNode.hidden = chosen === "" && select.length < 3;
    }

    /* The Python that makes the tables and the cases shown. A JSON text is one of Python too. */
    code() {
      const quote = JSON.stringify;
      const line = selection.text(this.selection);
      const all = [line, ...(this.by.includes(SLICES) ? this.slices.values() : [])];
      const findings = all.some((each) => selection.read(each)?.has("finding"));
      const more = findings ? ", findings=findings" : "";
      const tables = this.panels.map((panel, n) => {
        const by = this.by[n];
        const rows = new Map([...this.selection].filter(([name]) => name !== by));
        const value = by === SLICES ? "slices" : quote(by);
        return `explore.rates(results, by=${value}, measure=${quote(this.measured[n])}, line=${quote(selection.text(rows))}${more}),`;
      });
      return [
        "from formlab import analysis, charts, explore, gallery", "",
        "results = [", ...this.of.map((e) => `    ${this.counts.evaluations[e].source},`), "]",
        ...(findings ? ["findings = analysis.findings([", ...this.counts.evaluations.map((each) => `    ${each.source},`), "])"] : []),
        ...(this.by.includes(SLICES) ? [`slices = ${quote(Object.fromEntries(this.slices))}`] : []),
        "tables = [", ...tables.map((table) => `    ${table}`), "]",
        "for table in tables:",
        "    display(charts.dots(table, \"slice_value\", colour=\"system\"), charts.Table(table))",
        `cases = [explore.cases(result, ${quote(line)}${more}) for result in results]`,
        "for result, chosen in zip(results, cases):",
        "    display(gallery.errors(chosen, of=result))",
      ].join("\n");
    }
  }

  const percent = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)} %`);
  const plain = (value) => (value === null ? "–" : value.toFixed(3));
  const interval = ({ low, high }, form) => (low === null ? "" : ` (${form(low).replace(" %", "")}–${form(high)})`);

  function mark(evaluation, n) {
    const svg = shape("svg", { viewBox: "-7 -7 14 14", width: 14, height: 14, class: "fx-mark", "aria-hidden": "true" });
    svg.append(marker(n, evaluation.colour));
    return svg;
  }

  const marker = (n, colour) => shape("path", { class: n ? "second" : "first", fill: colour, d: n ? "M-4.5-4.5h9v9h-9z" : "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0" });

  /* Rows of one column: a point with its interval for each evaluation, and its numbers. */
  class Panel {
    constructor(explorer, n) {
      Object.assign(this, { explorer, n, order: null, all: false });
      const choice = (name, act) => el("select", { "aria-label": name, onchange: (event) => { this.all = false; act(event.target.value); } });
      this.measure = choice("Measure", (value) => { explorer.measured[n] = value; explorer.changed(); });
      this.by = choice("By", (value) => this.group(value));
      this.sort = choice("Order", (value) => { this.order = value; this.draw(); });
      this.body = el("tbody", { onclick: (event) => this.clicked(event) });
      this.head = el("th", { class: "fx-axis", scope: "col" });
      this.title = el("th", { scope: "col" });
      this.foot = el("td", { class: "fx-ticks" });
      this.more = el("button", { type: "button", class: "fx-clear", onclick: () => { this.all = true; this.draw(); } });
      const table = el("table", {},
        el("thead", {}, el("tr", {}, this.title, this.head, el("th", { class: "right", scope: "col", text: "value" }, el("i", { text: ", 95 % interval" })), el("th", { class: "right", scope: "col", text: "n" }))),
        this.body, el("tfoot", {}, el("tr", {}, el("td"), this.foot, el("td"), el("td"))));
      this.node = el("section", { class: "fx-panel", "aria-label": `chart ${n + 1}` },
        el("div", { class: "fx-choices" }, this.measure, el("span", { text: "by" }), this.by, this.sort), table, this.more);
    }

    /* What became of a value is no group to take a share of; its rate of errors is. */
    group(value) {
      const { explorer, n } = this;
      explorer.by[n] = value;
      const after = explorer.counts.columns.get(value)?.after;
      if (after && explorer.measured[n] === "outcome") explorer.measured[n] = "errors";
      this.order = null;
      explorer.changed();
    }

    draw() {
      const { explorer, n } = this;
      const { counts, of } = explorer;
      const [by, name] = [explorer.by[n], explorer.measured[n]];
      const measure = counts.measures.get(name);
      this.placed = this.order ?? (by === "doc_id" || counts.columns.get(by)?.after ? "worst" : "given");
      const titles = [...counts.columns].filter(([, column]) => !column.claims).map(([value, column]) => option(value, column.title, by));
      if (explorer.slices.size || by === SLICES) titles.push(option(SLICES, "my slices", by));
      this.by.replaceChildren(...titles);
      this.measure.replaceChildren(...[...counts.measures].map(([value, each]) => option(value, each.title, name)));
      this.sort.replaceChildren(...[["given", "in order"], ["worst", "worst first"], ["most", "most values first"]].map(([value, text]) => option(value, text, this.placed)));
      const slices = by === SLICES ? [...explorer.slices].map(([text, line]) => [text, explorer.known(line) ?? new Map()]) : null;
      const rows = new Map();
      of.forEach((e, at) => {
        for (const row of counts.rows(e, slices ?? by, name, explorer.selection)) {
          if (!rows.has(row.code)) rows.set(row.code, { code: row.code, label: row.label, own: [] });
          rows.get(row.code).own[at] = row;
        }
      });
      this.rows = this.sorted([...rows.values()], measure);
      const form = measure.percent ? percent : plain;
      const ends = this.rows.flatMap(({ own }) => own.flatMap((row) => [row.value, row.high])).filter((value) => value !== null && value !== undefined);
      const most = Math.max(0, ...ends);
      const high = measure.high !== null && most > measure.high / 2 ? Math.max(measure.high, most) : most * 1.05 || 1;
      this.title.textContent = by === SLICES ? "my slice" : counts.columns.get(by).title;
      this.head.textContent = measure.title;
      const shown = this.all ? this.rows : this.rows.slice(0, MOST);
      this.more.hidden = shown.length === this.rows.length;
      this.more.textContent = `Show all ${grouped.format(this.rows.length)} rows`;
      this.body.replaceChildren(...shown.map((row, place) => this.row(row, place, high, form)));
      if (!shown.length) this.body.append(el("tr", {}, el("td", { colspan: 4, class: "fx-note", text: by === SLICES ? "No slice has been saved." : name === "errors" ? "No error fits these filters." : "Nothing of it was scored under these filters." })));
      this.foot.replaceChildren(this.axis(high, measure.percent));
    }

    sorted(rows, { down }) {
      const value = ({ own }) => { const { value: v } = own.find(Boolean); return v === null ? Infinity : (down ? -v : v); };
      const cases = ({ own }) => -Math.max(...own.filter(Boolean).map((row) => row.cases));
      const by = { given: ({ code }) => (code === 0 && this.explorer.by[this.n] !== SLICES ? Infinity : code), worst: value, most: cases }[this.placed];
      const places = new Map(rows.map((row) => [row, by(row)]));
      return rows.sort((a, b) => places.get(a) - places.get(b) || a.code - b.code);
    }

    row(row, place, high, form) {
      const { explorer } = this;
      const by = explorer.by[this.n];
      const chosen = by === SLICES ? explorer.slices.get(row.label) === selection.text(explorer.selection) : (explorer.selection.get(by) ?? []).includes(row.label);
      const lines = (make) => explorer.of.map((e, at) => (row.own[at] ? make(row.own[at], explorer.counts.evaluations[e], at) : el("span", { text: "–" })));
      const plot = shape("svg", { class: "fx-plot", width: "100%", height: 20 * explorer.of.length, "aria-hidden": "true" });
      lines((own, evaluation, at) => { point(plot, own, evaluation.colour, at, high); return ""; });
      const name = label(row.label, explorer.counts.columns.get(by));
      return el("tr", { "data-place": place, "data-chosen": chosen ? "yes" : explorer.selection.has(by) ? "no" : null },
        el("th", { scope: "row" }, el("button", { type: "button", "aria-pressed": String(chosen), title: name }, el("bdi", { text: name }))),
        el("td", { class: "fx-axis" }, plot),
        el("td", { class: "right" }, ...lines((own) => el("span", {}, el("b", { text: form(own.value) }), el("i", { text: interval(own, form) })))),
        el("td", { class: "right" }, ...lines((own) => el("span", { text: grouped.format(own.cases), title: `in ${count(own.documents, "document")}` }))));
    }

    axis(high, shares) {
      const svg = shape("svg", { width: "100%", height: 16, "aria-hidden": "true" });
      const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100].find((each) => high / each <= 4) ?? high;
      for (let at = 0; at <= high * 1.0001; at += step) {
        const text = shape("text", { x: `${(100 * at) / high}%`, y: 12, "text-anchor": at === 0 ? "start" : at > high * 0.95 ? "end" : "middle" });
        text.textContent = shares ? `${+(100 * at).toFixed(1)}` : `${+at.toFixed(3)}`;
        svg.append(text);
      }
      return svg;
    }

    clicked(event) {
      const place = event.target.closest("tr")?.dataset.place;
      if (place === undefined || String(getSelection()) !== "") return;
      const { explorer } = this;
      const by = explorer.by[this.n];
      const row = this.rows[Number(place)];
      if (by === SLICES) { explorer.choose(selection.read(explorer.slices.get(row.label))); explorer.changed(); }
      else explorer.toggle(by, row.label, !(event.ctrlKey || event.metaKey || event.shiftKey));
      this.body.querySelector(`tr[data-place="${place}"] button`)?.focus({ preventScroll: true });
    }
  }

  function point(plot, { value, low, high }, colour, at, end) {
    const [y, x] = [20 * at + 10, (number) => `${Math.min(100, (100 * number) / end)}%`];
    plot.append(shape("line", { class: "rule", x1: 0, x2: "100%", y1: y, y2: y }));
    if (value === null) return;
    if (low !== null) plot.append(shape("line", { class: `span ${at ? "second" : "first"}`, x1: x(low), x2: x(high), y1: y, y2: y, stroke: colour }));
    const place = shape("svg", { x: x(value), y, overflow: "visible" });
    place.append(marker(at, colour));
    plot.append(place);
  }

  const explorers = [];
  const show = (root, data) => {
    const made = new Explorer(root, data);
    explorers.push(made);
    return made;
  };
  Object.freeze(Object.assign(window.formlabExplorer, { show, explorers }));
  const data = document.getElementById("fl-explorer-data");
  const root = document.getElementById("fl-explorer");
  if (data && root) show(root, JSON.parse(data.textContent));
})();
