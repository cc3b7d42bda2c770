"""What a metric is, and tallies: what one unit adds to a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy

from formlab import text
from formlab.errors import DataBroken, UnknownName
from formlab.tables import LADDER, LEVELS, TASKS

OVER_ENTITIES = "mean over entities"
VIEWS = ("text", "markup", *LADDER, "trees", "records", "counts")


def as_many(golds: Sequence[object], preds: Sequence[object]) -> None:
    """Refuse sides of different length."""
    if len(golds) != len(preds):
        raise ValueError(f"{len(golds)} gold and {len(preds)} predicted texts: must be as many")


def ratio(tallies: np.ndarray) -> np.ndarray:
    """First part over second, shape (…), of tallies of shape (…, 2); NaN where the second is 0.

    >>> ratio(np.array([[1.0, 4.0], [0.0, 0.0]])).tolist()
    [0.25, nan]
    """
    hits, total = tallies[..., 0], tallies[..., 1]
    return np.divide(hits, total, out=np.full(np.shape(hits), np.nan), where=total != 0)


def shares(values: np.ndarray) -> np.ndarray:
    """Each value out of 1, and 0 of 0 (undefined) where it is NaN, shape (n, 2)."""
    return np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=1)


@dataclass(frozen=True)
class Tally:
    """What one unit adds to a score: its parts, and how summed parts become the score.

    Add tallies to score many units together (micro); that is the only way to pool them.
    `unit_score` is that of one unit alone, where it differs from a sum's: BLEU of one sentence.

    >>> one, two = Tally((1, 4)), Tally((1, 2))
    >>> one.value, (one + two).value
    (0.25, 0.3333333333333333)
    """

    parts: tuple[float, ...]
    score: Callable[[np.ndarray], np.ndarray] = ratio
    unit_score: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def value(self) -> float:
        """The score of this tally alone; NaN if undefined."""
        return float((self.unit_score or self.score)(np.asarray(self.parts, dtype=float)))

    def __add__(self, other: Tally) -> Tally:
        parts = tuple(a + b for a, b in zip(self.parts, other.parts, strict=True))
        return Tally(parts, self.score)


class Need(NamedTuple):
    """What a metric needs of a unit's gold; without it the unit is undefined and in no sum."""

    rule: str  # As it stands in the settings.
    units: tuple[str, ...]
    least: int = 1  # What the last part of a unit's tallies must be.
    published: bool = True  # Whether mode ``official`` has the rule too.


# What was given, whether the gold asks for it or not.
SOME_CLAIM = Need("claims=not empty", ("field",))
# A shorter field has no 4-gram: read perfectly, its BLEU of a corpus would be 0.
_FOUR_WORDS = Need("gold>=4 words", ("field",), least=4)
# By the names that `metrics.toml` has. An error rate is undefined for an empty gold text, where
# jiwer gives the number of insertions: what was read there is counted by `spurious_rate`.
NEEDS = {
    "claim": SOME_CLAIM,
    "gold": Need("gold=not empty", ("page", "field")),
    "four words": _FOUR_WORDS,
    # Of exact text BLEU is the published one, with short descriptions too.
    "four words, fixed alone": _FOUR_WORDS._replace(published=False),
}


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One entry of the registry.

    `tallies` takes n gold and n predicted strings and returns a float64 array of shape (n, k);
    `score` takes an array of shape (…, k) of (summed) tallies and returns an array of shape (…).
    `published_score`, where given, is that of the published evaluator (mode ``official``), and
    `unit_score`, where given, does so for tallies of one unit each, which score differently.
    `view` is what the metric reads of a case: its ``text``, the ``markup`` of a page as it is
    written, a boolean column (`tallies` then takes n booleans), or ``counts`` that a scorer makes,
    of which some have no `tallies` (plug-ins: `formlab.scoring.tasks.documents`); `units` are the
    levels it is taken at (`tables.LEVELS`) and `need` is what their units must have. It is scored
    wherever cases are of one of its `tasks`. `average` says what a sum of its tallies scores: all
    units ``pooled``, or a mean over fields, forms or entities.
    """

    name: str
    tallies: Callable[..., np.ndarray] | None = None
    title: str = ""
    direction: Literal["up", "down"] = "up"
    low: float = 0.0
    high: float | None = 1.0
    unit: str = ""
    source: str = ""
    view: str = "text"
    score: Callable[[np.ndarray], np.ndarray] = ratio
    unit_score: Callable[[np.ndarray], np.ndarray] | None = None
    published_score: Callable[[np.ndarray], np.ndarray] | None = None
    units: tuple[str, ...] = ("page", "field")
    tasks: tuple[str, ...] = ("text",)
    need: Need | None = None
    average: str = "pooled"

    def __post_init__(self) -> None:
        for field in ("tasks", "units"):
            if isinstance(word := getattr(self, field), str):
                object.__setattr__(self, field, (word,))
        declared = (("task", self.tasks, TASKS), ("level", self.units, LEVELS))
        for noun, names, known in (*declared, ("view", (self.view,), VIEWS)):
            if unknown := [name for name in names if name not in known]:
                raise UnknownName.of(f"{noun} of metric {self.name}", unknown[0], known)
        if not self.title:
            object.__setattr__(self, "title", self.name.replace("_", " "))

    def count(self, *columns: Any) -> np.ndarray:
        """The `tallies` of what the metric reads; whatever goes wrong there names the metric."""
        try:
            return np.asarray(self.tallies(*columns), dtype=float)
        except Exception as error:  # A plug-in's function may raise anything.
            what = f"metric {self.name!r} failed: {type(error).__name__}: {error}"
            raise DataBroken(what, remedy="mend the metric's function") from error

    def needs(self, unit: str, mode: str | None = None) -> Need | None:
        """What the metric needs of a unit of this kind in a mode; None if nothing."""
        if self.need is None or unit not in self.need.units:
            return None
        return self.need if self.need.published or mode != "official" else None

    def score_in(self, mode: str | None) -> Callable[[np.ndarray], np.ndarray]:
        """The score as a mode defines it."""
        return (self.published_score if mode == "official" else None) or self.score

    def values(self, tallies: np.ndarray, mode: str | None = None) -> np.ndarray:
        """The score of each unit alone, shape (n,), from tallies of shape (n, k)."""
        return (self.unit_score or self.score_in(mode))(tallies)

    def __call__(self, gold: str, pred: str) -> Tally:
        """The tally of one pair of texts; a TypeError for a metric that only a scorer can count."""
        if self.tallies is None:
            raise TypeError(f"{self.name} is counted by a scorer, from more than two texts")
        pair = ([gold], [pred])
        if self.view in LADDER:
            pair = ([getattr(text.ladder(gold, pred), self.view)],)
        return Tally(tuple(self.tallies(*pair)[0].tolist()), self.score, self.unit_score)


def f1_tallies(name: str, right: np.ndarray, predicted: np.ndarray, gold: np.ndarray) -> dict:
    """Tallies of shape (n, 2) of precision, recall and F1 from the counts of n units."""
    pairs = {"precision": (right, predicted), "recall": (right, gold)}
    pairs["f1"] = (2 * right, predicted + gold)
    return {f"{name}_{metric}": np.stack(pair, axis=1) for metric, pair in pairs.items()}


def assign(gain: np.ndarray, *, least: float | None = 0.0) -> list[tuple[int, int]]:
    """Rows and columns paired one to one such that the pairs gain most in all, by row."""
    if not gain.size:
        return []
    # What gains less than `least`, or nothing, is no pair and pulls none apart; None asks for all.
    if least is not None:
        gain = np.where(gain >= least, gain, 0.0)
    rows, columns = scipy.optimize.linear_sum_assignment(gain, maximize=True)
    if least is not None:
        is_pair = gain[rows, columns] > 0
        rows, columns = rows[is_pair], columns[is_pair]
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
