"""Why a value differs from the gold: one deterministic cause each, in stages.

Most causes follow from the two texts (`cause`). Further evidence is used where there is any
(`causes`): other fields' gold, boxes, the page's text, and the words of the corpus's gold. What
other documents show is told after scoring (`scoring.across`). `docs/causes.md` has the definitions
and how far people agree with them; `causes.toml` the stage, the words and the advice of each.
"""

from __future__ import annotations

import operator
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.scoring._pairs import LONGEST, cause_of, letters, tokens
from formlab.scoring.bands import pattern as place
from formlab.scoring.whole import TELLING, Words, folded
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

    It is one of `CAUSES`. Where several fit, what the value's type says (unit, sign, number, date)
    goes before what its characters say, and the narrower cause before the wider. `gold` and `pred`
    are not the same; where the pair is `right` all the same, only how it is written can differ.

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


def causes(cases: pl.DataFrame, words: Words | None = None) -> list[str | None]:
    """The cause of each case; null where gold and prediction are the same or nothing is scored.

    `cases` are rows of the schema CASES with outcome, status and the ladder filled in; all
    of a document, since its other values are evidence. So are `words`, those of the whole gold;
    without them, of the cases. A Boolean column `has_answer` says whether a document has a usable
    answer at all; without it, one usable row does.
    """
    if words is None:
        words = Words.of(cases.select("doc_id", "path", value="gold"))
    documents: dict[str, list[Row]] = defaultdict(list)
    for row in _evidence(cases).iter_rows(named=True):
        documents[row["doc_id"]].append(row)
    named: list[str | None] = [None] * cases.height
    for rows in documents.values():
        document = _Document(rows, words)
        for row in rows:
            if row["wrong"]:
                named[row["row"]] = document.cause(row)
    return named


_COLUMNS = (
    *("row", "doc_id", "path", "kind", "gold", "pred", "status", "outcome", "typed", "accepted"),
    *("ambiguous", "readings", "by_rule", "exact", "has_answer", *BOX),
    *(f"pred_{side}" for side in BOX),
)
# How far what was read may stand out of the field's box, of the box's height.
_BEYOND = 0.5
# Causes that say where the answer's text is from.
_OWN_TEXT = ("clipped", "merged", "label_error", "lost_separator")
# From this likeness on, in [0, 1], a value is its own, misread, and not another field's.
_ALIKE = 0.6
# How many characters of a document are searched for values that are missing, over all of them.
_BUDGET = 20_000_000
Row = dict[str, Any]


def _evidence(cases: pl.DataFrame) -> pl.DataFrame:
    """The wrong cases, and those of their documents that may tell why they are wrong."""
    table = cases.with_row_index("row")
    table = table.with_columns(pl.lit(None).alias(n) for n in _COLUMNS if n not in table.columns)
    answered = pl.coalesce("has_answer", pl.col("status").is_in(USABLE)).fill_null(False)
    wrong = ~pl.col("exact").fill_null(False) & (pl.col("outcome") != "unscored")
    table = table.select(*_COLUMNS, answered=answered.any().over("doc_id"), wrong=wrong)
    # Documents that are right all through are never asked.
    table = table.filter(pl.col("doc_id").is_in(table.filter("wrong")["doc_id"].implode()))
    table = table.with_columns(letters=folded(table["gold"]))
    # What is right tells nothing, unless pages or boxes are compared, or a value stands elsewhere.
    odd = pl.col("gold").ne_missing(pl.col("pred")) | pl.col("wrong")
    lower = (pl.col(side).str.to_lowercase() for side in ("gold", "pred"))
    moved = table.filter(odd, operator.ne(*lower).fill_null(True))
    moved = moved.select("doc_id", own="letters", letters=folded(moved["pred"]))
    moved = moved.join(table.group_by("doc_id", "letters").len(), on=["doc_id", "letters"])
    moved = moved.filter(pl.col("len") > (pl.col("own") == pl.col("letters")).fill_null(False))
    is_read = pl.any_horizontal(pl.col("pred_x0", "readings").is_not_null())
    is_page = pl.col("path").is_null() & ~pl.all_horizontal(pl.col("gold", "pred").is_null())
    whole = table.filter(is_page | is_read)["doc_id"]
    whole = pl.concat([whole, moved["doc_id"]]).unique().implode()
    table = table.filter(odd | pl.col("doc_id").is_in(whole)).with_columns(place=place())
    return table.with_columns(kinds=pl.col("kind").n_unique().over("doc_id", "place"))


class _Document:
    """The fields and pages of one document as evidence, beside the `words` of the corpus."""

    def __init__(self, rows: list[Row], words: Words) -> None:
        self._fields = [row for row in rows if row["path"] is not None]
        self._pages = [row for row in rows if row["path"] is None]
        self._words, self._left = words, _BUDGET

    def cause(self, row: Row) -> str | None:
        """The cause of a case that is not the same in gold and prediction."""
        if row["status"] in BAD_OUTPUT:
            return row["status"]
        if row["by_rule"]:
            # Right though another value: no cause of an error, and not the same otherwise written.
            return None
        right = bool(row["typed"]) or row["outcome"] == "match"
        gold, pred = row["gold"] or "", row["pred"] or ""
        missed = "missed" if row["answered"] else "missing_document"
        if row["path"] is None and not right:
            # Of a whole page no single cause can be named.
            return {"missing": missed, "spurious": "spurious"}.get(row["outcome"])
        if row["ambiguous"]:
            return "date_order"
        if right:
            # How it is written otherwise than the accepted value that is closest.
            texts = [text for text in (gold, *(row["accepted"] or ())) if text.strip()]
            names = [cause_of(text, pred, True) for text in texts if text != pred and pred.strip()]
            return next((name for name in names if name != "notation"), "notation")
        if row["outcome"] == "spurious" and not pred.strip():
            # A claim without a value, at a path that the gold does not have: nothing was missed.
            return "spurious"
        if not pred.strip() or row["status"] not in USABLE:
            return self._missed(row) if row["answered"] else missed
        if not gold.strip() or row["outcome"] == "spurious":
            return self._spurious(row)
        if exchanged := self._exchanged(row):
            return exchanged
        first = "notation" if gold == pred else cause_of(gold, pred, False)
        is_option = row["kind"] in ("checkbox", "choice", "radio", "dropdown")
        if is_option and first == "characters" and _likeness(letters(gold), pred) < _ALIKE:
            # Options are chosen, and not read letter by letter.
            return "other_value"
        return first if first in _WRITTEN else self._refined(row, first)

    def _missed(self, row: Row) -> str:
        """The cause of a value that is not in its field but may be elsewhere in the output."""
        gold = letters(row["gold"] or "")
        if any(_likeness(gold, text or "") >= _ALIKE for text in row["readings"] or ()):
            # Another rule reads it here, out of a token that goes to a neighbour.
            return "clipped"
        if len(gold) < TELLING:
            return "missed"
        places, surplus = self._surplus
        if misplaced := self._misplaced(row, places.get(gold, ())):
            return misplaced
        if self._count(gold, surplus):
            # It is stuck to a neighbour's text, which is merged for it.
            return "clipped"
        words = _spaced(row["gold"])
        read = self._count(words, self._texts["pred"])
        is_lost = read and read > self._count(words, self._texts["fields"])
        return "wrong_field" if is_lost else "missed"

    def _spurious(self, row: Row) -> str:
        """The cause of a value that no gold asks for."""
        if not (plain := letters(row["pred"] or "")):
            return "spurious"
        inside = row["readings"] is not None or _is_inside(row)
        if row["gold"] is not None and row["path"] is not None and inside:
            # A scribble is often read as a letter or two, but seldom as a figure.
            answer = Counter(tokens(row["pred"]))
            figures = {word for word in answer if any(map(str.isdigit, word))}
            telling = figures or any(len(word) > 1 for word in answer)
            return "label_error" if telling and self._is_own(row, answer, figures) else "spurious"
        page = self._texts["gold"]
        known = self._count(_spaced(row["pred"]), page) or plain in self._places
        return "hallucinated" if page.strip() and not known else "spurious"

    def _exchanged(self, row: Row) -> str | None:
        """`wrong_row` or `wrong_field` where the answer is the gold of a field that lost it."""
        pred, gold = _folded(row["pred"]), _folded(row["gold"])
        if pred == gold or not (fields := self._having(pred)):
            return None
        lost = [(field, _folded(field["pred"] or "")) for field in fields]
        lost = [(field, answer) for field, answer in lost if answer != pred]
        telling = len(letters(row["pred"])) >= TELLING
        # A short value may be another row's by chance, unless that row has a third one's.
        rows = [
            field
            for field, answer in lost
            if field["place"] == row["place"] and (telling or not answer or self._having(answer))
        ]
        is_swap = telling and any(answer == gold for _, answer in lost)
        return self._misplaced(row, rows) or ("wrong_field" if is_swap else None)

    def _having(self, value: str) -> list[Row]:
        """The fields whose gold is a folded value."""
        fields = self._places.get(letters(value), ())
        return [field for field in fields if _folded(field["gold"]) == value]

    def _refined(self, row: Row, first: str) -> str:
        """The cause, where the two texts alone suggest `first`."""
        gold, pred, plain = row["gold"], row["pred"], letters(row["pred"])
        if len(gold) + len(pred) > 2 * LONGEST:
            return first
        if len(plain) >= TELLING and first not in ("lookalike", *_OWN_TEXT):
            misplaced = self._misplaced(row, self._places.get(plain, ()))
            other_row = first == "digit" and misplaced == "wrong_row"
            if misplaced and (other_row or _likeness(letters(gold), pred) < _ALIKE):
                return misplaced
        if self._words.contradict_gold(gold, pred):
            return "label_error"
        if first == "merged" and _is_inside(row):
            # Where what is too much are whole words, the page shows more than the gold.
            answer, known = tokens(pred), tokens(gold)
            extra = Counter(_around(answer, "".join(known)))
            # A sign alone is no word: what is stuck to it is one token with it.
            if not extra and known and not Counter(known) - Counter(answer):
                extra = Counter(answer) - Counter(known)
            if extra and self._is_own(row, extra):
                return "label_error"
        # What was read in the field's own box is its ink, however unlike.
        return "characters" if first == "other_value" and _is_inside(row) else first

    def _misplaced(self, row: Row, fields: Iterable[Row]) -> str | None:
        """`wrong_row` or `wrong_field` where a value is from another of `fields`."""
        if not (others := [field for field in fields if field["path"] != row["path"]]):
            return None
        # An index may number the rows of a table, or fields that have nothing in common.
        same = row["place"] != row["path"] and all(f["place"] == row["place"] for f in others)
        return "wrong_row" if same and row["kinds"] < 2 else "wrong_field"

    def _is_own(self, row: Row, extra: Counter, figures: Collection = ()) -> bool:
        """Whether most of `extra` are words, and neither a neighbour's nor another field's loss."""
        others = max(_size(extra & self._lost), _size(extra & self._beside(row)))
        known = {word: n for word, n in extra.items() if word in figures or self._words.has(word)}
        return _size(Counter(known)) * 2 > _size(extra) >= 2 * others

    def _beside(self, row: Row) -> Counter[str]:
        """The words of the fields whose boxes are no further away than a line."""
        self._left -= len(self._fields)
        if self._left <= 0:
            return Counter(tokens(row["pred"]))
        left, top, right, bottom = (row[side] for side in BOX)
        gap = bottom - top
        neighbours: Counter[str] = Counter()
        for field in self._fields:
            x0, y0, x1, y1 = box = [field[side] for side in BOX]
            if None in box or field is row:
                continue
            across = x0 <= right + gap and x1 >= left - gap
            if across and y0 <= bottom + gap and y1 >= top - gap:
                # A letter alone stands beside most fields by chance.
                neighbours.update(word for word in tokens(field["gold"] or "") if len(word) > 1)
        return neighbours

    def _count(self, value: str, text: str) -> int:
        # A value is looked for in all of its document: with very many of both it ends somewhere.
        self._left -= len(text)
        return text.count(value) if self._left > 0 else 0

    @cached_property
    def _lost(self) -> Counter[str]:
        """The words of fields that were not read there."""
        lost: Counter[str] = Counter()
        for field in self._fields:
            gold, pred = (tokens(field[side] or "") for side in ("gold", "pred"))
            # Words that are only split otherwise are not lost.
            if "".join(gold) != "".join(pred):
                lost += Counter(gold) - Counter(pred)
        return lost

    @cached_property
    def _places(self) -> dict[str, list[Row]]:
        """The fields with each gold value, by its letters."""
        return _grouped((field["letters"], field) for field in self._fields if field["gold"])

    @cached_property
    def _surplus(self) -> tuple[dict[str, list[Row]], str]:
        """The fields that have what is not theirs, by value, and all of that as one text."""
        odd = [(letters(row["pred"]), row["letters"] or "", row) for row in self._usable]
        odd = [(pred, gold, row) for pred, gold, row in odd if pred != gold]
        # Its own text is no sign of another field's.
        texts = [pred.replace(gold, "|", 1) if gold else pred for pred, gold, _ in odd]
        return _grouped((pred, row) for pred, _, row in odd), "|".join(texts)

    @cached_property
    def _usable(self) -> list[Row]:
        return [field for field in self._fields if field["pred"] and field["status"] in USABLE]

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The words of the page in gold and output, blank where not given, and of all fields."""
        sides = {side: [row[side] or "" for row in self._pages] for side in ("gold", "pred")}
        texts = sides | {"fields": [field["pred"] for field in self._usable]}
        return {name: _spaced(*of) for name, of in texts.items()}


def _folded(value: str) -> str:
    return " ".join(value.split()).casefold()


def _is_inside(row: Row) -> bool:
    """Whether what was read stands in the field's own box."""
    box, read = ([row[f"{side}{name}"] for name in BOX] for side in ("", "pred_"))
    if None in box or None in read:
        return False
    slack = _BEYOND * (box[3] - box[1])
    low = all(read[n] >= box[n] - slack for n in (0, 1))
    return low and all(read[n] <= box[n] + slack for n in (2, 3))


def _around(words: list[str], text: str) -> list[str]:
    """The words before and after `text`, if it begins with one and ends with one."""
    start = "".join(words).find(text) if text else -1
    ends = [0, *accumulate(map(len, words))]
    if start not in ends or start + len(text) not in ends:
        return []
    return words[: ends.index(start)] + words[ends.index(start + len(text)) :]


def _likeness(gold: str, pred: str) -> float:
    return Levenshtein.normalized_similarity(gold, letters(pred)) if letters(pred) else 0.0


def _grouped(pairs: Iterable[tuple]) -> dict[Any, list]:
    groups = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def _size(words: Counter[str]) -> int:
    return sum(len(word) * count for word, count in words.items())


def _spaced(*texts: str) -> str:
    """The words of texts with a space on both sides of each, so that only whole words are found."""
    return f" {' '.join(word for text in texts for word in tokens(text))} "
