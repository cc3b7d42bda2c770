"""The system `trained`: a linear model of words, learnt from a split's train documents.

A logistic regression tells from the shape of a word, its neighbours, the cells to its left and
above it, and its place on the page which entity it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, groupby, starmap
from typing import Any

import numpy as np

from formlab.benchmarks.vrdu import UNREPEATED, Schema
from formlab.systems import System
from formlab_baselines.entity_spans import Candidates, Example, GoldSpan, fits, start
from formlab_baselines.words import Cell, DocumentWords, Span, mask

DEFAULTS = {"examples": 0, "seed": 0, "strength": 10.0, "least": 0.2}
_OTHER = ""
# Where only values are known, the model before chooses among the places of each.
_ROUNDS = 3
# By cell and entity the probability of each of the cell's words.
Probabilities = dict[Cell, dict[str, np.ndarray]]


def _learn(
    examples: list[Example], schema: Schema, settings: dict[str, Any]
) -> Callable[[DocumentWords], Candidates]:
    from threadpoolctl import threadpool_limits

    # More threads than one add up in another order, and not the same numbers.
    with threadpool_limits(1):
        model = _WordModel(settings["strength"]).fit(examples)

    def candidates(document: DocumentWords) -> Candidates:
        found: Candidates = {name: [] for name in schema.matches}
        for cell, shares in model.probabilities(document).items():
            for name in found.keys() & shares.keys():
                found[name] += _spans(cell, name, shares, schema, settings["least"])
        return found

    return candidates


class _WordModel:
    """Which entity each word of a document belongs to."""

    def __init__(self, strength: float) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression

        self._vectors = CountVectorizer(analyzer=list, binary=True)
        self._model = LogisticRegression(C=strength, max_iter=1000)

    def fit(self, examples: list[Example]) -> _WordModel:
        described = chain.from_iterable(_described(document) for document, _ in examples)
        features = self._vectors.fit_transform(described)
        chosen = [spans for _, spans in examples]
        known = all(span.sure for spans in chosen for span in spans)
        for left in reversed(range(1 if known else _ROUNDS)):
            marked = zip((document for document, _ in examples), chosen, strict=True)
            self._model.fit(features, [*chain.from_iterable(starmap(_labels, marked))])
            if left:
                chosen = [_surest(spans, self.probabilities(words)) for words, spans in examples]
        return self

    def probabilities(self, document: DocumentWords) -> Probabilities:
        if not document.cells:
            return {}
        shares = self._model.predict_proba(self._vectors.transform(_described(document)))
        ends = np.cumsum([len(cell.words) for cell in document.cells])
        classes = self._model.classes_.tolist()
        return {
            cell: dict(zip(classes, table.T, strict=True))
            for cell, table in zip(document.cells, np.split(shares, ends[:-1]), strict=True)
        }


def _spans(
    cell: Cell, name: str, shares: dict[str, np.ndarray], schema: Schema, least: float
) -> Iterator[tuple[Span, float]]:
    """Consecutive words that are rather of this entity than of another, with their mean share."""
    once = schema.patterns.get(name) == UNREPEATED
    rivals = [p for other, p in shares.items() if other != name and not (once and other == _OTHER)]
    likely = (shares[name] >= np.max(rivals, axis=0, initial=0.0)) & (shares[name] >= least)
    for is_likely, group in groupby(range(len(likely)), key=likely.__getitem__):
        places = list(group)
        span = Span(cell, places[0], places[-1] + 1)
        if is_likely and fits(name, span.run.text, schema):
            yield span, float(shares[name][places].mean())


def _labels(document: DocumentWords, spans: list[GoldSpan]) -> list[str]:
    labels = {cell: [_OTHER] * len(cell.words) for cell in document.cells}
    # Of two entities at one place the first counts.
    for name, _, span, _ in reversed(spans):
        labels[span.cell][span.start : span.stop] = [name] * (span.stop - span.start)
    return [label for cell in document.cells for label in labels[cell]]


def _surest(spans: list[GoldSpan], probabilities: Probabilities) -> list[GoldSpan]:
    """The places that the gold gives, and of each other value the likeliest."""
    likeliest: dict[tuple[str, str], tuple[float, GoldSpan]] = {}
    for gold in spans:
        shares = probabilities[gold.span.cell].get(gold.name, np.zeros(len(gold.span.cell.words)))
        share = float(shares[gold.span.start : gold.span.stop].mean())
        if not gold.sure and share > likeliest.get((gold.name, gold.item), (-1.0,))[0]:
            likeliest[gold.name, gold.item] = (share, gold)
    return [gold for gold in spans if gold.sure] + [gold for _, gold in likeliest.values()]


def _described(document: DocumentWords) -> Iterator[list[str]]:
    """What the model knows of each word."""
    for cell in document.cells:
        near = {"left": cell.left, "above": cell.above, "line": cell.first, "column": cell.head}
        near["two above"] = cell.above and cell.above.above
        masks = {name: other.mask if other else "" for name, other in near.items()}
        around = [f"{name}={text}" for name, text in masks.items()]
        around += [f"in {n}={word}" for n in ("left", "above") for word in masks[n].split()]
        around += [f"page={min(cell.page, 3)}", f"words={min(len(cell.words), 6)}"]
        words = ["", "", *(mask(word.text) for word in cell.words), "", ""]
        for place, word in enumerate(cell.words):
            second, first, own, after = words[place : place + 4]
            shape = re.sub(r"0+", "0", re.sub(r"[^\W\d_]+", "a", own))
            yield [
                *around,
                *(f"word={own}", f"shape={shape}", f"before={first}", f"two before={second}"),
                *(f"after={after}", f"{shape} after {first}", f"place={min(place, 4)}"),
                *(f"{shape}, {name}={masks[name]}" for name in ("left", "above", "column")),
                *(f"x={int(word.x0 * 12)}", f"y={int(word.y0 * 12)}"),
                f"case={word.text[:1].isupper()}{word.text.isupper()}",
            ]


SYSTEM = System(
    name="trained",
    title="baseline: a linear model of words, learnt from the split's train documents",
    start=partial(start, learn=_learn),
    defaults=DEFAULTS,
    versions=("scikit-learn", "pypdfium2"),
    extra="train",
    learns=True,
)
