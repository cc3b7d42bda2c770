"""The registry of metrics.

A metric turns gold and prediction into tallies; summed tallies give the score of many units.

>>> cer("abc", "abd").parts
(1.0, 3.0)
>>> METRICS["cer"].tallies(["abc", "x"], ["abd", ""]).tolist()
[[1.0, 3.0], [1.0, 1.0]]
"""

from __future__ import annotations

from formlab.errors import UnknownName
from formlab.metrics._spec import Metric, Tally, ratio
from formlab.metrics.ladder import (
    exact_accuracy,
    fuzzy_accuracy,
    normalised_accuracy,
    typed_accuracy,
)
from formlab.metrics.text import (
    bleu,
    cer,
    edit_distance,
    rouge1,
    rouge1_stem,
    rougeL,
    rougeL_stem,
    wer,
)

METRICS: dict[str, Metric] = {
    "cer": cer,
    "wer": wer,
    "edit_distance": edit_distance,
    "bleu": bleu,
    "rouge1": rouge1,
    "rougeL": rougeL,
    "rouge1_stem": rouge1_stem,
    "rougeL_stem": rougeL_stem,
    "exact_accuracy": exact_accuracy,
    "normalised_accuracy": normalised_accuracy,
    "typed_accuracy": typed_accuracy,
    "fuzzy_accuracy": fuzzy_accuracy,
}

__all__ = [
    "METRICS", "Metric", "Tally", "bleu", "cer", "edit_distance", "exact_accuracy",
    "fuzzy_accuracy", "get", "normalised_accuracy", "ratio", "rouge1", "rouge1_stem", "rougeL",
    "rougeL_stem", "title", "typed_accuracy", "wer",
]  # fmt: skip


def get(name: str) -> Metric:
    """The metric registered as `name`; else `UnknownName`.

    Examples
    --------
    >>> get("cer").direction
    'down'
    """
    if name not in METRICS:
        raise UnknownName.of("metric", name, METRICS)
    return METRICS[name]


def title(name: str) -> str:
    """What to call a value of the column `metric`, ``macro_`` means included.

    Examples
    --------
    >>> title("macro_bleu")
    'BLEU, mean over documents'
    """
    plain = name.removeprefix("macro_")
    return get(plain).title + (", mean over documents" if plain != name else "")
