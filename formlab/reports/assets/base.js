/* What the scripts of a report share: theme, and the kinds of objects that they draw. */
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme === "dark" || (root.dataset.theme !== "light" && dark.matches);
  const ink = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  /* A colour of formlab's as the page shows it: `theme.py` has the light ones, tokens.css the dark. */
  const HEX = /^#[0-9a-f]{6}$/i;
  function paint(text) {
    return isDark() && HEX.test(text) ? ink(`dark-${text.slice(1).toLowerCase()}`) || text : text;
  }
  /* Each kind of object: (data, box) => what undoes the drawing, or nothing. */
  const kinds = {};
  window.formlabReport = { root, dark, isDark, ink, paint, kinds };
})();
