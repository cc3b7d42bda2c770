"""Pair predicted with gold fields, where a model names its fields itself.

FORMCRAFT does not say how it pairs extracted fields. Here each is paired at most once: first those
of equal path (case and white space aside). Of the rest those that are most alike in all, from the
similarity `LEAST` on: 3/4 the similarity of the labels and 1/4 that of the groups' paths (1 -
normalised Levenshtein distance); where both have a box, the mean of that and the boxes'
intersection over union, 0 on different pages. At last, of what is left, fields of equal value, if
no other of their side has it, and no word of the name is that of another field left: names are
judged at L2.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.metrics.assignment import assign
from formlab.tables import BOX
from formlab.text.normalise import LADDER_STEPS

LEAST = 0.5
RULES = f"match=path,label+box>={LEAST:g},else-equal-value"
# A shorter value, or the state of a box, is equal by chance.
_LEAST_VALUE = 3
# A label is a few words; comparing more of a hostile one only costs time.
_LONGEST_LABEL, _TAIL = 200, 800
# Cells of one document's matrix of similarities (64 MB): what a model in a loop lists after these
# is paired by its path alone.
_LARGEST = 8_000_000
_NOT_WORD, _NUMBER = re.compile(r"[\W_]+"), re.compile(r"#\d+\Z")
# The place of a gold and of a predicted field, and their similarity.
Pair = tuple[int, int, float]


def match(gold: pl.DataFrame, pred: pl.DataFrame, *, least: float = LEAST) -> pl.DataFrame:
    """Pairs of gold and predicted fields of the same documents.

    `gold` and `pred` are records of fields: doc_id, path, value, page and the box. `least` is the
    least similarity of a pair, in [0, 1]. The columns are doc_id, path, pred_path and match (the
    similarity; 1 for equal paths and equal values), each path at most once a document.

    Examples
    --------
    >>> none = {"value": "", "page": None, "x0": None, "y0": None, "x1": None, "y1": None}
    >>> gold = pl.DataFrame([{"doc_id": "1", "path": "/Owner/Full name"} | none])
    >>> pred = pl.DataFrame([{"doc_id": "1", "path": "/Owner/Name, full"} | none])
    >>> match(gold, pred, least=0.3).select("path", "pred_path").row(0)
    ('/Owner/Full name', '/Owner/Name, full')
    >>> match(gold, pred, least=0.9).height
    0
    """
    claims = pred.partition_by("doc_id", as_dict=True, maintain_order=True)
    rows: list[tuple[str, str, str, float]] = []
    for key, fields in gold.group_by("doc_id", maintain_order=True):
        if (claimed := claims.get(key)) is not None:
            paths = fields["path"], claimed["path"]
            pairs = _same_path(fields, claimed)
            pairs += _most_alike(fields, claimed, pairs, least)
            pairs += _same_value(fields, claimed, pairs)
            rows += [
                (str(key[0]), paths[0][i], paths[1][j], alike) for i, j, alike in sorted(pairs)
            ]
    schema = {"doc_id": pl.String, "path": pl.String, "pred_path": pl.String, "match": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _plain(value: str) -> str:
    return text.normalise(value, LADDER_STEPS)


def _paths(fields: pl.DataFrame) -> list[str]:
    plain = (_plain(path[-_TAIL:]) for path in fields["path"])
    return [path.replace(" /", "/").replace("/ ", "/") for path in plain]


def _same_path(gold: pl.DataFrame, pred: pl.DataFrame) -> list[Pair]:
    free: dict[str, list[int]] = defaultdict(list)
    for place, path in enumerate(_paths(pred)):
        free[path].append(place)
    places = ((place, free[path]) for place, path in enumerate(_paths(gold)) if path in free)
    return [(place, others.pop(0), 1.0) for place, others in places if others]


def _free(pairs: list[Pair], *frames: pl.DataFrame) -> list[list[int]]:
    """The places of the fields of either side that are in none of the pairs."""
    taken = ({pair[side] for pair in pairs} for side in (0, 1))
    return [
        [n for n in range(frame.height) if n not in of]
        for frame, of in zip(frames, taken, strict=True)
    ]


def _most_alike(
    gold: pl.DataFrame, pred: pl.DataFrame, pairs: list[Pair], least: float
) -> list[Pair]:
    """Of fields not paired yet, those whose labels, groups and boxes are most alike in all."""
    places = _free(pairs, gold, pred)
    if not all(places):
        return []
    places[1] = places[1][: _LARGEST // len(places[0])]
    frames = [frame[of] for frame, of in zip((gold, pred), places, strict=True)]
    paths = [[path.rpartition("/") for path in _paths(frame)] for frame in frames]
    # A number behind a label tells equal ones apart.
    labels = ([_NUMBER.sub("", path[2])[:_LONGEST_LABEL] for path in side] for side in paths)
    groups = ([path[0][-_LONGEST_LABEL:] for path in side] for side in paths)
    alike = _with_boxes(0.75 * _alike(*labels) + 0.25 * _alike(*groups), *frames)
    found = assign(alike, least=least)
    return [(places[0][row], places[1][column], float(alike[row, column])) for row, column in found]


def _same_value(gold: pl.DataFrame, pred: pl.DataFrame, pairs: list[Pair]) -> list[Pair]:
    """Of fields not paired yet, those whose value no other of their side has."""
    sides, free = [], _free(pairs, gold, pred)
    for frame, places in zip((gold, pred), free, strict=True):
        values = [_plain(frame["value"][n] or "") for n in places]
        counts = Counter(values)
        sides.append({v: n for v, n in zip(values, places, strict=True) if counts[v] == 1})
    labels = {n: _words(gold["path"][n].rpartition("/")[2]) for n in free[0]}
    found = []
    for value, place in sides[0].items():
        if value in sides[1] and len(value) >= _LEAST_VALUE and text.checked(value) is None:
            name = _words(pred["path"][sides[1][value]])
            # The share of a gold label's words that stand in the predicted name.
            shares = {n: len(label & name) / max(len(label), 1) for n, label in labels.items()}
            if shares[place] >= max(shares.values()):
                found.append((place, sides[1][value], 1.0))
    return found


def _words(name: str) -> set[str]:
    return set(_NOT_WORD.split(_plain(name[-_TAIL:]))) - {""}


def _alike(golds: list[str], preds: list[str]) -> np.ndarray:
    scorer = Levenshtein.normalized_similarity
    return process.cdist(golds, preds, scorer=scorer, dtype=np.float64, workers=1)


def _with_boxes(alike: np.ndarray, gold: pl.DataFrame, pred: pl.DataFrame) -> np.ndarray:
    """The similarities; where both sides have a box, the mean of these and the boxes' overlap."""
    boxes = [frame.select(pl.col(BOX).cast(pl.Float64)).to_numpy() for frame in (gold, pred)]
    if any(np.isnan(of).any(axis=1).all() for of in boxes):
        return alike
    first, second = boxes[0][:, None], boxes[1][None]
    low, high = np.maximum(first, second)[..., :2], np.minimum(first, second)[..., 2:]
    inside = np.clip(high - low, 0, None).prod(-1)
    areas = [np.clip(box[..., 2:] - box[..., :2], 0, None).prod(-1) for box in (first, second)]
    union = areas[0] + areas[1] - inside
    overlap = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    pages = (frame["page"].cast(pl.Int64).fill_null(1).to_numpy() for frame in (gold, pred))
    overlap = np.where(np.equal.outer(*pages), overlap, 0.0)
    return np.where(np.isnan(inside), alike, 0.5 * alike + 0.5 * overlap)
