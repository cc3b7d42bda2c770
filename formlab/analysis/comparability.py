"""Whether evaluations can be compared, and what they have in common."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import polars as pl

from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.tables import WHOLE_LEVELS, settings_text

KEY = ("doc_id", "task", "path", "turn")


@dataclasses.dataclass(frozen=True)
class Common:
    """Evaluations cut to what all of them were scored on; `notes` counts what was left out."""

    evaluations: tuple[Evaluation, ...]
    notes: dict[str, int]


def common(evaluations: Sequence[Evaluation]) -> Common:
    """The part of each evaluation that can be compared with the others.

    Tasks, metrics and fields that only some systems were scored on are left out and counted in
    `notes`. A document without an answer stays: it counts as nothing found. Systems of one name
    are told apart by their place: ``ocr``, ``ocr (2)``.

    Raises
    ------
    DataBroken
        If there are fewer than two, or they differ in benchmark, split, mode, threshold,
        reading rule, documents or gold; the message names what differs.
    """
    named = _named(evaluations)
    _check_alike(named)
    _check_documents(named)
    notes: Counter[str] = Counter()
    named = _shared_tasks(named, notes)
    _check_gold(named)
    named = _shared_fields(named, notes)
    named = _shared_metrics(named, notes)
    return Common(tuple(named), dict(notes))


def fields(evaluation: Evaluation) -> pl.DataFrame:
    """The cases of fields and questions, no whole pages or nodes of trees, with `turn`.

    `turn` counts cases at the same path of a document in the order of their gold, so that the same
    gold has the same key in every evaluation.
    """
    return _turns(evaluation.fields)


def _turns(cases: pl.DataFrame) -> pl.DataFrame:
    claimed = pl.col("gold").is_null()
    place = pl.struct("gold", "gold_origin", "pred").rank("ordinal")
    turn = place.over("doc_id", "task", "path", claimed)
    return cases.with_columns(
        pl.when(claimed).then(-turn.cast(pl.Int64)).otherwise(turn).alias("turn")
    )


def _named(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    if len(evaluations) < 2:
        raise DataBroken(
            "a comparison takes two evaluations or more", remedy="formlab compare EVAL_A EVAL_B"
        )
    seen: Counter[str] = Counter()
    named = []
    for one in evaluations:
        seen[one.system] += 1
        name = one.system if seen[one.system] == 1 else f"{one.system} ({seen[one.system]})"
        system = pl.lit(name).alias("system")
        cases, scores = one.cases.with_columns(system), one.scores.with_columns(system)
        named.append(dataclasses.replace(one, system=name, cases=cases, scores=scores))
    return named


def _check_alike(evaluations: Sequence[Evaluation]) -> None:
    facts = {
        "benchmark": [one.benchmark for one in evaluations],
        "split": [one.split for one in evaluations],
        "mode": [one.mode for one in evaluations],
        "threshold": [one.settings.get("threshold") for one in evaluations],
        "reading rule": [one.settings.get("reader") for one in evaluations],
    }
    wrong = [
        f"{name} is "
        + ", ".join(f"{v} in {one.system}" for v, one in zip(values, evaluations, strict=True))
        for name, values in facts.items()
        if len(set(values)) > 1
    ]
    if wrong:
        raise _unlike("; ".join(wrong))


def _unlike(
    what: str, *, remedy: str = "formlab score with the same files, --split and --mode for each"
) -> DataBroken:
    return DataBroken(f"these evaluations cannot be compared: {what}", remedy=remedy)


def _check_documents(evaluations: Sequence[Evaluation]) -> None:
    first = evaluations[0]
    ids = set(first.documents["doc_id"])
    for other in evaluations[1:]:
        theirs = set(other.documents["doc_id"])
        if ids != theirs:
            alone = sorted(ids - theirs), sorted(theirs - ids)
            differ = [
                f"{len(docs)} documents are only in {one.system}, such as {docs[0]}"
                for one, docs in zip((first, other), alone, strict=True)
                if docs
            ]
            remedy = "formlab score with the same files and --documents for each"
            raise _unlike(", ".join(differ), remedy=remedy)


def _shared_tasks(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Cases of tasks that every system was scored on, whole pages told from fields."""
    whole = pl.col("path").is_null().alias("whole")
    groups = []
    for one in evaluations:
        scored = one.cases.filter(pl.col("outcome") != "unscored")
        groups.append(set(scored.select("task", whole).unique().rows()))
    shared = set.intersection(*groups)
    if not shared:
        raise _unlike("no task was scored for all of them")
    for task, page in sorted(set.union(*groups) - shared):
        have = [o.system for o, g in zip(evaluations, groups, strict=True) if (task, page) in g]
        what = f"{'whole pages' if page else 'fields'} of task {task}"
        notes[f"{what}, scored for {', '.join(have)} only"] += max(
            o.cases.filter(pl.col("task") == task, pl.col("path").is_null() == page).height
            for o in evaluations
        )
    mine = pl.any_horizontal(
        (pl.col("task") == task) & (pl.col("path").is_null() == page) for task, page in shared
    )
    return [_with_cases(one, one.cases.filter(mine)) for one in evaluations]


def _with_cases(evaluation: Evaluation, cases: pl.DataFrame) -> Evaluation:
    """Without the cases left out, and without the scores of those that are fields."""
    kept = dataclasses.replace(evaluation, cases=cases)
    key = ["doc_id", "path"]
    gone = evaluation.fields.select(key).unique().join(kept.fields.select(key), on=key, how="anti")
    scores = evaluation.scores.join(gone, on=key, how="anti", maintain_order="left")
    return dataclasses.replace(kept, scores=scores)


def _check_gold(evaluations: Sequence[Evaluation]) -> None:
    """The gold of fields and pages is the same; nodes of trees follow from it."""
    golds = []
    for one in evaluations:
        cases = _turns(one.cases.filter(pl.col("level") != "node", pl.col("gold").is_not_null()))
        # Gold beside which a model gave two values is one gold.
        cases = cases.filter(pl.col("turn") == 1)
        accepted = pl.col("accepted").list.join("\x1f").fill_null("").alias("accepted")
        golds.append(cases.select(*KEY, "gold", accepted))
    first = golds[0]
    for one, other in zip(evaluations[1:], golds[1:], strict=True):
        both = first.join(
            other, on=KEY, how="full", nulls_equal=True, coalesce=True, suffix="_other"
        )
        odd = both.filter(
            pl.col("gold").ne_missing(pl.col("gold_other"))
            | pl.col("accepted").ne_missing(pl.col("accepted_other"))
        ).sort(KEY, nulls_last=True)
        if odd.height:
            row = odd.row(0, named=True)
            place = f"{row['doc_id']} {row['path'] or '(whole page)'}"
            values = " against ".join(_brief(row[name]) for name in ("gold", "gold_other"))
            raise _unlike(
                f"the gold of {odd.height} cases differs between {evaluations[0].system} and "
                f"{one.system}, first {place}: {values}"
            )


def _brief(value: str | None) -> str:
    return "nothing" if value is None else repr(value[:40])


def _shared_fields(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Without fields that could not be scored for one of the systems."""
    blind = (pl.col("outcome") == "unscored") & pl.col("gold").is_not_null()
    keys = pl.concat(fields(one).filter(blind).select(KEY) for one in evaluations).unique()
    if not keys.height:
        return evaluations
    notes["fields that could not be scored for every system"] = keys.height
    kept = []
    for one in evaluations:
        rest = pl.concat([
            one.cases.filter(pl.col("level").is_in(WHOLE_LEVELS)),
            fields(one).join(keys, on=KEY, how="anti", maintain_order="left").drop("turn"),
        ])  # fmt: skip
        kept.append(_with_cases(one, rest))
    return kept


def _shared_metrics(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Scores by metrics that every system has; what made them may differ and is noted."""
    of = ["metric", "level"]
    levels = [set(one.scores.select(of).unique().rows()) for one in evaluations]
    shared = set.intersection(*levels)
    if odd := sorted({metric for metric, _ in set.union(*levels) - shared}):
        notes[f"metrics not scored for every system: {', '.join(odd)}"] = len(odd)
    wanted = pl.DataFrame(sorted(shared), schema=dict.fromkeys(of, pl.String), orient="row")
    kept = [
        dataclasses.replace(
            one, scores=one.scores.join(wanted, on=of, how="semi", maintain_order="left")
        )
        for one in evaluations
    ]
    made = [one.scores.select("metric", "level", "mode", "settings").unique() for one in kept]
    lines = [{settings_text(row) for row in rows.iter_rows(named=True)} for rows in made]
    if odd := set.union(*lines) - set.intersection(*lines):
        notes["settings of scores that are not the same for every system"] = len(odd)
    return kept
