"""Pair predicted with gold fields, where a model names its fields itself.

FORMCRAFT does not say how it pairs extracted fields, so formlab has several pairings. All but the
oracle pair each field at most once and only where the similarity, in [0, 1], is at least `LEAST`;
the sum of the similarities is the greatest there is.

- ``names``: first fields of equal path (case and white space aside). Of the rest, 3/4 the
  similarity of the labels and 1/4 that of the groups' paths (1 - normalised Levenshtein distance);
  where both have a box, the mean of that and the boxes' intersection over union, 0 on different
  pages. Values, which are what is being judged, are not looked at.
- ``default``: as ``names``; then, of what is left, fields of equal value, if it is the value of one
  gold and one predicted field alone, and no word of the name is that of another field left. A value
  that was read under another name was read: names are judged at L2, as labels of the form's tree.
- ``label``, ``box``: as ``names``, by labels or by boxes alone.
- ``value``: by the similarity of the values, whatever the names.
- ``oracle``: the least error that any pairing gives; see `formlab.scoring._oracle`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.errors import UnknownName
from formlab.scoring._oracle import best_pairs
from formlab.tables import BOX
from formlab.text.normalise import LADDER_STEPS

LEAST = 0.5
RULES = f"match=path,label+box>={LEAST:g}"
# Each pairing as `settings` names it.
PAIRINGS = {
    "names": RULES,
    "default": f"{RULES},else-equal-value",
    "label": f"match=path,label>={LEAST:g}",
    "box": f"match=box>={LEAST:g}",
    "value": f"match=value>={LEAST:g}",
    "oracle": "match=oracle",
}
# A shorter value, or the state of a box, is equal by chance.
_LEAST_VALUE = 3
_LONGEST_VALUE = 2_000
_NOT_WORD = re.compile(r"[\W_]+")
# A label is a few words; comparing more of a hostile one only costs time.
_LONGEST = 200
# Cells of one document's matrix of similarities: 64 MB of float64.
_LARGEST = 8_000_000


@dataclass(frozen=True)
class _Names:
    """The normalised labels, group paths and whole paths of some fields."""

    labels: list[str]
    groups: list[str]
    paths: list[str]

    @classmethod
    def of(cls, paths: list[str]) -> _Names:
        plain = [text.normalise(path[-4 * _LONGEST :], LADDER_STEPS) for path in paths]
        plain = [path.replace(" /", "/").replace("/ ", "/") for path in plain]
        parted = [path.rpartition("/") for path in plain]
        labels = [_bare(label)[:_LONGEST] for _, _, label in parted]
        return cls(labels, [group[-_LONGEST:] for group, _, _ in parted], plain)


def _bare(step: str) -> str:
    """The label of a path's last step, without the number that tells equal ones apart."""
    label, mark, number = step.rpartition("#")
    return label if mark and number.isdecimal() else step


def match(
    gold: pl.DataFrame, pred: pl.DataFrame, *, by: str = "names", least: float = LEAST
) -> pl.DataFrame:
    """Pairs of gold and predicted fields of the same documents, `by` one of `PAIRINGS`.

    `gold` and `pred` are records of fields: doc_id, path, page and the box; for pairings by value
    also value, and of the gold modality, subtype and kind. `least` is the least similarity of a
    pair, in [0, 1].

    The columns are doc_id, path, pred_path and match (the similarity; 1 for equal paths and equal
    values), each path at most once a document; by the oracle, each predicted path once for each
    measure. `UnknownName` if there is no such pairing.

    Examples
    --------
    >>> none = {"page": None, "x0": None, "y0": None, "x1": None, "y1": None}
    >>> gold = pl.DataFrame([{"doc_id": "1", "path": "/Owner/Full name"} | none])
    >>> pred = pl.DataFrame([{"doc_id": "1", "path": "/Owner/Name, full"} | none])
    >>> match(gold, pred, least=0.3).select("path", "pred_path").row(0)
    ('/Owner/Full name', '/Owner/Name, full')
    >>> match(gold, pred, least=0.9).height
    0
    """
    if by not in PAIRINGS:
        raise UnknownName.of("pairing", by, PAIRINGS)
    by_document = {key[0]: group for key, group in pred.group_by("doc_id", maintain_order=True)}
    rows: list[tuple[str, str, str, float]] = []
    for (doc_id,), fields in gold.group_by("doc_id", maintain_order=True):
        if doc_id in by_document:
            other = by_document[doc_id]
            pairs = _pairs(fields, other, least, by)
            ours, theirs = fields["path"], other["path"]
            rows += [(str(doc_id), ours[i], theirs[j], score) for i, j, score in pairs]
    schema = {"doc_id": pl.String, "path": pl.String, "pred_path": pl.String, "match": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _pairs(
    gold: pl.DataFrame, pred: pl.DataFrame, least: float, by: str
) -> list[tuple[int, int, float]]:
    if by == "oracle":
        return [(i, j, 1.0) for i, j in best_pairs(gold, pred)]
    names, others = _Names.of(gold["path"].to_list()), _Names.of(pred["path"].to_list())
    pairs = _same_path(names, others) if by in ("names", "default", "label") else []
    left, rest = _free(pairs, gold.height, pred.height)
    if left and rest:
        # A model in a loop can list a million fields: those after the bound stay spurious.
        rest = rest[: _LARGEST // len(left)]
        if by == "value":
            alike = _valued(gold["value"][left], pred["value"][rest])
        elif by == "box":
            alike = _placed(np.zeros((len(left), len(rest))), gold[left], pred[rest], weight=1.0)
        else:
            alike = _named(names, others, left, rest)
            if by != "label":
                alike = _placed(alike, gold[left], pred[rest])
        # Pairs that would not count must not pull a good pair apart.
        rows, columns = scipy.optimize.linear_sum_assignment(
            np.where(alike >= least, alike, 0.0), maximize=True
        )
        pairs += [
            (left[row], rest[column], float(alike[row, column]))
            for row, column in zip(rows, columns, strict=True)
            if alike[row, column] >= least and alike[row, column] > 0
        ]
    if by == "default":
        pairs += _same_value(gold, pred, pairs)
    return sorted(pairs)


def _free(
    pairs: list[tuple[int, int, float]], ours: int, theirs: int
) -> tuple[list[int], list[int]]:
    golds, preds = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    return [n for n in range(ours) if n not in golds], [n for n in range(theirs) if n not in preds]


def _same_path(names: _Names, others: _Names) -> list[tuple[int, int, float]]:
    free: dict[str, list[int]] = {}
    for index, path in enumerate(others.paths):
        free.setdefault(path, []).append(index)
    return [
        (index, free[path].pop(0), 1.0) for index, path in enumerate(names.paths) if free.get(path)
    ]


def _same_value(
    gold: pl.DataFrame, pred: pl.DataFrame, paired: list[tuple[int, int, float]]
) -> list[tuple[int, int, float]]:
    """Of fields not paired yet, those whose value no other of their side has.

    A value under a name that tells of another gold field is misplaced, not only named otherwise.
    """
    sides = []
    for frame, free in zip((gold, pred), _free(paired, gold.height, pred.height), strict=True):
        values = [text.normalise(value or "", LADDER_STEPS) for value in frame["value"]]
        own: dict[str, list[int]] = {}
        for index in free:
            own.setdefault(values[index], []).append(index)
        sides.append({value: places[0] for value, places in own.items() if len(places) == 1})
    pairs = [
        (index, sides[1][value], 1.0)
        for value, index in sides[0].items()
        if value in sides[1] and len(value) >= _LEAST_VALUE and text.checked(value) is None
    ]
    left, _ = _free(paired, gold.height, pred.height) if pairs else ([], [])
    labels = {index: _words(gold["path"][index].rpartition("/")[2]) for index in left}

    def share(index: int, name: set[str]) -> float:
        """The share of a gold label's words that stand in a predicted name."""
        return len(labels[index] & name) / max(len(labels[index]), 1)

    names = [_words(pred["path"][other]) for _, other, _ in pairs]
    return [
        pair
        for pair, name in zip(pairs, names, strict=True)
        if share(pair[0], name) >= max(share(index, name) for index in left)
    ]


def _words(name: str) -> set[str]:
    plain = text.normalise(name[-4 * _LONGEST :], LADDER_STEPS)
    return set(_NOT_WORD.split(plain)) - {""}


def _valued(gold: pl.Series, pred: pl.Series) -> np.ndarray:
    sides = [
        [text.normalise((value or "")[:_LONGEST_VALUE], LADDER_STEPS) for value in side]
        for side in (gold, pred)
    ]
    alike = process.cdist(
        *sides, scorer=Levenshtein.normalized_similarity, dtype=np.float64, workers=1
    )
    # Two fields left empty are no evidence of being the same field.
    alike[[not value for value in sides[0]]] = 0.0
    return alike


def _named(names: _Names, others: _Names, left: list[int], rest: list[int]) -> np.ndarray:
    def alike(ours: list[str], theirs: list[str]) -> np.ndarray:
        return process.cdist(
            [ours[index] for index in left],
            [theirs[index] for index in rest],
            scorer=Levenshtein.normalized_similarity,
            dtype=np.float64,
            workers=1,
        )

    labels = alike(names.labels, others.labels)
    return 0.75 * labels + 0.25 * alike(names.groups, others.groups)


def _placed(
    alike: np.ndarray, gold: pl.DataFrame, pred: pl.DataFrame, *, weight: float = 0.5
) -> np.ndarray:
    """The similarities, with the boxes' overlap where both sides have one."""
    ours = gold.select(pl.col(BOX).cast(pl.Float64)).to_numpy()[:, None, :]
    theirs = pred.select(pl.col(BOX).cast(pl.Float64)).to_numpy()[None, :, :]
    known = ~(np.isnan(ours).any(-1) | np.isnan(theirs).any(-1))
    if not known.any():
        return alike
    sides = np.minimum(ours[..., 2:], theirs[..., 2:]) - np.maximum(ours[..., :2], theirs[..., :2])
    inside = np.clip(sides, 0, None).prod(-1)
    areas = [np.clip(box[..., 2:] - box[..., :2], 0, None).prod(-1) for box in (ours, theirs)]
    union = areas[0] + areas[1] - inside
    overlap = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    pages = [frame["page"].cast(pl.Int64).fill_null(1).to_numpy() for frame in (gold, pred)]
    overlap = np.where(pages[0][:, None] == pages[1][None, :], overlap, 0.0)
    return np.where(known, (1 - weight) * alike + weight * overlap, alike)
