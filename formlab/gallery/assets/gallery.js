/* A gallery of cases: filters, order and search over all of them, a page of cards at a time. */
"use strict";
(() => {
  const { el, visible, words, title, answers, chip, rung, goldValue, predValue, picture, CaseDialog } = window.formlabGallery;
  const PAGE = 24;
  const NONE = "–";
  const collator = new Intl.Collator("en", { numeric: true });
  const grouped = new Intl.NumberFormat("en");
  const count = (n) => grouped.format(n);
  const one = (value) => (value === null || value === undefined ? NONE : String(value));

  /* What can be filtered: a label, and the value that each case has, or a list of values. One with
     a single value is left out. */
  function facets(cases) {
    const compared = cases.some((item) => item.beside);
    const systems = compared ? answers(cases[0]).map((answer) => visible(answer.system)) : [];
    const all = [
      ["Benchmark", (item) => one(`${item.benchmark} ${item.split}`)], ["System", (item) => one(item.system)],
      ["Task", (item) => one(item.task)], ["Kind", (item) => one(item.kind)],
      ...(compared
        ? systems.map((name, n) => [`Outcome of ${name}`, (item) => one(answers(item)[n]?.outcome)])
        : [["Outcome", (item) => one(item.outcome)]]),
      ...["Stage", "Cause"].map((label) => [label, (item) => (compared
        ? [...new Set(answers(item).map((answer) => answer[label.toLowerCase()] ?? NONE))] : one(item[label.toLowerCase()]))]),
      ["Passes", (item) => one(rung(item))], ["Verdict", (item) => one(item.verdict)],
    ];
    return all.map(([label, of]) => ({ label, values: cases.map(of), chosen: "" }))
      .filter(({ values }) => values.some((value) => String(value) !== String(values[0])));
  }

  const has = (value, chosen) => (typeof value === "string" ? value === chosen : value.includes(chosen));

  const ORDERS = {
    given: ["as given", null],
    worst: ["least similar", (a, b) => (a.similarity ?? 2) - (b.similarity ?? 2)],
    best: ["most similar", (a, b) => (b.similarity ?? -1) - (a.similarity ?? -1)],
    doc: ["document", (a, b) => collator.compare(a.doc_id, b.doc_id) || a.sheet - b.sheet],
    field: ["field", (a, b) => collator.compare(title(a), title(b))],
    sure: ["most confident", (a, b) => (b.confidence ?? -1) - (a.confidence ?? -1)],
  };

  class Gallery {
    constructor(root, data) {
      this.images = data.images;
      this.colours = data.colours;
      this.total = data.total;
      this.cases = data.cases.flatMap((part) => JSON.parse(part));
      this.facets = facets(this.cases);
      this.sheets = new Map();
      this.cases.forEach((item, i) => {
        if (!this.sheets.has(item.sheet)) this.sheets.set(item.sheet, []);
        this.sheets.get(item.sheet).push(i);
      });
      this.several = new Set(this.cases.flatMap((item) => answers(item).map((answer) => answer.system))).size > 1;
      this.needle = "";
      this.order = "given";
      this.only = null;
      this.within = null;
      this.near = new IntersectionObserver((entries) => {
        for (const entry of entries) if (entry.isIntersecting) this.reveal(entry.target);
      }, { rootMargin: "400px" });
      this.build(root);
      this.update();
    }

    build(root) {
      const bar = el("div", { class: "fl-bar", role: "search", "aria-label": "filter the cases" });
      for (const facet of this.facets) {
        facet.select = el("select", { "aria-label": facet.label, onchange: () => { facet.chosen = facet.select.value; this.update(); } });
        bar.append(el("label", {}, el("span", { text: facet.label }), facet.select));
      }
      const sort = el("select", { "aria-label": "Sort", onchange: () => { this.order = sort.value; this.update(); } });
      for (const [value, [text]] of Object.entries(ORDERS)) {
        if (value !== "sure" || this.cases.some((item) => item.confidence !== undefined)) sort.append(el("option", { value, text }));
      }
      const search = el("input", { type: "search", "aria-label": "Search", placeholder: "text, field, document", oninput: () => { this.needle = search.value.toLowerCase(); this.update(); } });
      bar.append(
        el("label", {}, el("span", { text: "Sort" }), sort),
        el("label", { class: "fl-search" }, el("span", { text: "Search" }), search),
      );
      this.count = el("p", { class: "fl-count", role: "status", "aria-live": "polite" });
      this.sheet = el("button", { type: "button", class: "fl-only", hidden: "", onclick: () => { this.only = null; this.update(); this.focus(0); } });
      this.grid = el("ul", { class: "fl-grid", role: "list", "aria-label": "cases", onkeydown: (event) => this.keys(event) });
      this.dialog = new CaseDialog(this);
      this.root = root;
      this.pagers = [this.pager(), this.pager()];
      root.classList.add("fl-gallery");
      root.append(bar, el("div", { class: "fl-status" }, this.count, this.sheet, this.legend(), this.pagers[0].node), this.grid, this.pagers[1].node, this.dialog.node);
      addEventListener("beforeprint", () => { for (const card of [...this.grid.children]) this.reveal(card); });
    }

    legend() {
      const systems = this.cases.length && this.cases[0].beside ? answers(this.cases[0]).map((answer) => visible(answer.system)) : ["predicted"];
      return el("p", { class: "fl-legend" }, el("span", { class: "fl-key gold", text: "gold" }),
        ...systems.map((name, n) => el("span", { class: `fl-key pred${n === 0 ? "" : n + 1}`, text: name })));
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

    /* Only these cases, by their places, or all. */
    restrict(places) {
      this.within = places && new Set(places);
      this.update();
    }

    finds(i) {
      if (this.within && !this.within.has(i)) return false;
      if (this.only !== null && this.cases[i].sheet !== this.only) return false;
      return this.needle === "" || this.haystack(i).includes(this.needle);
    }

    haystack(i) {
      this.haystacks ??= this.cases.map((item) => [
        item.path, item.doc_id, item.kind, item.gold, item.verdict, ...answers(item).flatMap((answer) => [answer.pred, answer.cause, answer.system]),
      ].filter(Boolean).join("\n").toLowerCase());
      return this.haystacks[i];
    }

    /* One walk finds the cases and counts each filter's values among what the others leave, so
       that no option leads to an empty page. */
    update() {
      const counts = this.facets.map(() => new Map());
      const found = [];
      for (let i = 0; i < this.cases.length; i += 1) {
        if (!this.finds(i)) continue;
        const failed = [];
        this.facets.forEach((facet, f) => {
          if (facet.chosen !== "" && !has(facet.values[i], facet.chosen)) failed.push(f);
        });
        if (failed.length > 1) continue;
        if (failed.length === 0) found.push(i);
        for (const f of failed.length ? failed : counts.keys()) {
          const value = this.facets[f].values[i];
          for (const name of typeof value === "string" ? [value] : value) counts[f].set(name, (counts[f].get(name) || 0) + 1);
          counts[f].all = (counts[f].all || 0) + 1;
        }
      }
      this.facets.forEach((facet, f) => this.fill(facet, counts[f]));
      const by = ORDERS[this.order][1];
      this.found = by ? found.sort((a, b) => by(this.cases[a], this.cases[b]) || a - b) : found;
      this.sheet.hidden = this.only === null;
      if (this.only !== null) this.sheet.textContent = `only ${visible(this.cases[this.sheets.get(this.only)[0]].doc_id).slice(0, 40)} ×`;
      this.sheet.setAttribute("aria-label", `${this.sheet.textContent.replace(/ ×$/, "")}: show all documents again`);
      this.turn(0);
    }

    fill(facet, counts) {
      if (facet.chosen !== "" && !counts.has(facet.chosen)) counts.set(facet.chosen, 0);
      const options = [["", `all (${count(counts.all || 0)})`], ...[...counts].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0])).map(([value, n]) => [value, `${visible(words(value))} (${count(n)})`])];
      facet.select.replaceChildren(...options.map(([value, text]) => el("option", { value, text })));
      facet.select.value = facet.chosen;
    }

    turn(page) {
      const pages = Math.max(1, Math.ceil(this.found.length / PAGE));
      this.page = Math.min(Math.max(page, 0), pages - 1);
      const start = this.page * PAGE;
      const shown = this.found.slice(start, start + PAGE);
      this.near.disconnect();
      this.reveals = new WeakMap();
      this.grid.replaceChildren(...shown.map((i, k) => this.card(i, start + k)));
      if (shown.length === 0) this.grid.append(el("li", { class: "fl-none", text: this.cases.length ? "No case fits these filters." : "There are no cases." }));
      for (const [card] of shown.entries()) this.near.observe(this.grid.children[card]);
      this.announce(start, shown.length, pages);
    }

    announce(start, shown, pages) {
      const of = this.total > this.cases.length ? `${count(this.cases.length)} shown of ${count(this.total)}` : count(this.cases.length);
      const part = pages > 1 ? `, ${count(start + 1)}–${count(start + shown)} on this page` : "";
      this.count.textContent = `${count(this.found.length)} of ${of} cases${part}`;
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
      const card = el("li", { "aria-posinset": place + 1, "aria-setsize": this.found.length },
        el("div", {
          class: "fl-card", role: "button", tabindex: place % PAGE === 0 ? "0" : "-1", "aria-haspopup": "dialog",
          "data-place": place, "aria-label": `${name}: gold ${shownValue(item.gold)}; ${read}; document ${visible(item.doc_id)}`,
          onclick: () => { if (String(getSelection()) === "") this.dialog.open(i); },
        }, image, el("div", { class: "fl-body" },
          el("h4", { title: name }, el("bdi", { text: name })),
          this.pair(item), this.chips(item),
          el("p", { class: "fl-doc" }, el("bdi", { text: visible(item.doc_id) }),
            item.similarity === null ? null : el("span", { class: "fl-sim", title: "similarity", text: item.similarity.toFixed(2) })))));
      if (reveal) this.reveals.set(card, reveal);
      return card;
    }

    reveal(card) {
      this.reveals.get(card)?.();
      this.near.unobserve(card);
    }

    onSheet(item) {
      return this.sheets.get(item.sheet).map((i) => [i, this.cases[i]]);
    }

    onlySheet(item) {
      this.only = item.sheet;
      this.needle = "";
      for (const facet of this.facets) facet.chosen = "";
      this.root.querySelector("input").value = "";
      this.update();
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

    keys(event) {
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
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.dialog.open(this.found[place]); }
    }
  }

  const show = (root, data) => new Gallery(root, data);
  Object.freeze(Object.assign(window.formlabGallery, { show }));
  const data = document.getElementById("fl-gallery-data");
  const root = document.getElementById("fl-gallery");
  if (data && root) show(root, JSON.parse(data.textContent));
})();
