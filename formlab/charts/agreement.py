"""Do metrics rank documents or systems alike? Kendall's τ of pairs of metrics, as charts."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from formlab import metrics
from formlab.charts import theme
from formlab.charts._output import known
from formlab.charts.cross import row_names
from formlab.charts.show import Caption


def metric_agreement(
    table: pl.DataFrame, *, about: Sequence[str] = (), against: Sequence[str] = ()
) -> list[alt.LayerChart | Caption]:
    """For each evaluation or published table a caption and Kendall's τ of its pairs of metrics.

    Parameters
    ----------
    table
        As from `analysis.agreement` or `analysis.agreement_of_systems`.
    about, against
        Only pairs of one metric of each; of any where a list is empty.
    """
    shown: list[alt.LayerChart | Caption] = []
    wanted = _between(table, about, against)
    for part in wanted.partition_by("benchmark", "split", "system", maintain_order=True):
        found = part.filter(pl.col("tau").is_not_nan())
        if found.height:
            shown += [_agreement_caption(part), agreement_dots(found)]
    none = Caption("No two of these metrics can be compared on these documents.", label="Note")
    return shown or [none]


def _agreement_caption(part: pl.DataFrame) -> Caption:
    first = part.row(0, named=True)
    system = f"{first['system']} on " if first["system"] else ""
    split = f":{first['split']}" if first["split"] else ""
    counts = part["n"].unique().sort().to_list()
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = (
        f"Kendall's τ-b of pairs of metrics over the {first['unit']}s of {system}"
        f"{first['benchmark']}{split}, n = {n}, with 95 % intervals: 1 is the same ranking, "
        "0 none, −1 the reverse."
    )
    if undefined := part["tau"].is_nan().sum():
        text += f" {undefined} more are undefined: a metric is the same on all {first['unit']}s."
    return Caption(text, settings="kendall_tau_b|better is higher for every metric")


def agreement_dots(table: pl.DataFrame) -> alt.LayerChart:
    """Kendall's τ of pairs of metrics of one evaluation, each in figures, with its interval.

    Parameters
    ----------
    table
        Rows of `analysis.agreement` or `analysis.agreement_of_systems` whose τ is defined.
    """
    titles = [pl.col(c).map_elements(_title, return_dtype=pl.String) for c in ("metric", "other")]
    pair = pl.format("{} ~ {}", *titles)
    # Not `table["tau"].round(2)`: 0.6 is said as 0.60.
    said = table["tau"].map_elements(lambda tau: f"{tau:.2f}", return_dtype=pl.String)
    shown = table.with_columns(pair=pair, said=pl.format("τ {}: {}", said, pair))
    shown = shown.sort("tau", descending=True)
    x = alt.X("tau:Q", title="Kendall's τ").scale(domain=[-1, 1]).axis(tickCount=5)
    y = alt.Y("pair:N", sort=shown["pair"].to_list()).axis(None)
    tip = [
        alt.Tooltip("pair:N"), alt.Tooltip("tau:Q", format=".2f"),
        alt.Tooltip("ci_low:Q", format=".2f"), alt.Tooltip("ci_high:Q", format=".2f"),
        alt.Tooltip("p:Q", format=".3g"), alt.Tooltip("n:Q"),
    ]  # fmt: skip
    base = alt.Chart(known(shown))
    zero = alt.Chart(pl.DataFrame({"tau": [0.0]})).mark_rule(color=theme.NEUTRAL).encode(x)
    spans = base.mark_rule(strokeWidth=2, color=theme.GOLD).encode(
        alt.X("ci_low:Q", title="Kendall's τ"), alt.X2("ci_high:Q"), y
    )
    dots = base.mark_point(opacity=1, color=theme.GOLD).encode(x, y, tooltip=tip)
    text = "; ".join(f"{row['pair']} {row['tau']:.2f}" for row in shown.to_dicts())
    return alt.layer(zero, spans, dots, row_names(base, y, "said:N")).properties(
        width=theme.PHONE, height=alt.Step(36), description=f"Kendall's τ: {text}"
    )


def _between(table: pl.DataFrame, about: Sequence[str], against: Sequence[str]) -> pl.DataFrame:
    """The pairs of one metric of each list."""

    def one_of(column: str, names: Sequence[str]) -> pl.Expr:
        return pl.col(column).is_in(list(names)) if names else pl.lit(True)

    here = one_of("metric", about) & one_of("other", against)
    there = one_of("metric", against) & one_of("other", about)
    return table.filter(here | there)


def _title(name: str) -> str:
    return metrics.title(name) if metrics.plain(name) in metrics.METRICS else name
