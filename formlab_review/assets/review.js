/* One item at a time: its page, its text, and a key for each decision. */
class ReviewPanel extends Desk {
  constructor(model, root) {
    super(model, root);
    this.items = model.get("items");
    this.done = {};
    this.at = 0;
    this.filter = { state: "", task: "", needle: "" };
    this.build();
    this.send({ type: "hello" });
  }

  build() {
    this.bar = el("div", { class: "fr-fill" });
    this.count = el("p", { class: "fr-count", role: "status", "aria-live": "polite" });
    const tasks = [...new Set(this.items.map((item) => item.task))];
    const pick = (label, name, options) => {
      const select = el("select", { "aria-label": label, onchange: () => { this.filter[name] = select.value; this.list(); } });
      for (const [value, text] of options) select.append(el("option", { value, text }));
      return select;
    };
    const states = [["", "all items"], ["open", "open"], ["done", "decided"], ...this.setup.choices.map((c) => [c.word, c.name])];
    const search = el("input", {
      type: "search", placeholder: "document, field, text", "aria-label": "search",
      oninput: () => { this.filter.needle = search.value.toLowerCase(); this.list(); },
    });
    this.head = el("header", { class: "fr-head" },
      el("div", { class: "fr-progress", role: "progressbar", "aria-label": "decided" }, this.bar), this.count,
      el("div", { class: "fr-filters" }, pick("show", "state", states), pick("task", "task", [["", "all tasks"], ...tasks.map((t) => [t, t])]), search));

    this.where = el("h3", { class: "fr-title" });
    this.facts = el("dl", { class: "fr-facts" });
    this.form = el("div", { class: "fr-parts" });
    this.verdict = el("p", { class: "fr-verdict" });
    this.note = el("input", { class: "fr-note", type: "text", placeholder: "note (n)", "aria-label": "note", maxlength: "2000" });
    this.buttons = el("div", { class: "fr-buttons" });
    for (const choice of this.setup.choices) {
      this.buttons.append(el("button", { type: "button", class: `fr-do ${choice.word}`, "data-word": choice.word, onclick: () => this.choose(choice) },
        choice.title, el("kbd", { text: choice.key })));
    }
    this.buttons.append(el("button", { type: "button", onclick: () => this.send({ type: "undo" }) }, "Undo", el("kbd", { text: "u" })));
    const step = (by, text, key) => el("button", { type: "button", onclick: () => this.step(by) }, text, el("kbd", { text: key }));
    this.steps = el("div", { class: "fr-steps" }, step(-1, "Previous", "←"), step(1, "Next", "→"));
    this.rows = el("ol", { class: "fr-list", "aria-label": "items" });
    this.root.append(this.head, this.alert,
      el("div", { class: "fr-panel" },
        el("section", { class: "fr-left" }, el("div", { class: "fr-tools" }, this.pager, this.zoomer), this.figure),
        el("section", { class: "fr-right" }, this.where, this.facts, this.form, this.note, this.verdict, this.buttons, this.steps, this.rows)));
    this.list();
    this.draw();
  }

  answered(said, asked) {
    if (said.type === "state") {
      this.done = said.entries;
      this.list();
      return this.go(said.first, false);
    }
    if (said.entry) this.done[said.at] = said.entry;
    else delete this.done[said.at];
    this.editing = null;
    this.list();
    if (said.type === "undone") return this.go(said.at);
    if (asked && this.at === said.at) this.go(this.next());
    else this.draw();
    return undefined;
  }

  /* Another window may have decided; what is typed stays. */
  refused(said) {
    if (!said.entries) return;
    this.done = said.entries;
    this.list();
    if (!this.editing) this.draw();
  }

  named(word) {
    return this.setup.choices.find((choice) => choice.word === word)?.name ?? words(word);
  }

  passes(at) {
    const item = this.items[at];
    const { state, task, needle } = this.filter;
    const word = this.done[at]?.decision;
    if (state === "open" ? word : state === "done" ? !word : state && word !== state) return false;
    if (task && item.task !== task) return false;
    return !needle || [item.doc, item.path, ...item.parts.map((p) => p[1])].join("\n").toLowerCase().includes(needle);
  }

  /* The next item without a decision, then any that is left above. */
  next() {
    const fits = (at) => !this.done[at] && this.passes(at);
    for (let at = this.at + 1; at < this.items.length; at += 1) if (fits(at)) return at;
    for (let at = 0; at < this.at; at += 1) if (fits(at)) return at;
    return this.at;
  }

  step(by) {
    for (let at = this.at + by; at >= 0 && at < this.items.length; at += by) if (this.passes(at)) return this.go(at);
    return undefined;
  }

  go(at, focus = true) {
    this.at = at;
    this.editing = null;
    this.draw();
    if (focus) this.root.focus({ preventScroll: true });
  }

  key(event) {
    const typing = event.target.matches("input, textarea, select");
    if (!mine(event)) return undefined;
    event.stopPropagation();
    if (event.ctrlKey && event.key === "Enter" && this.editing) return this.save(event);
    if (typing) {
      if (event.key === "Escape") { event.preventDefault(); this.editing = null; this.draw(); this.root.focus({ preventScroll: true }); }
      if (event.key === "Enter" && !event.shiftKey && this.editing && event.target.dataset.many !== "true") this.save(event);
      if (event.key === "Enter" && event.target === this.note) { event.preventDefault(); this.root.focus({ preventScroll: true }); }
      return undefined;
    }
    const choice = this.setup.choices.find((one) => one.key === event.key.toLowerCase());
    const does = choice ? () => this.choose(choice) : {
      u: () => this.send({ type: "undo" }), n: () => this.note.focus(), z: () => this.magnify(),
      ArrowRight: () => this.step(1), ArrowDown: () => this.step(1), ArrowLeft: () => this.step(-1), ArrowUp: () => this.step(-1),
    }[event.key];
    if (does) { event.preventDefault(); does(); }
    return undefined;
  }

  choose(choice) {
    if (!this.items.length) return;
    if (!choice.edits) { this.decide(choice.word, null); return; }
    if (!this.items[this.at].editable) { this.warn("This text is too long to be edited here."); return; }
    this.editing = choice.word;
    this.draw();
    const field = this.form.querySelector("textarea");
    field?.focus();
    field?.select();
  }

  save(event) {
    event?.preventDefault();
    const parts = {};
    for (const field of this.form.querySelectorAll("textarea")) parts[field.dataset.name] = field.value;
    this.decide(this.editing, parts);
  }

  decide(decision, parts) {
    this.send({ type: "decide", at: this.at, decision, parts, note: this.note.value || null });
  }

  draw() {
    const item = this.items[this.at];
    if (!item) {
      this.where.textContent = "There is nothing to review.";
      this.buttons.hidden = this.steps.hidden = this.note.hidden = true;
      return;
    }
    this.where.replaceChildren(el("bdi", { text: visible(item.path || item.doc) }), el("small", { text: visible(`${item.doc} · ${item.task}`) }));
    this.facts.replaceChildren(...item.facts.flatMap(([name, text]) => [el("dt", { text: words(name) }), el("dd", {}, el("bdi", { text: visible(text) }))]));
    const entry = this.done[this.at];
    const edited = entry ? { ...(entry.parts ? JSON.parse(entry.parts) : {}), ...(entry.value === null ? {} : { value: entry.value }) } : {};
    this.form.replaceChildren(...(!this.setup.values && !this.editing ? [] : item.parts.map(([name, text, many]) => this.part(name, text, many, edited))));
    if (this.editing) this.form.append(this.saving());
    this.note.value = entry?.note ?? "";
    this.verdict.className = `fr-verdict ${entry ? entry.decision : "open"}`;
    const said = entry && this.setup.audit && entry.value !== null ? `: ${entry.value === "" ? "should be empty" : entry.value}` : "";
    this.verdict.textContent = entry ? visible(`${this.named(entry.decision)}${said} · saved ${when(entry.time)}`) : "open";
    for (const button of this.buttons.querySelectorAll("[data-word]")) button.setAttribute("aria-pressed", String(entry?.decision === button.dataset.word));
    this.mark();
    this.picture();
  }

  part(name, text, many, edited) {
    const now = name in edited ? (Array.isArray(edited[name]) ? edited[name].join("\n") : String(edited[name])) : text;
    if (!this.editing) {
      return el("div", { class: "fr-part" }, el("span", { class: "fr-name", text: words(name) }),
        name in edited && now !== text ? el("del", {}, el("bdi", { text: visible(text) })) : null,
        el("bdi", { class: now === "" ? "fr-value none" : "fr-value", text: now === "" ? "empty" : visible(now) }));
    }
    const field = el("textarea", { "data-name": name, "data-many": String(many), rows: Math.min(6, Math.max(many ? 2 : 1, now.split("\n").length, Math.ceil(now.length / 45))), spellcheck: "false" });
    field.value = now;
    return el("label", { class: "fr-part" }, el("span", { class: "fr-name", text: many ? `${words(name)}, one a line` : words(name) }), field);
  }

  saving() {
    const box = el("div", { class: "fr-saving" }, el("button", { type: "button", class: "fr-save", onclick: () => this.save() }, "Save", el("kbd", { text: "Enter" })));
    if (this.setup.audit) box.append(el("button", { type: "button", class: "fr-out", onclick: () => this.decide(this.editing, null) }, "Right value not known: leave the case out"));
    box.append(el("button", { type: "button", onclick: () => { this.editing = null; this.draw(); this.root.focus({ preventScroll: true }); } }, "Cancel", el("kbd", { text: "Esc" })));
    return box;
  }

  /* A long list is drawn around the item in hand: thousands of rows would make every key slow. */
  list() {
    const total = this.items.length;
    const decided = Object.keys(this.done).length;
    this.found = [];
    for (let at = 0; at < total; at += 1) if (this.passes(at)) this.found.push(at);
    this.bar.style.width = `${total ? (100 * decided) / total : 0}%`;
    this.bar.parentElement.setAttribute("aria-valuenow", String(decided));
    this.bar.parentElement.setAttribute("aria-valuemax", String(total));
    this.count.textContent = `${decided.toLocaleString("en")} of ${total.toLocaleString("en")} decided by ${visible(this.setup.reviewer)}` +
      (this.found.length < total ? ` · ${this.found.length.toLocaleString("en")} shown` : "");
    if (this.items[this.at]) this.mark();
  }

  mark() {
    const place = Math.max(0, this.found.findIndex((at) => at >= this.at));
    const from = Math.max(0, place - 40);
    this.rows.replaceChildren(...this.found.slice(from, from + 120).map((at) => this.row(at)));
    const current = this.rows.querySelector('[aria-current="true"]');
    if (current) this.rows.scrollTop = current.offsetTop - this.rows.clientHeight / 3;
  }

  row(at) {
    const item = this.items[at];
    const word = this.done[at]?.decision;
    return el("li", { class: word ?? "open", "aria-current": at === this.at ? "true" : null, title: word ? this.named(word) : "open", onclick: () => this.go(at) },
      el("bdi", { class: "fr-path", text: visible(item.path || item.doc) }), el("bdi", { class: "fr-text", text: visible(item.parts[0]?.[1] ?? "") }), el("small", { text: visible(item.doc) }));
  }

  picture() {
    const item = this.items[this.at];
    const number = item.boxes.length ? item.boxes[0][0] : 1;
    this.show(item.doc, number, item.boxes[0], (page) => this.boxes(item, number, page));
  }

  boxes(item, number, page) {
    const svg = sheet(page);
    const put = (box, kind, at) => mark(svg, page, box, kind, at === undefined ? null : [this.items[at].path, () => this.go(at)]);
    this.items.forEach((other, at) => {
      if (at !== this.at && other.doc === item.doc && other.boxes.length === 1 && other.boxes[0][0] === number) put(other.boxes[0], `other ${this.done[at] ? "done" : ""}`.trim(), at);
    });
    item.boxes.forEach((box, i) => { if (box[0] === number) put(box, i === 0 ? "own" : "with"); });
    return svg;
  }
}

export default {
  render({ model, el: root }) {
    const panel = new ReviewPanel(model, root);
    return () => panel.close();
  },
};
