/* Draws episodes of form filling, step by step. Texts reach the page through textContent only. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;
  const SVG = "http://www.w3.org/2000/svg";
  const IMAGE = /^data:image\/(webp|png|jpeg);base64,[A-Za-z0-9+/=]*$/;
  const PAUSE = 900;
  const VERBS = { Look: "look", Click: "click", DoubleClick: "double click", RightClick: "right click", Type: "type", Press: "press", Scroll: "scroll", Note: "note" };
  const verb = (step) => (Object.hasOwn(VERBS, step.do) ? VERBS[step.do] : visible(step.do));
  const place = (step) => (step.field ? `${visible(step.field)}${step.option ? ` · ${visible(step.option)}` : ""}` : "");

  function shape(tag, name, attributes) {
    const node = document.createElementNS(SVG, tag);
    node.setAttribute("class", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    return node;
  }

  class Episodes {
    constructor(root, data) {
      this.items = data.items;
      this.images = data.images;
      this.timer = null;
      this.build(root, data.note);
      this.choose(0);
    }

    build(root, note) {
      this.select = el("select", { onchange: () => this.choose(Number(this.select.value)) });
      this.items.forEach((item, i) => this.select.append(el("option", { value: i, text: this.title(item) })));
      this.facts = el("p", { class: "fl-ep-facts" });
      const button = (text, label, act) => el("button", { type: "button", text, "aria-label": label, onclick: act });
      this.back = button("←", "previous step", () => this.go(this.at - 1));
      this.forward = button("→", "next step", () => this.go(this.at + 1));
      this.player = button("Play", "play the steps", () => this.play(this.timer === null));
      this.slider = el("input", { type: "range", min: 1, value: 1, step: 1, "aria-label": "step", oninput: () => { this.play(false); this.show(Number(this.slider.value) - 1); } });
      this.count = el("span", { class: "fl-ep-count" });
      this.picture = el("div", { class: "fl-ep-picture" });
      this.status = el("p", { class: "fl-ep-status", role: "status", "aria-live": "polite" });
      this.details = el("dl", { class: "fl-ep-details" });
      this.list = el("ol", { class: "fl-ep-list", "aria-label": "steps", tabindex: "0" });
      this.list.addEventListener("click", (event) => {
        const row = event.target.closest("[data-at]");
        if (row) this.go(Number(row.dataset.at));
      });
      this.instruction = el("details", { class: "fl-ep-instruction" });
      this.answers = el("details", { class: "fl-ep-answers" });
      root.classList.add("fl-gallery", "fl-episodes");
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "episodes of form filling; arrow keys step");
      root.addEventListener("keydown", (event) => this.keys(event));
      root.append(
        el("div", { class: "fl-ep-head" }, el("label", {}, el("span", { text: "Episode" }), this.select), this.facts),
        el("div", { class: "fl-ep-bar" }, this.back, this.player, this.forward, this.slider, this.count),
        el("div", { class: "fl-ep-stage" },
          el("div", { class: "fl-ep-left" }, this.picture, this.status, this.details), this.list),
        this.instruction, this.answers,
      );
      if (note) root.append(el("p", { class: "fl-ep-note", text: visible(note) }));
    }

    title(item) {
      const right = item.fields === null || item.right === null ? "" : `, ${item.right} of ${item.fields} sent right`;
      return `${visible(item.name)}${item.status ? ` (${visible(item.status)}${right})` : ""}`;
    }

    choose(i) {
      this.play(false);
      const item = this.items[i];
      this.item = item;
      const left = item.left ? `; ${item.left} more are left out` : "";
      this.facts.textContent = visible(`${item.looks} looks, ${item.steps.length} steps${left}${item.error ? `. ${item.error}` : ""}`);
      this.list.replaceChildren(...item.steps.map((step, k) => this.row(step, k)));
      this.slider.max = Math.max(1, item.steps.length);
      this.instruction.hidden = !item.instruction;
      this.instruction.replaceChildren(el("summary", { text: "Instruction text" }), el("p", { class: "fl-value", text: visible(item.instruction ?? "") }));
      this.fields(item.answers);
      this.show(0);
    }

    row(step, k) {
      const state = step.refused ? " refused" : step.do === "Look" ? " look" : "";
      return el("li", { class: `fl-ep-step${state}`, "data-at": k },
        el("span", { class: "fl-ep-number", text: k + 1 }),
        el("span", { class: "fl-ep-words" },
          el("b", { text: step.do === "Look" ? visible(step.text) : verb(step) }),
          step.do === "Look" ? null : el("bdi", { text: ` ${visible(step.text)}` }),
          place(step) ? el("span", { class: "fl-ep-field" }, " → ", el("bdi", { text: place(step) })) : null,
          step.refused ? el("span", { class: "fl-ep-refused", text: " refused" }) : null));
    }

    fields(answers) {
      this.answers.hidden = answers.length === 0;
      const right = answers.filter((row) => row.outcome === "match").length;
      const rows = answers.map((row) => el("tr", { class: row.outcome === "match" ? "right-answer" : "wrong-answer" },
        el("th", { scope: "row" }, el("bdi", { text: visible(row.path) })),
        el("td", { text: visible(row.kind ?? "–") }),
        el("td", {}, el("bdi", { text: visible(row.gold ?? "–") })),
        el("td", {}, el("bdi", { text: visible(row.pred ?? "–") })),
        el("td", { text: visible(row.outcome === "match" ? "✓ right" : `× ${(row.cause ?? row.outcome).replaceAll("_", " ")}`) })));
      this.answers.replaceChildren(
        el("summary", { text: `Fields: ${right} of ${answers.length} right` }),
        el("div", { class: "fl-ep-table", tabindex: "0", role: "region", "aria-label": "fields" }, el("table", {},
          el("thead", {}, el("tr", {}, ...["Field", "Type", "Wanted", "Given", ""].map((text) => el("th", { scope: "col", text })))),
          el("tbody", {}, ...rows))));
    }

    go(k) {
      this.play(false);
      if (k >= 0 && k < this.item.steps.length) this.show(k);
    }

    play(on) {
      if (this.timer !== null) clearInterval(this.timer);
      this.timer = null;
      this.player.textContent = on ? "Pause" : "Play";
      this.player.setAttribute("aria-pressed", String(on));
      // Read aloud one step at a time, not while they run past.
      this.status.setAttribute("aria-live", on ? "off" : "polite");
      if (!on) return;
      if (this.at >= this.item.steps.length - 1) this.show(0);
      this.timer = setInterval(() => {
        if (!this.list.isConnected || this.at >= this.item.steps.length - 1) this.play(false);
        else this.show(this.at + 1);
      }, PAUSE);
    }

    keys(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target === this.select || event.target === this.slider) return;
      const last = this.item.steps.length - 1;
      const to = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: last }[event.key];
      if (event.target === this.list && (event.key === "Home" || event.key === "End")) return;
      if (to !== undefined) { event.preventDefault(); this.go(to); }
    }

    show(k) {
      const steps = this.item.steps;
      this.at = Math.max(0, Math.min(k, steps.length - 1));
      const step = steps[this.at];
      this.back.disabled = this.at === 0;
      this.forward.disabled = this.at >= steps.length - 1;
      this.slider.value = this.at + 1;
      this.slider.setAttribute("aria-valuetext", `step ${this.at + 1} of ${steps.length}`);
      this.count.textContent = `${steps.length ? this.at + 1 : 0} of ${steps.length}`;
      for (const row of this.list.querySelectorAll("[aria-current]")) row.removeAttribute("aria-current");
      if (!step) {
        this.picture.replaceChildren(el("p", { class: "fl-noimage", text: "no step was recorded" }));
        this.status.textContent = "";
        this.details.replaceChildren();
        return;
      }
      const row = this.list.children[this.at];
      row.setAttribute("aria-current", "step");
      // Scrolls the list alone: the page stays where the reader has it.
      const above = row.offsetTop - this.list.offsetTop;
      if (above < this.list.scrollTop || above + row.offsetHeight > this.list.scrollTop + this.list.clientHeight) {
        this.list.scrollTop = above - this.list.clientHeight / 2;
      }
      this.draw(step);
      this.describe(step);
    }

    draw(step) {
      const image = step.image === null ? null : this.images[step.image];
      if (!image || !IMAGE.test(image.src)) {
        this.picture.replaceChildren(el("p", { class: "fl-noimage", text: visible(step.why || "the screenshot is left out") }));
        return;
      }
      let holder = this.picture.querySelector(".fl-ep-holder");
      if (!holder || holder.dataset.key !== step.image) {
        holder = el("div", { class: "fl-ep-holder", "data-key": step.image });
        holder.append(el("img", { src: image.src, width: Number(image.width), height: Number(image.height), decoding: "async", alt: "" }));
        this.picture.replaceChildren(holder);
      }
      holder.querySelector("img").alt = visible(`The page before step ${this.at + 1}`);
      holder.querySelector("svg")?.remove();
      const [width, height] = [Number(image.width), Number(image.height)];
      const svg = shape("svg", "fl-ep-marks", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
      const box = (step.box || []).map(Number);
      if (box.length === 4) {
        svg.append(shape("rect", "fl-ep-box", { x: box[0] * width, y: box[1] * height, width: Math.max(0, box[2] - box[0]) * width, height: Math.max(0, box[3] - box[1]) * height, rx: 3 }));
      }
      // The clicks before this one on the same screenshot, so that a run of them can be followed.
      for (let i = this.at - 1; i >= 0 && this.item.steps[i].image === step.image; i -= 1) {
        if (this.item.steps[i].mark) svg.append(this.mark(this.item.steps[i].mark, width, height, "fl-ep-past"));
      }
      if (step.mark) {
        svg.append(this.mark(step.mark, width, height, "fl-ep-ring", 13), this.mark(step.mark, width, height, "fl-ep-point"));
      }
      holder.append(svg);
    }

    mark(at, width, height, name, radius = 4.5) {
      return shape("circle", name, { cx: Number(at[0]) * width, cy: Number(at[1]) * height, r: radius });
    }

    describe(step) {
      const what = step.do === "Look" ? "Looks at the page" : `${verb(step)} ${visible(step.text)}`;
      const where = place(step) ? ` → ${place(step)}` : "";
      this.status.textContent = `${this.at + 1}. ${what}${where}`;
      const rows = [];
      const add = (name, ...content) => rows.push(el("dt", { text: name }), el("dd", {}, ...content));
      const value = (text) => (text === null || text === undefined ? el("span", { class: "fl-none", text: "not known" })
        : text === "" ? el("span", { class: "fl-none", text: "empty" }) : el("bdi", { class: "fl-value", text: visible(text) }));
      if (step.refused) add("refused", el("span", { class: "fl-ep-refused", text: visible(step.refused) }));
      if (step.done) add("in the window", visible(step.done));
      if (step.field === null) add("hit", step.gone ? "an element that is gone: the page turned" : "nothing that can be filled in or pressed");
      else if (step.field !== undefined) add(step.mark ? "hit" : "in", el("bdi", { text: place(step) }));
      for (const change of step.changes || []) {
        const other = change.field !== step.field || change.option !== step.option;
        add("changed", other ? el("bdi", { text: `${place(change)}: ` }) : null, value(change.before), el("span", { class: "fl-ep-arrow", text: " → ", "aria-label": "to" }), value(change.after));
      }
      if (step.content !== null && step.content !== undefined && !(step.changes || []).length) add("holds", value(step.content));
      if (step.moved) add("picture", "taken before the page moved: no marks are drawn");
      this.details.replaceChildren(...rows);
    }
  }

  const show = (root, data) => new Episodes(root, data);
  window.formlabEpisodes = Object.freeze({ show });
  const data = document.getElementById("fl-episodes-data");
  const root = document.getElementById("fl-episodes");
  if (data && root) show(root, JSON.parse(data.textContent));
})();
