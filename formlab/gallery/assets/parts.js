/* Pieces of a page. Every text reaches the page through textContent, never as markup. */
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const RUNGS = ["exact", "normalised", "typed", "fuzzy"];
  const IMAGE = /^data:image\/(webp|png|jpeg|avif|gif);base64,[A-Za-z0-9+/=]*$|^[\w-][\w.-]*(\/[\w-][\w.-]*)*\.(webp|png|jpe?g)$/;
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

  function shape(tag, props) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
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
  const title = (item) => item.label || item.path || item.kind || item.task || "case";
  const answers = (item) => [item, ...(item.beside || [])];

  function chip(text, colour, extra = "") {
    const node = el("span", { class: `fl-chip ${extra}`.trim(), text: visible(text) });
    if (COLOUR.test(colour || "")) node.style.setProperty("--chip", colour);
    return node;
  }

  function ladder(rungs, name) {
    const box = el("span", { class: "fl-ladder", role: "list", "aria-label": name });
    RUNGS.forEach((rung, i) => {
      const state = rungs[i] === true ? "yes" : rungs[i] === false ? "no" : "unknown";
      const mark = { yes: "✓", no: "×", unknown: "–" }[state];
      box.append(el("span", { class: `fl-rung ${state}`, role: "listitem", title: `${rung}: ${state}` },
        el("span", { "aria-hidden": "true", text: `${mark} ` }), rung, el("span", { class: "fl-hidden", text: `: ${state}` })));
    });
    return box;
  }

  /* The strictest rung a value stands on, the least strict first to fail being told by none. */
  function rung(item) {
    if (item.ladder.every((state) => state === null)) return null;
    const first = item.ladder.indexOf(true);
    return first < 0 ? "none" : RUNGS[first];
  }

  const absent = (value, gold) => {
    if (value === "") return "empty";
    return gold ? "not on the form" : "nothing given";
  };

  /* An answer with its wrong places marked: more than gold has, other than gold, and a sign where
     something of gold is missing. Colour alone says nothing: each has a mark of its own. */
  function marked(diff) {
    const node = el("bdi", { class: "fl-value" });
    diff.forEach(([op, text], i) => {
      const changed = op === "insert" && diff[i - 1]?.[0] === "delete";
      if (op === "equal") node.append(visible(text));
      else if (op === "insert") node.append(el(changed ? "mark" : "ins", { title: changed ? `gold: ${visible(diff[i - 1][1])}` : "not in gold", text: visible(text) }));
      else if (diff[i + 1]?.[0] !== "insert") node.append(missing(text));
    });
    return node;
  }

  const missing = (text) => el("span", { class: "fl-missing", title: `missing: ${visible(text)}` },
    el("span", { "aria-hidden": "true", text: "‸" }), el("span", { class: "fl-hidden", text: `[missing: ${visible(text)}]` }));

  /* Gold is the reference and stays plain. */
  function goldValue(item) {
    if (item.gold === null || item.gold === "") return el("span", { class: "fl-none", text: absent(item.gold, true) });
    return el("bdi", { class: "fl-value", text: visible(item.gold) });
  }

  function predValue(answer) {
    if (answer.pred === null || answer.pred === "") return el("span", { class: "fl-none", text: absent(answer.pred, false) });
    return marked(answer.diff);
  }

  /* Fractions of the image as its pixels, so that a point is a circle and not an ellipse. */
  function marks(boxes, image, view, name) {
    const [x, y, w, h] = view.map(Number);
    const [width, height] = [Number(image.width), Number(image.height)];
    const svg = shape("svg", { viewBox: `${x * width} ${y * height} ${w * width} ${h * height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    for (const [which, box] of Object.entries(boxes)) svg.append(mark(box, name(which), image, w));
    return svg;
  }

  function mark(box, className, image, across) {
    const [x, y, w, h] = box.map(Number);
    const [width, height] = [Number(image.width), Number(image.height)];
    return w === 0 && h === 0
      ? shape("circle", { class: `${className} point`, cx: x * width, cy: y * height, r: Math.max(4, 0.012 * across * width) })
      : shape("rect", { class: className, x: x * width, y: y * height, width: w * width, height: h * height });
  }

  const side = (which) => `fl-box ${/^(gold|pred\d*)$/.test(which) ? which : "pred"}`;
  const imageOf = (item, images) => {
    const found = item.image === null ? null : images[item.image];
    return found && (found.src === undefined || IMAGE.test(found.src)) && found.width > 0 && found.height > 0 ? found : null;
  };

  /* Long texts stand in blocks behind the scripts, so that cards are drawn before they have come.
     A block is whole once something follows it. */
  function late(id, use) {
    const block = document.getElementById(`fl-late-${id}`);
    if (block?.nextSibling || document.readyState !== "loading") use(block?.textContent ?? "");
    else setTimeout(late, 10, id, use);
  }

  function load(img, key, image, missing) {
    const set = (src) => { if (IMAGE.test(src)) img.src = src; else missing(); };
    if (image.src === undefined) late(key, set);
    else set(image.src);
  }

  /* A card's picture: the image is set by the function that comes with it, when it is near. */
  function picture(item, images) {
    const frame = el("div", { class: "fl-picture" });
    const image = imageOf(item, images);
    const missing = (why) => frame.replaceChildren(el("p", { class: "fl-noimage", text: visible(why) }));
    if (!image) {
      missing(item.why || "the image cannot be shown");
      return [frame, null];
    }
    const [x, y, w, h] = item.view.map(Number);
    const holder = el("div", { class: "fl-holder" });
    holder.style.setProperty("--ratio", String((w * image.width) / (h * image.height)));
    const img = el("img", { alt: "", decoding: "async", onerror: () => missing("the image is damaged") });
    Object.assign(img.style, { width: `${100 / w}%`, height: `${100 / h}%`, left: `${(-100 * x) / w}%`, top: `${(-100 * y) / h}%` });
    const cut = el("div", { class: "fl-cut" }, img);
    holder.append(cut, marks(item.boxes, image, item.view, side));
    frame.append(holder);
    if (item.why) frame.append(el("p", { class: "fl-why", text: visible(item.why) }));
    return [frame, () => { if (!img.src) load(img, item.image, image, () => missing("the image cannot be shown")); }];
  }

  window.formlabGallery = { el, visible, shape, words, title, answers, chip, ladder, rung, goldValue, predValue, marks, mark, side, imageOf, late, load, picture };
})();
