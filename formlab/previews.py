"""What Python and JupyterLab show of a Corpus, of Predictions and of an Evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import polars as pl

from formlab import tables
from formlab.console import plain

ROWS = 5
_LONGEST = 60
_NEXT = {
    "Corpus": (
        ("formlab.read_predictions(PATH, corpus)", "predictions made elsewhere"),
        ("formlab.evaluate(corpus, predictions)", "score them"),
        ("corpus.records, corpus.documents", "all values, all documents"),
    ),
    "Predictions": (
        ("formlab.evaluate(corpus, predictions)", "score them"),
        ("predictions.records, predictions.responses", "all values, all answers"),
    ),
    "Evaluation": (
        ("formlab.summarise(evaluation)", "scores with intervals"),
        ("formlab.gallery.errors(evaluation)", "the errors on their pages"),
        ("formlab.analysis.find_slices(evaluation)", "where errors gather"),
        ("evaluation.save(FOLDER)", "for formlab compare and formlab report"),
    ),
}  # fmt: skip


def line(folder: Any) -> str:
    """What it is, and how many documents, values and flaws it has, on one line.

    Examples
    --------
    >>> from formlab.readers import gold
    >>> line(gold.corpus([{"doc_id": "a", "total": "9.00"}]))
    'Corpus own:frame: 1 document, 1 gold value'
    """
    try:
        name, counts, noted, *_ = _facts(folder)
    except (AttributeError, pl.exceptions.PolarsError):
        return f"{type(folder).__name__} with tables of other schemas; check() says which"
    if noted:
        counts.append(_s(len(noted), "flaw" if type(folder).__name__ == "Corpus" else "note"))
    return f"{name}: {', '.join(counts)}"


def html(folder: Any) -> str:
    """The same with what was noted, the first values and what to call next; text is escaped."""
    try:
        name, counts, noted, rows, height = _facts(folder)
    except (AttributeError, pl.exceptions.PolarsError):
        return f"<p>{line(folder)}</p>"
    shown = [[escape(_short(value)) for value in row] for row in rows.head(ROWS).rows()]
    head = "".join(f"<th>{escape(column)}</th>" for column in rows.columns)
    body = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in shown)
    more = f"<p>{len(shown)} of {height:,} rows</p>" if height > len(shown) else ""
    noticed = [f"{_short(what)}: {count:,}" for what, count in noted.items()]
    left = [*getattr(folder, "unreadable", {}).items()]
    noticed += [f"left out: {_short(file)}: {plain(reason)}" for file, reason in left[:ROWS]]
    listed = "".join(f"<li>{escape(what)}</li>" for what in noticed)
    calls = "".join(
        f"<li><code>{escape(call)}</code> {escape(why)}</li>"
        for call, why in _NEXT[type(folder).__name__]
    )
    return (
        f"<div><p><b>{escape(name)}</b><br>{escape(', '.join(counts))}</p>"
        + (f"<p>Noted:</p><ul>{listed}</ul>" if listed else "")
        + f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        + f"<p>Next:</p><ul>{calls}</ul></div>"
    )


def _facts(folder: Any) -> tuple[str, list[str], Mapping[str, int], pl.DataFrame, int]:
    """Its name, its counts in words, what was noted, the values to show and how many there are."""
    kind = type(folder).__name__
    if kind == "Evaluation":
        name = f"{kind} of {folder.system} on {folder.benchmark}:{folder.split} ({folder.mode})"
        whole = pl.col("level").is_in(tables.WHOLE_LEVELS)
        fields = folder.scan("cases").filter(~whole)
        outcomes = dict(fields.group_by("outcome").len().collect().iter_rows())
        documents = folder.scan("documents").select(pl.len()).collect().item()
        height = sum(outcomes.values())
        counts = [_s(documents, "document"), _s(height, "field")]
        counts += [f"{outcomes[n]:,} {n}" for n in tables.OUTCOMES if n in outcomes]
        rows = fields.select("doc_id", "path", "kind", "gold", "pred", "outcome", "cause")
        return plain(name), counts, _odd(folder.notes), rows.head(ROWS).collect(), height
    records = folder.records.filter(pl.col("path").is_not_null())
    # Words and links are evidence; an engine that reads pages gives nothing else.
    claims = records.filter(pl.col("task") != "layout")
    records = claims if claims.height else records
    columns = ("doc_id", "path", "kind", "value")
    if kind == "Corpus":
        counts = [_s(folder.documents.height, "document"), _s(records.height, "gold value")]
        name = f"{kind} {folder.benchmark}:{folder.split}"
        shown = records.select(columns)
        return plain(name), counts, _odd(folder.flaws), shown, shown.height
    documents = folder.records["doc_id"].n_unique()
    failed = folder.responses.filter(~pl.col("status").is_in(tables.USABLE)).height
    counts = [_s(documents, "document"), _s(records.height, "value")]
    counts += [f"{failed:,} failed"] if failed else []
    shown = records.select(columns)
    return plain(f"{kind} of {folder.system}"), counts, folder.notes, shown, shown.height


def _odd(noted: Mapping[str, int]) -> dict[str, int]:
    """Without the types that were inferred, which are no flaws."""
    return {n: c for n, c in noted.items() if tables.INFERRED not in n}


def _s(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _short(value: Any) -> str:
    if value is None:
        return "–"
    text = plain(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
