/* Which cases one looks at, as one line: the twin of formlab/selection.py. */
"use strict";
(() => {
  const NAMED = new Set(["doc_id", "system", "task", "outcome", "cause", "status", "flip", "finding"]);
  const KEY = /^[0-9a-f]{10}$/;

  /* As Python quotes: it keeps fewer characters than encodeURIComponent, and "/" in values. */
  const quote = (text) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, "?"))
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const unquote = (text) => text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => decoder.decode(
    Uint8Array.from(run.slice(1).split("%"), (code) => parseInt(code, 16)),
  ));
  const cut = (text, sign) => {
    const at = text.indexOf(sign);
    return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
  };
  const parts = (line) => String(line).slice(String(line).lastIndexOf("#") + 1).split("&").filter(Boolean);

  /* A selection is a Map of columns to their values, null for no value. */
  function text(selection) {
    const pairs = [];
    for (const [column, values] of selection) {
      for (const value of values) {
        const [name, written] = [quote(column), quote(value ?? "").replaceAll("%2F", "/")];
        if (NAMED.has(column) && value !== null) pairs.push(`${name}=${written}`);
        else pairs.push(value === null ? `slice=${name}` : `slice=${name}:${written}`);
      }
    }
    return pairs.join("&");
  }

  /* The selection of a line or of an address that ends in it; null where a part selects nothing. */
  function read(line) {
    const selection = new Map();
    for (const part of parts(line)) {
      const [name, rest] = cut(part, "=");
      if (name === "case" && rest !== null) continue;
      if (rest === null || (name !== "slice" && !NAMED.has(name))) return null;
      const [column, value] = name === "slice" ? cut(rest, ":") : [name, rest];
      if (column === "") return null;
      const key = unquote(column);
      if (!selection.has(key)) selection.set(key, []);
      selection.get(key).push(value === null ? null : unquote(value));
    }
    return selection;
  }

  /* Whether a case's value is the one that is wanted, or a number in a band of that name; the
     text of a number that is not whole has a dot. */
  const NUMBER = "(-?\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?)";
  const BAND = new RegExp(`^(?:under ${NUMBER}|${NUMBER}–${NUMBER}|${NUMBER} and more)$`);
  const PLAIN = new RegExp(`^${NUMBER}$`);
  function fits(value, wanted) {
    if (Array.isArray(value) && value.length) return value.some((each) => fits(each, wanted));
    if (Array.isArray(value)) return wanted === null;
    if (value === null || value === undefined || wanted === null) return (value ?? null) === wanted;
    if (String(value) === wanted || value === `${wanted}.0`) return true;
    const band = PLAIN.test(value) ? BAND.exec(wanted) : null;
    if (!band) return false;
    const [number, under, low, high, more] = [value, ...band.slice(1)].map(Number);
    if (band[1]) return number < under;
    if (band[4]) return number >= more;
    return number >= low && (/[.e]/.test(value) ? number < high : number <= high);
  }

  /* The key of the case that a line opens, or null. */
  const key = (line) => {
    const keys = parts(line).filter((part) => part.startsWith("case=")).map((part) => part.slice(5));
    return keys.find((value) => KEY.test(value)) ?? null;
  };

  window.formlabGallery.selection = { read, text, fits, key };
})();
