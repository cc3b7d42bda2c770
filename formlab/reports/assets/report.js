/* Draws the data blocks of a report. Data reaches the page through textContent, never as markup. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;
  const { root, dark, isDark, kinds, links: cases } = window.formlabReport;
  kinds.episodes = (data, box) => { box.replaceChildren(); window.formlabEpisodes.show(box, data); };
  kinds.explorer = (data, box) => { box.replaceChildren(); cases.galleries.push(window.formlabExplorer.show(box, data).linked); };
  const CHARTS = new Set(["vega", "plotly"]);
  const state = new Map();

  async function draw(box) {
    const known = state.get(box) || {};
    if (known.busy || known.undo) return;
    state.set(box, { busy: true });
    try {
      const data = JSON.parse(box.fl);
      const undo = await kinds[box.dataset.kind](data, box);
      state.set(box, { undo: undo || (() => {}) });
      box.dataset.state = "drawn";
      cases.drawn(box);
    } catch (error) {
      state.set(box, { undo: () => {} });
      box.dataset.state = "failed";
      box.replaceChildren(el("p", { class: "fl-noimage", text: `This ${box.dataset.kind === "vega" ? "chart" : box.dataset.kind} could not be drawn: ${visible(error.message).slice(0, 300)}` }));
    }
  }

  function erase(box) {
    const known = state.get(box);
    if (!known || !known.undo) return;
    box.style.minHeight = `${box.offsetHeight}px`;
    known.undo();
    state.delete(box);
    box.dataset.state = "waiting";
  }

  /* Browsers keep about 16 WebGL contexts: a surface scrolled far away gives its own back. */
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "600px" });
  const far = new IntersectionObserver((entries) => {
    for (const entry of entries) if (!entry.isIntersecting && entry.target.dataset.solid === "yes") erase(entry.target);
  }, { rootMargin: "3000px" });

  const boxes = [...document.querySelectorAll("div.fl-object[data-kind]")];
  const whole = [];
  // Galleries first: what leads to their cases has to know them.
  for (const box of [...boxes].sort((a, b) => (b.dataset.kind === "gallery") - (a.dataset.kind === "gallery"))) {
    const block = box.querySelector('script[type="application/json"]');
    box.fl = block.textContent;
    block.remove();
    if (CHARTS.has(box.dataset.kind)) { near.observe(box); far.observe(box); } else whole.push(draw(box));
  }
  Promise.all(whole).then(() => cases.start(boxes));
  const redraw = () => {
    for (const box of boxes) if (CHARTS.has(box.dataset.kind) && state.has(box)) { erase(box); draw(box); }
  };

  const remembered = { get: () => { try { return localStorage.getItem("formlab-theme"); } catch { return null; } }, set: (value) => { try { localStorage.setItem("formlab-theme", value); } catch { /* private mode */ } } };
  const themes = ["auto", "light", "dark"];
  const switcher = document.getElementById("fl-theme");
  function apply(theme) {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    if (switcher) switcher.textContent = `Theme: ${theme}`;
  }
  let theme = themes.includes(remembered.get()) ? remembered.get() : "auto";
  apply(theme);
  if (switcher) {
    switcher.hidden = false;
    switcher.addEventListener("click", () => {
      const before = isDark();
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      remembered.set(theme);
      apply(theme);
      if (isDark() !== before) redraw();
    });
  }
  dark.addEventListener("change", redraw);

  const code = document.getElementById("fl-code");
  if (code) {
    code.hidden = false;
    root.classList.add("fl-folded");
    code.addEventListener("click", () => {
      const folded = root.classList.toggle("fl-folded");
      code.setAttribute("aria-pressed", String(!folded));
      for (const source of document.querySelectorAll("details.fl-source")) source.open = !folded;
    });
  }

  const toc = document.getElementById("fl-toc");
  if (toc && matchMedia("(max-width: 1100px)").matches) toc.open = false;
  const links = new Map([...document.querySelectorAll(".fl-toc a")].map((link) => [link.hash.slice(1), link]));
  const heads = [...document.querySelectorAll("main h2[id], main h3[id]")].filter((head) => links.has(head.id));
  if (heads.length) {
    const mark = () => {
      const passed = heads.filter((head) => head.getBoundingClientRect().top < 140);
      const current = passed.length ? passed[passed.length - 1].id : heads[0].id;
      for (const [id, link] of links) link.toggleAttribute("aria-current", id === current);
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  const search = document.getElementById("fl-search");
  if (search) {
    const [state, found] = [document.getElementById("fl-state"), document.getElementById("fl-found")];
    const reports = [...document.querySelectorAll(".fl-report")];
    const sift = () => {
      const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const report of reports) {
        report.hidden = !wanted.every((word) => report.dataset.words.includes(word)) || (state.value !== "" && report.dataset.state !== state.value);
      }
      const left = reports.filter((report) => !report.hidden).length;
      found.textContent = left === reports.length ? "" : `${left} of ${reports.length}`;
      document.getElementById("fl-none").hidden = left > 0;
    };
    document.getElementById("fl-find").hidden = false;
    search.addEventListener("input", sift);
    state.addEventListener("change", sift);
    document.getElementById("fl-clear").addEventListener("click", () => { search.value = ""; state.value = ""; sift(); search.focus(); });
    sift();
  }

  addEventListener("beforeprint", () => {
    boxes.forEach(draw);
    for (const details of document.querySelectorAll(".fl-made details")) details.open = true;
  });
  root.dataset.ready = "yes";
})();
