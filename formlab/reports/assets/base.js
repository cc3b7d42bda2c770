/* What the scripts of a report share: theme, and the kinds of objects that they draw. */
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme === "dark" || (root.dataset.theme !== "light" && dark.matches);
  const ink = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  /* Each kind of object: (data, box) => what undoes the drawing, or nothing. */
  const kinds = {};
  window.formlabReport = { root, dark, isDark, ink, kinds };
})();
