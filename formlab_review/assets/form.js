/* A whole form: its tree to change by keyboard, the attributes of the node in hand, and its page. */
const LISTS = { fields: "field", groups: "group", vqa: "question", consistency: "check" };
const SECTIONS = [["/vqa", "vqa", "Questions"], ["/consistency", "consistency", "Checks"]];
const END = 1e6;
const TITLES = { modality_subtype: "subtype", modal: "modality", accepted: "also right", parent: "in group" };
const LONG = ["value", "question", "rationale", "expected"];

class FormPanel extends Desk {
  constructor(model, root) {
    super(model, root);
    this.forms = [];
    this.nodes = [];
    this.by = new Map();
    this.at = "";
    this.number = 1;
    this.shut = new Set();
    this.adding = null;
    this.drawing = false;
    this.queue = [];
    this.build();
    this.send({ type: "hello" });
  }

  build() {
    this.bar = el("div", { class: "fr-fill" });
    this.count = el("p", { class: "fr-count", role: "status", "aria-live": "polite" });
    this.choice = el("select", { "aria-label": "form", onchange: () => this.open(this.choice.value) });
    const button = (text, key, does, name = "") => el("button", { type: "button", class: name || null, onclick: does }, text, key ? el("kbd", { text: key }) : null);
    const head = el("header", { class: "fr-head" },
      el("div", { class: "fr-progress", role: "progressbar", "aria-label": "verified" }, this.bar), this.count,
      el("div", { class: "fr-filters" }, button("‹", "[", () => this.turn(-1)), this.choice, button("›", "]", () => this.turn(1))));
    this.tree = el("ul", { class: "fr-tree", role: "tree", "aria-label": "form" });
    this.where = el("h3", { class: "fr-title" });
    this.notes = el("ul", { class: "fr-notes" });
    this.form = el("div", { class: "fr-parts" });
    this.boxer = button("Draw box", "b", () => this.draws(!this.drawing));
    this.verifier = button("Verify form", "v", () => this.change({ do: "verify" }), "fr-do accept");
    const add = (text, key, kind) => button(text, key, () => this.add(kind));
    const move = (text, key, way, label) => { const node = button(text, key, () => this.move(way)); node.setAttribute("aria-label", label); return node; };
    this.buttons = el("div", { class: "fr-buttons" }, this.verifier, button("Undo", "u", () => this.undo()), button("Delete", "Del", () => this.remove()), this.boxer);
    this.adders = el("div", { class: "fr-steps" }, add("+ Field", "f", "fields"), add("+ Group", "g", "groups"), add("+ Question", "q", "vqa"), add("+ Check", "c", "consistency"),
      move("↑", "⇧↑", "up", "move up"), move("↓", "⇧↓", "down", "move down"), move("←", "⇧←", "out", "move out of its group"), move("→", "⇧→", "in", "move into a group"));
    const help = el("details", { class: "fr-help" }, el("summary", { text: "Keys" }),
      el("p", { text: "↑ ↓ Home End choose; → opens a group or goes into it, ← closes it or goes to its group. Enter or F2 edits, Enter saves, Esc goes back to the tree; p chooses another group. With ⇧ the arrows move the node: up, down, out of its group, into the group before it (a field: into the first group beside it). f, g, q, c add; Delete deletes; b draws a box with the mouse (its numbers can be typed, too); u takes the last change back; v verifies the form as it stands; [ and ] turn to another form, Page up and Page down to another page; z zooms." }));
    this.root.append(head, this.alert,
      el("div", { class: "fr-panel" },
        el("section", { class: "fr-left" }, el("div", { class: "fr-tools" }, this.pager, this.zoomer), this.figure),
        el("section", { class: "fr-right" }, this.tree, this.adders, this.buttons, this.where, this.notes, this.form, help)));
    this.figure.addEventListener("pointerdown", (event) => this.press(event));
  }

  open(doc) {
    this.change({ type: "open", doc });
  }

  turn(by) {
    const place = this.forms.findIndex(([doc]) => doc === this.doc) + by;
    if (this.forms[place]) this.open(this.forms[place][0]);
  }

  /* One message at a time; what is changed while another change is saved waits for it. */
  change(message) {
    const whole = { type: "change", doc: this.doc, ...message };
    if (this.waiting) this.queue.push(whole); else this.send(whole);
  }

  undo() {
    this.change({ type: "undo" });
  }

  refused(said) {
    this.queue = [];
    // What is typed stays, unless another window has changed the form.
    if (said.form && JSON.stringify(said.form.nodes) !== JSON.stringify(this.nodes)) this.answered(said.form, null);
  }

  answered(said, asked) {
    if (said.type === "state") {
      this.forms = said.forms;
      this.open(this.doc ?? said.first);
      return;
    }
    const other = said.doc !== this.doc;
    this.doc = said.doc;
    this.nodes = said.nodes;
    this.by = new Map(said.nodes.map((node) => [node.id, node]));
    const row = this.forms.find(([doc]) => doc === said.doc);
    if (row) [row[1], row[2]] = [said.changes, said.verified];
    if (other) { this.number = 1; this.shut.clear(); this.at = ""; }
    if (asked?.do === "add" || other) this.adding = null;
    if (said.node && this.known(said.node)) this.at = said.node;
    else if (!this.known(this.at)) this.at = this.next && this.known(this.next) ? this.next : "";
    this.draws(false);
    this.draw();
    if (this.queue.length) this.send(this.queue.shift());
  }

  known(id) {
    return id === "" || this.by.has(id) || SECTIONS.some(([section]) => section === id);
  }

  /* The rows of the tree that are not in a closed group. */
  rows() {
    const rows = [{ id: "", kind: "", level: 1, label: this.doc ?? "form", inner: true }];
    const levels = new Map([["", 1]]);
    const hidden = new Set(this.shut.has("") ? [""] : []);
    const put = (node, parent) => {
      const level = (levels.get(parent) ?? 1) + 1;
      levels.set(node.id, level);
      if (hidden.has(parent)) { hidden.add(node.id); return; }
      const inner = node.kind === "groups";
      rows.push({ ...node, level, inner, label: this.label(node) });
      if (inner && this.shut.has(node.id)) hidden.add(node.id);
    };
    for (const node of this.nodes) if (node.kind in { fields: 1, groups: 1 }) put(node, node.parent);
    for (const [id, kind, label] of SECTIONS) {
      const items = this.nodes.filter((node) => node.kind === kind);
      rows.push({ id, kind: "", level: 1, label: `${label} (${items.length})`, inner: true });
      if (this.shut.has(id)) hidden.add(id);
      for (const node of items) put(node, id);
    }
    return rows;
  }

  label(node) {
    const { texts } = node;
    if (node.kind === "vqa") return texts.question || "no question";
    if (node.kind === "consistency") return `${texts.source} → ${texts.dependent}`;
    return texts.label || "no label";
  }

  draw() {
    const done = this.forms.filter((form) => form[2]).length;
    const [, changes, verified] = this.forms.find(([doc]) => doc === this.doc) ?? [];
    this.bar.style.width = `${this.forms.length ? (100 * done) / this.forms.length : 0}%`;
    this.bar.parentElement.setAttribute("aria-valuenow", String(done));
    this.bar.parentElement.setAttribute("aria-valuemax", String(this.forms.length));
    this.count.textContent = `${done} of ${this.forms.length} forms verified by ${visible(this.setup.reviewer)} · this one: ${changes} ${changes === 1 ? "change" : "changes"}, ${verified ? "verified" : "not verified"}`;
    this.choice.replaceChildren(...this.forms.map(([doc, , ok]) => el("option", { value: doc, text: `${ok ? "✓ " : ""}${visible(doc)}` })));
    this.choice.value = this.doc;
    this.verifier.setAttribute("aria-pressed", String(Boolean(verified)));
    // Whoever had the focus in the tree has it on the row in hand again.
    const had = this.tree.contains(document.activeElement) || document.activeElement === this.root;
    const rows = this.rows();
    if (!rows.some((row) => row.id === this.at)) this.at = "";
    this.tree.replaceChildren(...rows.map((row) => this.row(row)));
    const current = this.tree.querySelector('[aria-selected="true"]');
    this.tree.scrollTop = current.offsetTop - this.tree.clientHeight / 3;
    if (had) current.focus({ preventScroll: true });
    this.panel();
    this.picture();
  }

  row(row) {
    const own = row.id === this.at;
    const mark = row.inner ? (this.shut.has(row.id) ? "▸" : "▾") : "";
    const node = el("li", {
      role: "treeitem", "aria-level": row.level, "aria-selected": String(own), tabindex: own ? "0" : "-1", "data-node": row.id,
      "aria-expanded": row.inner ? String(!this.shut.has(row.id)) : null, class: row.kind || "section",
      onclick: (event) => { if (event.target.className === "fr-fold") this.fold(row.id); else this.go(row.id); },
    }, el("span", { class: "fr-fold", "aria-hidden": "true", text: mark }), el("bdi", { class: "fr-path", text: visible(row.label) }),
    el("bdi", { class: "fr-text", text: visible(row.texts?.value ?? row.texts?.answers?.replaceAll("\n", " / ") ?? row.texts?.expected ?? "") }),
    row.notes?.length ? el("span", { class: "fr-flag", title: "see the notes", text: "!" }) : null);
    node.style.setProperty("--level", row.level - 1);
    return node;
  }

  go(id, focus = true) {
    this.at = id;
    this.adding = null;
    this.draws(false);
    const box = this.by.get(id)?.boxes[0];
    if (box) [this.number] = box;
    this.draw();
    if (focus) this.tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
  }

  fold(id) {
    if (!this.shut.delete(id)) this.shut.add(id);
    this.go(id);
  }

  panel() {
    const node = this.by.get(this.at);
    const kind = this.adding ? this.adding.kind : node?.kind;
    const active = this.form.contains(document.activeElement) ? document.activeElement : null;
    const typed = active && this.shown === this.at && !this.adding ? [active.dataset.name, active.value] : null;
    this.shown = this.at;
    const place = this.adding ? `new ${LISTS[kind]} in ${this.by.get(this.adding.parent)?.path || "the form"}` : node?.path ?? "the form";
    this.where.replaceChildren(el("bdi", { text: visible(place) }), el("small", { text: kind ? LISTS[kind] : "choose a field or group, or add one" }));
    this.notes.replaceChildren(...(this.adding ? [] : node?.notes ?? []).map((note) => el("li", {}, el("bdi", { text: visible(note) }))));
    const texts = this.adding ? this.adding.texts : node?.texts ?? {};
    const parts = kind ? this.setup.attributes[kind].map(([name, notation]) => this.part(name, notation, texts[name] ?? "", node?.long?.includes(name) && !this.adding)) : [];
    if (node && !this.adding && kind in { fields: 1, groups: 1 }) parts.push(this.part("parent", "group", node.parent, false));
    if (this.adding) {
      parts.push(el("div", { class: "fr-saving" }, el("button", { type: "button", class: "fr-save", onclick: () => this.save() }, "Add", el("kbd", { text: "Enter" })),
        el("button", { type: "button", onclick: () => this.cancel() }, "Cancel", el("kbd", { text: "Esc" }))));
    }
    this.form.replaceChildren(...parts);
    if (typed) {
      const again = this.control(typed[0]);
      if (again) { again.value = typed[1]; again.focus({ preventScroll: true }); }
    }
  }

  control(name) {
    return [...this.form.querySelectorAll("[data-name]")].find((control) => control.dataset.name === name);
  }

  part(name, notation, text, long) {
    const props = { "data-name": name, onchange: () => this.changed(name, control.value) };
    const many = notation === "lines" || notation === "paths";
    let control;
    if (notation === "word" || notation === "path" || notation === "group") {
      const paths = this.nodes.filter((node) => node.kind === (notation === "group" ? "groups" : "fields"));
      const options = notation === "word" ? this.setup.words[name].map((word) => [word, words(word)]) : paths.map((node) => [notation === "group" ? node.id : node.path, node.path]);
      options.unshift(["", notation === "group" ? "the form" : "none"]);
      if (!options.some(([value]) => value === text)) options.push([text, text]);
      control = el("select", props, ...options.map(([value, shown]) => el("option", { value, text: visible(shown) })));
    } else if (many || notation === "json" || LONG.includes(name)) {
      const rows = Math.min(6, Math.max(many ? 2 : 1, text.split("\n").length, Math.ceil(text.length / 45)));
      control = el("textarea", { ...props, "data-many": String(many), rows, spellcheck: "false" });
    } else control = el("input", { ...props, type: "text", spellcheck: "false", placeholder: notation === "box" ? "x0 y0 x1 y1" : null });
    control.value = text;
    control.disabled = Boolean(long);
    const label = el("label", { class: "fr-part" }, el("span", { class: "fr-name", text: `${TITLES[name] ?? words(name)}${many ? ", one a line" : ""}` }), control);
    if (notation !== "paths") return label;
    const more = el("select", { "aria-label": `add to ${words(name)}`, onchange: () => {
      control.value = [...control.value.split("\n").filter(Boolean), more.value].join("\n");
      more.value = "";
      this.changed(name, control.value);
    } }, el("option", { value: "", text: "add a field …" }), ...this.nodes.filter((node) => node.kind === "fields").map((node) => el("option", { value: node.path, text: visible(node.path) })));
    return el("div", {}, label, el("div", { class: "fr-part" }, el("span"), more));
  }

  changed(name, text) {
    if (this.adding) return;
    if (name === "parent") this.change({ do: "move", node: this.at, parent: text, index: END });
    else this.change({ do: "edit", node: this.at, texts: { [name]: text } });
  }

  add(kind) {
    const at = this.by.get(this.at);
    const inside = kind === "fields" || kind === "groups";
    const parent = !inside || !at || !(at.kind in { fields: 1, groups: 1 }) ? "" : at.kind === "groups" ? at.id : at.parent;
    // A new field stands behind the one in hand.
    const beside = at && at.kind === kind && parent === at.parent ? this.beside(at).indexOf(at.id) + 1 : null;
    this.adding = { kind, parent, index: beside, texts: inside ? { page: String(this.number) } : {} };
    this.panel();
    this.form.querySelector("[data-name]")?.focus();
  }

  save() {
    const texts = {};
    for (const control of this.form.querySelectorAll("[data-name]")) if (control.value !== "") texts[control.dataset.name] = control.value;
    const { kind, parent, index } = this.adding;
    this.tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
    this.change({ do: "add", kind, parent, index, texts });
  }

  cancel() {
    this.adding = null;
    this.draws(false);
    this.panel();
    this.tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
  }

  beside(node) {
    return this.nodes.filter((other) => other.parent === node.parent && other.kind === node.kind).map((other) => other.id);
  }

  remove() {
    const node = this.by.get(this.at);
    if (!node) return;
    const beside = this.beside(node);
    const place = beside.indexOf(node.id);
    this.next = beside[place + 1] ?? beside[place - 1] ?? node.parent;
    this.change({ do: "delete", node: node.id });
  }

  move(way) {
    const node = this.by.get(this.at);
    if (!node) return;
    const beside = this.beside(node);
    const place = beside.indexOf(node.id);
    const groups = this.nodes.filter((other) => other.parent === node.parent && other.kind === "groups").map((other) => other.id);
    const group = this.by.get(node.parent);
    const into = node.kind === "groups" ? beside[place - 1] : groups[0];
    const to = {
      up: [node.parent, place - 1], down: [node.parent, place + 1],
      out: group && [group.parent, node.kind === "groups" ? this.beside(group).indexOf(group.id) + 1 : END],
      in: into !== undefined && (node.kind === "groups" || node.kind === "fields") && [into, END],
    }[way];
    if (!to || to[1] < 0 || (way === "down" && place + 1 >= beside.length)) { this.warn(`It cannot be moved ${way}.`); return; }
    this.shut.delete(to[0]);
    this.change({ do: "move", node: node.id, parent: to[0], index: to[1] });
  }

  edits(name) {
    const control = name ? this.control(name) : this.form.querySelector("[data-name]");
    control?.focus();
    control?.select?.();
  }

  key(event) {
    if (!mine(event)) return;
    event.stopPropagation();
    if (event.target.matches("input, textarea, select")) { this.typed(event); return; }
    if (event.target.matches("button, summary") && (event.key === "Enter" || event.key === " ")) return;
    const rows = this.rows();
    const place = rows.findIndex((row) => row.id === this.at);
    const row = rows[place];
    const to = (next) => { if (rows[next]) this.go(rows[next].id); };
    const shift = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "out", ArrowRight: "in" }[event.key];
    const above = () => rows.slice(0, place).findLastIndex((other) => other.level < row.level);
    const does = event.shiftKey && shift ? () => this.move(shift) : {
      ArrowUp: () => to(place - 1), ArrowDown: () => to(place + 1), Home: () => to(0), End: () => to(rows.length - 1),
      ArrowRight: () => { if (row.inner && this.shut.has(row.id)) this.fold(row.id); else if (rows[place + 1]?.level > row.level) to(place + 1); },
      ArrowLeft: () => { if (row.inner && !this.shut.has(row.id)) this.fold(row.id); else to(above()); },
      Enter: () => this.edits(), F2: () => this.edits(), p: () => this.edits("parent"), Delete: () => this.remove(), Backspace: () => this.remove(),
      f: () => this.add("fields"), g: () => this.add("groups"), q: () => this.add("vqa"), c: () => this.add("consistency"),
      b: () => this.draws(!this.drawing), u: () => this.undo(), v: () => this.change({ do: "verify" }), z: () => this.magnify(),
      "[": () => this.turn(-1), "]": () => this.turn(1), PageDown: () => this.leaf(1), PageUp: () => this.leaf(-1),
      Escape: () => { if (this.drawing) this.draws(false); },
    }[event.key];
    if (does) { event.preventDefault(); does(); }
  }

  /* Enter saves what is typed, Escape brings back what stood there. */
  typed(event) {
    const control = event.target;
    const back = () => this.tree.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
    if (control === this.choice || !control.dataset.name) return;
    if (event.key === "Escape") {
      event.preventDefault();
      if (this.adding) { this.cancel(); return; }
      control.value = control.dataset.name === "parent" ? this.by.get(this.at).parent : this.by.get(this.at)?.texts[control.dataset.name] ?? "";
      back();
    }
    const saves = event.key === "Enter" && (event.ctrlKey || (!event.shiftKey && control.dataset.many !== "true"));
    if (saves) { event.preventDefault(); if (this.adding) this.save(); else back(); }
  }

  leaf(by) {
    const page = this.pages.get(`${this.doc}\n${this.number}`);
    const number = this.number + by;
    if (number < 1 || number > (page?.pages ?? 1)) return;
    this.number = number;
    this.picture();
  }

  draws(on) {
    this.drawing = on && (Boolean(this.adding) || "box" in (this.by.get(this.at)?.texts ?? {}));
    this.boxer.setAttribute("aria-pressed", String(this.drawing));
    this.figure.classList.toggle("drawing", this.drawing);
  }

  /* A box is drawn from corner to corner, in the unit of the page. */
  press(event) {
    const svg = this.figure.querySelector("svg");
    const page = this.pages.get(`${this.doc}\n${this.number}`);
    if (!this.drawing || !svg || !page?.width) return;
    event.preventDefault();
    const at = (e) => {
      const frame = svg.getBoundingClientRect();
      const share = (value, low, size) => Math.min(1, Math.max(0, (value - low) / size));
      return [Math.round(share(e.clientX, frame.left, frame.width) * page.width), Math.round(share(e.clientY, frame.top, frame.height) * page.height)];
    };
    const [x, y] = at(event);
    let box = null;
    let rect = null;
    const drag = (e) => {
      const [u, v] = at(e);
      box = [Math.min(x, u), Math.min(y, v), Math.max(x, u), Math.max(y, v)];
      rect?.remove();
      rect = mark(svg, page, [this.number, ...box], "other new");
    };
    const end = () => {
      window.removeEventListener("pointermove", drag);
      this.draws(false);
      if (!box || box[0] === box[2] || box[1] === box[3]) return;
      const texts = { box: box.join(" "), page: String(this.number) };
      if (!this.adding) { this.change({ do: "edit", node: this.at, texts }); return; }
      for (const [name, text] of Object.entries(texts)) if (this.control(name)) this.control(name).value = text;
      this.form.querySelector("[data-name]").focus();
    };
    window.addEventListener("pointermove", drag);
    window.addEventListener("pointerup", end, { once: true });
  }

  picture() {
    if (!this.doc) return;
    const own = this.by.get(this.at)?.boxes ?? [];
    const centre = own.find((box) => box[0] === this.number);
    this.show(this.doc, this.number, centre, (page) => {
      const svg = sheet(page);
      for (const node of this.nodes) {
        const box = node.kind === "fields" && node.id !== this.at ? node.boxes[0] : null;
        if (box?.[0] === this.number) mark(svg, page, box, "other", [node.path, () => { if (!this.drawing) this.go(node.id); }]);
      }
      own.forEach((box, i) => { if (box[0] === this.number) mark(svg, page, box, i === 0 ? "own" : "with"); });
      return svg;
    });
  }
}

export default {
  render({ model, el: root }) {
    const panel = new FormPanel(model, root);
    return () => panel.close();
  },
};
