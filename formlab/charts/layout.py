"""How forms are built: how far predicted trees are from gold ones, and by which edits."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.structure import growth
from formlab.charts import theme
from formlab.charts._output import clean
from formlab.charts._table import Table
from formlab.charts.show import Caption, Card, Cards
from formlab.charts.words import span
from formlab.metrics.tree_edits import OPS

OP_COLOURS = {
    "kept": theme.NEUTRAL,
    "renamed": theme.OUTCOME_COLOURS["mismatch"],
    "deleted": theme.OUTCOME_COLOURS["missing"],
    "inserted": theme.OUTCOME_COLOURS["spurious"],
    "moved": theme.CAUSE_COLOURS["wrong_field"],
    "reordered": theme.SYSTEM_COLOURS[5],
}
SIZE_TITLES = {"nodes": "nodes", "groups": "groups", "levels": "levels (depth)"}
_NONE = "No trees were compared: the predictions give no groups or links between fields."


def structure_cards(summary: pl.DataFrame, cases: pl.DataFrame) -> Cards:
    """Tree distance and similarity, and which edit costs most."""
    cards = [
        Card(title, row["value"], span(row))
        for metric, title in (
            ("tree_similarity", "similarity of trees"),
            ("tree_edit_distance", "edit distance a form"),
        )
        for row in tables.only(tables.readable(summary), metric=metric, slice="all").to_dicts()
    ]
    edits = _edits(cases)
    if not cards or not edits.height:
        return Cards([], finding=_NONE)
    kept = edits.filter(pl.col("subtype") == "kept").height / edits.height
    cards.append(Card("nodes kept", kept, f"n = {edits.height:,} nodes of either tree"))
    return Cards(cards, finding=_finding(cards[0].value, edits, str(summary["system"][0])))


def _finding(similarity: float, edits: pl.DataFrame, system: str) -> str:
    said = "undefined" if math.isnan(similarity) else f"{similarity:.2f}"
    text = f"{clean(system, limit=80)} builds trees with a similarity of {said}"
    costs = _by_op(edits).filter(pl.col("subtype") != "kept", pl.col("cost") > 0)
    if not costs.height:
        return f"{text}; no edit costs anything."
    top = costs.row(0, named=True)
    return f"{text}; nodes that are {top['subtype']} make {top['share_of_cost']:.2f} of the cost."


def _edits(cases: pl.DataFrame) -> pl.DataFrame:
    return cases.filter(pl.col("task") == "layout", pl.col("subtype").is_in(OPS))


def _by_op(edits: pl.DataFrame) -> pl.DataFrame:
    counts = edits.group_by("subtype").agg(
        nodes=pl.len().cast(pl.Int64), forms=pl.col("doc_id").n_unique(), cost=pl.col("cost").sum()
    )
    share = pl.col("cost") / pl.col("cost").sum()
    return counts.with_columns(
        (pl.col("nodes") / pl.col("nodes").sum()).alias("share_of_nodes"),
        share.alias("share_of_cost"),
    ).sort("cost", "nodes", "subtype", descending=[True, True, False])


def size_dots(sizes: pl.DataFrame) -> alt.FacetChart | Caption:
    """The distance of every form against the nodes, groups and levels of its gold tree.

    Parameters
    ----------
    sizes
        As from `formlab.analysis.tree_sizes`.
    """
    if not sizes.height:
        return Caption(_NONE, label="Note")
    long = sizes.unpivot(
        list(SIZE_TITLES),
        index=["doc_id", "given", "distance", "similarity"],
        variable_name="size",
        value_name="count",
    ).with_columns(pl.col("size").replace(SIZE_TITLES))
    title = metrics.title("tree_edit_distance")
    tip = [
        alt.Tooltip("doc_id:N", title="form"), alt.Tooltip("count:Q", title="of the gold tree"),
        alt.Tooltip("given:Q", title="nodes predicted"),
        alt.Tooltip("distance:Q", format=".2f"), alt.Tooltip("similarity:Q", format=".2f"),
    ]  # fmt: skip
    dots = alt.Chart(long).mark_point(opacity=0.65).encode(
        alt.X("count:Q", title=None).axis(tickMinStep=1, tickCount=4, format="d", labelFlush=False),
        alt.Y("distance:Q", title=title).scale(zero=True),
        color=alt.value(theme.GOLD),
        tooltip=tip,
    )  # fmt: skip
    column = alt.Column("size:N", title=None, sort=list(SIZE_TITLES.values()))
    chart = dots.properties(width=172, height=190).facet(column=column, spacing=22)
    text = f"{title} against nodes, groups and levels of {sizes.height:,} forms"
    return chart.resolve_scale(x="independent").properties(description=text)


def size_caption(sizes: pl.DataFrame, *, resamples: int = 1000, seed: int = 0) -> Caption:
    """What grows with the distance: rank correlations with their intervals and settings."""
    say = "Each point is a form: its tree edit distance against the size of its gold tree."
    if not sizes.height:
        return Caption(f"{say} Nothing was compared.")
    found = growth(sizes, resamples=resamples, seed=seed).to_dicts()
    parts = [
        f"{SIZE_TITLES[row['size']]} {_signed(row['correlation'])} "
        f"({_signed(row['ci_low'])} to {_signed(row['ci_high'])})"
        for row in found
        if not math.isnan(row["correlation"])
    ]
    said = f"Rank correlation, 95 % interval: {', '.join(parts)}." if parts else ""
    settings = f"{tables.readable(sizes.head(1))['settings'][0]}|correlation=spearman"
    settings += f"|ci=bootstrap,documents,n={resamples},level=0.95,seed={seed}"
    return Caption(f"{say} {said} n = {sizes.height:,} forms.", settings=settings)


def _signed(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.2f}".replace("-", "−")


def edit_bars(cases: pl.DataFrame) -> alt.LayerChart | Caption:
    """What became of the nodes of each depth, as shares, with their count at the end of the bar."""
    edits = _edits(cases)
    if not edits.height:
        return Caption(_NONE, label="Note")
    counts = edits.group_by("depth", "subtype").agg(nodes=pl.len(), cost=pl.col("cost").sum())
    total = pl.col("nodes").sum().over("depth")
    # A stack follows the order of its rows: what was kept first, then as in `OPS`.
    shown = counts.with_columns(
        total.alias("of"), (pl.col("nodes") / total).alias("share"),
        pl.col("subtype").replace_strict({op: i for i, op in enumerate(OPS)}).alias("order"),
    ).sort("depth", "order")  # fmt: skip
    present = {op: colour for op, colour in OP_COLOURS.items() if op in set(shown["subtype"])}
    base = alt.Chart(shown)
    y = alt.Y("depth:O", title="depth in the tree")
    x = alt.X("share:Q", title="share of nodes", stack="zero").scale(domain=[0, 1])
    # The legend makes room for the counts at the ends of the bars.
    colour = alt.Color("subtype:N", title="edit").legend(offset=70)
    bars = base.mark_bar().encode(
        x.axis(format="%", tickCount=5, labelFlush=False),
        y,
        colour.scale(theme.scale(present)),
        alt.Order("order:Q"),
        tooltip=[
            alt.Tooltip("depth:O"), alt.Tooltip("subtype:N", title="edit"),
            alt.Tooltip("nodes:Q"), alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("cost:Q", format=".2f"),
        ],
    )  # fmt: skip
    ends = base.transform_aggregate(of="max(of)", groupby=["depth"])
    ends = ends.transform_calculate(n="'n = ' + format(datum.of, ',')")
    ends = ends.mark_text(align="left", dx=8, fontSize=11, color=theme.NEUTRAL)
    ends = ends.encode(x=alt.value("width"), y=y, text="n:N")
    text = "; ".join(
        f"depth {depth}: {share:.0%} {op}"
        for depth, op, share in shown.select("depth", "subtype", "share").rows()
    )
    height = {"width": theme.WIDTH - 180, "height": alt.Step(30)}
    return alt.layer(bars, ends).properties(description=f"Edits by depth. {text}", **height)


def edit_table(cases: pl.DataFrame) -> Table | Caption:
    """Every kind of edit: how many nodes, in how many forms, and its share of the cost."""
    edits = _edits(cases)
    if not edits.height:
        return Caption(_NONE, label="Note")
    titles = {"subtype": "edit"}
    note = "The cost of a node falls with its depth: a mistake near the top costs more."
    columns = ("subtype", "nodes", "share_of_nodes", "forms", "cost", "share_of_cost")
    return Table(_by_op(edits).select(columns), titles=titles, note=note)
