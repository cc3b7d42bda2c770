/* A gallery of cases: filters, order, search and tags over all of them, a page of cards at a time,
   one case large, and the chosen cases as a file. */
"use strict";
(() => {
  const { el, visible, words, count, several, title, answers, chip, ladder, rung, goldValue, predValue, picture, selection } = window.formlabGallery;
  const PAGE = 24;
  /* So many filters stand in the bar; the others fold away. */
  const FILTERS = 6;
  const NONE = "–";
  const OF_CASE = ["benchmark", "split", "doc_id", "level", "task", "path", "label", "kind", "verdict"];
  const OF_ANSWER = ["system", "outcome", "cause", "stage", "status"];
  const FACTS = ["path", "doc_id", "benchmark", "split", "system", "task", "kind", "verdict", "gold_origin"];
  /* What a spreadsheet would run gets an apostrophe, as in reports/figures.py. */
  const FORMULA = /^[\s\x00-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*[=+\-@＝＋－＠]|^[\t\r\n]/;
  const collator = new Intl.Collator("en", { numeric: true });
  const plain = (value) => (value === null || value === undefined ? null : String(value));
  const ORDERS = {
    given: ["as given", null],
    worst: ["least similar", (a, b) => (a.similarity ?? 2) - (b.similarity ?? 2)],
    best: ["most similar", (a, b) => (b.similarity ?? -1) - (a.similarity ?? -1)],
    doc: ["by document", (a, b) => collator.compare(a.doc_id, b.doc_id)],
    field: ["by field", (a, b) => collator.compare(title(a), title(b))],
    sure: ["most confident", (a, b) => (b.confidence ?? -1) - (a.confidence ?? -1)],
  };

  /* The values of a column that a case has, as texts or null: of answers, those of all systems. */
  function valuesOf(item, column) {
    const numbered = /^outcome_(\d)$/.exec(column);
    if (numbered) return [plain(answers(item)[numbered[1] - 1]?.outcome)];
    if (Object.hasOwn(item.slices, column)) return [item.slices[column]].flat().map(plain);
    if (column === "finding") return item.finding.map(String);
    if (column === "passes") return [rung(item)];
    if (OF_ANSWER.includes(column)) return [...new Set(answers(item).map((answer) => plain(answer[column])))];
    return OF_CASE.includes(column) ? [plain(item[column])] : [];
  }

  class Gallery {
    constructor(root, data) {
      Object.assign(this, { root, data, images: data.images, cases: data.cases, order: "given", within: null, tags: new Map(), least: 0 });
      // Without a prototype: a column may be called like what objects inherit.
      for (const item of this.cases) item.slices = Object.assign(Object.create(null), item.slices);
      this.several = Object.keys(data.colours.system).length > 1;
      this.sort_out();
      this.build();
      this.clear();
      this.update();
    }

    /* ---- which cases are shown ---- */

    /* The columns that cases have, and those with several values as filters. */
    sort_out() {
      const { cases, data: { claims, columns } } = this;
      const compared = cases.some((item) => item.beside);
      const outcomes = compared ? answers(cases[0]).map((answer, n) => [`outcome_${n + 1}`, `Outcome of ${visible(answer.system)}`]) : [["outcome", "Outcome"]];
      this.columns = new Set([...OF_CASE, ...OF_ANSWER, ...columns, "passes", ...outcomes.map(([name]) => name), ...(claims.length ? ["finding"] : [])]);
      const named = (name) => [name, words(name)[0].toUpperCase() + words(name).slice(1)];
      const offered = new Map([["finding", "Finding"], ...["benchmark", "split", "system", "task", "kind"].map(named), ...outcomes,
        ...["cause", ...columns, "stage", "passes", "verdict"].map(named)].filter(([name]) => this.columns.has(name) && !(compared && name === "system")));
      this.facets = [...offered].map(([column, label]) => ({
        column, label: visible(label), chosen: "", values: cases.map((item) => valuesOf(item, column).map((value) => value ?? NONE)),
        text: (value) => visible(column === "finding" && claims[value - 1] ? `${value}. ${claims[value - 1].slice(0, 60)}` : words(value)),
      })).filter(({ values }) => values.some((value) => String(value) !== String(values[0])));
    }

    clear() {
      for (const facet of this.facets) facet.chosen = "";
      /* What a selection asks for and no filter can show: several values, or a column without one. */
      this.also = new Map();
      this.needle = "";
      this.least = 0;
    }

    knows(wanted) {
      return [...wanted.keys()].every((column) => this.columns.has(column));
    }

    /* Shows the cases of a selection and says how many; an empty one shows all. */
    choose(wanted) {
      this.clear();
      for (const [column, values] of wanted) {
        const facet = this.facets.find((each) => each.column === column);
        const named = values.length === 1 ? values[0] ?? NONE : null;
        if (facet?.values.some((own) => own.includes(named))) facet.chosen = named;
        else this.also.set(column, values);
      }
      this.update();
      this.tell();
      return this.found.length;
    }

    /* An explorer around the gallery shows these cases alone; filters of its columns show why. */
    mirror(places, columns, chosen) {
      this.within = new Set(places);
      for (const facet of this.facets.filter(({ column }) => columns.has(column))) {
        const values = chosen.get(facet.column) ?? [];
        facet.chosen = values.length === 1 ? values[0] ?? NONE : "";
      }
      this.update();
    }

    line() {
      const chosen = this.facets.filter((facet) => facet.chosen !== "").map((facet) => [facet.column, [facet.chosen === NONE ? null : facet.chosen]]);
      return selection.text(new Map([...chosen, ...this.also]));
    }

    fits(i) {
      const item = this.cases[i];
      if (this.within && !this.within.has(i)) return false;
      if (this.least > 0 && !(item.confidence >= this.least)) return false;
      for (const [column, values] of this.also) {
        if (!valuesOf(item, column).some((value) => values.some((each) => selection.fits(value, each)))) return false;
      }
      return this.needle === "" || this.haystack(i).includes(this.needle);
    }

    haystack(i) {
      const item = this.cases[i];
      const texts = [item.label, item.path, item.doc_id, item.kind, item.gold, item.verdict, ...this.tags.get(i) ?? [],
        ...answers(item).flatMap((answer) => [answer.pred, answer.cause, answer.system])];
      return texts.filter(Boolean).join("\n").toLowerCase();
    }

    /* One walk finds the cases and counts each filter's values among what the others leave, so
       that no option leads to an empty page. */
    find() {
      const counts = this.facets.map(() => new Map());
      const found = [];
      for (let i = 0; i < this.cases.length; i += 1) {
        if (!this.fits(i)) continue;
        const failed = [...this.facets.keys()].filter((f) => this.facets[f].chosen !== "" && !this.facets[f].values[i].includes(this.facets[f].chosen));
        if (failed.length === 0) found.push(i);
        for (const f of failed.length > 1 ? [] : failed.length ? failed : counts.keys()) {
          for (const name of this.facets[f].values[i]) counts[f].set(name, (counts[f].get(name) || 0) + 1);
          counts[f].all = (counts[f].all || 0) + 1;
        }
      }
      return { found, counts };
    }

    /* The user has filtered: whoever listens hears of it. */
    filtered() {
      this.update();
      this.root.dispatchEvent(new CustomEvent("formlab-selection", { bubbles: true, detail: { line: this.line(), keys: this.keys() } }));
      this.tell();
    }

    keys() {
      return this.found.map((i) => this.cases[i].key);
    }

    /* In JupyterLab the page around this frame hears of it, to hand it to Python. */
    tell() {
      if (framed) parent.postMessage({ formlab: "selection", line: this.line(), rows: this.found, tags: [...this.tags] }, "*");
    }

    update() {
      const { found, counts } = this.find();
      this.facets.forEach((facet, f) => this.fill(facet, counts[f]));
      const by = ORDERS[this.order][1];
      this.found = by ? found.sort((a, b) => by(this.cases[a], this.cases[b]) || a - b) : found;
      if (this.facets.some(({ chosen }, n) => n >= FILTERS && chosen !== "")) this.more.open = true;
      this.search.value = this.needle && this.search.value;
      this.slider.value = this.least;
      const named = (value) => (value === null ? "none" : visible(words(value)).slice(0, 40));
      this.chosen.replaceChildren(...[...this.also].map(([column, values]) => {
        const text = `${visible(words(column))}: ${values.map(named).join(" or ")}`;
        return el("button", { type: "button", class: "fl-only", text: `${text} ×`, "aria-label": `${text}: show all again`, onclick: () => { this.also.delete(column); this.filtered(); } });
      }));
      this.turn(0);
    }

    fill(facet, counts) {
      if (facet.chosen !== "" && !counts.has(facet.chosen)) counts.set(facet.chosen, 0);
      const options = [...counts].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0])).map(([value, n]) => [value, `${facet.text(value)} (${count(n)})`]);
      facet.select.replaceChildren(...[["", `all (${count(counts.all || 0)})`], ...options].map(([value, text]) => el("option", { value, text })));
      facet.select.value = facet.chosen;
    }

    /* ---- the page ---- */

    build() {
      const bar = el("div", { class: "fl-bar", role: "search", "aria-label": "filter the cases" });
      const folded = el("div", { class: "fl-more" });
      const labelled = (text, node) => el("label", {}, el("span", { text }), node);
      this.facets.forEach((facet, n) => {
        facet.select = el("select", { "aria-label": facet.label, onchange: () => { facet.chosen = facet.select.value; this.filtered(); } });
        (n < FILTERS ? bar : folded).append(labelled(facet.label, facet.select));
      });
      const sure = this.cases.some((item) => item.confidence !== undefined);
      const sort = el("select", { "aria-label": "Sort", onchange: () => { this.order = sort.value; this.update(); } },
        ...Object.entries(ORDERS).filter(([value]) => value !== "sure" || sure).map(([value, [text]]) => el("option", { value, text })));
      this.search = el("input", { type: "search", "aria-label": "Search", placeholder: "text, field, document, tag", oninput: () => { this.needle = this.search.value.toLowerCase(); this.filtered(); } });
      this.slider = el("input", { type: "range", min: 0, max: 1, step: 0.01, value: 0, "aria-label": "Confidence at least", oninput: () => { this.least = Number(this.slider.value); this.filtered(); } });
      bar.append(labelled("Sort", sort), labelled("Search", this.search));
      if (sure) bar.append(labelled("Confidence at least", this.slider));
      this.more = el("details", { class: "fl-unfold" }, el("summary", { text: "More filters" }), folded);
      if (folded.children.length) bar.append(this.more);
      this.count = el("p", { class: "fl-count", role: "status", "aria-live": "polite" });
      this.chosen = el("div", { class: "fl-chosen" });
      this.grid = el("ul", { class: "fl-grid", role: "list", "aria-label": "cases", onkeydown: (event) => this.pressed(event) });
      this.pagers = [this.pager(), this.pager()];
      this.dialog();
      this.root.classList.add("fl-gallery");
      this.root.append(bar, el("div", { class: "fl-status" }, this.count, this.chosen, this.exports(), this.pagers[0].node),
        ...[this.sample(), this.legend()].filter(Boolean), this.grid, this.pagers[1].node, this.node);
    }

    /* Of more errors than are kept, how the sample was drawn. */
    sample() {
      const { total, drawn } = this.data;
      if (total <= this.cases.length) return null;
      const causes = drawn.map(([cause, shown, all]) => `${visible(words(cause))} ${count(shown)} of ${count(all)}`);
      return el("details", { class: "fl-sample" }, el("summary", { text: `${count(this.cases.length)} of ${several(total, "error")}, each cause in proportion` }), el("p", { text: `${causes.join(", ")}.` }));
    }

    legend() {
      const systems = this.cases[0]?.beside ? answers(this.cases[0]).map((answer) => visible(answer.system)) : ["predicted"];
      return el("p", { class: "fl-legend" }, el("span", { class: "fl-key gold", text: "gold" }),
        ...systems.map((name, n) => el("span", { class: `fl-key pred${n === 0 ? "" : n + 1}`, text: name })),
        el("span", {}, "In answers: ", el("span", { class: "fl-missing", text: "‸" }), " missing, ", el("ins", { text: "extra" }), ", ", el("mark", { text: "changed" })));
    }

    pager() {
      const turn = (to) => { this.turn(to); if (this.root.getBoundingClientRect().top < 0) this.root.scrollIntoView({ block: "start" }); };
      const select = el("select", { "aria-label": "page", onchange: () => turn(Number(select.value)) });
      const button = (text, label, by) => el("button", { type: "button", text, "aria-label": label, onclick: () => turn(this.page + by) });
      const [back, forward] = [button("‹", "previous page", -1), button("›", "next page", 1)];
      return { node: el("nav", { class: "fl-pager", "aria-label": "pages of cases" }, back, select, forward), select, back, forward };
    }

    turn(page) {
      const pages = Math.max(1, Math.ceil(this.found.length / PAGE));
      this.page = Math.min(Math.max(page, 0), pages - 1);
      const start = this.page * PAGE;
      const shown = this.found.slice(start, start + PAGE);
      this.grid.replaceChildren(...shown.map((i, k) => this.card(i, start + k)));
      if (!shown.length) this.grid.append(el("li", { class: "fl-none", text: this.cases.length ? "No case fits these filters." : "There are no cases." }));
      const { total, asked, unit } = this.data;
      const [size, found] = [this.cases.length, this.found.length];
      const text = found < size ? `${count(found)} of ${several(size, unit)} chosen` : size === total && asked > total ? `${count(total)} of ${several(asked, unit)} wrong` : several(found, unit);
      this.count.textContent = pages > 1 ? `${text} · showing ${count(start + 1)}–${count(start + shown.length)}` : text;
      for (const { node, select, back, forward } of this.pagers) {
        node.hidden = pages === 1;
        if (select.length !== pages) select.replaceChildren(...Array.from({ length: pages }, (_, n) => el("option", { value: n, text: `page ${count(n + 1)} of ${count(pages)}` })));
        select.value = String(this.page);
        [back.disabled, forward.disabled] = [this.page === 0, this.page === pages - 1];
      }
    }

    chips(i) {
      const [item, { colours }] = [this.cases[i], this.data];
      const box = el("div", { class: "fl-chips" });
      for (const answer of answers(item)) {
        if (this.several && answer.system) box.append(chip(answer.system, colours.system[answer.system]));
        box.append(chip(words(answer.outcome), colours.outcome[answer.outcome], "solid"));
        const stage = answer.stage && answer.stage !== answer.cause ? `${answer.stage}: ` : "";
        if (answer.cause && answer.cause !== answer.outcome) box.append(chip(stage + words(answer.cause), colours.cause[answer.cause]));
        if (answer.failed) box.append(chip(`not right: ${answer.failed.join(", ")}`));
      }
      if (item.kind) box.append(chip(words(item.kind)));
      if (item.verdict) box.append(chip(words(item.verdict), null, "tag"));
      box.append(...(this.tags.get(i) ?? []).map((tag) => chip(tag, null, "tag")));
      return box;
    }

    pair(item) {
      const name = (answer, n) => (item.beside ? el("dt", { class: `fl-key pred${n === 0 ? "" : n + 1}`, title: visible(answer.system) }, el("bdi", { text: visible(answer.system) })) : el("dt", { text: "pred." }));
      return el("dl", { class: item.beside ? "fl-pair named" : "fl-pair" }, el("dt", { text: "gold" }), el("dd", {}, goldValue(item)),
        ...answers(item).flatMap((answer, n) => [name(answer, n), el("dd", {}, predValue(answer))]));
    }

    card(i, place) {
      const item = this.cases[i];
      const name = visible(title(item));
      const value = (text) => (text === null ? "nothing" : visible(text).slice(0, 120));
      const read = answers(item).map((answer) => `${item.beside ? visible(answer.system) : "predicted"} ${value(answer.pred)}, ${words(answer.outcome)}`).join("; ");
      return el("li", { "aria-posinset": place + 1, "aria-setsize": this.found.length }, el("div", {
        class: "fl-card", role: "button", tabindex: place % PAGE === 0 ? "0" : "-1", "aria-haspopup": "dialog", "data-place": place,
        "aria-label": `${name}: gold ${value(item.gold)}; ${read}; document ${visible(item.doc_id)}`,
        onclick: () => { if (String(getSelection()) === "") this.look(i); },
      }, picture(item, this.images), el("div", { class: "fl-body" },
        el("h4", { title: name }, el("bdi", { text: name })), this.pair(item), this.chips(i),
        el("p", { class: "fl-doc" }, el("bdi", { title: visible(item.path ?? ""), text: [item.doc_id, item.path].filter(Boolean).map(visible).join(" ") }),
          item.similarity === null ? null : el("span", { title: "similarity", text: item.similarity.toFixed(2) })))));
    }

    focus(place) {
      if (place < 0 || place >= this.found.length) return;
      const page = Math.floor(place / PAGE);
      if (page !== this.page) this.turn(page);
      for (const card of this.grid.querySelectorAll('.fl-card[tabindex="0"]')) card.tabIndex = -1;
      const card = this.grid.children[place - page * PAGE].firstElementChild;
      card.tabIndex = 0;
      card.focus();
    }

    pressed(event) {
      const card = event.target.closest(".fl-card");
      if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
      const [place, last] = [Number(card.dataset.place), this.found.length - 1];
      const across = Math.max(1, getComputedStyle(this.grid).gridTemplateColumns.split(" ").length);
      const to = {
        ArrowRight: place + 1, ArrowLeft: place - 1, ArrowDown: place + across, ArrowUp: place - across,
        Home: 0, End: last, PageDown: Math.min(place + PAGE, last), PageUp: Math.max(place - PAGE, 0),
      }[event.key];
      if (to !== undefined) { event.preventDefault(); this.focus(to); }
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.look(this.found[place]); }
    }

    /* ---- one case, large ---- */

    dialog() {
      const button = (text, onclick) => el("button", { type: "button", text, onclick });
      this.back = button("← Previous", () => this.step(-1));
      this.forward = button("Next →", () => this.step(1));
      this.place = el("span", { class: "fl-place", role: "status" });
      this.link = el("a", { class: "fl-link", text: "Link to this case" });
      this.heading = el("h3", { tabindex: "-1" });
      this.sheet = el("div", { class: "fl-pane" });
      this.tagged = el("input", { type: "text", "aria-label": "Tags", placeholder: "tags, with commas between", onchange: () => this.tag() });
      this.node = el("dialog", {
        class: "fl-dialog", "aria-label": "one case", onclose: () => this.focus(this.at),
        onclick: (event) => { if (event.target === this.node) this.node.close(); },
        onkeydown: (event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (by && event.target !== this.tagged && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); this.step(by); }
        },
      }, el("div", { class: "fl-sheet" }, el("div", { class: "fl-tools" }, this.back, this.forward, this.place, this.link, this.tagged, button("Close", () => this.node.close())), this.heading, this.sheet));
    }

    step(by) {
      const next = this.found[this.at + by];
      if (next !== undefined) this.look(next);
    }

    /* A case that the filters hide has no place of its own: the last place stays the way back. */
    look(i) {
      const [item, at] = [this.cases[i], this.found.indexOf(i)];
      if (at >= 0 || this.at === undefined) this.at = Math.max(at, 0);
      this.case = i;
      this.heading.replaceChildren(el("bdi", { text: visible(title(item)) }));
      // Several systems may have read one field: their cases have one key.
      const whose = this.several && !item.beside && item.system ? selection.text(new Map([["system", [item.system]]])) : "";
      this.link.href = `#${[whose, `case=${item.key}`].filter(Boolean).join("&")}`;
      this.tagged.value = (this.tags.get(i) ?? []).join(", ");
      const facts = (pairs) => el("dl", { class: "fl-facts" }, ...pairs.filter(([, value]) => value !== null && value !== undefined)
        .flatMap(([name, value]) => [el("dt", { text: words(name) }), el("dd", {}, el("bdi", { text: typeof value === "number" ? value.toFixed(3) : visible(value) }))]));
      this.sheet.replaceChildren(picture(item, this.images) ?? "", el("div", { class: "fl-text-pane" }, this.chips(i), this.pair(item),
        ...answers(item).map((answer) => el("section", { class: "fl-answer", "aria-label": `answer of ${visible(answer.system)}` },
          item.beside ? el("h4", { text: visible(answer.system) }) : null, ladder(answer.ladder),
          facts(["similarity", "confidence", "status", "pred_origin"].map((name) => [name, answer[name]])), scores(answer))),
        facts(FACTS.map((name) => [name, name === "system" && item.beside ? null : item[name]])),
        el("button", { type: "button", text: "All cases of this document", onclick: () => { this.node.close(); this.choose(new Map([["doc_id", [item.doc_id]]])); this.filtered(); } })));
      this.place.textContent = at < 0 ? "hidden by the filters" : `${count(at + 1)} of ${count(this.found.length)}`;
      [this.back.disabled, this.forward.disabled] = [this.at === 0 && at >= 0, this.at >= this.found.length - 1];
      if (!this.node.open) { this.node.showModal(); this.heading.focus(); }
      this.node.scrollTop = 0;
    }

    tag() {
      const tags = [...new Set(this.tagged.value.split(",").map((text) => text.trim()).filter(Boolean))];
      if (tags.length) this.tags.set(this.case, tags); else this.tags.delete(this.case);
      const place = this.found.indexOf(this.case) - this.page * PAGE;
      if (place >= 0 && place < PAGE) this.grid.children[place].querySelector(".fl-chips").replaceWith(this.chips(this.case));
      this.tell();
    }

    /* Opens the case with this key, one that is shown before others; false where there is none. */
    open(key) {
      const has = (i) => this.cases[i].key === key;
      const i = this.found.find(has) ?? this.cases.findIndex((item) => item.key === key);
      if (i >= 0) this.look(i);
      return i >= 0;
    }

    /* ---- the chosen cases as a file: JSON Lines, or CSV for a spreadsheet ---- */

    exports() {
      const button = (kind) => el("button", { type: "button", text: kind.toUpperCase(), title: `save the cases that are shown as ${kind.toUpperCase()}`, onclick: () => this.save(kind) });
      return el("div", { class: "fl-export", role: "group", "aria-label": "save the cases" }, button("jsonl"), button("csv"));
    }

    /* A case as one flat row. */
    flat(i) {
      const [item, row] = [this.cases[i], Object.create(null)];
      answers(item).forEach((answer, n) => {
        for (const [name, value] of Object.entries(answer)) {
          if (name !== "image" && (value === null || typeof value !== "object")) row[n ? `${name}_${n + 1}` : name] = value;
        }
      });
      for (const [name, value] of Object.entries(item.slices)) row[name] ??= [value].flat().join("; ");
      if (item.finding.length) row.finding = item.finding.join("; ");
      if (this.tags.has(i)) row.tags = this.tags.get(i).join("; ");
      return row;
    }

    save(kind) {
      const rows = this.found.map((i) => this.flat(i));
      const text = kind === "csv" ? csv(rows) : rows.map((row) => `${JSON.stringify(row)}\n`).join("");
      const url = URL.createObjectURL(new Blob([text], { type: `${kind === "csv" ? "text/csv" : "application/jsonl"};charset=utf-8` }));
      // Some browsers ignore a click on a link that does not stand in the document.
      const link = el("a", { href: url, download: `cases.${kind}`, hidden: true });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    }
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

  function scores(answer) {
    if (!answer.scores) return null;
    const number = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 3 }));
    return el("table", { class: "fl-scores" }, el("caption", { text: "scores of this case" }),
      el("tbody", {}, ...answer.scores.map(([metric, value, hits, total]) => el("tr", {}, el("th", { scope: "row", text: words(metric) }),
        el("td", { text: number(value) }), el("td", { text: hits === null ? "" : `${number(hits)} of ${number(total)}` })))));
  }

  const galleries = [];
  const show = (root, data) => {
    galleries.push(new Gallery(root, data));
    return galleries.at(-1);
  };
  Object.freeze(Object.assign(window.formlabGallery, { show, galleries, valuesOf }));
  const data = document.getElementById("fl-gallery-data");
  const framed = Boolean(data && parent !== window);
  if (data) show(document.getElementById("fl-gallery"), JSON.parse(data.textContent));
})();
