"""Two trees side by side, line by line, with the edit of every node."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import polars as pl

from formlab import metrics, tables
from formlab.charts.escaping import clean
from formlab.charts.words import Caption, Table, note, sentences
from formlab.trees import unescape

# The most lines that are shown of a form, and of kept nodes that follow each other.
LINES, UNFOLDED = 60, 3
EDITS = ("kept", "renamed", "deleted", "inserted", "moved", "reordered")
_INDENT, _DEEPEST, _CHARACTERS = "\u2003", 9, 60


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
        none = "No tree differs from its gold." if sizes.height else "No trees were compared."
        return [note(none)]
    shown: list[Caption | Table] = []
    for row in tables.readable(worst).to_dicts():
        lines = list(_lines(cases.filter(pl.col("doc_id") == row["doc_id"])))
        text = (
            f"{clean(row['doc_id'], limit=120)}: {row['nodes']:,} nodes in the gold tree, "
            f"{row['given']:,} predicted; {metrics.title('tree_edit_distance')} "
            f"{row['distance']:.2f}, similarity {row['similarity']:.2f}"
        )
        cut = f"The first {LINES} of {len(lines):,} lines are shown" * (len(lines) > LINES)
        schema = dict.fromkeys(("gold", "edit", "predicted"), pl.String)
        frame = pl.DataFrame(lines[:LINES], schema=schema, orient="row")
        strong = [(at, "edit") for at in range(frame.height)]
        caption = Caption(sentences(text, cut), label="Table", settings=row.get("settings"))
        shown += [caption, Table(frame, strong=strong, cases={})]
    return shown


def _lines(cases: pl.DataFrame) -> Iterator[tuple[str | None, str, str | None]]:
    """Gold label, edit and predicted label of each line; what is absent on a side is None."""
    nodes = cases.filter(pl.col("level") == "node", pl.col("subtype").is_in(EDITS))
    rows = nodes.select("path", "pred_path", "depth", "gold", "pred", op="subtype").to_dicts()
    # Paths such as /Section A/Name show depths, and such as /entities/3 do not.
    nested = all(row["path"].count("/") == row["depth"] for row in rows if row["path"] is not None)
    for needed, group in itertools.groupby(zip(_needed(rows), rows, strict=True), lambda x: x[0]):
        run = [row for _, row in group]
        if not needed and len(run) > UNFOLDED:
            folded = _label(f"⋯ {len(run)} kept", min(row["depth"] for row in run))
            yield folded, "", folded
            continue
        for row in run:
            path, text = row["pred_path"], row["pred"]
            depth = path.count("/") if nested and path is not None else row["depth"]
            if row["op"] == "moved" and nested:
                parent = path.rpartition("/")[0].rpartition("/")[2]
                parent = unescape(parent)
                text = f"{text} (now in {parent or 'the form'})"
            edit = row["op"].replace("kept", "")
            yield _label(row["gold"], row["depth"]), edit, _label(text, depth)


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


def _label(text: str | None, depth: int) -> str | None:
    """A name as one short line at its depth."""
    if text is None:
        return None
    line = clean(" ".join(text[:400].split()))
    line = line if len(line) <= _CHARACTERS else f"{line[: _CHARACTERS - 1]}…"
    return _INDENT * (min(depth, _DEEPEST) - 1) + (line or "(no name)")
