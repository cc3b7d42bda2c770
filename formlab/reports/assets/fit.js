/* A chart of Vega-Lite laid out for the width of its box: names, legends, panels and titles. */
"use strict";
(() => {
  const { ink } = window.formlabReport;
  const LABEL = 12, TITLE = 13, LINE = 18;
  // Names of rows have at least the room of NAMES, also where panels stand side by side.
  const NARROW = 560, PANEL = 250, NAMES = 104;
  const pen = document.createElement("canvas").getContext("2d");
  function wide(text, size = LABEL) {
    pen.font = `500 ${size}px ${ink("sans")}`;
    return pen.measureText(String(text ?? "")).width;
  }
  const widest = (texts, size) => Math.max(0, ...texts.map((text) => wide(text, size)));

  /* Text in as many lines as it needs in `room` pixels. */
  function wrapped(text, room, size = TITLE) {
    const lines = [];
    for (const word of String(text).split(/\s+/).filter(Boolean)) {
      const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
      if (lines.length && wide(longer, size) <= room) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.length > 1 ? lines : text;
  }

  const isNames = (channel) => channel && (channel.type === "nominal" || channel.type === "ordinal");
  const layersOf = (view) => (view.layer ? view.layer.flatMap(layersOf) : [view]);
  const markOf = (view) => view.mark?.type ?? view.mark;
  /* The names along a channel, as its scale, its order or else the data have them. */
  function namesOf(channel, rows) {
    const listed = channel.scale?.domain ?? channel.sort;
    if (Array.isArray(listed)) return listed;
    const field = String(channel.field ?? "").replace(/\\(.)/g, "$1");
    return [...new Set(rows.map((row) => row[field]))].filter((name) => name !== null && name !== undefined);
  }

  /* Names stand above their rows where they would take more than a third of the width. */
  function nameRows(view, layers, rows, width) {
    const named = layers.filter((layer) => isNames(layer.encoding?.y) && layer.encoding.y.axis !== null);
    if (!named.length) return 0;
    const longest = widest(namesOf(named[0].encoding.y, rows));
    const titled = typeof named[0].encoding.y.title === "string" ? LINE : 0;
    const own = Math.min(longest, named[0].encoding.y.axis?.labelLimit ?? 220) + 8 + titled;
    const cells = layers.some((layer) => markOf(layer) === "rect");
    const steps = view.height && typeof view.height === "object";
    if (own <= Math.max(width / 3, NAMES)) return own;
    if (cells || !steps) {
      const limit = Math.max(NAMES, width / 3 - 8);
      for (const layer of named) layer.encoding.y.axis = { ...layer.encoding.y.axis, labelLimit: limit };
      return Math.min(longest, limit) + 8 + titled;
    }
    const bars = layers.some((layer) => markOf(layer) === "bar");
    const offset = layers.map((layer) => layer.encoding?.yOffset).find(Boolean);
    const step = view.height.step;
    const many = offset ? Math.max(1, namesOf(offset, rows).length) : 1;
    const band = offset ? many * step : bars ? 18 : 0;
    const gap = LINE + 6;
    const scale = offset || bars ? { paddingInner: gap / (gap + band), paddingOuter: gap / (gap + band) } : {};
    view.height = { step: offset ? step : band + (bars ? gap : LINE * 2), ...(offset ? { for: "offset" } : {}) };
    for (const layer of layers) {
      if (!isNames(layer.encoding?.y)) continue;
      const { y } = layer.encoding;
      y.scale = { ...y.scale, ...scale };
      y.title = null;
      if (y.axis === null) continue;
      y.axis = {
        ...y.axis, labelAlign: "left", labelBaseline: "bottom", labelPadding: 0, labelLimit: width - 12,
        labelOffset: -(band ? band / 2 + 2 : 8), ticks: false, domain: false, zindex: 1,
      };
    }
    return 4;
  }

  /* Names below a chart: on several lines where each word fits into its step, else aslant. */
  function nameColumns(layers, rows, room) {
    const named = layers.filter((layer) => isNames(layer.encoding?.x) && layer.encoding.x.axis !== null);
    if (!named.length) return;
    const names = namesOf(named[0].encoding.x, rows);
    const step = room / Math.max(1, names.length) - 4;
    if (widest(names) <= step) return;
    const lines = Object.fromEntries(names.map((name) => [String(name), wrapped(name, step, LABEL)]));
    const fits = Object.values(lines).every((text) => [text].flat().length < 4 && widest([text].flat()) <= step);
    const more = fits
      ? { labelExpr: `(${JSON.stringify(lines)})[datum.label]`, labelLimit: step }
      : { labelAngle: named[0].encoding.x.axis?.orient === "top" ? 40 : -40, labelAlign: "right", labelLimit: 110 };
    for (const layer of named) layer.encoding.x.axis = { ...layer.encoding.x.axis, ...more };
  }

  function legends(layers, width) {
    for (const layer of layers) {
      for (const channel of Object.values(layer.encoding ?? {})) {
        if (!channel?.legend || !Array.isArray(channel.scale?.domain) || channel.type === "quantitative") continue;
        const names = channel.scale.domain;
        const most = Math.max(1, Math.floor(width / (widest(names) + 44)));
        channel.legend = { ...channel.legend, columns: Math.min(most, names.length), labelLimit: Math.max(80, width - 30) };
        if (widest(names) <= width - 36) continue;
        const lines = Object.fromEntries(names.map((name) => [String(name), wrapped(name, width - 36, LABEL)]));
        channel.legend.labelExpr = `(${JSON.stringify(lines)})[datum.label]`;
      }
    }
  }

  /* One view without panels; its share of the width is known. */
  function single(view, rows, width) {
    const layers = layersOf(view);
    for (const layer of layers) layer.encoding = { ...view.encoding, ...layer.encoding };
    const left = nameRows(view, layers, rows, width);
    const ends = layers.some((layer) => markOf(layer) === "text" && layer.encoding.x?.value === "width");
    const room = Math.max(80, width - left - (ends ? 56 : 12) - (isNames(layers[0].encoding?.y) ? 0 : 44));
    nameColumns(layers, rows, room);
    legends(layers, room);
    const cells = layers.find((layer) => markOf(layer) === "rect" && isNames(layer.encoding?.x));
    const cell = cells ? room / Math.max(1, namesOf(cells.encoding.x, rows).length) : 0;
    for (const layer of layers) {
      // About six characters stand in a cell.
      if (cell && markOf(layer) === "text") layer.mark.fontSize = Math.min(layer.mark.fontSize ?? 11, Math.max(7, cell / 4.2));
      if (markOf(layer) !== "text" || typeof layer.mark?.limit !== "number") continue;
      const share = layer.encoding.x?.value === 0 || typeof view.width !== "number" ? 1 : layer.mark.limit / view.width;
      layer.mark.limit = Math.max(80, (room - 20) * share);
    }
    return { room, across: 1, tall: typeof view.height === "number" ? view.height : 0 };
  }

  /* Panels below each other where they are too narrow beside each other. */
  function panels(view, rows, width) {
    const head = (channel, names = namesOf(channel, rows)) => {
      const lines = Object.fromEntries(names.map((name) => [String(name), wrapped(name, width - 8)]));
      return { ...channel, header: { ...channel.header, labelLimit: width, labelExpr: `(${JSON.stringify(lines)})[datum.label]` } };
    };
    const { row, column } = view.facet;
    const before = row || column ? (column ? namesOf(column, rows).length : 1) : view.columns || namesOf(view.facet, rows).length || 1;
    if (!row && !column) {
      view.columns = Math.min(before, Math.max(1, Math.floor(width / PANEL)));
      // Panels abreast have a part of the width each.
      if (view.columns === 1) view.facet = head(view.facet);
    } else if (column && width / namesOf(column, rows).length < PANEL) {
      const sides = [row, column].filter(Boolean);
      const name = sides.map((side) => `datum[${JSON.stringify(String(side.field).replace(/\\(.)/g, "$1"))}]`).join(" + ' · ' + ");
      const sort = sides.map((side) => namesOf(side, rows)).reduce((all, names) => all.flatMap((a) => names.map((b) => `${a} · ${b}`)));
      const point = layersOf(view.spec).find((layer) => ["point", "rect", "bar"].includes(markOf(layer)));
      const known = ["x", "y"].map((side) => point?.encoding?.[side]?.field).filter(Boolean)
        .map((field) => `isValid(datum[${JSON.stringify(String(field).replace(/\\(.)/g, "$1"))}])`);
      // A pair of values without a row of its own has a panel in a grid only.
      view.transform = [...(view.transform ?? []), ...(known.length ? [{ filter: known.join(" && ") }] : []), { calculate: name, as: "panel" }];
      view.facet = head({ field: "panel", type: "nominal", title: null, sort, header: { title: null, labelAnchor: "start", labelFontSize: TITLE } });
      view.columns = 1;
      view.resolve = { ...view.resolve, axis: { ...view.resolve?.axis, x: "independent" } };
    }
    if (view.columns && typeof view.spec.width === "number") view.spec.width *= before / view.columns;
    const across = view.columns || (column ? namesOf(column, rows).length : 1);
    return { ...single(view.spec, rows, width / across - (row && !view.columns ? 20 : 0) - 8), across };
  }

  function place(view, rows, width) {
    if (view.hconcat && width < NARROW) { view.vconcat = view.hconcat; delete view.hconcat; }
    const parts = view.vconcat ?? view.hconcat ?? view.concat;
    if (parts) {
      const across = view.hconcat ? parts.length : 1;
      const each = parts.map((part) => place(part, rowsOf(part, rows), width / across));
      return {
        room: Math.min(...each.map((part) => part.room)), tall: 0,
        across: across * Math.max(...each.map((part) => part.across)),
      };
    }
    return view.facet ? panels(view, rows, width) : single(view, rows, width);
  }

  let sets = {};
  function rowsOf(view, rows = []) {
    return view.data?.values ?? sets[view.data?.name] ?? rows;
  }

  /* Change a specification for a box of this width; how wide its plots may get, and how many abreast. */
  function layout(spec, width) {
    sets = spec.datasets ?? {};
    const placed = place(spec, rowsOf(spec), width);
    const config = spec.config;
    config.legend = { ...config.legend, layout: { ...config.legend?.layout, top: { direction: width < NARROW ? "vertical" : "horizontal", anchor: "start" } } };
    if (width < NARROW) config.legend = { ...config.legend, orient: "top", gradientLength: Math.min(200, width - 40) };
    return placed;
  }

  /* Titles of axes and of the chart on as many lines as they need: at the level of Vega. */
  function titles(view, room, width, tall = 0) {
    const height = typeof view.height === "number" ? view.height : tall;
    for (const axis of view.axes ?? []) {
      if (typeof axis.title !== "string") continue;
      const upright = axis.orient === "left" || axis.orient === "right";
      axis.title = upright ? (height ? wrapped(axis.title, height + 20) : axis.title) : wrapped(axis.title, room);
    }
    for (const name of ["text", "subtitle"]) {
      const text = view.title?.[name];
      const lines = Array.isArray(text) ? text.join(" ") : text;
      if (typeof lines === "string") view.title[name] = wrapped(lines, width - 8, name === "text" ? 16 : LABEL);
    }
    for (const mark of view.marks ?? []) if (mark.type === "group") titles(mark, room, width, height);
    return view;
  }

  /* Make plots wider or narrower until the chart has the width of its box. */
  async function fit(view, holder, names, width, across) {
    const drawn = () => Number(holder.querySelector("svg")?.getAttribute("width")) || 0;
    const own = drawn();
    const goal = own < 0.42 * width ? own : Math.min(width, 2.2 * own);
    const sizes = Object.fromEntries(names.map((name) => [name, view.signal(name)]));
    for (let turn = 0; turn < 4 && Math.abs(goal - drawn()) > 1; turn += 1) {
      const more = (goal - drawn()) / across;
      for (const name of names) {
        sizes[name] = Math.max(60, Math.floor(sizes[name] + more));
        view.signal(name, sizes[name]);
      }
      await view.resize().runAsync();
    }
  }
  /* The signals that are widths of plots, and no functions of anything else. */
  function widths(vega) {
    const names = (vega.signals ?? []).filter((signal) => /(^|_)width$/.test(signal.name) && typeof signal.value === "number" && !signal.update);
    return [...names.map((signal) => signal.name), ...(typeof vega.width === "number" ? ["width"] : [])];
  }

  window.formlabReport.fit = { layout, titles, widths, fit };
})();
