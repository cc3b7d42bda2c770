"""Which predicted field is which gold field, where a model names its fields itself.

Fields of equal path (case and white space aside) belong together. Of the rest, pairs are chosen
so that the sum of their similarities is greatest, each field at most once; a pair below `LEAST` is
no pair. Similarity is in [0, 1] and never looks at the values, which are what is being judged:

- by name: 3/4 the similarity of the labels and 1/4 that of the groups' paths
  (1 - normalised Levenshtein distance);
- where both have a box: the mean of that and the boxes' intersection over union, 0 on
  different pages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from scipy.optimize import linear_sum_assignment

from formlab import text
from formlab.tables import BOX
from formlab.text.normalise import LADDER_STEPS

LEAST = 0.5
RULES = f"match=path,label+box>={LEAST:g}"
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


def match(gold: pl.DataFrame, pred: pl.DataFrame, *, least: float = LEAST) -> pl.DataFrame:
    """Pairs of gold and predicted fields of the same documents.

    Parameters
    ----------
    gold, pred
        Records of fields: doc_id, path, page and the box.
    least
        The least similarity of a pair, in [0, 1].

    Returns
    -------
    polars.DataFrame
        doc_id, path, pred_path and match (the similarity; 1 for equal paths), each path at most
        once a document.

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
    given = {key[0]: group for key, group in pred.group_by("doc_id", maintain_order=True)}
    rows: list[tuple[str, str, str, float]] = []
    for (doc_id,), fields in gold.group_by("doc_id", maintain_order=True):
        if doc_id in given:
            rows += [(str(doc_id), *pair) for pair in _pairs(fields, given[doc_id], least)]
    schema = {"doc_id": pl.String, "path": pl.String, "pred_path": pl.String, "match": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _pairs(gold: pl.DataFrame, pred: pl.DataFrame, least: float) -> list[tuple[str, str, float]]:
    ours, theirs = gold["path"].to_list(), pred["path"].to_list()
    names, others = _Names.of(ours), _Names.of(theirs)
    found: list[tuple[int, int, float]] = []
    free: dict[str, list[int]] = {}
    for place, path in enumerate(others.paths):
        free.setdefault(path, []).append(place)
    left = []
    for place, path in enumerate(names.paths):
        if free.get(path):
            found.append((place, free[path].pop(0), 1.0))
        else:
            left.append(place)
    rest = sorted(place for places in free.values() for place in places)
    if left and rest:
        # A model in a loop can list a million fields: those after the bound stay spurious.
        rest = rest[: _LARGEST // len(left)]
        alike = _named(names, others, left, rest)
        alike = _placed(alike, gold[left], pred[rest])
        # Pairs that would not count must not pull a good pair apart.
        rows, columns = linear_sum_assignment(np.where(alike >= least, alike, 0.0), maximize=True)
        found += [
            (left[row], rest[column], float(alike[row, column]))
            for row, column in zip(rows, columns, strict=True)
            if alike[row, column] >= least
        ]
    return [(ours[one], theirs[other], score) for one, other, score in sorted(found)]


def _named(names: _Names, others: _Names, left: list[int], rest: list[int]) -> np.ndarray:
    def alike(ours: list[str], theirs: list[str]) -> np.ndarray:
        return process.cdist(
            [ours[place] for place in left],
            [theirs[place] for place in rest],
            scorer=Levenshtein.normalized_similarity,
            dtype=np.float64,
            workers=1,
        )

    labels = alike(names.labels, others.labels)
    return 0.75 * labels + 0.25 * alike(names.groups, others.groups)


def _placed(alike: np.ndarray, gold: pl.DataFrame, pred: pl.DataFrame) -> np.ndarray:
    """The similarities, with the boxes' overlap where both sides have one."""
    one = gold.select(pl.col(BOX).cast(pl.Float64)).to_numpy()[:, None, :]
    other = pred.select(pl.col(BOX).cast(pl.Float64)).to_numpy()[None, :, :]
    known = ~(np.isnan(one).any(-1) | np.isnan(other).any(-1))
    if not known.any():
        return alike
    sides = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    inside = np.clip(sides, 0, None).prod(-1)
    areas = [np.clip(box[..., 2:] - box[..., :2], 0, None).prod(-1) for box in (one, other)]
    union = areas[0] + areas[1] - inside
    overlap = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    pages = [frame["page"].cast(pl.Int64).fill_null(1).to_numpy() for frame in (gold, pred)]
    overlap = np.where(pages[0][:, None] == pages[1][None, :], overlap, 0.0)
    return np.where(known, (alike + overlap) / 2, alike)
