"""Evidence for the cause of an error from its document and its corpus, beside the two texts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

import polars as pl
from rapidfuzz.distance import Levenshtein

from formlab.scoring._gold_words import TELLING, Words, folded
from formlab.scoring._pairs import LONGEST, letters, tokens
from formlab.tables import BOX, USABLE

_STEP = re.compile(r"/\d+(?=/|$)")
# How far what was read may stand out of the field's box, of the box's height.
_BEYOND = 0.5
# From this likeness on, in [0, 1], a value is its own, misread, and not another field's.
_ALIKE = 0.6
# How many characters of a document are searched for values that are missing, over all of them.
_BUDGET = 20_000_000
Row = dict[str, Any]


def _around(words: list[str], text: str) -> list[str]:
    """The words before and after `text`, if it begins with one and ends with one."""
    start = "".join(words).find(text) if text else -1
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    if start not in ends or start + len(text) not in ends:
        return []
    return words[: ends.index(start)] + words[ends.index(start + len(text)) :]


def _folded(value: str) -> str:
    return " ".join(value.split()).casefold()


def _likeness(gold: str, pred: str) -> float:
    return Levenshtein.normalized_similarity(gold, letters(pred)) if letters(pred) else 0.0


def _size(words: Counter[str]) -> int:
    return sum(len(word) * count for word, count in words.items())


def _spaced(words: Iterable[str]) -> str:
    """Words with a space on both sides of each, so that only whole words are found."""
    return f" {' '.join(words)} "


class Documents:
    """The cases of each document, a column at a time, as lists when they are first asked for.

    `cases` are rows with `COLUMNS` and the Boolean column ``answered``: whether it is an answer.
    """

    COLUMNS = ("row", "path", "kind", "gold", "pred", "status", *BOX)

    def __init__(self, cases: pl.DataFrame) -> None:
        self._cases = cases.group_by("doc_id", maintain_order=True).agg(
            *self.COLUMNS, pl.col("answered").any()
        )
        self._columns: dict[str, list] = {}
        self._golds = cases["gold"].drop_nulls().unique()
        answered = self._cases["answered"].to_list()
        self.of = {
            doc_id: DocumentEvidence(self, place, answered[place])
            for place, doc_id in enumerate(self._cases["doc_id"])
        }

    @cached_property
    def golds(self) -> frozenset[str]:
        """The letters of all gold values: most wrong answers are none of them."""
        return frozenset(folded(self._golds).to_list())

    def column(self, name: str, place: int) -> list:
        """The values of a column of one document."""
        if name not in self._columns:
            self._columns[name] = self._cases[name].to_list()
        return self._columns[name][place]


class DocumentEvidence:
    """The cases of one document; whether any of them is an answer."""

    def __init__(self, documents: Documents, place: int, answered: bool) -> None:
        self._documents, self._place, self.answered = documents, place, answered
        self._left = _BUDGET

    def missed(self, row: Row) -> str:
        """The cause of a value that is not in its field but may be elsewhere in the output."""
        gold = letters(row["gold"] or "")
        if any(_likeness(gold, text or "") >= _ALIKE for text in row["readings"] or ()):
            # Another rule reads it here, out of a token that goes to a neighbour.
            return "clipped"
        if len(gold) < TELLING:
            return "missed"
        places, surplus = self._surplus
        if elsewhere := [path for path in places.get(gold, ()) if path != row["path"]]:
            return self._misplaced(row, elsewhere)
        if self._count(gold, surplus):
            # It is stuck to a neighbour's text, which is merged for it.
            return "clipped"
        words = _spaced(tokens(row["gold"]))
        _, text = self._pages
        here = self._count(words, text)
        return "wrong_field" if here and here > self._count(words, self._answers) else "missed"

    def _count(self, value: str, text: str) -> int:
        # A value is looked for in all of its document: with very many of both it ends somewhere.
        self._left -= len(text)
        return text.count(value) if self._left > 0 else 0

    def spurious_cause(self, row: Row, words: Words) -> str:
        """The cause of a value that no gold asks for."""
        if not letters(row["pred"] or ""):
            return "spurious"
        here = row["readings"] is not None or self._inside(row)
        if row["gold"] is not None and row["path"] is not None and here:
            # A scribble is often read as a letter or two, but seldom as a figure.
            answer = Counter(tokens(row["pred"]))
            figures = {word for word in answer if any(map(str.isdigit, word))}
            telling = figures or any(len(word) > 1 for word in answer)
            own = telling and self._own(row, answer, words, figures)
            return "label_error" if own else "spurious"
        gold, _ = self._pages
        known = self._count(_spaced(tokens(row["pred"])), gold)
        known = known or letters(row["pred"]) in self._golds
        return "hallucinated" if gold.strip() and not known else "spurious"

    def refined(self, row: Row, first: str, words: Words, *, supported: bool) -> str:
        """The cause, where the two texts alone suggest `first`."""
        gold, pred = row["gold"], row["pred"]
        if len(gold) + len(pred) > 2 * LONGEST:
            return "label_error" if supported else first
        if first != "lookalike" and (misplaced := self._other_field(row, first)):
            return misplaced
        if supported or words.contradict_gold(gold, pred):
            return "label_error"
        if first == "merged" and self._inside(row) and self._only_words(row, words):
            return "label_error"
        # What was read in the field's own box is its ink, however unlike.
        return "characters" if first == "other_value" and self._inside(row) else first

    def exchanged(self, row: Row) -> str | None:
        """`wrong_row` or `wrong_field` where the answer is the gold of a field that lost it.

        A short value may be another row's by chance, unless that row has a third one's.
        """
        pred, gold = _folded(row["pred"]), _folded(row["gold"])
        if letters(row["pred"]) not in self._documents.golds or pred == gold:
            return None
        own, telling = _STEP.sub("/*", row["path"]), len(letters(row["pred"])) >= TELLING
        places, answers = self._folded
        lost = [path for path in places[pred] if answers[path] != pred] if pred in places else ()
        rows = [
            path for path in lost
            if _STEP.sub("/*", path) == own
            and (telling or not answers[path] or answers[path] in places)
        ]  # fmt: skip
        if rows:
            return self._misplaced(row, rows)
        mutual = telling and any(answers[path] == gold for path in lost)
        return "wrong_field" if mutual else None

    def _other_field(self, row: Row, first: str) -> str | None:
        """`wrong_field` or `wrong_row` where the answer is another field's gold."""
        pred = letters(row["pred"])
        if (
            pred not in self._documents.golds
            or len(pred) < TELLING
            or first in ("clipped", "merged", "label_error", "lost_separator")
        ):
            return None
        elsewhere = [path for path in self._golds.get(pred, ()) if path != row["path"]]
        if not elsewhere:
            return None
        misplaced = self._misplaced(row, elsewhere)
        other_row = first == "digit" and misplaced == "wrong_row"
        alike = _likeness(letters(row["gold"]), pred)
        return misplaced if other_row or alike < _ALIKE else None

    def _misplaced(self, row: Row, elsewhere: list[str]) -> str:
        # An index may number the rows of a table, or fields that have nothing in common.
        own = _STEP.sub("/*", row["path"])
        same = all(_STEP.sub("/*", path) == own for path in elsewhere) and own != row["path"]
        return "wrong_row" if same and len(self._kinds[own]) < 2 else "wrong_field"

    def _only_words(self, row: Row, words: Words) -> bool:
        """Whether what is too much are whole words, so that the page shows more than the gold."""
        answer, gold = tokens(row["pred"]), tokens(row["gold"])
        if extra := _around(answer, "".join(gold)):
            return self._own(row, Counter(extra), words)
        # A sign alone is no word: what is stuck to it is one token with it.
        extra = Counter(answer) - Counter(gold)
        complete = gold and not Counter(gold) - Counter(answer)
        return bool(complete) and self._own(row, extra, words)

    def _own(
        self, row: Row, extra: Counter[str], words: Words, figures: Collection[str] = ()
    ) -> bool:
        """Whether most of `extra` are words, and neither a neighbour's nor another field's loss."""
        others = max(_size(extra & self._lost), _size(extra & self._beside(row)))
        known = {word: n for word, n in extra.items() if word in figures or words.has(word)}
        return _size(Counter(known)) * 2 > _size(extra) >= 2 * others

    def _beside(self, row: Row) -> Counter[str]:
        """The words of the fields whose boxes are no further away than a line."""
        box = [row[side] for side in BOX]
        gap = box[3] - box[1]
        rows, golds, *boxes = self._columns("row", "gold", *BOX)
        self._left -= len(rows)
        if self._left <= 0:
            return Counter(tokens(row["pred"]))
        neighbours: Counter[str] = Counter()
        paths = self._columns("path")[0]
        for number, path, other, x0, y0, x1, y1 in zip(rows, paths, golds, *boxes, strict=True):
            if path is None or None in (x0, y0, x1, y1) or number == row["row"]:
                continue
            across = x0 <= box[2] + gap and x1 >= box[0] - gap
            if across and y0 <= box[3] + gap and y1 >= box[1] - gap:
                # A letter alone stands beside most fields by chance.
                neighbours.update(word for word in tokens(other or "") if len(word) > 1)
        return neighbours

    @cached_property
    def _lost(self) -> Counter[str]:
        """The words of fields that were not read there."""
        lost = Counter()
        for path, *sides in zip(*self._columns("path", "gold", "pred"), strict=True):
            if path is None:
                continue
            gold, pred = (tokens(side or "") for side in sides)
            # Words that are only split otherwise are not lost.
            if "".join(gold) != "".join(pred):
                lost += Counter(gold) - Counter(pred)
        return lost

    def _inside(self, row: Row) -> bool:
        """Whether what was read stands in the field's own box."""
        if row["x0"] is None or row["pred_x0"] is None:
            return False
        box, read = ([row[f"{side}{name}"] for name in BOX] for side in ("", "pred_"))
        if None in box or None in read:
            return False
        slack = _BEYOND * (box[3] - box[1])
        low = all(read[n] >= box[n] - slack for n in (0, 1))
        return low and all(read[n] <= box[n] + slack for n in (2, 3))

    @cached_property
    def _golds(self) -> dict[str, list[str]]:
        """The paths that have each value."""
        places = defaultdict(list)
        for path, gold in zip(*self._columns("path", "gold"), strict=True):
            if path is not None and gold:
                places[letters(gold)].append(path)
        return places

    @cached_property
    def _folded(self) -> tuple[dict[str, list[str]], dict[str, str]]:
        """The paths that have each gold value, as folded, and the answer at each path."""
        places, answers = defaultdict(list), {}
        for path, gold, pred in zip(*self._columns("path", "gold", "pred"), strict=True):
            if path is not None and gold:
                places[_folded(gold)].append(path)
                answers[path] = _folded(pred or "")
        return places, answers

    @cached_property
    def _kinds(self) -> dict[str, set[str]]:
        """The kinds of a list's items."""
        kinds = defaultdict(set)
        for path, kind in zip(*self._columns("path", "kind"), strict=True):
            if path is not None:
                kinds[_STEP.sub("/*", path)].add(kind)
        return kinds

    @cached_property
    def _surplus(self) -> tuple[dict[str, list[str]], str]:
        """What fields have that is not theirs, by value and as one text."""
        places, surplus = defaultdict(list), []
        columns = self._columns("path", "gold", "pred", "status")
        for path, own, answer, status in zip(*columns, strict=True):
            if answer == own or path is None or not answer or status not in USABLE:
                continue
            pred, gold = letters(answer), letters(own or "")
            if pred != gold:
                places[pred].append(path)
                # Its own text is no sign of another field's.
                surplus.append(pred.replace(gold, "|", 1) if gold else pred)
        return places, "|".join(surplus)

    @cached_property
    def _answers(self) -> str:
        """The words of all that fields have."""
        rows = zip(*self._columns("path", "pred", "status"), strict=True)
        return _spaced(
            word for path, answer, status in rows
            if path is not None and answer and status in USABLE for word in tokens(answer)
        )  # fmt: skip

    @cached_property
    def _pages(self) -> tuple[str, str]:
        """The words of the page in gold and output; blank where not given."""
        paths, *sides = self._columns("path", "gold", "pred")
        gold, pred = (
            [w for path, value in zip(paths, side, strict=True) if path is None
             for w in tokens(value or "")]
            for side in sides
        )  # fmt: skip
        return _spaced(gold), _spaced(pred)

    def _columns(self, *names: str) -> list[list]:
        return [self._documents.column(name, self._place) for name in names]
