"""A page as a stream of tokens, and what stands around each: its label, its row, its column."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from functools import cached_property
from itertools import accumulate, pairwise

from formlab.text.markup import Flow, Unit

_TOKEN = re.compile(r"\d+(?:[.,/:]\d+)*|[^\W\d_]+|[^\s\w]|_")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MINUS = "-"
_CURRENCY = frozenset("$€£¥₹₩")
# Signs that only typography tells apart; an em dash stands for no value and stays.
_ALIKE = str.maketrans("−‐‑–’‘“”", "----''\"\"")
# Letters of context that are compared; with fewer than the least, the block before is the label.
REACH, LEAST = 32, 3


def tokens(text: str) -> list[str]:
    """Numbers with their separators, words and single signs, in lower case.

    >>> tokens("Total: $(1,234.50) v3.25.1")
    ['total', ':', '$', '(', '1,234.50', ')', 'v', '3.25.1']
    """
    return _TOKEN.findall(_comparable(text))


def _comparable(text: str) -> str:
    return text.lower() if text.isascii() else lowered(text.translate(_ALIKE))


def lowered(text: str) -> str:
    """`text` in lower case and of the same length: a place in it is one in the text as written."""
    low = text.lower()
    if len(low) == len(text):
        return low
    # "İ" would grow.
    return "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


class Places:
    """The tokens of a page; token t is ``words[t]`` in unit ``units[t]``, at ``starts[t]``.

    Units follow one another as the lines of `_text`; the n-th starts at ``offsets[n]``.
    """

    def __init__(self, flow: Flow) -> None:
        self.blocks: list[Unit] = flow.units
        self.marks = flow.marks
        texts = [block.text for block in self.blocks]
        self._text = "\n".join(texts)
        # No token goes on behind a line end.
        is_plain = self._text.isascii()
        lower = self._text.lower() if is_plain else "\n".join(map(_comparable, texts))
        matches = list(_TOKEN.finditer(lower))
        self.words: list[str] = [match[0] for match in matches]
        self.starts: list[int] = [match.start() for match in matches]
        self.offsets = [0, *accumulate(len(text) + 1 for text in texts)]
        self.first_token = [bisect_left(self.starts, offset) for offset in self.offsets]
        self.units: list[int] = []
        for unit, (first, end) in enumerate(pairwise(self.first_token)):
            self.units += [unit] * (end - first)
        # All letters of the page in a row; where they stood before each token and each block.
        letters = [word if word[0].isalpha() else "" for word in self.words]
        self.letters = "".join(letters)
        self.before: list[int] = [0, *accumulate(map(len, letters))]
        self.block_before = [self.before[token] for token in self.first_token]
        # Numbers without a word between them share a run: the values of one row. For each number
        # its run and its place there.
        self.runs: list[list[int]] = []
        self.run: dict[int, tuple[int, int]] = {}
        last = -1
        for token, word in enumerate(self.words):
            if word[0].isdigit():
                if self.before[token] != last:
                    self.runs.append([])
                    last = self.before[token]
                self.run[token] = (len(self.runs) - 1, len(self.runs[-1]))
                self.runs[-1].append(token)
        self._headers: dict[tuple[int, int], str] = {}
        self._labels: dict[int, str] = {}

    @cached_property
    def index(self) -> dict[str, list[int]]:
        """The tokens that are each word."""
        tokens_of = defaultdict[str, list[int]](list)
        for token, word in enumerate(self.words):
            tokens_of[word].append(token)
        return tokens_of

    def number(self, first: int) -> int | None:
        """The token that has the row and column of a value, which may begin with its sign."""
        for token in range(first, min(first + 3, len(self.words))):
            if token in self.run:
                return token
            if self.words[token].isalpha():
                break
        return None

    def find(self, words: list[str]) -> list[int]:
        """Where the tokens `words` stand one after the other."""
        if len(words) < 2:
            return self.index.get(words[0], []) if words else []
        # Start from the rarest of them: "$" alone may be on the page a thousand times.
        rarest = min(range(len(words)), key=lambda at: len(self.index.get(words[at], ())))
        starts = (token - rarest for token in self.index.get(words[rarest], ()))
        size = len(words)
        return [s for s in starts if s >= 0 and self.words[s : s + size] == words]

    def run_together(self, words: list[str]) -> list[tuple[int, int]]:
        """Where the tokens stand when the spaces of the page are lost; digits stay whole."""
        whole = "".join(words)
        spans, at = [], -1
        while (at := self._packed.find(whole, at + 1)) >= 0:
            end = at + len(whole)
            first, last = bisect_right(self._offsets, at) - 1, bisect_left(self._offsets, end)
            cut = self._offsets[first] < at and whole[0].isdigit()
            cut |= end < self._offsets[last] and self._packed[end].isdigit() and whole[-1].isdigit()
            if not cut and last - first < len(words):
                spans.append((first, last))
        return spans

    @cached_property
    def _packed(self) -> str:
        return "".join(self.words)

    @cached_property
    def _offsets(self) -> list[int]:
        return [0, *accumulate(map(len, self.words))]

    def spanned(self, unit: int, start: int, end: int) -> tuple[int, int]:
        """The tokens that the characters from `start` up to `end` of a unit touch."""
        low, high = self.first_token[unit : unit + 2]
        start, end = start + self.offsets[unit], end + self.offsets[unit]
        first = bisect_left(self.starts, start, low, high)
        if first > low and self.starts[first - 1] + len(self.words[first - 1]) > start:
            first -= 1
        return first, bisect_left(self.starts, end, low, high)

    def label(self, token: int) -> str:
        """The letters just before a token in its block, or of the last block that has some."""
        if (label := self._labels.get(token)) is None:
            label = self._labels[token] = self._label(token)
        return label

    def _label(self, token: int) -> str:
        end = self.before[token]
        unit = self.units[token]
        start = self.block_before[unit]
        if end - start < LEAST:
            unit -= 1
            while unit >= 0 and self.block_before[unit] == end:
                unit -= 1
            while unit > 0 and self.block_before[unit + 1] == self.block_before[unit]:
                unit -= 1
            start = self.block_before[unit] if unit >= 0 else 0
        return self.letters[max(start, end - REACH) : end]

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
        if key not in self._headers:
            heads = [
                head.text
                for head in self._heads[block.table]
                if head.column < block.column + block.span
                and block.column < head.column + head.span
            ]
            self._headers[key] = "".join("".join(tokens(text)) for text in heads[:8])
        return self._headers[key]

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

    def sign(self, first: int, last: int) -> str:
        """How the number in tokens `first` up to `last` is signed: "(", "-" or nothing."""
        numbers = [token for token in range(first, last) if token in self.run]
        if len(numbers) != 1:
            return ""
        before, after = numbers[0] - 1, numbers[0] + 1
        while before >= 0 and self.words[before] in _CURRENCY:
            before -= 1
        ahead = self.words[before] if before >= 0 else ""
        if ahead == "(":
            while after < len(self.words) and self.words[after] == "%":
                after += 1
            return "(" if after < len(self.words) and self.words[after] == ")" else ""
        return "-" if ahead == _MINUS and self._signs(before) else ""

    def beside(self, row: list[int], at: int) -> tuple[set[str], set[str]]:
        """The words of a row before and after one of its places."""
        words = [self.words[token] for token in row]
        return set(words[:at]), set(words[at + 1 :])

    def figure(self, first: int, last: int) -> str | None:
        """The only number in tokens `first` up to `last` with the sign it has on the page."""
        numbers = [word for word in self.words[first:last] if word[0].isdigit()]
        if len(numbers) != 1:
            return None
        sign = self.sign(first, last)
        return f"({numbers[0]})" if sign == "(" else f"{sign}{numbers[0]}"

    def _signs(self, minus: int) -> bool:
        """Whether a dash touches what follows and not what is before it: a sign, no hyphen."""
        after, before = minus + 1, minus - 1
        near = self.starts[after] == self.starts[minus] + 1
        touches = near and self.units[after] == self.units[minus]
        if before < 0 or self.units[before] != self.units[minus]:
            return touches
        end = self.starts[before] + len(self.words[before])
        return touches and (end < self.starts[minus] or not self.words[before][0].isalnum())

    def text(self, first: int, last: int) -> str:
        """The tokens `first` up to `last` as they are written."""
        if last - first == 1:
            return self._text[self.starts[first] : self.starts[first] + len(self.words[first])]
        end = self.starts[last - 1] + len(self.words[last - 1])
        return self._text[self.starts[first] : end].replace("\n", " ")


def _has_values(row: list[Unit]) -> bool:
    return not all(unit.head for unit in row) and any(_is_value(unit.text) for unit in row[1:])


def _is_value(text: str) -> bool:
    is_figure = any(map(str.isdigit, text)) and not any(map(str.isalpha, text))
    return is_figure and _YEAR.fullmatch(text.strip()) is None
