/* Charts of plotly: surfaces, turned by keys too, flat where there is no WebGL. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;
  const { ink, kinds, paint } = window.formlabReport;

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
        const title = layout[name][axis].title;
        // A scene has no room beyond its box.
        if (typeof title?.text === "string") title.text = title.text.replace(/([^<>]{18,26}) /g, "$1<br>");
        if (title) title.font = { size: 12, ...title.font };
        layout[name][axis].tickfont = { size: 10, ...layout[name][axis].tickfont };
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
    const far = width < 420 ? 1.95 : width < 520 ? 1.6 : 1.2;
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

  /* Marks in the page's colours. */
  function coloured(figure) {
    for (const trace of figure.data ?? []) {
      for (const holder of [trace.marker, trace.line, trace.error_x, trace.error_y, trace.error_z]) {
        if (typeof holder?.color === "string") holder.color = paint(holder.color);
      }
    }
    return figure;
  }

  async function plotly(data, box) {
    let figure = coloured(structuredClone(data.figure));
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

  kinds.plotly = plotly;
})();
