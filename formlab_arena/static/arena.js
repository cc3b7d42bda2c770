"use strict";
// Without this script the form is one long page that the server checks: still usable.
const form = document.querySelector("form");
const pages = [...document.querySelectorAll(".page")];
const turn = (name) => document.querySelector(`[data-field=_${name}]`);
let shown = 0;

function answerOf(name) {
  const controls = [...form.elements].filter((item) => item.name === name && !item.disabled);
  const ticked = controls.find((item) => item.checked);
  if (ticked) return ticked.value;
  const one = controls.find((item) => !["radio", "checkbox"].includes(item.type));
  return one ? one.value : "";
}

function applyConditions() {
  for (const field of document.querySelectorAll("[data-when]")) {
    const applies = answerOf(field.dataset.when) === field.dataset.is;
    field.hidden = !applies;
    // A disabled control is neither checked nor sent.
    for (const control of field.querySelectorAll("input, select, textarea")) control.disabled = !applies;
  }
}

function show(number) {
  shown = number;
  pages.forEach((page, at) => { page.hidden = at !== number; });
  turn("back").hidden = number === 0;
  turn("next").hidden = number === pages.length - 1;
  turn("submit").hidden = number !== pages.length - 1;
  window.scrollTo(0, 0);
}

function checkGroups(page) {
  for (const group of page.querySelectorAll("fieldset[data-required]")) {
    const boxes = [...group.querySelectorAll("input[type=checkbox]")];
    if (boxes.length) boxes[0].setCustomValidity(boxes.some((box) => box.checked) ? "" : "Choose at least one.");
  }
}

function pageHolds(page) {
  checkGroups(page);
  const wrong = [...page.querySelectorAll("input, select, textarea")].find((item) => !item.checkValidity());
  if (wrong?.hidden) complain(wrong);
  else wrong?.reportValidity();
  return !wrong;
}

// A list as component libraries draw it: the browser's own is hidden, and has what is sent.
function customList(select) {
  const box = document.createElement("div"), list = document.createElement("ul"), name = select.name;
  const options = [...select.options].filter((option) => option.value);
  let typed = "", last = 0;
  const choose = (option) => {
    select.value = option.value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const open = (now) => { list.hidden = !now; box.ariaExpanded = String(now); };
  const draw = () => {
    box.textContent = select.selectedOptions[0].text;
    [...list.children].forEach((item, at) => { item.ariaSelected = String(options[at].selected); });
    if (select.checkValidity()) select.parentElement.querySelector("p.wrong")?.remove();
  };
  for (const option of options) {
    const item = document.createElement("li");
    item.role = "option";
    item.textContent = option.text;
    item.addEventListener("click", () => { choose(option); open(false); });
    list.append(item);
  }
  Object.assign(list, { id: `o-${name}`, role: "listbox", hidden: true });
  Object.assign(box, { role: "combobox", tabIndex: 0, ariaExpanded: "false", ariaHasPopup: "listbox" });
  box.setAttribute("aria-controls", list.id);
  select.labels[0].id = `l-${name}`;
  for (const part of [box, list]) {
    part.dataset.field = name;
    part.setAttribute("aria-labelledby", `l-${name}`);
  }
  delete select.dataset.field;
  select.hidden = true;
  select.after(box, list);
  select.addEventListener("change", draw);
  box.addEventListener("click", () => open(list.hidden));
  box.addEventListener("blur", () => setTimeout(() => open(false), 200));
  box.addEventListener("keydown", (event) => {
    const at = options.findIndex((option) => option.selected), end = options.length - 1;
    const to = { Home: 0, End: end, ArrowDown: Math.min(at + 1, end), ArrowUp: Math.max(at - 1, 0) }[event.key];
    if (to !== undefined) choose(options[to]);
    else if (event.key === "Enter" || event.key === "Escape") open(event.key === "Enter" && list.hidden);
    else if (event.key.length === 1 && !event.ctrlKey) {
      // As in the browser's lists, letters find an option by how it begins.
      typed = (event.timeStamp - last > 1000 ? "" : typed) + event.key.toLowerCase();
      last = event.timeStamp;
      const option = options.find((each) => each.text.toLowerCase().startsWith(typed));
      if (option) choose(option);
    } else return;
    event.preventDefault();
  });
  draw();
}

function complain(select) {
  const text = document.createElement("p");
  text.className = "wrong";
  text.textContent = select.validationMessage;
  select.parentElement.querySelector("p.wrong")?.remove();
  select.parentElement.append(text);
  text.scrollIntoView({ block: "nearest" });
}

function calendar(input, button) {
  const box = document.createElement("div");
  box.className = "calendar";
  box.dataset.for = input.name;
  box.hidden = true;
  button.after(box);
  let month = new Date();
  const pad = (number) => String(number).padStart(2, "0");
  const close = () => { box.hidden = true; button.focus(); };
  const item = (label, action, name) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    if (name) made.setAttribute("aria-label", name);
    made.addEventListener("click", action);
    return made;
  };
  const draw = () => {
    const year = month.getFullYear(), at = month.getMonth();
    const move = (months) => () => { month = new Date(year, at + months, 1); draw(); };
    const head = document.createElement("div"), days = document.createElement("div");
    head.className = "head";
    days.className = "days";
    head.append(item("«", move(-12), "Year before"), item("‹", move(-1), "Month before"),
      `${year}-${pad(at + 1)}`, item("›", move(1), "Next month"), item("»", move(12), "Next year"));
    for (let blank = (new Date(year, at, 1).getDay() + 6) % 7; blank > 0; blank -= 1) days.append(document.createElement("span"));
    for (let day = 1; day <= new Date(year, at + 1, 0).getDate(); day += 1) {
      days.append(item(day, () => {
        input.value = `${year}-${pad(at + 1)}-${pad(day)}`;
        input.dispatchEvent(new Event("input", { bubbles: true }));
        close();
      }));
    }
    box.replaceChildren(head, days);
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const set = /^(\d{4})-(\d\d)-\d\d$/.exec(input.value);
    if (set) month = new Date(Number(set[1]), Number(set[2]) - 1, 1);
    draw();
    box.hidden = !box.hidden;
  });
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
}

for (const button of document.querySelectorAll(".pick")) calendar(button.previousElementSibling, button);
if (document.body.classList.contains("custom")) document.querySelectorAll("select").forEach(customList);
form.addEventListener("input", applyConditions);
form.addEventListener("change", applyConditions);
turn("next").addEventListener("click", () => { if (pageHolds(pages[shown])) show(shown + 1); });
turn("back").addEventListener("click", () => show(shown - 1));
form.addEventListener("keydown", (event) => {
  // Enter in a text field of an early page turns the page instead of sending half a form.
  if (event.key === "Enter" && event.target.tagName === "INPUT" && shown < pages.length - 1) {
    event.preventDefault();
    turn("next").click();
  }
});
form.addEventListener("submit", (event) => { if (!pageHolds(pages[shown])) event.preventDefault(); });
applyConditions();
const wrong = pages.findIndex((page) => page.querySelector("[aria-invalid], p.wrong"));
show(Math.max(wrong, 0));
