/* Counts of an explorer: which units a selection chooses, sums by document, draws of documents. */
"use strict";
(() => {
  const DRAWS = 1000;
  const WIDTHS = { b: Uint8Array, h: Uint16Array, i: Uint32Array };
  const unpack = (text) => {
    const bytes = Uint8Array.from(atob(text.slice(1)), (sign) => sign.charCodeAt(0));
    return new WIDTHS[text[0]](bytes.buffer);
  };

  /* A small generator of random numbers with a seed: mulberry32. */
  function randoms(seed) {
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  /* As numpy's quantile: linear between neighbours. */
  function quantile(sorted, share) {
    const at = share * (sorted.length - 1);
    const low = Math.floor(at);
    return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  }

  const named = ([value, low, high, documents, cases], head) => ({ ...head, value, low, high, documents, cases });

  class Counts {
    constructor(data) {
      this.evaluations = data.evaluations.map((each) => ({ ...each, document: unpack(each.document) }));
      this.columns = new Map(data.columns.map((column) => [column.name, {
        ...column, codes: column.codes.map(unpack), number: new Map(column.values.map((value, n) => [value, n + 1])),
      }]));
      this.measures = new Map(data.measures.map((measure) => [measure.name, { ...measure, codes: measure.codes.map(unpack) }]));
      // A column may be called like what objects inherit.
      this.rates = data.rates.map((of) => new Map(Object.entries(of).map(([measure, rows]) => [measure, new Map(Object.entries(rows))])));
      this.drawn = new Map();
    }

    /* How often each document is in each draw, draw by draw for the first, and so on. */
    draws(e) {
      if (!this.drawn.has(e)) {
        const count = this.evaluations[e].documents;
        const often = new Uint8Array(count * DRAWS);
        const random = randoms(1);
        for (let draw = 0; draw < DRAWS; draw += 1) {
          for (let n = 0; n < count; n += 1) often[Math.floor(random() * count) * DRAWS + draw] += 1;
        }
        this.drawn.set(e, often);
      }
      return this.drawn.get(e);
    }

    /* Each column of a selection as a table of the codes that fit. */
    filters(e, selection) {
      return [...selection].map(([name, values]) => {
        const column = this.columns.get(name);
        const ok = new Uint8Array(column.values.length + 1);
        for (const value of values) {
          const code = value === null ? 0 : column.number.get(value);
          if (code !== undefined) ok[code] = 1;
          // The values of findings are sets of numbers.
          if (column.claims) column.values.forEach((set, n) => { if (set.includes(value)) ok[n + 1] = 1; });
        }
        return { codes: column.codes[e], ok, after: column.after };
      });
    }

    /* For each unit: 2 if it fits, 1 if it fits but for what became of it, else 0. */
    fits(e, selection) {
      const filters = this.filters(e, selection);
      const made = new Uint8Array(this.evaluations[e].document.length).fill(2);
      for (const { codes, ok, after } of filters) {
        for (let unit = 0; unit < made.length; unit += 1) {
          if (!ok[codes[unit]]) made[unit] = after ? Math.min(made[unit], 1) : 0;
        }
      }
      return made;
    }

    /* The rows of a measure: by a column, or for slices, pairs of a name and a selection. */
    rows(e, by, measure, selection) {
      const others = new Map([...selection].filter(([name]) => name !== by));
      if (typeof by !== "string") return by.map(([name, own], n) => this.row(e, measure, others, own, { code: n, label: name }));
      const column = this.columns.get(by);
      const label = (code) => (code === 0 ? null : column.values[code - 1]);
      const ready = others.size === 0 ? this.rates[e].get(measure)?.get(by) : undefined;
      if (ready) return ready.map(([code, ...numbers]) => named(numbers, { code, label: label(code) }));
      if (!this.scored(e, measure)) return [];
      const sums = new Map();
      const of = (code) => { if (!sums.has(code)) sums.set(code, new Sums()); return sums.get(code); };
      const [fit, own] = [this.fits(e, others), column.codes[e]];
      const [errors, all] = [measure === "errors", new Sums()];
      this.each(e, measure, (unit, document, hits, total) => {
        if (fit[unit] === 0 || (fit[unit] === 1 && !errors)) return;
        if (!errors) of(own[unit]).add(document, hits, total);
        else if (!column.after) of(own[unit]).add(document, fit[unit] === 2 ? hits : 0, total);
        else {
          all.add(document, 0, total);
          if (fit[unit] === 2 && hits > 0) of(own[unit]).add(document, hits, 0);
        }
      });
      const made = [...sums].map(([code, sum]) => this.finish(e, errors && column.after ? sum.over(all) : sum, { code, label: label(code) }));
      const place = (code) => (code === 0 ? Infinity : code);
      return made.sort((a, b) => place(a.code) - place(b.code));
    }

    /* One number over what a selection chooses, and one of the slices made by hand. */
    row(e, measure, selection, own = new Map(), head = {}) {
      const ready = this.ready(e, measure, own.size === 0 ? selection : selection.size === 0 ? own : null);
      if (ready) return named(ready, head);
      const sum = new Sums();
      const [fit, inside] = [this.fits(e, selection), this.fits(e, own)];
      this.each(e, measure, (unit, document, hits, total) => {
        const least = Math.min(fit[unit], inside[unit]);
        if (least === 2) sum.add(document, hits, total);
        else if (least === 1 && measure === "errors") sum.add(document, 0, total);
      });
      return this.finish(e, sum, head);
    }

    /* What Python counted: everything, or one value of one column. */
    ready(e, measure, selection) {
      const rates = this.rates[e].get(measure);
      if (!rates || selection === null) return null;
      if (selection.size === 0) return rates.get("")?.[0].slice(1);
      const [[name, values]] = selection;
      const column = this.columns.get(name);
      if (selection.size > 1 || values.length !== 1) return null;
      const wanted = values[0] === null ? 0 : column.number.get(values[0]);
      return rates.get(name)?.find(([code]) => code === wanted)?.slice(1);
    }

    scored(e, measure) {
      const { pairs, codes } = this.measures.get(measure) ?? { pairs: [], codes: [] };
      return codes[e]?.some((code) => pairs[code][1] > 0 || pairs[code][0] > 0) ?? false;
    }

    each(e, measure, add) {
      const { pairs, codes } = this.measures.get(measure);
      const { document } = this.evaluations[e];
      const own = codes[e];
      for (let unit = 0; unit < own.length; unit += 1) add(unit, document[unit], pairs[own[unit]][0], pairs[own[unit]][1]);
    }

    finish(e, sum, head) {
      const { hits, total, taken, cases } = sum;
      const add = (values) => values.reduce((a, b) => a + b, 0);
      const whole = add(total);
      const documents = taken.filter((n) => n > 0).length;
      const [low, high] = documents > 1 ? this.interval(e, sum) : [null, null];
      return { ...head, value: whole > 0 ? add(hits) / whole : null, low, high, documents, cases };
    }

    interval(e, sum) {
      const above = this.summed(e, sum, sum.hits);
      // Rows that share their values share their totals.
      const whole = sum.all ?? sum;
      whole.below ??= this.summed(e, whole, whole.total);
      const known = above.map((hits, draw) => hits / whole.below[draw]).filter((value) => Number.isFinite(value)).sort();
      return known.length ? [quantile(known, 0.025), quantile(known, 0.975)] : [null, null];
    }

    /* One number of each document summed over each draw. */
    summed(e, { place }, numbers) {
      const often = this.draws(e);
      const sums = new Float64Array(DRAWS);
      for (const [document, n] of place) {
        const [own, start] = [numbers[n], document * DRAWS];
        if (own === 0) continue;
        for (let draw = 0; draw < DRAWS; draw += 1) sums[draw] += often[start + draw] * own;
      }
      return sums;
    }
  }

  /* Hits and total of each document that has any, and how many units are in the total. */
  class Sums {
    constructor() { Object.assign(this, { place: new Map(), hits: [], total: [], taken: [], cases: 0 }); }

    add(document, hits, total) {
      let n = this.place.get(document);
      if (n === undefined) {
        n = this.hits.length;
        this.place.set(document, n);
        for (const list of [this.hits, this.total, this.taken]) list.push(0);
      }
      this.hits[n] += hits;
      this.total[n] += total;
      if (total > 0) { this.taken[n] += 1; this.cases += 1; }
    }

    /* These hits over the totals of another. */
    over(all) {
      const sum = new Sums();
      for (const [document, n] of all.place) sum.add(document, 0, all.total[n]);
      for (const [document, n] of this.place) sum.add(document, this.hits[n], 0);
      return Object.assign(sum, { all, taken: [...all.taken], cases: all.cases });
    }
  }

  window.formlabExplorer = { Counts };
})();
