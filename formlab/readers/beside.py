"""What a log states beside what formlab measures, and the cases that make the difference."""

from __future__ import annotations

from typing import Any

import polars as pl

from formlab import metrics
from formlab.folders import Evaluation
from formlab.readers.join import FAILED, MATCHED
from formlab.readers.samples import DUPLICATES, MISSING, UNREADABLE
from formlab.scoring.causes import STAGE_OF
from formlab.tables import USABLE, WHOLE_LEVELS

# Two figures of a document that differ by more than rounding.
_CLOSE = 0.005
_REPORT = {"matched": MATCHED, "missing": MISSING, "duplicate": DUPLICATES}
_REPORT |= {"failed": FAILED, "unreadable": UNREADABLE}
_FIGURES: dict[str, Any] = dict.fromkeys(("by", "measure", "over"), pl.String)
_FIGURES |= {"value": pl.Float64, "n": pl.Int64}
_COLUMNS = ("doc_id", "path", "gold", "pred", "status", "log_score", "formlab")


def stated(evaluation: Evaluation) -> dict[str, Any]:
    """What an evaluation of `open_log` keeps of its log: format, name, source, headline, scorer."""
    return (evaluation.settings.get("system") or {}).get("log") or {}


def join_report(evaluation: Evaluation) -> dict[str, int]:
    """How the samples of a log were joined, from an evaluation of `open_log`: five counts.

    >>> from formlab import open_log
    >>> join_report(open_log([{"id": "a", "target": "9.00", "output": "9.00"}]))
    {'matched': 1, 'missing': 0, 'duplicate': 0, 'failed': 0, 'unreadable': 0}
    """
    return {word: evaluation.notes.get(f"log: {note}", 0) for word, note in _REPORT.items()}


def headlines(evaluation: Evaluation) -> pl.DataFrame:
    """The log's own figures beside formlab's, over what the log scored and over all of it.

    Returns
    -------
    polars.DataFrame
        A row per figure: `by` (``log, as stated``; ``log``, recomputed; ``formlab``), `measure`,
        `over` (``scored`` by the log, or ``all``, where a sample without a score earns 0), `value`
        in the measure's unit and `n` samples. formlab's measure is the metric of the log's scorer
        if there is one, else the share of fields that are right after normalisation.

    Examples
    --------
    >>> from formlab import open_log
    >>> rows = [{"id": "a", "target": "May", "output": "may", "score": 0},
    ...         {"id": "b", "target": "June", "output": None, "error": "time-out", "score": None}]
    >>> headlines(open_log(rows)).select("by", "over", "value", "n").rows()
    [('log', 'scored', 0.0, 1), ('log', 'all', 0.0, 2), ('formlab', 'scored', 1.0, 1), \
('formlab', 'all', 0.5, 2)]
    """
    log, units = stated(evaluation), _units(evaluation)
    rows = []
    for figure in log.get("headline", ()):
        measure = f"{figure['scorer']}: {figure['metric']}"
        rows.append(("log, as stated", measure, "scored", figure["value"], figure["n"]))
    scorer, is_whole = log.get("scorer"), "log_document_status" in evaluation.documents
    measure = f"normalised_accuracy of fields{', mean of documents' if is_whole else ''}"
    if is_whole and scorer in evaluation.uses()["metrics"]:
        measure = scorer
    # An error rate of what was not read is that of an empty text: 1.
    is_rate = scorer in metrics.METRICS and metrics.get(scorer).direction != "up"
    log_figures = [("log", scorer, "log_score", float(is_rate))] if scorer else []
    for by, name, column, blank in (*log_figures, ("formlab", measure, "formlab", 0.0)):
        if scorer:
            scored = units.drop_nulls("log_score")
            rows.append((by, name, "scored", scored[column].mean(), scored.height))
        if units.height:
            rows.append((by, name, "all", units[column].fill_null(blank).mean(), units.height))
    if units.is_empty() and (failed := join_report(evaluation)["failed"]):
        # Nothing was asked of them that could be scored: all that is known is that they failed.
        rows.append(("formlab", measure, "all", 0.0, failed))
    return pl.DataFrame(rows, schema=_FIGURES, orient="row", strict=False)


def differences(evaluation: Evaluation) -> pl.DataFrame:
    """The cases that the log and formlab count differently, and why.

    Returns
    -------
    polars.DataFrame
        `doc_id`, `path` (null where whole documents are scored), `gold`, `pred`, `status`, the
        log's `log_score`, `formlab` (1 if right, else 0; of a document the metric's value), and
        `why`. Empty for a log without scores.
    """
    if stated(evaluation).get("scorer") is None:
        return pl.DataFrame(schema=dict.fromkeys((*_COLUMNS, "why"), pl.String))
    distance = (pl.col("log_score") - pl.col("formlab")).abs()
    differ = _units(evaluation).filter(pl.col("log_score").is_null() | (distance > _CLOSE))
    why = map(_why, differ.iter_rows(named=True))
    return differ.select(*_COLUMNS, why=pl.Series([*why], dtype=pl.String))


def _units(evaluation: Evaluation) -> pl.DataFrame:
    """What the log scored with formlab's verdict; without its scores all that was asked for."""
    asked, scorer = evaluation.gathered(_asked, "cases"), stated(evaluation).get("scorer")
    if scorer and "log_score" not in asked.columns:
        asked = asked.with_columns(log_score=pl.lit(None, pl.Float64))
    if "log_document_status" not in evaluation.documents:
        return asked
    whole = evaluation.documents.select("doc_id", "^log_document_(status|score)$")
    whole = whole.rename(lambda name: name.replace("log_document_score", "log_score"))
    whole = whole.rename({"log_document_status": "status"}).drop_nulls("status")
    # By the metric of the scorer's name, else by the share of right fields.
    same = (pl.col("metric") == scorer) & pl.col("path").is_null() & pl.col("slice_by").is_null()
    figures = evaluation.scan("scores").filter(same).select("doc_id", formlab="value").collect()
    figures = figures if figures.height else asked.select("doc_id", "formlab")
    figures = figures.group_by("doc_id").agg(pl.col("formlab").mean())
    whole = whole.join(figures, on="doc_id", how="left", maintain_order="left")
    others = asked.join(whole, on="doc_id", how="anti").filter(pl.col("log_score").count() > 0)
    return pl.concat([whole, others, asked.clear()], how="diagonal_relaxed")


def _asked(cases: pl.LazyFrame) -> pl.LazyFrame:
    """The fields that were asked for, 1 if right, with what the log says of them."""
    is_field = ~pl.col("level").is_in(WHOLE_LEVELS) & pl.col("gold").is_not_null()
    right = (pl.col("outcome") == "match").cast(pl.Float64)
    asked = cases.filter(is_field, pl.col("outcome") != "unscored")
    return asked.select(*_COLUMNS[:5], "cause", "^log_score$", formlab=right)


def _why(row: dict[str, Any]) -> str:
    """Why the log and formlab differ on a case: the first reason that applies."""
    score, status, cause = row["log_score"], row["status"], row["cause"]
    is_answered, gold, pred = status in USABLE, row["gold"] or "", row["pred"] or ""
    # Equal for formlab after case and spaces, or as typed values.
    is_form = STAGE_OF.get(cause) == "form" or cause in ("space", "diacritic")
    reasons = {
        "not scored in the log": score is None and is_answered,
        f"{status}: left out of the log's mean, counted as wrong by formlab": score is None,
        f"{status}: scored in the log, nothing found for formlab": not is_answered,
        "the whole document is scored by another rule": row["path"] is None,
        "partial credit in the log": score not in (0, 1),
        f"normalisation: {cause}": cause and (not score or is_form),
        "the log's own rule refuses it": not score,
        "the log takes gold that stands within a longer answer": gold.strip().lower()
        in pred.lower(),
    }
    found = (reason for reason, applies in reasons.items() if applies)
    return next(found, f"the log's own rule accepts it: {cause}")
