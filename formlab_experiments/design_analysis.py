"""What designed forms show: effects of their factors, and how far a benchmark's go together."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl
from scipy import stats

from formlab.analysis.finding import ALPHA, OUTCOME, Finding, keys, origin, p_text, points
from formlab.errors import DataMissing
from formlab.folders import Evaluation
from formlab.stats.tests import adjusted_p
from formlab_experiments.designs import FACTORS
from formlab_experiments.effects import TIMES, effects, judged_fields
from formlab_experiments.form_contents import CONTENTS

CONTENT = "content"
# How a sentence names a level of each.
_NAMES = {
    "fields": "{} fields", "kinds": "{} kinds of field", "kinds 1": "1 kind of field",
    "nesting": "nesting {}", "print": "print of {} points", "handwriting 0": "values typed",
    "handwriting 1": "values written by hand", CONTENT: "{}s", "pages": "{} pages",
    "pages 1": "1 page", "widgets": "{} widgets",
}  # fmt: skip


def designed_fields(evaluation: Evaluation) -> pl.DataFrame:
    """The values of designed forms, as `judged_fields` has them; no labels.

    Raises
    ------
    DataMissing
        If no field was scored: the answers are texts of pages, without words or fields.

    Examples
    --------
    >>> import formlab
    >>> evaluation = formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}})
    >>> cases = evaluation.cases.with_columns(content=pl.lit("total"))
    >>> designed_fields(evaluation.changed({"cases": lambda _: cases}))["right"].to_list()
    [False]
    """
    fields = judged_fields(evaluation)
    if CONTENT not in fields.columns or fields[CONTENT].is_null().all():
        where = f"{evaluation.system} on {evaluation.benchmark}"
        remedy = "an evaluation of forms that formlab design drew, with words or fields as answers"
        raise DataMissing("no value of a designed form was scored", where=where, remedy=remedy)
    return fields.filter(pl.col(CONTENT).is_not_null())


def design_effects(
    evaluation: Evaluation,
    *,
    factors: Mapping[str, Sequence[Any]] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    """What each factor of a design does to the share of values that are right.

    Parameters
    ----------
    evaluation
        Of forms that `design` drew, or of web forms of `formlab arena design`.
    factors
        The levels of each in their order; those of `formlab design` if left out.
    level
        Of the intervals.

    Returns
    -------
    polars.DataFrame
        As from `effects`: the factors that vary, the contents, which vary within forms and are in
        the same model, and the pairs of factors; `label` names the level, or both, in words.

    Examples
    --------
    >>> from formlab_experiments import open_design
    >>> table = design_effects(open_design(pages=0)).filter(term="content", value="choice")
    >>> table.select(pl.col("share").round(2), "n_cases").rows()
    [(0.0, 56)]
    """
    fields = designed_fields(evaluation)
    if factors is None:
        factors = {name: fields[name].unique().sort().to_list() for name in FACTORS}
    levels = {name: values for name, values in factors.items() if len(values) > 1}
    there = fields[CONTENT].unique().sort().to_list()
    known = [name for name in CONTENTS if name in there]
    contents = {CONTENT: known + [name for name in there if name not in CONTENTS]}
    table = effects(fields, levels | contents, beside=[CONTENT], level=level)
    table = table.with_columns(pl.col("value").str.replace_all(r"\.0\b", ""))
    return table.with_columns(label=pl.Series([*map(_label, table["term"], table["value"])]))


def design_findings(
    evaluation: Evaluation, table: pl.DataFrame, *, alpha: float = ALPHA
) -> list[Finding]:
    """What a design shows, a sentence for each level of each factor and each pair.

    `evaluation` is of forms that `design` drew, `table` as from `design_effects`; a finding holds
    if its p, adjusted for all rows, is at most `alpha`. Those that hold stand first, larger effects
    before smaller; behind each are the wrong values of its level.
    """
    wrong = designed_fields(evaluation).filter(pl.col("right").not_())
    single = table.filter(~pl.col("term").str.contains(TIMES, literal=True))
    firsts = dict(single.unique("term", keep="first").select("term", "label").rows())
    tested = table.filter(pl.col("p").is_not_nan())
    findings = []
    for row in tested.sort(pl.col("difference").abs(), descending=True).to_dicts():
        names, values = row["term"].split(TIMES), row["value"].split(TIMES)
        level = zip(names, values, strict=True)
        text = (pl.col(name).cast(pl.String).str.replace(r"\.0$", "") == v for name, v in level)
        cases = wrong.filter(*text)
        findings.append(Finding(
            _claim(row, firsts, holds=row["p_adjusted"] <= alpha, n=tested.height),
            "slice", holds=row["p_adjusted"] <= alpha, effect=row["difference"],
            ci_low=row["ci_low"], ci_high=row["ci_high"], p=row["p"],
            p_adjusted=row["p_adjusted"], n_tested=tested.height, n_docs=row["n_units"],
            n_cases=cases.height, metric=OUTCOME, cases=keys(cases), **origin(evaluation),
        ))  # fmt: skip
    return sorted(findings, key=lambda finding: not finding.holds)


def _claim(row: dict[str, Any], firsts: dict[str, str], *, holds: bool, n: int) -> str:
    what, first = row["label"], firsts.get(row["term"], "the two by themselves let expect")
    if TIMES in row["term"]:
        what = f"{what} together"
    numbers = [points(row[name]) for name in ("difference", "ci_low", "ci_high")]
    effect = "{} points, 95 % interval {} to {}".format(*numbers)
    effect += f"; {row['n_units']:,} forms; {p_text(row['p_adjusted'])}, adjusted for {n} tests"
    if not holds:
        return f"No difference was shown between {what} and {first} ({effect})"
    more = "more" if row["difference"] > 0 else "fewer"
    first = first if TIMES in row["term"] else f"with {first}"
    return f"With {what}, {more} values are right than {first} ({effect})"


def _label(term: str, value: str) -> str:
    """The levels of a row of `effects` in words."""
    levels = zip(term.split(TIMES), value.split(TIMES), strict=True)
    named = ((_NAMES.get(f"{name} {level}") or _NAMES[name], level) for name, level in levels)
    return " and ".join(text.format(level) for text, level in named)


def document_traits(evaluation: Evaluation) -> pl.DataFrame:
    """What varies between the forms of any benchmark, and how much of each form is right.

    Parameters
    ----------
    evaluation
        With its corpus.

    Returns
    -------
    polars.DataFrame
        A row for each document: `doc_id`; `fields` and `kinds`, their numbers; `print`, the median
        height of the gold's boxes in pixels; `width` of the page in pixels; `length`, the mean
        number of characters of a value; `handwriting`, the share of values that the gold calls
        handwritten; `right`, the share of values right, and `values`, how many there are. What the
        gold does not say is null.

    Examples
    --------
    >>> import formlab
    >>> evaluation = formlab.evaluate({"a": {"total": "9", "day": "1"}}, {"a": {"total": "9"}})
    >>> document_traits(evaluation).select("fields", "length", "right").rows()
    [(2, 1.0, 0.5)]
    """
    fields = judged_fields(evaluation)
    heights = evaluation.corpus.records.filter(pl.col("path").is_not_null()).group_by("doc_id").agg(
        pl.coalesce(
            (pl.col("y1") - pl.col("y0")).filter(kind="word").median(),
            (pl.col("y1") - pl.col("y0")).median(),
        ).alias("print")
    )  # fmt: skip
    traits = fields.group_by("doc_id", maintain_order=True).agg(
        length=pl.col("gold").str.len_chars().mean(),
        handwriting=(pl.col("subtype") == "handwritten").mean(),
        right=pl.col("right").mean(), values=pl.col("right").count(),
    )  # fmt: skip
    documents = evaluation.documents.select("doc_id", "width", fields="n_fields", kinds="n_kinds")
    documents = documents.join(heights, on="doc_id", how="left", maintain_order="left")
    return documents.join(traits, on="doc_id", how="left", maintain_order="left")


def correlations(traits: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """How far factors go together: Spearman's rank correlation of each pair, over documents.

    Parameters
    ----------
    traits
        A row for each document.
    columns
        The numbers to compare.

    Returns
    -------
    polars.DataFrame
        `factor`, `other`, `correlation` in [-1, 1], `p`, `p_adjusted` after Holm, and `n_docs`; NaN
        where a factor does not vary.

    Examples
    --------
    >>> traits = pl.DataFrame({"fields": [5, 10, 20], "kinds": [1, 2, 4], "print": [8, 8, 8]})
    >>> correlations(traits, ["fields", "kinds"]).select("correlation", "n_docs").row(0)
    (1.0, 3)
    """
    rows = []
    for factor, other in combinations(columns, 2):
        both = traits.select(factor, other).drop_nulls()
        varies = both.height > 2 and min(both[factor].n_unique(), both[other].n_unique()) > 1
        value, p = stats.spearmanr(both[factor], both[other]) if varies else (float("nan"),) * 2
        rows.append((factor, other, float(value), float(p), both.height))
    names = ["factor", "other", "correlation", "p", "n_docs"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    return table.with_columns(p_adjusted=adjusted_p(table["p"].to_numpy()))
