"""Figures that papers published, to stand beside one's own and marked as theirs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from formlab import files, metrics, resources, selection
from formlab.charts._output import MISSING, number
from formlab.charts._parts import NOTHING, OWN, PUBLISHED, note
from formlab.charts.show import Caption, Table
from formlab.errors import DataBroken, UnknownName

FOLDER = resources.folder("data/published")
NEAR, UNTESTED = "≈", "°"
OVER_DOCUMENTS, NOT_STATED = "mean over documents", "not stated"


def published(*names: str) -> pl.DataFrame:
    """Published tables, files of ``data/published``, below each other.

    Their text is as printed, `value` a number, and percent a ratio. Where a column names metrics,
    `measure` is what formlab calls the same score in a summary and `average` how the paper averages
    it (``data/published/definitions.csv``).

    Examples
    --------
    >>> table = published("formcraft_table3", "formcraft_table4")
    >>> table.filter(system="GPT-5", metric="vqa_accuracy")["value"].round(4).to_list()
    [0.7913]
    >>> table.filter(system="GPT-5", metric="bleu").select("measure", "average").rows()
    [('bleu_of_fields', 'mean over fields')]
    """
    return pl.concat([_read(name) for name in names], how="diagonal_relaxed")


def _read(name: str) -> pl.DataFrame:
    known = [file.stem for file in sorted(FOLDER.glob("*.csv"))]
    if name not in known:
        raise UnknownName.of("published table", name, known)
    text = files.read_text(FOLDER / f"{name}.csv")
    table = pl.read_csv(text.encode(), infer_schema=False)
    table = table.with_columns(pl.col("^value$").cast(pl.Float64))
    if "unit" in table.columns:
        share = pl.when(unit="percent").then(pl.col("value") / 100).otherwise("value")
        table = table.with_columns(share.alias("value"), pl.col("unit").replace("percent", "ratio"))
    return defined(table, name) if {"metric", "system"} <= {*table.columns} else table


def defined(printed: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows of the published table `name`, by `metric`, with `measure` and `average` beside them."""
    known = {row["column"]: row for row in _read("definitions").filter(table=name).to_dicts()}
    kinds = printed["kind"] if "kind" in printed.columns else [None] * printed.height
    found = [
        known.get(f"{kind} {metric}") or known.get(metric) or {}
        for kind, metric in zip(kinds, printed["metric"], strict=True)
    ]
    return printed.with_columns(
        pl.Series(name, [row.get(of) for row in found], pl.String)
        for name, of in {"measure": "metric", "average": "average"}.items()
    )


def citation(printed: pl.DataFrame) -> str:
    """Where published rows were printed: each paper once, with its tables.

    Examples
    --------
    >>> citation(published("formcraft_table3"))[-27:]
    'review), Table 3a, Table 3b'
    """
    places: dict[str, list[str]] = {}
    for source in printed["source"].unique(maintain_order=True):
        paper, _, table = source.rpartition(", ")
        places.setdefault(paper or table, []).extend([table] if paper else [])
    return "; ".join(", ".join([paper, *tables]) for paper, tables in places.items())


def cited(printed: pl.DataFrame, *, drawn: bool = True) -> str:
    """The sentence that tells published figures, `drawn` with open markers, from measured ones."""
    if not printed.height:
        return ""
    what = "Open markers are published figures, " if drawn else "Published figures are "
    return f"{what}on the forms of their paper and not on those measured here: {citation(printed)}."


def beside(rows: pl.DataFrame, printed: pl.DataFrame, kind: str = PUBLISHED) -> pl.DataFrame:
    """Rows of a summary above published ones, told apart by the column `kind`.

    The `system` of those measured here says on which forms.

    Examples
    --------
    >>> own = pl.DataFrame({"system": ["ocr"], "benchmark": ["b"], "split": ["s"], "value": [0.5]})
    >>> beside(own, pl.DataFrame({"system": ["GPT-5"], "value": [0.9]}))["system"].to_list()
    ['ocr on b:s', 'GPT-5']
    """
    # Their lines are made before systems get other names; published figures have no cases.
    lines = pl.Series(selection.LINES, selection.of_rows(rows), dtype=pl.String)
    own = rows.with_columns(
        lines,
        pl.format("{} on {}:{}", "system", "benchmark", "split").alias("system"),
        pl.lit(OWN).alias("kind"),
    )
    theirs = printed.with_columns(pl.lit(kind).alias("kind"))
    return pl.concat([own, theirs], how="diagonal_relaxed")


def paper_table(
    own: pl.DataFrame,
    printed: pl.DataFrame,
    columns: Mapping[str, str],
    *,
    column: str = "metric",
    digits: int | Mapping[str, int] = 3,
    percent: bool = False,
    note_below: str = "",
) -> Table | Caption:
    """A paper's own table, models by scores: systems measured here first, published ones below.

    The last rows say of each column which metric it is and how it is averaged, and each value is
    followed by the number of cases behind it: those that have a value, and of a mean over documents
    the documents.

    Parameters
    ----------
    own
        Rows of `analysis.side_by_side`, one for each system and column.
    printed
        Published rows with `system` and `value`, in the same units; where they have `measure` and
        `average`, as from `published`, these have to be those of `own`.
    columns
        What the column named by `column` holds, in the order of the paper, to the heading; an arrow
        at its end stays with its last word.
    digits
        Decimals, of a share or of percent: of all columns, or by column, where 3 is the default.
    percent
        Whether values are shown in percent.
    note_below
        A sentence under the table, after what the marks say.

    Raises
    ------
    DataBroken
        If published figures of a column are of another metric than those measured here, or averaged
        in another way, or if a system has both averages of a column.

    Examples
    --------
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
    systems = own["system"].unique(maintain_order=True).to_list()
    theirs = printed["system"].unique(maintain_order=True).to_list()
    if not systems and not theirs:
        return note(NOTHING)
    measures, not_stated = _measures(own, printed, columns, column)
    if percent:
        numbers = pl.col("^(value|ci_low|ci_high)$") * 100
        own, printed = own.with_columns(numbers), printed.with_columns(numbers)
    known = own.filter(pl.col("value").is_not_nan()).iter_rows(named=True)
    cells = {(row["system"], row[column]): row for row in known}
    quoted = {(r["system"], r[column]): r["value"] for r in printed.iter_rows(named=True)}
    best = [at for at, cell in cells.items() if cell["mark"] == "best"]
    ranked = {key for _, key in best}
    sign = {"near": NEAR, None: UNTESTED}
    signs = {at: sign.get(cell["mark"], "") for at, cell in cells.items() if at[1] in ranked}
    decimals = digits if isinstance(digits, Mapping) else dict.fromkeys(columns, digits)
    texts = {
        at: _measured(cell, signs.get(at, ""), decimals.get(at[1], 3)) for at, cell in cells.items()
    }
    rows = [
        {"system": name} | {key: texts.get((name, key), MISSING) for key in columns}
        for name in systems
    ]
    rows += [
        {"system": f"{name} ({PUBLISHED})"}
        | {key: number(quoted.get((name, key)), decimals.get(key, 3)) for key in columns}
        for name in theirs
    ]
    if any(measures.values()):
        for at, name in enumerate(("metric", "average")):
            said = {key: measure[at] for key, measure in measures.items() if measure}
            rows.append({"system": name} | dict.fromkeys(columns) | said)
    unstated = ", ".join(columns[key].rstrip(" ↑↓") for key in not_stated)
    counted = "n_cases" in own.columns
    marks = {cell["mark"] for cell in cells.values()}
    claims = (
        ("In brackets the 95 % interval by documents.", cells),
        ("n: the cases with a value; of a mean over documents, the documents.", counted and cells),
        ("Bold: the best of those measured here.", best),
        (f"{NEAR}: no difference from the best was shown.", "near" in marks),
        ("No sign: shown to be worse than the best.", "worse" in marks),
        (f"{UNTESTED}: not tested against the best, of other fields.", UNTESTED in signs.values()),
        (f"The paper does not say how it averages {unstated}.", unstated),
        (note_below, note_below),
    )
    return Table(
        pl.DataFrame(rows, schema=dict.fromkeys(["system", *columns], pl.String)),
        titles={key: re.sub(" (?=[↑↓]$)", "\u00a0", head) for key, head in columns.items()},
        note=" ".join(text for text, holds in claims if holds) or None,
        strong=tuple((systems.index(name), key) for name, key in best),
        aside=tuple(range(len(systems), len(rows))), numeric=tuple(columns),
        # Published systems have no cases.
        cases=[
            *selection.of_rows(pl.DataFrame({"system": systems})),
            *[None] * (len(rows) - len(systems)),
        ],
    )  # fmt: skip


def _measures(
    own: pl.DataFrame, printed: pl.DataFrame, columns: Mapping[str, str], column: str
) -> tuple[dict[str, tuple[str, str] | None], list[str]]:
    """Metric and average of each column, None if there is none, and those that state no average."""
    measures, not_stated = {}, []
    names = ["metric", "measure", "average"]
    for key in columns:
        ours, theirs = (
            frame.filter(pl.col(column) == key)
            .select(name for name in names if name in frame.columns)
            .unique()
            .sort(pl.all())
            .to_dicts()
            for frame in (own, printed)
        )
        for row in theirs:
            row["metric"], average = row.get("measure") or row["metric"], row.get("average")
            not_stated += [key] if average == NOT_STATED and key not in not_stated else []
            for each in ours:
                differs = average not in (None, NOT_STATED) and average != _average(each)
                if differs or each["metric"] != row["metric"]:
                    raise DataBroken(
                        f"column {key!r}: published is {row['metric']}, {average}; "
                        f"measured here {each['metric']}, {_average(each)}",
                        remedy="the published metric and average, or no published figures",
                    )
        known = [row for row in (*ours, *theirs) if row["metric"] in metrics.METRICS]
        measures[key] = (known[0]["metric"], _average(known[0])) if known else None
    return measures, not_stated


def _average(row: Mapping[str, Any]) -> str:
    """How a score of a summary, or a published one, is averaged."""
    over_documents = row.get("average") in (metrics.MACRO, OVER_DOCUMENTS)
    return OVER_DOCUMENTS if over_documents else metrics.get(row["metric"]).average


def _measured(cell: Mapping[str, Any], sign: str, digits: int) -> str:
    """A value with the number of cases behind it, its interval and its sign."""
    text = number(cell["value"], digits)
    if cell.get("n_cases") is not None:
        over = "n_docs" if cell.get("average") == metrics.MACRO else "n_cases"
        text += f" (n = {cell[over] - (cell.get('n_undefined') or 0):,})"
    if cell["ci_low"] is not None and not math.isnan(cell["ci_low"]):
        text += f" [{number(cell['ci_low'], digits)}, {number(cell['ci_high'], digits)}]"
    return f"{text} {sign}".rstrip()


# Level, published table, its rows, their column, formlab's metric and the column's scale; then the
# mode in which that is the paper's metric, or why there is none.
_PRINTED = (
    ("reading", "fincriticaled_table4", {}, "fact_accuracy", "fact_accuracy", 1, "official",
     "a language model judged the facts"),
    ("locating", "vrdu_table3", {"task": "mixed", "train_size": "200", "metric": "micro_f1"},
     "value", "micro_f1", 1, "official", ""),
    ("locating", "formfactory_table2", {"kind": "Episodic", "metric": "click"}, "value",
     "episodic_click", 100, "official", ""),
    ("structuring", "formcraft_table4", {"metric": "tree_edit_distance"}, "value",
     "tree_edit_distance", 1, "official",
     "a distance grows with the form, and the forms are others"),
    ("relating", "formcraft_table4", {"metric": "vqa_accuracy"}, "value", "vqa_accuracy", 1,
     "fixed", ""),
    ("relating", "formcraft_table4", {"metric": "consistency_accuracy"}, "value",
     "consistency_accuracy", 1, "fixed", ""),
    ("acting", "formfactory_table2", {"kind": "Episodic", "metric": "value"}, "value",
     "episodic_value", 100, "official", ""),
)  # fmt: skip


def published_levels() -> pl.DataFrame:
    """Published figures by level, no intervals; `why` says why one stands beside no own value.

    `metric` is formlab's, which is the paper's in that `mode`.

    Examples
    --------
    >>> sorted(published_levels().filter(why="")["metric"].unique())
    ['consistency_accuracy', 'episodic_click', 'episodic_value', 'micro_f1', 'vqa_accuracy']
    """
    tables = []
    for level, file, where, column, metric, scale, mode, why in _PRINTED:
        rows = published(file).filter(**where)
        names = {"level": level, "benchmark": file.partition("_")[0], "metric": metric}
        names |= {"mode": mode, "why": why}
        rows = rows.with_columns(**{name: pl.lit(text) for name, text in names.items()})
        corpus = pl.format(", {}", "corpus") if "corpus" in rows.columns else pl.lit("")
        tables.append(rows.select(
            *names, "source", system=pl.format("{} on {}{}", "system", "benchmark", corpus),
            value=pl.col(column).cast(pl.Float64) / scale,
        ))  # fmt: skip
    return pl.concat(tables)
