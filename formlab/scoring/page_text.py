"""Fields found in a page's text: a system that gives text alone is judged field by field too.

Each gold field is looked for in the text: one stretch each, whole words. A field whose gold the
page's own gold text does not hold is not judged; fields that share their words there, as a line and
a key value within it do, are looked for apart from each other.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, product

import numpy as np
import polars as pl
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq, Levenshtein

from formlab import tables, text
from formlab.scoring.align import with_read
from formlab.tables import USABLE
from formlab.text.markup import TITLES, own_marks, unmarked

# A value of fewer characters must stand there as it is, between the ends of words.
SHORT = 4
# From this similarity on (1 less the edits per character of the longer), a stretch is the value;
# shorter values resemble other words by chance, so that more is asked of them.
LEAST, LEAST_SHORT = 0.6, 0.75
_FEW = 8
# Values are looked for in turns: inside of words too?, as if taken stretches were not there?, and
# the least similarity. Pieces from all over a page resemble a value more easily than one stretch.
_SWEEPS = ((False, False, 0.85), (True, True, 0.9), (True, False, 0.0), (True, True, LEAST_SHORT))
# The share of a value's characters that words found one by one must make up.
_PIECES = 0.8
# Characters of a text, without white space, that are looked at; the rest is counted as cut.
MOST = 100_000
_TAKEN = "\0"

# Values by their numbers.
Span, Values = tuple[int, int], Mapping[int, str]
RULES = (
    f"page-text,one-to-one,whole-words,similarity>={LEAST:g},"
    f"{LEAST_SHORT:g} below 8 characters,exact below {SHORT}"
)
# How like a gold field's words in the gold text must be, as keys and lines may be spelled apart.
_GOLD = 0.85
_LAYERS = 4
_NOT_JUDGED = "fields not judged: the gold text of their page does not hold them"
_nfc = partial(text.normalise, steps=("nfc",))
_similarity = Levenshtein.normalized_similarity


def texts_only(claims: pl.DataFrame) -> bool:
    """Whether predictions give the text of pages and nothing else, for one page at least."""
    texts = claims.filter(pl.col("status").is_in(USABLE))["value"]
    return texts.count() > 0 and claims["path"].null_count() == claims.height


def in_page_text(
    joined: pl.DataFrame, gold: pl.DataFrame, claims: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Fill in what stands for each field in the text of its page."""
    gold, claims = sides = [s.filter(pl.col("status").is_in(USABLE)) for s in (gold, claims)]
    whole = pl.col("path").is_null()
    pages = (side.filter(whole).select("doc_id", "value").drop_nulls() for side in sides)
    golds, texts = (dict(page.iter_rows()) for page in pages)
    notes: Counter[str] = Counter()
    rows: list[tuple] = []
    named = gold.filter(~whole).drop_nulls("value")
    for (doc_id,), fields in named.group_by("doc_id", maintain_order=True):
        if doc_id in texts:
            page = Text(_nfc(texts[doc_id]), keep=own_marks(golds.get(doc_id, "")))
            for kind, count in page.marks.items():
                notes[f"{TITLES[kind]} taken out to find fields"] += count
            notes["characters of page texts too long to be searched"] += page.cut
            found = _fields(fields["value"], golds.get(doc_id) or "", page)
            rows += [(doc_id, path, *of) for path, of in zip(fields["path"], found, strict=True)]
    schema = tables.schema("doc_id path pred at:int judged:flag")
    read = pl.DataFrame(rows, schema=schema, orient="row")
    notes[_NOT_JUDGED] = read.filter(~pl.col("judged")).height
    source = claims.filter(whole).select("doc_id", pred_status="status", pred_origin="origin")
    both = with_read(joined, read.join(source, on="doc_id"))
    outcome = pl.when(~pl.col("judged")).then(pl.lit("unscored")).otherwise("outcome")
    both = both.with_columns(outcome=outcome).drop("judged")
    return both, {name: count for name, count in notes.items() if count}


def least(length: int) -> float:
    """The similarity that a value of so many characters must have with its stretch."""
    if length < SHORT:
        return 1.0
    return LEAST_SHORT if length < _FEW else LEAST


def squash(value: str) -> str:
    """`value` as it is compared.

    >>> squash("Dr. O’Neill – 7")
    "dr.o'neill-7"
    """
    return "".join(_alike(value).split())


def _alike(value: str) -> str:
    plain = text.normalise(value.replace(_TAKEN, " "), ("dashes", "quotes"))
    # A few letters become two in lower case, which would shift all that follow.
    return "".join(low if len(low := char.lower()) == 1 else char for char in plain)


class Text:
    """A page's text as values are looked for in it: marks and white space left out."""

    def __init__(self, raw: str, *, keep: Collection[str] = ()) -> None:
        self._clean, self._places, self.marks = unmarked(raw, keep)
        alike = _alike(self._clean)
        kept = np.flatnonzero(np.fromiter((not c.isspace() for c in alike), bool, len(alike)))
        self.cut = max(0, len(kept) - MOST)
        self._kept = kept[:MOST]
        self.squashed = "".join(alike[index] for index in self._kept)
        gap = np.diff(self._kept, prepend=-2) > 1
        self.first, self.last = gap, np.roll(gap, -1)

    def at(self, index: int) -> int:
        """Where a character of `squashed` stands in the text as it was given."""
        return int(self._places[self._kept[index]])

    def shown(self, places: np.ndarray) -> str:
        """The text of some characters of `squashed`: runs of it, joined by one space."""
        runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        cuts = [self._clean[self._kept[run[0]] : self._kept[run[-1]] + 1] for run in runs]
        return " ".join(" ".join(cuts).split())


def _fields(golds: pl.Series, gold_text: str, page: Text) -> Iterator[tuple]:
    """What each field has in a page, where that begins, and whether the field is judged."""
    told = Text(_nfc(gold_text), keep=TITLES)
    words = [[squash(word) for word in _nfc(value).split()] for value in golds]
    left = {n: "".join(of) for n, of in enumerate(words) if any(of)}
    found, judged = dict[int, np.ndarray](), set[int]()
    # Fields that share no word of the gold text, as a line and a value in it do, are a layer.
    for _ in range(_LAYERS if told.squashed else 1):
        named = find_stretches(left, told, bar=_GOLD) if told.squashed else [*left]
        found |= find_stretches({n: left.pop(n) for n in named}, page, words=words)
        judged.update(named)
    for n in range(len(words)):
        read = (page.shown(found[n]), page.at(int(found[n][0]))) if n in found else ("", None)
        # For a field that is blank nothing is looked for, and nothing stands there.
        yield *read, n in judged or not any(words[n])


class _View:
    """The part of a text that is still free: the taken characters hidden, or left out."""

    def __init__(self, page: Text, free: np.ndarray, *, closed: bool) -> None:
        self.index = np.flatnonzero(free) if closed else np.arange(len(free))
        self.free = free[self.index]
        self.text = "".join(page.squashed[n] if free[n] else _TAKEN for n in self.index)
        taken = np.concatenate([[True], ~self.free, [True]])
        steps = np.concatenate([[2], np.diff(self.index), [2]]) > 1
        self.starts = page.first[self.index] | taken[:-2] | steps[:-1]
        self.ends = page.last[self.index] | taken[2:] | steps[1:]

    def take(self, start: int, end: int) -> None:
        self.free[start:end] = False
        self.text = self.text[:start] + _TAKEN * (end - start) + self.text[end:]
        self.ends[max(start - 1, 0) : start] = True
        self.starts[end : end + 1] = True

    def exact(self, value: str, *, inside: bool) -> list[Span]:
        """Where `value` stands, between ends of words unless `inside`."""
        spans, at = [], self.text.find(value)
        while at >= 0:
            span = at, at + len(value)
            is_whole = inside or all(self._is_edge(end, len(value) < SHORT) for end in span)
            spans += [span] if is_whole else []
            at = self.text.find(value, span[1] if is_whole else at + 1)
        return spans

    def _is_edge(self, index: int, strict: bool) -> bool:
        if index in (0, len(self.text)) or self.starts[index] or self.ends[index - 1]:
            return True
        pair = self.text[index - 1 : index + 1]
        return not (pair.isalnum() if strict else _one_word(pair))

    def like(self, value: str, bar: float) -> tuple[Span, float] | None:
        """The stretch of whole words that is most like `value`, and its similarity."""
        # The alignment ignores that lengths differ, so it is asked for somewhat less.
        found = fuzz.partial_ratio_alignment(value, self.text, score_cutoff=100 * (bar - 0.1))
        if found is None or found.dest_end <= found.dest_start:
            return None
        starts = _near(self.starts, found.dest_start)
        ends = _near(self.ends, found.dest_end - 1)
        like = [
            ((start, last + 1), _similarity(value, piece, score_cutoff=bar))
            for start, last in product(starts, ends)
            if (piece := self.text[start : last + 1]) and _TAKEN not in piece
        ]
        best = max(like, key=lambda pair: pair[1], default=None)
        return best if best and best[1] >= bar else None


def _near(edges: np.ndarray, index: int) -> set[int]:
    """A place and the nearest edges of words before and after it, two each way."""
    low = max(0, index - 60)
    near = low + np.flatnonzero(edges[low : index + 60])
    middle = int(np.searchsorted(near, index))
    return {*near[max(0, middle - 2) : middle + 2].tolist(), index}


def find_stretches(
    values: Values, page: Text, *, words: Sequence[Sequence[str]] = (), bar: float = 0.0
) -> dict[int, np.ndarray]:
    """The characters of the page's text for each value that stands there, by its number."""
    # The most certain by length and similarity choose first, equal values have their places in
    # order. What is not found is looked for in what is left free, at last word by word.
    free = np.ones(len(page.squashed), dtype=bool)
    cores: dict[int, np.ndarray] = {}
    for inside, closed, sure in _SWEEPS:
        view = _View(page, free, closed=closed)
        left = {n: value for n, value in values.items() if n not in cores}
        for number, (start, end) in _sweep(left, view, bar=max(bar, sure), inside=inside).items():
            cores[number] = view.index[start:end]
            free[cores[number]] = False
        pieces = {n: words[n] for n in left if n not in cores} if words and closed else {}
        for number, places in _pieces(pieces, page, free, share=max(sure, _PIECES)):
            cores[number] = places
            free[places] = False
    wholes = {n: _whole(values[n], cores[n], page, free, bar) for n in sorted(cores)}
    return {number: places for number, places in wholes.items() if places is not None}


def _sweep(values: Values, view: _View, *, bar: float, inside: bool) -> dict[int, Span]:
    """The place of each value that has one, the most certain first."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, value in values.items():
        groups[value].append(number)
    heap: list[tuple[float, str, list[Span]]] = []
    assigned: dict[str, list[Span]] = {value: [] for value in groups}

    def offer(value: str) -> None:
        asked = max(bar, least(len(value)))
        if spans := view.exact(value, inside=inside and len(value) >= SHORT):
            heapq.heappush(heap, (-float(len(value)), value, spans))
        elif asked < 1 and (like := view.like(value, asked)):
            span, similarity = like
            heapq.heappush(heap, (-len(value) * (2 * similarity - 1), value, [span]))

    for value in groups:
        offer(value)
    while heap:
        _, value, spans = heapq.heappop(heap)
        still = [span for span in spans if view.free[slice(*span)].all()]
        for span in still:
            view.take(*span)
        assigned[value] += still
        if not still or len(assigned[value]) < len(groups[value]):
            offer(value)
    found = (zip(groups[value], sorted(spans), strict=False) for value, spans in assigned.items())
    return dict(chain.from_iterable(found))


def _pieces(
    words: Mapping[int, Sequence[str]], page: Text, free: np.ndarray, *, share: float
) -> Iterator[tuple[int, np.ndarray]]:
    """The values whose words stand free, each as it is and in their order, however apart."""
    for number in sorted(words, key=lambda n: -sum(map(len, words[n]))):
        parts = words[number]
        if len(parts) < 2:
            continue
        starts = np.flatnonzero(page.first & free)
        spans = [(int(a), int(a) + int(np.argmax(page.last[a:])) + 1) for a in starts]
        spans = [(a, b) for a, b in spans if free[a:b].all()]
        blocks = LCSseq.opcodes(parts, [page.squashed[a:b] for a, b in spans])
        equal = [spans[b.dest_start : b.dest_end] for b in blocks if b.tag == "equal"]
        places = [place for span in chain(*equal) for place in range(*span)]
        if len(places) >= share * sum(map(len, parts)):
            yield number, np.array(places)


def _whole(
    value: str, core: np.ndarray, page: Text, free: np.ndarray, bar: float
) -> np.ndarray | None:
    """A stretch with the rest of the words it begins and ends in, where no other has that."""
    text, first, last = page.squashed, int(core[0]), int(core[-1]) + 1
    start = int(np.flatnonzero(page.first[: first + 1])[-1])
    end = last + int(np.argmax(page.last[last - 1 :]))
    # No further than to what another value has; a currency's letters are no part of a figure.
    start = max([start, *(start + 1 + np.flatnonzero(~free[start:first]))])
    end = min([end, *(last + np.flatnonzero(~free[last:end]))])
    start = first if text[start:first].isalpha() and text[first].isdigit() else start
    for low, high in ((start, end), (first, last)):
        places = np.concatenate([np.arange(low, first), core, np.arange(last, high)])
        shown = "".join(text[index] for index in places)
        cut = text[start:low][-1:] + shown[:1], shown[-1:] + text[high:end][:1]
        is_like = _similarity(value, shown) >= max(bar, least(len(value)))
        if is_like and not any(map(_one_word, cut)):
            return places
    return None


def _one_word(pair: str) -> bool:
    """Whether two characters that follow each other belong to one word or one number."""
    return len(pair) == 2 and (pair.isalpha() or pair.isdigit())
