"""Accuracy of values on each rung of the strictness ladder.

These metrics read the ladder's boolean columns of *cases* (`view` names the column), which the
alignment has filled in, rather than compare the strings a second time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formlab import text
from formlab.metrics._spec import Metric, Tally
from formlab.tables import LADDER


def _hits(passed: Sequence[bool | None]) -> np.ndarray:
    """1 of 1 where the rung holds, 0 of 1 where not, 0 of 0 (undefined) for None."""
    # None is NaN as a number.
    hits = np.array(passed, dtype=np.float64)
    return np.stack([np.nan_to_num(hits), ~np.isnan(hits)], axis=1).reshape(-1, 2)


class RungMetric(Metric):
    """An accuracy whose `tallies` take the boolean column that `view` names.

    Called with two strings, it judges them by `text.ladder` at its default threshold.
    """

    def __call__(self, gold: str, pred: str) -> Tally:
        """The tally of one pair of values of no stated kind."""
        rung = getattr(text.ladder(gold, pred), self.view)
        return Tally(tuple(self.tallies([rung])[0].tolist()), self.score)


def _accuracy(rung: str) -> RungMetric:
    return RungMetric(
        name=f"{rung}_accuracy", title=f"accuracy, {rung}", unit="right values per value",
        source="the strictness ladder, formlab.text.ladder", view=rung, tallies=_hits,
        tasks=("text", "visual", "entity", "vqa", "consistency"), units=("field",),
    )  # fmt: skip


def _relation_accuracy(
    name: str, unit: str, title: str, source: str = "section 4.4 and Table 4b"
) -> RungMetric:
    """L3 of FORMCRAFT: numbers, amounts and dates may be written otherwise."""
    return RungMetric(
        name=f"{name}_accuracy", title=title, unit="right answers per item", view="typed",
        source=f"FORMCRAFT, {source}", tallies=_hits, tasks=(name.partition("_")[0],),
        units=(unit,),
    )  # fmt: skip


exact_accuracy, normalised_accuracy, typed_accuracy, fuzzy_accuracy = map(_accuracy, LADDER)
vqa_accuracy = _relation_accuracy("vqa", "question", "accuracy of cross-reference answers")
consistency_accuracy = _relation_accuracy(
    "consistency", "check", "accuracy of consistency checks, all fields of the relation",
    "section 4.4, Figure 5b and Table 4b",
)  # fmt: skip
consistency_dependent_accuracy = _relation_accuracy(
    "consistency_dependent", "check", "accuracy of consistency checks, dependent field alone",
    "section 4.4; formlab's own, the paper judges all relevant fields",
)  # fmt: skip
contradictions_found = RungMetric(
    name="contradictions_found", title="contradictions on the page found", view="typed",
    unit="values that must stand there, per contradiction", tallies=_hits, tasks=("consistency",),
    source="formlab; FORMCRAFT excludes fields that only have to agree (listing 3)",
    units=("contradiction",),
)  # fmt: skip
