/* What the pages of a review share: the picture of a page with boxes, and messages to the kernel.
   Every text reaches the page through textContent or an input's value, never as markup; a decision
   counts once the kernel says that it is on the disk. */
// Of the gallery's parts, which the widget puts before this file.
const { el, visible } = window.formlabGallery;
const SVG = "http://www.w3.org/2000/svg";
const ANSWER_WITHIN = 6000;
const mine = (event) => event.key === "Enter" || !(event.ctrlKey || event.metaKey || event.altKey);
const when = (time) => (time ?? "").replace("T", " ").replace("+00:00", " UTC");
const words = (name) => String(name).replaceAll("_", " ");

/* A layer over a page, in the page's own unit. */
function sheet(page) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${Number(page.width)} ${Number(page.height)}`);
  svg.setAttribute("preserveAspectRatio", "none");
  return svg;
}

/* One box, [page, x0, y0, x1, y1]; `link` is its title and what a click on it does. */
function mark(svg, page, box, kind, link = null) {
  const rect = document.createElementNS(SVG, "rect");
  const pad = kind.startsWith("other") ? 0 : Math.max(3, Number(page.width) / 300);
  const [x0, y0, x1, y1] = box.slice(1).map(Number);
  rect.setAttribute("class", `fr-box ${kind}`);
  for (const [name, value] of [["x", x0 - pad], ["y", y0 - pad], ["width", x1 - x0 + 2 * pad], ["height", y1 - y0 + 2 * pad]]) rect.setAttribute(name, String(value));
  if (link) {
    rect.append(document.createElementNS(SVG, "title"));
    rect.firstChild.textContent = visible(link[0]);
    rect.addEventListener("click", link[1]);
  }
  svg.append(rect);
  return rect;
}

class Desk {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.setup = model.get("setup");
    this.pages = new Map();
    this.waiting = null;
    this.zoom = false;
    this.root.classList.add("fl-review");
    // JupyterLab must not take a, r or an arrow for a command of its own; to save with Ctrl+S is its.
    this.guard = (event) => this.root.toggleAttribute("data-lm-suppress-shortcuts", mine(event));
    window.addEventListener("keydown", this.guard, true);
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "application");
    this.root.setAttribute("aria-label", "review");
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.theme();
    this.watch = new MutationObserver(() => this.theme());
    this.watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    this.alert = el("p", { class: "fr-alert", role: "alert", hidden: "" });
    this.figure = el("div", { class: "fr-page", tabindex: "-1" });
    this.zoomer = el("button", { type: "button", title: "z", onclick: () => this.magnify() });
    this.pager = el("p", { class: "fr-pager" });
    this.hear = (said, buffers) => this.answer(said, buffers);
    model.on("msg:custom", this.hear);
  }

  close() {
    this.model.off("msg:custom", this.hear);
    clearTimeout(this.timer);
    this.watch.disconnect();
    window.removeEventListener("keydown", this.guard, true);
    for (const page of this.pages.values()) if (page.src) URL.revokeObjectURL(page.src);
  }

  theme() {
    const light = document.body.dataset.jpThemeLight;
    if (light) this.root.dataset.theme = light === "true" ? "light" : "dark";
  }

  /* Nothing is taken for saved until the kernel says so. */
  send(message) {
    if (message.type !== "page" && message.type !== "hello") {
      if (this.waiting) return;
      this.waiting = message;
      this.busy(true);
    }
    if (message.type !== "page") {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.waiting = null;
        this.busy(false);
        this.warn(`The kernel does not answer: the last decision is not saved. Run the cell again to go on; every decision counted above is in ${this.setup.file}.`);
      }, ANSWER_WITHIN);
    }
    try {
      this.model.send(message);
    } catch {
      this.warn(`The kernel is gone. Run the cell again to go on; every decision counted above is in ${this.setup.file}.`);
    }
  }

  busy(on) {
    this.root.classList.toggle("fr-busy", on);
  }

  warn(text) {
    this.alert.textContent = visible(text);
    this.alert.hidden = text === "";
  }

  answer(said, buffers) {
    if (said.type === "page") { this.arrived(said, buffers); return; }
    clearTimeout(this.timer);
    this.busy(false);
    const asked = this.waiting;
    this.waiting = null;
    this.warn(said.type === "refused" ? `Not saved: ${said.why}` : "");
    if (said.type === "refused") this.refused(said); else this.answered(said, asked);
  }

  refused() {}

  magnify() {
    this.zoom = !this.zoom;
    this.picture();
  }

  /* The picture of a page with `layer` of it on top, about the box `centre`. */
  show(doc, number, centre, layer) {
    const key = `${doc}\n${number}`;
    const page = this.pages.get(key);
    this.zoomer.textContent = this.zoom ? "Whole page (z)" : "Zoom in (z)";
    this.pager.textContent = visible(`${doc}${page?.pages > 1 ? `, page ${number} of ${page.pages}` : ""}`);
    if (!page) {
      this.pages.set(key, { asked: true });
      this.figure.replaceChildren(el("p", { class: "fr-wait", text: "…" }));
      this.send({ type: "page", doc, page: number });
      return;
    }
    if (page.why) { this.figure.replaceChildren(el("p", { class: "fr-wait", text: visible(page.why) })); return; }
    if (!page.src) return;
    const holder = el("div", { class: "fr-holder" }, el("img", { src: page.src, alt: `page of ${visible(doc)}` }), layer(page));
    this.figure.classList.toggle("zoomed", this.zoom);
    holder.style.setProperty("--zoom", this.zoom ? "200%" : "100%");
    this.figure.replaceChildren(holder);
    const scroll = () => {
      const height = holder.clientHeight;
      if (centre) this.figure.scrollTo(holder.clientWidth * ((centre[1] + centre[3]) / 2 / page.width) - this.figure.clientWidth / 2, height * ((centre[2] + centre[4]) / 2 / page.height) - this.figure.clientHeight / 2);
    };
    const image = holder.querySelector("img");
    if (image.complete) scroll(); else image.addEventListener("load", scroll);
  }

  arrived(said, buffers) {
    const key = `${said.doc}\n${said.page}`;
    const known = { width: said.width, height: said.height, pages: said.pages, why: said.why };
    if (!said.why) known.src = URL.createObjectURL(new Blob([buffers[0]], { type: "image/webp" }));
    this.pages.set(key, known);
    if (this.pages.size > 30) {
      const oldest = this.pages.keys().next().value;
      if (oldest !== key) {
        const page = this.pages.get(oldest);
        if (page.src) URL.revokeObjectURL(page.src);
        this.pages.delete(oldest);
      }
    }
    this.picture();
  }
}

