"""The units of an evaluation as small numbers, from which every rate is counted."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import analysis, metrics, selection, tables
from formlab.analysis import Finding
from formlab.analysis.finding import cases_at, in_fields
from formlab.analysis.slices import COLUMNS
from formlab.errors import UnknownName
from formlab.explore._units import (
    ERRORS,
    NEEDED,
    NO_ERROR,
    RIGHT,
    SIMILARITY,
    Tally,
    needed_by,
    of_wholes,
    pieces,
    scores_of,
    tally_of,
)  # fmt: skip
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.bands import BANDS, order, sliced
from formlab.stats.draws import intervals
from formlab.stats.sums import small

TITLES = {RIGHT: "share right", ERRORS: "errors per value", SIMILARITY: "mean similarity"}
# What a field turned out to be. A rate of errors counts those that fit, among all values.
FOLLOWING = ("outcome", "cause", "status", "finding")
# A column with more values than this has names and no groups; documents are welcome all the same.
_MOST_VALUES = 60


def select(
    evaluation: Evaluation, among: pl.DataFrame, line: str, findings: Sequence[Finding]
) -> pl.DataFrame:
    """Those `among` the cases that a line selects; all columns that it names must be there."""
    names = {name: getattr(evaluation, name) for name in ("benchmark", "split", "system")}
    chosen = Evaluation(evaluation.documents, among, tables.table("scores", []), **names)
    return analysis.select(chosen, line, findings=findings)


def offered(evaluation: Evaluation) -> list[str]:
    """The columns that may be looked by."""
    names = ("doc_id", *FOLLOWING[:3], *COLUMNS, *BANDS, *evaluation.own)
    return list(dict.fromkeys(names))


class Column(NamedTuple):
    """The values of a column in their order, as text, and of each unit the code of its own."""

    values: list[str]
    # From 1; 0 is no value.
    codes: np.ndarray

    @property
    def text(self) -> pl.Series:
        """The value of each unit."""
        return pl.Series([None, *self.values], dtype=pl.String)[self.codes.astype(np.uint32)]


class Counted:
    """The units of an evaluation as small numbers: documents, codes of values, and tallies.

    They are read part by part, and a column or a measure when it is first asked for.
    """

    def __init__(self, evaluation: Evaluation, findings: Sequence[Finding] = ()) -> None:
        self.findings = findings
        self.evaluation = evaluation
        self.whole = of_wholes(evaluation)
        names = evaluation.document_names
        self.count, kind = len(names), pl.Enum(names)
        own = pieces(evaluation, ["doc_id"])
        number = [rows["doc_id"].cast(kind).to_physical().to_numpy() for _, rows in own]
        self.document = np.concatenate(number)
        self.height = len(self.document)
        self._columns: dict[str, Column] = {}
        self._tallies: dict[str, Tally] = {}
        # Of the column asked for last the units by value, for one measure after the other.
        self._last: tuple[str, list[np.ndarray]] = ("", [])

    @functools.cached_property
    def measures(self) -> dict[str, str]:
        """Its measures, as by `measures`."""
        scored = self.evaluation.gathered(
            lambda part: scores_of(part, self.whole).select(pl.col("metric").unique())
        )
        scored = set(scored["metric"])
        names = [n for n in metrics.METRICS if n in scored and metrics.get(n).score is ratio]
        own = [name for name in TITLES if self.tally(name).total.any()]
        return {name: TITLES[name] for name in own} | {name: metrics.title(name) for name in names}

    @functools.cached_property
    def columns(self) -> list[str]:
        """The names of its `columns`."""
        names = offered(self.evaluation)
        self._columns |= self._coded(names, most=_MOST_VALUES)
        few = {
            name: 1 < len(column.values) + (not column.codes.all()) <= _MOST_VALUES
            for name, column in self._columns.items()
        }
        return [name for name in names if name == "doc_id" or few.get(name)]

    def column(self, name: str) -> Column:
        """The values of a column."""
        if name not in self._columns:
            self._columns |= self._coded([name])
        return self._columns[name]

    def _coded(self, names: Sequence[str], most: int | None = None) -> dict[str, Column]:
        """Columns by name; with `most` none of lists and of names, which have more values."""
        numbers: dict[str, dict[str, int]] = {name: {} for name in names}
        values: dict[str, list[pl.Series]] = {name: [] for name in names}
        codes: dict[str, list[np.ndarray]] = {name: [] for name in names}
        for part, rows in pieces(self.evaluation, ["doc_id", *names]):
            documents = part.documents
            for name, own in list(codes.items()):
                column, number = sliced(rows, documents, name), numbers[name]
                nested = column.dtype.is_nested()
                known = column.clear() if nested else column.drop_nulls().unique()
                text = known.cast(pl.String).to_list()
                place = [number.setdefault(each, len(number) + 1) for each in text]
                if most and (nested or (len(number) > most and name != "doc_id")):
                    del codes[name], numbers[name], values[name]
                    continue
                values[name].append(known)
                at = column.cast(pl.String).cast(pl.Enum(text)).to_physical().cast(pl.Int64)
                own.append(small(np.array([0, *place])[(at + 1).fill_null(0).to_numpy()]))
        return {name: _ordered(values[name], numbers[name], own) for name, own in codes.items()}

    def tally(self, measure: str) -> Tally:
        """Hits and total of each unit."""
        counted = measure in metrics.METRICS and metrics.get(measure).score is ratio
        if not (counted or measure in TITLES):
            raise UnknownName.of("measure of fields", measure, self.measures)
        if measure not in self._tallies:
            own = [
                tally_of(part, rows, measure, whole=self.whole)
                for part, rows in pieces(self.evaluation, needed_by(measure))
            ]
            self._tallies[measure] = Tally(*map(np.concatenate, zip(*own, strict=True)))
        return self._tallies[measure]

    def wrong(self) -> pl.DataFrame:
        """The units that are not right, with their number and what a gallery ranks them by."""
        found, begin = [], 0
        for _, rows in pieces(self.evaluation, NEEDED):
            every = rows.with_row_index("_unit", begin)
            found.append(every.filter(~pl.col("outcome").is_in(NO_ERROR)))
            begin += rows.height
        return pl.concat(found, how="diagonal_relaxed")

    def whole_cases(self, places: Sequence[int]) -> pl.DataFrame:
        """All columns of the cases at some places."""
        if self.whole:
            return next(pieces(self.evaluation))[1][places]
        return cases_at(self.evaluation, places, in_fields())

    def fits(self, lines: Sequence[str]) -> list[np.ndarray]:
        """Which of the units each line selects."""
        chosen = {line: selection.read(line) for line in lines}
        fits = {line: np.full(self.height, fill_value=not chosen[line]) for line in chosen}
        asked = [line for line, values in chosen.items() if values]
        names = {name for line in asked for name in chosen[line] if name != "finding"}
        begin = 0
        for part, rows in pieces(self.evaluation, [*NEEDED, *sorted(names)]) if asked else ():
            every = rows.with_row_index("_row", begin)
            for line in asked:
                own = select(part, every, line, self.findings)["_row"]
                fits[line][own.to_numpy()] = True
            begin += rows.height
        return [fits[line] for line in lines]

    def rows(
        self, jobs: Sequence[tuple[str | Mapping[str, str], str]], line: str = "",
        *, resamples: int = 1000, level: float = 0.95, seed: int = 0,
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """The rows of `rates` for each pair of column or slices and measure."""
        fit, among = self.fits([line, before(line)])
        labels, parts = [], []
        for by, measure in jobs:
            hits, total = self.tally(measure)
            for name, inside, around in self._slices(by):
                hit = inside[fit[inside]]
                base = around[among[around]] if measure == ERRORS else hit
                shown = hit[hits[hit] > 0] if measure == ERRORS and by in FOLLOWING else base
                if not len(shown):
                    continue
                sums = [self._summed(hit, hits), self._summed(base, total)]
                parts.append(small(np.stack(sums, axis=1)))
                taken = base[total[base] > 0]
                labels.append({
                    **{n: getattr(self.evaluation, n) for n in ("benchmark", "split", "system")},
                    "metric": measure, "slice_by": by if isinstance(by, str) else "slice",
                    "slice_value": name, "value": float(ratio(parts[-1].sum(axis=0, dtype=float))),
                    "n_docs": int(np.count_nonzero(self._summed(taken))), "n_cases": len(taken),
                })  # fmt: skip
        # Of a single document there is no interval.
        wide = [at for at, row in enumerate(labels) if row["n_docs"] > 1 and resamples]
        scores = [(parts[at], ratio) for at in wide]
        drawn = intervals(scores, resamples=resamples, level=level, seed=seed)
        ends = dict(zip(wide, drawn, strict=True))
        for at, row in enumerate(labels):
            low, high = ends.get(at, (float("nan"), float("nan")))
            yield row | {"ci_low": low, "ci_high": high}

    def _summed(self, units: np.ndarray, numbers: np.ndarray | None = None) -> np.ndarray:
        """The numbers of some units summed by document, or how many units it has."""
        weights = None if numbers is None else numbers[units]
        return np.bincount(self.document[units], weights=weights, minlength=self.count)

    def _slices(
        self, by: str | Mapping[str, str]
    ) -> Iterator[tuple[str | None, np.ndarray, np.ndarray]]:
        """Of each row its name, its units, and those it is of whatever became of them."""
        if not isinstance(by, str):
            lines = [side for line in by.values() for side in (line, before(line))]
            units = [np.flatnonzero(fit) for fit in self.fits(lines)]
            yield from zip(by, units[::2], units[1::2], strict=True)
            return
        values, codes = self.column(by)
        if self._last[0] != by:
            ends = np.cumsum(np.bincount(codes, minlength=len(values) + 1))[:-1]
            self._last = (by, np.split(np.argsort(codes, kind="stable"), ends))
        none, *groups = self._last[1]
        everything = np.arange(self.height)
        for name, units in zip([*values, None], [*groups, none], strict=True):
            yield name, units, everything if by in FOLLOWING else units


def _ordered(values: list[pl.Series], number: dict[str, int], codes: list[np.ndarray]) -> Column:
    """A column whose codes are in the order of its values."""
    known = pl.concat([each.to_frame("value") for each in values], how="vertical_relaxed")
    known = known["value"].unique()
    ranked = sorted(range(len(known)), key=lambda at: order(known, known[at]))
    text = known.cast(pl.String)
    names = list(dict.fromkeys(text[at] for at in ranked))
    place = np.zeros(len(number) + 1, dtype=np.int64)
    place[[number[name] for name in names]] = np.arange(1, len(names) + 1)
    return Column(names, small(place[np.concatenate(codes)]))


def before(line: str) -> str:
    """What a line says of the forms and not of what became of them."""
    chosen = selection.read(line)
    return selection.text({n: values for n, values in chosen.items() if n not in FOLLOWING})
