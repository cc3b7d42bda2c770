"""What answers follow on copies of pages with changed values: evidence, ink or prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from formlab import frames, text
from formlab.analysis.finding import Finding, p_text
from formlab.analysis.paired_tests import Pair, adjusted_p, differences
from formlab.errors import TableBroken
from formlab.folders import Evaluation

# What an answer can follow; `both` where evidence and ink are the same.
FOLLOWED = ("both", "evidence", "ink", "prior", "other", "none")
# By the task of the item, what was asked: to read the field, to check it, or a question.
ASKED = {"consistency": "check", "vqa": "question"}
# Changes after which evidence and ink differ on every page.
CONFLICTING = ("ink", "evidence")
CONFLICTS = ("source", "dependent", "contradicted")
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


def _differing(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers where evidence and ink differ; that to a question stands nowhere as ink."""
    with_ink = pl.col("ink").is_not_null() if "ink" in answers.columns else True
    return answers.filter(pl.col("change").is_in(CONFLICTS) & with_ink)


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
    """Whether answers follow the evidence or the ink where the two differ.

    Parameters
    ----------
    answers
        As from `follows`; the copies `CONFLICTS` are looked at.
    by
        The columns whose groups are told apart, such as ``relation``.
    level, resamples, seed
        Of the interval, from draws of pages.

    Returns
    -------
    polars.DataFrame
        A row for each group: `by`, the shares `evidence` and `ink`, their `difference`, positive
        for the evidence, in [-1, 1] with `ci_low` and `ci_high`, `p` of the sign-flip test by pages
        (exact up to twelve pages that differ), `p_adjusted` after Holm over all rows, `leans`
        (``evidence``, ``ink``, or null where p_adjusted is not below ``1 - level``), `n_units` and
        `n_cases`.

    Examples
    --------
    >>> pages = [f"p{number}" for number in range(8)]
    >>> answers = pl.DataFrame({"page_of": pages, "change": "source", "follows": "ink"})
    >>> leaning(answers, ["change"]).select("difference", "p", "leans").rows()
    [(-1.0, 0.0078125, 'ink')]
    """
    chosen = _differing(answers)
    rows: list[dict[str, Any]] = []
    for key, group in chosen.group_by(list(by), maintain_order=True):
        counts = group.group_by("page_of").agg(
            pl.len(), *((pl.col("follows") == name).sum().alias(name) for name in CONFLICTING)
        )
        counts = counts.sort("page_of").cast({pl.UInt32: pl.Float64})
        ink, evidence = (counts.select(name, "len").to_numpy() for name in CONFLICTING)
        pair = Pair(ink, evidence, lambda parts: parts[..., 0] / parts[..., 1])
        (row,) = differences([pair], resamples=resamples, level=level, seed=seed)
        rows.append(
            dict(zip(by, key, strict=True))
            | {"evidence": row["value_b"], "ink": row["value_a"]}
            | {name: row[name] for name in ("difference", "ci_low", "ci_high", "p")}
            | {"n_units": counts.height, "n_cases": group.height}
        )
    adjusted = adjusted_p([row["p"] for row in rows])
    for row, p in zip(rows, adjusted, strict=True):
        side = "evidence" if row["difference"] > 0 else "ink"
        row |= {"p_adjusted": float(p), "leans": side if p < 1 - level else None}
    schema = {name: answers.schema[name] for name in by}
    numbers = ("evidence", "ink", "difference", "ci_low", "ci_high", "p", "p_adjusted")
    schema |= dict.fromkeys(numbers, pl.Float64)
    schema |= {"leans": pl.String, "n_units": pl.Int64, "n_cases": pl.Int64}
    return pl.DataFrame(rows, schema=schema)


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
        Those that hold first. Only these say that a system follows the one and not the other; the
        effect is the share of answers that do.

    Examples
    --------
    >>> answers = pl.DataFrame({"system": "s", "asked": "field", "change": "source", "doc_id": "a",
    ...     "page_of": [f"p{number}" for number in range(8)], "follows": "ink", "path": "/total"})
    >>> print(leaning_findings(answers)[0].claim.partition(" (")[0])
    Asked to read the field, s follows the ink and not the evidence where they differ: in 8 of 8 \
answers, against 0
    """
    table, findings = leaning(answers, level=level), []
    for row in table.to_dicts():
        side = row["leans"] or ("ink" if row["ink"] >= row["evidence"] else "evidence")
        other = "evidence" if side == "ink" else "ink"
        group = _differing(answers).filter(system=row["system"], asked=row["asked"])
        hits = (pl.col("follows") == side).sum()
        counts = group.group_by("page_of").agg(hits=hits, total=pl.len())
        low, high = interval(counts["hits"].to_numpy(), counts["total"].to_numpy(), level)
        n_side, n_other = (round(row[name] * row["n_cases"]) for name in (side, other))
        system, how = row["system"], _HOW[row["asked"]]
        claim = f"{how}, {system} follows the {side} and not the {other} where they differ: in "
        claim += f"{n_side} of {row['n_cases']} answers, against {n_other}"
        if not row["leans"]:
            claim = f"{how}, it was not shown whether {system} follows the ink or the evidence: "
            claim += f"{n_side} of {row['n_cases']} answers the {side}, {n_other} the {other}"
        claim += f" ({row['n_units']} pages; {p_text(row['p_adjusted'])}, adjusted for "
        claim += f"{table.height} test{'s' * (table.height > 1)})"
        findings.append(Finding(
            claim, "cause", holds=row["leans"] is not None, system=system, effect=row[side],
            ci_low=low, ci_high=high, p=row["p"], p_adjusted=row["p_adjusted"],
            n_tested=table.height, n_docs=row["n_units"], n_cases=row["n_cases"],
            of="answers where evidence and ink differ",
        ))  # fmt: skip
    return sorted(findings, key=lambda finding: not finding.holds)


_HOW = {"field": "Asked to read the field", "check": "Asked what must stand there"}
frames.door(globals(), ("follows", "leaning", "leaning_findings", "shares"))
