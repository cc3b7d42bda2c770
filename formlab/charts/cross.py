"""Benchmarks beside each other: a dot for each level, agreement of metrics, the ladder."""

from __future__ import annotations

from typing import Any, NamedTuple

import altair as alt
import polars as pl

from formlab import metrics, tables
from formlab.analysis.levels import LEVELS
from formlab.charts import theme
from formlab.charts._output import known
from formlab.charts.published import ELSEWHERE, OWN, citation, marked, published, told_apart
from formlab.charts.show import Caption, Card, Cards, Table
from formlab.charts.words import span
from formlab.tables import LADDER


class _Printed(NamedTuple):
    """Published figures of one metric: where they stand, and what of ours they equal."""

    level: str
    file: str
    where: dict[str, str]
    column: str
    metric: str
    scale: float = 1
    # The mode in which formlab's metric is the paper's; why there is none, if there is none.
    mode: str = "official"
    why: str = ""


_PRINTED = (
    _Printed(
        "reading", "fincriticaled_table4", {}, "fact_accuracy", "fact_accuracy",
        why="a language model judged the facts",
    ),
    _Printed(
        "locating", "vrdu_table3", {"task": "mixed", "train_size": "200"}, "micro_f1", "micro_f1"
    ),
    _Printed(
        "locating", "formfactory_table2", {"kind": "Episodic", "metric": "click"}, "value",
        "episodic_click", 100,
    ),
    _Printed(
        "structuring", "formcraft_table4", {"metric": "tree_edit_distance"}, "value",
        "tree_edit_distance", why="a distance grows with the form, and the forms are others",
    ),
    _Printed(
        "relating", "formcraft_table4", {"metric": "vqa_accuracy"}, "value", "vqa_accuracy",
        mode="fixed",
    ),
    _Printed(
        "relating", "formcraft_table4", {"metric": "consistency_accuracy"}, "value",
        "consistency_accuracy",
        why="the paper checks every field of a relation, formlab the dependent value alone",
    ),
    _Printed(
        "acting", "formfactory_table2", {"kind": "Episodic", "metric": "value"}, "value",
        "episodic_value", 100,
    ),
)  # fmt: skip
_PUBLISHED = dict.fromkeys(
    ("level", "benchmark", "metric", "mode", "why", "name", "source"), pl.String
)
_PUBLISHED |= {"value": pl.Float64}
_POINT = dict.fromkeys(
    ("level", "panel", "over", "tasks", "metric", "benchmark", "name", "kind", "source"), pl.String
)
_POINT |= dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64)
_POINT |= {"n_docs": pl.Int64, "n_cases": pl.Int64, "settings": pl.String}


def published_levels() -> pl.DataFrame:
    """Published figures by level, no intervals; `why` says why one stands beside no own value.

    Returns
    -------
    polars.DataFrame
        `level benchmark metric mode why name source value`: `metric` is formlab's, which is the
        paper's in that `mode`.

    Examples
    --------
    >>> sorted(published_levels().filter(why="")["metric"].unique())
    ['episodic_click', 'episodic_value', 'micro_f1', 'vqa_accuracy']
    """
    rows: list[dict[str, Any]] = []
    for one in _PRINTED:
        benchmark = one.file.partition("_")[0]
        table = published(one.file)
        if one.column not in table.columns:
            table = table.filter(pl.col("metric") == one.column)
        for row in table.filter(*(pl.col(k) == v for k, v in one.where.items())).to_dicts():
            value = row[one.column] if one.column in row else row["value"]
            part = f", {row['corpus']}" if row.get("corpus") else ""
            rows.append({
                "level": one.level, "benchmark": benchmark, "metric": one.metric,
                "mode": one.mode, "why": one.why, "name": f"{row['system']} on {benchmark}{part}",
                "source": row["source"], "value": float(value) / one.scale,
            })  # fmt: skip
    return pl.DataFrame(rows, schema=_PUBLISHED)


def level_points(heads: pl.DataFrame, printed: pl.DataFrame | None = None) -> pl.DataFrame:
    """What was measured here, in panels, and what was published beside what it equals.

    Parameters
    ----------
    heads
        As from `analysis.headlines`.
    printed
        As from `published_levels`. A figure joins a panel of the same benchmark, metric and mode,
        so that metric and denominator agree; `left_out` tells of the others.
    """
    own = tables.readable(heads).with_columns(
        name=pl.format("{} on {}:{}", "system", "benchmark", "split"),
        kind=pl.lit(OWN), source=pl.lit(None, pl.String),
    ).select(*_POINT)  # fmt: skip
    if printed is None:
        return own
    key = ["level", "benchmark", "metric", "mode"]
    panels = heads.select(*key, "panel", "over", "tasks").unique(maintain_order=True)
    theirs = printed.filter(pl.col("why") == "").join(panels, on=key, maintain_order="left")
    return pl.concat([own, theirs.with_columns(kind=pl.lit(ELSEWHERE))], how="diagonal").select(
        pl.col(name).cast(kind) for name, kind in _POINT.items()
    )


def left_out(points: pl.DataFrame, printed: pl.DataFrame, *, level: str) -> Caption | None:
    """Which published figures of a level are not drawn, and why; None if all of them are."""
    drawn = points.filter(pl.col("kind") == ELSEWHERE)
    rest = printed.filter(pl.col("level") == level)
    rest = rest.join(drawn, on=["level", "benchmark", "metric"], how="anti", maintain_order="left")
    if not rest.height:
        return None
    own = set(points.filter(pl.col("kind") == OWN).select("benchmark", "metric").rows())
    said = []
    for (name, metric, mode, why), rows in rest.group_by(
        "benchmark", "metric", "mode", "why", maintain_order=True
    ):
        if not why and (name, metric) in own:
            why = f"they equal formlab's in mode {mode}, which was not used here"
        why = why or f"nothing here was scored by this metric on {name}"
        said.append(f"{_said(str(metric))} of {name} ({citation(rows)}): {why}")
    return Caption(f"Published figures left out: {'; '.join(said)}.", label="Note")


def level_figures(
    points: pl.DataFrame, printed: pl.DataFrame, *, level: str
) -> list[alt.LayerChart | Caption]:
    """A caption and a chart for each panel of a level, then what published figures are not there.

    Nothing where nothing was scored for the level: `not_scored` says so of all levels in a line.

    Parameters
    ----------
    points
        As from `level_points`.
    printed
        As from `published_levels`.
    """
    shown: list[alt.LayerChart | Caption] = []
    for panel in _panels(points, level):
        shown += [_panel_caption(panel), level_dots(panel)]
    if not shown:
        return []
    rest = left_out(points, printed, level=level)
    return [*shown, rest] if rest else shown


def not_scored(points: pl.DataFrame) -> Caption | None:
    """The levels of which nothing was scored, in one line; None if there are none."""
    have = set(points.filter(pl.col("kind") == OWN)["level"])
    left = [level for level in LEVELS if level not in have]
    if not left:
        return None
    say = f"Not scored in these evaluations: {', '.join(left)}"
    return Caption(f"{say}; published figures for these levels are left out.", label="Note")


def _panels(points: pl.DataFrame, level: str) -> list[pl.DataFrame]:
    here = points.filter(pl.col("level") == level)
    return here.sort("panel", maintain_order=True).partition_by("panel", maintain_order=True)


def _panel_caption(panel: pl.DataFrame) -> Caption:
    own = panel.filter(pl.col("kind") == OWN)
    first = own.row(0, named=True)
    tasks = f" of tasks {first['tasks']}" if first["tasks"] else ""
    said = "; ".join(
        f"{row['name']} {row['value']:.3f} ({span(row)})" for row in own.iter_rows(named=True)
    )
    title = _said(first["metric"])
    text = f"{title[:1].upper()}{title[1:]}, over {first['over']}{tasks}: {said}."
    theirs = panel.filter(pl.col("kind") == ELSEWHERE)
    if theirs.height:
        text += f" {told_apart(theirs)}"
    said = own["settings"].unique(maintain_order=True)
    return Caption(text, settings="; ".join(said))


def level_dots(panel: pl.DataFrame) -> alt.LayerChart:
    """A dot for each system of one panel: filled with its interval if measured here, else open.

    Parameters
    ----------
    panel
        Rows of `level_points` of one `panel`: one metric over one denominator, named on the axis.
    """
    first = panel.row(0, named=True)
    entry = metrics.get(first["metric"])
    up = entry.direction == "up"
    shown = panel.sort("value", "name", descending=[up, False])
    y = alt.Y("name:N", sort=shown["name"].to_list()).axis(None)
    axis = f"{entry.title}, over {first['over']}"
    domain = [0, 1] if entry.high == 1 else [0, max(1.0, shown["value"].max(), _top(shown))]
    # Of two lines, or it would push the marks off a phone.
    title = [entry.title, f"over {first['over']}"]
    x = alt.X("value:Q", title=title).scale(domain=domain).axis(tickCount=6)
    tip = [
        alt.Tooltip("name:N", title="system"), alt.Tooltip("value:Q", format=".3f"),
        alt.Tooltip("kind:N"), alt.Tooltip("ci_low:Q", format=".3f"),
        alt.Tooltip("ci_high:Q", format=".3f"), alt.Tooltip("n_cases:Q", title="cases"),
    ]  # fmt: skip
    base = alt.Chart(known(shown))
    spans = base.transform_filter("isValid(datum.ci_low)").mark_rule(
        strokeWidth=2, color=theme.GOLD
    )
    spans = spans.encode(alt.X("ci_low:Q", title=title), alt.X2("ci_high:Q"), y)
    fill, edge = marked(ELSEWHERE)
    if ELSEWHERE not in set(shown["kind"]):
        fill, edge = fill.legend(None), edge.legend(None)
    else:
        key = alt.Legend(orient="top")
        fill, edge = fill.legend(key), edge.legend(key)
    dots = base.mark_point(opacity=1, strokeWidth=2).encode(x, y, fill, edge, tooltip=tip)
    said = "; ".join(
        f"{row['name']} {row['value']:.3f} ({row['kind']})" for row in shown.to_dicts()
    )
    return alt.layer(spans, dots, row_names(base, y, "name:N")).properties(
        width=theme.PHONE, height=alt.Step(36),
        description=f"{first['level']}, {axis}: {said}",
    )  # fmt: skip


def row_names(base: alt.Chart, y: alt.Y, name: str) -> alt.Chart:
    """The name of each row above its mark: beside it, it would leave a phone no room for marks."""
    words = base.mark_text(
        align="left", baseline="bottom", dy=-7, fontSize=12, limit=theme.PHONE, color=theme.SOFT
    )
    return words.encode(y=y, text=alt.Text(name), x=alt.value(0))


def _top(shown: pl.DataFrame) -> float:
    return shown["ci_high"].fill_nan(None).max() or 0.0


def _said(name: str) -> str:
    return metrics.title(name) if metrics.plain(name) in metrics.METRICS else name


def leaderboard(points: pl.DataFrame) -> alt.VConcatChart | Caption:
    """The panels of every level below each other, each with an axis of its own metric."""
    parts = [level_dots(panel) for level in LEVELS for panel in _panels(points, level)]
    if not parts:
        return Caption("Nothing was scored.", label="Note")
    said = "; ".join(str(part.description) for part in parts)
    return alt.vconcat(*parts, description=said).resolve_scale(x="independent")


def level_cards(heads: pl.DataFrame) -> Cards:
    """A score for each level and evaluation, the first of `MEASURES`; no level is set over another.

    Parameters
    ----------
    heads
        As from `analysis.headlines`.
    """
    key = ["level", "benchmark", "split", "system"]
    firsts = heads.unique(key, keep="first", maintain_order=True)
    cards = [
        Card(f"{row['level']}, {_said(row['metric'])}: {_who(row)}", row["value"], span(row))
        for row in firsts.to_dicts()
    ]
    scored = [level for level in LEVELS if level in set(heads["level"])]
    left = [level for level in LEVELS if level not in scored]
    if not scored:
        return Cards([], finding="Nothing was scored.")
    say = f"Scored here: {', '.join(scored)}"
    say += f"; not scored: {', '.join(left)}. " if left else ". "
    return Cards(cards, finding=f"{say}Levels have metrics of their own and are not ranked.")


def _who(row: dict[str, Any]) -> str:
    return f"{row['system']} on {row['benchmark']}:{row['split']}"


def headline_table(heads: pl.DataFrame) -> Table:
    """The scores of each level and evaluation in figures, with what each is taken over."""
    titles = {"ci_low": "low", "ci_high": "high", "n_docs": "documents", "n_cases": "cases"}
    columns = ("level", "benchmark", "split", "system", "metric", "over", "tasks", "value")
    shown = heads.select(*columns, "ci_low", "ci_high", "n_docs", "n_cases")
    return Table(shown, titles=titles, note="Values of different metrics do not compare.")


def rung_lines(table: pl.DataFrame) -> alt.LayerChart | Caption:
    """Accuracy on each rung of the strictness ladder, a line for each evaluation.

    Parameters
    ----------
    table
        As from `analysis.rungs`.
    """
    if not table.height:
        return Caption("No evaluation has values on the ladder.", label="Note")
    shown = table.with_columns(
        name=pl.format("{}: {} on {}:{}", "tasks", "system", "benchmark", "split")
    )
    names = shown["name"].unique(maintain_order=True).to_list()
    key = alt.Legend(title=None, orient="top", columns=1, labelLimit=theme.PHONE)
    colour = alt.Color("name:N", legend=key).scale(theme.scale(theme.system_colours(names)))
    shape = alt.Shape("name:N", legend=key).scale(theme.scale(theme.system_shapes(names)))
    x = alt.X("rung:N", title="rung, strictest first", sort=list(LADDER)).axis(labelAngle=0)
    y = alt.Y("value:Q", title="share right of the fields named").scale(domain=[0, 1])
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
        width=theme.PHONE - 50, height=240, description=f"Ladder: {said}"
    )


def can_say_table(facts: pl.DataFrame, heads: pl.DataFrame) -> Table:
    """Which levels the evaluations at hand were scored on, and on how much their scores rest.

    Parameters
    ----------
    facts
        As from `analysis.gold_facts`.
    heads
        As from `analysis.headlines`.
    """
    key = ["benchmark", "split"]
    levels: dict[tuple[str, ...], set[str]] = {}
    for benchmark, split, level in heads.select(*key, "level").rows():
        levels.setdefault((benchmark, split), set()).add(level)
    rows = []
    for row in facts.to_dicts():
        named = {name: row.pop(name) for name in key}
        found = levels.get(tuple(named.values()), set())
        can = [level for level in LEVELS if level in found]
        cannot = [level for level in LEVELS if level not in found]
        words = {"scored here": ", ".join(can) or "–", "not scored": ", ".join(cannot) or "–"}
        del row["kinds"], row["odd"]
        rows.append(named | words | row)
    titles = {"values_a_document": "median a document", "published": "documents as published"}
    titles |= {"with_box": "share with a box", "with_image": "share with an image"}
    shown = pl.DataFrame(rows) if rows else facts
    titles = {name: title for name, title in titles.items() if name in shown.columns}
    return Table(shown, titles=titles, digits=2)
