/* Draws the data blocks of a report. Data reaches the page through textContent, never as markup. */
"use strict";
(() => {
  const { el, visible, show } = window.formlabGallery;
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const RASTER = /^data:image\/(webp|png|jpeg|avif|gif);base64,[A-Za-z0-9+/=]*$/;
  const isDark = () => root.dataset.theme === "dark" || (root.dataset.theme !== "light" && dark.matches);
  const ink = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  const MISSING = "–";
  const format = (value, digits) => {
    if (value === null || value === undefined) return MISSING;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value !== "number") return visible(value);
    const size = Math.min(Math.max(Number(digits) || 0, 0), 12);
    return value.toLocaleString("en", { minimumFractionDigits: size, maximumFractionDigits: size }).replace("-", "−");
  };

  function table(data) {
    const bold = new Set(data.bold.map(([row, column]) => `${row}:${column}`));
    const body = el("tbody");
    // A page beside this one and nothing else: no scheme, no folder.
    const cell = (text, column) => {
      if (column.link && /^\w[\w-]*\.html$/.test(text)) return [el("a", { href: text, text })];
      // An interval stands below its value.
      const at = column.align === "right" ? text.indexOf(" [") + 1 : 0;
      return at ? [text.slice(0, at), el("span", { class: "interval", text: text.slice(at) })] : [text];
    };
    const aside = new Set(data.aside || []);
    const rows = data.rows.map((row, y) => el("tr", aside.has(y) ? { class: "aside" } : {}, ...row.map((value, x) => el("td", {
      class: `${data.columns[x].align === "right" ? "right" : "left"}${bold.has(`${y}:${x}`) ? " best" : ""}`,
    }, ...cell(format(value, data.columns[x].digits), data.columns[x])))));
    body.append(...rows);
    let last = null;
    const sort = (x, head) => {
      const down = last === head && head.getAttribute("aria-sort") === "ascending";
      if (last) last.removeAttribute("aria-sort");
      last = head;
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (y) => data.rows[y][x];
      const order = data.rows.map((_, y) => y).sort((a, b) => {
        const [p, q] = [key(a), key(b)];
        if (p === null || q === null) return (p === null) - (q === null) || a - b;
        const by = typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q), "en", { numeric: true });
        return (down ? -by : by) || a - b;
      });
      body.replaceChildren(...order.map((y) => rows[y]));
    };
    const heads = data.columns.map((column, x) => {
      const head = el("th", { scope: "col", class: column.align === "right" ? "right" : "left" });
      head.append(data.rows.length > 2
        ? el("button", { type: "button", title: "sort", text: visible(column.title), onclick: () => sort(x, head) })
        : visible(column.title));
      return head;
    });
    return [
      el("div", { class: "fl-scroll", tabindex: "0", role: "region", "aria-label": "table" },
        el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)),
      data.note ? el("p", { class: "fl-note", text: visible(data.note) }) : null,
    ];
  }

  function cards(data) {
    return [
      data.finding ? el("p", { class: "fl-finding", text: visible(data.finding) }) : null,
      el("dl", { class: "fl-cards" }, ...data.cards.map((card) => el("div", {},
        el("dt", { text: visible(card.label) }),
        el("dd", { class: "fl-number", text: visible(card.value) }),
        card.note ? el("dd", { text: visible(card.note) }) : null))),
    ];
  }

  const counts = {};
  function caption(data) {
    const label = visible(data.label);
    counts[label] = (counts[label] || 0) + 1;
    return [
      el("p", { class: "fl-caption" }, el("b", { text: `${label} ${counts[label]}.` }), ` ${visible(data.text)}`),
      data.settings ? el("p", { class: "fl-settings", text: visible(data.settings) }) : null,
    ];
  }

  /* Vega asks the loader for every address in a specification: only images inside the page pass. */
  const refuse = (address) => Promise.reject(new Error(`not loaded: ${String(address).slice(0, 80)}`));
  const loader = {
    load: refuse, http: refuse, file: refuse,
    sanitize: (address) => (RASTER.test(String(address)) ? Promise.resolve({ href: address }) : refuse(address)),
  };
  const tip = el("div", { class: "fl-tip", role: "tooltip", hidden: "" });
  document.body.append(tip);
  function tooltip(handler, event, item, value) {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
    tip.replaceChildren(...pairs.slice(0, 30).map(([name, content]) => el("div", {},
      name ? el("span", { text: visible(name) }) : null,
      el("b", { text: visible(typeof content === "object" ? JSON.stringify(content) : String(content)).slice(0, 400) }))));
    const [x, y] = [event.clientX + 14, event.clientY + 14];
    tip.style.left = `${Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(y, innerHeight - tip.offsetHeight - 8))}px`;
  }

  async function vega(data, box) {
    const spec = structuredClone(data.spec);
    const [text, soft, rule] = [ink("ink"), ink("soft"), ink("rule")];
    const colours = { labelColor: soft, titleColor: text };
    const config = spec.config || {};
    for (const name of ["axis", "legend", "header"]) config[name] = { ...config[name], ...colours };
    config.axis = { ...config.axis, gridColor: rule, domainColor: rule, tickColor: rule };
    config.title = { ...config.title, color: text, subtitleColor: soft };
    config.text = { color: text, ...config.text };
    spec.config = { ...config, background: "transparent" };
    const holder = el("div", { class: "fl-vega", role: "img", "aria-label": visible(data.alt) });
    box.replaceChildren(holder);
    const drawn = await window.vegaEmbed(holder, spec, { ast: true, actions: false, renderer: "svg", loader, tooltip });
    return () => drawn.finalize();
  }

  const AXIS = /^[xyz]axis\d*$/;
  function look(layout, height) {
    const [text, rule] = [ink("ink"), ink("rule")];
    const sides = (holder) => {
      for (const name of Object.keys(holder)) {
        if (AXIS.test(name)) Object.assign(holder[name], { gridcolor: rule, zerolinecolor: rule, linecolor: rule, automargin: name[0] !== "z" });
      }
    };
    layout.xaxis = layout.xaxis || {};
    layout.yaxis = layout.yaxis || {};
    sides(layout);
    for (const name of Object.keys(layout).filter((key) => /^scene\d*$/.test(key))) {
      for (const axis of ["xaxis", "yaxis", "zaxis"]) layout[name][axis] = layout[name][axis] || {};
      for (const axis of ["xaxis", "yaxis", "zaxis"]) {
        Object.assign(layout[name][axis], { gridcolor: rule, zerolinecolor: rule, color: text, backgroundcolor: "rgba(0,0,0,0)" });
      }
      layout[name].bgcolor = "rgba(0,0,0,0)";
    }
    return {
      margin: { l: 60, r: 20, t: layout.title ? 48 : 16, b: 48 }, ...layout,
      width: undefined, autosize: true, height,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: ink("sans"), size: 13, ...layout.font, color: text },
      hoverlabel: { ...layout.hoverlabel, bgcolor: ink("raised"), bordercolor: rule, font: { color: text, family: ink("sans") } },
    };
  }

  const webgl = (() => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("webgl2") || canvas.getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return Boolean(context);
  })();
  /* The scene is clipped at its edges: step back where the window is narrow. */
  function stepBack(layout, width) {
    const far = width < 520 ? 1.55 : 1.2;
    for (const name of Object.keys(layout).filter((key) => /^scene\d*$/.test(key))) {
      const eye = { x: 1.25, y: -1.25, z: 0.8, ...layout[name].camera?.eye };
      layout[name].camera = { ...layout[name].camera, eye: { x: eye.x * far, y: eye.y * far, z: eye.z * far } };
    }
    layout.margin = { l: 0, r: 0, t: layout.title ? 40 : 0, b: 0, ...layout.margin };
  }
  const SOLID = new Set(["surface", "scatter3d", "mesh3d", "cone", "streamtube", "volume", "isosurface"]);

  /* A surface is a heatmap seen from above; without WebGL that view is what remains. */
  function flat(figure) {
    const scene = figure.layout.scene || {};
    const data = figure.data.filter((trace) => trace.type === "surface").slice(0, 1).map((trace) => ({
      type: "heatmap", x: trace.x, y: trace.y, z: trace.z, colorscale: trace.colorscale,
      zmin: trace.cmin, zmax: trace.cmax, colorbar: trace.colorbar, name: trace.name,
    }));
    const axis = (side) => ({ title: side?.title });
    return { data, layout: { title: figure.layout.title, xaxis: axis(scene.xaxis), yaxis: axis(scene.yaxis) } };
  }

  /* Arrow keys turn a scene about its upright axis and tilt it; plus and minus come closer and back. */
  function turnable(holder) {
    holder.tabIndex = 0;
    holder.setAttribute("aria-label", `${holder.getAttribute("aria-label")}. Arrow keys turn it, plus and minus zoom.`);
    holder.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key] || 0;
      const tilt = { ArrowDown: -1, ArrowUp: 1 }[event.key] || 0;
      const zoom = { "+": 0.9, "=": 0.9, "-": 1.1 }[event.key] || 1;
      if (!turn && !tilt && zoom === 1) return;
      event.preventDefault();
      const camera = holder._fullLayout.scene._scene.getCamera();
      const { x, y, z } = camera.eye;
      const far = Math.hypot(x, y, z) * zoom;
      const around = Math.atan2(y, x) + turn * Math.PI / 18;
      const up = Math.max(-1.5, Math.min(1.5, Math.asin(z / Math.hypot(x, y, z)) + tilt * Math.PI / 36));
      const flat = far * Math.cos(up);
      const eye = { x: flat * Math.cos(around), y: flat * Math.sin(around), z: far * Math.sin(up) };
      window.Plotly.relayout(holder, { "scene.camera": { ...camera, eye } });
    });
  }

  async function plotly(data, box) {
    let figure = structuredClone(data.figure);
    figure.layout = figure.layout || {};
    const solid = figure.data.some((trace) => SOLID.has(trace.type));
    const lost = solid && !webgl;
    if (lost) figure = data.fallback ? structuredClone(data.fallback) : flat(figure);
    if (solid && !lost) {
      figure.layout.scene = figure.layout.scene || {};
      stepBack(figure.layout, box.clientWidth);
      for (const trace of figure.data) if (trace.colorbar !== undefined || trace.type === "surface") trace.colorbar = { thickness: 14, len: 0.7, ...trace.colorbar };
    }
    const height = Math.min(Number(figure.layout?.height) || (solid && !lost ? 460 : 320), 900);
    const holder = el("div", { class: "fl-plotly", role: "img", "aria-label": visible(data.alt) });
    holder.style.height = `${height}px`;
    box.replaceChildren(holder, lost ? el("p", { class: "fl-note", text: figure.data.length ? "Shown flat: this browser has no WebGL." : "This figure needs WebGL, which this browser does not offer." }) : "");
    await window.Plotly.newPlot(holder, {
      data: figure.data, layout: look(figure.layout || {}, height), frames: figure.frames,
      config: { responsive: true, displaylogo: false, showSendToCloud: false, showEditInChartStudio: false, modeBarButtonsToRemove: ["sendDataToCloud"], scrollZoom: false },
    });
    box.dataset.solid = solid && !lost ? "yes" : "no";
    if (solid && !lost) turnable(holder);
    return () => window.Plotly.purge(holder);
  }

  const KINDS = {
    table: (data, box) => { box.replaceChildren(...table(data).filter(Boolean)); },
    cards: (data, box) => { box.replaceChildren(...cards(data).filter(Boolean)); },
    caption: (data, box) => { box.replaceChildren(...caption(data).filter(Boolean)); },
    gallery: (data, box) => { box.replaceChildren(); show(box, data); },
    episodes: (data, box) => { box.replaceChildren(); window.formlabEpisodes.show(box, data); },
    vega, plotly,
  };
  const CHARTS = new Set(["vega", "plotly"]);
  const state = new Map();

  async function draw(box) {
    const known = state.get(box) || {};
    if (known.busy || known.undo) return;
    state.set(box, { busy: true });
    try {
      const data = JSON.parse(box.fl);
      const undo = await KINDS[box.dataset.kind](data, box);
      state.set(box, { undo: undo || (() => {}) });
      box.dataset.state = "drawn";
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
  for (const box of boxes) {
    const block = box.querySelector('script[type="application/json"]');
    box.fl = block.textContent;
    block.remove();
    if (CHARTS.has(box.dataset.kind)) { near.observe(box); far.observe(box); } else draw(box);
  }
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
