"""Captions and tables: what stands between the charts, also from papers, in plain words."""

import dataclasses
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import polars as pl
from IPython.display import display

from formlab import metrics, resources, tables
from formlab.analysis.finding import counted as _counted
from formlab.charts.html import ASSETS, MISSING, Shown, number
from formlab.errors import DataBroken, UnknownName
from formlab.scoring.bands import BANDS
from formlab.selection import LINES, of_rows
from formlab.selection import text as line_of

OWN, PUBLISHED = "measured here", "published"
NOTHING = "Nothing was scored for it."
# Tables that papers print, and how these say that they average.
FOLDER = resources.folder("data/published")
OVER_DOCUMENTS, NOT_STATED = "mean over documents", "not stated"
# The texts of tables and charts that stand in no sentence.
WORDING = tomllib.loads((ASSETS / "wording.toml").read_text("utf-8"))


def words(column: str, titles: Mapping[str, str] | None = None) -> str:
    """What readers call a column: its title, or its name with underscores as spaces."""
    return (titles or {}).get(column) or WORDING["titles"].get(column) or column.replace("_", " ")


def slice_title(column: str) -> str:
    """What readers call a column that cases are sliced by: of a band, what it is of."""
    title = BANDS[column].title if column in BANDS else words(column)
    return f"length ({title})" if column == "length" else title


def sentences(*claims: object) -> str:
    """Claims as sentences, without empty ones: ``sentences("One", None, "Two.")``, “One. Two.”."""
    texts = [str(claim).strip() for claim in claims if claim is not None and str(claim).strip()]
    return " ".join(text if text[-1] in ".!?" else f"{text}." for text in texts)


@dataclasses.dataclass(frozen=True)
class Caption(Shown):
    """The caption of the object below it; reports number each `label` from 1.

    `settings` says how the score was computed; it is printed small beside the text.

    >>> print(Caption("CER falls with scan quality", settings="funsd:test|cer"))
    Figure. CER falls with scan quality [funsd:test|cer]
    """

    kind: ClassVar[str] = "caption"
    text: str
    label: Literal["Figure", "Table", "Note"] = "Figure"
    settings: str | None = None


def note(text: str) -> Caption:
    """One line in the place of a chart or table that has nothing to show."""
    return Caption(text, label="Note")


def caption(
    say: str,
    rows: pl.DataFrame | None = None,
    *,
    name: str | None = None,
    label: Literal["Figure", "Table"] = "Figure",
    more: str = "",
    settings: str | None = None,
) -> Caption:
    """What a figure or table shows, with the values it speaks of, their intervals, n and settings.

    `say` is what is shown, without numbers; they are added from `rows`, rows of a summary. `name`
    is the column that says what each value is of; its metric and level, if left out. `more` are
    sentences that follow; `settings` are those of scores that are not in `rows`.

    >>> rows = pl.DataFrame({"system": ["ocr"], "metric": ["cer"], "value": [0.25],
    ...     "ci_low": [0.2], "ci_high": [0.3], "n_docs": [9], "n_cases": [80]})
    >>> print(caption("Errors.", rows, name="system"))
    Figure. Errors. Values: ocr 0.250 (95 % interval 0.200 to 0.300, n = 80 in 9 documents).
    """
    values: dict[str, list[str]] = {}
    read = pl.DataFrame() if rows is None else tables.readable(rows)
    for row in read.iter_rows(named=True):
        over, of = "Values", row.get(name)
        if not name:
            over = "Over " + (row["slice"] if row.get("slice_by") else f"all {row['level']}s")
            of = metrics.title(row["metric"], row.get("average"))
        value = "undefined" if math.isnan(row["value"]) else number(row["value"])
        values.setdefault(over, []).append(f"{of} {value} ({span(row)})")
    numbers = "; ".join(f"{over}: {', '.join(texts)}" for over, texts in values.items())
    numbers = numbers or ("" if rows is None else NOTHING)
    if "settings" in read.columns:
        settings = "; ".join(read["settings"].drop_nulls().unique(maintain_order=True)) or settings
    return Caption(sentences(say, numbers, more), label=label, settings=settings)


def counted(row: Mapping[str, Any]) -> int | None:
    """The cases that a ratio is taken over: those whose own value is defined; None if unknown.

    Of a mean over documents, `n_undefined` counts documents; other scores pool all cases.
    """
    entry = metrics.METRICS.get(row.get("metric"))
    is_mean = row.get("average") == metrics.MACRO
    if entry is None or is_mean or entry.score is not metrics.ratio or row["n_cases"] is None:
        return row["n_cases"]
    return row["n_cases"] - (row.get("n_undefined") or 0)


def span(row: Mapping[str, Any]) -> str:
    """The interval and counts of one row of a summary, in words."""
    counts, low = _counted(row["n_docs"], "document"), row.get("ci_low")
    if row.get("n_cases") is not None:
        counts = f"{counted(row):,} in {counts}"
    if low is None or math.isnan(low):
        return f"n = {counts}"
    return f"95 % interval {number(low)} to {number(row['ci_high'])}, n = {counts}"


def show(say: str, *things: Any, rows: pl.DataFrame | None = None, **look: Any) -> None:
    """Display charts, tables and galleries under one caption that says what they show.

    Reports number the captions, tables and figures apart. Where there is nothing but notes, the
    first of them stands alone, and nothing where there are no things. `rows` and `look`, which is
    `name`, `more` and `settings`, are as of `caption`.

    >>> show("Errors.", note("Nothing was scored."))
    Note. Nothing was scored.
    """
    # Of notes alone the first says enough.
    parts = things[:1]
    if not all(isinstance(thing, Caption) for thing in things):
        label = "Table" if any(isinstance(thing, Table) for thing in things) else "Figure"
        parts = (caption(say, rows, label=label, **look), *things)
    for part in parts:
        display(part)


@dataclasses.dataclass(frozen=True, eq=False)
class Table(Shown):
    """A table as from `table`: the `frame` that is shown, and what its payload has of it."""

    kind: ClassVar[str] = "table"
    frame: pl.DataFrame
    data: dict[str, Any]


def table(
    frame: pl.DataFrame,
    *columns: str,
    titles: Mapping[str, str] = MappingProxyType({}),
    digits: int | Mapping[str, int] = 3,
    note: str = "",
    rows: int = 500,
    sparse: bool = False,
    strong: Sequence[tuple[int, str]] = (),
    aside: Sequence[int] = (),
    numeric: Sequence[str] = (),
    cases: Mapping[str, str] | None = None,
    fold: str = "",
    empty: str = NOTHING,
) -> Table | Caption:
    """A frame as a table for readers: titled columns, numbers in fixed digits, ``–`` for none.

    Without `columns` all are shown; `sparse` leaves out those in which nothing stands. `titles` are
    headings by column, beside the house's own; `digits` the decimals of floats, of all columns or
    by column, and p is written as one does; `note` is a line below, and `empty` one in place of a
    table without rows. At most so many `rows` are shown, and the note then says of how many.
    Printed bold are the cells `strong`, by number of the row and name of the column; in another
    style stand the rows `aside`, that are not measured here. `numeric` are columns of text that are
    right-aligned. `fold` are words behind which the table is folded away. Names of pages beside the
    report are links in a column `report`.

    `cases` leads a report from a row to its cases: the columns of cases, and those of `frame` that
    hold their values, shown or not. Without it ``slice_by`` and columns named as those of cases are
    taken; with {} no row leads anywhere.

    >>> print(table(pl.DataFrame({"kind": ["date"], "n_docs": [3], "p": [1e-9]})))
    kind  documents  p
    date          3  < 0.0001
    """
    if not frame.height:
        return Caption(empty, label="Note")
    head, plain = frame.head(rows), bool | int | float | None
    shown = head.select(columns or pl.exclude(LINES))
    shown = shown.select(name for name in shown.columns if frame[name].count() or not sparse)
    for name in {"p", "p_holm", "p_adjusted"} & {*shown.columns}:
        values = shown[name].fill_nan(None)
        texts = [p if p is None else "< 0.0001" if p < 0.0001 else number(p, 4) for p in values]
        shown = shown.with_columns(pl.Series(name, texts, dtype=pl.String))
    names = shown.columns
    places = digits if isinstance(digits, Mapping) else dict.fromkeys(names, digits)
    heads = [
        {
            "title": words(name, titles),
            "align": "right" if kind.is_numeric() or name in numeric else "left",
            "digits": places.get(name, 3) if kind.is_float() else None,
            "link": name == "report",
        }
        for name, kind in shown.schema.items()
    ]
    note += f" First {rows:,} of {frame.height:,} rows." * (rows < frame.height)
    data = {"columns": heads, "note": note.strip(), "fold": fold, "aside": list(aside)}
    data["rows"] = [[v if isinstance(v, plain) else str(v) for v in row] for row in shown.rows()]
    data["bold"] = [[row, names.index(name)] for row, name in strong if row < head.height]
    return Table(shown, data | {"cases": of_rows(head, cases)})


def published(*names: str) -> pl.DataFrame:
    """Published tables, files of ``data/published``, below each other.

    Their text is as printed, `value` a number, and percent a ratio. Where a column names metrics,
    `measure` is what formlab calls the same score in a summary and `average` how the paper averages
    it (``data/published/definitions.csv``).

    >>> table = published("formcraft_table3", "formcraft_table4")
    >>> table.filter(system="GPT-5", metric="vqa_accuracy")["value"].round(4).to_list()
    [0.7913]
    >>> table.filter(system="GPT-5", metric="bleu").select("measure", "average").rows()
    [('bleu_of_fields', 'mean over fields')]
    """
    found, known = [], sorted(file.stem for file in FOLDER.glob("*.csv"))
    for name in names:
        if name not in known:
            raise UnknownName.of("published table", name, known)
        printed = pl.read_csv(FOLDER / f"{name}.csv", infer_schema=False)
        printed = printed.with_columns(pl.col("^value$").cast(pl.Float64))
        if "unit" in printed.columns:
            value = pl.when(unit="percent").then(pl.col("value") / 100).otherwise("value")
            printed = printed.with_columns(pl.col("unit").replace("percent", "ratio"), value=value)
        is_of_metrics = {"metric", "system"} <= {*printed.columns}
        found.append(defined(printed, name) if is_of_metrics else printed)
    return pl.concat(found, how="diagonal_relaxed")


def defined(printed: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows of the published table `name`, by `metric`, with `measure` and `average` beside them."""
    known = pl.read_csv(FOLDER / "definitions.csv", infer_schema=False).filter(table=name)
    known = known.select(_column="column", measure="metric", average="average")
    # A table of several kinds may have a column of a metric for each of them.
    names = [pl.format("{} {}", "kind", "metric")] if "kind" in printed.columns else []
    names = [column.replace_strict(*[known["_column"]] * 2, default=None) for column in names]
    printed = printed.with_columns(_column=pl.coalesce(*names, "metric"))
    return printed.join(known, on="_column", how="left", maintain_order="left").drop("_column")


def cited(printed: pl.DataFrame, *, drawn: bool = True) -> str:
    """The sentence that tells published figures, `drawn` with open markers, from measured ones."""
    if not printed.height:
        return ""
    # Each paper once, with its tables.
    papers: dict[str, str] = {}
    for source in printed["source"].unique(maintain_order=True):
        paper, *_ = source.rsplit(", ", 1)
        papers[paper] = papers.get(paper, paper) + source.removeprefix(paper)
    places = "; ".join(papers.values())
    start = "Open markers are published figures, " if drawn else "Published figures are "
    return f"{start}on the forms of their paper and not on those measured here: {places}."


def beside(rows: pl.DataFrame, printed: pl.DataFrame, kind: str = PUBLISHED) -> pl.DataFrame:
    """Rows of a summary, whose `system` says on which forms, above published ones of this `kind`.

    >>> own = pl.DataFrame({"system": ["ocr"], "benchmark": ["b"], "split": ["s"], "value": [0.5]})
    >>> beside(own, pl.DataFrame({"system": ["GPT-5"], "value": [0.9]}))["system"].to_list()
    ['ocr on b:s', 'GPT-5']
    """
    # Their lines are made before systems get other names; published figures have no cases.
    lines = pl.Series(LINES, of_rows(rows), dtype=pl.String)
    system = pl.format("{} on {}:{}", "system", "benchmark", "split")
    own = rows.with_columns(lines, system=system, kind=pl.lit(OWN))
    return pl.concat([own, printed.with_columns(kind=pl.lit(kind))], how="diagonal_relaxed")


def paper_table(
    own: pl.DataFrame,
    printed: pl.DataFrame,
    columns: Mapping[str, str],
    *,
    column: str = "metric",
    digits: int | Mapping[str, int] = 3,
    note: str = "",
) -> Table | Caption:
    """A paper's own table, models by scores: systems measured here first, published ones below.

    The last rows say of each column which metric it is and how it is averaged; each value is
    followed by the number of cases with a value, or of a mean over documents by the documents.

    `own` are rows of `analysis.side_by_side`, one for each system and column; `printed` published
    rows with `system` and `value`, in the same units. `columns` is what the column named by
    `column` holds, in the order of the paper, to the heading. `digits` are the decimals of all
    columns, or by column, where 3 is the default; `note` is a sentence under the table.

    Raises `DataBroken` if published figures of a column are of another metric than those measured
    here, or averaged in another way, or if a system has both averages of a column.

    >>> own = pl.DataFrame({"system": ["ocr"], "metric": ["cer"], "value": [0.2], "ci_low": [0.1],
    ...                     "ci_high": [0.3], "mark": [None]})
    >>> printed = pl.DataFrame({"system": ["GPT-5"], "metric": ["cer"], "value": [0.21]})
    >>> print(paper_table(own, printed, {"cer": "CER"}))
    system                              CER
    ocr                0.200 [0.100, 0.300]
    GPT-5 (published)                 0.210
    metric                              cer
    average                          pooled
    """
    own, printed = (frame.filter(pl.col(column).is_in(list(columns))) for frame in (own, printed))
    at = ["system", column]
    if "average" in own.columns and own.n_unique(at) < own.n_unique([*at, "average"]):
        what = f"a system has several averages of one {column}"
        raise DataBroken(what, remedy='rows of one: .filter(average="pooled")')
    decimals = digits if isinstance(digits, Mapping) else dict.fromkeys(columns, digits)
    # Published systems have no cases.
    systems = own["system"].unique(maintain_order=True).to_list()
    rows = {name: {LINES: line_of({"system": [name]})} for name in systems}
    measured = own.filter(pl.col("value").is_not_nan())
    best = measured.filter(mark="best").select(at).rows()
    ranked = {name for _, name in best}
    theirs = printed.with_columns(pl.format("{} ({})", "system", pl.lit(PUBLISHED)).alias("system"))
    for row in [*measured.to_dicts(), *theirs.to_dicts()]:
        places = decimals.get(row[column], 3)
        value, *ends = (number(row.get(of), places) for of in ("value", "ci_low", "ci_high"))
        if row.get("n_cases") is not None:
            over = "n_docs" if row.get("average") == metrics.MACRO else "n_cases"
            value += f" (n = {row[over] - (row.get('n_undefined') or 0):,})"
        value += f" [{', '.join(ends)}]" * (ends[0] != MISSING)
        sign = {"near": " ≈", None: " °"}.get(row.get("mark", ""), "") * (row[column] in ranked)
        rows.setdefault(row["system"], {})[row[column]] = value + sign
    blank = dict.fromkeys(columns, MISSING)
    scored = [{"system": name} | blank | row for name, row in rows.items()]
    measures, unstated = _definitions([*own.to_dicts(), *printed.to_dicts()], column)
    for side, of in enumerate(("metric", "average") if measures else ()):
        scored.append({"system": of} | {key: pair[side] for key, pair in measures.items()})
    unsaid = dict.fromkeys(head.rstrip(" ↑↓") for key, head in columns.items() if key in unstated)
    averages = f"The paper does not say how it averages {', '.join(unsaid)}." if unsaid else ""
    return table(
        pl.DataFrame(scored, schema=dict.fromkeys(["system", *columns, LINES], pl.String)),
        # An arrow at the end of a heading stays with its last word.
        titles={key: re.sub(" (?=[↑↓]$)", "\u00a0", head) for key, head in columns.items()},
        note=" ".join([WORDING["paper"]["note"] * (measured.height > 0), averages, note]),
        strong=[(systems.index(system), name) for system, name in best],
        aside=range(len(systems), len(scored)),
        numeric=[*columns],
    )


def _definitions(
    rows: Sequence[Mapping[str, Any]], column: str
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Metric and average of each value of `column`, and those whose average no paper states."""
    known: dict[str, tuple[str, str]] = {}
    for row in rows:
        metric, average = row.get("measure") or row["metric"], row.get("average") or NOT_STATED
        entry = metrics.METRICS.get(metric)
        usual = entry.average if entry else NOT_STATED
        average = {metrics.MACRO: OVER_DOCUMENTS, metrics.POOLED: usual}.get(average, average)
        stated = usual if average == NOT_STATED else average
        here = known.setdefault(row[column], (metric, stated))
        if metric != here[0] or average not in (NOT_STATED, here[1]):
            raise DataBroken(
                f"column {row[column]!r}: published is {metric}, {average}; "
                f"measured here {', '.join(here)}",
                remedy="the published metric and average, or no published figures",
            )
    unstated = [row[column] for row in rows if row.get("average") == NOT_STATED]
    return {key: pair for key, pair in known.items() if pair[0] in metrics.METRICS}, unstated
