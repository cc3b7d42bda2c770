// What can be read and used in one document, its open shadow roots included: an expression that
// makes the observer of that document. `logged`, `shown` and `at` serve people's pages as well.
() => {
  "use strict";
  const MOST = 3000, LETTER = /[\p{L}\p{N}]/u;
  const roles = (names) => names.split(" ").map((name) => `[role=${name}]`).join();
  const NATIVE = "input:not([type=hidden i], [type=submit i], [type=button i], [type=reset i], [type=image i]), select, textarea";
  const FIELD = `${NATIVE}, [contenteditable]:not([contenteditable=false i]), ${roles("radio checkbox switch listbox combobox slider spinbutton textbox searchbox")}`;
  const PUSHED = `input:not([type=hidden i]), button, summary, a[href], canvas, iframe, [data-field], [onclick], [tabindex]:not([tabindex="-1"]), ${roles("button link tab menuitem menuitemcheckbox menuitemradio option treeitem gridcell")}`;
  const HEADING = "h1, h2, h3, h4, h5, h6, [role=heading]";
  const GROUP = `fieldset, dialog, ${roles("group radiogroup dialog alertdialog tabpanel")}`;
  const POPUP = "[class*=calendar i], [class*=datepicker i], [class*=timepicker i], [class*=flatpickr i], [class*=pika i], [role=grid], [role=dialog], table, div";
  const SILENT = `${NATIVE}, button, [type=submit], [type=button], option, script, style, template, noscript, svg, ${roles("button listbox combobox slider spinbutton textbox")}, [contenteditable]:not([contenteditable=false i])`;
  const INLINE = /^(A|ABBR|B|CODE|EM|FONT|I|LABEL|MARK|S|SMALL|SPAN|STRONG|SUB|SUP|U)$/;
  const ROLES = { A: "link", BUTTON: "button", SUMMARY: "button", TEXTAREA: "textbox", SELECT: "combobox", submit: "button",
    button: "button", reset: "button", image: "button", file: "button", text: "textbox", email: "textbox", tel: "textbox", url: "textbox",
    password: "textbox", search: "searchbox", number: "spinbutton", range: "slider", radio: "radio", checkbox: "checkbox" };
  const TICKS = { radio: "radio", checkbox: "checkbox", switch: "checkbox" };
  const numbers = new WeakMap(), elements = new Map(), names = new WeakMap(), places = new WeakMap();
  const key = Math.random().toString(36).slice(2);
  let last = 0;

  const up = (e) => e.parentElement ?? e.getRootNode().host ?? null;
  const near = (e, css) => { for (let n = e; n; n = up(n)) if (n.matches(css)) return n; return null; };
  const holds = (e, other) => { for (let n = other; n; n = up(n)) if (n === e) return true; return false; };
  const number = (e) => { if (!numbers.has(e)) { numbers.set(e, last += 1); elements.set(last, new WeakRef(e)); } return numbers.get(e); };
  const get = (n) => { const e = elements.get(n)?.deref(); return e?.isConnected ? e : null; };
  const clean = (text, most = 200) => (text ?? "").replace(/\s+/g, " ").trim().slice(0, most);
  const attribute = (e, name) => e.getAttribute(name) ?? "";
  const roleOf = (e) => clean(attribute(e, "role").split(" ")[0], 40) || (e.tagName === "INPUT" ? ROLES[e.type]
    : e.multiple || e.size > 1 ? "listbox" : ROLES[e.tagName]) || (e.isContentEditable ? "textbox" : "");
  const kindOf = (e) => {
    if (e.tagName === "INPUT") return e.type;
    const role = attribute(e, "role");
    return e.matches("select, textarea, button, a, canvas") && !TICKS[role] ? e.tagName.toLowerCase()
      : TICKS[role] ?? (role || (e.isContentEditable ? "textbox" : e.tagName.toLowerCase()));
  };
  const isTick = (e) => e.type === "radio" || e.type === "checkbox" || roleOf(e) in TICKS;
  const sameChoice = (e) => {
    if (e.tagName === "INPUT" && e.name && e.matches("[type=radio], [type=checkbox]"))
      return [...e.getRootNode().querySelectorAll(`input[type=${e.type}]`)].filter((o) => o.name === e.name && o.form === e.form);
    if (roleOf(e) !== "radio" && e.type !== "radio") return [e];
    const around = near(e, "[role=radiogroup], [role=group], fieldset") ?? up(e);
    return [...around.querySelectorAll("[role=radio], input[type=radio]")].filter((o) => !o.name);
  };

  // Text as people read it: without controls and what is hidden, unless it is named by reference.
  function textOf(node, all = false) {
    if (node.nodeType === 3) return node.data;
    if (node.nodeType !== 1 && node.nodeType !== 11) return "";
    if (node.nodeType === 1 && (node.tagName === "BR" || (!all && node.matches(SILENT)) || (all !== "hidden" && !node.checkVisibility()))) return " ";
    const text = [...(node.shadowRoot ?? node).childNodes].map((child) => textOf(child, all)).join("") || (node.tagName === "IMG" ? node.alt : "");
    return node.nodeType === 11 || INLINE.test(node.tagName) ? text : ` ${text} `;
  }
  const referred = (e, name) => clean(attribute(e, name).split(/\s+/).filter(Boolean)
    .map((id) => e.getRootNode().getElementById(id)).filter(Boolean).map((n) => textOf(n, "hidden")).join(" "), 300);
  // What stands next to an element, back to the last break, control or block.
  function beside(e, step) {
    let text = "";
    for (let n = e[step]; n; n = n[step]) {
      const element = n.nodeType === 1;
      if (element && n.matches(`${HEADING}, legend`)) break;
      if (element && (n.matches(FIELD) || n.querySelector(FIELD))) { if (LETTER.test(text) || !n.matches(NATIVE)) break; continue; }
      const more = textOf(n), block = element && !INLINE.test(n.tagName);
      if (block && LETTER.test(text)) break;
      text = step === "nextSibling" ? text + more : more + text;
      if (block && LETTER.test(text)) break;
    }
    return LETTER.test(text) ? clean(text) : "";
  }
  const isAlone = (parent, choice) => [...parent.querySelectorAll(FIELD)].every((o) => choice.some((e) => holds(e, o) || holds(o, e)) || !placeOf(o));
  function before(e, choice) {
    for (let n = e, level = 0; level < 4 && n && !n.matches("form, body, fieldset, dialog"); n = up(n), level += 1) {
      const text = beside(n, "previousSibling"), parent = up(n);
      if (text) return text;
      if (!parent || parent.matches("form, body, fieldset, dialog, table, tr") || !isAlone(parent, choice)) return "";
      const around = clean(textOf(parent));
      if (choice.length === 1 && LETTER.test(around)) return around;
    }
    return "";
  }
  // The text of the cell to the left, and of the header above.
  function cells(e) {
    const cell = near(e, "td, th, [role=cell]"), row = cell?.parentElement, table = row && near(row, "table"), texts = (list) => list
      .map((c) => c.querySelector(FIELD) ? "" : clean(textOf(c))).find((text) => LETTER.test(text)) ?? "";
    if (!table?.rows) return ["", ""];
    const rows = [...table.rows], head = rows[0], side = texts([...row.children].slice(0, [...row.children].indexOf(cell)).reverse());
    const isHead = head !== row && head.querySelector("th") && !head.querySelector(FIELD), above = rows[rows.indexOf(row) - 1];
    const top = isHead ? head : side ? null : above;
    return [side, top ? texts([top.cells[cell.cellIndex]].filter(Boolean)) : ""];
  }
  function rawLabel(e) {
    const tick = isTick(e), content = !e.matches(FIELD) || (tick && !e.matches(NATIVE)) || e.matches("[role=option]");
    const own = referred(e, "aria-labelledby") || clean([...(e.labels ?? [])].map((n) => textOf(n)).join(" "))
      || (e.matches(FIELD) && !e.labels ? clean(textOf(near(e, "label") ?? new Text())) : "");
    if (LETTER.test(own)) return own;
    if (content) return clean(textOf(e, true)) || clean(e.ariaLabel || (e.tagName === "INPUT" && e.value) || e.alt || e.title || e.querySelector("img[alt], svg title")?.alt);
    const [side, above] = cells(e), cell = near(e, "td, th"), inside = cell ? beside(e, "previousSibling") : "";
    return clean(e.ariaLabel || (tick && beside(e, "nextSibling")) || e.title) || inside
      || (tick ? above || side : [side, above].filter(Boolean).join(" ")) || before(e, [e]) || clean(e.placeholder || e.ariaPlaceholder || attribute(e, "data-placeholder"));
  }
  const STAR = /^\s*[*＊]\s*|\s*([*＊]|[([](required|optional)[)\]])\s*(?=:?\s*$)/gi;
  const tidy = (text) => text.replace(STAR, "").replace(/\s*:\s*$/, "").trim() || text;
  const groupName = (n) => referred(n, "aria-labelledby") || clean(n.ariaLabel) || clean(textOf([...n.children].find((c) => c.matches("legend")) ?? new Text()));
  // The label of a choice as a whole: of its group, its row in a table, or the text before it.
  function choiceLabel(e) {
    const choice = sameChoice(e), all = (n) => choice.every((o) => holds(n, o)), group = near(up(e) ?? e, GROUP);
    if (e.type === "checkbox" ? choice.length < 2 : roleOf(e) !== "radio") return null;
    if (group && all(group) && isAlone(group, choice) && groupName(group)) return groupName(group);
    const [side, above] = cells(e);
    if (side && above) return side;
    let around = e, first = choice[0];
    while (around && !all(around)) around = up(around);
    while (first !== around && up(first) !== around) first = up(first);
    const inner = first !== around && beside(first, "previousSibling");
    return inner || (around && !around.matches("form, body") && before(around, choice)) || (group && all(group) && groupName(group)) || "";
  }

  // The box that takes a click, without regard to the window: null for what nobody can use.
  function boxOf(e) {
    const box = e.isConnected && e.checkVisibility({ visibilityProperty: true }) && [...e.getClientRects()].find((b) => b.width > 1 && b.height > 1);
    if (!box || box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return null;
    const style = getComputedStyle(e);
    return /^rect\([01]px,? [01]px,? [01]px/.test(style.clip) || /inset\((50|100)%/.test(style.clipPath) ? null : box;
  }
  function standIn(e) {
    const label = [...(e.labels ?? [])].find(boxOf);
    if (label || e.type !== "file") return label;
    for (let n = up(e), level = 0; n && level < 3 && !n.matches("form, body"); n = up(n), level += 1) {
      const button = n.querySelectorAll("input[type=file]").length === 1 && [...n.querySelectorAll("button, [role=button], [type=button]")].find(boxOf);
      if (button) return button;
    }
    return null;
  }
  // The element that takes the clicks: of a hidden tick or file, its label or button.
  function placeOf(e) {
    const tick = e.tagName === "INPUT" && e.matches("[type=radio], [type=checkbox], [type=file]"), box = boxOf(e);
    const style = tick && box && getComputedStyle(e), faint = style && (style.opacity === "0" || style.pointerEvents === "none");
    const other = tick && (!box || faint) ? standIn(e) : null;
    if (other) places.set(other, e);
    return other ?? (box && e);
  }
  const edges = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const origin = (frame) => {
    const [x, y] = edges(frame), style = getComputedStyle(frame);
    return [x + frame.clientLeft + parseFloat(style.paddingLeft), y + frame.clientTop + parseFloat(style.paddingTop)];
  };
  function area(place) {
    const b = boxOf(place) ?? place.getBoundingClientRect();
    // The middle of a label with a link in it must not be the link.
    const right = place.tagName === "LABEL" && place.querySelector("a") ? Math.min(b.right, b.left + 20) : b.right;
    return [b.left, b.top, right, b.bottom];
  }
  const deepest = (x, y) => {
    let e = document.elementFromPoint(x, y);
    for (let inner; e?.shadowRoot && (inner = e.shadowRoot.elementFromPoint(x, y)) && inner !== e;) e = inner;
    return e;
  };
  // Whether something else lies over it; what is scrolled out of its pane is out of view only.
  function isCovered(e, place, [x0, y0, x1, y1]) {
    const x = (x0 + x1) / 2, y = (y0 + y1) / 2, modal = document.querySelector("dialog:modal");
    if (modal && !holds(modal, e)) return true;
    const inWindow = x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    const hit = deepest(...(inWindow ? [x, y] : [innerWidth / 2, innerHeight / 2]));
    if (!hit || holds(place, hit) || holds(hit, place) || near(hit, "label")?.control === e) return false;
    if (!inWindow) {
      let over = hit;
      while (over && getComputedStyle(over).position !== "fixed") over = up(over);
      const b = over?.getBoundingClientRect();
      return Boolean(b && !holds(over, e) && b.width * b.height > 0.8 * innerWidth * innerHeight);
    }
    const parent = up(place);
    if (holds(parent, hit) && !parent.matches("form, body") && isAlone(parent, [e])) return false;
    for (let n = parent; n; n = up(n)) {
      const b = n.getBoundingClientRect();
      if (getComputedStyle(n).overflow !== "visible" && (x < b.left || x > b.right || y < b.top || y > b.bottom)) return false;
    }
    return true;
  }
  const isFolded = (e) => {
    for (let n = up(e); n && n !== document.body; n = up(n))
      if ((n.clientHeight < 2 || n.clientWidth < 2) && /hidden|clip/.test(getComputedStyle(n).overflow)) return true;
    return false;
  };

  // The hidden control with a name that a widget without one writes to, such as a hidden input.
  function partner(e) {
    const from = roleOf(e) === "radio" ? near(e, "[role=radiogroup], [role=group], fieldset") ?? e : e;
    if (e.getAttribute("name") || e.dataset.field) return null;
    for (let n = from, level = 0; n && level < 5 && !n.matches("form, body, tr"); n = up(n), level += 1) {
      const hidden = [...n.querySelectorAll("input[name], select[name], textarea[name]")]
        .filter((o) => o !== e && !/^_|csrf|token|nonce/i.test(o.name) && (o.type === "hidden" || !placeOf(o)));
      if (hidden.length) return hidden.length === 1 && isAlone(n, sameChoice(e)) ? hidden[0] : null;
    }
    return null;
  }
  const popupOf = (e) => { const list = attribute(e, "aria-controls") || attribute(e, "aria-owns"); return list && e.getRootNode().getElementById(list.split(" ")[0]); };
  // Of a calendar or another popup: its Month, Year and search are no fields of the form.
  function isOfPopup(e, popups) {
    if (e.name || e.dataset.field) return false;
    if (popups.some((popup) => popup !== e && holds(popup, e)) || near(e, "[role=listbox], .select2-dropdown") !== (e.matches("[role=listbox]") ? e : null)) return true;
    if (!e.matches("select, input[type=number], [role=spinbutton], [role=combobox]")) return false;
    for (let n = up(e), level = 0; n && level < 6 && !n.matches("form, body, fieldset"); n = up(n), level += 1) {
      if (!n.matches(POPUP)) continue;
      const days = new Set([...n.querySelectorAll("td, button, [role=gridcell], [class*=day i]")].map((d) => d.textContent.trim()).filter((t) => /^([1-9]|[12]\d|3[01])$/.test(t)));
      if (days.size >= 20 || /flatpickr|timepicker/i.test(n.className)) return true;
    }
    return false;
  }
  const optionsOf = (e) => [...(e.options ?? e.list?.options ?? (e.matches("[role=listbox]") ? e : popupOf(e))?.querySelectorAll("[role=option]") ?? [])]
    .filter((o) => o.tagName !== "OPTION" || !o.parentElement.disabled).slice(0, 1000);
  const optionText = (o) => clean(o.label || o.text || textOf(o, "hidden") || o.value);
  const optionValue = (o) => clean(o.dataset.value ?? o.getAttribute("value") ?? (o.value || textOf(o, "hidden")), 500);
  // What is chosen or written: as people read it, and as it is sent.
  function content(e, pair) {
    const chosen = e.tagName === "SELECT" ? [...e.selectedOptions] : e.matches("[role=listbox]") ? optionsOf(e).filter((o) => o.ariaSelected === "true" || o.ariaChecked === "true") : null;
    const many = Boolean(e.multiple) || e.ariaMultiSelectable === "true";
    let shown, sent;
    if (e.type === "file") [shown, sent] = [[...e.files].map((f) => f.name).join(", "), [...e.files].map((f) => f.name)];
    else if (chosen) [shown, sent] = [chosen.filter((o) => o.value !== "").map(optionText).join(", "), chosen.map((o) => e.options ? o.value : optionValue(o))];
    else shown = (e.matches(NATIVE) ? e.value : e.ariaValueText || e.ariaValueNow || (isTick(e) ? optionValue(e) : e.innerText?.trim())) ?? "";
    sent = chosen || e.type === "file" ? (many && e.type !== "email" ? sent : sent[0] ?? "") : shown;
    if (pair?.value && !(isTick(e) && sameChoice(e).length < 2)) sent = pair.multiple ? [...pair.selectedOptions].map((o) => o.value) : pair.value;
    return { shown: shown.slice(0, 1e5), sent: Array.isArray(sent) ? sent.slice(0, 1000) : sent.slice(0, 1e5), many, pair: Boolean(pair?.value) };
  }
  const ticked = (e) => e.checked ?? { true: true, false: false }[e.ariaChecked ?? e.ariaPressed ?? (e.matches("[role=option], [role=tab], [role=gridcell]") ? e.ariaSelected : null)] ?? null;
  const optionOf = (e) => {
    if (e.dataset.option !== undefined) return e.dataset.option;
    if (roleOf(e) === "option") return optionValue(e);
    const choice = e.type === "radio" || e.type === "checkbox" || roleOf(e) === "radio" ? sameChoice(e) : [e];
    if (choice.length < 2 && e.type !== "radio") return null;
    const value = e.matches(NATIVE) ? e.value : optionValue(e);
    return choice.some((o) => o !== e && (o.matches(NATIVE) ? o.value : optionValue(o)) === value) ? tidy(rawLabel(e)) || value : value;
  };
  const baseName = (e, pair) => e.dataset.field || e.getAttribute("name") || pair?.name
    || tidy((choiceLabel(e) ?? rawLabel(e))) || e.id || kindOf(e);

  function* walk(root) {
    for (const e of root.querySelectorAll("*")) { yield e; if (e.shadowRoot) yield* walk(e.shadowRoot); }
  }
  function isField(e, popups) {
    if (e.matches("[data-field]")) return e.matches(FIELD);
    if (!e.matches(FIELD) || isOfPopup(e, popups) || popups.includes(e)) return false;
    // A combobox around an input, an editor in an editor: the innermost native control counts.
    return e.matches(NATIVE) || !(e.querySelector("input:not([type=hidden i]), select, textarea") && !isTick(e) && e.querySelector(NATIVE) && placeOf(e.querySelector(NATIVE)))
      && !(e.isContentEditable && up(e)?.isContentEditable);
  }
  function hintOf(e, label) {
    const size = [e.min, e.max].some(Boolean) && `${e.min}…${e.max}`, wrong = e.ariaInvalid === "true" && !e.getAttribute("aria-errormessage");
    const format = { date: "YYYY-MM-DD", time: "HH:MM", month: "YYYY-MM", week: "YYYY-Www", "datetime-local": "YYYY-MM-DDTHH:MM" }[e.type];
    const helper = alone(e)?.querySelector(".form-text, .help-block, .helper-text, .help, .hint, [class*=hint i], [class*=helper i]");
    return clean([...new Set([e.placeholder, wrong ? "" : referred(e, "aria-describedby"), helper && clean(textOf(helper)), e.title !== label && e.matches(FIELD) && e.title, format, size,
      e.pattern && `pattern ${e.pattern}`, e.accept, e.readOnly && "read-only"].filter(Boolean))].join("; "), 400);
  }
  // The largest element around a field that holds no other.
  function alone(e) {
    const choice = sameChoice(e);
    let n = null;
    for (let p = up(e), level = 0; p && level < 4 && !p.matches("form, body, fieldset, tr") && isAlone(p, choice); p = up(p), level += 1) n = p;
    return n;
  }
  function messageOf(e) {
    const invalid = e.ariaInvalid === "true", text = invalid ? referred(e, "aria-errormessage") || referred(e, "aria-describedby") : "";
    const near = text ? null : [...alone(e)?.querySelectorAll("[class*=invalid i], [class*=error i], [class*=danger i], [class*=wrong i], [role=alert]") ?? []]
      .find((n) => !n.matches(FIELD) && !n.querySelector(FIELD) && boxOf(n) && LETTER.test(textOf(n)));
    return text || (near ? clean(textOf(near)) : "") || (e.matches(":user-invalid") ? clean(e.validationMessage) : "");
  }
  function groupsOf(e, heading) {
    const path = [];
    for (let n = near(up(e) ?? e, GROUP); n; n = up(n) && near(up(n), GROUP)) {
      const name = groupName(n), dialog = n.matches("dialog, [role=dialog], [role=alertdialog]");
      if (name || dialog) path.unshift(dialog ? `dialog ${name}`.trim() : name);
    }
    return [heading, ...path].filter((text, at, list) => text && list.indexOf(text) === at);
  }

  // All of the document, with boxes in pixels of its window.
  function listed() {
    if (!document.body) return null;
    const all = [...walk(document)], popups = all.filter((e) => e.matches(`[role=combobox], [aria-haspopup], ${NATIVE}`)).map(popupOf).filter(Boolean);
    const used = new Map(), choices = new Map(), controls = [], frames = [];
    let heading = "";
    for (const e of all) {
      if (e.matches(HEADING)) { if (boxOf(e)) heading = clean(textOf(e, true)); continue; }
      if (controls.length >= MOST || !(e.matches(FIELD) || e.matches(PUSHED) || pointed(e))) continue;
      const field = isField(e, popups), pair = field ? partner(e) : null;
      let name = e.dataset.field || e.closest("[data-for]")?.dataset.for || "";
      if (field && !name) {
        const first = sameChoice(e)[0];
        if (!choices.has(first)) {
          const base = baseName(e, pair), times = (used.get(base) ?? 0) + 1;
          used.set(base, times);
          choices.set(first, times > 1 ? `${base}#${times}` : base);
        }
        name = choices.get(first);
      }
      const list = !field && near(e, "[role=listbox]");
      names.set(e, name || (list && names.get(list)) || "");
      const place = placeOf(e);
      if (!place || isFolded(place)) continue;
      if (e.tagName === "IFRAME") {
        frames.push({ n: number(e), at: origin(e), name: clean(e.title || e.ariaLabel || e.name), covered: isCovered(e, e, edges(e)) });
        continue;
      }
      if (!field && places.has(e) && e.tagName !== "LABEL") continue;
      controls.push(described(e, place, field, pair, heading));
    }
    return { key, url: location.href.split("#")[0], scroll: [scrollX, scrollY], controls, frames,
      size: [document.documentElement.scrollWidth, document.documentElement.scrollHeight] };
  }
  // Table cells and the like that only their pointer shows to be pushed, such as calendar days.
  const pointed = (e) => e.matches("td, li, span, div") && !e.querySelector("*") && getComputedStyle(e).cursor === "pointer"
    && !near(up(e), `${PUSHED}, label, select`);
  function described(e, place, field, pair, heading) {
    const raw = rawLabel(e), whole = field ? choiceLabel(e) : null, label = whole ? tidy(whole) : tidy(raw), box = area(place);
    const value = field || e.matches("[data-field]") ? content(e, pair) : { shown: e.tagName === "INPUT" ? e.value : "", sent: "", many: false };
    return { n: number(e), field: names.get(e), option: optionOf(e), kind: kindOf(e), role: roleOf(e), name: tidy(raw), label,
      group: groupsOf(e, heading), answers: field, value: value.shown, sent: value.sent, written: value.pair ?? false, checked: ticked(e), many: value.many, box,
      options: e.matches("select, input, [role=listbox], [role=combobox]") && (e.options || e.list || !e.matches(NATIVE) || popupOf(e)) ? optionsOf(e).map(optionText) : null,
      required: Boolean(e.required) || e.ariaRequired === "true" || /^\s*[*＊]|[*＊]\s*:?\s*$|[([]required[)\]]/i.test(whole || raw) || near(e, "[role=radiogroup]")?.ariaRequired === "true",
      disabled: e.matches(":disabled") || e.ariaDisabled === "true", covered: isCovered(e, place, box),
      hint: field ? hintOf(e, raw) : "", message: field ? messageOf(e) : "", labels: [...(e.labels ?? [])].map(edges) };
  }
  const short = (c) => ({ field: c.field, option: c.option, kind: c.kind, value: [c.sent].flat().join(", "), checked: c.checked, options: c.options, box: c.box, labels: c.labels });
  return {
    key, number, get, listed, origin,
    // Of people's pages only what the log of an agent has.
    logged: () => { const now = listed(); return now && { ...now, controls: now.controls.filter((c) => !c.disabled && (c.answers || c.field || c.kind === "button")).map(short) }; },
    shown: (e) => e && { field: names.get(e) || e.dataset?.field || e.closest?.("[data-for]")?.dataset.for || e.tagName.toLowerCase(), option: optionOf(e), kind: kindOf(e), checked: e.checked ?? ticked(e),
      value: e.matches(`${FIELD}, button, input`) ? content(e).shown || (e.value ?? "") : "", box: area(placeOf(e) ?? e) },
    at: ([x, y]) => {
      const hit = deepest(x, y), label = hit && near(hit, "label")?.control, used = hit && near(hit, `${FIELD}, ${PUSHED}`);
      const stand = hit && near(hit, "button, [role=button], [type=button]");
      return (stand && places.get(stand)) || used || label || null;
    },
    active: () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; },
    // Where an element takes clicks now, scrolled into view if it was not.
    reach: (n) => {
      const e = get(n), place = e && (placeOf(e) ?? (e.tagName === "IFRAME" ? e : null));
      if (!place) return null;
      const [x0, y0, x1, y1] = area(place);
      if (x0 < 0 || y0 < 0 || x1 > innerWidth || y1 > innerHeight || deepest((x0 + x1) / 2, (y0 + y1) / 2) !== place) place.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
      return e.tagName === "IFRAME" ? [...origin(e), ...edges(e).slice(2)] : area(place);
    },
  };
}
