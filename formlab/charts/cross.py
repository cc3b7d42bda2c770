"""Benchmarks beside each other: a dot for each level, agreement of metrics, the ladder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from formlab import metrics
from formlab.analysis.cross import HEADLINES
from formlab.benchmarks import BENCHMARKS
from formlab.charts import theme
from formlab.charts.levels import LEVELS
from formlab.charts.published import OWN, PUBLISHED, marked, published
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.charts.words import span
from formlab.tables import LADDER

# Published figures that can stand on a level's axis: shares of what was asked. Percent is divided.
_PRINTED: tuple[tuple[str, str, dict[str, str], str, float], ...] = (
    ("reading", "fincriticaled_table4", {}, "fact_accuracy", 1),
    ("locating", "vrdu_table3", {"task": "mixed", "train_size": "200"}, "micro_f1", 1),
    ("locating", "formfactory_table2", {"kind": "Episodic", "metric": "click"}, "value", 100),
    ("relating", "formcraft_table4", {"metric": "vqa_accuracy"}, "value", 1),
    ("acting", "formfactory_table2", {"kind": "Episodic", "metric": "value"}, "value", 100),
)
_POINT = dict.fromkeys(("level", "name", "metric", "kind", "source"), pl.String)
_POINT |= dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64)


def published_levels() -> pl.DataFrame:
    """Published figures by level: `level name metric kind source value`, no intervals.

    A level whose published figures are no shares, such as tree edit distances, has none.

    Examples
    --------
    >>> sorted(published_levels()["level"].unique())
    ['acting', 'locating', 'reading', 'relating']
    """
    rows: list[dict[str, Any]] = []
    for level, file, where, column, scale in _PRINTED:
        named = file.partition("_")[0]
        table = published(file)
        if column not in table.columns:
            table = table.filter(pl.col("metric") == column).with_columns(value=pl.col("value"))
        for row in table.filter(*(pl.col(k) == v for k, v in where.items())).to_dicts():
            value = row[column] if column in row else row["value"]
            part = f", {row['corpus']}" if row.get("corpus") else ""
            rows.append({
                "level": level, "name": f"{row['system']} on {named}{part}", "kind": PUBLISHED,
                "metric": row.get("metric") or column, "source": row["source"],
                "value": float(value) / scale,
            })  # fmt: skip
    return pl.DataFrame(rows, schema=_POINT)


def level_points(heads: pl.DataFrame, printed: pl.DataFrame | None = None) -> pl.DataFrame:
    """What was measured here and what was published, on one axis for each level.

    Parameters
    ----------
    heads
        As from `analysis.headlines`.
    printed
        As from `published_levels`.
    """
    own = heads.select(
        "level", "metric", "value", "ci_low", "ci_high",
        name=pl.format("{} on {}:{}", "system", "benchmark", "split"),
        kind=pl.lit(OWN), source=pl.lit(None, pl.String),
    ).select(*_POINT)  # fmt: skip
    return pl.concat([own, pl.DataFrame(schema=_POINT) if printed is None else printed])


def level_dots(points: pl.DataFrame, *, level: str) -> alt.LayerChart | Caption:
    """A dot for each system on one level: filled with an interval if measured here, else open.

    Parameters
    ----------
    points
        As from `level_points`.
    """
    shown = points.filter(pl.col("level") == level).sort("value", "name", descending=[True, False])
    if not shown.height:
        return Caption(f"Nothing was scored or published for {level}.", label="Note")
    shown = shown.with_columns(said=pl.col("metric").map_elements(_said, return_dtype=pl.String))
    y = alt.Y("name:N", title=None, sort=shown["name"].to_list()).axis(labelLimit=260)
    x = alt.X("value:Q", title=f"{level}: share right").scale(domain=[0, 1])
    tip = [
        alt.Tooltip("name:N", title="system"), alt.Tooltip("said:N", title="metric"),
        alt.Tooltip("value:Q", format=".3f"), alt.Tooltip("kind:N"),
        alt.Tooltip("ci_low:Q", format=".3f"), alt.Tooltip("ci_high:Q", format=".3f"),
    ]  # fmt: skip
    base = alt.Chart(shown)
    spans = base.transform_filter("isValid(datum.ci_low)").mark_rule(
        strokeWidth=2, color=theme.GOLD
    )
    dots = base.mark_point(opacity=1, strokeWidth=2).encode(x, y, *marked(), tooltip=tip)
    said = "; ".join(
        f"{row['name']} {row['value']:.3f} ({row['kind']})" for row in shown.to_dicts()
    )
    return alt.layer(spans.encode(alt.X("ci_low:Q"), alt.X2("ci_high:Q"), y), dots).properties(
        height=alt.Step(20), description=f"{level}: {said}"
    )


def _said(name: str) -> str:
    return metrics.title(name) if metrics.plain(name) in metrics.METRICS else name


def leaderboard(points: pl.DataFrame) -> alt.VConcatChart | Caption:
    """The dots of every level that has any, below each other on one axis from 0 to 1."""
    found = [level for level in HEADLINES if points["level"].is_in([level]).any()]
    if not found:
        return Caption("Nothing was scored.", label="Note")
    # Of one width, so that the same share stands at the same place on each.
    parts = [level_dots(points, level=level).properties(width=theme.WIDTH - 200) for level in found]
    said = "; ".join(str(part.description) for part in parts)
    return alt.vconcat(*parts, description=said).resolve_scale(fill="shared", stroke="shared")


def level_cards(heads: pl.DataFrame) -> Cards:
    """The best score measured on each level, and the level that was weakest in a sentence."""
    best = heads.sort("value", descending=True).unique("level", keep="first", maintain_order=True)
    by_level = {row["level"]: row for row in best.to_dicts()}
    cards = [
        Card(f"{level}: {_said(row['metric'])}", row["value"], _who(row))
        for level in HEADLINES
        if (row := by_level.get(level))
    ]
    if not by_level:
        return Cards([], finding="Nothing was scored.")
    worst = min(by_level.values(), key=lambda row: row["value"])
    left = [level for level in HEADLINES if level not in by_level]
    say = (
        f"{worst['level'].capitalize()} is the weakest level measured here: {worst['system']} "
        f"reaches {worst['value']:.2f} of 1 on {worst['benchmark']}"
    )
    return Cards(
        cards, finding=f"{say}; nothing measures {' or '.join(left)}." if left else f"{say}."
    )


def _who(row: dict[str, Any]) -> str:
    return f"{row['system']} on {row['benchmark']}:{row['split']}, {span(row)}"


def headline_table(heads: pl.DataFrame) -> Table:
    """The score of each level and evaluation in figures."""
    titles = {"ci_low": "low", "ci_high": "high", "n_docs": "documents", "n_cases": "cases"}
    columns = ("level", "benchmark", "split", "system", "metric", "value", "ci_low", "ci_high")
    return Table(heads.select(*columns, "n_docs", "n_cases"), titles=titles)


def agreement_dots(
    table: pl.DataFrame, *, about: Sequence[str] = (), against: Sequence[str] = ()
) -> alt.LayerChart | Caption:
    """Kendall's τ of pairs of metrics with its interval: 1 the same ranking, 0 none, −1 reversed.

    Parameters
    ----------
    table
        As from `analysis.agreement` or `analysis.agreement_of_systems`.
    about, against
        Only pairs of one metric of each; of any where a list is empty.
    """
    shown = chosen_pairs(table, about, against)
    if not shown.height:
        return Caption("No two metrics can be compared on these documents.", label="Note")
    titles = [pl.col(c).map_elements(_said, return_dtype=pl.String) for c in ("metric", "other")]
    pair = pl.format("{} ~ {}", *titles)
    where = pl.format("{}, {}s", "benchmark", "unit")
    shown = shown.with_columns(pair=pair, where=where).sort(
        "where", "tau", descending=[False, True]
    )
    order = shown["pair"].unique(maintain_order=True).to_list()
    names = shown["where"].unique(maintain_order=True).to_list()
    key = alt.Legend(title=None, orient="top", columns=2)
    colour = alt.Color("where:N", legend=key).scale(theme.scale(theme.system_colours(names)))
    shape = alt.Shape("where:N", legend=key).scale(theme.scale(theme.system_shapes(names)))
    x = alt.X("tau:Q", title="Kendall's τ").scale(domain=[-1, 1])
    y = alt.Y("pair:N", title=None, sort=order).axis(labelLimit=320)
    tip = [
        alt.Tooltip("pair:N"), alt.Tooltip("where:N"), alt.Tooltip("tau:Q", format=".2f"),
        alt.Tooltip("ci_low:Q", format=".2f"), alt.Tooltip("ci_high:Q", format=".2f"),
        alt.Tooltip("p:Q", format=".3g"), alt.Tooltip("n:Q"),
    ]  # fmt: skip
    base = alt.Chart(shown)
    offset = alt.YOffset("where:N") if len(names) > 1 else alt.Undefined
    zero = alt.Chart(pl.DataFrame({"tau": [0.0]})).mark_rule(color=theme.NEUTRAL).encode(x)
    spans = base.mark_rule(strokeWidth=2).encode(
        alt.X("ci_low:Q"), alt.X2("ci_high:Q"), y, colour, yOffset=offset
    )
    dots = base.mark_point(opacity=1).encode(x, y, colour, shape, yOffset=offset, tooltip=tip)
    said = "; ".join(f"{r['pair']} on {r['where']} {r['tau']:.2f}" for r in shown.to_dicts())
    return alt.layer(zero, spans, dots).properties(
        height=alt.Step(18 if len(names) > 1 else 22), description=f"Kendall's τ: {said}"
    )


def chosen_pairs(table: pl.DataFrame, about: Sequence[str], against: Sequence[str]) -> pl.DataFrame:
    """The pairs of one metric of each list whose τ is defined."""

    def one_of(column: str, names: Sequence[str]) -> pl.Expr:
        return pl.col(column).is_in(list(names)) if names else pl.lit(True)

    here = one_of("metric", about) & one_of("other", against)
    there = one_of("metric", against) & one_of("other", about)
    return table.filter(pl.col("tau").is_not_nan(), here | there)


def agreement_caption(
    table: pl.DataFrame, *, say: str, about: Sequence[str] = (), against: Sequence[str] = ()
) -> Caption:
    """A caption that names the pair that agrees least, with its τ, interval and n."""
    shown = chosen_pairs(table, about, against).sort("tau")
    if not shown.height:
        return Caption(f"{say} No pair of metrics is defined on enough documents.")
    row = shown.row(0, named=True)
    least = (
        f"Least alike: {_said(row['metric'])} and {_said(row['other'])} on {row['benchmark']}, "
        f"τ {row['tau']:.2f} (95 % interval {row['ci_low']:.2f} to {row['ci_high']:.2f}, "
        f"n = {row['n']} {row['unit']}s)."
    )
    return Caption(f"{say} {least}", settings="kendall_tau_b|better is higher for every metric")


def rung_lines(table: pl.DataFrame) -> alt.LayerChart | Caption:
    """Accuracy on each rung of the strictness ladder, a line for each evaluation.

    Parameters
    ----------
    table
        As from `analysis.rungs`.
    """
    if not table.height:
        return Caption("No evaluation has values on the ladder.", label="Note")
    shown = table.with_columns(name=pl.format("{} on {}:{}", "system", "benchmark", "split"))
    names = shown["name"].unique(maintain_order=True).to_list()
    key = alt.Legend(title=None, orient="top", columns=2)
    colour = alt.Color("name:N", legend=key).scale(theme.scale(theme.system_colours(names)))
    shape = alt.Shape("name:N", legend=key).scale(theme.scale(theme.system_shapes(names)))
    x = alt.X("rung:N", title="rung, strictest first", sort=list(LADDER)).axis(labelAngle=0)
    y = alt.Y("value:Q", title="share of fields right").scale(domain=[0, 1])
    tip = [
        alt.Tooltip("name:N"), alt.Tooltip("rung:N"), alt.Tooltip("value:Q", format=".3f"),
        alt.Tooltip("ci_low:Q", format=".3f"), alt.Tooltip("ci_high:Q", format=".3f"),
        alt.Tooltip("n_cases:Q", title="fields"),
    ]  # fmt: skip
    base = alt.Chart(shown)
    lines = base.mark_line(strokeWidth=2).encode(x, y, colour)
    dots = base.mark_point(opacity=1, filled=True, size=60).encode(x, y, colour, shape, tooltip=tip)
    said = "; ".join(f"{r['name']} {r['rung']} {r['value']:.3f}" for r in shown.to_dicts())
    return alt.layer(lines, dots).properties(
        width=theme.WIDTH - 140, height=240, description=f"Ladder: {said}"
    )


def can_say_table(facts: pl.DataFrame) -> Table:
    """What each benchmark can speak of and what it cannot, and on how much its scores rest.

    Parameters
    ----------
    facts
        As from `analysis.gold_facts`.
    """
    rows = []
    for row in facts.to_dicts():
        entry = BENCHMARKS[row["benchmark"]]
        can = [level for level, tasks in LEVELS.items() if set(tasks) & set(entry.tasks)]
        cannot = [level for level in LEVELS if level not in can]
        words = {"can say": ", ".join(can), "cannot say": ", ".join(cannot) or "–"}
        named = {key: row.pop(key) for key in ("benchmark", "split")}
        del row["kinds"], row["odd"]
        rows.append(named | words | row)
    titles = {"values_a_document": "median a document", "published": "documents as published"}
    titles |= {"with_box": "share with a box", "with_image": "share with an image"}
    shown = pl.DataFrame(rows) if rows else facts
    titles = {name: title for name, title in titles.items() if name in shown.columns}
    return Table(shown, titles=titles, digits=2)
