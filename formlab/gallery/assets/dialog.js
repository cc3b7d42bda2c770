/* One case, large: its place on the page, every answer, what was scored, the page's other cases. */
"use strict";
(() => {
  const { el, visible, words, title, answers, chip, ladder, goldValue, predValue, Viewer } = window.formlabGallery;
  const NEIGHBOURS = 40;
  const FACTS = ["path", "doc_id", "benchmark", "split", "system", "task", "kind", "verdict"];
  const HINT = "← → cases, + − zoom, 0 field, p page with all boxes, Esc closes";

  const short = (value) => (value === null ? "–" : visible(value).slice(0, 40));

  function scores(answer) {
    if (!answer.scores) return null;
    const number = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 3 }));
    return el("table", { class: "fl-scores" },
      el("caption", { text: "scores of this case" }),
      el("tbody", {}, ...answer.scores.map(([metric, value, hits, total]) => el("tr", {},
        el("th", { scope: "row", text: words(metric) }), el("td", { text: number(value) }),
        el("td", { class: "fl-parts", text: hits === null ? "" : `${number(hits)} of ${number(total)}` })))));
  }

  function facts(pairs) {
    const shownValue = (value) => (typeof value === "number" ? value.toFixed(3) : visible(value));
    return el("dl", { class: "fl-facts" }, ...pairs.filter(([, value]) => value !== null && value !== undefined)
      .flatMap(([name, value]) => [el("dt", { text: words(name) }), el("dd", {}, el("bdi", { text: shownValue(value) }))]));
  }

  class CaseDialog {
    constructor(gallery) {
      this.gallery = gallery;
      this.viewer = new Viewer((i) => this.open(i));
      this.back = el("button", { type: "button", text: "← Previous", onclick: () => this.step(-1) });
      this.forward = el("button", { type: "button", text: "Next →", onclick: () => this.step(1) });
      this.place = el("span", { class: "fl-place", role: "status" });
      this.link = el("a", { class: "fl-link", text: "Link to this case", title: "copies the address of this case", onclick: (event) => this.copy(event) });
      const close = el("button", { type: "button", class: "fl-close", text: "Close", onclick: () => this.node.close() });
      this.head = el("h3", { tabindex: "-1" });
      this.chips = el("div");
      this.text = el("div", { class: "fl-text-pane" });
      this.node = el("dialog", {
        class: "fl-dialog", "aria-label": "one case",
        onclick: (event) => { if (event.target === this.node) this.node.close(); },
        onclose: () => this.gallery.focus(this.at),
        onkeydown: (event) => this.keys(event),
      }, el("div", { class: "fl-sheet" },
        el("div", { class: "fl-tools" }, this.back, this.forward, this.place, this.link, close),
        el("header", {}, this.head, this.chips),
        el("div", { class: "fl-pane" }, el("div", {}, this.viewer.node, el("p", { class: "fl-hint", text: HINT })), this.text)));
    }

    keys(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const scrolls = event.target === this.viewer.scroller && event.key.startsWith("Arrow");
      if (scrolls) return;
      const act = {
        ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), "+": () => this.viewer.zoom(1.4), "=": () => this.viewer.zoom(1.4),
        "-": () => this.viewer.zoom(1 / 1.4), 0: () => this.viewer.field(), p: () => this.viewer.page(true),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    }

    step(by) {
      const next = this.gallery.found[this.at + by];
      if (next !== undefined) this.open(next);
    }

    /* A case that the filters hide has no place of its own: the last place stays the way back. */
    open(i) {
      const { cases, found } = this.gallery;
      const item = cases[i];
      const at = found.indexOf(i);
      if (at >= 0 || this.at === undefined) this.at = Math.max(at, 0);
      this.head.replaceChildren(el("bdi", { text: visible(title(item)) }));
      this.link.textContent = "Link to this case";
      this.link.href = `#${[this.gallery.lineOf(item), `case=${item.key}`].filter(Boolean).join("&")}`;
      this.chips.replaceChildren(this.gallery.chips(item));
      this.text.replaceChildren(this.values(item), ...this.answers(item),
        facts(FACTS.map((name) => [name, name === "system" && item.beside ? null : item[name]])), this.neighbours(i, item));
      this.place.textContent = at < 0 ? "hidden by the filters" : `${(at + 1).toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
      this.back.disabled = this.at === 0 && at >= 0;
      this.forward.disabled = this.at >= found.length - 1;
      if (!this.node.open) {
        this.node.showModal();
        this.head.focus();
      }
      this.node.scrollTop = 0;
      this.viewer.show(item, this.gallery.images, this.gallery.onSheet(item).filter(([other]) => other !== i), this.gallery.pageBoxes(item));
    }

    /* A page that is a frame has no address to link to; its style sheet hides the link. */
    copy(event) {
      event.preventDefault();
      navigator.clipboard.writeText(this.link.href)
        .then(() => { this.link.textContent = "Copied"; }, () => { location.hash = this.link.hash; });
    }

    values(item) {
      const list = el("dl", { class: "fl-pair" }, el("dt", { text: "gold" }), el("dd", {}, goldValue(item)));
      answers(item).forEach((answer, n) => {
        list.append(this.gallery.predName(item, answer, n), el("dd", {}, predValue(answer)));
      });
      return list;
    }

    /* Of each answer the ladder, and what was measured. */
    answers(item) {
      return answers(item).map((answer, n) => {
        const name = visible(answer.system);
        return el("section", { class: "fl-answer", "aria-label": `answer of ${name}` },
          item.beside ? el("h4", { class: `fl-key pred${n === 0 ? "" : n + 1}` }, el("bdi", { text: name })) : null,
          ladder(answer.ladder, "strictness ladder"),
          facts([["similarity", answer.similarity], ["confidence", answer.confidence], ["status", answer.status]]),
          scores(answer));
      });
    }

    neighbours(i, item) {
      const others = this.gallery.onSheet(item);
      if (others.length < 2) return "";
      const list = el("ul", {}, ...others.slice(0, NEIGHBOURS).map(([k, other]) => el("li", {},
        el("button", { type: "button", "aria-current": k === i ? "true" : null, onclick: () => { this.open(k); this.head.focus(); } },
          el("b", {}, el("bdi", { text: visible(title(other)) })), " ",
          el("bdi", { text: `${short(other.gold)} → ${short(other.pred)}` })))));
      return el("section", { class: "fl-others", "aria-label": "cases of this page" },
        el("h4", { text: `${others.length.toLocaleString("en")} cases on this page` }), list,
        el("button", { type: "button", text: "Show them all in the gallery", onclick: () => { this.at = 0; this.gallery.onlySheet(item); this.node.close(); } }));
    }
  }

  Object.assign(window.formlabGallery, { CaseDialog });
})();
