/* Charts of plotly: surfaces, turned by keys too, flat where there is no WebGL. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;
  const SOLID = /surface|3d|cone|streamtube|volume/;
  /* A colour of the page as plotly takes it, which knows no names of styles. */
  function ink(value) {
    const probe = document.body.appendChild(el("i", { hidden: "" }));
    probe.style.color = value;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }
  const webgl = (() => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("webgl2") || canvas.getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return Boolean(context);
  })();

  function look(layout, height) {
    const [text, rule, raised] = ["--ink", "--rule", "--raised"].map((name) => ink(`var(${name})`));
    const lines = { gridcolor: rule, zerolinecolor: rule, linecolor: rule };
    const family = getComputedStyle(document.body).fontFamily;
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) Object.assign(layout[name], lines, { automargin: true });
    for (const scene of Object.keys(layout).filter((key) => /^scene\d*$/.test(key)).map((key) => layout[key])) {
      for (const name of ["xaxis", "yaxis", "zaxis"]) {
        const axis = Object.assign(scene[name] ??= {}, { gridcolor: rule, zerolinecolor: rule, color: text, backgroundcolor: "rgba(0,0,0,0)" });
        // A scene has no room beyond its box.
        if (typeof axis.title?.text === "string") axis.title = { ...axis.title, text: axis.title.text.replace(/([^<>]{18,26}) /g, "$1<br>"), font: { size: 12 } };
        axis.tickfont = { size: 10, ...axis.tickfont };
      }
      scene.bgcolor = "rgba(0,0,0,0)";
    }
    return {
      margin: { l: 60, r: 20, t: layout.title ? 48 : 16, b: 48 }, ...layout, width: undefined, autosize: true, height,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { size: 13, ...layout.font, family, color: text },
      hoverlabel: { ...layout.hoverlabel, bgcolor: raised, bordercolor: rule, font: { color: text, family } },
    };
  }

  /* A surface is a heatmap seen from above; without WebGL that view is what remains. */
  function flat({ data, layout }) {
    const axis = (side) => (({ title, tickvals, ticktext } = {}) => ({ title, tickvals, ticktext }))(layout.scene?.[side]);
    const traces = data.filter((trace) => trace.type === "surface").slice(0, 1)
      .map(({ x, y, z, surfacecolor, colorscale, cmin, cmax, colorbar, name }) => ({ type: "heatmap", x, y, z: surfacecolor ?? z, colorscale, zmin: cmin, zmax: cmax, colorbar, name }));
    return { data: traces, layout: { title: layout.title, xaxis: axis("xaxis"), yaxis: axis("yaxis") } };
  }

  /* Arrow keys turn a scene about its upright axis and tilt it; plus and minus come closer and back. */
  function turn(holder, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: [-1, 0, 1], ArrowRight: [1, 0, 1], ArrowDown: [0, -1, 1], ArrowUp: [0, 1, 1], "+": [0, 0, 0.9], "=": [0, 0, 0.9], "-": [0, 0, 1.1] }[event.key];
    if (!by) return;
    event.preventDefault();
    const camera = holder._fullLayout.scene._scene.getCamera();
    const { x, y, z } = camera.eye;
    const far = Math.hypot(x, y, z) * by[2];
    const around = Math.atan2(y, x) + by[0] * Math.PI / 18;
    const up = Math.max(-1.5, Math.min(1.5, Math.asin(z / Math.hypot(x, y, z)) + by[1] * Math.PI / 36));
    const eye = { x: far * Math.cos(up) * Math.cos(around), y: far * Math.cos(up) * Math.sin(around), z: far * Math.sin(up) };
    window.Plotly.relayout(holder, { "scene.camera": { ...camera, eye } });
  }

  window.formlabPlotly = async (data, box) => {
    let figure = structuredClone(data.figure);
    figure.layout ??= {};
    const solid = figure.data.some((trace) => SOLID.test(trace.type)) && webgl;
    const lost = !solid && figure.data.some((trace) => SOLID.test(trace.type));
    if (lost) figure = flat(figure);
    if (solid) {
      // The scene is clipped at its edges: step back where the window is narrow.
      const far = box.clientWidth < 420 ? 1.95 : box.clientWidth < 520 ? 1.6 : 1.2;
      const scene = figure.layout.scene ??= {};
      const eye = { x: 1.25, y: -1.25, z: 0.8, ...scene.camera?.eye };
      scene.camera = { ...scene.camera, eye: { x: eye.x * far, y: eye.y * far, z: eye.z * far } };
      figure.layout.margin = { l: 0, r: 0, t: figure.layout.title ? 40 : 0, b: 0, ...figure.layout.margin };
      for (const trace of figure.data) if (trace.type === "surface") trace.colorbar = { thickness: 14, len: 0.7, ...trace.colorbar };
    }
    const height = Math.min(Number(figure.layout?.height) || (solid ? 460 : 320), 900);
    const label = visible(data.alt) + (solid ? ". Arrow keys turn it, plus and minus zoom." : "");
    const holder = el("div", { class: "fl-plotly", role: "img", "aria-label": label, tabindex: solid ? "0" : null, onkeydown: (event) => { if (solid) turn(holder, event); } });
    holder.style.height = `${height}px`;
    box.replaceChildren(holder, lost ? el("p", { class: "fl-note", text: figure.data.length ? "Shown flat: this browser has no WebGL." : "This figure needs WebGL, which this browser does not offer." }) : "");
    await window.Plotly.newPlot(holder, {
      data: figure.data, layout: look(figure.layout ?? {}, height), frames: figure.frames,
      config: { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendDataToCloud"] },
    });
    box.dataset.solid = solid ? "yes" : "no";
  };
})();
