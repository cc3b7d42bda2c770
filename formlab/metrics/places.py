"""A page as tokens: what stands around each, and which rows of two pages are the same.

A row is identified by its label, which may be misread; where a label is lost, by its position among
the rows that are known, and by its values.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, chain, groupby, pairwise, product, takewhile
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab.metrics import assign
from formlab.text.markup import Flow, Unit

_TOKEN = re.compile(r"\d+(?:[.,/:]\d+)*|[^\W\d_]+|\S")
_YEAR = re.compile(r"(?:19|20)\d\d")
# A number in brackets, or behind a dash that touches it and no word before it: no hyphen.
_SIGNED = re.compile(
    r"[(-](?<![^\W_]-)(?:(?<=\()\s*|(?=\S))(?:[$€£¥₹₩]\s*)*(\d+(?:[.,/:]\d+)*)([\s%]*\))?"
)
# Signs that only typography tells apart; an em dash stands for no value and stays.
_ALIKE = str.maketrans("−‐‑–’‘“”", "----''\"\"")
# Letters of context that are compared; with fewer than the least, the block before is the label.
REACH, LEAST = 32, 3
# Similarity of a label with a misread one, as of "tax" and "tex"; letters that a label must have to
# be taken for the beginning or the end of another.
_SLIP, _PART = 0.65, 4
# What is compared at most, since a model may repeat itself: pairs of labels, values without label.
_MOST_LABELS, _MOST_LOOSE = 250_000, 2_000


def tokens(text: str) -> list[str]:
    """Numbers with their separators, words and single signs, in lower case.

    >>> tokens("Total: $(1,234.50) v3.25.1")
    ['total', ':', '$', '(', '1,234.50', ')', 'v', '3.25.1']
    """
    return _TOKEN.findall(lowered(text.translate(_ALIKE)))


def lowered(text: str) -> str:
    """`text` in lower case and of the same length: a place in it is one in the text as written."""
    low = text.lower()
    if len(low) == len(text):
        return low
    # "İ" would grow.
    return "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


class Places:
    """The tokens of a page; token t is ``words[t]`` in unit ``units[t]``, at ``starts[t]``."""

    def __init__(self, flow: Flow) -> None:
        self.blocks: list[Unit] = flow.units
        self.marks = flow.marks
        texts = [block.text for block in self.blocks]
        self._text = "\n".join(texts)
        self._comparable = lowered(self._text.translate(_ALIKE))
        matches = list(_TOKEN.finditer(self._comparable))
        self.words: list[str] = [match[0] for match in matches]
        self.starts: list[int] = [match.start() for match in matches]
        # All letters of the page in a row; where they stood before each token and each block.
        letters = [word if word[0].isalpha() else "" for word in self.words]
        self.letters = "".join(letters)
        self.before: list[int] = [0, *accumulate(map(len, letters))]
        self.offsets = [0, *accumulate(len(text) + 1 for text in texts)]
        self.first_token = [bisect_left(self.starts, offset) for offset in self.offsets]
        ends = enumerate(pairwise(self.first_token))
        self.units = [unit for unit, (first, end) in ends for _ in range(first, end)]
        self.block_before = [self.before[token] for token in self.first_token]
        # Where the letters of the last block with some start, for each block.
        lettered = (start * (end > start) for start, end in pairwise(self.block_before))
        self._above = [0, *accumulate(lettered, max)]
        # Numbers without a word between them share a run: the values of one row. Of each number its
        # run and its place there.
        numbers = (token for token, word in enumerate(self.words) if word[0].isdigit())
        self.runs = [list(run) for _, run in groupby(numbers, key=self.before.__getitem__)]
        self.run: dict[int, tuple[int, int]] = {}
        for number, run in enumerate(self.runs):
            self.run |= {token: (number, at) for at, token in enumerate(run)}
        self._headers: dict[tuple[int, int], str] = {}

    @cached_property
    def index(self) -> dict[str, list[int]]:
        """The tokens that are each word."""
        tokens_of = defaultdict[str, list[int]](list)
        for token, word in enumerate(self.words):
            tokens_of[word].append(token)
        return tokens_of

    @cached_property
    def labelled(self) -> dict[str, list[int]]:
        """The runs under each label."""
        runs: dict[str, list[int]] = {}
        for number, label in enumerate(self.labels):
            runs.setdefault(label, []).append(number)
        return runs

    @cached_property
    def labels(self) -> list[str]:
        """The label of each run, which is that of its first number."""
        return [self.label(run[0]) for run in self.runs]

    def number(self, first: int) -> int | None:
        """The token that has the row and column of a value, which may begin with its sign."""
        near = range(first, min(first + 3, len(self.words)))
        ahead = takewhile(lambda token: not self.words[token].isalpha(), near)
        return next((token for token in ahead if token in self.run), None)

    def find(self, words: list[str]) -> list[int]:
        """Where the tokens `words` stand one after the other."""
        if len(words) < 2:
            return self.index.get(words[0], []) if words else []
        # Start from the rarest of them: "$" alone may be on the page a thousand times.
        rarest = min(range(len(words)), key=lambda at: len(self.index.get(words[at], ())))
        starts = (token - rarest for token in self.index.get(words[rarest], ()))
        return [s for s in starts if s >= 0 and self.words[s : s + len(words)] == words]

    def run_together(self, words: list[str]) -> list[tuple[int, int]]:
        """Where the tokens stand when the spaces of the page are lost; digits stay whole."""
        whole, (page, offsets) = "".join(words), self._packed
        spans, at = [], -1
        while (at := page.find(whole, at + 1)) >= 0:
            end = at + len(whole)
            first, last = bisect_right(offsets, at) - 1, bisect_left(offsets, end)
            cut = offsets[first] < at and whole[0].isdigit()
            cut |= end < offsets[last] and page[end].isdigit() and whole[-1].isdigit()
            if not cut and last - first < len(words):
                spans.append((first, last))
        return spans

    @cached_property
    def _packed(self) -> tuple[str, list[int]]:
        """The page without spaces, and where each token starts in there."""
        return "".join(self.words), [0, *accumulate(map(len, self.words))]

    def spanned(self, unit: int, start: int, end: int) -> tuple[int, int]:
        """The tokens that the characters from `start` up to `end` of a unit touch."""
        low, high = self.first_token[unit : unit + 2]
        start, end = start + self.offsets[unit], end + self.offsets[unit]
        first = bisect_left(self.starts, start, low, high)
        first -= first > low and self.starts[first - 1] + len(self.words[first - 1]) > start
        return first, bisect_left(self.starts, end, low, high)

    def text(self, first: int, last: int) -> str:
        """The tokens `first` up to `last` as they are written."""
        end = self.starts[last - 1] + len(self.words[last - 1])
        return self._text[self.starts[first] : end].replace("\n", " ")

    def label(self, token: int) -> str:
        """The letters just before a token in its block, or of the last block that has some."""
        left, size = self.beside(token)
        return left[len(left) - size :]

    def beside(self, token: int) -> tuple[str, int]:
        """The letters before a token, and how many of them are its label."""
        end, unit = self.before[token], self.units[token]
        size = end - self.block_before[unit]
        size = size if size >= LEAST else end - self._above[unit]
        start = end - REACH if end > REACH else 0
        return self.letters[start:end], size if size < REACH else REACH

    def left(self, token: int) -> str:
        """The letters before a token, whatever the block."""
        end = self.before[token]
        return self.letters[max(0, end - REACH) : end]

    def right(self, token: int) -> str:
        """The letters from a token on."""
        start = self.before[token]
        return self.letters[start : start + REACH]

    def header(self, token: int) -> str:
        """What the heads of the token's column say, without spaces; empty outside a table."""
        block = self.blocks[self.units[token]]
        if block.table < 0 or block.head:
            return ""
        key = (block.table, block.column)
        if (header := self._headers.get(key)) is None:
            end, heads = block.column + block.span, self._heads[block.table]
            over = [h.text for h in heads if h.column < end and block.column < h.column + h.span]
            header = self._headers[key] = "".join("".join(tokens(text)) for text in over[:8])
        return header

    @cached_property
    def _heads(self) -> dict[int, list[Unit]]:
        """The units of each table's head: what stands above its first row of values."""
        rows: dict[int, dict[int, list[Unit]]] = defaultdict(lambda: defaultdict(list))
        for block in self.blocks:
            if block.table >= 0:
                rows[block.table][block.row].append(block)
        heads: dict[int, list[Unit]] = {}
        for table, lines in rows.items():
            first = next((n for n, row in enumerate(lines.values()) if _has_values(row)), 0)
            heads[table] = [unit for row in list(lines.values())[:first] for unit in row]
        return heads

    def figure(self, first: int, last: int) -> str:
        """The only number in tokens `first` up to `last` with its sign there, or nothing."""
        numbers = [token for token in range(first, last) if token in self.run]
        if len(numbers) != 1:
            return ""
        sign, word = self._signs.get(self.starts[numbers[0]], ""), self.words[numbers[0]]
        return f"({word})" if sign == "(" else sign + word

    def sign(self, first: int, last: int) -> str:
        """How the only number in tokens `first` up to `last` is signed: "(", "-" or nothing."""
        if last - first == 1:
            return self._signs.get(self.starts[first], "")
        sign = self.figure(first, last)[:1]
        return sign if sign in ("(", "-") else ""

    @cached_property
    def _signs(self) -> dict[int, str]:
        """The sign of each number that has one, by where it starts."""
        matches = _SIGNED.finditer(self._comparable)
        return {m.start(1): m[0][0] for m in matches if m[2] or m[0][0] == "-"}


def _has_values(row: list[Unit]) -> bool:
    texts = [unit.text for unit in row[1:] if not any(map(str.isalpha, unit.text))]
    figures = (text for text in texts if any(map(str.isdigit, text)))
    is_value = any(_YEAR.fullmatch(figure.strip()) is None for figure in figures)
    return is_value and not all(unit.head for unit in row)


class Line(NamedTuple):
    """Numbers side by side, the gold run that they are (or -1), and if no letter is beside."""

    numbers: list[int]
    gold: int = -1
    bare: bool = False


class Rows:
    """The rows of a predicted page beside those of a gold page."""

    def __init__(self, gold: Places, pred: Places) -> None:
        self.gold, self.pred = gold, pred

    def known(self, label: str) -> str | None:
        """The label of the gold page that `label` is, if it is one, as written or misread."""
        return label if label in self.gold.labelled else self._misread_labels.get(label)

    def written(self, label: str) -> list[int]:
        """The runs of the prediction under a label of the gold page, misread or not."""
        return self.pred.labelled.get(label) or self.pred.labelled.get(self._as_read.get(label), [])

    @cached_property
    def _as_read(self) -> dict[str, str]:
        return {ours: theirs for theirs, ours in self._misread_labels.items()}

    @cached_property
    def _misread_labels(self) -> dict[str, str]:
        sides = self.gold.labelled, self.pred.labelled
        pairs = sides, sides[::-1]
        ours, theirs = ([one for one in a if one and one not in b] for a, b in pairs)
        if not ours or not theirs or len(ours) * len(theirs) > _MOST_LABELS:
            return {}
        how = {"scorer": Levenshtein.normalized_similarity, "score_cutoff": _SLIP, "workers": 1}
        alike = process.cdist(theirs, ours, dtype=np.float64, **how)
        matched = {theirs[row]: ours[column] for row, column in assign(alike)}
        # Of the rest, labels that lost words or were given some, where one alone holds the other.
        rest = product(set(theirs) - set(matched), set(ours) - set(matched.values()))
        pairs = [pair for pair in rest if _in(*pair) or _in(*pair[::-1])]
        uses = Counter(chain.from_iterable(pairs))
        return matched | {one: other for one, other in pairs if uses[one] == uses[other] == 1}

    @cached_property
    def rows(self) -> dict[int, Line]:
        """The row of each number of the prediction.

        Beyond the row of a known label a run is lines without label; those that follow one another
        are placed together, after the gold run of the last label before them.
        """
        rows: dict[int, Line] = {}
        gaps: list[tuple[int, list[Line]]] = []
        before, uses, is_open = -1, defaultdict[str, int](int), False
        for run, written in zip(self.pred.runs, self.pred.labels, strict=True):
            size = 0
            if (label := self.known(written)) is not None:
                runs = self.gold.labelled[label]
                before, is_open = runs[min(uses[label], len(runs) - 1)], False
                uses[label] += 1
                size = self._full(run, runs)
            rows |= dict.fromkeys(run, Line(run))
            if size < len(run):
                rows |= dict.fromkeys(run[:size], Line(run[:size]))
                if not is_open:
                    gaps.append((before, []))
                    is_open = True
                gaps[-1][1].extend(self._lines(run[size:]))
        for before, lines in gaps:
            for line in [line for line in lines if line.bare] + self._in_order(before, lines):
                rows |= dict.fromkeys(line.numbers, line)
        return rows

    def _full(self, run: list[int], golds: list[int]) -> int:
        """How many numbers of a run are in the row of its label: whole lines that fit in."""
        first = self.pred.blocks[self.pred.units[run[0]]]
        if (in_table := first.table >= 0) and first.line not in self._lettered:
            return 0
        if first.line == self._line(run[-1]):
            return len(run)
        most = 0 if in_table else max(len(self.gold.runs[number]) for number in golds)
        sizes = list(accumulate(len(line.numbers) for line in self._lines(run)))
        return max((size for size in sizes if size <= most), default=sizes[0])

    def _lines(self, numbers: list[int]) -> list[Line]:
        lines: dict[int, list[int]] = defaultdict(list)
        for number in numbers:
            lines[self._line(number)].append(number)
        return [Line(row, bare=line not in self._lettered) for line, row in lines.items()]

    def _line(self, number: int) -> int:
        return self.pred.blocks[self.pred.units[number]].line

    @cached_property
    def _lettered(self) -> set[int]:
        """The lines that have letters."""
        blocks = zip(self.pred.blocks, pairwise(self.pred.block_before), strict=True)
        return {block.line for block, (start, end) in blocks if end > start}

    def _in_order(self, before: int, lines: list[Line]) -> list[Line]:
        """Lines without a known label beside the gold rows that follow, as far as none has one."""
        rest = range(before + 1, len(self.gold.runs))
        golds = list(takewhile(lambda run: not self._has_label(self.gold.labels[run]), rest))
        if len(golds) == len(lines):
            pairs = zip(lines, golds, strict=True)
            return [line._replace(gold=gold) for line, gold in pairs if line.bare]
        # Lines that are more or fewer than the gold rows: each value beside its like.
        ours = [(number, gold) for gold in golds for number in self.gold.runs[gold]]
        theirs = [number for line in lines for number in line.numbers]
        if not ours or max(len(ours), len(theirs)) > _MOST_LOOSE:
            return []
        pairs: Iterable[tuple[int, int]] = enumerate(range(len(ours)))
        # Unless every value has a line of its own.
        if not len(ours) == len(theirs) == len(lines):
            words = [self.pred.words[n] for n in theirs], [self.gold.words[n] for n, _ in ours]
            pairs = (
                (start + step, other + step)
                for tag, start, end, other, _ in Levenshtein.opcodes(*words)
                for step in (range(end - start) if tag in ("equal", "replace") else ())
            )
        owner = {theirs[place]: ours[other][1] for place, other in pairs}
        members: dict[int, list[int]] = defaultdict(list)
        for line in filter(lambda line: line.bare, lines):
            # What is beside them belongs to their row, though it is like nothing there.
            beside = Counter(owner[n] for n in line.numbers if n in owner).most_common(1)
            for number in line.numbers if beside else ():
                members[owner.get(number, beside[0][0])].append(number)
        return [Line(row, gold=gold) for gold, row in members.items()]

    def is_elsewhere(self, label: str, number: int) -> bool:
        """Whether a gold label has values of its own, or stands only after a number."""
        if not label or not self._has_label(label):
            return False
        is_after = self.pred.letters.find(label) >= self.pred.before[number]
        return is_after or bool(self.written(label))

    def _has_label(self, label: str) -> bool:
        """Whether a gold label stands in the prediction, misread or as often as in the gold."""
        if not label or label in self._as_read:
            return True
        return self.pred.letters.count(label) >= self.gold.letters.count(label)


def _in(fragment: str, whole: str) -> bool:
    return len(fragment) >= _PART and (whole.startswith(fragment) or whole.endswith(fragment))
