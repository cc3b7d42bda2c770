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

  const words = (name) => String(name).replaceAll("_", " ");
  const count = (n) => n.toLocaleString("en");
  const several = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
  const title = (item) => item.label || item.path || item.kind || item.task || "case";
  const answers = (item) => [item, ...(item.beside || [])];

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

  /* Gold is the reference and stays plain. */
  function goldValue({ gold }) {
    if (!gold) return el("span", { class: "fl-none", text: gold === "" ? "empty" : "not on the form" });
    return el("bdi", { class: "fl-value", text: visible(gold) });
  }

  /* An answer with its wrong places marked: more than gold has, other than gold, and a sign where
     something of gold is missing. Colour alone says nothing: each has a mark of its own. */
  function predValue({ pred, diff }) {
    if (!pred) return el("span", { class: "fl-none", text: pred === "" ? "empty" : "nothing given" });
    const node = el("bdi", { class: "fl-value" });
    diff.forEach(([op, text], i) => {
      const before = op === "insert" && diff[i - 1]?.[0] === "delete" ? visible(diff[i - 1][1]) : null;
      if (op === "equal") node.append(visible(text));
      else if (op === "insert") node.append(el(before === null ? "ins" : "mark", { title: before === null ? "not in gold" : `gold: ${before}`, text: visible(text) }));
      else if (diff[i + 1]?.[0] !== "insert") {
        node.append(el("span", { class: "fl-missing", title: `missing: ${visible(text)}` }, el("span", { "aria-hidden": "true", text: "‸" }),
          el("span", { class: "fl-hidden", text: `[missing: ${visible(text)}]` })));
      }
    });
    return node;
  }

  /* A picture with shapes over it, in its own pixels, so that a point is a circle. */
  function overlaid(image, alt, damaged, shapes) {
    if (!image || !IMAGE.test(image.src) || !(image.width > 0 && image.height > 0)) return null;
    const [width, height] = [Number(image.width), Number(image.height)];
    const holder = el("div", { class: "fl-holder" }, el("img", { src: image.src, width, height, alt, decoding: "async", onerror: damaged }),
      shape("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...shapes(width, height)));
    holder.style.setProperty("--ratio", String(width / height));
    return holder;
  }

  const rect = (name, [x, y, w, h], width, height) => shape("rect", { class: name, x: x * width, y: y * height, width: w * width, height: h * height });
  const dot = (name, [x, y], width, height, r) => shape("circle", { class: name, cx: x * width, cy: y * height, r });

  /* The part of a page that a case is on, with its boxes; nothing where no page is known. */
  function picture(item, images) {
    if (item.image === null && !item.why) return null;
    const frame = el("div", { class: "fl-picture" });
    const missing = (why) => frame.replaceChildren(el("p", { class: "fl-noimage", text: visible(why) }));
    const name = (side) => `fl-box ${/^(gold|pred\d*)$/.test(side) ? side : "pred"}`;
    const boxes = (width, height) => Object.entries(item.boxes).map(([side, box]) => {
      const [x, y, w, h] = box.map(Number);
      return w || h ? rect(name(side), [x, y, w, h], width, height) : dot(`${name(side)} point`, [x, y], width, height, Math.max(4, 0.012 * width));
    });
    const shown = overlaid(item.image === null ? null : images[item.image], "", () => missing("the image is damaged"), boxes);
    if (shown) frame.append(shown, item.why ? el("p", { class: "fl-why", text: visible(item.why) }) : "");
    else missing(item.why || "the image cannot be shown");
    return frame;
  }

  window.formlabGallery = { el, shape, visible, words, count, several, title, answers, chip, ladder, rung, goldValue, predValue, overlaid, rect, dot, picture };
})();
