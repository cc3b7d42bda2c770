/* Draws episodes of form filling, step by step. Texts reach the page through textContent only. */
"use strict";
(() => {
  const { el, visible, button, select, bdi, fold, fill, rect, dot, picture, kinds } = window.formlabGallery;
  const PAUSE = 900;

  class Episodes {
    constructor(root, { items, images, note }) {
      Object.assign(this, { items, images, timer: null });
      this.select = select("Episode", (i) => this.choose(Number(i)));
      fill(this.select, items.map(({ name }, i) => [i, visible(name)]), 0);
      this.back = button("←", () => this.go(this.at - 1), { "aria-label": "previous step" });
      this.forward = button("→", () => this.go(this.at + 1), { "aria-label": "next step" });
      this.player = button("Play", () => this.play(this.timer === null), { "aria-label": "play the steps" });
      this.slider = el("input", { type: "range", min: 1, value: 1, step: 1, "aria-label": "step", oninput: () => this.go(Number(this.slider.value) - 1) });
      const clicked = ({ target }) => { const row = target.closest("[data-at]"); if (row) this.go(Number(row.dataset.at)); };
      this.list = el("ol", { class: "fl-ep-list", "aria-label": "steps", tabindex: "0", onclick: clicked });
      this.facts = el("p", { class: "fl-ep-facts" });
      this.status = el("p", { class: "fl-ep-status", role: "status" });
      this.count = el("span", { class: "fl-ep-count" });
      this.screen = el("div");
      this.details = el("dl", { class: "fl-ep-details" });
      this.folds = el("div");
      root.classList.add("fl-gallery", "fl-episodes");
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "episodes of form filling; arrow keys step");
      root.addEventListener("keydown", (event) => this.keys(event));
      root.append(el("div", { class: "fl-ep-head" }, this.select, this.facts),
        el("div", { class: "fl-ep-bar" }, this.back, this.player, this.forward, this.slider, this.count),
        el("div", { class: "fl-ep-stage" }, el("div", {}, this.screen, this.status, this.details), this.list),
        this.folds, el("p", { class: "fl-ep-facts", text: visible(note) }));
      this.choose(0);
    }

    choose(i) {
      const { facts, steps, instruction } = this.items[i];
      this.steps = steps;
      this.facts.textContent = visible(facts);
      this.list.replaceChildren(...steps.map((step, k) => this.row(step, k)));
      this.slider.max = Math.max(1, steps.length);
      this.folds.replaceChildren(instruction ? fold(null, "Instruction text", el("p", { class: "fl-value", text: visible(instruction) })) : "");
      this.play(false);
      this.show(0);
    }

    row({ do: verb, text, place, refused }, k) {
      return el("li", { class: `fl-ep-step${verb === "look" ? " look" : ""}`, "data-at": k }, el("span", { class: "fl-ep-number", text: k + 1 }), el("span", { class: "fl-ep-words" },
        el("b", { text: visible(verb) }), bdi(` ${text}`), place ? bdi(` → ${place}`) : null, refused ? el("span", { class: "fl-ep-refused", text: " refused" }) : null));
    }

    go(k) {
      this.play(false);
      if (k >= 0 && k < this.steps.length) this.show(k);
    }

    play(on) {
      clearInterval(this.timer);
      this.timer = null;
      this.player.textContent = on ? "Pause" : "Play";
      // Read aloud one step at a time, not while they run past.
      this.status.setAttribute("aria-live", on ? "off" : "polite");
      if (!on) return;
      const last = () => this.at >= this.steps.length - 1;
      if (last()) this.show(0);
      this.timer = setInterval(() => { if (!this.list.isConnected || last()) this.play(false); else this.show(this.at + 1); }, PAUSE);
    }

    keys(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target === this.select || event.target === this.slider) return;
      const to = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.steps.length - 1 }[event.key];
      if (to !== undefined) { event.preventDefault(); this.go(to); }
    }

    show(k) {
      const { steps } = this;
      this.at = Math.max(0, Math.min(k, steps.length - 1));
      const { do: verb, text, place, facts = [], image, why } = steps[this.at] ?? { why: "no step was recorded" };
      [this.back.disabled, this.forward.disabled] = [this.at === 0, this.at >= steps.length - 1];
      this.slider.value = this.at + 1;
      this.count.textContent = `${steps.length ? this.at + 1 : 0} of ${steps.length}`;
      this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      this.screen.replaceChildren(picture("fl-ep-picture", this.images[image], why, (width, height) => this.marks(width, height), `The page before step ${this.at + 1}`));
      this.status.textContent = verb ? visible(`${this.at + 1}. ${verb} ${text}${place ? ` → ${place}` : ""}`) : "";
      this.details.replaceChildren(...facts.flatMap(([name, fact]) => [el("dt", { text: name }), el("dd", { class: name === "refused" ? "fl-ep-refused" : null }, bdi(fact))]));
      const row = this.list.children[this.at];
      if (!row) return;
      row.setAttribute("aria-current", "step");
      // Scrolls the list alone: the page stays where the reader has it.
      const above = row.offsetTop - this.list.offsetTop;
      if (above < this.list.scrollTop || above + row.offsetHeight > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = above - this.list.clientHeight / 2;
    }

    marks(width, height) {
      const { box, mark, image } = this.steps[this.at];
      const point = (at, name, r = 4.5) => (at ? [dot(name, at.map(Number), width, height, r)] : []);
      const shapes = box ? [rect("fl-ep-box", box.map(Number), width, height)] : [];
      // The clicks before this one on the same screenshot, so that a run of them can be followed.
      for (let i = this.at - 1; i >= 0 && this.steps[i].image === image; i -= 1) shapes.push(...point(this.steps[i].mark, "fl-ep-past"));
      return [...shapes, ...point(mark, "fl-ep-ring", 13), ...point(mark, "fl-ep-point")];
    }
  }

  kinds.episodes = (root, data) => new Episodes(root, data);
})();
