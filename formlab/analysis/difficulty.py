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
from formlab.tables import FIELD_LEVELS

GROUPS = 5
RUNS = ("without ruler", "with ruler")
NAN = float("nan")


def difficulty(documents: pl.DataFrame, *, groups: int = GROUPS) -> pl.DataFrame:
    """Each form's group, 1 the easiest: forms in order of fields and types, cut into equal parts.

    FormFactory (Li et al., arXiv:2506.01520, Figure 4) does not give the bounds of its five groups.
    Here a form (a `template`, or a document without one) stands at the mean of its rank by fields
    and its rank by types of field; forms of one place are never parted.

    Returns
    -------
    polars.DataFrame
        `doc_id` and `group`; with few forms some groups may stay empty.

    Examples
    --------
    >>> forms = pl.DataFrame({"doc_id": ["a", "b", "c"], "template": ["A", "B", "C"],
    ...     "n_fields": [4, 20, 8], "n_kinds": [2, 6, 3]})
    >>> difficulty(forms, groups=3).rows()
    [('a', 1), ('b', 3), ('c', 2)]
    """
    form = pl.coalesce("template", "doc_id")
    sizes = ["n_fields", "n_kinds"]
    forms = documents.group_by(form=form).agg(pl.col(sizes).max().fill_null(0)).sort("form")
    mean = sum(scipy.stats.rankdata(forms[size].to_numpy()) for size in sizes)
    # The share of forms that stand before the middle of those with the same mean rank.
    share = (scipy.stats.rankdata(mean) - 0.5) / max(forms.height, 1)
    group = np.minimum((share * groups).astype(int), groups - 1) + 1
    placed = forms.select("form", group=pl.Series(group, dtype=pl.Int64))
    named = documents.select("doc_id", form=form)
    return named.join(placed, on="form", how="left", maintain_order="left").drop("form")


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
        # Both are given the same kind of text.
        change = {"ruler": True} | {name: made[name] for name in made if name == "texts"}
        system = str(made["system"])
        (second,) = open_compared(benchmark=evaluation.benchmark, system=system, changes=(change,))
    else:
        return {RUNS[drawn]: evaluation}
    if _ruler(evaluation) is not None and _ruler(second) == drawn:
        what = f"both runs were made {RUNS[drawn]}"
        raise DataBroken(what, where=other, remedy="one run with --ruler and one without")
    return dict(zip(RUNS, (second, evaluation) if drawn else (evaluation, second), strict=True))


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
        `run`, `group`, `value`, `ci_low`, `ci_high` (NaN of a single document), `n_docs`,
        `n_cases` that have a value, and for each group the `forms` it holds, the range of their
        `fields` and `types` in words, and both as its `label`; `settings`. Groups without a form
        are left out.

    Raises
    ------
    DataBroken
        If the runs are not of the same documents.
    """
    first = next(iter(runs.values())).documents
    for name, run in runs.items():
        if other := set(first["doc_id"]) ^ set(run.documents["doc_id"]):
            what = f"{name} is of other forms: {len(other)} are in one run alone"
            raise DataBroken(what, where=run.root, remedy="runs of the same forms and instances")
    placed = difficulty(first, groups=groups)
    tables = []
    for name, run in runs.items():
        marked = run.changed(
            {
                "documents": lambda part: part.documents.join(
                    placed, on="doc_id", how="left", maintain_order="left"
                )
            }
        )
        rows = summarise(
            marked, by=["group"], average="pooled", resamples=resamples, level=level, seed=seed
        )
        rows = rows.filter(
            pl.col("level").is_in(FIELD_LEVELS),
            pl.col("slice_by").is_null() | (pl.col("slice_by") == "group"),
            metric=metric,
        )
        group = pl.col("slice_value").fill_null("0").cast(pl.Int64)
        shown = rows.select(pl.lit(name).alias("run"), group.alias("group"), "value",
            *(pl.when(pl.col("n_docs") < 2).then(NAN).otherwise(end).alias(end)
              for end in ("ci_low", "ci_high")),
            "n_docs", pl.col("n_cases") - pl.col("n_undefined"),
            "benchmark", "split", "metric", "level", "mode", "settings")  # fmt: skip
        tables.append(shown.sort("group"))
    joined = first.join(placed, on="doc_id")
    joined = pl.concat([joined, joined.with_columns(group=pl.lit(0, pl.Int64))])
    words = joined.group_by("group").agg(
        forms=pl.coalesce("template", "doc_id").n_unique().cast(pl.Int64),
        fields=_span("n_fields"), types=_span("n_kinds"),
    )  # fmt: skip
    number = pl.when(pl.col("group") == 0).then(pl.lit("all")).otherwise(pl.col("group"))
    label = pl.format("{}: {} fields, {} types", number, "fields", "types")
    words = words.with_columns(label=label)
    return pl.concat(tables).join(words, on="group", how="left", maintain_order="left")


def _span(name: str) -> pl.Expr:
    low, high = pl.col(name).min(), pl.col(name).max()
    both = pl.format("{}–{}", low, high)
    return pl.when(low == high).then(pl.format("{}", low)).otherwise(both)
