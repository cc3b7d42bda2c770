"""Why a value differs from the gold: one deterministic cause each, in stages.

Most causes follow from the two texts (`cause`). Further evidence is used where there is any
(`causes`): other fields' gold, boxes, the page's text, other systems' answers, and the words of the
corpus's gold. What other documents show is told after scoring (`scoring.across`).
`docs/causes.md` has the definitions and how far people agree with them.
"""

from __future__ import annotations

import polars as pl

from formlab.scoring._evidence import DocumentEvidence, Documents
from formlab.scoring._gold_words import Words
from formlab.scoring._pairs import cause_of
from formlab.tables import BOX, USABLE

BAD_OUTPUT = ("bad_json", "refused", "truncated", "api_error")
# From the answer as a whole to its characters, then what is not the answer's fault.
STAGES: dict[str, tuple[str, ...]] = {
    "answer": (*BAD_OUTPUT, "missing_document"),
    "find": ("missed", "other_value"),
    "place": (
        "other_document", "wrong_field", "wrong_row", "wrong_order", "misclick_near",
        "misclick_other_field",
    ),
    "extent": ("clipped", "merged"),
    "characters": ("lookalike", "space", "lost_separator", "digit", "diacritic", "characters"),
    "form": (
        "case", "punctuation", "date_format", "number_format", "unit", "sign", "scale", "notation",
        "date_order", "offset",
    ),
    "extra": ("spurious", "hallucinated"),
    "relation": ("wrong_source", "wrong_relation"),
    "gold": ("label_error",),
    "reader": ("reader",),
}  # fmt: skip
CAUSES = tuple(cause for names in STAGES.values() for cause in names)
STAGE_OF = {cause: stage for stage, names in STAGES.items() for cause in names}
WHAT_TO_TRY = {
    "bad_json": "Use the model's JSON mode or a schema, or ask again with --set retry=bad.",
    "refused": "Read the answers; reword the question, or leave the page out and say so.",
    "truncated": "Allow longer answers (an agent: more steps), or ask for fewer fields at a time.",
    "api_error": "Run the same command again: it asks only for what is missing.",
    "missing_document": "Check that the document was run and that its image can be read.",
    "missed": "Look whether the text is shaded, faint or a single character (try a larger image"
    " scale or a lower detection threshold), or whether the system knows the field at all.",
    "other_value": "Look whether the page has the answer at all, and whether the answers of two"
    " documents were exchanged.",
    "other_document": "Check how answers are matched to documents: order, file names, batches.",
    "wrong_field": "Compare the labels of the two fields; describe the field, or its place, more"
    " closely.",
    "wrong_row": "Check how rows are told apart: ruling lines, line breaks within a row, repeated"
    " labels.",
    "wrong_order": "Check the reading order of columns and tables on the page.",
    "misclick_near": "Check the scale of the coordinates: the click is just outside the control.",
    "misclick_other_field": "Look whether labels stand closer to the neighbouring control.",
    "clipped": "Look at the boxes: a line break, a narrow box or a token joined with its neighbour"
    " cuts text off.",
    "merged": "Split tokens at the gap between label and value, or narrow the boxes.",
    "lookalike": "Try a larger image scale, or check values against a dictionary or the field's"
    " type.",
    "space": "Compare without spaces, as the gold may be spaced otherwise than its page; or split"
    " and join words by the gaps between their boxes.",
    "lost_separator": "Try a larger image scale: points, slashes and hyphens are lost when strokes"
    " are faint.",
    "digit": "Check figures by sums, check digits or ranges; try a larger image scale.",
    "diacritic": "Use a model for the language of the page.",
    "characters": "Look at the crop: blurred, handwritten, crossed-out or upside-down text; switch"
    " a text-direction classifier off to see whether it turns lines.",
    "case": "Fold case before comparing, unless case carries meaning here.",
    "punctuation": "Ignore punctuation in comparing, or check whether the gold keeps it"
    " consistently.",
    "date_format": "State the date format in the instruction, or compare parsed dates.",
    "number_format": "State the number format in the instruction, or compare parsed numbers.",
    "unit": "Say whether the value includes its unit or currency.",
    "sign": "Check brackets, trailing minus signs and labels such as 'loss'.",
    "scale": "Check headings such as 'in thousands' and the place of the decimal point.",
    "notation": "Map marks, abbreviations and option names to one notation before comparing.",
    "date_order": "State the order of day and month, or take it from other dates of the document.",
    "offset": "Look for the rule that shifts it: time zones, day counts from 0 or 1, rounding.",
    "spurious": "Say in the instruction that a blank field is to stay blank.",
    "hallucinated": "Ask for the place of each value on the page, and drop values without one.",
    "wrong_source": "Look at the fields named as not right: the value follows from them.",
    "wrong_relation": "Ask for the value that must stand there, and for those it follows from.",
    "label_error": "Look at the page and correct the gold in the notebook 02_review.",
    "reader": "Read these fields by another rule, or have the system name its fields.",
}  # fmt: skip
# The same where no page can be looked at: the evaluation has no image of any.
WITHOUT_PAGES = {
    "missing_document": "Check that the document was run and that its answer was read.",
    "missed": "Look whether the system knows the field at all.",
    "wrong_row": "Check how rows are told apart: line breaks within a row, repeated labels.",
    "wrong_order": "Check the order in which the text was given.",
    "clipped": "Look whether answers end at a line break or at a limit of their length.",
    "merged": "Look whether answers hold the label or a neighbouring value as well.",
    "lookalike": "Check values against a dictionary or the field's type.",
    "lost_separator": "State in the instruction how values are written, or compare without"
    " separators.",
    "digit": "Check figures by sums, check digits or ranges.",
    "diacritic": "Use a model for the language of the forms.",
    "characters": "Look at the answers beside the gold.",
    "hallucinated": "Ask for the words that hold each value, and drop values without any.",
    "label_error": "Look at the source and correct the gold.",
}


def advice(name: str, *, pages: bool = True) -> str:
    """What to try for a cause or status; nothing about pages where there are no `pages`."""
    texts = WHAT_TO_TRY if pages else WHAT_TO_TRY | WITHOUT_PAGES
    return texts.get(name, "")


# What happened, for sentences.
IN_WORDS = {
    "missing_document": "the document has no answer", "missed": "the value was missed",
    "other_value": "another value was given",
    "other_document": "the answer is another document's",
    "wrong_field": "the answer is from the wrong field",
    "wrong_row": "the answer is from the wrong row", "wrong_order": "words are in the wrong order",
    "misclick_near": "the click is near the control, not on it",
    "misclick_other_field": "the click is on another field", "clipped": "the answer is clipped",
    "merged": "the answer is merged with other text",
    "lookalike": "a character was taken for a lookalike", "space": "spaces differ",
    "lost_separator": "a separator was lost", "digit": "a digit was misread",
    "diacritic": "a diacritic was misread", "characters": "characters were misread",
    "case": "only the case of letters differs", "punctuation": "only punctuation differs",
    "date_format": "only the date format differs",
    "number_format": "only the number format differs",
    "unit": "the unit differs", "sign": "the sign differs", "scale": "the scale differs",
    "notation": "only the notation differs", "date_order": "only the date order differs",
    "offset": "the value is off by a constant amount",
    "spurious": "the answer is spurious", "hallucinated": "the answer is hallucinated",
    "wrong_source": "another field that the answer follows from is wrong",
    "wrong_relation": "the relation is wrong",
}  # fmt: skip
# What is only written otherwise stays so even where the page supports the answer.
_WRITTEN = frozenset(STAGES["form"]) | {"space", "diacritic"}


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
    if not gold.strip():
        return "spurious"
    return cause_of(gold, pred, right)


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
    unlike = ~pl.col("exact").fill_null(False) & (pl.col("outcome") != "unscored")
    whole = _named(cases)
    wrong = whole.filter(unlike)
    # Documents that are right all through are never asked.
    documents = Documents(whole.filter(pl.col("doc_id").is_in(wrong["doc_id"].implode())))
    if words is None:
        words = Words.of(cases.filter(pl.col("path").is_not_null()).select("doc_id", "gold"))
    agreed = _answers(others)
    for row in wrong.iter_rows(named=True):
        named[row["row"]] = _cause(row, documents.of[row["doc_id"]], words, agreed)
    return named


_COLUMNS = (
    "row", "doc_id", "path", "kind", "gold", "pred", "status", "outcome", "exact", "typed",
    "accepted", "ambiguous", "readings", "by_rule", "has_answer", *BOX,
    *(f"pred_{side}" for side in BOX),
)  # fmt: skip


def _named(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases with `_COLUMNS` alone, and whether each is an answer."""
    cases = cases.with_row_index("row")
    present = [name for name in _COLUMNS if name in cases.columns]
    lacking = [pl.lit(None).alias(name) for name in _COLUMNS if name not in cases.columns]
    usable = pl.col("status").is_in(USABLE)
    answered = pl.coalesce("has_answer", usable) if "has_answer" in present else usable
    return cases.select(*present, *lacking, answered.fill_null(False).alias("answered"))


def _answers(others: pl.DataFrame | None) -> frozenset[tuple[str, str, str]]:
    if others is None:
        return frozenset()
    rows = others.drop_nulls(["path", "pred"]).select("doc_id", "path", "pred").iter_rows()
    return frozenset((doc, path, " ".join(pred.split()).casefold()) for doc, path, pred in rows)


def _cause(row: dict, document: DocumentEvidence, words: Words, agreed: frozenset) -> str | None:
    if row["status"] in BAD_OUTPUT:
        return row["status"]
    if row["by_rule"]:
        # Right though another value: no cause of an error, and not the same otherwise written.
        return None
    right = bool(row["typed"]) or row["outcome"] == "match"
    gold, pred = row["gold"] or "", row["pred"] or ""
    if row["path"] is None and not right:
        # Of a whole page no single cause can be named.
        if row["outcome"] == "missing":
            return "missed" if document.answered else "missing_document"
        return "spurious" if row["outcome"] == "spurious" else None
    if row["ambiguous"]:
        return "date_order"
    if right:
        return _written(gold, pred, row["accepted"] or ())
    if row["outcome"] == "spurious" and not pred.strip():
        # A claim without a value, at a path that the gold does not have: nothing was missed.
        return "spurious"
    if not pred.strip() or row["status"] not in USABLE:
        return document.missed(row) if document.answered else "missing_document"
    if not gold.strip() or row["outcome"] == "spurious":
        return document.spurious_cause(row, words)
    if exchanged := document.exchanged(row):
        return exchanged
    first = _pair(gold, pred, False)
    if first in _WRITTEN and first not in ("scale", "sign"):
        return first
    answer = (row["doc_id"], row["path"], " ".join(pred.split()).casefold()) if agreed else None
    supported = answer in agreed
    return document.refined(row, first, words, supported=supported)


def _written(gold: str, pred: str, accepted: list[str] | tuple) -> str:
    """How a right value is written otherwise, than the accepted value that is closest."""
    names = [_pair(value, pred, True) for value in (gold, *accepted) if value.strip()]
    return next((name for name in names if name != "notation"), "notation")


def _pair(gold: str, pred: str, right: bool) -> str:
    same = not pred.strip() or not gold.strip() or gold == pred
    return "notation" if same else cause_of(gold, pred, right)
