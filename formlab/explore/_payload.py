"""What the explorer's page gets: columns and measures as codes, rates of all, and a gallery."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import gallery, metrics
from formlab.analysis import Finding
from formlab.analysis.top_errors import top_errors
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts._parts import words
from formlab.explore._units import ERRORS, NO_ERROR, SIMILARITY, of_wholes
from formlab.explore.rates import FOLLOWING, Counted
from formlab.folders import Evaluation
from formlab.scoring.bands import BANDS

# Everything, as a slice without a name.
_ALL = {"": ""}
_TITLES = {"doc_id": "document", "certainty": "confidence"}


def payload(
    evaluations: Mapping[str, Evaluation],
    sources: Sequence[str],
    *,
    findings: Sequence[Finding] = (),
    most: int,
    first: Any,
) -> dict[str, Any]:
    """The payload of kind ``explorer``: ``data``, a JSON text, and ``gallery``.

    `sources` is the Python that opens each evaluation, `first` what is chosen at first.
    """
    counted = [Counted(each, findings) for each in evaluations.values()]
    offered = [c.columns for c in counted]
    named = list(dict.fromkeys(name for each in offered for name in each))
    coded = {name: _codes(name, counted, offered) for name in named}
    known: dict[str, str] = {}
    for c in counted:
        known |= {name: title for name, title in c.measures.items() if name not in known}
    pages = [of_wholes(each) for each in evaluations.values()]
    systems = theme.system_colours(sorted({each.system for each in evaluations.values()}))
    data = {
        "evaluations": [
            {
                "name": name, "system": each.system, "source": source, "units": c.cases.height,
                "documents": c.count, "document": _packed(c.document),
                "colour": systems[each.system], "whole": whole,
            }
            for (name, each), source, c, whole in zip(
                evaluations.items(), sources, counted, pages, strict=True
            )
        ],
        "columns": [
            {"name": name, "title": _title(name), "values": values, "codes": codes,
             "after": name in FOLLOWING}
            for name, (values, codes) in coded.items()
        ],
        "measures": [
            {"name": name, "title": title, **_scale(name), **_pairs(name, counted)}
            for name, title in known.items()
        ],
        "rates": [
            _rates(c, offer, coded, known) for c, offer in zip(counted, offered, strict=True)
        ],
        "first": first, "whole": any(pages),
    }  # fmt: skip
    shown, cards = _gallery(counted, most, findings)
    data["cards"] = cards
    if findings:
        data["columns"].append(_membership(findings, counted))
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return {"data": text, "gallery": shown.payload}


def _title(name: str) -> str:
    if name in BANDS:
        return f"{words(name)} ({BANDS[name].title})" if name == "length" else BANDS[name].title
    return _TITLES.get(name) or words(name)


def _scale(name: str) -> dict[str, Any]:
    """How a measure is drawn: the end of its axis, if it has one, and what is better."""
    if name not in metrics.METRICS:
        share = name != SIMILARITY
        return {"high": None if name == ERRORS else 1, "down": name == ERRORS, "percent": share}
    metric = metrics.get(name)
    return {"high": metric.high, "down": metric.direction == "down", "percent": False}


def _packed(numbers: np.ndarray) -> str:
    """Whole numbers from 0 as base64 of little-endian bytes, after a letter for their width."""
    most = int(numbers.max(initial=0))
    letter, kind = next(
        (letter, kind) for letter, kind, room in
        (("b", "<u1", 2**8), ("h", "<u2", 2**16), ("i", "<u4", 2**32)) if most < room
    )  # fmt: skip
    return letter + base64.b64encode(numbers.astype(kind).tobytes()).decode("ascii")


def _codes(
    name: str, counted: Sequence[Counted], offered: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[str]]:
    """The values of a column in order, and of each evaluation their codes; 0 is no value."""
    ranked = dict.fromkeys(
        value for c, offer in zip(counted, offered, strict=True) if name in offer
        for value in c.names(name)
    )  # fmt: skip
    if name not in BANDS:
        # Values of several evaluations are in one order.
        ranked = dict.fromkeys(sorted(ranked, key=lambda value: (value is None, value or "")))
    values = [value for value in ranked if value is not None]
    number = {value: at for at, value in enumerate(values, start=1)}
    packed = []
    for c in counted:
        try:
            own = c.values(name)
        except pl.exceptions.PolarsError:
            own = pl.Series([None] * c.cases.height, dtype=pl.String)
        codes = own.replace_strict(number, default=0, return_dtype=pl.Int64).fill_null(0)
        packed.append(_packed(codes.to_numpy()))
    return [clean(value, limit=None) for value in values], packed


def _membership(findings: Sequence[Finding], counted: Sequence[Counted]) -> dict[str, Any]:
    """The findings that each case is behind as a column: its values are sets of their numbers."""
    sets: dict[tuple[str, ...], int] = {}
    packed: list[str] = []
    owners: list[list[int]] = [[] for _ in findings]
    for number, c in enumerate(counted):
        behind = [c.fits(f"finding={at}") for at in range(1, len(findings) + 1)]
        rows = np.stack(behind, axis=1) if c.cases.height else np.zeros((0, len(findings)), bool)
        for at in np.flatnonzero(rows.any(axis=0)):
            owners[at].append(number)
        names = [tuple(str(at + 1) for at in np.flatnonzero(row)) for row in rows]
        codes = [sets.setdefault(each, len(sets) + 1) if each else 0 for each in names]
        packed.append(_packed(np.array(codes, dtype=np.int64)))
    claims = [clean(finding, limit=300) for finding in findings]
    return {
        "name": "finding", "title": "finding", "values": [list(each) for each in sets],
        "codes": packed, "after": True, "claims": claims, "owners": owners,
    }  # fmt: skip


def _pairs(name: str, counted: Sequence[Counted]) -> dict[str, Any]:
    """The distinct pairs of hits and total, and of each evaluation which one each unit has."""
    tallies = [_tally(c, name) for c in counted]
    both = np.concatenate(tallies) if tallies else np.zeros((0, 2))
    pairs, codes = np.unique(both, axis=0, return_inverse=True)
    ends = np.cumsum([len(each) for each in tallies])[:-1]
    parts = [_packed(part) for part in np.split(codes.ravel(), ends)]
    return {"pairs": pairs.tolist(), "codes": parts}


def _tally(c: Counted, name: str) -> np.ndarray:
    if name not in c.measures:
        return np.zeros((c.cases.height, 2))
    return np.stack(c.tally(name), axis=1)


def _rates(
    c: Counted, offered: Mapping[str, Any], coded: Mapping[str, Any], known: Mapping[str, str]
) -> dict[str, dict[str, list[list[float | None]]]]:
    """By measure and column, or "" for all: code, value, interval, documents, cases of rows."""
    own = [name for name in known if name in c.measures]
    columns: list[Any] = [_ALL, *(name for name in offered if name != "doc_id")]
    rows = c.rows([(by, measure) for measure in own for by in columns])
    code = {name: {v: at for at, v in enumerate(coded[name][0], start=1)} for name in offered}
    made: dict[str, dict[str, list[list[float | None]]]] = {}
    for row in rows:
        by = row["slice_by"] if row["slice_value"] != "" else ""
        numbers = [row[name] for name in ("value", "ci_low", "ci_high")]
        rounded = [round(n, 6) if math.isfinite(n) else None for n in numbers]
        at = code[by].get(row["slice_value"], 0) if by else 0
        line = [at, *rounded, row["n_docs"], row["n_cases"]]
        made.setdefault(row["metric"], {}).setdefault(by, []).append(line)
    return made


def _gallery(
    counted: Sequence[Counted], most: int, findings: Sequence[Finding]
) -> tuple[gallery.Gallery, list[list[int]]]:
    """The errors of all, of many a sample by cause; of each card its evaluation and unit."""
    parts = []
    for number, c in enumerate(counted):
        cases = c.cases.with_row_index("_unit").with_columns(_evaluation=number)
        wrong = cases.filter(~pl.col("outcome").is_in(NO_ERROR))
        share = most // len(counted)
        chosen = top_errors(wrong, limit=share) if wrong.height > share else wrong
        # Only what is shown is read with all its columns.
        own = c.whole_cases(chosen["_unit"].to_list())
        parts.append(own.with_columns(chosen.select("_unit", "_evaluation")))
    shown = gallery.errors(
        pl.concat(parts, how="diagonal_relaxed"), of=[c.evaluation for c in counted],
        findings=findings, most=None,
    )  # fmt: skip
    return shown, shown.frame.select("_evaluation", "_unit").to_numpy().tolist()
