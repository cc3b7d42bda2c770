"""Filling in a form by clicks and typing: is each click right, and does each value arrive?

The rules are those of FormFactory (Li et al., arXiv:2506.01520, section 5.1.2). What they leave
open is settled here: a line of output is meant for the value it types, else for the place it
clicks; a box to leave alone is right where nothing clicks it. A click on it is counted in
`unwanted_clicks`, so that what `click_accuracy` divides by follows from the gold alone.

The paper's report has "an overall task score" (section 4.1) and no formula for it. `task_score` is
0 for a form that was not sent; else the mean of two shares: of its fields whose value was submitted
right, and of its fields to click that were clicked right. A form half right thus counts half, and
guessing values without finding their places gets half at most. Others would be the product of the
shares, which no partial success survives; `form_completed`, which counts whole forms only;
`episodic_value`, which asks for no submission; and `action_match_rate`, which counts detours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from formlab.metrics._bleu import FOUR_WORDS, corpus_score, sentence_score, statistics
from formlab.metrics._field_values import found_in
from formlab.metrics._filling import match_forms
from formlab.metrics._forms import (
    DESCRIPTION,
    ActionLine,
    FieldVerdict,
    Filled,
    GoldField,
    TargetValue,
)
from formlab.metrics._geometry import nearest
from formlab.metrics._spec import Metric

__all__ = [
    "DESCRIPTION", "EPISODE", "METRICS", "ActionLine", "FieldVerdict", "Filled", "GoldField",
    "TargetValue", "counts", "episodes", "found_in", "match_forms", "nearest",
]  # fmt: skip


def counts(fields: Sequence[GoldField], verdicts: Sequence[FieldVerdict]) -> dict[str, np.ndarray]:
    """Tallies of the metrics of single fields: shape (n, 2), for `description_bleu` (n, 10).

    Examples
    --------
    >>> name = GoldField("/Name", "string", "Ada", (TargetValue("Ada"),))
    >>> parts = counts([name], [FieldVerdict(right=True, placed=True)])
    >>> parts["value_placed_accuracy"].tolist(), parts["click_accuracy"].tolist()
    ([[1.0, 1.0]], [[0.0, 0.0]])
    """
    entered = [want.kind != DESCRIPTION for want in fields]
    misses = [0.0 if np.isnan(v.distance) or np.isinf(v.distance) else 1.0 for v in verdicts]
    pairs = {
        "click_accuracy": [(v.clicked is True, v.clicked is not None) for v in verdicts],
        "unwanted_clicks": [(v.unwanted is True, v.unwanted is not None) for v in verdicts],
        "value_found_accuracy": _of(entered, [v.found for v in verdicts]),
        "value_placed_accuracy": _of(entered, [v.placed for v in verdicts]),
        "value_submitted_accuracy": _of(entered, [v.submitted for v in verdicts]),
        "action_match_rate": [(2 * v.matched, v.expected + v.made) for v in verdicts],
        "click_distance": [
            (v.distance if miss else 0.0, miss) for v, miss in zip(verdicts, misses, strict=True)
        ],
    }
    tallies = {name: np.array(rows, dtype=float).reshape(-1, 2) for name, rows in pairs.items()}
    long = [index for index, short in enumerate(entered) if not short]
    golds = [fields[index].typed for index in long]
    some = statistics(golds, [verdicts[index].text or "" for index in long])
    bleu = np.zeros((len(fields), some.shape[1]))
    bleu[long] = some
    return tallies | {"description_bleu": bleu}


def _of(counted: Sequence[bool], results: Sequence[bool | None]) -> list[tuple[bool, bool]]:
    return [(k and h is True, k and h is not None) for k, h in zip(counted, results, strict=True)]


def episodes(
    fields: Sequence[GoldField], verdicts: Sequence[FieldVerdict], sizes: Sequence[int],
    parts: Mapping[str, np.ndarray], sent: Sequence[bool] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Tallies, shape (n, 2), of the metrics of whole forms, of `sizes` fields one after the other.

    `episodic_click` and `episodic_value` are shares of a form's fields, a description counting
    with its BLEU unless it is to be left empty; `form_completed` is 1 where every field is right,
    as it was submitted if it was. `task_score` is 0 for a form that was not sent, else the mean of the share of fields submitted
    right and of `episodic_click`, where that is defined. `parts` are the `counts` of all fields,
    `sent` says of each form whether it was sent; if it is left out, `task_score` is undefined.

    Examples
    --------
    >>> name = GoldField("/Name", "string", "Ada", (TargetValue("Ada"),))
    >>> verdicts = [FieldVerdict(found=True, placed=True), FieldVerdict(found=True), FieldVerdict()]
    >>> whole = episodes([name] * 3, verdicts, [1, 2], counts([name] * 3, verdicts))
    >>> whole["episodic_value"].tolist(), whole["form_completed"].tolist()
    ([[1.0, 1.0], [0.5, 1.0]], [[1.0, 1.0], [0.0, 1.0]])
    """
    bleu = np.nan_to_num(sentence_score(parts["description_bleu"])).tolist()
    values = np.array([
        score if want.kind == DESCRIPTION and not want.leave_empty else verdict.found
        for want, verdict, score in zip(fields, verdicts, bleu, strict=True)
    ], dtype=float)  # fmt: skip
    done = [v.placed if v.submitted is None else v.submitted for v in verdicts]
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in EPISODE}
    start = 0
    for number, size in enumerate(sizes):
        own = slice(start, start + size)
        hits, total = parts["click_accuracy"][own].sum(axis=0).tolist()
        clicked = hits / total if total else 0.0
        rows["episodic_click"].append((clicked, float(total > 0)))
        rows["episodic_value"].append((values[own].mean(), 1.0) if size else (0.0, 0.0))
        rows["form_completed"].append((all(done[own]), 1.0) if size else (0.0, 0.0))
        known = bool(sent is not None and size)
        shares = [np.mean(done[own]), *[clicked] * bool(total)] if known and sent[number] else [0.0]
        rows["task_score"].append((float(np.mean(shares)), 1.0) if known else (0.0, 0.0))
        start += size
    return {name: np.array(pairs, dtype=float).reshape(-1, 2) for name, pairs in rows.items()}


EPISODE = ("episodic_click", "episodic_value", "form_completed", "task_score")
_PAPER = "Li et al., arXiv:2506.01520, section 5.1.2"
_STRICT = "Li et al., arXiv:2506.01520, section 5.2, the stricter protocol"
_REPORT = "Li et al., arXiv:2506.01520, section 4.1, which gives no formula; this one is formlab's"
_ENTRIES = (
    ("click_accuracy", "click accuracy", "up", "right clicks per field to click", _PAPER),
    ("unwanted_clicks", "unwanted clicks", "down", "clicked per field to leave alone", "formlab"),
    ("value_found_accuracy", "value accuracy, anywhere", "up", "found per value", _PAPER),
    ("value_placed_accuracy", "value accuracy, in its field", "up", "placed per value", _STRICT),
    ("value_submitted_accuracy", "value accuracy, submitted", "up", "sent per value", "formlab"),
    ("description_bleu", "BLEU of descriptions", "up", "n-grams", _PAPER),
    ("action_match_rate", "actions matched", "up", "2 · matched per action of either", "formlab"),
    ("click_distance", "distance of missed clicks", "down", "pixels per miss", "formlab"),
    ("episodic_click", "click accuracy per form", "up", "share of the fields", _PAPER),
    ("episodic_value", "value accuracy per form", "up", "share of the fields", _PAPER),
    ("form_completed", "forms completed", "up", "forms without a fault", _STRICT),
    ("task_score", "overall task score", "up", "mean of values sent and clicks right", _REPORT),
)
_BLEU = {"score": corpus_score, "unit_score": sentence_score, "need": FOUR_WORDS}
METRICS = {
    name: Metric(
        name=name, title=title, direction=direction, unit=unit, source=source, view="counts",
        high=None if name == "click_distance" else 1.0,
        units=("document",) if name in EPISODE else ("field",),
        average="mean over forms" if name in EPISODE else "pooled",
        **(_BLEU if name == "description_bleu" else {}),
    )
    for name, title, direction, unit, source in _ENTRIES
}  # fmt: skip
