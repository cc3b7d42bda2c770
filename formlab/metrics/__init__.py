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
from formlab.metrics.actions import METRICS as ACTION_METRICS
from formlab.metrics.entities import METRICS as ENTITY_METRICS
from formlab.metrics.facts import METRICS as FACT_METRICS
from formlab.metrics.fields import FIELD_METRICS
from formlab.metrics.following import FOLLOWING_METRICS
from formlab.metrics.jsonacc import JSON_METRICS
from formlab.metrics.ladder import (
    exact_accuracy,
    fuzzy_accuracy,
    normalised_accuracy,
    typed_accuracy,
)
from formlab.metrics.marking import MARKING_METRICS
from formlab.metrics.page import PAGE_METRICS
from formlab.metrics.relations import RELATION_METRICS
from formlab.metrics.structure import METRICS as STRUCTURE_METRICS
from formlab.metrics.text import (
    bleu,
    cer,
    edit_distance,
    rouge1,
    rouge1_stem,
    rougeL,
    rougeL_stem,
    spurious_rate,
    wer,
)
from formlab.metrics.tree import (
    TREE_METRICS,
    tree_edit_distance,
    tree_edit_tallies,
    tree_similarity,
)
from formlab.metrics.tree_edits import edit_frame, edit_script

METRICS: dict[str, Metric] = {
    "cer": cer,
    "wer": wer,
    "edit_distance": edit_distance,
    "bleu": bleu,
    "rouge1": rouge1,
    "rougeL": rougeL,
    "rouge1_stem": rouge1_stem,
    "rougeL_stem": rougeL_stem,
    **PAGE_METRICS,
    "exact_accuracy": exact_accuracy,
    "normalised_accuracy": normalised_accuracy,
    "typed_accuracy": typed_accuracy,
    "fuzzy_accuracy": fuzzy_accuracy,
    "spurious_rate": spurious_rate,
    **MARKING_METRICS,
    **FIELD_METRICS,
    **TREE_METRICS,
    **RELATION_METRICS,
    **JSON_METRICS,
    **ACTION_METRICS,
    **ENTITY_METRICS,
    **FACT_METRICS,
    **FOLLOWING_METRICS,
    **STRUCTURE_METRICS,
}

__all__ = [
    "METRICS", "Metric", "Tally", "bleu", "cer", "edit_distance", "edit_frame", "edit_script",
    "exact_accuracy", "fuzzy_accuracy", "get", "is_mean", "mean_of", "normalised_accuracy",
    "plain", "ratio", "rouge1", "rouge1_stem", "rougeL", "rougeL_stem", "spurious_rate", "title",
    "tree_edit_distance", "tree_edit_tallies", "tree_similarity", "typed_accuracy", "wer",
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


def mean_of(name: str) -> str | None:
    """What the mean over documents of a registered metric is called; None if it is a mean itself.

    Examples
    --------
    >>> mean_of("cer"), mean_of("f1"), mean_of("macro_f1")
    ('macro_cer', 'mean_f1', None)
    """
    if name.startswith("macro_"):
        return None
    # VRDU's `macro_f1` is a mean over entities, another one than that of `f1` over documents.
    return f"mean_{name}" if f"macro_{name}" in METRICS else f"macro_{name}"


def plain(name: str) -> str:
    """The registered metric that a value of the column `metric` is, or is a mean of.

    Examples
    --------
    >>> [plain(name) for name in ("macro_cer", "mean_f1", "macro_f1", "wer")]
    ['cer', 'f1', 'macro_f1', 'wer']
    """
    if name in METRICS:
        return name
    return name.removeprefix("macro_").removeprefix("mean_")


def is_mean(name: str) -> bool:
    """Whether a value of the column `metric` is a mean over documents of a registered metric.

    Examples
    --------
    >>> is_mean("macro_cer"), is_mean("macro_f1"), is_mean("mean_f1")
    (True, False, True)
    """
    return name not in METRICS and plain(name) in METRICS


def title(name: str) -> str:
    """What to call a value of the column `metric`, means over documents included.

    Examples
    --------
    >>> title("macro_bleu")
    'BLEU, mean over documents'
    """
    return get(plain(name)).title + (", mean over documents" if is_mean(name) else "")
