"""Forms in groups from easy to hard, and a metric in each group for runs that differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import scipy

from formlab.analysis.samples import open_compared
from formlab.analysis.summarise import summarise
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.stats.sums import of_cases

GROUPS = 5
RUNS = ("without ruler", "with ruler")


def difficulty(documents: pl.DataFrame, *, groups: int = GROUPS) -> pl.DataFrame:
    """Each form's group, 1 the easiest: forms in order of fields and types, cut into equal parts.

    FormFactory (Li et al., arXiv:2506.01520, Figure 4) has five groups with more fields and types
    the higher, and does not give their bounds. Here a form's place is the mean of its rank by
    fields and its rank by types of field; forms of one place are never parted.

    Parameters
    ----------
    documents
        Of the schema *documents*; a form is a `template`, or a document that has none.
    groups
        How many; with few forms some may stay empty.

    Returns
    -------
    polars.DataFrame
        `doc_id` and `group`.

    Examples
    --------
    >>> forms = pl.DataFrame({"doc_id": ["a", "b", "c"], "template": ["A", "B", "C"],
    ...     "n_fields": [4, 20, 8], "n_kinds": [2, 6, 3]})
    >>> difficulty(forms, groups=3).rows()
    [('a', 1), ('b', 3), ('c', 2)]
    """
    named = documents.select(
        "doc_id", pl.col("template").fill_null(pl.col("doc_id")).alias("form"),
        "n_fields", "n_kinds",
    )  # fmt: skip
    forms = named.group_by("form", maintain_order=True).agg(pl.col("n_fields", "n_kinds").max())
    ranks = [
        scipy.stats.rankdata(forms[name].fill_null(0).to_numpy())
        for name in ("n_fields", "n_kinds")
    ]
    mean = (ranks[0] + ranks[1]) / 2
    # The share of forms that stand before the middle of those with the same mean rank.
    share = (scipy.stats.rankdata(mean) - 0.5) / max(len(mean), 1)
    group = np.minimum((share * groups).astype(int), groups - 1) + 1
    groups_of = forms.select("form", pl.Series("group", group, dtype=pl.Int64))
    return named.join(groups_of, on="form", how="left", maintain_order="left").select(
        "doc_id", "group"
    )


def ruler_runs(
    evaluation: Evaluation, other: str | Path = "", *, sample: bool = False
) -> dict[str, Evaluation]:
    """``{"without ruler": …, "with ruler": …}`` of the same forms, or the one run alone.

    Parameters
    ----------
    evaluation
        The run.
    other
        Folder of the evaluation of the other one; empty for none.
    sample
        Whether the run is that of the sample, so that the other one can be had: its system then
        fills in the same forms with the ruler drawn, unless `other` is given.

    Raises
    ------
    DataMissing, DataBroken
        If the folder holds no evaluation, or both runs are known to be made alike.
    """
    drawn = _ruler(evaluation) or False
    if str(other):
        second = Evaluation.load(other)
    elif sample and not drawn:
        made = evaluation.settings["system"]
        system = str(made["system"])
        # Both are given the same kind of text.
        change = {"ruler": True} | {name: made[name] for name in made if name == "texts"}
        (second,) = open_compared(benchmark=evaluation.benchmark, system=system, changes=(change,))
    else:
        return {RUNS[drawn]: evaluation}
    if _ruler(evaluation) is not None and _ruler(second) == drawn:
        what = f"both runs were made {RUNS[drawn]}"
        raise DataBroken(what, where=other, remedy="one run with --ruler and one without")
    pair = {RUNS[drawn]: evaluation, RUNS[not drawn]: second}
    return {name: pair[name] for name in RUNS}


def _ruler(evaluation: Evaluation) -> bool | None:
    settings = evaluation.settings.get("system")
    ruler = settings.get("ruler") if isinstance(settings, dict) else None
    return ruler if isinstance(ruler, bool) else None


def by_difficulty(
    runs: Mapping[str, Evaluation],
    metric: str,
    *,
    groups: int = GROUPS,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """A metric of fields in each group of forms, for each run; group 0 is all forms.

    Parameters
    ----------
    runs
        Name to evaluation, of the same forms.
    metric
        A metric of single fields.
    groups, resamples, level, seed
        As in `difficulty` and `summarise`.

    Returns
    -------
    polars.DataFrame
        `run`, `group`, `value`, `ci_low`, `ci_high`, `n_docs`, `n_cases` that have a value, and
        for each group the `forms` it holds, the range of their `fields` and `types` in words, and
        both as its `label`; `settings`. Groups without a form are left out.

    Raises
    ------
    DataBroken
        If the runs are not of the same documents.
    """
    first = next(iter(runs.values()))
    ids = set(first.documents["doc_id"])
    for name, run in runs.items():
        if other := ids ^ set(run.documents["doc_id"]):
            what = f"{name} is of other forms: {len(other)} are in one run alone"
            raise DataBroken(what, where=run.root, remedy="runs of the same forms and instances")
    placed = difficulty(first.documents, groups=groups)
    tables = [
        _of_run(run, metric, placed, resamples=resamples, level=level, seed=seed).select(
            pl.lit(name).alias("run"), pl.all()
        )
        for name, run in runs.items()
    ]
    words = _words(first.documents, placed)
    name = pl.when(pl.col("group") == 0).then(pl.lit("all")).otherwise(pl.col("group"))
    words = words.with_columns(label=pl.format("{}: {} fields, {} types", name, "fields", "types"))
    return pl.concat(tables).join(words, on="group", how="left", maintain_order="left")


def _of_run(
    run: Evaluation, metric: str, placed: pl.DataFrame, *, resamples: int, level: float, seed: int
) -> pl.DataFrame:
    def in_groups(part: Evaluation) -> pl.DataFrame:
        rows = part.scores.filter(pl.col("metric") == metric, of_cases())
        rows = rows.join(placed, on="doc_id", how="left", maintain_order="left")
        rows = pl.concat([rows.with_columns(group=pl.lit(0, pl.Int64)), rows])
        group = pl.col("group").cast(pl.String)
        return rows.with_columns(slice_by=pl.lit("group"), slice_value=group).drop("group")

    marked = run.changed({"scores": in_groups})
    summary = summarise(marked, by=(), resamples=resamples, level=level, seed=seed)
    single = pl.col("n_docs") < 2
    return summary.filter(pl.col("metric") == metric).select(
        pl.col("slice_value").cast(pl.Int64).alias("group"), "value",
        *(pl.when(single).then(float("nan")).otherwise(n).alias(n) for n in ("ci_low", "ci_high")),
        "n_docs", pl.col("n_cases") - pl.col("n_undefined"),
        "benchmark", "split", "metric", "level", "mode", "settings",
    ).sort("group")  # fmt: skip


def _words(documents: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    joined = documents.join(placed, on="doc_id")
    joined = pl.concat([joined, joined.with_columns(pl.lit(0, pl.Int64).alias("group"))])

    def span(name: str) -> pl.Expr:
        low, high = pl.col(name).min(), pl.col(name).max()
        return pl.when(low == high).then(pl.format("{}", low)).otherwise(
            pl.format("{}–{}", low, high)
        )  # fmt: skip

    form = pl.col("template").fill_null(pl.col("doc_id"))
    return joined.group_by("group").agg(
        form.n_unique().cast(pl.Int64).alias("forms"),
        span("n_fields").alias("fields"),
        span("n_kinds").alias("types"),
    )
