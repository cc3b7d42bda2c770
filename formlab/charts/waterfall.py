"""The small waterfall of a report's first screen: what fixing each stage of errors would gain."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from formlab import selection
from formlab.analysis.what_if import what_if
from formlab.charts._output import clean, number
from formlab.folders import Evaluation

SUMMARY = "What fixing each stage would gain"
_HEAD = ("values right", "documents right")


def waterfall(evaluation: Evaluation, name: str, *, whose: bool = False) -> dict[str, Any] | None:
    """A row for the values right now and for each stage; None where no value is wrong.

    Bars are shares of values; each begins where the one before it ends. With `whose`, the rows
    lead to the cases of this system only.
    """
    gains = what_if(evaluation, metrics=["fields", "documents"], resamples=200)
    values, documents = (gains.filter(metric=metric) for metric in ("fields", "documents"))
    if not values.height or not documents.height:
        return None
    reached = values["value"][0]
    now = [_share(table["value"][0]) for table in (values, documents)]
    rows = [_row("now", 0.0, reached, now)]
    own = {"system": [evaluation.system]} if whose else {}
    for value, document in zip(
        *(t.iter_rows(named=True) for t in (values, documents)), strict=True
    ):
        end = reached + value["gain"]
        line = selection.text(own | {"cause": value["causes"] or [None]})
        shown = [_points(row["gain"]) for row in (value, document)]
        row = _row(value["stage"], reached, end, shown)
        rows.append(row | {"line": line, "note": _note(value, document)})
        reached = end
    return {"of": clean(name, limit=200), "head": _HEAD, "rows": rows}


def _row(stage: str, begin: float, end: float, shown: Sequence[str]) -> dict[str, Any]:
    ends = {"from": round(begin, 6), "to": round(end, 6)}
    return {"stage": stage, **ends, "shown": list(shown), "note": "", "line": None}


def _note(values: Mapping[str, Any], documents: Mapping[str, Any]) -> str:
    counts = [(values["n_cases"], "wrong value"), (values["n_docs"], "document")]
    text = " in ".join(f"{n:,} {name}{'s' * (n != 1)}" for n, name in counts)
    text += f"; {_points(values['gain'])} points of values right"
    if not math.isnan(values["ci_low"]):
        low, high = (_points(values[end]) for end in ("ci_low", "ci_high"))
        text += f", 95 % interval {low} to {high}"
    low, high = (_points(documents[end]) for end in ("lowest", "highest"))
    return f"{text}; of documents right {low} to {high}, by what is fixed before"


def _share(value: float) -> str:
    return f"{number(100 * value, 1)} %"


def _points(value: float) -> str:
    """A difference of shares in points, with its sign."""
    points = round(100 * value, 1) + 0.0
    return ("+" if points >= 0 else "") + number(points, 1)


def boxes(figure: Mapping[str, Any]) -> str:
    """The waterfall as JupyterLab shows it."""
    rows = "".join(
        f'<tr title="{html.escape(row["note"])}"><td>{html.escape(row["stage"])}</td>'
        '<td style="width:220px"><div style="height:10px;background:#0072B2;'
        f'margin-left:{100 * row["from"]:.1f}%;width:{100 * (row["to"] - row["from"]):.1f}%">'
        f"</div></td>{''.join(f'<td>{html.escape(text)}</td>' for text in row['shown'])}</tr>"
        for row in figure["rows"]
    )
    head = "".join(f"<th>{text}</th>" for text in ("", *figure["head"]))
    return f"<table><caption>{html.escape(figure['of'])}</caption><tr>{head}</tr>{rows}</table>"


def lines(figure: Mapping[str, Any]) -> list[str]:
    """The waterfall as text."""
    parts = [f"{row['stage']} {row['shown'][0]}" for row in figure["rows"]]
    return [f"{SUMMARY}: {figure['of']}: {', '.join(parts)} (values right)"]
