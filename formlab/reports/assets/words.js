/* What a report says: its first screen, number cards and captions. */
"use strict";
(() => {
  const { el, visible } = window.formlabGallery;
  const { kinds } = window.formlabReport;

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

  kinds.cards = (data, box) => { box.replaceChildren(...cards(data).filter(Boolean)); };
  kinds.caption = (data, box) => { box.replaceChildren(...caption(data).filter(Boolean)); };
})();
