"""A page as tokens: what stands around each, and which rows of two pages are the same.

A row is identified by its label, which may be misread; where a label is lost, by its position among
the rows that are known, and by its values.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
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
# Signs that only typography tells apart (no em dash), and a letter that would grow in lower case.
_ALIKE = str.maketrans("−‐‑–’‘“”İ", "----''\"\"i")
# Letters of context that are compared; with fewer than the least, the block before is the label.
REACH, LEAST = 32, 3
# Similarity of a label with a misread one ("tax", "tex"); letters of a part of another label.
_SLIP, _PART = 0.65, 4
Span = tuple[int, int]
# What is compared at most, since a model may repeat itself: pairs of labels, values without label.
_MOST_LABELS, _MOST_LOOSE = 250_000, 2_000


def tokens(text: str) -> list[str]:
    """Numbers with their separators, words and single signs, in lower case.

    >>> tokens("Total: $(1,234.50) v3.25.1")
    ['total', ':', '$', '(', '1,234.50', ')', 'v', '3.25.1']
    """
    return _TOKEN.findall(text.translate(_ALIKE).lower())


def places_of(values: Iterable[str]) -> dict[str, list[int]]:
    """Where each of some values stands among them."""
    places = defaultdict[str, list[int]](list)
    for place, value in enumerate(values):
        places[value].append(place)
    return places


class Places:
    """The tokens of a page; token t is ``words[t]`` in unit ``units[t]``, at ``starts[t]``."""

    def __init__(self, flow: Flow) -> None:
        self.blocks, self.marks = flow.units, flow.marks
        texts = [block.text for block in self.blocks]
        # The page as it is written, in lower case of the same length, and with signs made alike.
        self.written = " ".join(texts)
        self.lower = self.written.replace("İ", "i").lower()
        comparable = self.lower.translate(_ALIKE)
        matches = list(_TOKEN.finditer(comparable))
        self.words: list[str] = [match[0] for match in matches]
        self.starts: list[int] = [match.start() for match in matches]
        self.ends: list[int] = [match.end() for match in matches]
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
        # Numbers without a word between them share a run: the run, their place there, and how many.
        numbers = (token for token, word in enumerate(self.words) if word[0].isdigit())
        self.runs = [list(run) for _, run in groupby(numbers, key=self.before.__getitem__)]
        self.run: dict[int, tuple[int, int, int]] = {}
        for number, run in enumerate(self.runs):
            self.run |= {token: (number, at, len(run)) for at, token in enumerate(run)}
        # The label of each run, which is that of its first number, and the runs under each.
        self.labels = [self.label(run[0]) for run in self.runs]
        self.labelled = places_of(self.labels)
        self._tokens = places_of(self.words)
        # The sign of each number that has one, by where it starts.
        signed = _SIGNED.finditer(comparable)
        self._signs = {m.start(1): m[0][0] for m in signed if m[2] or m[0][0] == "-"}
        self._headers: dict[tuple[int, int], str] = {}

    def number(self, first: int) -> int | None:
        """The token that has the row and column of a value, which may begin with its sign."""
        near = range(first, min(first + 3, len(self.words)))
        ahead = takewhile(lambda token: not self.words[token].isalpha(), near)
        return next((token for token in ahead if token in self.run), None)

    def find(self, words: list[str]) -> list[Span]:
        """Where the tokens `words`, at least one, stand one after the other."""
        if len(words) == 1:
            return [(token, token + 1) for token in self._tokens[words[0]]]
        places, size = [self._tokens[word] for word in words], len(words)
        # Start from the rarest of them: "$" alone may be on the page a thousand times.
        rarest = min(places, key=len)
        before = places.index(rarest)
        spans = [(token - before, token - before + size) for token in rarest if token >= before]
        return [(first, last) for first, last in spans if self.words[first:last] == words]

    def run_together(self, words: list[str]) -> list[Span]:
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
        return bisect_right(self.ends, start, low, high), bisect_left(self.starts, end, low, high)

    def text(self, first: int, last: int) -> str:
        """The tokens `first` up to `last` as they are written."""
        return self.written[self.starts[first] : self.ends[last - 1]]

    def label(self, token: int) -> str:
        """The letters just before a token in its block, or of the last block that has some."""
        end, unit = self.before[token], self.units[token]
        start = self.block_before[unit]
        start = start if end - start >= LEAST else self._above[unit]
        return self.letters[max(start, end - REACH) : end]

    def around(self, token: int) -> tuple[object, ...]:
        """All that tells the row and column of a token."""
        place = self.run.get(token, ())[1:]
        return place, self.header(token), self.label(token), self.left(token)

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
            header = self._headers[key] = "".join(tokens(" ".join(over[:8])))
        return header

    @cached_property
    def _heads(self) -> dict[int, list[Unit]]:
        """The units of each table's head: what stands above its first row of values."""
        rows, heads = defaultdict[Span, list[Unit]](list), defaultdict[int, list[Unit]](list)
        for block in self.blocks:
            rows[block.table, block.row].append(block)
        first: dict[int, int] = {}
        for (table, row), units in rows.items():
            if table not in first and _has_values(units):
                first[table] = row
        for block in self.blocks:
            if block.row < first.get(block.table, -1):
                heads[block.table].append(block)
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
        figure = self.figure(first, last)
        return figure[0] if figure.startswith(("(", "-")) else ""


def _has_values(row: list[Unit]) -> bool:
    texts = [unit.text.strip() for unit in row[1:] if not any(map(str.isalpha, unit.text))]
    values = (any(map(str.isdigit, text)) and not _YEAR.fullmatch(text) for text in texts)
    return any(values) and not all(unit.head for unit in row)


class Line(NamedTuple):
    """Numbers side by side, the gold run that they are (or -1), and if no letter is beside."""

    numbers: list[int]
    gold: int = -1
    bare: bool = False


class Rows:
    """The rows of a predicted page beside those of a gold page."""

    def __init__(self, gold: Places, pred: Places) -> None:
        self.gold, self.pred = gold, pred
        # Labels of the gold page with those that they were misread as; the label of the gold page
        # that one is, as written or misread; the runs of the prediction under a gold label.
        self.misread = misread = _misread_labels(gold.labelled, pred.labelled)
        self.known = {label: label for label in gold.labelled}
        self.known |= {theirs: ours for ours, theirs in misread.items()}
        self.written = pred.labelled | {ours: pred.labelled[of] for ours, of in misread.items()}
        # The lines of the prediction that have letters.
        blocks = zip(pred.blocks, pairwise(pred.block_before), strict=True)
        self._lettered = {block.line for block, (start, end) in blocks if end > start}

    @cached_property
    def rows(self) -> dict[int, Line]:
        """The row of each number of the prediction.

        Beyond the row of a known label a run is lines without label; those that follow one another
        are placed together, after the gold run of the last label before them.
        """
        rows: dict[int, Line] = {}
        # Lines without label, each list behind the gold run beside it.
        gaps: list[tuple[int, list[Line]]] = [(-1, [])]
        uses = Counter[str]()
        for run, written in zip(self.pred.runs, self.pred.labels, strict=True):
            size = 0
            if (label := self.known.get(written)) is not None:
                runs = self.gold.labelled[label]
                gaps.append((runs[min(uses[label], len(runs) - 1)], []))
                uses[label] += 1
                size = self._full(run, runs)
            rows |= dict.fromkeys(run, Line(run))
            if size < len(run):
                rows |= dict.fromkeys(run[:size], Line(run[:size]))
                gaps[-1][1].extend(self._lines(run[size:]))
        for before, lines in gaps:
            bare = [line for line in lines if line.bare]
            for line in bare + self._in_order(before, lines) if lines else ():
                rows |= dict.fromkeys(line.numbers, line)
        return rows

    def _full(self, run: list[int], golds: list[int]) -> int:
        """How many numbers of a run are in the row of its label: whole lines that fit in."""
        first, last = (self.pred.blocks[self.pred.units[number]] for number in (run[0], run[-1]))
        if (in_table := first.table >= 0) and first.line not in self._lettered:
            return 0
        if first.line == last.line:
            return len(run)
        most = 0 if in_table else max(len(self.gold.runs[number]) for number in golds)
        sizes = list(accumulate(len(line.numbers) for line in self._lines(run)))
        return max((size for size in sizes if size <= most), default=sizes[0])

    def _lines(self, numbers: list[int]) -> list[Line]:
        lines: dict[int, list[int]] = defaultdict(list)
        for number in numbers:
            lines[self.pred.blocks[self.pred.units[number]].line].append(number)
        return [Line(row, bare=line not in self._lettered) for line, row in lines.items()]

    def _in_order(self, before: int, lines: list[Line]) -> list[Line]:
        """Lines without a known label beside the gold rows that follow, as far as none has one."""
        rest = range(before + 1, len(self.gold.runs))
        golds = list(takewhile(lambda run: not self.has_label(self.gold.labels[run]), rest))
        if len(golds) == len(lines):
            pairs = zip(lines, golds, strict=True)
            return [line._replace(gold=gold) for line, gold in pairs if line.bare]
        # Lines that are more or fewer than the gold rows: each value beside its like.
        ours = [(number, gold) for gold in golds for number in self.gold.runs[gold]]
        theirs = [number for line in lines for number in line.numbers]
        if max(len(ours), len(theirs)) > _MOST_LOOSE:
            return []
        blocks = [("", 0, len(theirs), 0, len(ours))]
        # Unless every value has a line of its own.
        if not len(ours) == len(theirs) == len(lines):
            words = [self.pred.words[n] for n in theirs], [self.gold.words[n] for n, _ in ours]
            blocks = Levenshtein.opcodes(*words)
        owner: dict[int, int] = {}
        for _, start, end, other, last in blocks:
            alike = zip(theirs[start:end], ours[other:last], strict=False)
            owner |= {number: gold for number, (_, gold) in alike}
        members: dict[int, list[int]] = defaultdict(list)
        for line in filter(lambda line: line.bare, lines):
            # What is beside them belongs to their row, though it is like nothing there.
            beside = Counter(owner[n] for n in line.numbers if n in owner).most_common(1)
            for number in line.numbers if beside else ():
                members[owner.get(number, beside[0][0])].append(number)
        return [Line(row, gold=gold) for gold, row in members.items()]

    def has_label(self, label: str) -> bool:
        """Whether a gold label stands in the prediction, misread or as often as in the gold."""
        if not label or label in self.misread:
            return True
        return self.pred.letters.count(label) >= self.gold.letters.count(label)


def _misread_labels(golds: Collection[str], preds: Collection[str]) -> dict[str, str]:
    """The labels of a gold page that stand on another as they were misread, one to one."""
    ours = [label for label in golds if label and label not in preds]
    theirs = [label for label in preds if label and label not in golds]
    if not ours or not theirs or len(ours) * len(theirs) > _MOST_LABELS:
        return {}
    how = {"scorer": Levenshtein.normalized_similarity, "score_cutoff": _SLIP, "workers": 1}
    alike = process.cdist(theirs, ours, dtype=np.float64, **how)
    matched = {ours[column]: theirs[row] for row, column in assign(alike)}
    # Of the rest, labels that lost words or were given some, where one alone holds the other.
    rest = product(set(ours) - set(matched), set(theirs) - set(matched.values()))
    pairs = []
    for pair in rest:
        part, whole = sorted(pair, key=len)
        if len(part) >= _PART and (whole.startswith(part) or whole.endswith(part)):
            pairs.append(pair)
    uses = Counter(chain.from_iterable(pairs))
    return matched | {one: other for one, other in pairs if uses[one] == uses[other] == 1}
