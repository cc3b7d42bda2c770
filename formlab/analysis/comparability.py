"""Whether evaluations can be compared, and what they have in common."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

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
    """Each evaluation cut to what can be compared with the others.

    Tasks, metrics and fields that only some systems were scored on are left out and counted in
    `notes`. A document without an answer stays: it counts as nothing found. Systems of one name
    are numbered: ``ocr``, ``ocr (2)``.

    Raises `DataBroken` if there are fewer than two, or they differ in benchmark, split, mode,
    threshold, reading rule, documents or gold; the message names what differs.
    """
    if len(evaluations) < 2:
        raise DataBroken(
            "a comparison takes two evaluations or more", remedy="formlab compare EVAL_A EVAL_B"
        )
    systems = named(evaluations)
    _check_alike(systems)
    _check_documents(systems)
    notes: Counter[str] = Counter()
    systems = _shared_tasks(systems, notes)
    _check_gold(systems)
    systems = _shared_fields(systems, notes)
    systems = _shared_metrics(systems, notes)
    return Common(tuple(systems), dict(notes))


def fields(evaluation: Evaluation) -> pl.DataFrame:
    """The cases of fields and questions, no whole pages or nodes of trees, with `turn`.

    `turn` counts cases at the same path of a document in the order of their gold, so that the same
    gold has the same key in every evaluation.
    """
    return _turns(evaluation.fields)


def of_gold() -> pl.Expr:
    """Whether a case is a value or question of the gold that was scored: what a share is taken of.

    What nobody asked for is counted by `spurious_rate` alone, so that the share of values right of
    a system is the same beside any other.
    """
    return pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored")


def _turns(cases: pl.DataFrame) -> pl.DataFrame:
    claimed = pl.col("gold").is_null()
    place = ["doc_id", "task", "path", claimed]
    turn = pl.lit(1, pl.Int64)
    # Few cases, if any, share a place: ranks within places take long.
    if cases.select(*place[:3], claimed.alias("claimed")).is_duplicated().any():
        turn = pl.struct("gold", "gold_origin", "pred").rank("ordinal").cast(pl.Int64).over(*place)
    return cases.with_columns(turn=pl.when(claimed).then(-turn).otherwise(turn))


def named(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations with systems of one name numbered, in their cases and scores as well."""
    seen: Counter[str] = Counter()
    systems = []
    for evaluation in evaluations:
        seen[evaluation.system] += 1
        if (number := seen[evaluation.system]) > 1:
            name = f"{evaluation.system} ({number})"

            def renamed(part: Evaluation, table: str, name: str = name) -> pl.DataFrame:
                return getattr(part, table).with_columns(system=pl.lit(name))

            tables = {table: partial(renamed, table=table) for table in ("cases", "scores")}
            evaluation = evaluation.changed(tables, system=name)
        systems.append(evaluation)
    return systems


def scored_metrics(evaluation: Evaluation) -> set[str]:
    """The metrics of an evaluation's scores."""
    return set(evaluation.gathered(lambda each: each.scores.select("metric").unique())["metric"])


def _check_alike(evaluations: Sequence[Evaluation]) -> None:
    facts = {
        name: [getattr(e, name) for e in evaluations] for name in ("benchmark", "split", "mode")
    }
    facts["threshold"] = [each.settings.get("threshold") for each in evaluations]
    facts["reading rule"] = [each.settings.get("reader") for each in evaluations]
    systems = [each.system for each in evaluations]
    texts = [
        f"{name} is " + ", ".join(f"{v} in {s}" for v, s in zip(values, systems, strict=True))
        for name, values in facts.items()
        if len(set(values)) > 1
    ]
    if texts:
        raise _unlike("; ".join(texts))


def _unlike(
    what: str, *, remedy: str = "formlab score with the same files, --split and --mode for each"
) -> DataBroken:
    return DataBroken(f"these evaluations cannot be compared: {what}", remedy=remedy)


def _check_documents(evaluations: Sequence[Evaluation]) -> None:
    first, *others = [(each.system, set(each.document_names)) for each in evaluations]
    for other in others:
        texts = [
            f"{len(only)} documents are only in {a[0]}, such as {min(only)}"
            for a, b in ((first, other), (other, first))
            if (only := a[1] - b[1])
        ]
        if texts:
            remedy = "formlab score with the same files and --documents for each"
            raise _unlike(", ".join(texts), remedy=remedy)


def _shared_tasks(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Cases of tasks that every system was scored on, whole pages apart from fields."""
    key, page = ["task", "page"], pl.col("path").is_null()
    scored = (pl.col("outcome") != "unscored").any()

    def counted(part: Evaluation) -> pl.DataFrame:
        return part.cases.group_by("task", page=page).agg(pl.len(), scored=scored)

    counts = [
        each.gathered(counted).group_by(key).agg(pl.col("len").sum(), pl.any("scored"))
        for each in evaluations
    ]
    groups = [set(each.filter("scored")[key].rows()) for each in counts]
    shared = set.intersection(*groups)
    if not shared:
        raise _unlike("no task was scored for all of them")
    for task, whole in sorted(set.union(*groups) - shared):
        pairs = zip(evaluations, groups, strict=True)
        systems = ", ".join(each.system for each, group in pairs if (task, whole) in group)
        note = f"{'whole pages' if whole else 'fields'} of task {task}, scored for {systems} only"
        notes[note] += max(each.filter(page=whole, task=task)["len"].sum() for each in counts)
    kept = pl.any_horizontal((pl.col("task") == task) & (page == whole) for task, whole in shared)
    return [
        each
        if set(count[key].rows()) == shared
        else _with_cases(each, lambda part: part.cases.filter(kept))
        for each, count in zip(evaluations, counts, strict=True)
    ]


def _with_cases(evaluation: Evaluation, chosen: Callable[[Evaluation], pl.DataFrame]) -> Evaluation:
    """Without the cases left out, and without the scores of those that are fields."""
    key = ["doc_id", "path"]

    def scores(part: Evaluation) -> pl.DataFrame:
        kept = chosen(part).filter(~pl.col("level").is_in(WHOLE_LEVELS))
        gone = part.fields.select(key).unique().join(kept.select(key), on=key, how="anti")
        return part.scores.join(gone, on=key, how="anti", maintain_order="left")

    return evaluation.changed({"cases": chosen, "scores": scores})


def digests(evaluation: Evaluation, read: Callable[[Evaluation], pl.DataFrame]) -> pl.DataFrame:
    """For each document how many rows `read` takes of its part, and the sum of their hashes.

    Documents of two evaluations that agree in both have the same rows, in whatever order; that
    others agree by chance has a probability of 1 in 2^64.
    """

    def summed(part: Evaluation) -> pl.DataFrame:
        rows = read(part)
        hashed = rows.select("doc_id", rows.hash_rows().alias("hash"))
        return hashed.group_by("doc_id").agg(pl.len(), pl.col("hash").sum())

    sums = evaluation.gathered(summed).group_by("doc_id").agg(pl.col("len", "hash").sum())
    return sums.sort("doc_id")


def _gold(part: Evaluation) -> pl.DataFrame:
    accepted = pl.col("accepted").list.join("\x1f").fill_null("").alias("accepted")
    known = (pl.col("level") != "node") & pl.col("gold").is_not_null()
    # Gold beside which a model gave two values is one gold.
    return _turns(part.cases.filter(known)).filter(turn=1).select(*KEY, "gold", accepted)


def _check_gold(evaluations: Sequence[Evaluation]) -> None:
    """The gold of fields and pages is the same; nodes of trees follow from it."""
    first, *others = evaluations
    sums = digests(first, _gold)
    for other in others:
        theirs = digests(other, _gold)
        alike = sums.join(theirs, on=sums.columns, how="semi")["doc_id"]
        if len(alike) == len(sums) == len(theirs):
            continue
        differs = ~pl.col("doc_id").is_in(alike.implode())
        golds = [
            each.gathered(lambda part, where=differs: _gold(part).filter(where))
            for each in (first, other)
        ]
        odd = golds[0].join(
            golds[1], on=KEY, how="full", coalesce=True, nulls_equal=True, suffix="_other"
        )
        same = (pl.col(n).eq_missing(pl.col(f"{n}_other")) for n in ("gold", "accepted"))
        odd = odd.filter(~pl.all_horizontal(same)).sort(KEY, nulls_last=True)
        if odd.height:
            row = odd.row(0, named=True)
            texts = [row["gold"], row["gold_other"]]
            texts = ["nothing" if text is None else repr(text[:40]) for text in texts]
            place = f"{row['doc_id']} {row['path'] or '(whole page)'}"
            raise _unlike(
                f"the gold of {odd.height} cases differs between {first.system} and "
                f"{other.system}, first {place}: {' against '.join(texts)}"
            )


def _shared_fields(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Without fields that could not be scored for one of the systems."""
    blind = (pl.col("outcome") == "unscored") & pl.col("gold").is_not_null()
    keys = pl.concat(
        each.gathered(lambda part: fields(part).filter(blind).select(KEY)) for each in evaluations
    ).unique()
    if not keys.height:
        return evaluations
    notes["fields that could not be scored for every system"] = keys.height

    def kept(part: Evaluation) -> pl.DataFrame:
        rest = fields(part).join(keys, on=KEY, how="anti", maintain_order="left").drop("turn")
        return pl.concat([part.cases.filter(pl.col("level").is_in(WHOLE_LEVELS)), rest])

    return [_with_cases(each, kept) for each in evaluations]


def _shared_metrics(evaluations: list[Evaluation], notes: Counter[str]) -> list[Evaluation]:
    """Scores by metrics that every system has; what made them may differ and is noted."""
    on = ["metric", "level"]
    columns = [*on, "mode", "settings"]
    made = [
        each.gathered(lambda part: part.scores.select(columns).unique()) for each in evaluations
    ]
    levels = [set(each.select(on).unique().rows()) for each in made]
    shared = set.intersection(*levels)
    if odd := sorted({metric for metric, _ in set.union(*levels) - shared}):
        notes[f"metrics not scored for every system: {', '.join(odd)}"] = len(odd)
    rows = pl.DataFrame(sorted(shared), schema=dict.fromkeys(on, pl.String), orient="row")
    kept = [each.join(rows, on=on, how="semi").iter_rows(named=True) for each in made]
    lines = [set(map(settings_text, each)) for each in kept]
    if odd := set.union(*lines) - set.intersection(*lines):
        notes["settings of scores that are not the same for every system"] = len(odd)

    def scores(part: Evaluation) -> pl.DataFrame:
        return part.scores.join(rows, on=on, how="semi", maintain_order="left")

    return [
        each if own == shared else each.changed({"scores": scores})
        for each, own in zip(evaluations, levels, strict=True)
    ]
