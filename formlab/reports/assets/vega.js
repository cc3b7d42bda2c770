/* Charts of Vega-Lite. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;
  const { ink, kinds } = window.formlabReport;
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

  kinds.vega = vega;
})();
