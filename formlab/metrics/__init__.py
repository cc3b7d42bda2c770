"""The registry of metrics, and what a metric is.

A metric turns gold and prediction into tallies, what each unit adds to a score; summed tallies give
the score of many units. Each is declared in `metrics.toml`; functions stand in its family's module.

>>> METRICS["cer"]("abc", "abd").parts
(1.0, 3.0)
>>> METRICS["cer"].tallies(["abc", "x"], ["abd", ""]).tolist()
[[1.0, 3.0], [1.0, 1.0]]
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy

from formlab.errors import DataBroken, UnknownName
from formlab.registry import Registry
from formlab.tables import LADDER, LEVELS, TASKS
from formlab.text import ladder

_TABLE = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text("utf-8"))
# What `metrics.toml` says of each metric; one that is `like` another shares the rest with it.
DECLARED = {name: _TABLE.get(entry.get("like"), {}) | entry for name, entry in _TABLE.items()}
# The column `average`: the score of the sums over all documents, or the mean of documents' scores.
POOLED, MACRO = "pooled", "macro"
OVER_ENTITIES = "mean over entities"
VIEWS = ("text", "markup", *LADDER, "trees", "records", "counts")
__all__ = ["METRICS", "Metric", "Tally", "get", "ratio", "title"]


def ratio(tallies: np.ndarray) -> np.ndarray:
    """First part over second, shape (…), of tallies of shape (…, 2); NaN where the second is 0.

    >>> ratio(np.array([[1.0, 4.0], [0.0, 0.0]])).tolist()
    [0.25, nan]
    """
    hits, total = tallies[..., 0], tallies[..., 1]
    return np.divide(hits, total, out=np.full(np.shape(hits), np.nan), where=total != 0)


def shares(values: np.ndarray) -> np.ndarray:
    """Each value out of 1, and 0 of 0 (undefined) where it is NaN, shape (…, 2)."""
    return np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=-1)


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
        return Tally(tuple(map(sum, zip(self.parts, other.parts, strict=True))), self.score)


class Need(NamedTuple):
    """What a metric needs of a unit's gold; without it the unit is undefined and in no sum."""

    rule: str  # As it stands in the settings.
    units: Sequence[str]
    least: int = 1  # What the last part of a unit's tallies must be.
    published: bool = True  # Whether mode ``official`` has the rule too.


# What was given, whether the gold asks for it or not.
SOME_CLAIM = Need("claims=not empty", ["field"])


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
            names = getattr(self, field)
            object.__setattr__(self, field, (names,) if isinstance(names, str) else tuple(names))
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
        need = self.need
        is_held = need and unit in need.units and (need.published or mode != "official")
        return need if is_held else None

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
        is_rung = self.view in LADDER
        columns = [[getattr(ladder(gold, pred), self.view)]] if is_rung else [[gold], [pred]]
        return Tally(tuple(self.tallies(*columns)[0].tolist()), self.score, self.unit_score)


def f1_tallies(name: str, right: np.ndarray, predicted: np.ndarray, gold: np.ndarray) -> dict:
    """Tallies of shape (n, 2) of precision, recall and F1 from the counts of n units."""
    pairs = {"precision": (right, predicted), "recall": (right, gold)}
    pairs["f1"] = (2 * right, predicted + gold)
    return {f"{name}_{metric}": np.stack(pair, axis=1) for metric, pair in pairs.items()}


def assign(gain: np.ndarray, *, least: float | None = 0.0) -> list[tuple[int, int]]:
    """Rows and columns paired one to one such that the pairs gain most in all, by row."""
    # What gains less than `least`, or nothing, is no pair and pulls none apart; None asks for all.
    if least is not None:
        gain = np.where(gain >= least, gain, 0.0)
    sides = scipy.optimize.linear_sum_assignment(gain, maximize=True)
    pairs = zip(*(side.tolist() for side in sides), strict=True)
    return [pair for pair in pairs if least is None or gain[pair] > 0]


class _Builtin(dict[str, Metric]):
    """formlab's own metrics by name; its family is imported when a metric is asked for."""

    def __missing__(self, name: str) -> Metric:
        entry = {k: value for k, value in DECLARED[name].items() if k not in ("family", "like")}
        for key in entry.keys() & {"tallies", "score", "unit_score", "published_score"}:
            function = resolve_name(f"{__name__}.{entry[key]}")
            entry[key] = function[name] if isinstance(function, dict) else function
        if "tallies" in entry:
            entry["tallies"] = partial(_tallies, name, entry["tallies"])
        if "need" in entry:
            entry["need"] = Need(**entry["need"])
        if entry.get("high") == np.inf:
            entry["high"] = None
        return self.setdefault(name, Metric(name=name, **entry))


def _tallies(name: str, function: Callable[..., Any], *columns: Any) -> np.ndarray:
    """The tallies of one metric by a function of that metric alone or of several by name."""
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        raise ValueError(f"{sizes[0]} gold and {sizes[1]} predicted texts: must be as many")
    counts = function(*columns)
    return counts[name] if isinstance(counts, dict) else counts


BUILTIN = _Builtin()
METRICS = Registry("metrics", dict.fromkeys(DECLARED, "formlab.metrics:BUILTIN"))


def __getattr__(name: str) -> Any:
    if name in METRICS.builtin:
        return METRICS[name]
    raise AttributeError(f"module 'formlab.metrics' has no attribute {name!r}")


def get(name: str) -> Metric:
    """The metric registered as `name`; else `UnknownName`.

    >>> get("cer").direction
    'down'
    """
    return METRICS.find(name)


def of(task: str, unit: str, *views: str) -> list[Metric]:
    """The metrics that declare a task, are taken of such units and read one of `views`."""
    return [
        metric
        for metric in METRICS.values()
        if task in metric.tasks and unit in metric.units and metric.view in views
    ]


def title(name: str, average: str = POOLED) -> str:
    """What to call a metric, or its mean over documents.

    >>> title("bleu", MACRO)
    'BLEU, mean over documents'
    """
    return get(name).title + (", mean over documents" if average == MACRO else "")
