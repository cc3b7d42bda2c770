"""Why a value differs from the gold: one deterministic cause each, in stages.

Most causes follow from the two texts (`cause`). Further evidence is used where there is any
(`causes`): other fields' gold, boxes, the page's text, other systems' answers, and the words of the
corpus's gold. What other documents show is told after scoring (`scoring.across`).
`docs/causes.md` has the definitions and how far people agree with them; `causes.toml` has the
stage, the words and the advice of each.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl

from formlab.scoring._evidence import Document, read_documents
from formlab.scoring._gold_words import Words
from formlab.scoring._pairs import cause_of
from formlab.tables import BOX, USABLE

_TABLE = tomllib.loads(Path(__file__).with_name("causes.toml").read_text("utf-8"))
CAUSES = tuple(_TABLE)
STAGE_OF: dict[str, str] = {name: entry["stage"] for name, entry in _TABLE.items()}
STAGES: dict[str, tuple[str, ...]] = {
    stage: tuple(name for name in CAUSES if STAGE_OF[name] == stage) for stage in STAGE_OF.values()
}
WHAT_TO_TRY: dict[str, str] = {name: entry["try"] for name, entry in _TABLE.items()}
# What happened, for sentences.
IN_WORDS = {name: entry["words"] for name, entry in _TABLE.items() if "words" in entry}
BAD_OUTPUT = tuple(name for name in STAGES["answer"] if name != "missing_document")
# What is only written otherwise stays so even where the page supports the answer.
_WRITTEN = {*STAGES["form"], "space", "diacritic"} - {"scale", "sign"}


def advice(name: str, *, pages: bool = True) -> str:
    """What to try for a cause or status; nothing about pages where there are no `pages`."""
    entry = _TABLE.get(name, {"try": ""})
    return entry["try"] if pages else entry.get("without_pages", entry["try"])


def cause(gold: str, pred: str, *, right: bool = False) -> str:
    """The cause of a difference, from the two texts alone.

    Parameters
    ----------
    gold, pred
        As annotated and as emitted; not the same.
    right
        Whether the pair counts as right all the same: then only how it is written can differ.

    Returns
    -------
    str
        One of `CAUSES`. Where several fit, what the value's type says (unit, sign, number, date)
        goes before what its characters say, and the narrower cause before the wider.

    Examples
    --------
    >>> cause("(1,200)", "1,200"), cause("27/03/2018", "2703/2018")
    ('sign', 'lost_separator')
    >>> cause("Total due", "Total"), cause("Illinois", "lllin0is")
    ('clipped', 'lookalike')
    >>> cause("2022-07-01", "Jul 1, 2022", right=True)
    'date_format'
    """
    if not pred.strip():
        return "missed"
    return cause_of(gold, pred, right) if gold.strip() else "spurious"


def causes(
    cases: pl.DataFrame, others: pl.DataFrame | None = None, words: Words | None = None
) -> list[str | None]:
    """The cause of each case; null where gold and prediction are the same or nothing is scored.

    `cases` are rows of the schema CASES with outcome, status and the ladder filled in; all
    of a document, since its other values are evidence. So are `words`, those of the whole gold;
    without them, of the cases. A Boolean column `has_answer` says whether a
    document has a usable answer at all; without it, one usable row does. `others` are predictions
    of other systems for the same fields: doc_id, path, pred. An answer that one of them gives too,
    against the gold, supports `label_error`. They should be independent: two settings of one
    engine err alike.
    """
    named: list[str | None] = [None] * cases.height
    table = _with_columns(cases)
    unlike = ~pl.col("exact").fill_null(False) & (pl.col("outcome") != "unscored")
    wrong = table.filter(unlike)
    # Documents that are right all through are never asked.
    asked = table.filter(pl.col("doc_id").is_in(wrong["doc_id"].implode()))
    documents = read_documents(asked)
    if words is None:
        words = Words.of(cases.filter(pl.col("path").is_not_null()).select("doc_id", "gold"))
    agreed = set()
    if others is not None:
        rows = others.drop_nulls(["path", "pred"]).select("doc_id", "path", "pred").iter_rows()
        agreed = {_answer(*row) for row in rows}
    for row in wrong.iter_rows(named=True):
        named[row["row"]] = _cause(row, documents[row["doc_id"]], words, agreed)
    return named


_COLUMNS = (
    *("row", "doc_id", "path", "kind", "gold", "pred", "status", "outcome", "typed", "accepted"),
    *("ambiguous", "readings", "by_rule", "exact", "has_answer", *BOX),
    *(f"pred_{side}" for side in BOX),
)


def _with_columns(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases with `_COLUMNS` alone, and whether each is an answer."""
    cases = cases.with_row_index("row")
    lacking = [pl.lit(None).alias(name) for name in _COLUMNS if name not in cases.columns]
    answered = pl.coalesce("has_answer", pl.col("status").is_in(USABLE)).fill_null(False)
    return cases.with_columns(lacking).select(*_COLUMNS, answered.alias("answered"))


def _answer(doc_id: str, path: str | None, pred: str) -> tuple[str, str | None, str]:
    return doc_id, path, " ".join(pred.split()).casefold()


def _cause(row: dict, document: Document, words: Words, agreed: set) -> str | None:
    if row["status"] in BAD_OUTPUT:
        return row["status"]
    if row["by_rule"]:
        # Right though another value: no cause of an error, and not the same otherwise written.
        return None
    right = bool(row["typed"]) or row["outcome"] == "match"
    gold, pred = row["gold"] or "", row["pred"] or ""
    if row["path"] is None and not right:
        # Of a whole page no single cause can be named.
        missing = "missed" if document.answered else "missing_document"
        return {"missing": missing, "spurious": "spurious"}.get(row["outcome"])
    if row["ambiguous"]:
        return "date_order"
    if right:
        # How it is written otherwise than the accepted value that is closest.
        texts = [value for value in (gold, *(row["accepted"] or ())) if value.strip()]
        names = [cause_of(value, pred, True) for value in texts if value != pred and pred.strip()]
        return next((name for name in names if name != "notation"), "notation")
    if row["outcome"] == "spurious" and not pred.strip():
        # A claim without a value, at a path that the gold does not have: nothing was missed.
        return "spurious"
    if not pred.strip() or row["status"] not in USABLE:
        return document.missed(row) if document.answered else "missing_document"
    if not gold.strip() or row["outcome"] == "spurious":
        return document.spurious_cause(row, words)
    if exchanged := document.exchanged(row):
        return exchanged
    first = "notation" if gold == pred else cause_of(gold, pred, False)
    if first in _WRITTEN:
        return first
    supported = bool(agreed) and _answer(row["doc_id"], row["path"], pred) in agreed
    return document.refined(row, first, words, supported=supported)
