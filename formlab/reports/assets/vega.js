/* Charts of Vega-Lite. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;
  const { fit, ink, kinds, paint } = window.formlabReport;
  const RASTER = /^data:image\/(webp|png|jpeg|avif|gif);base64,[A-Za-z0-9+/=]*$/;

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
    const hint = window.formlabReport.links.hint(item);
    if (hint) pairs.push(["", hint]);
    tip.replaceChildren(...pairs.slice(0, 30).map(([name, content]) => el("div", {},
      name ? el("span", { text: visible(name) }) : null,
      el("b", { text: visible(typeof content === "object" ? JSON.stringify(content) : String(content)).slice(0, 400) }))));
    const [x, y] = [event.clientX + 14, event.clientY + 14];
    tip.style.left = `${Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(y, innerHeight - tip.offsetHeight - 8))}px`;
  }

  /* The specification in the page's colours: a copy, with dark variants of the marks' where it is dark. */
  function coloured(value, name) {
    if (typeof value === "string") return name === "stroke" && value === "white" ? ink("paper") : paint(value);
    if (typeof value !== "object" || value === null || ["data", "datasets", "domain", "sort"].includes(name)) return value;
    if (Array.isArray(value)) return value.map((item) => coloured(item, name));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item, key)]));
  }

  async function vega(data, box) {
    const holder = el("div", { class: "fl-vega", role: "img", "aria-label": visible(data.alt) });
    box.replaceChildren(holder);
    let drawn = null;
    let at = 0;
    const paintAt = async (width) => {
      at = width;
      const spec = structuredClone(coloured(data.spec));
      const [text, soft, rule] = [ink("ink"), ink("soft"), ink("rule")];
      const colours = { labelColor: soft, titleColor: text };
      const config = spec.config || {};
      for (const name of ["axis", "legend", "header"]) config[name] = { ...config[name], ...colours };
      config.axis = { ...config.axis, gridColor: rule, domainColor: rule, tickColor: rule };
      config.title = { ...config.title, color: text, subtitleColor: soft };
      config.text = { color: text, ...config.text };
      spec.config = { ...config, background: "transparent" };
      const { room, across, tall } = fit.layout(spec, width);
      let names = [];
      const patch = (compiled) => { names = fit.widths(compiled); return fit.titles(compiled, room, width, tall); };
      const fresh = el("div", {});
      drawn?.finalize();
      drawn = await window.vegaEmbed(fresh, spec, { ast: true, actions: false, renderer: "svg", loader, tooltip, patch });
      await fit.fit(drawn.view, fresh, names, width, across);
      holder.replaceChildren(fresh);
    };
    await paintAt(holder.clientWidth);
    /* Turning a phone, or another width of the window, lays the chart out anew. */
    let timer = 0;
    const watcher = new ResizeObserver(() => {
      const width = holder.clientWidth;
      if (!width || Math.abs(width - at) < 4) return;
      clearTimeout(timer);
      timer = setTimeout(() => { if (drawn && holder.isConnected) paintAt(holder.clientWidth); }, 120);
    });
    watcher.observe(holder);
    return () => { clearTimeout(timer); watcher.disconnect(); drawn.finalize(); drawn = null; };
  }

  kinds.vega = vega;
})();
