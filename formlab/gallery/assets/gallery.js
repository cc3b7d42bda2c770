/* A gallery of cases: filters, order, search and tags over all of them, a page of cards at a time,
   one case large, and the chosen cases as a file. */
"use strict";
(() => {
  const { el, visible, button, select, bdi, fold, fill, words, count, several, chip, ladder, rung, value, rect, dot, picture, selection, kinds } = window.formlabGallery;
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
  const plain = (text) => (text === null || text === undefined ? null : String(text));
  const title = (item) => item.label || item.path || item.kind || item.task || "case";
  const answers = (item) => [item, ...(item.beside || [])];
  const side = (n) => (n === 0 ? "pred" : `pred${n + 1}`);
  const ORDERS = {
    given: ["as given", null],
    worst: ["least similar", (a, b) => (a.similarity ?? 2) - (b.similarity ?? 2)],
    best: ["most similar", (a, b) => (b.similarity ?? -1) - (a.similarity ?? -1)],
    doc: ["by document", (a, b) => collator.compare(a.doc_id, b.doc_id)],
    field: ["by field", (a, b) => collator.compare(title(a), title(b))],
    sure: ["most confident", (a, b) => (b.confidence ?? -1) - (a.confidence ?? -1)],
  };

  class Gallery {
    constructor(root, data) {
      Object.assign(this, { root, data, cases: data.cases, chosen: new Map(), tags: new Map(), order: "given", needle: "", least: 0 });
      // Without a prototype: a column may be called like what objects inherit.
      for (const item of this.cases) item.slices = Object.assign(Object.create(null), item.slices);
      this.several = Object.keys(data.colours.system).length > 1;
    }

    start(box = this.root) {
      this.facets = this.offered();
      this.build(box);
      this.update();
      galleries.push(this);
    }

    /* ---- which cases are shown: `chosen` has the values of columns that are asked for ---- */

    /* The values of a column that a case has, as texts or null: of answers, those of all systems. */
    values(i, column) {
      const item = this.cases[i];
      const numbered = /^outcome_(\d)$/.exec(column);
      if (numbered) return [plain(answers(item)[numbered[1] - 1]?.outcome)];
      if (Object.hasOwn(item.slices, column)) return [item.slices[column]].flat().map(plain);
      if (column === "finding") return item.finding.map(String);
      if (column === "passes") return [rung(item)];
      if (OF_ANSWER.includes(column)) return [...new Set(answers(item).map((answer) => plain(answer[column])))];
      return OF_CASE.includes(column) ? [plain(item[column])] : [];
    }

    /* The columns with several values as filters; `columns` are all that cases have. */
    offered() {
      const { cases, data: { claims } } = this;
      const slices = Object.keys(cases[0]?.slices ?? {});
      const compared = cases.some((item) => item.beside);
      const outcomes = compared ? answers(cases[0]).map((answer, n) => [`outcome_${n + 1}`, `outcome of ${answer.system}`]) : [["outcome", "outcome"]];
      this.titles = new Map(outcomes);
      this.columns = new Set([...OF_CASE, ...OF_ANSWER, ...slices, "passes", ...outcomes.map(([name]) => name), ...(claims.length ? ["finding"] : [])]);
      const names = ["finding", "benchmark", "split", ...(compared ? [] : ["system"]), "task", "kind", ...outcomes.map(([name]) => name), "cause", ...slices, "stage", "passes", "verdict"];
      return [...new Set(names)].filter((name) => this.columns.has(name)).map((column) => {
        const values = cases.map((_, i) => this.values(i, column));
        return { column, values, known: new Set(values.flat()) };
      }).filter(({ values }) => values.some((own) => String(own) !== String(values[0])));
    }

    titled(column) {
      return visible(this.titles.get(column) ?? words(column));
    }

    named(column, text) {
      const claim = column === "finding" ? this.data.claims[text - 1] : null;
      return visible(text === null ? "no value" : claim ? `${text}. ${claim.slice(0, 60)}` : words(text));
    }

    knows(wanted) {
      return [...wanted.keys()].every((column) => this.columns.has(column));
    }

    set(column, values) {
      if (values.length) this.chosen.set(column, values); else this.chosen.delete(column);
      this.filtered();
    }

    /* Shows the cases of a selection and says how many; an empty one shows all. */
    choose(wanted) {
      Object.assign(this, { chosen: new Map(wanted), needle: "", least: 0 });
      this.update();
      this.tell();
      return this.found.length;
    }

    /* How many cases a selection has. */
    matching(wanted) {
      return this.cases.filter((_, i) => [...wanted].every(([column, values]) => this.holds(i, column, values))).length;
    }

    holds(i, column, wanted) {
      return this.values(i, column).some((own) => wanted.some((each) => selection.fits(own, each)));
    }

    /* Whether a case fits search and slider. */
    fits(i) {
      const item = this.cases[i];
      if (this.least > 0 && !(item.confidence >= this.least)) return false;
      if (this.needle === "") return true;
      const texts = [item.label, item.path, item.doc_id, item.kind, item.gold, item.verdict, ...this.tags.get(i) ?? [],
        ...answers(item).flatMap((answer) => [answer.pred, answer.cause, answer.system])];
      return texts.filter(Boolean).join("\n").toLowerCase().includes(this.needle);
    }

    /* One walk finds the cases and counts each filter's values among what the others leave, so
       that no option leads to an empty page. */
    find() {
      const [found, counts] = [[], this.facets.map(() => new Map())];
      for (let i = 0; i < this.cases.length; i += 1) {
        if (!this.fits(i)) continue;
        const failed = [...this.chosen].filter(([column, values]) => !this.holds(i, column, values)).map(([column]) => column);
        if (failed.length === 0) found.push(i);
        this.facets.forEach((facet, f) => {
          if (!failed.every((column) => column === facet.column)) return;
          for (const name of [undefined, ...facet.values[i]]) counts[f].set(name, (counts[f].get(name) ?? 0) + 1);
        });
      }
      const by = ORDERS[this.order][1];
      this.found = by ? found.sort((a, b) => by(this.cases[a], this.cases[b]) || a - b) : found;
      return counts;
    }

    update() {
      const counts = this.find();
      this.facets.forEach((facet, f) => this.fill(facet, counts[f]));
      this.search.value = this.needle && this.search.value;
      this.slider.value = this.least;
      const chips = [...this.chosen].flatMap(([column, values]) => values.map((each) => {
        const text = `${this.titled(column)}: ${this.named(column, each).slice(0, 60)}`;
        const remove = () => this.set(column, values.filter((other) => other !== each));
        return button(`${text} ×`, remove, { class: "fl-only", "aria-label": `remove the filter ${text}` });
      }));
      if (chips.length > 1) chips.push(button("Clear all", () => { this.chosen.clear(); this.filtered(); }));
      this.chips.replaceChildren(...chips);
      this.turn(0);
    }

    fill({ column, known, select: node }, counts) {
      const [first, ...more] = this.chosen.get(column) ?? [];
      const one = known.has(first) && !more.length;
      if (one && !counts.has(first)) counts.set(first, 0);
      const options = [...counts].filter(([text]) => text !== undefined)
        .sort((a, b) => b[1] - a[1] || collator.compare(a[0] ?? NONE, b[0] ?? NONE)).map(([text, n]) => [text ?? NONE, `${text === null ? NONE : this.named(column, text)} (${count(n)})`]);
      fill(node, [["", `all (${count(counts.get(undefined) ?? 0)})`], ...options], one ? first ?? NONE : "");
    }

    /* The user has filtered: whoever listens hears of it. */
    filtered() {
      this.update();
      this.root.dispatchEvent(new CustomEvent("formlab-selection", { bubbles: true, detail: { line: selection.text(this.chosen), keys: this.keys() } }));
      this.tell();
    }

    keys() {
      return this.found.map((i) => this.cases[i].key);
    }

    /* In JupyterLab the page around this frame hears of it, to hand it to Python. */
    tell() {
      if (frame) parent.postMessage({ formlab: "selection", rows: this.found, tags: [...this.tags] }, "*");
    }

    /* ---- the page ---- */

    build(box) {
      const labelled = (text, node) => el("label", {}, el("span", { text }), node);
      const filters = this.facets.map((facet) => {
        const name = this.titled(facet.column);
        const label = name[0].toUpperCase() + name.slice(1);
        facet.select = select(label, (text) => this.set(facet.column, text === "" ? [] : [text === NONE ? null : text]));
        return labelled(label, facet.select);
      });
      const sure = this.cases.some((item) => item.confidence !== undefined);
      const sort = select("Sort", (order) => { this.order = order; this.update(); });
      fill(sort, Object.entries(ORDERS).filter(([name]) => name !== "sure" || sure).map(([name, [text]]) => [name, text]), this.order);
      this.search = el("input", { type: "search", "aria-label": "Search", placeholder: "text, field, document, tag", oninput: () => { this.needle = this.search.value.toLowerCase(); this.filtered(); } });
      this.slider = el("input", { type: "range", min: 0, max: 1, step: 0.01, value: 0, "aria-label": "Confidence at least", oninput: () => { this.least = Number(this.slider.value); this.filtered(); } });
      const folded = filters.splice(FILTERS);
      const bar = el("div", { class: "fl-bar", role: "search", "aria-label": "filter the cases" }, ...filters, labelled("Sort", sort), labelled("Search", this.search),
        sure ? labelled("Confidence at least", this.slider) : null, folded.length ? fold("fl-unfold", "More filters", el("div", { class: "fl-more" }, ...folded)) : null);
      this.count = el("p", { class: "fl-count", role: "status", "aria-live": "polite" });
      this.chips = el("div", { class: "fl-chosen", role: "group", "aria-label": "filters" });
      const files = ["jsonl", "csv"].map((kind) => button(kind.toUpperCase(), () => this.save(kind), { title: `save the cases that are shown as ${kind.toUpperCase()}` }));
      this.grid = el("ul", { class: "fl-grid", role: "list", "aria-label": "cases", onkeydown: (event) => this.pressed(event) });
      this.pagers = [this.pager(), this.pager()];
      this.dialog();
      this.root.classList.add("fl-gallery");
      box.append(bar, el("div", { class: "fl-status" }, this.count, this.chips, el("div", { class: "fl-export", role: "group", "aria-label": "save the cases" }, ...files), this.pagers[0].node),
        this.sample(), this.legend(), this.grid, this.pagers[1].node, this.node);
    }

    /* Of more errors than are kept, how the sample was drawn. */
    sample() {
      const { cases: { length }, data: { total } } = this;
      return total > length ? el("p", { class: "fl-sample", text: `${count(length)} of ${several(total, "error")}, each cause in proportion` }) : "";
    }

    legend() {
      const systems = this.cases[0]?.beside ? answers(this.cases[0]).map((answer) => visible(answer.system)) : ["predicted"];
      return el("p", { class: "fl-legend" }, el("span", { class: "fl-key gold", text: "gold" }), ...systems.map((text, n) => el("span", { class: `fl-key ${side(n)}`, text })),
        el("span", {}, "In answers: ", el("span", { class: "fl-missing", text: "‸" }), " missing, ", el("ins", { text: "extra" }), ", ", el("mark", { text: "changed" })));
    }

    pager() {
      const turn = (to) => { this.turn(to); if (this.grid.getBoundingClientRect().top < 0) this.grid.parentNode.scrollIntoView({ block: "start" }); };
      const pages = select("page", (to) => turn(Number(to)));
      const back = button("‹", () => turn(this.page - 1), { "aria-label": "previous page" });
      const forward = button("›", () => turn(this.page + 1), { "aria-label": "next page" });
      return { node: el("nav", { class: "fl-pager", "aria-label": "pages of cases" }, back, pages, forward), pages, back, forward };
    }

    turn(page) {
      const pages = Math.max(1, Math.ceil(this.found.length / PAGE));
      this.page = Math.min(Math.max(page, 0), pages - 1);
      const start = this.page * PAGE;
      const shown = this.found.slice(start, start + PAGE);
      this.grid.replaceChildren(...shown.map((i, k) => this.card(i, start + k)));
      if (!shown.length) this.grid.append(el("li", { class: "fl-none", text: this.cases.length ? "No case fits these filters." : "There are no cases." }));
      const { total, asked } = this.data;
      const [size, found] = [this.cases.length, this.found.length];
      const text = found < size ? `${count(found)} of ${several(size, "case")} chosen` : size === total && asked > total ? `${count(total)} of ${several(asked, "case")} wrong` : several(found, "case");
      this.count.textContent = pages > 1 ? `${text} · showing ${count(start + 1)}–${count(start + shown.length)}` : text;
      for (const pager of this.pagers) {
        pager.node.hidden = pages === 1;
        fill(pager.pages, Array.from({ length: pages }, (_, n) => [n, `page ${count(n + 1)} of ${count(pages)}`]), this.page);
        [pager.back.disabled, pager.forward.disabled] = [this.page === 0, this.page === pages - 1];
      }
    }

    /* The part of a page that a case is on, with its boxes; nothing where no page is known. */
    picture({ image, boxes, why }) {
      if (image === null && !why) return "";
      const shapes = (width, height) => Object.entries(boxes).map(([name, box]) => {
        const [x, y, w, h] = box.map(Number);
        const kind = `fl-box ${/^(gold|pred\d*)$/.test(name) ? name : "pred"}`;
        return w || h ? rect(kind, [x, y, w, h], width, height) : dot(`${kind} point`, [x, y], width, height, Math.max(4, 0.012 * width));
      });
      return picture("fl-picture", this.data.images[image], why, shapes);
    }

    labels(i) {
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
      box.append(...[item.verdict && words(item.verdict), ...this.tags.get(i) ?? []].filter(Boolean).map((text) => chip(text, null, "tag")));
      return box;
    }

    /* Gold is the reference and stays plain. */
    pair(item) {
      const name = ({ system }, n) => (item.beside ? el("dt", { class: `fl-key ${side(n)}`, title: visible(system) }, bdi(system)) : el("dt", { text: "pred." }));
      return el("dl", { class: item.beside ? "fl-pair named" : "fl-pair" }, el("dt", { text: "gold" }), el("dd", {}, value(item.gold, "not on the form")),
        ...answers(item).flatMap((answer, n) => [name(answer, n), el("dd", {}, value(answer.pred, "nothing given", answer.diff))]));
    }

    card(i, place) {
      const item = this.cases[i];
      const name = visible(title(item));
      const short = (text) => (text === null ? "nothing" : visible(text).slice(0, 120));
      const read = answers(item).map((answer) => `${item.beside ? visible(answer.system) : "predicted"} ${short(answer.pred)}, ${words(answer.outcome)}`).join("; ");
      return el("li", { "aria-posinset": place + 1, "aria-setsize": this.found.length }, el("div", {
        class: "fl-card", role: "button", tabindex: place % PAGE === 0 ? "0" : "-1", "aria-haspopup": "dialog", "data-place": place,
        "aria-label": `${name}: gold ${short(item.gold)}; ${read}; document ${visible(item.doc_id)}`,
        onclick: () => { if (String(getSelection()) === "") this.look(i); },
      }, this.picture(item), el("div", { class: "fl-body" }, el("h4", { title: name }, bdi(name)), this.pair(item), this.labels(i),
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
      if (to !== undefined) this.focus(to);
      else if (event.key === "Enter" || event.key === " ") this.look(this.found[place]);
      else return;
      event.preventDefault();
    }

    /* ---- one case, large ---- */

    dialog() {
      this.back = button("← Previous", () => this.step(-1));
      this.forward = button("Next →", () => this.step(1));
      this.place = el("span", { class: "fl-place", role: "status" });
      this.link = el("a", { class: "fl-link", text: "Link to this case" });
      this.heading = el("h3", { tabindex: "-1" });
      this.sheet = el("div", { class: "fl-pane" });
      this.tagged = el("input", { type: "text", "aria-label": "Tags", placeholder: "tags, with commas between", onchange: () => this.tag() });
      const close = () => this.node.close();
      this.node = el("dialog", {
        class: "fl-dialog", "aria-label": "one case", onclose: () => this.focus(this.at),
        onclick: (event) => { if (event.target === this.node) close(); },
        onkeydown: (event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (by && event.target !== this.tagged && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); this.step(by); }
        },
      }, el("div", { class: "fl-sheet" }, el("div", { class: "fl-tools" }, this.back, this.forward, this.place, this.link, this.tagged, button("Close", close)), this.heading, this.sheet));
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
      this.heading.replaceChildren(bdi(title(item)));
      // Several systems may have read one field: their cases have one key.
      const whose = this.several && !item.beside && item.system ? `${selection.text(new Map([["system", [item.system]]]))}&` : "";
      this.link.href = `#${whose}case=${item.key}`;
      this.tagged.value = (this.tags.get(i) ?? []).join(", ");
      const number = (each) => (typeof each === "number" ? each.toLocaleString("en", { maximumFractionDigits: 3 }) : each);
      const facts = (pairs) => el("dl", { class: "fl-facts" }, ...pairs.filter(([, each]) => each !== null && each !== undefined)
        .flatMap(([name, each]) => [el("dt", { text: words(name) }), el("dd", {}, bdi(number(each)))]));
      this.sheet.replaceChildren(this.picture(item), el("div", { class: "fl-text-pane" }, this.labels(i), this.pair(item),
        ...answers(item).map((answer) => el("section", { class: "fl-answer", "aria-label": `answer of ${visible(answer.system)}` },
          item.beside ? el("h4", { text: visible(answer.system) }) : null, ladder(answer.ladder),
          facts(["similarity", "confidence", "status", "pred_origin"].map((name) => [name, answer[name]])),
          answer.whole === undefined ? "" : fold(null, "The whole answer", el("p", { class: "fl-value", text: visible(this.data.replies[answer.whole]) })))),
        facts(FACTS.map((name) => [name, name === "system" && item.beside ? null : item[name]])),
        button("All cases of this document", () => { this.node.close(); this.choose(new Map([["doc_id", [item.doc_id]]])); this.filtered(); })));
      this.place.textContent = at < 0 ? "hidden by the filters" : `${count(at + 1)} of ${count(this.found.length)}`;
      [this.back.disabled, this.forward.disabled] = [this.at === 0 && at >= 0, this.at >= this.found.length - 1];
      if (!this.node.open) { this.node.showModal(); this.heading.focus(); }
      this.node.scrollTop = 0;
    }

    tag() {
      const tags = [...new Set(this.tagged.value.split(",").map((text) => text.trim()).filter(Boolean))];
      if (tags.length) this.tags.set(this.case, tags); else this.tags.delete(this.case);
      const card = this.grid.children[this.found.indexOf(this.case) - this.page * PAGE];
      card?.querySelector(".fl-chips").replaceWith(this.labels(this.case));
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

    /* A case as one flat row. */
    flat(i) {
      const [item, row] = [this.cases[i], Object.create(null)];
      answers(item).forEach((answer, n) => {
        for (const [name, each] of Object.entries(answer)) {
          if (name !== "image" && (each === null || typeof each !== "object")) row[n ? `${name}_${n + 1}` : name] = each;
        }
      });
      for (const [name, each] of Object.entries(item.slices)) row[name] ??= [each].flat().join("; ");
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

  function cell(text) {
    if (text === null || text === undefined) return "";
    if (typeof text !== "string") return String(text);
    const safe = (FORMULA.test(text) ? `'${text}` : text).replaceAll("\0", "␀");
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function csv(rows) {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    return [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
  }

  /* Galleries and explorers of the page, in its order. */
  const galleries = [];
  kinds.gallery = (root, data) => new Gallery(root, data).start();
  Object.assign(window.formlabGallery, { Gallery, galleries });
  /* In JupyterLab one object is all of a page. */
  const frame = document.getElementById("fl-frame");
  document.addEventListener("DOMContentLoaded", () => {
    if (frame) kinds[frame.dataset.kind](frame, JSON.parse(document.getElementById("fl-data").textContent));
  });
})();
