"""Two trees side by side, line by line, with the edit of every node coloured."""

from __future__ import annotations

import itertools
import math

import altair as alt
import polars as pl

from formlab import metrics
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts._parts import note
from formlab.charts._words import how, sentences
from formlab.charts.show import Caption

# The most lines that are drawn of a form, and the shortest run of kept nodes that is folded.
LINES, FOLDED = 60, 4
SIGNS = {
    "kept": "", "renamed": "≠", "deleted": "−", "inserted": "+", "moved": "↷", "reordered": "↕",
}  # fmt: skip
_WIDTH, _STEP, _ROW, _CHARACTERS = 310, 14, 18, 46


def edit_trees(
    cases: pl.DataFrame, sizes: pl.DataFrame, *, limit: int = 3
) -> list[alt.LayerChart | Caption]:
    """A caption and a drawing for each of the `limit` forms with the largest distance.

    `sizes` are tree edit distances with `nodes`, `given` and `similarity`, the largest first.
    """
    worst = sizes.filter(pl.col("distance") > 0).head(limit)
    if not worst.height:
        none = "No tree differs from its gold." if sizes.height else "No trees were compared."
        return [note(none)]
    shown: list[alt.LayerChart | Caption] = []
    for row in worst.to_dicts():
        lines = edit_lines(cases.filter(pl.col("doc_id") == row["doc_id"]))
        more = f"The first {LINES} of {lines.height:,} lines are shown"
        text = (
            f"{clean(row['doc_id'], limit=120)}: {row['nodes']:,} nodes in the gold tree, "
            f"{row['given']:,} predicted; {metrics.title('tree_edit_distance')} "
            f"{row['distance']:.2f}, similarity {row['similarity']:.2f}"
        )
        text = sentences(text, more if lines.height > LINES else None)
        shown += [Caption(text, settings=how(row)), _drawing(lines.head(LINES), row["doc_id"])]
    return shown


def edit_lines(cases: pl.DataFrame) -> pl.DataFrame:
    """The lines of the drawing of one form: both labels, their indents in pixels, and the edit.

    Kept nodes without an edit at or below them are folded where at least `FOLDED` follow each
    other. What is absent on a side is null.

    Examples
    --------
    >>> from formlab import tables
    >>> row = {"benchmark": "b", "split": "s", "doc_id": "1", "system": "x", "level": "node",
    ...     "outcome": "match", "subtype": "kept", "path": "/A", "pred_path": "/A", "depth": 1,
    ...     "gold": "A", "pred": "A", "cost": 0.0}
    >>> below = row | {"subtype": "deleted", "path": "/A/b", "pred_path": None, "depth": 2}
    >>> lines = edit_lines(tables.table("cases", [row, below | {"gold": "b", "pred": None}]))
    >>> lines.select("op", "gold", "pred", "gold_indent").rows()
    [('kept', 'A', 'A', 0), ('deleted', 'b', None, 14)]
    """
    nodes = cases.filter(pl.col("level") == "node", pl.col("subtype").is_in(list(SIGNS)))
    rows = nodes.select("path", "pred_path", "depth", "gold", "pred", op="subtype").to_dicts()
    # Paths such as /Section A/Name show depths, and such as /entities/3 do not.
    nested = all(row["path"].count("/") == row["depth"] for row in rows if row["path"] is not None)
    lines: list[dict] = []
    for needed, group in itertools.groupby(zip(_needed(rows), rows, strict=True), lambda x: x[0]):
        run = [row for _, row in group]
        if needed or len(run) < FOLDED:
            lines += [_line(row, nested) for row in run]
        else:
            indent = _STEP * (min(row["depth"] for row in run) - 1)
            sides = {"gold_indent": indent, "pred_indent": indent}
            text = f"⋯ {len(run)} kept"
            lines.append({"op": "kept", "sign": "", "gold": text, "pred": text} | sides)
    schema = {"op": pl.String, "gold": pl.String, "pred": pl.String}
    schema |= {"gold_indent": pl.Int64, "pred_indent": pl.Int64, "sign": pl.String}
    return pl.DataFrame(lines, schema=schema).with_row_index("line")


def _needed(rows: list[dict]) -> list[bool]:
    """Whether a node has an edit or stands above one that has."""
    needed: list[bool] = []
    # The least depth of the nodes below that have an edit, back to the next top node.
    least = math.inf
    for row in reversed(rows):
        needed.append(row["op"] != "kept" or row["depth"] < least < math.inf)
        if needed[-1]:
            least = min(least, row["depth"])
        if row["depth"] == 1:
            least = math.inf
    return needed[::-1]


def _line(row: dict, nested: bool) -> dict:
    path = row["pred_path"]
    depth = path.count("/") if nested and path is not None else row["depth"]
    gold, pred = (_STEP * (min(level, 9) - 1) for level in (row["depth"], depth))
    text = row["pred"]
    if row["op"] == "moved" and nested:
        parent = path.rpartition("/")[0].rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        text = f"{text} (now in {parent or 'the form'})"
    return {
        "op": row["op"], "sign": SIGNS[row["op"]], "gold": _label(row["gold"], gold),
        "pred": _label(text, pred), "gold_indent": gold, "pred_indent": pred,
    }  # fmt: skip


def _label(text: str | None, indent: int) -> str | None:
    """A name as one short line; what cannot be printed shows as a dot."""
    if text is None:
        return None
    letters = " ".join(text[:400].split())
    plain = "".join(letter if letter.isprintable() else "·" for letter in letters)
    longest = _CHARACTERS - indent // 7
    return (plain if len(plain) <= longest else plain[: longest - 1] + "…") or "(no name)"


def _drawing(lines: pl.DataFrame, doc_id: str) -> alt.LayerChart:
    right = _WIDTH + 2 * _STEP
    middle = _WIDTH + _STEP // 2
    shown = lines.with_columns(
        pl.col("gold_indent") + 8, pl.col("pred_indent") + right + 8, pl.lit(middle).alias("middle")
    )
    x = alt.Scale(domain=[0, right + _WIDTH], nice=False, zero=False)
    y = alt.Y("line:O", axis=None).scale(domain=[-1, *lines["line"].to_list()])
    base = alt.Chart(shown)
    edits = base.transform_filter(alt.datum.op != "kept")
    present = {
        op: hue for op, hue in theme.EDIT_COLOURS.items() if op in set(lines["op"]) - {"kept"}
    }
    colour = alt.Color("op:N", title="edit").scale(theme.scale(present))
    grounds = [
        edits.transform_filter(f"isValid(datum.{side})")
        .mark_rect(opacity=0.22)
        .encode(
            alt.X("from:Q", axis=None).scale(x),
            alt.X2("to:Q"),
            y,
            colour.legend(symbolOpacity=0.8, orient="top"),
            tooltip=[alt.Tooltip("op:N", title="edit"), "gold:N", "pred:N"],
        )
        .transform_calculate(**{"from": str(start), "to": str(start + _WIDTH)})
        for side, start in (("gold", 0), ("pred", right))
    ]
    kept = alt.condition(alt.datum.op == "kept", alt.value(0.6), alt.value(1.0))
    names = [
        base.transform_filter(f"isValid(datum.{side})")
        .mark_text(align="left", fontSize=12, limit=_WIDTH)
        .encode(alt.X(f"{side}_indent:Q", axis=None).scale(x), y, text=f"{side}:N", opacity=kept)
        .encode(tooltip=f"{side}:N")
        for side in ("gold", "pred")
    ]
    signs = edits.mark_text(fontSize=14, fontWeight="bold").encode(
        alt.X("middle:Q", axis=None).scale(x), y, colour, text="sign:N"
    )
    heads = pl.DataFrame({"line": [-1, -1], "at": [8, right + 8], "text": ["gold", "predicted"]})
    titles = alt.Chart(heads).mark_text(align="left", fontWeight="bold", fontSize=12)
    titles = titles.encode(alt.X("at:Q", axis=None).scale(x), y, text="text:N")
    counts = lines.filter(pl.col("op") != "kept")["op"].value_counts(sort=True).rows()
    edited = ", ".join(f"{count} {op}" for op, count in counts)
    return alt.layer(*grounds, *names, signs, titles).properties(
        width=right + _WIDTH,
        height=alt.Step(_ROW),
        description=f"Gold and predicted tree of {clean(doc_id, limit=120)}: {edited}",
    )
