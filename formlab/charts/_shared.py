"""Charts and tables that several notebooks show, and of systems and trees side by side."""

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from formlab import decisions as decided
from formlab import metrics, tables
from formlab.analysis.finding import OUTCOME, Finding, finding_table, has_pages, word
from formlab.analysis.label_corrections import corrected_scores
from formlab.analysis.overview import cause_counts, rungs, runs
from formlab.analysis.summarise import surface as surface_of
from formlab.charts import theme
from formlab.charts.escaping import clean
from formlab.charts.marks import bars, dots, lines, surface
from formlab.charts.words import WORDING, Caption, Table, note, sentences, show, table
from formlab.errors import NotAvailable
from formlab.folders import Evaluation
from formlab.trees import unescape

# The other reports of its folder: a JSON object of name to ``benchmark:split:system`` of each
# evaluation; reports of the project's samples have none.
LINKS_VARIABLE = "FORMLAB_REPORTS"
SAY = WORDING["say"]
# The most lines that are shown of a form, and of kept nodes that follow each other; how a label is
# indented, at the most, and how long it may be.
_LINES, _UNFOLDED = 60, 3
_INDENT, _DEEPEST, _CHARACTERS = "\u2003", 9, 60


def _worded(frame: pl.DataFrame, look: str, **more: Any) -> Table | Caption:
    """A table whose columns, headings and notes stand in ``assets/wording.toml``."""
    return table(frame, *WORDING["columns"][look].split(), **WORDING.get(look, {}), **more)


def status_table(evaluation: Evaluation) -> Table | Caption:
    """Counts of pages, fields, questions … by level, status of the answer and outcome."""
    counts = evaluation.cases.group_by("level", "status", "outcome")
    counts = counts.agg(cases=pl.len(), documents=pl.n_unique("doc_id"))
    return table(counts.sort("level", "cases", "status", descending=[True, True, False]))


def notes_table(evaluation: Evaluation) -> Table | Caption:
    """Irregularities of the files, with counts, and each file left out with the reason."""
    left_out = [(f"left out: {file}: {why}", 1) for file, why in evaluation.unreadable.items()]
    rows = [(clean(what), count) for what, count in (*evaluation.notes.items(), *left_out)]
    rows = pl.DataFrame(rows, ["what", "count"], orient="row")
    return table(rows, empty="No irregularity was noted.")


def show_answered(evaluation: Evaluation, say: str = SAY["answered"]) -> None:
    """Display `status_table` and `notes_table`, each under its caption."""
    show(say, status_table(evaluation))
    show(SAY["notes"], notes_table(evaluation))


def show_surface(
    evaluation: Evaluation,
    metric: str,
    y: str = "kind",
    *,
    edges: Sequence[float] = (),
    size: str = "fields in the form",
    **draws: int,
) -> None:
    """Display a metric over the number of fields of a document and over `y`, a column of types.

    `edges` cut the number of fields, by default into four groups of as many documents; `size` is
    what that number is called, `draws` are as for `analysis.surface`.
    """
    sizes = evaluation.documents["n_fields"].drop_nulls()
    cuts = edges or sorted({int(sizes.quantile(part) or 0) for part in (0.25, 0.5, 0.75)})
    grid = surface_of(evaluation, metric, "n_fields", y, bins={"n_fields": cuts}, **draws)
    titles = {"x_value": size, "y_value": WORDING["types"].get(y, y)}
    say = SAY["surface"].format(metric=metrics.title(metric), system=evaluation.system)
    show(say, *surface(grid, "x_value", "y_value", metric=metric, n="n_docs", titles=titles))


def cause_table(cases: pl.DataFrame) -> Table | Caption:
    """Each cause with its stage, its cases, their share, and what to try."""
    return _worded(_causes(cases), "causes")


def _causes(cases: pl.DataFrame, *, pages: bool = True) -> pl.DataFrame:
    """The counts of causes, each with its name in words; without `pages` no advice on images."""
    name = pl.col("cause").str.replace_all("_", " ")
    return cause_counts(cases, pages=pages).with_columns(name, of_cause="cause")


def show_causes(say: str, cases: pl.DataFrame, of: Evaluation, **more: Any) -> None:
    """Display a bar for each cause of cases of the evaluation `of`, and `cause_table`.

    `say` and `more` are the caption of the bars, as of `charts.show`. Where no pages were read, no
    advice is on images.
    """
    counts, look = _causes(cases, pages=has_pages(of)), WORDING["causes"] | WORDING["cause_bars"]
    show(say, bars(counts, "cause", "cases", **look), **more)
    show(SAY["causes"], _worded(counts, "causes"))


def scores_table(summary: pl.DataFrame) -> Table | Caption:
    """The scores of a summary, pooled and as means of documents, with intervals and counts."""
    # What few scores have is a column only where one of them has it.
    some = pl.col("n_reader", "n_ambiguous").replace(0, None)
    return _worded(tables.readable(summary).with_columns(some), "scores")


def show_scores(summary: pl.DataFrame, *, more: str = "") -> None:
    """Display `scores_table` under a caption that ends in `more`."""
    show(SAY["scores"], scores_table(summary), more=more)


def runs_table(evaluations: Sequence[Evaluation], **look: Any) -> Table | Caption:
    """Evaluations with their settings, documents and values, and what became of these."""
    return _worded(runs(evaluations), "runs", **look)


def page_error_bars(pages: pl.DataFrame) -> Any:
    """The word errors of pages by what became of the words; `pages` from `analysis.worst_pages`."""
    look, index = WORDING["page_errors"], ["doc_id", "words", "wer"]
    pages = pages.rename({"order": "out of order"})
    long = pages.unpivot([*look["colours"]], index=index, variable_name="error", value_name="rate")
    return bars(long, "doc_id", "rate", **look)


def ladder_lines(summary: pl.DataFrame, *, by: str) -> Any:
    """Accuracy on each rung of the strictness ladder, a line per slice of `by`.

    Lines that cross mean that the ranking depends on how strictly one judges.
    """
    return lines(rungs(summary, by), "rung", **WORDING["ladder"])


def findings_table(
    findings: Sequence[Finding], reports: Mapping[str, str] = WORDING["reports"]
) -> Table | Caption:
    """The findings with effect, interval, n and p, each with the report that shows more of it.

    `reports` names the notebook that looks closer at each benchmark, with ``--`` at its end if it
    shows another one where it is given no evaluation; under ``systems`` that of comparisons. It has
    formlab's own if left out. A finding links to the report of its own evaluations where one was
    built in the same folder.
    """
    built = json.loads(os.environ.get(LINKS_VARIABLE) or "{}")
    pages = []
    for one in findings:
        notebook = reports.get("systems" if one.systems else one.benchmark, "--")
        # Systems of one name are numbered where they are compared.
        systems = [re.sub(r" [(][0-9]+[)]$", "", name) for name in one.systems or [one.system]]
        own = {f"{one.benchmark}:{one.split}:{name}" for name in systems}
        # That of the fewest evaluations which has all of the finding's, else that of the sample.
        stem = notebook.rstrip("-")
        named = [n for n in built if n.partition("--")[0] == stem and own <= set(built[n])]
        named = named or [n for n in (notebook,) if built.get(n) == []]
        pages.append(min(named, key=lambda n: (len(built[n]), n), default=None))
    report = pl.Series(pages, dtype=pl.String) + ".html"
    shown = finding_table(findings).with_columns(pl.col("p_adjusted").fill_nan(None), report=report)
    return _worded(shown, "findings", sparse=True, cases={})


def label_corrections(evaluations: Sequence[Evaluation], verdicts: str | Path, **draws: int) -> Any:
    """A caption and a table of the scores as labelled, and without the label errors found.

    `verdicts` is a file or folder of decisions, or empty; the splits of one system are pooled. A
    note instead where there are no verdicts, or nothing can be scored again.
    """
    of, several = WORDING["corrections"], []
    if str(verdicts):
        # A path that somebody named is to be there.
        audit = decided.read(verdicts).filter(pl.col("decision").is_in([*decided.LABEL_AUDIT]))
        several = [one for one in evaluations if one.benchmark in audit["benchmark"]]
    if not several:
        return (note(of["none"]),)
    try:
        scores, counts = corrected_scores(several, audit, **draws)
    except NotAvailable as error:
        return (note(f"Scores without label errors: {error}"),)
    done = "; ".join(f"{word(name)}: {count:,}" for name, count in counts.items())
    text = sentences("Scores with and without the labels found wrong, all scored again", done)
    over = Caption(text, label="Table", settings=f"verdicts={decided.version(audit)}")
    return over, table(scores, titles=of["titles"])


def named(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of comparisons with `what`, the metric and slice, and `pair`: ``first → second``."""
    texts = []
    for row in rows.iter_rows(named=True):
        of, over = ["fields right"], f"{row['slice_by']} {row['slice_value']}"
        if row["metric"] != OUTCOME:
            of = [metrics.title(row["metric"], row.get("average")), f"all {row['level']}s"]
        texts.append(word(", ".join([of[0], over] if row["slice_by"] else of)))
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
    look, none = WORDING["differences"], "none was shown"
    shown = pl.when(pl.col("better").is_null()).then(pl.lit(none)).otherwise(pl.lit(look["filled"]))
    rows = rows.with_columns(pl.col("better").fill_null(none), shown=shown)
    systems = dict.fromkeys(name for row in rows.select("^system_[ab]$").rows() for name in row)
    colours = theme.system_colours(systems) | {none: theme.NEUTRAL}
    return dots(rows, "what", "difference", colours=colours, **look)


def flip_table(matrix: pl.DataFrame, *, by: str) -> Table | Caption:
    """Fields that both systems get right, one alone, or none: all of them, and a row per slice.

    `matrix` is from `formlab.compare` by ``outcome``.
    """
    rows = named(matrix.filter(pl.col("slice_by").is_null() | (pl.col("slice_by") == by)))
    slices = pl.col("slice_value").str.replace_all("_", " ").fill_null("all fields")
    return _worded(rows.with_columns(slice=slices), "flips")


def comparison_table(rows: pl.DataFrame) -> Table | Caption:
    """Differences from `formlab.compare` with intervals, p, and the least that could be shown."""
    return _worded(named(rows), "comparisons", fold=f"All {rows.height:,} comparisons")


def edit_trees(cases: pl.DataFrame, sizes: pl.DataFrame, *, limit: int = 3) -> list[Any]:
    """A caption and a table of lines for each of the `limit` forms with the largest distance.

    `sizes` are tree edit distances with `nodes`, `given` and `similarity`, the largest first. A
    line has the gold and the predicted label, indented by their depth, and the edit in bold; kept
    nodes without an edit at or below them are folded where several follow each other.
    """
    worst = tables.readable(sizes.filter(pl.col("distance") > 0).head(limit))
    shown: list[Caption | Table] = []
    for row in worst.iter_rows(named=True):
        schema = dict.fromkeys(("gold", "edit", "predicted"), pl.String)
        lines = pl.DataFrame(_lines(cases.filter(doc_id=row["doc_id"])), schema)
        text = SAY["tree"].format(**row | {"doc_id": clean(row["doc_id"], limit=120)})
        strong = [(at, "edit") for at in range(lines.height)]
        over = Caption(sentences(text), label="Table", settings=row.get("settings"))
        shown += [over, table(lines, strong=strong, cases={}, rows=_LINES)]
    return shown or [note("No tree differs from its gold.")]


def _lines(cases: pl.DataFrame) -> Iterator[dict[str, str | None]]:
    """Gold label, edit and predicted label of each line; what is absent on a side is None."""
    nodes = cases.filter(pl.col("subtype").is_in([*theme.EDIT_COLOURS]), level="node")
    rows, sides = nodes.rename({"subtype": "edit"}).to_dicts(), ("path", "pred_path")
    edited = [row[side] or "" for row in rows for side in sides if row["edit"] != "kept"]
    above = {path[:at] for path in edited for at, sign in enumerate(path) if sign == "/"}

    def is_plain(row: Mapping[str, Any]) -> bool:
        return row["edit"] == "kept" and not above & {row["path"], row["pred_path"]}

    for plain, group in itertools.groupby(rows, is_plain):
        run = list(group)
        if plain and len(run) > _UNFOLDED:
            few = dict.fromkeys(("gold", "pred"), f"⋯ {len(run)} kept")
            run = [{"edit": "kept", "depth": min(row["depth"] for row in run)} | few]
        for row in run:
            predicted = row["pred"]
            if row["edit"] == "moved":
                parent = unescape(row["pred_path"].split("/")[-2])
                predicted = f"{predicted} (now in {parent or 'the form'})"
            line = {"edit": row["edit"].replace("kept", "")}
            indent = _INDENT * (min(row["depth"], _DEEPEST) - 1)
            for side, label in (("gold", row["gold"]), ("predicted", predicted)):
                text = " ".join((label or "").split()) or "(no name)"
                text = text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"
                line[side] = None if label is None else indent + clean(text)
            yield line
