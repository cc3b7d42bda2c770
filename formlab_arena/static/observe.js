// What can be read and used in one document, its open shadow roots included: an expression that
// makes the observer of that document. `logged`, `shown` and `at` serve people's pages as well.
() => {
  "use strict";
  const MOST = 3000, LONGEST = 20000, LETTER = /[\p{L}\p{N}]/u;
  const roles = (names) => names.split(" ").map((name) => `[role=${name}]`).join();
  const NATIVE = "input:not([type=hidden i], [type=submit i], [type=button i], [type=reset i], [type=image i]), select, textarea";
  const RICH = "[contenteditable]:not([contenteditable=false i])";
  const FIELD = `${NATIVE}, ${RICH}, ${roles("radio checkbox switch listbox combobox slider spinbutton textbox searchbox")}`;
  const PUSHED = roles("button link tab menuitem menuitemcheckbox menuitemradio option treeitem gridcell");
  const OTHER = "input:not([type=hidden i]), button, summary, a[href], canvas, iframe, [data-field], [onclick]";
  const USED = `${FIELD}, ${OTHER}, [tabindex]:not([tabindex="-1"]), ${PUSHED}`;
  const SILENT = `${NATIVE}, ${RICH}, button, input, option, script, style, template, noscript, svg, ${roles("button listbox combobox slider spinbutton textbox")}`;
  const GROUP = `fieldset, dialog, ${roles("group radiogroup dialog alertdialog tabpanel")}`;
  const HEADING = "h1, h2, h3, h4, h5, h6, [role=heading]", EDGE = "form, body, fieldset, dialog, [role=dialog]";
  const WRONG = "[class*=invalid i], [class*=error i], [class*=danger i], [class*=wrong i], [role=alert]";
  const HELP = ".form-text, .help-block, .help, [class*=hint i], [class*=helper i]";
  const INLINE = /^(A|ABBR|B|CODE|EM|FONT|I|LABEL|MARK|S|SMALL|SPAN|STRONG|SUB|SUP|U)$/;
  const ROLES = { A: "link", BUTTON: "button", SUMMARY: "button", TEXTAREA: "textbox", SELECT: "combobox", submit: "button", button: "button",
    reset: "button", image: "button", file: "button", text: "textbox", email: "textbox", tel: "textbox", url: "textbox", password: "textbox",
    search: "searchbox", number: "spinbutton", range: "slider", radio: "radio", checkbox: "checkbox" };
  const TICKS = { radio: "radio", checkbox: "checkbox", switch: "checkbox" };
  const FORMATS = { date: "YYYY-MM-DD", time: "HH:MM", month: "YYYY-MM", week: "YYYY-Www", "datetime-local": "YYYY-MM-DDTHH:MM" };
  const key = Math.random().toString(36).slice(2);
  const numbers = new WeakMap(), elements = new Map(), names = new WeakMap(), inputs = new WeakMap(), caches = [];
  let last = 0, popups = [], room = 0;

  // Answers that hold as long as the page stands still: forgotten before each look.
  const cache = () => { const map = new Map(); caches.push(map); return map; };
  const memo = (f, map = cache()) => (e) => { if (!map.has(e)) map.set(e, f(e)); return map.get(e); };
  const fresh = (f) => (...all) => { for (const map of caches) map.clear(); return f(...all); };
  const up = (e) => e.parentElement ?? e.getRootNode().host ?? null;
  const path = (e, most = 99) => { const list = []; for (let n = e; n && list.length < most; n = up(n)) list.push(n); return list; };
  const near = (e, css) => path(e).find((n) => n.matches(css)) ?? null;
  const holds = (e, other) => e.contains(other) || path(other).includes(e);
  // The ancestors that may belong to a field alone.
  const around = (e, most = 4) => { const list = path(up(e), most), end = list.findIndex((n) => n.matches(EDGE)); return end < 0 ? list : list.slice(0, end); };
  const number = (e) => { if (!numbers.has(e)) { numbers.set(e, last += 1); elements.set(last, new WeakRef(e)); } return numbers.get(e); };
  const get = (n) => { const e = elements.get(n)?.deref(); return e?.isConnected ? e : null; };
  // What is no text: the number of a list item, or an input that goes by the name of a form's member.
  const clean = (text, most = 200) => typeof text === "string" ? text.replace(/\s+/g, " ").trim().slice(0, most).toWellFormed() : "";
  const attribute = (e, name) => e.getAttribute(name) ?? "";
  const roleOf = (e) => clean(attribute(e, "role").split(" ")[0], 40)
    || (e.tagName === "INPUT" ? ROLES[e.type] : e.multiple || e.size > 1 ? "listbox" : ROLES[e.tagName]) || (e.isContentEditable ? "textbox" : "");
  const isTick = (e) => e.type === "radio" || e.type === "checkbox" || roleOf(e) in TICKS;
  const kindOf = (e) => e.tagName === "INPUT" ? e.type : TICKS[attribute(e, "role")]
    ?? (e.matches("select, textarea, button, a, canvas") ? e.tagName.toLowerCase() : roleOf(e) || e.tagName.toLowerCase());
  // What holds a choice without a name: what is around radios, a group of check boxes by role.
  const rootOf = (e) => roleOf(e) === "radio" ? near(e, "[role=radiogroup], [role=group], fieldset") ?? up(e)
    : (e.matches("[role=checkbox]") && near(e, "[role=group][aria-label], [role=group][aria-labelledby]")) || e;
  // All ticks of a choice; else the element alone.
  const choices = cache();
  const choiceOf = (e) => {
    if (choices.has(e)) return choices.get(e);
    const native = e.matches("input[type=radio], input[type=checkbox]"), root = rootOf(e);
    const list = native && e.name ? [...e.getRootNode().querySelectorAll(`input[type=${e.type}]`)].filter((o) => o.name === e.name && o.form === e.form)
      : root === e ? [e] : [...root.querySelectorAll(`[role=${roleOf(e)}], input[type=radio]`)].filter((o) => !o.name && roleOf(o) === roleOf(e));
    for (const o of [e, ...list]) choices.set(o, list.length ? list : [e]);
    return choices.get(e);
  };

  // The browser's own list of labels goes through the whole page for each field.
  const labelled = memo((root) => {
    const map = new Map();
    for (const label of root.querySelectorAll("label")) if (label.control) map.set(label.control, [...map.get(label.control) ?? [], label]);
    return map;
  });
  const labelsOf = (e) => labelled(e.getRootNode()).get(e) ?? [];

  // Text as people read it: without that of controls and of what is hidden, unless `all` says so.
  function textOf(node, all = "") {
    if (node?.nodeType === 3) return node.data;
    if (node?.nodeType !== 1 || node.tagName === "BR" || (!all && node.matches(SILENT)) || (all !== "hidden" && !node.checkVisibility())) return " ";
    const text = [...(node.shadowRoot ?? node).childNodes].map((child) => textOf(child, all)).join("") || (node.tagName === "IMG" ? node.alt : "");
    return INLINE.test(node.tagName) ? text : ` ${text} `;
  }
  const referred = (e, name) => clean(attribute(e, name).split(/\s+/).filter(Boolean)
    .map((id) => e.getRootNode().getElementById(id)).map((n) => n && !e.contains(n) ? textOf(n, "hidden") : "").join(" "), 300);
  // What stands before or after an element on its line, or the block next to it.
  function beside(e, step, field = e) {
    let text = "", passed = false;
    for (let n = e[step]; n; n = n[step]) {
      if (n.nodeType === 1) {
        const block = !INLINE.test(n.tagName), isBreak = block && (LETTER.test(text) || (passed && n.tagName === "BR"));
        if (isBreak || n.matches("legend") || (n.matches(HEADING) && !(up(n) && isAlone(up(n), field)))) break;
        if (n.matches(FIELD) || n.querySelector(FIELD)) {
          // The second input of a telephone number is read with the text before the first.
          if (LETTER.test(text) || !n.matches(NATIVE) || e.placeholder || step === "nextSibling") break;
          passed = true;
          continue;
        }
        if (block && LETTER.test(textOf(n))) return clean(text + textOf(n));
      }
      text = step === "nextSibling" ? text + textOf(n) : textOf(n) + text;
    }
    return LETTER.test(text) ? clean(text) : "";
  }
  // Whose alone an element is: the first tick of the choice, or the field; false if of several.
  const owners = cache();
  const isAlone = (n, e) => (owners.get(n) ?? choiceOf(e)[0]) === choiceOf(e)[0];
  const alone = memo((e) => around(e).findLast((n) => !n.matches("tr, table") && isAlone(n, e)) ?? null);
  function before(n, e) {
    for (const outer of [n, ...around(n)]) {
      const text = beside(outer, "previousSibling", e), parent = up(outer);
      if (text) return text;
      if (!parent || parent.matches(`${EDGE}, table, tr`) || !isAlone(parent, e)) return "";
      if (choiceOf(e).length === 1 && LETTER.test(textOf(parent))) return clean(textOf(parent));
    }
    return "";
  }
  const cellText = (cell) => cell && !cell.querySelector(FIELD) ? clean(textOf(cell)) : "";
  const columns = memo((table) => new Set([...table.rows].flatMap((row) => [...row.cells].filter((c) => c.querySelector(FIELD)).map((c) => c.cellIndex))));
  // The text of the cell to the left and that of the header, or of the row, above; and what stands
  // above all fields with a text of their own, such as "Answer".
  function cells(e, cell = near(e, "td, th")) {
    const row = cell?.parentElement, table = cell?.closest("table"), rows = [...table?.rows ?? []];
    const texts = (list) => list.map(cellText).find((text) => LETTER.test(text)) ?? "";
    if (!rows.length) return ["", "", ""];
    const side = texts([...row.cells].slice(0, cell.cellIndex).reverse()), head = rows[0] !== row && rows[0].querySelector("th") ? rows[0] : null;
    const above = texts([(head ?? (side ? null : rows[rows.indexOf(row) - 1]))?.cells[cell.cellIndex]]);
    return side && columns(table).size < 2 ? [side, "", above] : [side, above, ""];
  }
  // The text of the cell after that of a tick, where a row ends with a text and no column has a head.
  function cellAfter(e) {
    const row = near(e, "td, th")?.parentElement, [side, above] = cells(e), texts = [...row?.cells ?? []].map(cellText);
    return above || !texts.at(-1) || (side && choiceOf(e).length < 2) ? "" : texts[near(e, "td, th").cellIndex + 1] ?? "";
  }
  // The label of a table within a cell, which stands in the cell to the left or above.
  function aroundTable(e, common) {
    const table = near(common, "table"), cell = table && isAlone(table, e) && near(up(table), "td, th");
    const [side, above] = cell ? cells(e, cell) : ["", ""];
    return side || above;
  }
  const labelOf = memo((e) => {
    const tick = isTick(e), native = e.matches(NATIVE), labels = "labels" in e ? labelsOf(e)
      : e.matches(FIELD) ? (partner(e) ? labelsOf(partner(e)) : [near(e, "label")]) : [];
    const own = referred(e, "aria-labelledby") || clean([...labels].map((n) => textOf(n)).join(" "));
    if (LETTER.test(own)) return own;
    if (!e.matches(FIELD) || (tick && !native)) return clean(e.ariaLabel || textOf(e, "controls")) || clean(e.value || e.alt || e.title || e.querySelector("[alt]")?.alt);
    const [side, above] = cells(e), inCell = near(e, "td, th") ? beside(e, "previousSibling") : "";
    return clean(e.ariaLabel || (tick && (beside(e, "nextSibling") || cellAfter(e))) || e.title) || inCell || (tick ? above || side : `${side} ${above}`.trim())
      || before(e, e) || clean(e.placeholder || e.ariaPlaceholder || attribute(e, "data-placeholder"));
  });
  const tidy = (text) => text.replace(/^\s*[*＊]\s*|\s*([*＊]|[([](required|optional)[)\]])\s*(?=:?\s*$)/gi, "").replace(/[\s:–-]+$/, "").trim() || text;
  const groupName = (n) => referred(n, "aria-labelledby") || clean(n.ariaLabel) || clean(textOf([...n.children].find((c) => c.matches("legend"))));
  // The label of a choice as a whole: of its group, its row of a table, or the text before it.
  const wholeLabel = memo((e) => {
    const ticks = choiceOf(e), all = (n) => ticks.every((o) => holds(n, o)), group = up(e) && near(up(e), GROUP), named = group && all(group) && groupName(group);
    if (ticks.length < 2 && roleOf(e) !== "radio") return null;
    if (named && isAlone(group, e)) return named;
    const [side, above] = cells(e), common = path(up(e)).find(all), first = path(ticks[0]).find((n) => up(n) === common);
    return (side && above && side) || (first && beside(first, "previousSibling", e)) || (common && !common.matches(EDGE) && (before(common, e) || aroundTable(e, common))) || named || "";
  });
  const groups = memo((e) => {
    if (!e) return [];
    const dialog = e.matches("dialog, [role=dialog], [role=alertdialog]"), name = e.matches(GROUP) ? tidy(groupName(e)) : "";
    return [...groups(up(e)), ...(name || dialog ? [dialog ? `dialog ${name}`.trim() : name] : [])];
  });

  // The box of what is drawn and not clipped away, in pixels of the document's window.
  const boxOf = memo((e) => {
    const box = e.isConnected && e.checkVisibility({ visibilityProperty: true }) && [...e.getClientRects()].find((b) => b.width > 1 && b.height > 1);
    if (!box || box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return null;
    const style = getComputedStyle(e);
    return /^rect\([01]px,? [01]px,? [01]px/.test(style.clip) || /inset\((50|100)%/.test(style.clipPath) ? null : box;
  });
  // What takes the clicks: of a hidden tick or file its label or button; null for what nobody can use.
  const placeOf = memo((e) => {
    const box = boxOf(e), tick = e.matches("input[type=radio], input[type=checkbox], input[type=file]"), style = tick && box && getComputedStyle(e);
    if (!tick && box && e.matches("input[aria-hidden=true]") && getComputedStyle(e).pointerEvents === "none") return null;
    if (!tick || (box && style.opacity !== "0" && style.pointerEvents !== "none")) return box && e;
    const near = e.type === "file" ? around(e, 3).filter((n) => n.querySelectorAll("input[type=file]").length === 1) : [];
    const other = labelsOf(e).find(boxOf) ?? near.flatMap((n) => [...n.querySelectorAll("button, [role=button], [type=button]")]).find(boxOf);
    if (other) inputs.set(other, e);
    return other ?? (box && e);
  });
  const edges = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const areaOf = (place) => {
    const b = boxOf(place) ?? place.getBoundingClientRect(), linked = place.tagName === "LABEL" && place.querySelector("a");
    // The middle of a label with a link in it must not be the link.
    return [b.left, b.top, linked ? Math.min(b.right, b.left + 20) : b.right, b.bottom];
  };
  const origin = (frame) => {
    const [x, y] = edges(frame), style = getComputedStyle(frame);
    return [x + frame.clientLeft + parseFloat(style.paddingLeft), y + frame.clientTop + parseFloat(style.paddingTop)];
  };
  const deepest = (x, y) => {
    let e = document.elementFromPoint(x, y);
    for (let inner; (inner = e?.shadowRoot?.elementFromPoint(x, y)) && inner !== e;) e = inner;
    return e;
  };
  const modal = memo(() => document.querySelector("dialog:modal"));
  const curtain = memo(() => path(deepest(innerWidth / 2, innerHeight / 2)).find((n) => {
    const b = n.getBoundingClientRect();
    return b.width * b.height > 0.8 * innerWidth * innerHeight && getComputedStyle(n).position === "fixed";
  }));
  // Whether something lies over it; what is scrolled out of its pane is only out of view.
  function isCovered(e, place, [x0, y0, x1, y1]) {
    const x = (x0 + x1) / 2, y = (y0 + y1) / 2;
    if (modal()) return !holds(modal(), e);
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return Boolean(curtain() && !holds(curtain(), e));
    const hit = deepest(x, y), parent = up(place);
    if (!hit || holds(place, hit) || holds(hit, place) || near(hit, "label")?.control === e) return false;
    if (parent && holds(parent, hit) && !parent.matches(EDGE) && isAlone(parent, e)) return false;
    return !path(parent).some((n) => {
      const [left, top, right, bottom] = edges(n);
      return (x < left || x > right || y < top || y > bottom) && getComputedStyle(n).overflow !== "visible";
    });
  }
  const isFolded = memo((n) => Boolean(n && n !== document.body)
    && (((n.clientHeight < 2 || n.clientWidth < 2) && /hidden|clip/.test(getComputedStyle(n).overflow)) || isFolded(up(n))));

  const popupOf = (e) => { const id = (attribute(e, "aria-controls") || attribute(e, "aria-owns")).split(" ")[0]; return id && e.getRootNode().getElementById(id); };
  // In a popup of another field, such as a calendar: its Month, Year and search are no fields of the form.
  function isOfPopup(e) {
    if (attribute(e, "name") || e.dataset.field) return false;
    if (popups.some((popup) => holds(popup, e)) || near(up(e) ?? e, "[role=listbox], .select2-dropdown")) return true;
    return e.matches("select, input[type=number], [role=spinbutton], [role=combobox]") && around(e, 6).some((n) => /flatpickr|timepicker/i.test(attribute(n, "class"))
      || new Set([...n.querySelectorAll("td, button, [role=gridcell], [class*=day i]")].map((d) => clean(d.textContent)).filter((t) => /^([1-9]|[12]\d|3[01])$/.test(t))).size > 19);
  }
  // The native control counts, and not the combobox around it; the editor, and not what it has inside.
  const isField = memo((e) => e.matches(FIELD) && (e.dataset.field !== undefined || !isOfPopup(e)) && (e.matches(NATIVE)
    || ((isTick(e) || ![...e.querySelectorAll(NATIVE)].some(placeOf)) && !(e.matches(RICH) && up(e)?.isContentEditable))));
  // The hidden control with a name that a widget without one writes to.
  const partner = memo((e) => {
    if (attribute(e, "name") || e.dataset.field) return null;
    for (const n of [rootOf(e), ...around(rootOf(e))].filter((n) => n.tagName !== "TR")) {
      const hidden = [...n.querySelectorAll("input[name], select[name], textarea[name]")]
        .filter((o) => o !== e && !/^_|csrf|token|nonce/i.test(o.name) && (o.type === "hidden" || !placeOf(o)));
      if (hidden.length) return hidden.length === 1 && isAlone(n, e) ? hidden[0] : null;
    }
    return null;
  });
  const optionsOf = memo((e) => [...e.options ?? e.list?.options ?? partner(e)?.options
    ?? ((e.matches("[role=listbox]") && e) || popupOf(e) || null)?.querySelectorAll("[role=option]") ?? []].slice(0, 1000));
  const optionText = (o) => clean(o.label) || clean(textOf(o, "hidden")) || clean(o.value);
  const sentOf = (o) => clean(o.dataset.value ?? o.dataset.val ?? o.dataset.v ?? o.getAttribute("value") ?? (o.value || textOf(o, "hidden")), 500);
  const codeOf = (o) => o.tagName === "OPTION" ? o.value : sentOf(o);
  // A combobox that shows no choice but what to do.
  const isBlank = (e, text) => roleOf(e) === "combobox" && !e.matches(NATIVE)
    && (partner(e) ? !partner(e).value : optionsOf(e).length > 0 && !optionsOf(e).some((o) => optionText(o) === clean(text)));
  // What is chosen or written, as people read it and as it is sent.
  function content(e) {
    if (!isField(e)) return { value: "", many: false, paired: false, sent: "" };
    const pair = partner(e), many = e.type !== "email" && (Boolean(e.multiple) || e.ariaMultiSelectable === "true");
    let shown, sent;
    if (e.type === "file") shown = sent = [...e.files].map((file) => file.name);
    else if (e.matches("select, [role=listbox]")) {
      const chosen = optionsOf(e).filter((o) => o.selected ?? (o.ariaSelected === "true" || o.ariaChecked === "true"));
      shown = chosen.filter((o) => o.value !== "").map(optionText);
      sent = chosen.map(codeOf);
    } else if (e.matches(NATIVE)) shown = sent = [e.value];
    else {
      const text = e.ariaValueText || e.ariaValueNow || (isTick(e) ? sentOf(e) : e.innerText?.trim()) || "";
      shown = isBlank(e, text) ? [] : [text];
      sent = isBlank(e, text) ? [] : [e.ariaValueNow || text];
    }
    const paired = Boolean(pair?.value) && (!isTick(e) || roleOf(e) === "radio");
    if (paired) sent = pair.multiple ? [...pair.selectedOptions].map((o) => o.value) : [pair.value];
    sent = sent.map((text) => text.slice(0, LONGEST).toWellFormed());
    return { value: shown.join(", ").slice(0, LONGEST).toWellFormed(), many, paired, sent: many || pair?.multiple ? sent : sent[0] ?? "" };
  }
  const ticked = (e) => e.matches("input") ? (isTick(e) ? e.checked : null)
    : { true: true, false: false }[e.ariaChecked ?? e.ariaPressed ?? (e.matches(roles("option tab gridcell treeitem")) ? e.ariaSelected : null)]
      ?? (isTick(e) || roleOf(e) === "option" ? false : null);
  const optionOf = memo((e) => {
    if (e.dataset.option !== undefined || roleOf(e) === "option") return e.dataset.option ?? sentOf(e);
    const value = (o) => o.matches(NATIVE) ? o.value : sentOf(o), ticks = choiceOf(e);
    if (roleOf(e) !== "radio" && ticks.length < 2) return null;
    return ticks.some((o) => o !== e && value(o) === value(e)) ? tidy(labelOf(e)) || value(e) : value(e);
  });
  const hintOf = (e) => clean([...new Set([clean(e.placeholder), e.ariaInvalid === "true" && !attribute(e, "aria-errormessage") ? "" : referred(e, "aria-describedby"),
    clean(textOf(alone(e)?.querySelector(HELP))), e.title === labelOf(e) ? "" : e.title, FORMATS[e.type], (e.min || e.max) && `${e.min}…${e.max}`,
    e.pattern && `pattern ${e.pattern}`, e.accept, e.readOnly && "read-only"].filter(Boolean))].join("; "), 400);
  function messageOf(e) {
    const text = e.ariaInvalid === "true" && (referred(e, "aria-errormessage") || referred(e, "aria-describedby"));
    const beside = text || [...alone(e)?.querySelectorAll(WRONG) ?? []].find((n) => !n.matches(FIELD) && !n.querySelector(FIELD) && boxOf(n) && LETTER.test(textOf(n)));
    return text || clean(textOf(beside)) || (e.matches(":user-invalid") ? clean(e.validationMessage) : "");
  }

  function* walk(root) { for (const e of root.querySelectorAll("*")) { yield e; if (e.shadowRoot) yield* walk(e.shadowRoot); } }
  // What only its pointer shows to be pushed, such as a day of a calendar.
  const isPointed = (e) => !e.firstElementChild && e.matches("td, li, span, div") && getComputedStyle(e).cursor === "pointer" && !near(up(e), `${USED}, label`);
  // In formlab's own forms elements say what they belong to.
  const ownName = (e) => e.dataset.field || (!e.matches(FIELD) && document.querySelector("[data-field]") && near(e, "[data-for]")?.dataset.for) || "";
  // The names of all fields, also of those out of sight: unique, one for all ticks of a choice.
  function name(all) {
    const used = new Map(), given = new Map(), written = new Set(all.filter((o) => isField(o) && placeOf(o)).map(partner));
    for (const e of all) names.set(e, ownName(e));
    for (const e of all.filter((o) => isField(o) && !names.get(o) && !written.has(o))) {
      const [first] = choiceOf(e);
      if (!given.has(first)) {
        const base = attribute(e, "name") || rootOf(e).dataset.name || partner(e)?.name || tidy(wholeLabel(e) ?? labelOf(e)) || e.id || kindOf(e);
        used.set(base, (used.get(base) ?? 0) + 1);
        given.set(first, used.get(base) > 1 ? `${base}#${used.get(base)}` : base);
      }
      names.set(e, given.get(first));
    }
    for (const e of all.filter((o) => roleOf(o) === "option")) names.set(e, names.get(near(e, "[role=listbox]")) || "");
  }
  function described(e, place, heading) {
    const field = isField(e), whole = field ? wholeLabel(e) : null, own = tidy(labelOf(e)), box = areaOf(place), starred = /^\s*[*＊]|[*＊]\s*:?\s*$|[([]required[)\]]/i;
    const options = field ? optionsOf(e).slice(0, room) : [], asked = e.required === true || [e, near(e, "[role=radiogroup]")].some((n) => n?.ariaRequired === "true");
    room -= options.length;
    return { n: number(e), field: names.get(e), answers: field, option: optionOf(e), kind: kindOf(e), role: roleOf(e), name: own,
      label: whole === null ? own : tidy(whole) || names.get(e), group: [...new Set([heading, ...groups(up(e)), field && cells(e)[2]])].filter(Boolean),
      ...content(e), checked: ticked(e), options: options.length ? options.map(optionText) : null, values: options.length ? options.map(codeOf) : null,
      required: asked || (field && starred.test(whole || labelOf(e))), disabled: e.matches(":disabled") || e.ariaDisabled === "true",
      covered: isCovered(e, place, box), hint: field ? hintOf(e) : "", message: field ? messageOf(e) : "",
      box, labels: labelsOf(e).map(edges) };
  }
  // All of the document, with boxes in pixels of its window.
  const listed = fresh(() => {
    if (!document.body) return null;
    const all = [...walk(document)].filter((e) => e.matches(USED) || e.matches(HEADING) || isPointed(e)).slice(0, 3 * MOST), controls = [], frames = [];
    popups = all.filter((e) => e.matches("[role=combobox], [aria-haspopup], input")).map(popupOf).filter(Boolean);
    for (const e of all.filter((o) => isField(o) && placeOf(o)))
      for (const n of path(e)) {
        if (owners.get(n) === false) break;
        owners.set(n, (owners.get(n) ?? choiceOf(e)[0]) === choiceOf(e)[0] && choiceOf(e)[0]);
      }
    name(all);
    let heading = "";
    room = LONGEST;
    for (const e of all) {
      const place = placeOf(e);
      if (!place || isFolded(place) || controls.length >= MOST) continue;
      if (e.matches(HEADING)) heading = clean(textOf(e, "controls"));
      else if (e.tagName === "IFRAME") frames.push({ n: number(e), at: origin(e), name: clean(e.title || e.ariaLabel || e.name), covered: isCovered(e, e, edges(e)) });
      else if (isField(e) || !inputs.has(e)) controls.push(described(e, place, heading));
    }
    return { key, url: location.href.split("#")[0], scroll: [scrollX, scrollY], controls, frames,
      size: [document.documentElement.scrollWidth, document.documentElement.scrollHeight] };
  });
  return {
    key, number, get, origin,
    // As text, which is faster; old libraries give arrays a `toJSON` that would spoil it.
    listed: () => { const { toJSON } = Array.prototype; delete Array.prototype.toJSON;
      try { return JSON.stringify(listed()); } finally { if (toJSON) Array.prototype.toJSON = toJSON; } },
    // What the log of an agent has of a page, for that of people.
    logged: () => { const now = listed(); return now && { ...now, controls: now.controls.filter((c) => !c.disabled && (c.field || c.kind === "button")).map((c) => (
      { field: c.field, option: c.option, kind: c.kind, value: [c.sent].flat().join(", "), checked: c.checked, options: c.options, box: c.box, labels: c.labels })) }; },
    shown: fresh((e) => e && { field: names.get(e) || ownName(e) || e.tagName.toLowerCase(), option: optionOf(e),
      kind: kindOf(e), checked: ticked(e), value: [content(e).sent].flat().join(", "), box: areaOf(placeOf(e) ?? e) }),
    at: fresh(([x, y]) => { const hit = path(deepest(x, y)).find((n) => inputs.has(n) || n.matches(USED) || n.matches("label"));
      return (hit && (inputs.get(hit) || (hit.tagName === "LABEL" ? hit.control : hit))) ?? null; }),
    active: () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; },
    // Where an element takes clicks now, scrolled into view if it was not.
    reach: fresh((n) => {
      const e = get(n), place = e && placeOf(e), [x0, y0, x1, y1] = place ? areaOf(place) : [];
      if (!place) return null;
      const hit = deepest((x0 + x1) / 2, (y0 + y1) / 2);
      if (x0 < 0 || y0 < 0 || x1 > innerWidth || y1 > innerHeight || !hit || !(holds(place, hit) || holds(hit, place)))
        place.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
      caches.forEach((map) => map.clear());
      return e.tagName === "IFRAME" ? [...origin(e), ...edges(e).slice(2)] : areaOf(place);
    }),
  };
}
