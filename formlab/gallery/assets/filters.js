/* Which cases are shown: the columns that cases have, filters, selections, search. */
"use strict";
(() => {
  const { answers, rung, words, visible, selection: { fits } } = window.formlabGallery;
  const NONE = "–";
  const OF_CASE = ["benchmark", "split", "doc_id", "level", "task", "path", "label", "kind", "verdict"];
  const OF_ANSWER = ["system", "outcome", "cause", "stage", "status"];
  const plain = (value) => (value === null || value === undefined ? null : String(value));

  /* The values of a column that a case has, as texts or null: of answers, those of all systems. */
  function valuesOf(item, column) {
    const numbered = /^outcome_(\d)$/.exec(column);
    if (numbered) return [plain(answers(item)[numbered[1] - 1]?.outcome)];
    if (Object.hasOwn(item.slices, column)) return [item.slices[column]].flat().map(plain);
    if (column === "finding") return item.finding.map(String);
    if (column === "passes") return [rung(item)];
    if (OF_ANSWER.includes(column)) return [...new Set(answers(item).map((answer) => plain(answer[column])))];
    return OF_CASE.includes(column) ? [plain(item[column])] : [];
  }

  class Filters {
    constructor(cases, claims) {
      this.cases = cases;
      const compared = cases.some((item) => item.beside);
      const outcomes = compared ? answers(cases[0]).map((answer, n) => [`outcome_${n + 1}`, `Outcome of ${visible(answer.system)}`]) : [["outcome", "Outcome"]];
      const sliced = Object.keys(cases[0]?.slices ?? {});
      this.columns = new Set([...OF_CASE, ...OF_ANSWER, ...sliced, "passes", ...outcomes.map(([name]) => name), ...(claims.length ? ["finding"] : [])]);
      const named = (name) => [name, words(name)[0].toUpperCase() + words(name).slice(1)];
      const offered = new Map([
        ["finding", "Finding"], ...["benchmark", "split", "system", "task", "kind"].map(named), ...outcomes,
        ...["cause", ...sliced, "stage", "passes", "verdict"].map(named),
      ].filter(([name]) => this.columns.has(name) && !(compared && name === "system")));
      this.facets = [...offered]
        .map(([column, label]) => ({
          column, label: visible(label), chosen: "", values: cases.map((item) => valuesOf(item, column).map((value) => value ?? NONE)),
          text: (value) => visible(column === "finding" && claims[value - 1] ? `${value}. ${claims[value - 1].slice(0, 60)}` : words(value)),
        }))
        .filter(({ values }) => values.some((value) => String(value) !== String(values[0])));
      this.within = null;
      this.clear();
    }

    /* An explorer around the gallery shows these cases alone; filters of its columns show why. */
    mirror(places, columns, selection) {
      this.within = new Set(places);
      for (const facet of this.facets.filter(({ column }) => columns.has(column))) {
        const values = selection.get(facet.column) ?? [];
        facet.chosen = values.length === 1 ? values[0] ?? NONE : "";
      }
    }

    clear() {
      for (const facet of this.facets) facet.chosen = "";
      /* What a selection asks for and no filter can show: several values, or a column without one. */
      this.also = new Map();
      this.needle = "";
      this.only = null;
    }

    knows(selection) {
      return [...selection.keys()].every((column) => this.columns.has(column));
    }

    choose(selection) {
      this.clear();
      for (const [column, values] of selection) {
        const facet = this.facets.find((each) => each.column === column);
        const named = values.length === 1 ? values[0] ?? NONE : null;
        if (facet?.values.some((own) => own.includes(named))) facet.chosen = named;
        else this.also.set(column, values);
      }
    }

    get selection() {
      const chosen = this.facets.filter((facet) => facet.chosen !== "")
        .map((facet) => [facet.column, [facet.chosen === NONE ? null : facet.chosen]]);
      return new Map([...chosen, ...this.also]);
    }

    fits(i) {
      const item = this.cases[i];
      if (this.within && !this.within.has(i)) return false;
      if (this.only !== null && item.sheet !== this.only) return false;
      for (const [column, values] of this.also) {
        if (!valuesOf(item, column).some((value) => values.some((each) => fits(value, each)))) return false;
      }
      return this.needle === "" || this.haystack(i).includes(this.needle);
    }

    haystack(i) {
      this.haystacks ??= this.cases.map((item) => [
        item.label, item.path, item.doc_id, item.kind, item.gold, item.verdict, ...answers(item).flatMap((answer) => [answer.pred, answer.cause, answer.system]),
      ].filter(Boolean).join("\n").toLowerCase());
      return this.haystacks[i];
    }

    /* One walk finds the cases and counts each filter's values among what the others leave, so
       that no option leads to an empty page. */
    find() {
      const counts = this.facets.map(() => new Map());
      const found = [];
      for (let i = 0; i < this.cases.length; i += 1) {
        if (!this.fits(i)) continue;
        const failed = [];
        this.facets.forEach((facet, f) => {
          if (facet.chosen !== "" && !facet.values[i].includes(facet.chosen)) failed.push(f);
        });
        if (failed.length > 1) continue;
        if (failed.length === 0) found.push(i);
        for (const f of failed.length ? failed : counts.keys()) {
          for (const name of this.facets[f].values[i]) counts[f].set(name, (counts[f].get(name) || 0) + 1);
          counts[f].all = (counts[f].all || 0) + 1;
        }
      }
      return { found, counts };
    }
  }

  Object.assign(window.formlabGallery, { Filters, valuesOf });
})();
