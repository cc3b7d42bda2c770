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
  if (wrong) wrong.reportValidity();
  return !wrong;
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
