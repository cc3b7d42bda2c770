"""The same answers scored in both modes, ``official`` and ``fixed``: what differs, and why."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from formlab import tables
from formlab.analysis.splits import CELL, cell_of, corpus_name, schema_of
from formlab.analysis.summarise import summarise
from formlab.benchmarks.vrdu import Schema
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics.entities import match_entities, same_values
from formlab.scoring.evaluate import evaluate
from formlab.scoring.score_batch import THRESHOLD
from formlab.scoring.tasks._leaves import Leaves, leaves

MODES = ("official", "fixed")
SCORES = ("micro_f1", "macro_f1")
CHANGE: dict[str, Any] = {
    **dict.fromkeys(("doc_id", "name", "path", "gold"), pl.String),
    **dict.fromkeys(("official_pred", "fixed_pred"), pl.String),
    **dict.fromkeys(MODES, pl.Float64),
    **dict.fromkeys(("reason", "effect"), pl.String),
}
ORDER, PARTIAL, SHARED = "order of components", "partial credit", "one prediction, several golds"
EQUAL, ABSENT = "equal predictions counted as one", "entity without gold averaged as 0"
DATE, AMOUNT, OTHER = "notation of a date", "sign or notation of an amount", "another assignment"
MORE, LESS, ELSE = "worth more when fixed", "worth less when fixed", "counted in one mode only"
_BY_FUNCTION = {"DateMatch": DATE, "PriceMatch": AMOUNT}
CHANGES = {"corpus": pl.String, "split": pl.String} | CHANGE


def changed_entities(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """The entities that earn another score in the other mode, with the reason.

    Returns
    -------
    polars.DataFrame
        The columns of `mode_changes`, and `corpus` and `split`.
    """
    changes = [
        mode_changes(each.corpus, each.predictions).select(
            pl.lit(corpus_name(each)).alias("corpus"), pl.lit(each.split).alias("split"), pl.all()
        )
        for each in _scorable(evaluations)
    ]
    return pl.concat([pl.DataFrame(schema=CHANGES), *changes])


def both_modes(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Micro and macro F1 of each split in both modes.

    Returns
    -------
    polars.DataFrame
        The rows of `summarise` in mode ``official``, with `corpus`, `task` and `train_size` of the
        split, the values of both modes under their names, and `difference`, fixed minus official.
    """
    corpora = {name: kind for name, kind in CELL.items() if name != "n_splits"}
    more = corpora | dict.fromkeys((*MODES, "difference"), pl.Float64)
    rows = [pl.DataFrame(schema=tables.SUMMARY | more)]
    for evaluation in _scorable(evaluations):
        both = evaluation.corpus, evaluation.predictions
        threshold = evaluation.settings.get("threshold", THRESHOLD)
        scored = [evaluate(*both, mode=mode, threshold=threshold) for mode in MODES]
        first, second = (
            summarise(each, by=(), average="pooled", resamples=0).filter(
                pl.col("metric").is_in(SCORES)
            )
            for each in scored
        )
        cell = zip(corpora.items(), cell_of(evaluation), strict=False)
        rows.append(
            first.with_columns(
                *(pl.lit(value, kind).alias(name) for (name, kind), value in cell),
                official="value",
                fixed=second["value"],
                difference=second["value"] - first["value"],
            ).select(rows[0].columns)
        )
    return pl.concat(rows)


def _scorable(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Those of entities that hold what they scored."""
    return [each for each in evaluations if schema_of(each) and each.corpus and each.predictions]


class _Item(NamedTuple):
    doc: str
    name: str
    path: str
    order: str | None
    # The accepted forms of each component; of an entity without components that of None.
    forms: dict[str | None, list[str]]

    @property
    def text(self) -> str:
        first = {name: forms[0] for name, forms in self.forms.items()}
        if [*first] == [None]:
            return first[None]
        return "; ".join(f"{name}: {value}" for name, value in first.items())


def mode_changes(corpus: Corpus, predictions: Predictions) -> pl.DataFrame:
    """The entities whose score depends on the mode.

    One row per gold entity that earns another share of itself: what either mode set beside it, the
    share in [0, 1], the reason and the effect; per prediction that one mode does not count (`gold`
    and `path` are null); and per entity name that no gold has (`doc_id` is null too), which
    ``official`` averages as 0.
    """
    schema = Schema.of(corpus)
    known = pl.col("doc_id").is_in(corpus.documents["doc_id"].implode())
    claims = dataclasses.replace(predictions, records=predictions.records.filter(known))
    both = leaves(corpus, claims, schema)
    rows = list(_changed(both, schema))
    named = set(both.gold["name"])
    rows += [{"name": name, "reason": ABSENT} for name in schema.entities if name not in named]
    full = [dict.fromkeys(CHANGE) | row for row in rows]
    more = pl.col("fixed") > pl.col("official")
    effect = pl.when(more).then(pl.lit(MORE)).when(~more).then(pl.lit(LESS)).otherwise(pl.lit(ELSE))
    return pl.DataFrame(full, schema=CHANGE).with_columns(effect.alias("effect"))


def _changed(both: Leaves, schema: Schema) -> Iterator[dict[str, Any]]:
    golds, preds = _items(both.gold, both.gold_records), _items(both.pred, both.pred_records)
    official, fixed = (
        match_entities(both.gold, both.pred, schema.matches, mode=mode) for mode in MODES
    )
    credits = [
        {gold: (pred, credit) for gold, pred, credit in match.pairs.iter_rows()}
        for match in (official, fixed)
    ]
    taken = Counter(official.pairs["pred"])
    for item, gold in golds.items():
        (old, was), (new, now) = (credit.get(item, (None, 0.0)) for credit in credits)
        if was == now:
            continue
        reason = _reason(gold, preds[old if now < was else new], schema)
        if now < was and taken[old] > 1 and old != new:
            reason = SHARED
        elif reason == OTHER and now < 1 and len(gold.forms) > 1:
            reason = PARTIAL
        texts = [None if pred is None else preds[pred].text for pred in (old, new)]
        yield {
            "doc_id": gold.doc,
            "name": gold.name,
            "path": gold.path,
            "gold": gold.text,
            **dict(zip(("official_pred", "fixed_pred"), texts, strict=True)),
            "official": was,
            "fixed": now,
            "reason": reason,
        }
    used = set(fixed.pairs["pred"])
    for item in official.forgiven.tolist():
        pred = preds[item]
        row = {"doc_id": pred.doc, "name": pred.name, "official_pred": pred.text, "reason": EQUAL}
        yield row | {"fixed_pred": pred.text if item in used else None}


def _items(leaf: pl.DataFrame, records: pl.DataFrame) -> dict[int, _Item]:
    forms = pl.concat_list("value", pl.col("accepted").fill_null([]))
    items: dict[int, _Item] = {}
    columns = ("item", "doc", "name", "row", "order", "component", "forms")
    for item, doc, name, row, order, component, texts in leaf.with_columns(
        forms=forms.list.eval(pl.element().fill_null(""))
    )[columns].iter_rows():
        path = records["path"][row]
        path = path if component is None else "/".join(path.split("/")[:3])
        items.setdefault(item, _Item(doc, name, path, order, {})).forms[component] = texts
    return items


def _reason(gold: _Item, pred: _Item, schema: Schema) -> str:
    """Why two entities that stand beside each other are the same in one mode alone."""
    changed = []
    for component, forms in gold.forms.items():
        if component not in pred.forms:
            return PARTIAL
        function = schema.matches.get(component or gold.name, "")
        texts = [pred.forms[component][0]] * len(forms)
        old, new = (
            bool(same_values(function, forms, texts, mode=mode, order=gold.order).any())
            for mode in MODES
        )
        if not new and not old:
            return PARTIAL
        if old != new:
            changed.append(_BY_FUNCTION.get(function, OTHER))
    if changed:
        return changed[0]
    return ORDER if [*gold.forms] != [*pred.forms] else OTHER
