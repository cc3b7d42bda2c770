"""Two sides beside each other: systems, with fields that flip and tests; trees, line by line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from formlab import metrics, tables
from formlab.analysis.finding import word
from formlab.analysis.verdicts import OUTCOME
from formlab.charts import theme
from formlab.charts.escaping import clean
from formlab.charts.marks import dots
from formlab.charts.words import WORDING, Caption, Table, note, sentences, table
from formlab.trees import unescape

SHOWN, NOT_SHOWN = "a difference was shown", "none was shown"
# The most lines that are shown of a form, and of kept nodes that follow each other.
LINES, UNFOLDED = 60, 3
_INDENT, _DEEPEST, _CHARACTERS = "\u2003", 9, 60
# A row leads to the cases of its slice and its pair.
_PAIR = {"pair": "pair"}


def named(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of comparisons with `what`, the metric and slice, and `pair`: ``first → second``."""
    texts = []
    for row in rows.iter_rows(named=True):
        is_outcome = row["metric"] == OUTCOME
        title = "fields right" if is_outcome else metrics.title(row["metric"], row.get("average"))
        whole = [] if is_outcome else [f"all {row['level']}s"]
        of = [f"{row['slice_by']} {row['slice_value']}"] if row["slice_by"] else whole
        texts.append(word(", ".join([title, *of])))
    pair = pl.format("{} → {}", "system_a", "system_b")
    return rows.with_columns(pl.Series("what", texts, dtype=pl.String), pair=pair)


def difference_dots(rows: pl.DataFrame) -> Any:
    """By how much the first system is better: a dot and interval a metric and slice.

    `rows` are from `formlab.compare`. Each pair has a panel. Dots have the colour of the system
    that does better where `better` names one, and are hollow elsewhere. Metrics in units other than
    shares and error rates (pixels, edits a form) are left out: they share no axis; so are means
    over documents.
    """
    # Error rates are 1 where as much is wrong as there is to read.
    rates = [name for name, e in metrics.METRICS.items() if e.high == 1.0 or name in ("cer", "wer")]
    is_rate = pl.col("metric").is_in([OUTCOME, *rates])
    rows = named(rows).filter(pl.col("average").ne_missing("macro"), is_rate)
    shown = pl.when(pl.col("better").is_null()).then(pl.lit(NOT_SHOWN)).otherwise(pl.lit(SHOWN))
    rows = rows.with_columns(pl.col("better").fill_null(NOT_SHOWN), shown=shown)
    systems = dict.fromkeys(name for row in rows.select("^system_[ab]$").rows() for name in row)
    look = {"row": "pair", "kind": "shown", "filled": SHOWN, "zero": True, "cases": _PAIR}
    look |= {"colour": "better", "colours": theme.system_colours(systems)}
    look["colours"] |= {NOT_SHOWN: theme.NEUTRAL}
    return dots(rows, "what", "difference", **look, **WORDING["differences"])


def flip_table(matrix: pl.DataFrame, *, by: str) -> Table | Caption:
    """Fields that both systems get right, one alone, or none: all of them, and a row per slice.

    `matrix` is from `formlab.compare` by ``outcome``.
    """
    rows = named(matrix.filter(pl.col("slice_by").is_null() | (pl.col("slice_by") == by)))
    slices = pl.col("slice_value").str.replace_all("_", " ").fill_null("all fields")
    columns = "pair slice both_right only_a only_b both_wrong difference ci_low ci_high p_holm"
    columns = [*columns.split(), "n_docs"]
    return table(rows.with_columns(slice=slices), *columns, cases=_PAIR, **WORDING["flips"])


def comparison_table(rows: pl.DataFrame) -> Table | Caption:
    """Differences with intervals, p after them, and the least that could be shown.

    `rows` are from `formlab.compare`.
    """
    columns = "pair what value_a value_b difference ci_low ci_high better p p_holm"
    columns = [*columns.split(), "least_difference", "n_docs", "n_cases"]
    fold = f"All {rows.height:,} comparisons"
    return table(named(rows), *columns, cases=_PAIR, fold=fold, **WORDING["comparisons"])


def edit_trees(
    cases: pl.DataFrame, sizes: pl.DataFrame, *, limit: int = 3
) -> list[Caption | Table]:
    """A caption and a table of lines for each of the `limit` forms with the largest distance.

    `sizes` are tree edit distances with `nodes`, `given` and `similarity`, the largest first. A
    line has the gold and the predicted label, indented by their depth, and the edit in bold; kept
    nodes without an edit at or below them are folded where several follow each other.
    """
    worst = sizes.filter(pl.col("distance") > 0).head(limit)
    if not worst.height:
        return [note("No tree differs from its gold.")]
    shown: list[Caption | Table] = []
    for row in tables.readable(worst).to_dicts():
        lines = list(_lines(cases.filter(doc_id=row["doc_id"])))
        text = (
            f"{clean(row['doc_id'], limit=120)}: {row['nodes']:,} nodes in the gold tree, "
            f"{row['given']:,} predicted; {metrics.title('tree_edit_distance')} "
            f"{row['distance']:.2f}, similarity {row['similarity']:.2f}"
        )
        schema = dict.fromkeys(("gold", "edit", "predicted"), pl.String)
        frame = pl.DataFrame(lines, schema=schema, orient="row")
        strong = [(at, "edit") for at in range(frame.height)]
        shown.append(Caption(sentences(text), label="Table", settings=row.get("settings")))
        shown.append(table(frame, strong=strong, cases={}, rows=LINES))
    return shown


def _lines(cases: pl.DataFrame) -> Iterator[tuple[str | None, str, str | None]]:
    """Gold label, edit and predicted label of each line; what is absent on a side is None."""
    nodes = cases.filter(pl.col("subtype").is_in([*theme.EDIT_COLOURS]), level="node")
    rows = nodes.select("path", "pred_path", "depth", "gold", "pred", op="subtype").to_dicts()
    edited = [
        row[side] or "" for row in rows for side in ("path", "pred_path") if row["op"] != "kept"
    ]

    def is_needed(row: Mapping[str, Any]) -> bool:
        above = f"{row['path']}/", f"{row['pred_path']}/"
        return row["op"] != "kept" or any(path.startswith(above) for path in edited)

    for needed, group in itertools.groupby(rows, is_needed):
        run = list(group)
        if not needed and len(run) > UNFOLDED:
            folded = _label(f"⋯ {len(run)} kept", min(row["depth"] for row in run))
            yield folded, "", folded
            continue
        for row in run:
            text = row["pred"]
            if row["op"] == "moved":
                parent = unescape(row["pred_path"].rpartition("/")[0].rpartition("/")[2])
                text = f"{text} (now in {parent or 'the form'})"
            gold, pred = (_label(label, row["depth"]) for label in (row["gold"], text))
            yield gold, row["op"].replace("kept", ""), pred


def _label(text: str | None, depth: int) -> str | None:
    """A name as one short line at its depth."""
    if text is None:
        return None
    line = clean(" ".join(text[:400].split()))
    line = line if len(line) <= _CHARACTERS else f"{line[: _CHARACTERS - 1]}…"
    return _INDENT * (min(depth, _DEEPEST) - 1) + (line or "(no name)")
