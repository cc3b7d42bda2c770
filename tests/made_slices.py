"""Rows of scores and summaries by the name that a reader sees: ``all``, ``fields``, ``kind=x``."""

from formlab.analysis.overview import MEASURES

_LEVELS = {one.metric: one.of for one in MEASURES if one.of not in ("field", "fact")}


def of(name, metric=""):
    """The columns that say what a row is of."""
    same = {"average": "pooled"}
    if name in ("all", "fields"):
        return same | {"level": "field" if name == "fields" else _LEVELS.get(metric, "page")}
    by, _, value = name.partition("=")
    return same | {"level": "field", "slice_by": by, "slice_value": value}
