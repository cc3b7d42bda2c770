/* Draws a gallery of cases. Every text reaches the page through textContent, never as markup. */
"use strict";
(() => {
  const STEP = 60;
  const SVG = "http://www.w3.org/2000/svg";
  const RUNGS = ["exact", "normalised", "typed", "fuzzy"];
  const FILTERS = [["system", "System"], ["outcome", "Outcome"], ["cause", "Cause"], ["kind", "Kind"]];
  const IMAGE = /^data:image\/(webp|png|jpeg|avif|gif);base64,[A-Za-z0-9+/=]*$|^[\w-][\w.-]*(\/[\w-][\w.-]*)*\.(webp|png|jpe?g)$/;
  const COLOUR = /^#[0-9a-f]{6}$/i;

  function el(tag, props = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
      if (value === null || value === undefined) continue;
      if (name === "class") node.className = value;
      else if (name === "text") node.textContent = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  /* Control characters would be invisible, or reorder what stands beside them. */
  function visible(text) {
    return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
      const code = c.codePointAt(0);
      if (code < 32) return String.fromCodePoint(0x2400 + code);
      return code === 127 ? "\u2421" : "\ufffd";
    });
  }

  const words = (name) => String(name).replaceAll("_", " ");

  function chip(text, colour, extra = "") {
    const node = el("span", { class: `fl-chip ${extra}`.trim(), text: visible(text) });
    if (COLOUR.test(colour || "")) node.style.setProperty("--chip", colour);
    return node;
  }

  function ladder(rungs) {
    const box = el("span", { class: "fl-ladder", role: "list", "aria-label": "strictness ladder" });
    RUNGS.forEach((name, i) => {
      const state = rungs[i] === true ? "yes" : rungs[i] === false ? "no" : "unknown";
      const mark = { yes: "✓", no: "×", unknown: "–" }[state];
      box.append(el("span", { class: `fl-rung ${state}`, role: "listitem", title: `${name}: ${state}`, text: `${mark} ${name}` }));
    });
    return box;
  }

  /* One side of the diff: what both share, and what only this side has. */
  function side(item, which) {
    const value = item[which];
    if (value === null) return el("span", { class: "fl-none", text: which === "gold" ? "not on the form" : "nothing given" });
    if (value === "") return el("span", { class: "fl-none", text: "empty" });
    const [own, tag] = which === "gold" ? ["delete", "del"] : ["insert", "ins"];
    const node = el("bdi", { class: "fl-value" });
    for (const [op, text] of item.diff) {
      if (op === "equal") node.append(visible(text));
      else if (op === own) node.append(el(tag, { text: visible(text) }));
    }
    return node;
  }

  function overlay(item) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 1 1");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    for (const which of ["gold", "pred"]) {
      const box = item.boxes[which];
      if (!box) continue;
      const [x, y, w, h] = box.map(Number);
      const point = w === 0 && h === 0;
      const rect = document.createElementNS(SVG, "rect");
      rect.setAttribute("class", `fl-box ${which}${point ? " point" : ""}`);
      rect.setAttribute("x", point ? x - 0.012 : x);
      rect.setAttribute("y", point ? y - 0.03 : y);
      rect.setAttribute("width", point ? 0.024 : w);
      rect.setAttribute("height", point ? 0.06 : h);
      svg.append(rect);
    }
    return svg;
  }

  function picture(item, images, large) {
    const frame = el("div", { class: large ? "fl-picture large" : "fl-picture" });
    const image = item.image === null ? null : images[item.image];
    const missing = (why) => frame.replaceChildren(el("p", { class: "fl-noimage", text: visible(why) }));
    if (!image || !IMAGE.test(image.src)) {
      missing(item.why || "the image cannot be shown");
      return frame;
    }
    const holder = el("div", { class: "fl-holder" });
    holder.style.setProperty("--ratio", String(Number(image.width) / Number(image.height)));
    holder.append(
      el("img", {
        src: image.src, width: Number(image.width), height: Number(image.height), loading: "lazy", decoding: "async",
        alt: `Part of page ${visible(item.doc_id)}`, onerror: () => missing("the image is damaged"),
      }),
      overlay(item),
    );
    frame.append(holder);
    if (item.why) frame.append(el("p", { class: "fl-why", text: visible(item.why) }));
    return frame;
  }

  const title = (item) => item.path || item.kind || item.task || "case";

  class Gallery {
    constructor(root, data) {
      this.images = data.images;
      this.colours = data.colours;
      this.total = data.total;
      this.cases = data.cases;
      this.haystacks = this.cases.map((item) =>
        [item.gold, item.pred, item.path, item.doc_id, item.kind, item.cause].filter(Boolean).join("\n").toLowerCase());
      this.chosen = Object.fromEntries(FILTERS.map(([name]) => [name, ""]));
      this.needle = "";
      this.order = "given";
      this.build(root);
      this.update();
    }

    build(root) {
      this.selects = {};
      const bar = el("div", { class: "fl-bar", role: "search", "aria-label": "filter the cases" });
      for (const [name, label] of FILTERS) {
        const select = el("select", { onchange: () => { this.chosen[name] = select.value; this.update(); } });
        this.selects[name] = select;
        bar.append(el("label", {}, el("span", { text: label }), select));
      }
      const sort = el("select", { onchange: () => { this.order = sort.value; this.update(); } });
      for (const [value, text] of [["given", "as given"], ["worst", "least similar"], ["best", "most similar"], ["doc", "document"]]) {
        sort.append(el("option", { value, text }));
      }
      const search = el("input", { type: "search", placeholder: "text, field, document", oninput: () => { this.needle = search.value.toLowerCase(); this.update(); } });
      bar.append(
        el("label", {}, el("span", { text: "Sort" }), sort),
        el("label", { class: "fl-search" }, el("span", { text: "Search" }), search),
      );
      this.count = el("p", { class: "fl-count", role: "status", "aria-live": "polite" });
      this.legend = el("p", { class: "fl-legend", "aria-hidden": "true" },
        el("span", { class: "fl-key gold", text: "gold" }), el("span", { class: "fl-key pred", text: "predicted" }));
      this.grid = el("div", { class: "fl-grid", role: "list", onkeydown: (event) => this.keys(event) });
      this.more = el("button", { class: "fl-more", type: "button", onclick: () => this.grow(STEP) });
      this.dialog = this.buildDialog();
      root.classList.add("fl-gallery");
      root.append(bar, el("div", { class: "fl-status" }, this.count, this.legend), this.grid, this.more, this.dialog);
      new IntersectionObserver((entries) => {
        if (entries.some((entry) => entry.isIntersecting)) this.grow(STEP);
      }, { rootMargin: "400px" }).observe(this.more);
    }

    passes(i, except) {
      const item = this.cases[i];
      for (const [name] of FILTERS) {
        if (name !== except && this.chosen[name] !== "" && String(item[name] ?? "–") !== this.chosen[name]) return false;
      }
      return this.needle === "" || this.haystacks[i].includes(this.needle);
    }

    update() {
      for (const [name, label] of FILTERS) this.fill(name, label);
      const found = [];
      for (let i = 0; i < this.cases.length; i += 1) if (this.passes(i, null)) found.push(i);
      const value = (i) => this.cases[i].similarity;
      const by = {
        worst: (a, b) => (value(a) ?? 2) - (value(b) ?? 2),
        best: (a, b) => (value(b) ?? -1) - (value(a) ?? -1),
        doc: (a, b) => String(this.cases[a].doc_id).localeCompare(String(this.cases[b].doc_id)),
      }[this.order];
      this.found = by ? found.sort((a, b) => by(a, b) || a - b) : found;
      this.drawn = 0;
      this.grid.replaceChildren();
      const of = this.total > this.cases.length ? `${this.cases.length.toLocaleString("en")} shown of ${this.total.toLocaleString("en")}` : this.cases.length.toLocaleString("en");
      this.count.textContent = `${this.found.length.toLocaleString("en")} of ${of} cases`;
      if (this.found.length === 0) this.grid.append(el("p", { class: "fl-none", text: "No case fits these filters." }));
      this.grow(STEP);
    }

    /* Counts are of what the other filters leave, so that no option leads to an empty page. */
    fill(name, label) {
      const counts = new Map();
      for (let i = 0; i < this.cases.length; i += 1) {
        if (!this.passes(i, name)) continue;
        const value = String(this.cases[i][name] ?? "–");
        counts.set(value, (counts.get(value) || 0) + 1);
      }
      if (this.chosen[name] !== "" && !counts.has(this.chosen[name])) counts.set(this.chosen[name], 0);
      const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
      const options = [["", `all (${all})`], ...[...counts].sort((a, b) => b[1] - a[1]).map(([value, n]) => [value, `${visible(words(value))} (${n})`])];
      const select = this.selects[name];
      select.replaceChildren(...options.map(([value, text]) => el("option", { value, text })));
      select.value = this.chosen[name];
      select.setAttribute("aria-label", label);
    }

    grow(step) {
      const next = this.found.slice(this.drawn, this.drawn + step);
      this.grid.append(...next.map((i, k) => this.card(i, this.drawn + k)));
      this.drawn += next.length;
      const left = this.found.length - this.drawn;
      this.more.hidden = left === 0;
      this.more.textContent = `Show more (${left} left)`;
    }

    chips(item) {
      const box = el("div", { class: "fl-chips" });
      if (item.system) box.append(chip(item.system, this.colours.system[item.system]));
      box.append(chip(words(item.outcome), this.colours.outcome[item.outcome], "solid"));
      if (item.cause && item.cause !== item.outcome) box.append(chip(words(item.cause), this.colours.cause[item.cause]));
      if (item.kind) box.append(chip(words(item.kind)));
      return box;
    }

    pair(item) {
      return el("dl", { class: "fl-pair" },
        el("dt", { text: "gold" }), el("dd", {}, side(item, "gold")),
        el("dt", { text: "pred." }), el("dd", {}, side(item, "pred")));
    }

    card(i, place) {
      const item = this.cases[i];
      const name = visible(title(item));
      return el("article", {
        class: "fl-card", role: "listitem", tabindex: place === 0 ? "0" : "-1",
        "data-place": place, "aria-label": `${name}, ${words(item.outcome)}, document ${visible(item.doc_id)}. Enter opens.`,
        onclick: () => { if (String(getSelection()) === "") this.open(place); },
      },
      picture(item, this.images, false),
      el("div", { class: "fl-body" },
        el("h4", { title: name }, el("bdi", { text: name })),
        this.pair(item), this.chips(item),
        el("p", { class: "fl-doc" }, el("bdi", { text: visible(item.doc_id) }),
          item.similarity === null ? null : el("span", { class: "fl-sim", title: "similarity", text: item.similarity.toFixed(2) }))));
    }

    focus(place) {
      if (place < 0 || place >= this.found.length) return;
      while (place >= this.drawn) this.grow(STEP);
      const cards = this.grid.children;
      for (const card of this.grid.querySelectorAll('[tabindex="0"]')) card.tabIndex = -1;
      cards[place].tabIndex = 0;
      cards[place].focus();
    }

    keys(event) {
      const card = event.target.closest(".fl-card");
      if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
      const place = Number(card.dataset.place);
      const across = Math.max(1, getComputedStyle(this.grid).gridTemplateColumns.split(" ").length);
      const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
      if (move) { event.preventDefault(); this.focus(place + move); }
      if (event.key === "Enter") { event.preventDefault(); this.open(place); }
    }

    buildDialog() {
      this.pane = el("div", { class: "fl-pane" });
      const step = (by) => this.open(this.shown + by);
      this.back = el("button", { type: "button", text: "← Previous", onclick: () => step(-1) });
      this.forward = el("button", { type: "button", text: "Next →", onclick: () => step(1) });
      const close = el("button", { type: "button", class: "fl-close", text: "Close", onclick: () => this.dialog.close() });
      return el("dialog", {
        class: "fl-dialog", "aria-label": "one case",
        onclick: (event) => { if (event.target === this.dialog) this.dialog.close(); },
        onclose: () => this.focus(this.shown),
        onkeydown: (event) => {
          if (event.key === "ArrowRight") step(1);
          if (event.key === "ArrowLeft") step(-1);
        },
      }, el("div", { class: "fl-sheet" }, el("div", { class: "fl-tools" }, this.back, this.forward, close), this.pane));
    }

    open(place) {
      if (place < 0 || place >= this.found.length) return;
      this.shown = place;
      const item = this.cases[this.found[place]];
      const merged = el("bdi", { class: "fl-value" });
      for (const [op, text] of item.diff) {
        merged.append(op === "equal" ? visible(text) : el(op === "delete" ? "del" : "ins", { text: visible(text) }));
      }
      const facts = el("dl", { class: "fl-facts" });
      for (const name of ["doc_id", "benchmark", "split", "system", "task", "kind", "status"]) {
        if (item[name]) facts.append(el("dt", { text: words(name) }), el("dd", {}, el("bdi", { text: visible(item[name]) })));
      }
      if (item.similarity !== null) facts.append(el("dt", { text: "similarity" }), el("dd", { text: item.similarity.toFixed(3) }));
      const both = item.gold !== null && item.pred !== null && item.diff.some(([op]) => op !== "equal");
      this.pane.replaceChildren(
        el("h3", {}, el("bdi", { text: visible(title(item)) })), this.chips(item),
        picture(item, this.images, true), this.pair(item),
        both ? el("p", { class: "fl-merged" }, el("span", { class: "fl-label", text: "difference" }), merged) : "",
        ladder(item.ladder), facts);
      this.back.disabled = place === 0;
      this.forward.disabled = place === this.found.length - 1;
      if (!this.dialog.open) this.dialog.showModal();
    }
  }

  const show = (root, data) => new Gallery(root, data);
  window.formlabGallery = Object.freeze({ show, el, visible });
  const data = document.getElementById("fl-gallery-data");
  const root = document.getElementById("fl-gallery");
  if (data && root) show(root, JSON.parse(data.textContent));
})();
