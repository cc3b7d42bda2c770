/* What a report says: its first screen, number cards and captions. */
"use strict";
(() => {
  const { el, visible, shape } = window.formlabGallery;
  const { kinds } = window.formlabReport;

  function cards(data) {
    return [
      data.finding ? el("p", { class: "fl-finding", text: visible(data.finding) }) : null,
      data.cards.length ? el("dl", { class: "fl-cards" }, ...data.cards.map((card) => el("div", {},
        el("dt", { text: visible(card.label) }),
        el("dd", { class: "fl-number", text: visible(card.value) }),
        card.note ? el("dd", { text: visible(card.note) }) : null))) : null,
    ];
  }

  /* A value with its interval on an axis: from 0 to 100 % for a share, around 0 for a difference. */
  const [WIDE, HIGH, EDGE, LINE] = [200, 40, 18, 24];
  function picture(row) {
    const [low, high] = row.ends.map(Number);
    if (typeof row.value !== "number" || !(high > low)) return null;
    const x = (value) => EDGE + (WIDE - 2 * EDGE) * (Math.min(Math.max(value, low), high) - low) / (high - low);
    const drawn = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, width: WIDE, height: HIGH, role: "img", class: "fl-small" });
    const add = (tag, props) => drawn.appendChild(shape(tag, props));
    drawn.setAttribute("aria-label", visible(row.effect));
    add("line", { class: "axis", x1: x(low), x2: x(high), y1: LINE, y2: LINE });
    for (const value of new Set([low, Math.min(Math.max(0, low), high), high])) {
      const sign = value > 0 && !row.share ? "+" : "";
      const text = row.share ? `${Math.round(100 * value)} %` : `${sign}${Number(value.toFixed(2))}`.replace("-", "−");
      add("line", { class: value === 0 ? "zero" : "axis", x1: x(value), x2: x(value), y1: value === 0 ? 4 : LINE, y2: LINE + 3 });
      add("text", { x: x(value), y: HIGH - 2, "text-anchor": "middle" }).textContent = text;
    }
    if (typeof row.low === "number" && typeof row.high === "number") {
      add("line", { class: "span", x1: x(row.low), x2: x(row.high), y1: 13, y2: 13 });
      for (const value of [row.low, row.high]) add("line", { class: "span", x1: x(value), x2: x(value), y1: 9, y2: 17 });
    }
    add("circle", { class: "point", cx: x(row.value), cy: 13, r: 4.5 });
    return drawn;
  }

  function finding(row, lead) {
    const link = row.wrong > 0
      ? el("a", { href: `#finding=${Number(row.place)}`, text: `show its ${row.wrong === 1 ? "" : `${row.wrong.toLocaleString("en")} `}${visible(row.behind)}${row.wrong === 1 ? "" : "s"}` })
      : null;
    return [
      el("div", {},
        lead ? null : el("p", { class: "fl-claim", text: visible(row.claim) }),
        el("p", { class: "fl-effect" }, ...[visible(row.effect), row.where && !lead ? el("span", { text: visible(row.where) }) : null, link]
          .filter(Boolean).flatMap((part, place) => place ? [" · ", part] : [part])),
        row.try ? el("p", { class: "fl-next", text: `Try: ${visible(row.try)}` }) : null),
      picture(row),
    ].filter(Boolean);
  }

  /* What fixing each stage gains: bars that begin where the one before ends; a row leads to its cases. */
  function waterfall(figure, title) {
    const share = (value) => `${100 * Math.min(Math.max(Number(value) || 0, 0), 1)}%`;
    const texts = (row) => row.map((text) => el("span", { text: visible(text) }));
    return el("div", { class: "fl-gain", role: "group", "aria-label": title },
      el("p", { class: "fl-step" }, el("b", { text: title }), ...texts(figure.head)),
      ...figure.rows.map((row) => {
        const bar = el("i", {});
        bar.style.marginLeft = share(row.from);
        bar.style.width = share(row.to - row.from);
        return el("a", { class: "fl-step", href: row.line ? `#${row.line}` : null, title: row.note ? visible(row.note) : null },
          ...texts([row.stage]), el("span", {}, bar), ...texts(row.shown));
      }));
  }
  function gains(data) {
    const figures = data?.figures ?? [];
    const title = (figure) => [data.title, ...(figures.length > 1 ? [figure.of] : [])].map(visible).join(": ");
    const [top, ...others] = figures.map((figure) => waterfall(figure, title(figure)));
    if (!others.length) return top;
    const fold = el("details", {}, el("summary", { text: `the same for ${others.length} more evaluation${others.length > 1 ? "s" : ""}` }), ...others);
    return el("div", { class: "fl-gains" }, top, fold);
  }

  function first(data) {
    const [top, ...others] = data.lead ? data.findings : [null, ...data.findings];
    const runs = data.runs.map((text) => el("p", { text: visible(text) }));
    return [
      el("p", { class: "fl-finding", text: visible(data.sentence) }),
      top ? el("div", { class: "fl-lead-finding" }, ...finding(top, true)) : null,
      el("div", { class: "fl-numbers" }, ...cards({ cards: data.cards }), gains(data.gains)),
      others.length ? el("ol", { class: "fl-findings" }, ...others.map((row) => el("li", {}, ...finding(row, false)))) : null,
      runs.length === 0 ? null : data.open ? el("div", { class: "fl-runs" }, ...runs)
        : el("details", { class: "fl-runs" }, el("summary", { text: visible(data.ran) }), ...runs),
    ];
  }

  const counts = Object.create(null);
  function caption(data) {
    const label = visible(data.label);
    counts[label] = (counts[label] || 0) + 1;
    const text = el("p", { class: "fl-caption" }, el("b", { text: `${label} ${counts[label]}.` }), ` ${visible(data.text)}`);
    if (!data.settings) return [text];
    const settings = el("p", { class: "fl-settings", hidden: "", id: `fl-how-${label}-${counts[label]}`.replace(/[^\w-]/g, ""), text: visible(data.settings) });
    const mark = el("button", { type: "button", class: "fl-how", "aria-expanded": "false", "aria-controls": settings.id, text: "how it was computed", onclick: () => {
      settings.hidden = !settings.hidden;
      mark.setAttribute("aria-expanded", String(!settings.hidden));
    } });
    text.append(" ", mark);
    return [text, settings];
  }

  kinds.first = (data, box) => { box.replaceChildren(...first(data).filter(Boolean)); };
  kinds.cards = (data, box) => { box.replaceChildren(...cards(data).filter(Boolean)); };
  kinds.caption = (data, box) => { box.replaceChildren(...caption(data).filter(Boolean)); };
})();
