/* Pieces of a page. Every text reaches the page through textContent, never as markup. */
"use strict";
(() => {
  const RUNGS = ["exact", "normalised", "typed", "fuzzy"];
  const IMAGE = /^data:image\/(webp|png|jpeg|avif|gif);base64,[A-Za-z0-9+/=]*$/;
  const COLOUR = /^#[0-9a-f]{6}$/i;
  /* Control characters would be invisible, or reorder what stands beside them. */
  const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g;

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

  function shape(tag, props, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  function visible(text) {
    return String(text).replace(CONTROL, (c) => {
      const code = c.codePointAt(0);
      if (code < 32) return String.fromCodePoint(0x2400 + code);
      return code === 127 ? "\u2421" : "\ufffd";
    });
  }

  const button = (text, onclick, more = {}) => el("button", { type: "button", text, onclick, ...more });
  const select = (label, onchange) => el("select", { "aria-label": label, onchange: ({ target }) => onchange(target.value) });
  const bdi = (text) => el("bdi", { text: visible(text) });
  const fold = (name, summary, ...children) => el("details", { class: name }, el("summary", { text: summary }), ...children);
  function fill(node, options, chosen) {
    node.replaceChildren(...options.map(([value, text]) => el("option", { value, text })));
    node.value = chosen;
  }

  const words = (name) => String(name).replaceAll("_", " ");
  const count = (n) => n.toLocaleString("en");
  const several = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

  function chip(text, colour, extra = "") {
    const node = el("span", { class: `fl-chip ${extra}`.trim(), text: visible(text) });
    if (COLOUR.test(colour || "")) node.style.setProperty("--chip", `var(--c-${colour.slice(1).toLowerCase()}, ${colour})`);
    return node;
  }

  function ladder(rungs) {
    const state = (value) => ({ true: ["yes", "✓"], false: ["no", "×"] }[value] ?? ["unknown", "–"]);
    return el("ul", { class: "fl-ladder", "aria-label": "right by which rule" }, ...RUNGS.map((rung, i) => {
      const [word, mark] = state(rungs[i]);
      return el("li", { class: `fl-rung ${word}`, "aria-label": `${rung}: ${word}`, text: `${mark} ${rung}` });
    }));
  }

  /* The strictest rung a value stands on, the least strict first to fail being told by none. */
  function rung(item) {
    if (item.ladder.every((state) => state === null)) return null;
    return RUNGS[item.ladder.indexOf(true)] ?? "none";
  }

  /* A value, or what its absence is called; the runs of `diff` mark what is wrong in an answer: more
     than gold has, other than gold, and a sign where something of gold is missing. Colour alone says
     nothing: each has a mark of its own. */
  function value(text, absent, diff = [["equal", text]]) {
    if (!text) return el("span", { class: "fl-none", text: text === "" ? "empty" : absent });
    const node = el("bdi", { class: "fl-value" });
    diff.forEach(([op, run], i) => {
      const before = op === "insert" && diff[i - 1]?.[0] === "delete" ? visible(diff[i - 1][1]) : null;
      if (op === "equal") node.append(visible(run));
      else if (op === "insert") node.append(el(before === null ? "ins" : "mark", { title: before === null ? "not in gold" : `gold: ${before}`, text: visible(run) }));
      else if (diff[i + 1]?.[0] !== "insert") {
        node.append(el("span", { class: "fl-missing", title: `missing: ${visible(run)}` }, el("span", { "aria-hidden": "true", text: "‸" }),
          el("span", { class: "fl-hidden", text: `[missing: ${visible(run)}]` })));
      }
    });
    return node;
  }

  const rect = (name, [x, y, w, h], width, height) => shape("rect", { class: name, x: x * width, y: y * height, width: w * width, height: h * height });
  const dot = (name, [x, y], width, height, r) => shape("circle", { class: name, cx: x * width, cy: y * height, r });

  /* An image with `shapes(width, height)` over it, in its own pixels, so that a point is a circle; or
     why there is none. */
  function picture(name, image, why, shapes, alt = "") {
    const frame = el("div", { class: name });
    const missing = (text) => frame.replaceChildren(el("p", { class: "fl-noimage", text: visible(text) }));
    const [width, height] = [Number(image?.width), Number(image?.height)];
    if (!IMAGE.test(image?.src) || !(width > 0 && height > 0)) {
      missing(why || "the image cannot be shown");
      return frame;
    }
    const onerror = () => missing("the image is damaged");
    const holder = el("div", { class: "fl-holder" }, el("img", { src: image.src, width, height, alt, decoding: "async", onerror }),
      shape("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...shapes(width, height)));
    holder.style.setProperty("--ratio", String(width / height));
    frame.append(holder, why ? el("p", { class: "fl-why", text: visible(why) }) : "");
    return frame;
  }

  /* What draws an object into an element, by its kind. */
  const kinds = {};
  window.formlabGallery = {
    el, shape, visible, button, select, bdi, fold, fill, words, count, several, chip, ladder, rung, value, rect, dot, picture, kinds,
  };
})();
