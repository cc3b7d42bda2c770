"""To look around without a kernel: rates by a column, filters, cases, and the Python of it all."""

import base64
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from formlab import analysis, gallery, metrics, selection, tables
from formlab.analysis import Finding
from formlab.analysis.finding import origin
from formlab.analysis.slices import COLUMNS
from formlab.charts import theme
from formlab.charts.escaping import clean
from formlab.charts.words import slice_title
from formlab.errors import DataMissing, UnknownName
from formlab.folders import Evaluation
from formlab.gallery.cases import findings_of
from formlab.gallery.inline import Live
from formlab.metrics import ratio
from formlab.scoring.bands import BANDS, sliced
from formlab.stats.draws import by_document, estimate

__all__ = ["Explorer", "cases", "rates"]

# How a measure is called and drawn: its largest value, and whether the smaller is the better.
MEASURES = {
    "outcome": {"title": "share right", "high": 1, "down": False, "percent": True},
    "errors": {"title": "errors per value", "high": None, "down": True, "percent": True},
}
# What a field turned out to be. A rate of errors counts those that fit, among all values.
FOLLOWING = ("outcome", "cause", "status", "finding")
# A column with more values than this has names and no groups; documents are welcome all the same.
_MOST_VALUES = 60
RATES = tables.schema(
    "benchmark split system metric slice_by slice_value value:number ci_low:number ci_high:number "
    "n_docs:int n_cases:int"
)


class _Units:
    """What is counted of an evaluation: its fields; `source` is the Python that opens it."""

    def __init__(self, evaluation: Evaluation, source: str = "") -> None:
        names = evaluation.document_names
        self.evaluation, self.cases, self.source = evaluation, evaluation.fields, source
        self.document = self.cases["doc_id"].cast(pl.Enum(names)).to_physical().to_numpy()
        self.n_documents = len(names)
        # The scores of the fields, one by one.
        level = pl.col("level").is_in(tables.FIELD_LEVELS)
        self.scores = evaluation.scores.filter(level, pl.col("slice_by").is_null())

    @functools.cached_property
    def measures(self) -> dict[str, dict[str, Any]]:
        """Its measures by name, each as those of `MEASURES`."""
        found = {name: how for name, how in MEASURES.items() if self.tally(name)[:, 1].any()}
        for name in self.scores["metric"].unique(maintain_order=True):
            if (metric := metrics.get(name)).score is ratio:
                look = {"high": metric.high, "down": metric.direction == "down", "percent": False}
                found[name] = {"title": metrics.title(name)} | look
        return found

    @property
    def columns(self) -> pl.DataFrame:
        """The columns that have groups, and the document, as texts."""
        offered = dict.fromkeys([*FOLLOWING[:3], *COLUMNS, *BANDS, *self.evaluation.own])
        grouped = [self.cases["doc_id"].cast(pl.String)]
        for name in offered:
            values = sliced(self.cases, self.evaluation.documents, name)
            if not values.dtype.is_nested() and 1 < values.n_unique() <= _MOST_VALUES:
                grouped.append(values.cast(pl.String))
        return pl.DataFrame(grouped)

    def tally(self, measure: str) -> np.ndarray:
        """Hits and total of each field, shape (fields, 2), both 0 where it is not scored."""
        if measure in MEASURES:
            wrong = ~pl.col("outcome").is_in(["match", "unscored"])
            asked = pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored")
            hits = wrong if measure == "errors" else asked & ~wrong
            numbers = self.cases.select(hits=hits, total=asked)
        elif measure not in metrics.METRICS or metrics.get(measure).score is not ratio:
            raise UnknownName.of("measure of fields", measure, self.measures)
        else:
            key = ["doc_id", "path"]
            scores = self.scores.filter(metric=measure).unique(key, keep="first")
            numbers = self.cases.select(key).join(scores, on=key, how="left", maintain_order="left")
        numbers = numbers.select(pl.col("hits", "total").cast(float))
        return numbers.fill_nan(None).fill_null(0.0).to_numpy()


def cases(
    evaluation: Evaluation, line: str = "", *, findings: Sequence[Finding] = ()
) -> pl.DataFrame:
    """The fields that a line selects, right ones among them, as `analysis.select` takes it.

    >>> result = analysis.open_evaluation()
    >>> cases(result).height, cases(result, "slice=kind:header")["kind"].unique().to_list()
    (499, ['header'])
    """
    fields = dataclasses.replace(evaluation, cases=evaluation.fields)
    return analysis.select(fields, line, findings=findings)


def rates(
    evaluations: Sequence[Evaluation],
    *,
    by: str,
    measure: str = "outcome",
    line: str = "",
    findings: Sequence[Finding] = (),
    **draws: Any,
) -> pl.DataFrame:
    """A measure of one evaluation or several by the values of a column, with intervals.

    `by` is a column of *cases* or *documents*, a band or ``position``. Of the measures ``outcome``
    is the share of gold values that are right, ``errors`` the number of wrong values over that of
    gold values; others are metrics of single fields that are hits of a total. `line` says which
    cases, see `formlab.selection`, of these `findings`; for ``errors`` what it says of outcome,
    cause and status chooses which errors are counted, and not among which values. `draws` are
    `resamples`, `level` and `seed` of the percentile intervals over documents.

    The result has the schema `RATES`: the measure, NaN where it has no value, over `n_cases` values
    in `n_docs` documents, of which an interval takes two. `UnknownName` if there is no such column
    or measure; `DataBroken` if the line cannot be read.

    >>> rates(analysis.open_evaluation(), by="kind", line="slice=length:1–4")["n_cases"].sum()
    125
    """
    before = {n: values for n, values in selection.read(line).items() if n not in FOLLOWING}
    is_after, is_errors, rows = by in FOLLOWING, measure == "errors", []
    for units in map(_Units, evaluations):
        every = np.arange(units.cases.height)
        numbered = dataclasses.replace(units.evaluation, cases=units.cases.with_row_index("_unit"))
        fit, among = (
            np.isin(every, analysis.select(numbered, text, findings=findings)["_unit"])
            for text in (line, selection.text(before))
        )
        values = sliced(units.cases, units.evaluation.documents, by)
        hits, total = units.tally(measure).T
        ranked, values = values.unique().sort(nulls_last=True), values.cast(pl.String)
        for value in ranked.cast(pl.String).unique(maintain_order=True):
            same = values.eq_missing(value).to_numpy()
            hit = same & fit
            # Errors are counted among all values, whatever became of them.
            base = among & (is_after | same) if is_errors else hit
            if not (hit & (hits > 0) if is_errors and is_after else base).any():
                continue
            part = by_document(units.document, [hits * hit, total * base], units.n_documents)
            rate, *ends = estimate(part, ratio, **draws)
            taken = units.document[base & (total > 0)]
            n_docs = len(np.unique(taken))
            # Of a single document there is no interval.
            ends = ends if n_docs > 1 else [np.nan, np.nan]
            named = origin(units.evaluation).values()
            rows.append((*named, measure, by, value, rate, *ends, n_docs, len(taken)))
    return pl.DataFrame(rows, schema=RATES, orient="row")


class Explorer(Live):
    """Evaluations to look around in; shows itself in JupyterLab and in reports.

    Without `evaluations` they are those of the samples; the attribute of this name has those with
    scores of fields, by name. `findings` are those that the report shows, in its order, for
    ``finding=2`` in an address, and may be set later. At most `most` wrong cases are in the
    gallery; of more, a sample by cause. `DataMissing` if no evaluation has any.

    >>> str(Explorer([analysis.open_evaluation()]))
    'Explorer of 1. ocr on funsd:test'
    """

    kind = "explorer"

    def __init__(
        self,
        evaluations: Evaluation | Sequence[Evaluation] = (),
        *,
        findings: Sequence[Finding] = (),
        most: int = 1_000,
    ) -> None:
        self.findings, self.most = list(findings), most
        whose = "evaluations" if evaluations else "analysis.open_all()"
        several = [evaluations] if isinstance(evaluations, Evaluation) else evaluations
        opened = enumerate(several or analysis.open_all())
        units = (_Units(one, f"{whose}[{n}]") for n, one in opened)
        self._units = [each for each in units if each.measures]
        if not self._units:
            raise DataMissing("no evaluation with scored fields", remedy="formlab score … --out")
        counted = enumerate((each.evaluation for each in self._units), start=1)
        self.evaluations = {f"{n}. {e.system} on {e.benchmark}:{e.split}": e for n, e in counted}

    def __str__(self) -> str:
        return f"Explorer of {', '.join(self.evaluations)}"

    @property
    def payload(self) -> dict[str, Any]:
        """What ``explorer.js`` draws: columns and measures as codes of units, and a gallery."""
        of, findings, every = list(self.evaluations.values()), self.findings, self._units
        cases = pl.concat([units.cases for units in every], how="diagonal_relaxed")
        cases = cases.with_row_index("_unit")
        shown = gallery.errors(cases, of=of, findings=findings, most=self.most)
        values = pl.concat([units.columns for units in every], how="diagonal")
        columns = [_coded(column) for column in values]
        if findings:
            numbers = (",".join(map(str, row)) or None for row in findings_of([cases], findings))
            column = _coded(pl.Series("finding", numbers, dtype=pl.String))
            # The values of findings are sets of numbers.
            columns.append(column | {"values": [value.split(",") for value in column["values"]]})
        named, measures = {n: look for of in every for n, look in of.measures.items()}, []
        for name, look in named.items():
            tallies = np.concatenate([units.tally(name) for units in every])
            pairs, codes = np.unique(tallies, axis=0, return_inverse=True)
            counted = {"pairs": pairs.tolist(), "codes": _packed(codes.ravel())}
            measures.append({"name": name} | look | counted)
        return {
            "evaluations": [
                {"name": name, "source": units.source, "system": units.evaluation.system}
                | {"units": units.cases.height, "documents": units.n_documents}
                for name, units in zip(self.evaluations, every, strict=True)
            ],
            "document": _packed(np.concatenate([units.document for units in every])),
            "colours": theme.system_colours(sorted({one.system for one in of})),
            "columns": columns,
            "measures": measures,
            "first": {"by": "kind" if "kind" in values else "doc_id", "measure": next(iter(named))},
            "cards": shown.frame["_unit"].to_list(),
            "gallery": shown.payload,
        }


def _coded(values: pl.Series) -> dict[str, Any]:
    """A column as its values in order, and the codes of all units; 0 is no value."""
    name, known = values.name, values.drop_nulls().unique().sort().to_list()
    if name in BANDS:
        known.sort(key=BANDS[name].labels.index)
    codes = values.cast(pl.Enum(known)).to_physical().cast(pl.Int64) + 1
    return {
        "name": name,
        "title": slice_title(name),
        "values": [clean(value, limit=None) for value in known],
        "codes": _packed(codes.fill_null(0)),
        "after": name in FOLLOWING,
    }


def _packed(numbers: Any) -> str:
    """Whole numbers as base64 of one, two or four bytes each, for which a list has a node each."""
    numbers = np.asarray(numbers)
    kind = np.min_scalar_type(numbers.max(initial=0)).newbyteorder("<")
    return base64.b64encode(numbers.astype(kind).tobytes()).decode("ascii")


tables.door(globals(), __all__)
