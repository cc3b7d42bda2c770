"""What answers follow on copies of pages with changed values: evidence, ink or prior."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from formlab import tables, text
from formlab.analysis.finding import Finding, p_text
from formlab.errors import TableBroken
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.stats.tests import Pair, adjusted_p, paired_differences

# What an answer can follow; `both` where evidence and ink are the same.
FOLLOWED = ("both", "evidence", "ink", "prior", "other", "none")
# By the task of the item, what was asked: to read the field, to check it, or a question.
ASKED = {"consistency": "check", "vqa": "question"}
# What an answer may follow where all differ, and the changes after which they do on every page.
FOLLOWABLE = ("evidence", "ink", "prior")
TELLING = ("contradicted", "blank")
_OWN = ("page_of", "relation", "item", "dependent", "change", "evidence", "ink", "prior")
SHARES: dict[str, Any] = {
    "follows": pl.String, "share": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "n_units": pl.Int64, "n_cases": pl.Int64,
}  # fmt: skip


def follows(evaluation: Evaluation) -> pl.DataFrame:
    """What each answer on the copies of `counterfactual_corpus` follows.

    Parameters
    ----------
    evaluation
        Of a corpus that `counterfactual_corpus` made.

    Returns
    -------
    polars.DataFrame
        A row for each copy and way of asking, with the columns of the copy and

        - `asked`: ``field`` (the value at the field was read), ``check`` (what must stand there)
          or ``question``; a way in which the system answers nothing at all is left out;
        - `answer`: what was answered, null if nothing;
        - `follows`: a word of `FOLLOWED`. Values are compared by formlab's rule for their kind.
          An answer that is ink as well as prior follows the ink, and one that is evidence as well
          as prior the evidence: only the copies ``contradicted`` and ``blank`` tell all apart.

    Raises
    ------
    TableBroken
        If the evaluation is of another corpus.

    Examples
    --------
    >>> import formlab
    >>> follows(formlab.evaluate({"a": {"total": "9"}}, {"a": {"total": "8"}}))
    Traceback (most recent call last):
    ...
    formlab.errors.TableBroken: documents: no columns page_of, relation, item, dependent, change, \
evidence, ink, prior. Try: score a corpus of counterfactual_corpus
    """
    documents, cases = evaluation.documents, evaluation.cases
    if missing := [name for name in _OWN if name not in documents.columns]:
        raise TableBroken(
            f"documents: no columns {', '.join(missing)}",
            remedy="score a corpus of counterfactual_corpus",
        )
    copies = documents.select("doc_id", *_OWN).with_columns(system=pl.lit(evaluation.system))
    item_task = pl.col("item").str.split("/").list.get(1).replace(ASKED)
    rows = pl.concat(
        [
            copies.drop_nulls("dependent").with_columns(asked=pl.lit("field"), path="dependent"),
            copies.filter(item_task.is_in(list(ASKED.values()))).with_columns(
                asked=item_task, path="item"
            ),
        ]
    )
    answers = cases.select("doc_id", "path", "kind", answer="pred").drop_nulls("path")
    answers = answers.unique(["doc_id", "path"], keep="first", maintain_order=True)
    rows = rows.join(answers, on=["doc_id", "path"], how="left", maintain_order="left")
    blank = pl.col("answer").str.strip_chars() == ""
    rows = rows.with_columns(answer=pl.when(~blank).then("answer"))
    rows = rows.filter(pl.col("answer").is_not_null().any().over("asked"))
    kinds, orders = rows["kind"].to_list(), ["day"] * rows.height
    given = rows["answer"].to_list()
    equal = {
        name: text.ladders(rows[name].to_list(), given, kinds, orders=orders)["typed"]
        for name in ("evidence", "ink", "prior")
    }
    says = rows.select(
        pl.when(pl.col("answer").is_null()).then(pl.lit("none"))
        .when(equal["evidence"] & equal["ink"]).then(pl.lit("both"))
        .when(equal["ink"]).then(pl.lit("ink"))
        .when(equal["evidence"]).then(pl.lit("evidence"))
        .when(equal["prior"]).then(pl.lit("prior"))
        .otherwise(pl.lit("other"))
    ).to_series()  # fmt: skip
    return rows.drop("path", "kind").with_columns(follows=says)


def shares(
    answers: pl.DataFrame, by: Sequence[str] = ("system", "asked", "change"), *, level: float = 0.95
) -> pl.DataFrame:
    """The share of answers that follow each thing, with intervals by pages.

    Parameters
    ----------
    answers
        As from `follows`; those of several systems one below the other.
    by
        The columns whose groups are counted, such as ``relation``.
    level
        Of the intervals of Korn and Graubard (1998): exact binomial limits at the number of
        independent answers that the spread between pages leaves. Where the pages do not differ,
        each page counts as one answer.

    Returns
    -------
    polars.DataFrame
        A row for each group and word of `FOLLOWED`: `by`, `follows`, `share` in [0, 1], `ci_low`,
        `ci_high` (NaN of fewer than two pages), `n_units` pages, `n_cases` answers.

    Examples
    --------
    >>> answers = pl.DataFrame({"page_of": ["a", "b"], "change": "source", "follows": "ink"})
    >>> counted = shares(answers, ["change"]).filter(follows="ink")
    >>> counted.select("share", pl.col("ci_low").round(3), "ci_high").row(0)
    (1.0, 0.158, 1.0)
    """
    rows = []
    for key, group in answers.group_by(list(by), maintain_order=True):
        pages = group["page_of"].n_unique()
        of_group = dict(zip(by, key, strict=True))
        for name in FOLLOWED:
            counts = group.group_by("page_of").agg(
                hits=(pl.col("follows") == name).sum(), total=pl.len()
            )
            low, high = interval(counts["hits"].to_numpy(), counts["total"].to_numpy(), level)
            share = (group["follows"] == name).mean()
            limits = {"share": share, "ci_low": low, "ci_high": high}
            rows.append(
                of_group | {"follows": name} | limits | {"n_units": pages, "n_cases": group.height}
            )
    schema = {name: answers.schema[name] for name in by} | SHARES
    return pl.DataFrame(rows, schema=schema)


def _telling(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers that tell all apart; that to a question stands nowhere as ink."""
    with_ink = pl.col("ink").is_not_null() if "ink" in answers.columns else True
    return answers.filter(pl.col("change").is_in(TELLING) & with_ink)


def _that_can(group: pl.DataFrame, name: str) -> pl.DataFrame:
    """The answers that can follow it: on a blank copy there is no ink."""
    return group.filter(pl.col("change") != "blank") if name == "ink" else group


def _first(shares_of: Mapping[str, float]) -> str:
    return max(FOLLOWABLE, key=lambda name: np.nan_to_num(shares_of[name], nan=-1.0))


def interval(hits: np.ndarray, totals: np.ndarray, level: float) -> tuple[float, float]:
    """The limits of a share of which each page has some hits of its answers."""
    pages, count, right = len(hits), float(totals.sum()), float(hits.sum())
    if pages < 2:
        return float("nan"), float("nan")
    share = right / count
    spread = pages / (pages - 1) * float(((hits - share * totals) ** 2).sum()) / count**2
    # As many answers as independent ones would need for the same spread, and for one page less.
    enough = share * (1 - share) / spread if spread > 0 else float(pages)
    tails = (1 - level) / 2
    if count > pages and spread > 0:
        enough *= (stats.t.ppf(tails, count - 1) / stats.t.ppf(tails, pages - 1)) ** 2
    enough = min(enough, count)
    some = share * enough
    low = stats.beta.ppf(tails, some, enough - some + 1) if some > 0 else 0.0
    high = stats.beta.ppf(1 - tails, some + 1, enough - some) if some < enough else 1.0
    return float(low), float(high)


def leaning(
    answers: pl.DataFrame, by: Sequence[str] = ("system", "asked"), *, level: float = 0.95,
    resamples: int = 2000, seed: int = 0,
) -> pl.DataFrame:  # fmt: skip
    """Whether answers follow the evidence, the ink or the prior where all three differ.

    Parameters
    ----------
    answers
        As from `follows`; the copies `TELLING` alone are looked at, as on all others two of the
        three are the same by design; for the ink without ``blank``, on which there is none.
    by
        The columns whose groups are told apart, such as ``relation``.
    level, resamples, seed
        Of the interval, from draws of pages.

    Returns
    -------
    polars.DataFrame
        A row for each group: `by`, the shares `evidence`, `ink` and `prior`; `difference`, by how
        much the first of them is ahead of the other that it is told from least, with `ci_low` and
        `ci_high`; `p`, the greater of the two sign-flip tests by pages against the others (exact up
        to twelve pages that differ), `p_adjusted` after Holm over all rows, `leans` (``evidence``,
        ``ink`` or ``prior``, null where p_adjusted is above ``1 - level``), `n_units` and
        `n_cases`.

    Examples
    --------
    >>> pages = [f"p{number}" for number in range(8)]
    >>> answers = pl.DataFrame({"page_of": pages, "change": "contradicted", "follows": "prior"})
    >>> leaning(answers, ["change"]).select("difference", "p", "leans").rows()
    [(1.0, 0.0078125, 'prior')]
    """
    options = {"resamples": resamples, "level": level, "seed": seed}
    rows: list[dict[str, Any]] = []
    for key, group in _telling(answers).group_by(list(by), maintain_order=True):
        shares_of = {name: _that_can(group, name)["follows"].eq(name).mean() for name in FOLLOWABLE}
        shares_of = {name: float("nan") if s is None else s for name, s in shares_of.items()}
        first = _first(shares_of)
        others = [name for name in FOLLOWABLE if name != first]
        tests = [_ahead(group, first, other, options) for other in others]
        # Unless it is told from both others it is not what is followed.
        least = max(tests, key=lambda test: np.nan_to_num(test["p"], nan=2.0))
        rows.append(
            dict(zip(by, key, strict=True)) | shares_of | {"first": first}
            | {name: least[name] for name in ("difference", "ci_low", "ci_high", "p")}
            | {"n_units": group["page_of"].n_unique(), "n_cases": group.height}
        )  # fmt: skip
    adjusted = adjusted_p([row["p"] for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        shown = row["difference"] > 0 and p < 1 - level
        row |= {"p_adjusted": float(p), "leans": row.pop("first") if shown else None}
    schema = {name: answers.schema[name] for name in by}
    numbers = (*FOLLOWABLE, "difference", "ci_low", "ci_high", "p", "p_adjusted")
    schema |= dict.fromkeys(numbers, pl.Float64)
    schema |= {"leans": pl.String, "n_units": pl.Int64, "n_cases": pl.Int64}
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)


def _ahead(
    group: pl.DataFrame, first: str, other: str, options: dict[str, Any]
) -> dict[str, float]:
    """By how much more answers follow the first than the other, by pages."""
    group = _that_can(_that_can(group, first), other)
    counts = group.group_by("page_of").agg(
        pl.len(), *((pl.col("follows") == name).sum().alias(name) for name in (first, other))
    )
    if not counts.height:
        return dict.fromkeys(("difference", "ci_low", "ci_high", "p"), float("nan"))
    counts = counts.sort("page_of").cast({pl.UInt32: pl.Float64})
    sides = [counts.select(name, "len").to_numpy() for name in (first, other)]
    return paired_differences([Pair(*sides, ratio)], **options)[0]


def leaning_findings(answers: pl.DataFrame, *, level: float = 0.95) -> list[Finding]:
    """A sentence on what each system follows, for each way of asking.

    Parameters
    ----------
    answers
        As from `follows`.
    level
        Of test and interval; the test is that of `leaning`, adjusted for all sentences.

    Returns
    -------
    list of Finding
        Those that hold first. Only these say what a system follows; the effect is the share of
        answers that do.

    Examples
    --------
    >>> answers = pl.DataFrame({"system": "s", "asked": "field", "change": "contradicted",
    ...     "doc_id": "a", "page_of": [f"p{n}" for n in range(8)], "follows": "ink", "path": "/t"})
    >>> print(leaning_findings(answers)[0].claim.partition(" (")[0])
    Asked to read the field, s follows the ink where evidence, ink and prior differ: in 8 of 8 \
answers, against 0 for the evidence and 0 for the prior
    """
    table, findings = leaning(answers, level=level), []
    for row in table.to_dicts():
        side = row["leans"] or _first(row)
        group = _telling(answers).filter(system=row["system"], asked=row["asked"])
        group = _that_can(group, side)
        hits = (pl.col("follows") == side).sum()
        counts = group.group_by("page_of").agg(hits=hits, total=pl.len())
        low, high = interval(counts["hits"].to_numpy(), counts["total"].to_numpy(), level)
        number = {name: group["follows"].eq(name).sum() for name in FOLLOWABLE}
        counted = [f"{number[name]} for the {name}" for name in FOLLOWABLE if name != side]
        system, how = row["system"], _HOW[row["asked"]]
        claim = f"{how}, {system} follows the {side} where evidence, ink and prior differ: in "
        claim += f"{number[side]} of {group.height} answers, against {' and '.join(counted)}"
        if not row["leans"]:
            claim = f"{how}, it was not shown whether {system} follows the evidence, the ink or "
            claim += f"the prior: {number[side]} of {group.height} answers for the {side}, "
            claim += ", ".join(counted)
        tested = "not tested" if math.isnan(row["p"]) else p_text(row["p_adjusted"])
        claim += f" ({row['n_units']} pages; {tested}, adjusted for "
        claim += f"{table.height} test{'s' * (table.height > 1)})"
        findings.append(Finding(
            claim, "cause", holds=row["leans"] is not None, system=system, effect=row[side],
            ci_low=low, ci_high=high, p=row["p"], p_adjusted=row["p_adjusted"],
            n_tested=table.height, n_docs=row["n_units"], n_cases=group.height,
            of="answers where evidence, ink and prior differ",
        ))  # fmt: skip
    return sorted(findings, key=lambda finding: not finding.holds)


_HOW = {"field": "Asked to read the field", "check": "Asked what must stand there"}
tables.door(globals(), ("follows", "leaning", "leaning_findings", "shares"))
