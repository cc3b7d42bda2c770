"""The same answers scored in both modes, ``official`` and ``fixed``: what differs, and why."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from formlab import tables
from formlab.analysis.splits import TASKS, cell_of, corpus_name, schema_of
from formlab.benchmarks.vrdu import Schema
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.metrics.entities import match_entities, same_values
from formlab.scoring.evaluate import evaluate
from formlab.scoring.tasks.entities import Leaves, leaves
from formlab.stats.sums import document_sums

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
COMPARED: dict[str, Any] = {
    "corpus": pl.String,
    "task": pl.Enum(TASKS),
    "train_size": pl.Int64,
    **dict.fromkeys(("split", "metric", "average"), pl.String),
    **dict.fromkeys((*MODES, "difference"), pl.Float64),
    **dict.fromkeys(("benchmark", "level", "mode"), pl.String),
    "settings": tables.SETTINGS,
}


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
        The columns of `COMPARED`. `difference` is fixed minus official.
    """
    rows = []
    for evaluation in _scorable(evaluations):
        both = evaluation.corpus, evaluation.predictions
        threshold = evaluation.settings.get("threshold", 0.8)
        again = {mode: evaluate(*both, mode=mode, threshold=threshold) for mode in MODES}
        scored = {
            mode: {
                row.labels["metric"]: row
                for row in document_sums(each, (), average="pooled")
                if row.labels["slice_by"] is None
            }
            for mode, each in again.items()
        }
        named = dict(zip(("corpus", "task", "train_size"), cell_of(evaluation), strict=True))
        for metric in SCORES:
            values = {mode: rows_of[metric].value for mode, rows_of in scored.items()}
            labels = scored[evaluation.mode][metric].labels | values
            labels["settings"] = dataclasses.asdict(labels["settings"])
            labels |= {"difference": values["fixed"] - values["official"], "mode": "both"}
            rows.append({name: (named | labels)[name] for name in COMPARED})
    return pl.DataFrame(rows, schema=COMPARED)


def _scorable(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Those of entities that hold what they scored."""
    return [each for each in evaluations if schema_of(each) and each.corpus and each.predictions]


class _Item(NamedTuple):
    doc: str
    name: str
    path: str
    components: tuple[str | None, ...]
    forms: tuple[tuple[str, ...], ...]
    order: str | None

    @property
    def text(self) -> str:
        first = [forms[0] for forms in self.forms]
        if self.components == (None,):
            return first[0]
        named = zip(self.components, first, strict=True)
        return "; ".join(f"{name}: {value}" for name, value in named)


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
        if now < was and taken[old] > 1 and old != new:
            reason = SHARED
        else:
            reason = _reason(gold, preds[old if now < was else new], schema)
        if reason == OTHER and now < 1 and len(gold.components) > 1:
            reason = PARTIAL
        yield {
            "doc_id": gold.doc,
            "name": gold.name,
            "path": gold.path,
            "gold": gold.text,
            "official_pred": None if old is None else preds[old].text,
            "fixed_pred": None if new is None else preds[new].text,
            "official": was,
            "fixed": now,
            "reason": reason,
        }
    used = set(fixed.pairs["pred"])
    for item in official.forgiven.tolist():
        pred = preds[item]
        yield {
            "doc_id": pred.doc,
            "name": pred.name,
            "official_pred": pred.text,
            "fixed_pred": pred.text if item in used else None,
            "reason": EQUAL,
        }


def _items(leaf: pl.DataFrame, records: pl.DataFrame) -> dict[int, _Item]:
    paths = records["path"]
    items = {}
    shown = leaf.with_columns(
        pl.concat_list("value", pl.col("accepted").fill_null([])).alias("forms")
    )
    grouped = shown.group_by("item", maintain_order=True).agg(
        pl.col("doc", "name", "row", "order").first(), "component", "forms"
    )
    for item, doc, name, row, order, components, forms in grouped.iter_rows():
        path = paths[row] if components == [None] else "/".join(paths[row].split("/")[:3])
        texts = tuple(tuple(text or "" for text in own) for own in forms)
        items[item] = _Item(doc, name, path, tuple(components), texts, order)
    return items


def _reason(gold: _Item, pred: _Item, schema: Schema) -> str:
    """Why two entities that stand beside each other are the same in one mode alone."""
    theirs = dict(zip(pred.components, pred.forms, strict=True))
    changed = []
    for component, forms in zip(gold.components, gold.forms, strict=True):
        if component not in theirs:
            return PARTIAL
        function = schema.matches.get(component or gold.name, "")
        texts = [theirs[component][0]] * len(forms)
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
    return ORDER if gold.components != pred.components else OTHER
