/* A page to look at closely: it scrolls by itself, by keyboard and by hand; zooming widens it. */
"use strict";
(() => {
  const { el, visible, marks, mark, side, imageOf, load } = window.formlabGallery;
  const [LEAST, MOST, STEP] = [0.1, 8, 1.4];
  const OTHERS = 400;

  class Viewer {
    /* `pick` is called with the number of another case whose box was clicked. */
    constructor(pick) {
      this.pick = pick;
      this.scale = 1;
      const button = (text, label, act) => el("button", { type: "button", text, title: label, "aria-label": label, onclick: act });
      this.scroller = el("div", { class: "fl-scroller", tabindex: "0", role: "region", "aria-label": "page image, scrolls" });
      this.level = el("span", { class: "fl-level" });
      this.toggle = el("button", { type: "button", text: "Other cases", "aria-pressed": "true", onclick: () => this.others() });
      this.layers = [["All gold", "gold"], ["All predicted", "pred"]].map(([text, name]) => {
        const layer = { name, button: el("button", { type: "button", text, "aria-pressed": "false", title: `all ${name === "gold" ? "gold" : "predicted"} boxes of this page`, onclick: () => this.layer(layer) }) };
        return layer;
      });
      this.tools = el("div", { class: "fl-zoom", role: "group", "aria-label": "zoom" },
        button("−", "zoom out (−)", () => this.zoom(1 / STEP)), this.level, button("+", "zoom in (+)", () => this.zoom(STEP)),
        button("Field", "show the field (0)", () => this.field()), button("Page", "show the whole page with all boxes (p)", () => this.page(true)), ...this.layers.map(({ button: node }) => node), this.toggle);
      this.note = el("p", { class: "fl-why" });
      this.node = el("div", { class: "fl-viewer" }, this.tools, this.scroller, this.note);
      this.scroller.addEventListener("wheel", (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event);
      }, { passive: false });
      this.scroller.addEventListener("dblclick", (event) => this.zoom(STEP, event));
      this.drag();
    }

    /* A finger scrolls by itself; a mouse needs help. */
    drag() {
      let from = null;
      const box = this.scroller;
      box.addEventListener("pointerdown", (event) => {
        if (event.pointerType !== "mouse" || event.button !== 0) return;
        from = { x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop, moved: false };
      });
      box.addEventListener("pointermove", (event) => {
        if (!from) return;
        const [left, top] = [from.x - event.clientX, from.y - event.clientY];
        if (!from.moved && Math.hypot(left - box.scrollLeft, top - box.scrollTop) < 4) return;
        if (!from.moved) box.setPointerCapture(event.pointerId);
        from.moved = true;
        box.scrollLeft = left;
        box.scrollTop = top;
      });
      for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => { from = null; });
    }

    show(item, images, others, boxes) {
      const image = imageOf(item, images);
      this.item = item;
      this.image = image;
      this.note.textContent = item.why && image ? visible(item.why) : "";
      this.tools.hidden = !image;
      if (!image) {
        this.scroller.replaceChildren(el("p", { class: "fl-noimage", text: visible(item.why || "the image cannot be shown") }));
        return;
      }
      const damaged = () => {
        this.tools.hidden = true;
        this.image = null;
        this.scroller.replaceChildren(el("p", { class: "fl-noimage", text: "the image is damaged" }));
      };
      const overlay = marks(item.boxes, image, [0, 0, 1, 1], side);
      const there = others.filter(([, other]) => other.image === item.image).slice(0, OTHERS);
      for (const [i, other] of there) {
        const box = other.boxes.gold || other.boxes.pred;
        if (!box) continue;
        const node = mark(box, "fl-other", image, 1);
        node.addEventListener("click", () => this.pick(i));
        overlay.prepend(node);
      }
      for (const layer of this.layers) {
        const mine = boxes.filter(([name]) => name.startsWith(layer.name));
        layer.nodes = mine.flatMap(([name, list]) => list.map((box) => mark(box, `${side(name)} fl-all`, image, 1)));
        layer.button.hidden = layer.nodes.length === 0;
        overlay.prepend(...layer.nodes);
      }
      this.paint();
      this.toggle.hidden = overlay.querySelector(".fl-other") === null;
      const img = el("img", { alt: "page image", draggable: "false", onerror: damaged });
      this.stage = el("div", { class: "fl-stage" }, img, overlay);
      this.scroller.replaceChildren(this.stage);
      this.scroller.style.setProperty("--page", String(image.height / image.width));
      this.field();
      load(img, item.image, image, damaged);
    }

    others() {
      const shown = this.toggle.getAttribute("aria-pressed") !== "true";
      this.toggle.setAttribute("aria-pressed", String(shown));
      this.scroller.classList.toggle("fl-alone", !shown);
    }

    layer({ button }, shown = button.getAttribute("aria-pressed") !== "true") {
      button.setAttribute("aria-pressed", String(shown));
      this.paint();
    }

    paint() {
      for (const { button, nodes } of this.layers) {
        for (const node of nodes) node.classList.toggle("fl-off", button.getAttribute("aria-pressed") !== "true");
      }
    }

    size(scale) {
      this.scale = Math.min(Math.max(scale, LEAST), MOST);
      this.stage.style.width = `${this.image.width * this.scale}px`;
      this.stage.style.setProperty("--scale", String(this.scale));
      this.level.textContent = `${Math.round(this.scale * 100)} %`;
    }

    /* The point of the page under the pointer, or in the middle, stays where it is. */
    zoom(by, at) {
      if (!this.image) return;
      const box = this.scroller;
      const place = box.getBoundingClientRect();
      const [x, y] = at ? [at.clientX - place.left, at.clientY - place.top] : [box.clientWidth / 2, box.clientHeight / 2];
      const before = this.scale;
      const [left, top] = [box.scrollLeft + x, box.scrollTop + y];
      this.size(before * by);
      box.scrollLeft = (left * this.scale) / before - x;
      box.scrollTop = (top * this.scale) / before - y;
    }

    field() {
      if (!this.image) return;
      const box = this.scroller;
      const [x, y, w, h] = this.item.view.map(Number);
      const [width, height] = [this.image.width, this.image.height];
      this.size(Math.min(box.clientWidth / (w * width), box.clientHeight / (h * height), 2.5));
      box.scrollLeft = (x + w / 2) * width * this.scale - box.clientWidth / 2;
      box.scrollTop = (y + h / 2) * height * this.scale - box.clientHeight / 2;
    }

    page(all) {
      if (!this.image) return;
      if (all) for (const layer of this.layers) this.layer(layer, true);
      this.size(Math.min(this.scroller.clientWidth / this.image.width, this.scroller.clientHeight / this.image.height));
    }
  }

  Object.assign(window.formlabGallery, { Viewer });
})();
