"""Why a case is wrong: one deterministic cause each, the first that holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

from formlab import text

BAD_OUTPUT = ("bad_json", "refused", "truncated", "api_error")
# In the order in which they are tried.
CAUSES = (
    *BAD_OUTPUT, "missing", "spurious", "format_only", "sign_or_bracket", "scale_or_decimal",
    "digit", "date_shift", "incomplete", "extra_text", "wrong_field", "wrong_row",
    "ocr_confusion", "misclick_near", "misclick_other_field", "substitution",
)  # fmt: skip
# Groups of characters that look alike on a scan; each stands for its first.
_ALIKE = (
    "0oq",
    "1li|!j/\\[]tf",
    "5s$",
    "8b&",
    "2z",
    "6g",
    "9y",
    "uv",
    "ce",
    ".,;:'`´’-_~",
    "nh",
    "kx",
)
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("ii", "u"), ("li", "u"), ("lo", "b"))
_LOOKS = str.maketrans({char: group[0] for group in _ALIKE for char in group})
_NOT_WORD = re.compile(r"[\W_]+")
_DIGIT = re.compile(r"\d")
_STEP = re.compile(r"/\d+(?=/|$)")


@dataclass(frozen=True)
class Fields:
    """The gold values of one document, to see where a misplaced value belongs.

    `places` maps a normalised value to the paths that hold it.
    """

    places: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, items: Iterable[tuple[str, str]]) -> Fields:
        """From pairs of path and gold value; values without a letter or digit are left out."""
        places: dict[str, tuple[str, ...]] = {}
        for path, value in items:
            key = text.normalise(value)
            if _NOT_WORD.sub("", key):
                places[key] = (*places.get(key, ()), path)
        return cls(places)


def cause(
    gold: str,
    pred: str,
    *,
    typed: bool,
    path: str = "",
    fields: Fields | None = None,
) -> str:
    """The cause of a pair of values that are not the same code points.

    Parameters
    ----------
    gold, pred
        As annotated and as emitted; neither empty.
    typed
        Whether the pair holds on the rung `typed` of the ladder.
    path
        Of the gold value, to tell another row of the same field from another field.
    fields
        The document's other values.

    Returns
    -------
    str
        One of `CAUSES`.

    Examples
    --------
    >>> cause("(1,200)", "1,200", typed=False)
    'sign_or_bracket'
    >>> cause("Total due", "Total", typed=False)
    'incomplete'
    >>> cause("Illinois", "lllin0is", typed=False)
    'ocr_confusion'
    """
    numbers = text.number(gold), text.number(pred)
    numeric = None not in numbers
    if typed or (_letters(gold) and _letters(gold) == _letters(pred) and not numeric):
        return "format_only"
    if numeric and (found := _number_cause(*numbers)):
        return found
    dates = bool(text.date(gold)) and bool(text.date(pred))
    if not dates and _DIGIT.search(gold) and _mask(gold) == _mask(pred):
        return "digit"
    if dates:
        return "date_shift"
    return _text_cause(text.normalise(gold), text.normalise(pred), path, fields)


def _number_cause(gold: Any, pred: Any) -> str | None:
    if abs(gold) == abs(pred):
        return "sign_or_bracket"
    if gold and pred and _figures(gold) == _figures(pred):
        return "scale_or_decimal"
    return None


def _text_cause(gold: str, pred: str, path: str, fields: Fields | None) -> str:
    if pred in gold:
        return "incomplete"
    if gold in pred:
        return "extra_text"
    elsewhere = fields.places.get(pred, ()) if fields else ()
    field = _STEP.sub("/*", path)
    if any(_STEP.sub("/*", place) != field or field == path for place in elsewhere):
        return "wrong_field"
    if elsewhere:
        return "wrong_row"
    return "ocr_confusion" if looks(gold) == looks(pred) else "substitution"


def looks(value: str) -> str:
    """`value` with look-alike characters made one, white space and accents dropped.

    Examples
    --------
    >>> looks("Modern B0OK") == looks("Modem 80Ok")
    True
    """
    # `normalise` first: it orders long runs of accents, over which unicodedata takes hours.
    plain = unicodedata.normalize("NFKD", text.normalise(value).casefold())
    plain = "".join(
        char for char in plain if not unicodedata.combining(char) and not char.isspace()
    )
    for pair, one in _PAIRS:
        plain = plain.replace(pair, one)
    return plain.translate(_LOOKS)


def _letters(value: str) -> str:
    return _NOT_WORD.sub("", unicodedata.normalize("NFKC", text.normalise(value)).casefold())


def _mask(value: str) -> str:
    return _DIGIT.sub("0", text.normalise(value))


def _figures(value: Any) -> str:
    return "".join(map(str, value.normalize().as_tuple().digits)).strip("0")


def causes(cases: pl.DataFrame) -> list[str | None]:
    """The cause of each case; null where gold and prediction are the same or nothing is scored.

    Parameters
    ----------
    cases
        Rows of the schema CASES with outcome, status and the ladder filled in.
    """
    golds: dict[str, list[tuple[str, str]]] = {}
    held = cases.filter(pl.col("path").is_not_null(), pl.col("gold").is_not_null())
    for doc_id, path, gold in held.select("doc_id", "path", "gold").iter_rows():
        golds.setdefault(doc_id, []).append((path, gold))
    # Of a document that is right all through they are never asked for.
    fields = cache(lambda doc_id: Fields.of(golds.get(doc_id, ())))
    columns = ("doc_id", "path", "gold", "pred", "status", "outcome", "exact", "typed")
    found: list[str | None] = []
    for doc_id, path, gold, pred, status, outcome, exact, typed in cases.select(columns).rows():
        if exact or outcome == "unscored":
            found.append(None)
        elif status in BAD_OUTPUT:
            found.append(status)
        elif outcome in ("missing", "spurious"):
            found.append(outcome)
        elif path is None:
            # Of a whole page no single cause can be named.
            found.append("format_only" if typed else None)
        else:
            found.append(cause(gold, pred, typed=bool(typed), path=path, fields=fields(doc_id)))
    return found
