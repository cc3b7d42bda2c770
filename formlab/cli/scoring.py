"""The commands that run a system and score what it answered, logs of other harnesses included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.show import plain, say

if TYPE_CHECKING:
    import polars as pl

MAIN = 5  # scores that follow the main one without --all


@command(
    options.GOLD,
    option("--system", "What reads the forms: ocr, rules, chat:MODEL.", required=True),
    *options.BENCHMARK,
    *options.OWN_GOLD,
    options.DOCUMENTS,
    options.out("Folder of the run [runs/BENCH-SPLIT-SYSTEM]."),
    options.WORKERS,
    options.NAME,
    *options.MODEL,
    options.PROMPT,
)
def run(gold: Any, system: str, documents: Any, out: Path | None, **given: Any) -> Rows:
    """Run a system on the forms of GOLD. Run the same command again to resume.

    GOLD is a benchmark's name, or your own gold: CSV, TSV, JSONL, Parquet, XLSX, a folder of JSON.
    """
    import polars as pl

    from formlab import systems
    from formlab.scoring import choice
    from formlab.tables import USABLE

    if documents == "answered":
        raise DataBroken("--documents answered: nothing is answered yet", remedy="all, FILE or N")
    reader = systems.get(system)
    settings, corpus = reader.settings(given["settings"]), corpus_of(gold, given)
    if isinstance(documents, Path):
        names = corpus.documents["doc_id"].to_list()
        listed = choice.decide(names, set(), documents, where=corpus.split).documents
        corpus = corpus.filtered(pl.col("doc_id").is_in(listed))
    name = given["name"] or reader.run_name(settings)
    out = out or Path("runs", f"{corpus.benchmark}-{corpus.split}-{name}".replace("/", "-"))
    passed = {"settings": settings, "name": name, "workers": given["workers"]}
    passed["limit"] = documents if isinstance(documents, int) else None
    predictions = systems.run(corpus, reader, out=out, **passed)
    responses = predictions.responses
    failed = responses.filter(~pl.col("status").is_in(USABLE))
    for doc_id, status, error in failed.select("doc_id", "status", "error").head(5).rows():
        click.echo(f"{status}: {plain(doc_id)}: {plain(error or 'no reason given')}", err=True)
    row = {"system": predictions.system, "documents": responses.height, "failed": failed.height}
    row |= {"records": predictions.records.height, "out": str(out)}
    return Rows([row], notes=predictions.notes)


# Of every command that scores.
SCORING = (
    options.DOCUMENTS,
    option("--mode", "How to score: official (as published) or fixed."),
    option("--reader", "How fields are read from a page's words: centre, overlap, cut."),
    options.out("Folder for the evaluation; of several, a folder each inside of it."),
    options.BY,
    options.RESAMPLES,
    options.SEED,
    options.EVERYTHING,
)
# What `formlab.evaluate` is given as it was typed.
_PASSED = ("documents", "mode", "reader", "workers", "out", "name", "images", "types", "columns")


@command(
    click.argument("gold", metavar="GOLD…", nargs=-1, required=True, type=options.gold),
    option("--predictions", "Answers, a run, or logs; see above.", options.file, multiple=True),
    *options.BENCHMARK,
    *options.OWN_GOLD,
    *SCORING,
    options.NAME,
    option("--allow-unmatched", "Score answers of which no field is in the gold.", bool),
    options.WORKERS,
)
def score(gold: tuple[str | Path, ...], predictions: tuple[Path, ...], **given: Any) -> Rows:
    """Score --predictions against GOLD: a benchmark's name, or the path of your own gold.

    Without --predictions, GOLD is what brings its own gold: a finished run of formlab arena, or
    logs of Inspect, lmms-eval, VLMEvalKit, OmniAI, stickler, olmOCR-bench, or any table, whose own
    figures are set beside formlab's; with the name of a benchmark and logs as --predictions it is
    the benchmark's gold. Its split is the one that predictions are for, if they say so.
    """
    from formlab import benchmarks, readers

    first, benchmark = gold[0], gold[0] if isinstance(gold[0], str) else None
    if predictions and len(gold) > 1:
        raise click.UsageError("one GOLD with --predictions")
    if benchmark and not predictions:
        raise click.UsageError("--predictions: what is scored against the benchmark")
    reader = readers.reader_of(first) if len(gold) == 1 and not predictions else None
    if reader and reader.both:
        return scored(*reader.both(first), **given)
    if not predictions or (benchmark and all(map(_is_log, predictions))):
        return _logs(predictions or gold, benchmark, **given)
    if len(predictions) > 1:
        raise click.UsageError("one --predictions, unless they are logs")
    if benchmark:
        splits = [given["split"]] if given["split"] else readers.splits(predictions[0]) or [None]
        if len(splits) > 1:
            what = f"predictions for several splits: {', '.join(splits)}"
            raise DataBroken(what, where=predictions[0], remedy="--split, and a command for each")
        first = benchmarks.corpora(benchmark, root=given["root"], split=splits[0])
    return scored(first, predictions[0], **given)


def scored(gold: Any, answers: Any, **given: Any) -> Rows:
    """The scores of answers to gold, saved where the options `SCORING` have a folder for it."""
    from formlab import analysis, benchmarks
    from formlab.folders import Evaluation, read_manifest
    from formlab.readers import UNMET
    from formlab.scoring import choice
    from formlab.tables import readable

    out = given["out"]
    passed = {name: given[name] for name in _PASSED if given.get(name) is not None}
    before: dict[str, Any] = {}
    if out:
        passed["fallback"] = out.name
        with suppress(FormlabError):
            _, before = read_manifest(Evaluation, out)
    evaluation = analysis.evaluate(gold, answers, **passed)
    notes, sources = evaluation.notes, before.get("sources") or {}
    if not given.get("allow_unmatched") and given["documents"] == "all" and UNMET in notes:
        found = [note for note in notes if note.startswith(("gold fields that", "answer fields"))]
        remedy = "--columns for names of columns, or --allow-unmatched if it is meant"
        raise DataBroken(": ".join([UNMET, "; ".join(found)]), remedy=remedy)
    is_other = sources.keys() != evaluation.sources.keys()
    if before and (is_other or before.get("system") != evaluation.system):
        old = f"{before.get('system')} ({', '.join(sources)})"
        note = f"note: in {out}, the evaluation of {old} was replaced by {evaluation.system}"
        click.echo(plain(note), err=True)
    count = evaluation.documents.height
    if sentence := choice.partial_note(count, evaluation.settings, notes):
        click.echo(plain(sentence), err=True)
    notes = {note: count for note, count in notes.items() if note not in choice.NOTES}
    say(notes, left_out=evaluation.unreadable)
    by, everything = given["by"], given["everything"]
    # Slices that were not asked for are summarised only where everything is wanted.
    usual = benchmarks.get(evaluation.benchmark).slices if everything else ()
    drawing = {"resamples": given["resamples"], "seed": given["seed"]}
    summary = analysis.summarise(evaluation, by=by or usual, **drawing)
    if everything:
        columns = ("task", "level", "slice", "metric", "average", "value", "ci_low", "ci_high")
        counts = ("n_docs", "n_cases", "n_missing", "n_undefined")
        return Rows(summary, [("", readable(summary).select(*columns, *counts))])
    hint = f"--all prints all {summary.height:,} scores and slices, --json every column"
    return Rows(summary, _main(summary, by), hints=[hint])


def _main(summary: pl.DataFrame, by: Collection[str]) -> list[tuple[str, Any]]:
    """The main number as a title, the scores beside it, and the slices `by` columns."""
    import polars as pl

    from formlab import analysis, metrics
    from formlab.tables import readable

    pooled, metric = summary.filter(average="pooled"), pl.col("metric")
    heads = analysis.headlines(pooled).select("metric", level="score_level", place="panel")
    ranked = pooled.join(heads, on=["metric", "level"], how="left", maintain_order="left")
    # First what speaks for a level, then metrics of plug-ins, then shares of fields.
    is_builtin = metric.is_in([*metrics.METRICS.builtin])
    is_share = metric.str.ends_with("accuracy")
    order = ("place", is_builtin, pl.col("value").is_nan(), ~is_share)
    ranked = ranked.sort(*order, nulls_last=True, maintain_order=True)
    total = ranked.filter(pl.col("slice_by").is_null()).head(1 + MAIN)
    title = "{system}, {benchmark}:{split}: {metric} {value:.4f} [{ci_low:.4f}, {ci_high:.4f}] "
    title += "({n_cases:,} {level}s, {n_docs:,} documents)"
    columns = ("task", "level", "metric", "value", "ci_low", "ci_high", "n_cases", "n_missing")
    sliced = ranked.filter(pl.col("slice_by").is_in(list(by)), pl.col("place").is_not_null())
    sliced = readable(sliced).select("slice", *columns)
    return [(title.format(**total.row(0, named=True)), total[1:].select(columns)), ("", sliced)]


def _is_log(path: Path) -> bool:
    """Whether a file or folder has scores or gold of its own beside answers."""
    from formlab import readers
    from formlab.readers import ODD, Source
    from formlab.readers.logs import is_table
    from formlab.readers.samples import SCORE

    if (reader := readers.reader_of(path)) is None:
        return is_table(path)
    with suppress(*ODD):
        rows = islice(reader.read(Source(path)), 1000)
        told = ((row["role"], any(name.startswith(SCORE) for name in row)) for row in rows)
        return any(role in ("gold", "figure") or is_scored for role, is_scored in told)
    return False


def _logs(logs: tuple[Path, ...], benchmark: str | None, **given: Any) -> Rows:
    """An evaluation of each run in logs, with the log's own figures beside formlab's."""
    from formlab import workers
    from formlab.analysis.comparability import named
    from formlab.readers.logs import differences, headlines, join_report, open_logs

    out, passed = given["out"], {k: given[k] for k in ("columns", "types", "root", "split", "name")}
    passed |= {"documents": "all" if given["documents"] == "all" else "asked"}
    opening = partial(open_logs, benchmark=benchmark, out=out if len(logs) == 1 else None, **passed)
    paths = [log.resolve() for log in logs]
    found = dict(workers.each(opening, paths, workers=given["workers"]))
    for path, result in found.items():
        if isinstance(result, workers.Lost):
            what = f"the log cannot be read: {result.reason}"
            raise NotAvailable(what, where=path, remedy="more memory")
    # In the order in which they were named, whichever was read first.
    places = [path for path in paths for _ in found[path]]
    evaluations = named([evaluation for path in paths for evaluation in found[path]])
    rows, tables = [], []
    for number, (path, evaluation) in enumerate(zip(places, evaluations, strict=True), start=1):
        folder = out
        if out and len(places) > 1:  # Of one log with one run it is saved already.
            evaluation.save(folder := out / f"{number}-{path.stem}")
        say(evaluation.notes, left_out=evaluation.unreadable)
        differ, where = differences(evaluation), f"{evaluation.benchmark}:{evaluation.split}"
        figures, why = headlines(evaluation).to_dicts(), Counter(differ["why"].to_list())
        row = {"log": str(path), "system": evaluation.system, "benchmark": where}
        row |= {"notes": evaluation.notes, "join": join_report(evaluation), "headlines": figures}
        row |= {"differences": differ.to_dicts(), "why": dict(why.most_common())}
        rows.append(row | {"out": folder and str(folder)})
        title = f"{row['system']}, {where}, {path}"
        if formlab_figures := [figure for figure in figures if figure["by"] == "formlab"]:
            title += ": {measure} {value:.4f} ({n} samples)".format(**formlab_figures[-1])
        tables.append((title, figures))
        title = f"cases that the log and formlab count differently: {differ.height}"
        tables += [(title, differ if given["everything"] else [])] if differ.height else []
    return Rows(rows, tables)
