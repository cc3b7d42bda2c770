"""Figures that papers published, to stand beside one's own and marked as theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from formlab import files, metrics, resources, selection
from formlab.charts.html import MISSING, number
from formlab.charts.words import NOTHING, OWN, PUBLISHED, Caption, Table
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
    definitions = _read("definitions").filter(table=name)
    definitions = definitions.select("column", measure="metric", average="average")
    kinds = pl.col("kind") if "kind" in printed.columns else pl.lit(None, pl.String)
    of_kind = pl.format("{} {}", kinds, "metric")
    column = pl.when(of_kind.is_in(definitions["column"].implode())).then(of_kind)
    printed = printed.with_columns(column.otherwise("metric").alias("_column"))
    joined = printed.join(
        definitions, left_on="_column", right_on="column", how="left", maintain_order="left"
    )
    return joined.drop("_column")


def cited(printed: pl.DataFrame, *, drawn: bool = True) -> str:
    """The sentence that tells published figures, `drawn` with open markers, from measured ones."""
    if not printed.height:
        return ""
    # Each paper once, with its tables.
    places: dict[str, list[str]] = {}
    for source in printed["source"].unique(maintain_order=True):
        paper, _, table = source.rpartition(", ")
        places.setdefault(paper or table, []).extend([table] if paper else [])
    papers = "; ".join(", ".join([paper, *tables]) for paper, tables in places.items())
    start = "Open markers are published figures, " if drawn else "Published figures are "
    return f"{start}on the forms of their paper and not on those measured here: {papers}."


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
    name = pl.format("{} on {}:{}", "system", "benchmark", "split")
    own = rows.with_columns(lines, name.alias("system"), kind=pl.lit(OWN))
    return pl.concat([own, printed.with_columns(kind=pl.lit(kind))], how="diagonal_relaxed")


def paper_table(
    own: pl.DataFrame,
    printed: pl.DataFrame,
    columns: Mapping[str, str],
    *,
    column: str = "metric",
    digits: int | Mapping[str, int] = 3,
    percent: bool = False,
    note: str = "",
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
        What the column named by `column` holds, in the order of the paper, to the heading.
    digits
        Decimals, of a share or of percent: of all columns, or by column, where 3 is the default.
    percent
        Whether values are shown in percent.
    note
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
    if not systems and not printed.height:
        return Caption(NOTHING, label="Note")
    scale = 100 if percent else 1
    decimals = digits if isinstance(digits, Mapping) else dict.fromkeys(columns, digits)
    known = own.filter(pl.col("value").is_not_nan()).to_dicts()
    strong = [(systems.index(row["system"]), row[column]) for row in known if row["mark"] == "best"]
    ranked = {name for _, name in strong}
    rows: dict[str, dict[str, str]] = {name: {} for name in systems}
    signs = set()
    for row in known:
        name = row[column]
        sign = {"near": NEAR, None: UNTESTED}.get(row["mark"], "") if name in ranked else ""
        signs |= {sign or row["mark"]}
        rows[row["system"]][name] = _measured(row, sign, decimals.get(name, 3), scale)
    for row in printed.to_dicts():
        text = number(row["value"] and row["value"] * scale, decimals.get(row[column], 3))
        rows.setdefault(f"{row['system']} ({PUBLISHED})", {})[row[column]] = text
    scored = [{"system": name} | dict.fromkeys(columns, MISSING) | rows[name] for name in rows]
    measures, unstated = _measures(own, printed, columns, column)
    sides = enumerate(("metric", "average") if measures else ())
    scored += [{"system": n} | {key: measures[key][at] for key in measures} for at, n in sides]
    claims = {
        "In brackets the 95 % interval by documents.": known,
        "n: the cases with a value; of a mean over documents, the documents.": known
        and "n_cases" in own.columns,
        "Bold: the best of those measured here.": strong,
        f"{NEAR}: no difference from the best was shown.": NEAR in signs,
        "No sign: shown to be worse than the best.": "worse" in signs,
        f"{UNTESTED}: not tested against the best, of other fields.": UNTESTED in signs,
        f"The paper does not say how it averages {', '.join(unstated)}.": unstated,
        note: note,
    }
    return Table(
        pl.DataFrame(scored, schema=dict.fromkeys(["system", *columns], pl.String)),
        # An arrow at the end of a heading stays with its last word.
        titles={key: re.sub(" (?=[↑↓]$)", "\u00a0", head) for key, head in columns.items()},
        note=" ".join(text for text, holds in claims.items() if holds) or None,
        strong=strong,
        aside=tuple(range(len(systems), len(scored))),
        numeric=list(columns),
        # Published systems have no cases.
        cases=selection.of_rows(pl.DataFrame({"system": systems}, schema={"system": pl.String}))
        + [None] * (len(scored) - len(systems)),
    )


def _measures(
    own: pl.DataFrame, printed: pl.DataFrame, columns: Mapping[str, str], column: str
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Metric and average of each column that has one, and the headings that state no average."""
    measures, unstated = {}, []
    for key, head in columns.items():
        here, there = (
            frame.filter(pl.col(column) == key)
            .select("^(metric|measure|average)$")
            .unique()
            .sort(pl.all())
            .to_dicts()
            for frame in (own, printed)
        )
        for row in there:
            row["metric"], average = row.get("measure") or row["metric"], row.get("average")
            if average == NOT_STATED:
                unstated.append(head.rstrip(" ↑↓"))
            for one in here:
                differs = average not in (None, NOT_STATED) and average != _average(one)
                if differs or one["metric"] != row["metric"]:
                    raise DataBroken(
                        f"column {key!r}: published is {row['metric']}, {average}; "
                        f"measured here {one['metric']}, {_average(one)}",
                        remedy="the published metric and average, or no published figures",
                    )
        for row in (*here, *there):
            if row["metric"] in metrics.METRICS:
                measures.setdefault(key, (row["metric"], _average(row)))
    return measures, list(dict.fromkeys(unstated))


def _average(row: Mapping[str, Any]) -> str:
    """How a score of a summary, or a published one, is averaged."""
    over_documents = row.get("average") in (metrics.MACRO, OVER_DOCUMENTS)
    return OVER_DOCUMENTS if over_documents else metrics.get(row["metric"]).average


def _measured(row: Mapping[str, Any], sign: str, digits: int, scale: int) -> str:
    """A value with the number of cases behind it, its interval and its sign."""
    numbers = [row[name] for name in ("value", "ci_low", "ci_high")]
    text, low, high = (number(value and value * scale, digits) for value in numbers)
    if row.get("n_cases") is not None:
        over = "n_docs" if row.get("average") == metrics.MACRO else "n_cases"
        text += f" (n = {row[over] - (row.get('n_undefined') or 0):,})"
    if low != MISSING:
        text += f" [{low}, {high}]"
    return f"{text} {sign}".rstrip()


def published_levels() -> pl.DataFrame:
    """Published figures by level, no intervals; `why` says why one stands beside no own value.

    `metric` is formlab's, which is the paper's in that `mode` (``data/published/levels.csv``).

    Examples
    --------
    >>> sorted(published_levels().filter(why="")["metric"].unique())
    ['consistency_accuracy', 'episodic_click', 'episodic_value', 'micro_f1', 'vqa_accuracy']
    """
    tables = []
    for level in _read("levels").fill_null("").to_dicts():
        rows = published(level["table"])
        for name, _, wanted in (part.partition("=") for part in level["where"].split("&")):
            rows = rows.filter(pl.col(name) == wanted) if name else rows
        benchmark = level["table"].partition("_")[0]
        names = {name: level[name] for name in ("level", "metric", "mode", "why")}
        names |= {"benchmark": benchmark}
        corpus = pl.format(", {}", "corpus") if "corpus" in rows.columns else pl.lit("")
        tables.append(
            rows.select(
                "source",
                system=pl.format("{} on {}{}", "system", pl.lit(benchmark), corpus),
                value=pl.col(level["column"]).cast(pl.Float64) / float(level["scale"]),
                **{name: pl.lit(text) for name, text in names.items()},
            )
        )
    return pl.concat(tables)
