"""Pair predicted with gold fields, where a model names its fields itself.

FORMCRAFT does not say how it pairs extracted fields, so formlab has several pairings. All but the
oracle pair each field at most once and only where the similarity, in [0, 1], is at least `LEAST`;
the sum of the similarities is the greatest there is.

- ``names``: first fields of equal path (case and white space aside). Of the rest, 3/4 the
  similarity of the labels and 1/4 that of the groups' paths (1 - normalised Levenshtein distance);
  where both have a box, the mean of that and the boxes' intersection over union, 0 on different
  pages. Values, which are what is being judged, are not looked at.
- ``default``: as ``names``; then, of what is left, fields of equal value, if no other of their side
  has it, and no word of the name is that of another field left: names are judged at L2.
- ``label``, ``box``: as ``names``, by labels or boxes alone. ``value``: by values alone.
- ``oracle``: the least error of any pairing, for each family of modalities by its own measure:
  written fields with the fewest edits, marks with the most right ones (then the fewest wrong),
  cross-modal fields with the most that are wholly right.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from formlab import text
from formlab.errors import UnknownName
from formlab.metrics.assignment import assign
from formlab.metrics.marking import all_constituents, mark_counts, marks, predicted_marks
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
# A label is a few words; comparing more of a hostile one only costs time.
_LONGEST_LABEL, _TAIL, _LONGEST_VALUE = 200, 800, 2_000
# Cells of one document's matrix of similarities (64 MB), and claims that the oracle looks at: what
# a model in a loop lists after these is paired with nothing.
_LARGEST, _MOST = 8_000_000, 2_000
_NOT_WORD, _NUMBER = re.compile(r"[\W_]+"), re.compile(r"#\d+\Z")
# The place of a gold and of a predicted field, and their similarity.
Pair = tuple[int, int, float]


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
    claims = pred.partition_by("doc_id", as_dict=True, maintain_order=True)
    rows: list[tuple[str, str, str, float]] = []
    for key, fields in gold.group_by("doc_id", maintain_order=True):
        if (claimed := claims.get(key)) is not None:
            paths = fields["path"], claimed["path"]
            pairs = sorted(_pairs(fields, claimed, least, by))
            rows += [(str(key[0]), paths[0][i], paths[1][j], score) for i, j, score in pairs]
    schema = {"doc_id": pl.String, "path": pl.String, "pred_path": pl.String, "match": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _pairs(gold: pl.DataFrame, pred: pl.DataFrame, least: float, by: str) -> list[Pair]:
    if by == "oracle":
        return _of_oracle(gold, pred)
    plain = [[_plain(path[-_TAIL:]) for path in side["path"]] for side in (gold, pred)]
    paths = [[path.replace(" /", "/").replace("/ ", "/") for path in side] for side in plain]
    pairs: list[Pair] = []
    if by in ("names", "default", "label"):
        free: dict[str, list[int]] = defaultdict(list)
        for place, path in enumerate(paths[1]):
            free[path].append(place)
        same = ((place, free[path]) for place, path in enumerate(paths[0]) if path in free)
        pairs = [(place, others.pop(0), 1.0) for place, others in same if others]
    left, rest = _free(pairs, gold.height, pred.height)
    if left and rest:
        rest = rest[: _LARGEST // len(left)]
        if by == "value":
            sides = (gold["value"][left], pred["value"][rest])
            sides = [[_plain((v or "")[:_LONGEST_VALUE]) for v in side] for side in sides]
            # Two fields left empty are no evidence of being the same field.
            alike = _alike(*sides) * np.array([[bool(value)] for value in sides[0]])
        elif by == "box":
            alike = _with_boxes(np.zeros((len(left), len(rest))), gold[left], pred[rest], 1.0)
        else:
            rest_of = [paths[0][n] for n in left], [paths[1][n] for n in rest]
            sides = [[path.rpartition("/") for path in side] for side in rest_of]
            # A number behind a label tells equal ones apart.
            labels = ([_NUMBER.sub("", x[2])[:_LONGEST_LABEL] for x in side] for side in sides)
            groups = ([x[0][-_LONGEST_LABEL:] for x in side] for side in sides)
            alike = 0.75 * _alike(*labels) + 0.25 * _alike(*groups)
            if by != "label":
                alike = _with_boxes(alike, gold[left], pred[rest], 0.5)
        found = assign(alike, least=least)
        pairs += [(left[row], rest[column], float(alike[row, column])) for row, column in found]
    return pairs + _same_value(gold, pred, pairs) if by == "default" else pairs


def _plain(value: str) -> str:
    return text.normalise(value, LADDER_STEPS)


def _free(pairs: list[Pair], *counts: int) -> list[list[int]]:
    """The places of the fields of either side that are in none of the pairs."""
    taken = [{pair[side] for pair in pairs} for side in (0, 1)]
    return [[n for n in range(counts[side]) if n not in taken[side]] for side in (0, 1)]


def _same_value(gold: pl.DataFrame, pred: pl.DataFrame, pairs: list[Pair]) -> list[Pair]:
    """Of fields not paired yet, those whose value no other of their side has."""
    sides, free = [], _free(pairs, gold.height, pred.height)
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


def _with_boxes(
    alike: np.ndarray, gold: pl.DataFrame, pred: pl.DataFrame, weight: float
) -> np.ndarray:
    """The similarities, with the boxes' overlap where both sides have one."""
    sides = [frame.select(pl.col(BOX).cast(pl.Float64)).to_numpy() for frame in (gold, pred)]
    first, second = sides[0][:, None], sides[1][None]
    known = ~(np.isnan(first).any(-1) | np.isnan(second).any(-1))
    if not known.any():
        return alike
    low, high = np.maximum(first, second)[..., :2], np.minimum(first, second)[..., 2:]
    inside = np.clip(high - low, 0, None).prod(-1)
    areas = [np.clip(box[..., 2:] - box[..., :2], 0, None).prod(-1) for box in (first, second)]
    union = areas[0] + areas[1] - inside
    overlap = np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)
    pages = (frame["page"].cast(pl.Int64).fill_null(1).to_numpy() for frame in (gold, pred))
    overlap = np.where(np.equal.outer(*pages), overlap, 0.0)
    return np.where(known, (1 - weight) * alike + weight * overlap, alike)


def _of_oracle(gold: pl.DataFrame, pred: pl.DataFrame) -> list[Pair]:
    answers, pairs = pred["value"].fill_null("").to_list()[:_MOST], []
    for family in (("textual", "visual"), ("marking",), ("cross",)):
        fields = gold.with_row_index("place").filter(pl.col("modality").is_in(family))
        if fields.height and answers:
            gain = (_saved_edits if "textual" in family else _right_marks)(fields, answers)
            pairs += [(fields["place"][row], column, 1.0) for row, column in assign(gain)]
    return pairs


def _saved_edits(fields: pl.DataFrame, answers: list[str]) -> np.ndarray:
    """How many edits each pair saves over a field that is not found."""
    golds, preds = ([text.normalise(v or "") for v in side] for side in (fields["value"], answers))
    edits = process.cdist(golds, preds, scorer=Levenshtein.distance, dtype=np.int64, workers=1)
    # An empty prediction costs what no prediction does.
    return np.array([[float(len(value))] for value in golds]) - edits


def _right_marks(fields: pl.DataFrame, answers: list[str]) -> np.ndarray:
    gain = np.zeros((fields.height, len(answers)))
    rows = fields.select("modality", "value", "subtype", "kind").rows()
    for row, (modality, value, *kinds) in enumerate(rows):
        named = dict(zip(("subtype", "kind"), kinds, strict=True))
        own = marks(value or "", **named)
        for column, answer in enumerate(answers):
            if modality == "cross":
                gain[row, column] = all_constituents(value or "", answer)
            else:
                hits, total, _ = mark_counts(own, predicted_marks(answer, value, **named))
                gain[row, column] = hits - 0.25 * (total - hits)
    return gain
