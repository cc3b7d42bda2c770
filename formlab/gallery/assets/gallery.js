/* A gallery of cases: filters, order and search over all of them, a page of cards at a time. */
"use strict";
(() => {
  const { el, visible, words, title, answers, chip, goldValue, predValue, picture, late, selection, save, Filters, CaseDialog } = window.formlabGallery;
  const PAGE = 24;
  /* So many filters stand in the bar, on a phone a few; the others fold away. */
  const [FILTERS, FEW] = [6, 2];
  const collator = new Intl.Collator("en", { numeric: true });
  const grouped = new Intl.NumberFormat("en");
  const count = (n) => grouped.format(n);
  /* What is null or empty does not travel. */
  const ANSWER = { system: null, outcome: null, cause: null, stage: null, status: null, pred: null, similarity: null, diff: [] };
  const CASE = { ...ANSWER, path: null, kind: null, task: null, gold: null, image: null, why: null, view: null, boxes: {}, finding: [] };
  function fill(item, defaults) {
    for (const name in defaults) if (item[name] === undefined) item[name] = defaults[name];
  }
  function whole(item, columns) {
    fill(item, CASE);
    // Without a prototype: a column may be called like what objects inherit.
    item.slices = Object.assign(Object.create(null), item.slices);
    for (const name of columns) item.slices[name] ??= null;
    for (const answer of item.beside ?? []) fill(answer, ANSWER);
    return item;
  }
  const several = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

  const ORDERS = {
    given: ["as given", null],
    worst: ["least similar", (a, b) => (a.similarity ?? 2) - (b.similarity ?? 2)],
    best: ["most similar", (a, b) => (b.similarity ?? -1) - (a.similarity ?? -1)],
    doc: ["by document", (a, b) => collator.compare(a.doc_id, b.doc_id) || a.sheet - b.sheet],
    field: ["by field", (a, b) => collator.compare(title(a), title(b))],
    sure: ["most confident", (a, b) => (b.confidence ?? -1) - (a.confidence ?? -1)],
  };

  class Gallery {
    constructor(root, data) {
      this.images = data.images;
      this.colours = data.colours;
      this.data = data;
      this.several = Object.keys(data.colours.system).length > 1;
      this.order = "given";
      this.loading = Boolean(data.later?.length);
      this.index(data.cases.flatMap((part) => this.read(part)));
      this.near = new IntersectionObserver((entries) => {
        for (const entry of entries) if (entry.isIntersecting) this.reveal(entry.target);
      }, { rootMargin: "400px" });
      this.build(root);
      this.update();
      this.ready = this.loading ? this.rest(data.later) : Promise.resolve();
    }

    read(part) {
      return JSON.parse(part).map((item) => whole(item, this.data.columns));
    }

    index(cases) {
      this.cases = cases;
      this.filters = new Filters(cases, this.data.claims);
      this.sheets = new Map();
      cases.forEach((item, i) => {
        if (!this.sheets.has(item.sheet)) this.sheets.set(item.sheet, []);
        this.sheets.get(item.sheet).push(i);
      });
    }

    /* The first page of cards stands before the other cases are read; then filters and counts do. */
    async rest(later) {
      const cases = [...this.cases];
      for (const id of later) {
        cases.push(...this.read(await new Promise((use) => { late(id, use); })));
        await (globalThis.scheduler?.yield?.() ?? new Promise((go) => { setTimeout(go); }));
      }
      this.loading = false;
      this.index(cases);
      this.top.forEach((node) => node.remove());
      this.root.prepend(...this.head());
      this.root.removeAttribute("aria-busy");
      this.pagers[1].node.inert = false;
      this.sift();
      this.announce();
    }

    /* How many cases there are, before all of them are read too. */
    get size() {
      return this.loading ? this.data.count : this.cases.length;
    }

    get shown() {
      return this.loading ? this.data.count : this.found.length;
    }

    bars() {
      const bar = el("div", { class: "fl-bar", role: "search", "aria-label": "filter the cases" });
      const more = el("div", { class: "fl-more", hidden: "" });
      this.filters.facets.forEach((facet, n) => {
        facet.select = el("select", { "aria-label": facet.label, onchange: () => { facet.chosen = facet.select.value; this.filtered(); } });
        (n < FILTERS ? bar : more).append(el("label", { class: n < FEW ? "" : "fl-facet" }, el("span", { text: facet.label }), facet.select));
      });
      const sort = el("select", { "aria-label": "Sort", onchange: () => { this.order = sort.value; this.update(); } });
      for (const [value, [text]] of Object.entries(ORDERS)) {
        if (value !== "sure" || this.cases.some((item) => item.confidence !== undefined)) sort.append(el("option", { value, text }));
      }
      this.search = el("input", { type: "search", "aria-label": "Search", placeholder: "text, field, document", oninput: () => { this.filters.needle = this.search.value.toLowerCase(); this.filtered(); } });
      bar.append(
        el("label", {}, el("span", { text: "Sort" }), sort),
        el("label", { class: "fl-search" }, el("span", { text: "Search" }), this.search),
      );
      this.bar = bar;
      if (this.filters.facets.length > FEW) bar.append(this.unfold(more), more);
      return bar;
    }

    /* What stands above the cards. */
    head() {
      this.count = el("p", { class: "fl-count", role: "status", "aria-live": "polite" });
      this.chosen = el("div", { class: "fl-chosen" });
      const status = el("div", { class: "fl-status" }, this.count, this.chosen, this.exports(), this.pagers[0].node);
      this.top = [this.bars(), status, this.sample(), this.legend()].filter(Boolean);
      for (const node of [...this.top, this.pagers[1].node]) node.inert = this.loading;
      return this.top;
    }

    build(root) {
      this.grid = el("ul", { class: "fl-grid", role: "list", "aria-label": "cases", onkeydown: (event) => this.pressed(event) });
      this.dialog = new CaseDialog(this);
      this.root = root;
      this.pagers = [this.pager(), this.pager()];
      root.classList.add("fl-gallery");
      root.append(...this.head(), this.grid, this.pagers[1].node, this.dialog.node);
      if (this.loading) root.setAttribute("aria-busy", "true");
      addEventListener("beforeprint", () => { for (const card of [...this.grid.children]) this.reveal(card); });
    }

    unfold(more) {
      this.more = el("button", { type: "button", class: more.children.length ? "fl-unfold" : "fl-unfold fl-narrow", "aria-expanded": "false", text: "More filters", onclick: () => this.fold(!more.hidden) });
      return this.more;
    }

    fold(folded) {
      this.bar.querySelector(".fl-more").hidden = folded;
      this.bar.classList.toggle("fl-open", !folded);
      this.more.setAttribute("aria-expanded", String(!folded));
    }

    legend() {
      const systems = this.cases.length && this.cases[0].beside ? answers(this.cases[0]).map((answer) => visible(answer.system)) : ["predicted"];
      return el("p", { class: "fl-legend" }, el("span", { class: "fl-key gold", text: "gold" }),
        ...systems.map((name, n) => el("span", { class: `fl-key pred${n === 0 ? "" : n + 1}`, text: name })),
        el("span", { class: "fl-marks" }, "In answers: ", el("span", { class: "fl-missing", text: "‸" }), " missing, ",
          el("ins", { text: "extra" }), ", ", el("mark", { text: "changed" })));
    }

    exports() {
      const button = (kind) => el("button", {
        type: "button", text: kind.toUpperCase(), title: `save the cases that are shown as ${kind.toUpperCase()}`,
        onclick: () => save(this.found.map((i) => this.cases[i]), kind),
      });
      return el("div", { class: "fl-export", role: "group", "aria-label": "save the cases" }, button("jsonl"), button("csv"));
    }

    /* Of more errors than are kept, how the sample was drawn. */
    sample() {
      const { total, drawn } = this.data;
      if (total <= this.size) return null;
      const causes = drawn.map(([cause, shown, all]) => `${visible(words(cause))} ${count(shown)} of ${count(all)}`);
      return el("details", { class: "fl-sample" },
        el("summary", { text: `${count(this.size)} of ${several(total, "error")}, each cause in proportion` }),
        el("p", { text: `${causes.join(", ")}.` }));
    }

    pager() {
      const turn = (to) => { this.turn(to); this.scroll(); };
      const select = el("select", { "aria-label": "page", onchange: () => turn(Number(select.value)) });
      const back = el("button", { type: "button", text: "‹", "aria-label": "previous page", title: "previous page (Page Up)", onclick: () => turn(this.page - 1) });
      const forward = el("button", { type: "button", text: "›", "aria-label": "next page", title: "next page (Page Down)", onclick: () => turn(this.page + 1) });
      const node = el("nav", { class: "fl-pager", "aria-label": "pages of cases" }, back, select, forward);
      return { node, select, back, forward };
    }

    scroll() {
      if (this.root.getBoundingClientRect().top < 0) this.root.scrollIntoView({ block: "start" });
    }

    knows(wanted) {
      return this.filters.knows(wanted);
    }

    /* Shows the cases of a selection and says how many; an empty one shows all. */
    choose(wanted) {
      this.filters.choose(wanted);
      this.search.value = "";
      this.update();
      this.tell();
      return this.found.length;
    }

    /* Opens the case with this key, one that is shown before others; false where there is none. */
    open(key) {
      const has = (i) => this.cases[i].key === key;
      const i = this.found.find(has) ?? this.cases.findIndex((item) => item.key === key);
      if (i < 0) return false;
      this.dialog.open(i);
      return true;
    }

    line() {
      return selection.text(this.filters.selection);
    }

    /* Several systems may have read one field: their cases have one key. */
    lineOf(item) {
      return this.several && !item.beside && item.system ? selection.text(new Map([["system", [item.system]]])) : "";
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
      if (framed) parent.postMessage({ formlab: "selection", line: this.line(), rows: this.found }, "*");
    }

    update() {
      this.sift();
      if (this.filters.facets.some(({ chosen }, n) => n >= FILTERS && chosen !== "")) this.fold(false);
      this.turn(0);
    }

    sift() {
      const { found, counts } = this.filters.find();
      this.filters.facets.forEach((facet, f) => this.fill(facet, this.loading ? Object.assign(new Map(), { all: this.size }) : counts[f]));
      const by = ORDERS[this.order][1];
      this.found = by ? found.sort((a, b) => by(this.cases[a], this.cases[b]) || a - b) : found;
      this.restrictions();
    }

    get pages() {
      return Math.max(1, Math.ceil(this.shown / PAGE));
    }

    /* What restricts the cases beside the filters, each with a button that takes it away. */
    restrictions() {
      const { also, only } = this.filters;
      const button = (text, without) => el("button", {
        type: "button", class: "fl-only", text: `${text} ×`, "aria-label": `${text}: show all again`,
        onclick: () => { without(); this.filtered(); this.focus(0); },
      });
      const named = (value) => (value === null ? "none" : visible(words(value)).slice(0, 40));
      this.chosen.replaceChildren(
        ...[...also].map(([column, values]) => button(`${visible(words(column))}: ${values.map(named).join(" or ")}`, () => also.delete(column))),
        ...(only === null ? [] : [button(`only ${visible(this.cases[this.sheets.get(only)[0]].doc_id).slice(0, 40)}`, () => { this.filters.only = null; })]),
      );
    }

    fill(facet, counts) {
      if (facet.chosen !== "" && !counts.has(facet.chosen)) counts.set(facet.chosen, 0);
      const options = [["", `all (${count(counts.all || 0)})`], ...[...counts].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0])).map(([value, n]) => [value, `${facet.text(value)} (${count(n)})`])];
      facet.select.replaceChildren(...options.map(([value, text]) => el("option", { value, text })));
      facet.select.value = facet.chosen;
    }

    turn(page) {
      this.page = Math.min(Math.max(page, 0), this.pages - 1);
      const start = this.page * PAGE;
      const shown = this.found.slice(start, start + PAGE);
      this.near.disconnect();
      this.reveals = new WeakMap();
      this.grid.replaceChildren(...shown.map((i, k) => this.card(i, start + k)));
      if (shown.length === 0) this.grid.append(el("li", { class: "fl-none", text: this.cases.length ? "No case fits these filters." : "There are no cases." }));
      for (const [card] of shown.entries()) this.near.observe(this.grid.children[card]);
      this.announce();
    }

    announce() {
      const [pages, start] = [this.pages, this.page * PAGE];
      const { total, asked, unit } = this.data;
      const errors = this.size === total && asked > total;
      const what = this.shown < this.size ? `${count(this.shown)} of ${several(this.size, unit)} chosen`
        : errors ? `${count(total)} of ${several(asked, unit)} wrong` : several(this.shown, unit);
      this.count.textContent = pages > 1 ? `${what} · showing ${count(start + 1)}–${count(Math.min(start + PAGE, this.shown))}` : what;
      for (const { node, select, back, forward } of this.pagers) {
        node.hidden = pages === 1;
        if (select.length !== pages) select.replaceChildren(...Array.from({ length: pages }, (_, n) => el("option", { value: n, text: `page ${count(n + 1)} of ${count(pages)}` })));
        select.value = String(this.page);
        back.disabled = this.page === 0;
        forward.disabled = this.page === pages - 1;
      }
    }

    chips(item) {
      const box = el("div", { class: "fl-chips" });
      for (const answer of answers(item)) {
        if (this.several && answer.system) box.append(chip(answer.system, this.colours.system[answer.system]));
        box.append(chip(words(answer.outcome), this.colours.outcome[answer.outcome], "solid"));
        const stage = answer.stage && answer.stage !== answer.cause ? `${answer.stage}: ` : "";
        if (answer.cause && answer.cause !== answer.outcome) box.append(chip(stage + words(answer.cause), this.colours.cause[answer.cause]));
        if (answer.failed) box.append(chip(`not right: ${answer.failed.map(visible).join(", ")}`));
      }
      if (item.kind) box.append(chip(words(item.kind)));
      if (item.verdict) box.append(chip(words(item.verdict), null, "verdict"));
      return box;
    }

    predName(item, answer, n) {
      if (!item.beside) return el("dt", { text: "pred." });
      return el("dt", { class: `fl-key pred${n === 0 ? "" : n + 1}`, title: visible(answer.system) }, el("bdi", { text: visible(answer.system) }));
    }

    pair(item) {
      const list = el("dl", { class: item.beside ? "fl-pair named" : "fl-pair" }, el("dt", { text: "gold" }), el("dd", {}, goldValue(item)));
      answers(item).forEach((answer, n) => list.append(this.predName(item, answer, n), el("dd", {}, predValue(answer))));
      return list;
    }

    card(i, place) {
      const item = this.cases[i];
      const name = visible(title(item));
      const shownValue = (value) => (value === null ? "nothing" : visible(value).slice(0, 120));
      const read = answers(item).map((answer) => `${item.beside ? visible(answer.system) : "predicted"} ${shownValue(answer.pred)}, ${words(answer.outcome)}`).join("; ");
      const [image, reveal] = picture(item, this.images);
      const card = el("li", { "aria-posinset": place + 1, "aria-setsize": this.shown },
        el("div", {
          class: "fl-card", role: "button", tabindex: place % PAGE === 0 ? "0" : "-1", "aria-haspopup": "dialog",
          "data-place": place, "aria-label": `${name}: gold ${shownValue(item.gold)}; ${read}; document ${visible(item.doc_id)}`,
          onclick: () => { if (String(getSelection()) === "") this.look(i); },
        }, image, el("div", { class: "fl-body" },
          el("h4", { title: name }, el("bdi", { text: name })),
          this.pair(item), this.chips(item),
          el("p", { class: "fl-doc" }, el("bdi", { title: visible(item.path ?? ""), text: [item.doc_id, item.path].filter(Boolean).map(visible).join(" ") }),
            item.similarity === null ? null : el("span", { class: "fl-sim", title: "similarity", text: item.similarity.toFixed(2) })))));
      if (reveal) this.reveals.set(card, reveal);
      return card;
    }

    reveal(card) {
      this.reveals.get(card)?.();
      this.near.unobserve(card);
    }

    /* All boxes of the page that a case is on: the gold, and those of the systems that it shows. */
    pageBoxes(item) {
      const page = this.data.pages[item.sheet] ?? {};
      const of = (name) => {
        const sides = page[name] ?? [];
        return Array.from({ length: sides.length / 4 }, (_, n) => sides.slice(4 * n, 4 * n + 4).map((side) => side / 10_000));
      };
      return [["gold", of("gold")], ...answers(item).map((answer, n) => [n ? `pred${n + 1}` : "pred", of(`pred:${answer.system}`)])];
    }

    onSheet(item) {
      return this.sheets.get(item.sheet).map((i) => [i, this.cases[i]]);
    }

    onlySheet(item) {
      this.filters.clear();
      this.filters.only = item.sheet;
      this.search.value = "";
      this.filtered();
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
      const place = Number(card.dataset.place);
      const last = this.found.length - 1;
      const across = Math.max(1, getComputedStyle(this.grid).gridTemplateColumns.split(" ").length);
      const to = {
        ArrowRight: place + 1, ArrowLeft: place - 1, ArrowDown: place + across, ArrowUp: place - across,
        Home: 0, End: last, PageDown: Math.min(place + PAGE, last), PageUp: Math.max(place - PAGE, 0),
      }[event.key];
      if (to !== undefined) { event.preventDefault(); this.focus(to); }
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.look(this.found[place]); }
    }

    /* Its neighbours and the way to the next case want all cases. */
    look(i) {
      if (this.loading) this.ready.then(() => this.dialog.open(i));
      else this.dialog.open(i);
    }
  }

  const galleries = [];
  const show = (root, data) => {
    const made = new Gallery(root, data);
    galleries.push(made);
    return made;
  };
  Object.freeze(Object.assign(window.formlabGallery, { show, galleries }));
  const data = document.getElementById("fl-gallery-data");
  const root = document.getElementById("fl-gallery");
  const framed = Boolean(data && root && parent !== window);
  if (data && root) show(root, JSON.parse(data.textContent));
  if (framed) {
    addEventListener("message", ({ source, data: message }) => {
      const wanted = source === parent && message?.formlab === "choose" ? selection.read(String(message.line)) : null;
      if (wanted) galleries[0].ready.then(() => { if (galleries[0].knows(wanted)) galleries[0].choose(wanted); });
    });
  }
})();
