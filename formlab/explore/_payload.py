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
from formlab.analysis.overview import top_errors
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts._parts import words
from formlab.errors import UnknownName
from formlab.explore._counted import FOLLOWING, Counted
from formlab.explore._units import ERRORS, SIMILARITY, Tally
from formlab.scoring.bands import BANDS

# Everything, as a slice without a name.
_ALL = {"": ""}
_TITLES = {"doc_id": "document", "certainty": "confidence"}


def payload(
    counted: Mapping[str, Counted],
    sources: Sequence[str],
    *,
    findings: Sequence[Finding] = (),
    most: int,
    first: Any,
) -> dict[str, Any]:
    """The payload of kind ``explorer``: ``data``, a JSON text, and ``gallery``.

    `sources` is the Python that opens each evaluation, `first` what is chosen at first.
    """
    names, counted = list(counted), list(counted.values())
    for c in counted:
        c.findings = findings
    coded = {
        name: _codes(name, counted) for name in dict.fromkeys(n for c in counted for n in c.columns)
    }
    known: dict[str, str] = {}
    for c in counted:
        known |= {name: title for name, title in c.measures.items() if name not in known}
    systems = theme.system_colours(sorted({c.evaluation.system for c in counted}))
    data = {
        "evaluations": [
            {
                "name": name, "system": c.evaluation.system, "source": source, "units": c.height,
                "documents": c.count, "document": _packed(c.document),
                "colour": systems[c.evaluation.system], "whole": c.whole,
            }
            for name, source, c in zip(names, sources, counted, strict=True)
        ],
        "columns": [
            {"name": name, "title": _title(name), "codes": codes, "after": name in FOLLOWING,
             "values": [clean(value, limit=None) for value in values]}
            for name, (values, codes) in coded.items()
        ],
        "measures": [
            {"name": name, "title": title, **_scale(name), **_pairs(name, counted)}
            for name, title in known.items()
        ],
        "rates": [_rates(c, coded, known) for c in counted],
        "first": first, "whole": any(c.whole for c in counted),
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


def _codes(name: str, counted: Sequence[Counted]) -> tuple[list[str], list[str]]:
    """The values of a column in order, and of each evaluation their codes; 0 is no value."""
    columns = (c.column(name) for c in counted if name in c.columns)
    values = list(dict.fromkeys(value for column in columns for value in column.values))
    if name not in BANDS:
        # Values of several evaluations are in one order.
        values.sort()
    number = {value: at for at, value in enumerate(values, start=1)}
    packed = []
    for c in counted:
        try:
            own = c.column(name)
        except (UnknownName, pl.exceptions.PolarsError):
            packed.append(_packed(np.zeros(c.height, dtype=np.uint8)))
            continue
        codes = np.array([0, *(number.get(value, 0) for value in own.values)])
        packed.append(_packed(codes[own.codes]))
    return values, packed


def _membership(findings: Sequence[Finding], counted: Sequence[Counted]) -> dict[str, Any]:
    """The findings that each case is behind as a column: its values are sets of their numbers."""
    sets: dict[tuple[str, ...], int] = {}
    packed: list[str] = []
    owners: list[list[int]] = [[] for _ in findings]
    for number, c in enumerate(counted):
        rows = np.stack(c.fits([f"finding={at + 1}" for at in range(len(findings))]), axis=1)
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
    tallies = [c.tally(name) if name in c.measures else _none(c) for c in counted]
    hits, total = (np.unique_inverse(np.concatenate(side)) for side in zip(*tallies, strict=True))
    both, codes = np.unique_inverse(
        hits.inverse_indices * len(total.values) + total.inverse_indices
    )
    first, second = np.divmod(both, len(total.values))
    pairs = np.stack([hits.values[first], total.values[second]], axis=1).astype(float)
    ends = np.cumsum([c.height for c in counted])[:-1]
    return {"pairs": pairs.tolist(), "codes": [_packed(part) for part in np.split(codes, ends)]}


def _none(c: Counted) -> Tally:
    """Of a measure that an evaluation does not have."""
    return Tally(*np.zeros((2, c.height), dtype=np.uint8))


def _rates(
    c: Counted, coded: Mapping[str, Any], known: Mapping[str, str]
) -> dict[str, dict[str, list[list[float | None]]]]:
    """By measure and column, or "" for all: code, value, interval, documents, cases of rows."""
    own = [name for name in known if name in c.measures]
    columns: list[Any] = [_ALL, *(name for name in c.columns if name != "doc_id")]
    rows = c.rows([(by, measure) for by in columns for measure in own])
    code = {name: {v: at for at, v in enumerate(coded[name][0], start=1)} for name in c.columns}
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
        wrong = c.wrong().with_columns(_evaluation=number)
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
