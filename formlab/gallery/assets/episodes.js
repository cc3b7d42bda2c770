/* Draws episodes of form filling, step by step. Texts reach the page through textContent only. */
"use strict";
(() => {
  const { el, visible, words, overlaid, rect, dot } = window.formlabGallery;
  const PAUSE = 900;
  const VERBS = { DoubleClick: "double click", RightClick: "right click" };
  const verb = ({ do: name }) => VERBS[name] ?? visible(name).toLowerCase();
  const place = ({ field, option }) => (field ? `${visible(field)}${option ? ` · ${visible(option)}` : ""}` : "");
  const none = (text) => el("span", { class: "fl-none", text });
  const value = (text) => (text === null || text === undefined ? none("not known") : text === "" ? none("empty") : el("bdi", { class: "fl-value", text: visible(text) }));

  class Episodes {
    constructor(root, data) {
      Object.assign(this, { items: data.items, images: data.images, timer: null });
      const name = ({ name: text, status, right, fields }) => `${visible(text)}${status ? ` (${visible(status)}${right === null || fields === null ? "" : `, ${right} of ${fields} sent right`})` : ""}`;
      this.select = el("select", { onchange: () => this.choose(Number(this.select.value)) }, ...this.items.map((item, i) => el("option", { value: i, text: name(item) })));
      const button = (text, label, act) => el("button", { type: "button", text, "aria-label": label, onclick: act });
      this.back = button("←", "previous step", () => this.go(this.at - 1));
      this.forward = button("→", "next step", () => this.go(this.at + 1));
      this.player = button("Play", "play the steps", () => this.play(this.timer === null));
      this.slider = el("input", { type: "range", min: 1, value: 1, step: 1, "aria-label": "step", oninput: () => this.go(Number(this.slider.value) - 1) });
      this.list = el("ol", { class: "fl-ep-list", "aria-label": "steps", tabindex: "0", onclick: ({ target }) => { const row = target.closest("[data-at]"); if (row) this.go(Number(row.dataset.at)); } });
      for (const part of ["facts", "status"]) this[part] = el("p", { class: `fl-ep-${part}`, role: part === "status" ? "status" : null });
      this.count = el("span", { class: "fl-ep-count" });
      this.picture = el("div", { class: "fl-ep-picture" });
      this.details = el("dl", { class: "fl-ep-details" });
      this.instruction = el("details", {});
      this.answers = el("details", {});
      root.classList.add("fl-gallery", "fl-episodes");
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "episodes of form filling; arrow keys step");
      root.addEventListener("keydown", (event) => this.keys(event));
      root.append(el("div", { class: "fl-ep-head" }, el("label", {}, el("span", { text: "Episode" }), this.select), this.facts),
        el("div", { class: "fl-ep-bar" }, this.back, this.player, this.forward, this.slider, this.count),
        el("div", { class: "fl-ep-stage" }, el("div", {}, this.picture, this.status, this.details), this.list),
        this.instruction, this.answers, data.note ? el("p", { class: "fl-ep-facts", text: visible(data.note) }) : "");
      this.choose(0);
    }

    choose(i) {
      const item = this.item = this.items[i];
      const left = item.left ? `; ${item.left} more are left out` : "";
      this.facts.textContent = visible(`${item.looks} looks, ${item.steps.length} steps${left}${item.error ? `. ${item.error}` : ""}`);
      this.list.replaceChildren(...item.steps.map((step, k) => this.row(step, k)));
      this.slider.max = Math.max(1, item.steps.length);
      this.instruction.hidden = !item.instruction;
      this.instruction.replaceChildren(el("summary", { text: "Instruction text" }), el("p", { class: "fl-value", text: visible(item.instruction ?? "") }));
      this.fields(item.answers);
      this.play(false);
      this.show(0);
    }

    row(step, k) {
      const look = step.do === "Look";
      return el("li", { class: `fl-ep-step${look ? " look" : ""}`, "data-at": k }, el("span", { class: "fl-ep-number", text: k + 1 }), el("span", { class: "fl-ep-words" },
        el("b", { text: look ? visible(step.text) : verb(step) }), look ? null : el("bdi", { text: ` ${visible(step.text)}` }),
        place(step) ? el("bdi", { text: ` → ${place(step)}` }) : null, step.refused ? el("span", { class: "fl-ep-refused", text: " refused" }) : null));
    }

    fields(answers) {
      const right = (row) => row.outcome === "match";
      this.answers.hidden = answers.length === 0;
      const text = (content) => el("td", {}, el("bdi", { text: visible(content ?? "–") }));
      const rows = answers.map((row) => el("tr", { class: right(row) ? "right-answer" : "wrong-answer" }, el("th", { scope: "row" }, el("bdi", { text: visible(row.path) })),
        text(row.kind), text(row.gold), text(row.pred), text(right(row) ? "✓ right" : `× ${words(row.cause ?? row.outcome)}`)));
      this.answers.replaceChildren(el("summary", { text: `Fields: ${answers.filter(right).length} of ${answers.length} right` }),
        el("div", { class: "fl-scroll", tabindex: "0", role: "region", "aria-label": "fields" }, el("table", {},
          el("thead", {}, el("tr", {}, ...["Field", "Type", "Wanted", "Given", ""].map((head) => el("th", { scope: "col", text: head })))), el("tbody", {}, ...rows))));
    }

    go(k) {
      this.play(false);
      if (k >= 0 && k < this.item.steps.length) this.show(k);
    }

    play(on) {
      clearInterval(this.timer);
      this.timer = null;
      this.player.textContent = on ? "Pause" : "Play";
      // Read aloud one step at a time, not while they run past.
      this.status.setAttribute("aria-live", on ? "off" : "polite");
      if (!on) return;
      const last = () => this.at >= this.item.steps.length - 1;
      if (last()) this.show(0);
      this.timer = setInterval(() => { if (!this.list.isConnected || last()) this.play(false); else this.show(this.at + 1); }, PAUSE);
    }

    keys(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target === this.select || event.target === this.slider) return;
      const to = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.item.steps.length - 1 }[event.key];
      if (to !== undefined) { event.preventDefault(); this.go(to); }
    }

    show(k) {
      const { steps } = this.item;
      this.at = Math.max(0, Math.min(k, steps.length - 1));
      const step = steps[this.at];
      [this.back.disabled, this.forward.disabled] = [this.at === 0, this.at >= steps.length - 1];
      this.slider.value = this.at + 1;
      this.count.textContent = `${steps.length ? this.at + 1 : 0} of ${steps.length}`;
      this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      if (!step) {
        this.picture.replaceChildren(el("p", { class: "fl-noimage", text: "no step was recorded" }));
        return;
      }
      const row = this.list.children[this.at];
      row.setAttribute("aria-current", "step");
      // Scrolls the list alone: the page stays where the reader has it.
      const above = row.offsetTop - this.list.offsetTop;
      if (above < this.list.scrollTop || above + row.offsetHeight > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = above - this.list.clientHeight / 2;
      this.draw(step);
      this.describe(step);
    }

    draw(step) {
      const shapes = (width, height) => {
        const [x0, y0, x1, y1] = (step.box ?? []).map(Number);
        const mark = (at, name, r = 4.5) => (at ? [dot(name, at.map(Number), width, height, r)] : []);
        // The clicks before this one on the same screenshot, so that a run of them can be followed.
        const earlier = [];
        for (let i = this.at - 1; i >= 0 && this.item.steps[i].image === step.image; i -= 1) earlier.push(...mark(this.item.steps[i].mark, "fl-ep-past"));
        return [...(step.box ? [rect("fl-ep-box", [x0, y0, Math.max(0, x1 - x0), Math.max(0, y1 - y0)], width, height)] : []),
          ...earlier, ...mark(step.mark, "fl-ep-ring", 13), ...mark(step.mark, "fl-ep-point")];
      };
      const shown = overlaid(step.image === null ? null : this.images[step.image], `The page before step ${this.at + 1}`, null, shapes);
      this.picture.replaceChildren(shown ?? el("p", { class: "fl-noimage", text: visible(step.why || "the screenshot is left out") }));
    }

    describe(step) {
      this.status.textContent = `${this.at + 1}. ${step.do === "Look" ? "Looks at the page" : `${verb(step)} ${visible(step.text)}`}${place(step) ? ` → ${place(step)}` : ""}`;
      const rows = [];
      const add = (name, ...content) => rows.push(el("dt", { text: name }), el("dd", {}, ...content));
      if (step.refused) add("refused", el("span", { class: "fl-ep-refused", text: visible(step.refused) }));
      if (step.done) add("in the window", visible(step.done));
      if (step.field === null) add("hit", "nothing that can be filled in or pressed");
      else if (step.field !== undefined) add(step.mark ? "hit" : "in", el("bdi", { text: place(step) }));
      for (const change of step.changes ?? []) {
        const other = change.field !== step.field || change.option !== step.option;
        add("changed", other ? el("bdi", { text: `${place(change)}: ` }) : null, value(change.before), " → ", value(change.after));
      }
      if (step.content !== null && step.content !== undefined && !(step.changes ?? []).length) add("holds", value(step.content));
      if (step.moved) add("picture", "taken before the page moved: no marks are drawn");
      this.details.replaceChildren(...rows);
    }
  }

  const show = (root, data) => new Episodes(root, data);
  window.formlabEpisodes = Object.freeze({ show });
  const data = document.getElementById("fl-episodes-data");
  if (data) show(document.getElementById("fl-episodes"), JSON.parse(data.textContent));
})();
