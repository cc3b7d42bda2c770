"use strict";
// Records what a person does as the arena records agents: clicks where the pointer goes down, what
// was typed into a field, moves by the tabulator; after each, what it changed. Sent with the form.
(() => {
  const page = document.querySelector("form");
  const log = page.elements._log, clock = document.querySelector("#clock");
  const screens = new Map(), contents = new Map();
  // A page that is shown again, with what was wrong, goes on with what it recorded.
  let events = [], damaged = false;
  try { events = JSON.parse(log.value || "[]"); } catch { damaged = true; }
  const started = performance.now(), before = Number(clock.dataset.seconds);
  let number = 0, on = null, open = null, touched = null;
  const seconds = () => before + (performance.now() - started) / 1000;
  const round = (box, x, y) => [box[0] + x, box[1] + y, box[2] + x, box[3] + y].map((side) => Math.round(side * 10) / 10);

  // The screen now, noted when it is new, and what changed since the last look.
  function look() {
    const seen = observed(), [left, top] = seen.scroll, changed = [];
    const controls = seen.controls.map((item) => ({ ...item,
      box: round(item.box, left, top), labels: item.labels.map((box) => round(box, left, top)) }));
    for (const item of controls) {
      if (!item.field || ["button", "submit"].includes(item.kind)) continue;
      const key = JSON.stringify([item.field, item.option]);
      const now = ["radio", "checkbox"].includes(item.kind) ? item.checked : item.value;
      if (contents.has(key) && contents.get(key) !== now) changed.push([item.field, item.option, contents.get(key), now]);
      contents.set(key, now);
    }
    return { controls, changed, size: seen.size };
  }
  function arrangement(controls) {
    const named = controls.filter((item) => item.field && item.kind !== "button");
    return JSON.stringify(named.map((item) => [item.field, item.option, ...item.box.map(Math.round)]));
  }
  function note(seen) {
    const key = arrangement(seen.controls);
    if (!screens.has(key)) {
      if (screens.size >= mostScreens) return;
      number += 1;
      screens.set(key, number);
      events.push({ step: number, screen: number, size: seen.size, controls: seen.controls });
    }
    on = screens.get(key);
  }
  // An action is complete when the next one begins: only then is it known what it changed.
  function settle() {
    const seen = look();
    if (open) {
      if (open.element) open.event.asked.text = open.element.value;
      open.event.target = shownAs(document.activeElement);
      open.event.changed = seen.changed;
      open = null;
    }
    note(seen);
  }
  function begin(asked, more = {}, element = null) {
    const event = { step: on ?? 1, seconds: Math.round(seconds() * 100) / 100, asked, on, ...more };
    events.push(event);
    open = { event, element };
  }
  document.addEventListener("pointerdown", (event) => {
    // To read the text or save a file is no action on the form.
    if (!event.isTrusted || event.button || event.target.closest("aside")) return;
    settle();
    const point = [event.clientX, event.clientY];
    const click = [{ do: "Click", x: point[0], y: point[1] },
      { at: round([event.pageX, event.pageY, 0, 0], 0, 0).slice(0, 2), hit: shownAs(controlAt(point)) }];
    // A finger that goes down may be about to scroll.
    if (event.pointerType === "mouse") begin(...click);
    else touched = click;
  }, true);
  document.addEventListener("click", () => { if (touched) begin(...touched); touched = null; }, true);
  document.addEventListener("pointercancel", () => { touched = null; }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Tab") return;
    settle();
    begin({ do: "Press", key: "Tab" });
  }, true);
  document.addEventListener("beforeinput", (event) => {
    if (open?.element === event.target || event.target.type === "checkbox") return;
    settle();
    begin({ do: "Type", text: "" }, {}, event.target);
  }, true);
  page.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    settle();
    const text = JSON.stringify(events);
    // The answers count without the clicks, but the server takes no text of more than a megabyte.
    log.value = damaged || new Blob([text]).size > 9e5 ? "lost" : text;
  });
  for (const event of events) {
    if ("screen" in event) screens.set(arrangement(event.controls), number = event.screen);
  }
  setInterval(() => {
    const whole = Math.floor(seconds());
    clock.textContent = `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
  }, 1000);
  note(look());
})();
