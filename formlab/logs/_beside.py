"""What a log states beside what formlab measures, and the cases that make the difference."""

from __future__ import annotations

from typing import Any

import polars as pl

from formlab import metrics
from formlab.folders import Evaluation
from formlab.logs._join import FAILED, MATCHED
from formlab.logs._samples import DUPLICATES, MISSING, UNREADABLE
from formlab.scoring.causes import STAGE_OF
from formlab.tables import USABLE

# Two figures of a document that differ by more than rounding.
_CLOSE = 0.005
_FIGURES: dict[str, Any] = {
    "by": pl.String, "measure": pl.String, "over": pl.String, "value": pl.Float64, "n": pl.Int64,
}  # fmt: skip


def stated(evaluation: Evaluation) -> dict[str, Any]:
    """What an evaluation of `open_log` keeps of its log: format, name, source, headline, judged."""
    return (evaluation.settings.get("system") or {}).get("log") or {}


def join_report(evaluation: Evaluation) -> dict[str, int]:
    """How the samples of a log were joined, from an evaluation of `open_log`: five counts.

    Examples
    --------
    >>> from formlab import open_log
    >>> join_report(open_log([{"id": "a", "target": "9.00", "output": "9.00"}]))
    {'matched': 1, 'missing': 0, 'duplicate': 0, 'failed': 0, 'unreadable': 0}
    """
    named = {"matched": MATCHED, "missing": MISSING, "duplicate": DUPLICATES, "failed": FAILED,
             "unreadable": UNREADABLE}  # fmt: skip
    return {word: evaluation.notes.get(f"log: {note}", 0) for word, note in named.items()}


def headlines(evaluation: Evaluation) -> pl.DataFrame:
    """The log's own figures beside formlab's, over what the log scored and over all of it.

    Parameters
    ----------
    evaluation
        As from `open_log`, or loaded from where it was saved.

    Returns
    -------
    polars.DataFrame
        A row per figure: `by` (``log, as stated``; ``log``, recomputed from its samples; or
        ``formlab``), `measure`, `over` (``scored``, the samples that the log has a score for, or
        ``all``, where a sample without one earns 0), `value` in the measure's own unit, and `n`,
        the count of samples. Measures of formlab are the metric of the same name as the log's
        scorer if there is one, else the share of fields that are right after normalisation.

    Examples
    --------
    >>> from formlab import open_log
    >>> rows = [{"id": "a", "target": "May", "output": "may", "score": 0},
    ...         {"id": "b", "target": "June", "output": None, "error": "time-out", "score": None}]
    >>> headlines(open_log(rows)).select("by", "over", "value", "n").rows()
    [('log', 'scored', 0.0, 1), ('log', 'all', 0.0, 2), ('formlab', 'scored', 1.0, 1), \
('formlab', 'all', 0.5, 2)]
    """
    rows = [
        {
            "by": "log, as stated", "measure": f"{figure['scorer']}: {figure['metric']}",
            "over": "scored", "value": figure["value"], "n": figure["n"],
        }
        for figure in stated(evaluation).get("headline", ())
    ]  # fmt: skip
    units = _units(evaluation)
    if "log_scorer" in units.columns:
        scorer = units["log_scorer"].drop_nulls().first()
        rows += _both(units, "log", scorer or "score", "log_score", up=_direction(scorer) == "up")
        rows += _both(units, "formlab", *_measure(evaluation, scorer))
    elif units.height:
        rows += _both(units, "formlab", *_measure(evaluation, None))[1:]
    return pl.DataFrame(rows, schema=_FIGURES, orient="row", strict=False)


def differences(evaluation: Evaluation) -> pl.DataFrame:
    """The cases that the log and formlab count differently, and why.

    Parameters
    ----------
    evaluation
        As from `open_log`, or loaded from where it was saved.

    Returns
    -------
    polars.DataFrame
        `doc_id`, `path` (null where whole documents are scored), `gold`, `pred`, `status`, the
        log's `log_score`, `formlab` (1 if right, else 0; of a document the metric's value), and
        `why`. Empty for a log without scores.
    """
    units = _units(evaluation)
    columns = ("doc_id", "path", "gold", "pred", "status", "log_score", "formlab")
    if "log_scorer" not in units.columns:
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String) | {"why": pl.String})
    judged = set(stated(evaluation).get("judged", ()))
    differ = units.filter(
        pl.col("log_score").is_null() | ((pl.col("log_score") - pl.col("formlab")).abs() > _CLOSE)
    )
    why = [_why(row, judged) for row in differ.iter_rows(named=True)]
    return differ.select(*columns, why=pl.Series(why, dtype=pl.String))


def _units(evaluation: Evaluation) -> pl.DataFrame:
    """What the log scored: single fields, and whole documents; formlab's own verdict beside it.

    Without scores of the log: every field that was asked for.
    """
    # What an answer has beyond the gold is no sample of the log.
    asked = evaluation.fields.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
    right = (pl.col("outcome") == "match").cast(pl.Float64)
    asked = asked.with_columns(right.alias("formlab"))
    documents = _documents(evaluation)
    if documents is None:
        return asked
    rest = asked.join(documents, on="doc_id", how="anti")
    return pl.concat([documents, rest], how="diagonal_relaxed") if _fields(rest) else documents


def _fields(cases: pl.DataFrame) -> bool:
    return "log_scorer" in cases.columns and cases["log_scorer"].null_count() < cases.height


def _documents(evaluation: Evaluation) -> pl.DataFrame | None:
    """The documents that the log scored as a whole; None if there are none."""
    if "log_document_scorer" not in evaluation.documents.columns:
        return None
    scored = evaluation.documents.filter(pl.col("log_document_scorer").is_not_null())
    scored = scored.rename(lambda name: name.replace("log_document_", "log_", 1))
    scored = scored.join(
        _by_document(evaluation, scored["log_scorer"].first()), on="doc_id", how="left",
        maintain_order="left",
    )  # fmt: skip
    # One field of a usable answer may be missing.
    odd = pl.col("status").filter(~pl.col("status").is_in([*USABLE, "missing"])).first()
    statuses = evaluation.cases.group_by("doc_id").agg(odd)
    text = pl.lit(None, pl.String)
    scored = scored.join(statuses, on="doc_id", how="left", maintain_order="left")
    return scored.with_columns(
        pl.col("status").fill_null("ok"), path=text, gold=text, pred=text, cause=text
    )


def _by_document(evaluation: Evaluation, scorer: str | None) -> pl.DataFrame:
    """formlab's figure of each document: by the metric of the scorer's name, else right fields."""
    same = evaluation.scores.filter(
        pl.col("metric") == (scorer or ""), pl.col("slice_by").is_null(), pl.col("path").is_null()
    )
    if same.height:
        return same.group_by("doc_id").agg(pl.col("value").mean().alias("formlab"))
    fields = evaluation.fields.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")
    return fields.group_by("doc_id").agg((pl.col("outcome") == "match").mean().alias("formlab"))


def _measure(evaluation: Evaluation, scorer: str | None) -> tuple[str, str]:
    whole = "log_document_score" in evaluation.documents.columns
    if whole and scorer in set(evaluation.scores["metric"]):
        return scorer or "", "formlab"
    return "normalised_accuracy of fields" + (", mean of documents" if whole else ""), "formlab"


def _direction(scorer: str | None) -> str:
    return metrics.get(scorer).direction if scorer in metrics.METRICS else "up"


def _both(
    units: pl.DataFrame, by: str, measure: str, column: str, *, up: bool = True
) -> list[dict[str, Any]]:
    """One figure over what the log scored and over all; a sample without a score earns nothing."""
    known = units["log_score"].is_not_null() if "log_score" in units.columns else [True]
    scored = units.filter(known) if "log_score" in units.columns else units
    # An error rate of what was not read is that of an empty text: 1.
    rest = units[column].fill_null(0.0 if up else 1.0)
    return [
        {"by": by, "measure": measure, "over": "scored", "value": scored[column].mean(),
         "n": scored.height},
        {"by": by, "measure": measure, "over": "all", "value": rest.mean(), "n": units.height},
    ]  # fmt: skip


def _why(row: dict[str, Any], judged: set[str]) -> str:
    """Why the log and formlab differ on a case: the first reason that applies."""
    score, answered = row["log_score"], row["status"] in USABLE
    if score is None:
        if answered:
            return "not scored in the log"
        return f"{row['status']}: left out of the log's mean, counted as wrong by formlab"
    if not answered:
        return f"{row['status']}: scored in the log, nothing found for formlab"
    if row["log_scorer"].partition("/")[0] in judged:
        return "a model judged it in the log"
    if row["path"] is None:
        return "the whole document is scored by another rule"
    if row["log_correct"] is None:
        return "partial credit in the log"
    if row["log_compared"] is not None and _letters(row["log_compared"]) != _letters(row["pred"]):
        return "the log compared another text, taken from the answer"
    if not score:
        # Equal for formlab after case and spaces, or as typed values.
        return f"normalisation: {row['cause']}" if row["cause"] else "the log's own rule refuses it"
    if STAGE_OF.get(row["cause"]) == "form" or row["cause"] in ("space", "diacritic"):
        return f"normalisation: {row['cause']}"
    if (row["gold"] or "").strip().lower() in (row["pred"] or "").lower():
        return "the log takes gold that stands within a longer answer"
    return f"the log's own rule accepts it: {row['cause']}"


def _letters(text: str | None) -> str:
    """What scorers keep of a text that they compare, and how they compare it."""
    return "".join(c for c in (text or "").lower() if c.isalnum())
