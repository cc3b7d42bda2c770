"""The commands that run a system, score answers or logs, and judge financial facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import formlab
from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option
from formlab.errors import DataBroken, FormlabError, NotAvailable
from formlab.show import plain, say

if TYPE_CHECKING:
    import polars as pl

MAIN = 5  # scores that follow the main one without --all


@command(
    options.GOLD,
    options.SYSTEM,
    *options.SOURCE,
    options.out("Folder of the run [runs/BENCH-SPLIT-SYSTEM]."),
    *(options.DOCUMENTS, options.NAME, *options.MODEL, options.PROMPT, options.WORKERS),
)
def run(gold: Any, system: str, documents: Any, out: Path | None, **given: Any) -> Rows:
    """Run a system on the forms of GOLD. Run the same command again to resume.

    GOLD is a benchmark's name, or your own gold: CSV, TSV, JSONL, Parquet, XLSX, a folder of JSON.
    """
    import polars as pl

    from formlab.scoring import choice

    reader = formlab.systems.get(system)
    settings, corpus = reader.settings(given["settings"]), corpus_of(gold, given)
    limit = documents if isinstance(documents, int) else None
    if limit is None:
        names = corpus.documents["doc_id"].to_list()
        chosen = choice.decide(names, set(), documents, where=corpus.split).documents
        corpus = corpus.filtered(pl.col("doc_id").is_in(chosen))
    name = given["name"] or reader.run_name(settings)
    out = out or Path("runs", f"{corpus.benchmark}-{corpus.split}-{name}".replace("/", "-"))
    passed = {"settings": settings, "limit": limit, "name": name, "workers": given["workers"]}
    predictions = formlab.run(corpus, reader, out=out, **passed)
    responses, count = predictions.responses, predictions.records.height
    failed = responses.filter(~pl.col("status").is_in(formlab.tables.USABLE))
    for doc_id, status, error in failed.select("doc_id", "status", "error").head(5).rows():
        click.echo(plain(f"{status}: {doc_id}: {error}"), err=True)
    row = {"system": predictions.system, "documents": responses.height, "failed": failed.height}
    return Rows([row | {"records": count, "out": str(out)}], notes=predictions.notes)


@command(
    click.argument("gold", metavar="GOLD…", nargs=-1, required=True, type=options.gold),
    option("--predictions", "Answers, a run, or logs; see above.", options.file, multiple=True),
    *options.SOURCE,
    *options.SCORING,
    option("--allow-unmatched", "Score answers of which no field is in the gold.", bool),
    *(options.NAME, options.WORKERS),
)
def score(gold: tuple[str | Path, ...], predictions: tuple[Path, ...], **given: Any) -> Rows:
    """Score --predictions against GOLD: a benchmark's name, or the path of your own gold.

    Without --predictions, GOLD brings its own gold: a finished run of formlab arena, or logs of
    Inspect, lmms-eval, VLMEvalKit, OmniAI, stickler, olmOCR-bench, or any table, whose own figures
    are set beside formlab's. With a benchmark and logs as --predictions, the gold is the
    benchmark's. Its split is the one that predictions are for, if they say so.
    """
    benchmark = gold[0] if isinstance(gold[0], str) else None
    if predictions and len(gold) > 1:
        raise click.UsageError("one GOLD with --predictions")
    if benchmark and not predictions:
        raise click.UsageError("--predictions: what is scored against the benchmark")
    if not predictions:
        reader = formlab.readers.reader_of(gold[0]) if len(gold) == 1 else None
        both = reader and reader.both
        return scored(*both(gold[0]), **given) if both else _logs(gold, None, **given)
    if benchmark and all(map(_is_log, predictions)):
        return _logs(predictions, benchmark, **given)
    if len(predictions) > 1:
        raise click.UsageError("one --predictions, unless they are logs")
    (answers,) = predictions
    if not benchmark:
        return scored(gold[0], answers, **given)
    splits = [given["split"]] if given["split"] else formlab.readers.splits(answers) or [None]
    if len(splits) > 1:
        what = f"predictions for several splits: {', '.join(splits)}"
        raise DataBroken(what, where=answers, remedy="--split, and a command for each")
    corpora = formlab.benchmarks.corpora(benchmark, root=given["root"], split=splits[0])
    return scored(corpora, answers, **given)


def scored(gold: Any, answers: Any, **given: Any) -> Rows:
    """The scores of answers to gold, saved where `options.SCORING` have a folder for it."""
    from formlab.readers import UNMET
    from formlab.scoring import choice

    out, by, everything, old = given["out"], given["by"], given["everything"], {}
    names = ("documents", "mode", "reader", "workers", "out", "name", "images", "types", "columns")
    passed = {name: given[name] for name in names if given.get(name) is not None}
    if out:
        passed["fallback"] = out.name
        with suppress(FormlabError):
            _, old = formlab.saving.read_manifest(formlab.folders.Evaluation, out)
    evaluation = formlab.evaluate(gold, answers, **passed)
    notes, lines = evaluation.notes, []
    if not given.get("allow_unmatched") and given["documents"] == "all" and UNMET in notes:
        found = [note for note in notes if note.startswith(("gold fields that", "answer fields"))]
        remedy = "--columns for names of columns, or --allow-unmatched if it is meant"
        raise DataBroken(": ".join([UNMET, "; ".join(found)]), remedy=remedy)
    sources = old.get("sources") or {}
    if old and (old["system"], {*sources}) != (evaluation.system, {*evaluation.sources}):
        before = f"{old['system']} ({', '.join(sources)})"
        lines = [f"note: in {out}, the evaluation of {before} was replaced by {evaluation.system}"]
    lines.append(choice.partial_note(evaluation.documents.height, evaluation.settings, notes))
    for line in filter(None, lines):
        click.echo(plain(line), err=True)
    say({n: count for n, count in notes.items() if n not in choice.NOTES}, evaluation.unreadable)
    # Slices that were not asked for are summarised only where everything is wanted.
    usual = formlab.benchmarks.get(evaluation.benchmark).slices if everything else ()
    drawing = {"resamples": given["resamples"], "seed": given["seed"]}
    summary = formlab.summarise(evaluation, by=by or usual, **drawing)
    if everything:
        columns = ("task", "level", "slice", "metric", "average", "value", "ci_low", "ci_high")
        counts = ("n_docs", "n_cases", "n_missing", "n_undefined")
        return Rows(summary, [("", formlab.tables.readable(summary).select(*columns, *counts))])
    hint = f"--all prints all {summary.height:,} scores and slices, --json every column"
    return Rows(summary, _main(summary, by), hints=[hint])


def _main(summary: pl.DataFrame, by: Collection[str]) -> list[tuple[str, Any]]:
    """The main number as a title, the scores beside it, and the slices `by` columns."""
    import polars as pl

    pooled, metric = summary.filter(average="pooled"), pl.col("metric")
    heads = formlab.analysis.headlines(pooled).select("metric", level="score_level", place="panel")
    ranked = pooled.join(heads, on=["metric", "level"], how="left", maintain_order="left")
    # First what speaks for a level, then metrics of plug-ins, then shares of fields.
    is_builtin = metric.is_in([*formlab.metrics.METRICS.builtin])
    order = ("place", is_builtin, pl.col("value").is_nan(), ~metric.str.ends_with("accuracy"))
    ranked = ranked.sort(*order, nulls_last=True, maintain_order=True)
    total = ranked.filter(pl.col("slice_by").is_null()).head(1 + MAIN)
    title = "{system}, {benchmark}:{split}: {metric} {value:.4f} [{ci_low:.4f}, {ci_high:.4f}] "
    title += "({n_cases:,} {level}s, {n_docs:,} documents)"
    columns = ("task", "level", "metric", "value", "ci_low", "ci_high", "n_cases", "n_missing")
    sliced = ranked.filter(pl.col("slice_by").is_in(list(by)), pl.col("place").is_not_null())
    sliced = formlab.tables.readable(sliced).select("slice", *columns)
    return [(title.format(**total.row(0, named=True)), total[1:].select(columns)), ("", sliced)]


def _is_log(path: Path) -> bool:
    """Whether a file or folder has scores or gold of its own beside answers."""
    from formlab.readers import ODD, Source, logs, samples

    if (reader := formlab.readers.reader_of(path)) is None:
        return logs.is_table(path)
    with suppress(*ODD):
        rows = islice(reader.read(Source(path)), 1000)
        told = ((row["role"], any(name.startswith(samples.SCORE) for name in row)) for row in rows)
        return any(role in ("gold", "figure") or is_scored for role, is_scored in told)
    return False


def _logs(logs: tuple[Any, ...], benchmark: str | None, **given: Any) -> Rows:
    """An evaluation of each run in logs, with the log's own figures beside formlab's."""
    from formlab.readers.logs import differences, headlines, join_report, open_logs

    out, passed = given["out"], {k: given[k] for k in ("columns", "types", "root", "split", "name")}
    passed |= {"documents": "all" if given["documents"] == "all" else "asked"}
    opening = partial(open_logs, benchmark=benchmark, out=out if len(logs) == 1 else None, **passed)
    paths = [log.resolve() for log in logs]
    found = dict(formlab.workers.each(opening, paths, workers=given["workers"]))
    for path, result in found.items():
        if isinstance(result, formlab.workers.Lost):
            what = f"the log cannot be read: {result.reason}"
            raise NotAvailable(what, where=path, remedy="more memory")
    # In the order in which they were named, whichever was read first.
    places = [path for path in paths for _ in found[path]]
    evaluations = [evaluation for path in paths for evaluation in found[path]]
    rows, tables = [], []
    for number, evaluation in enumerate(formlab.analysis.named(evaluations)):
        path, folder = places[number], out
        if out and len(places) > 1:  # Of one log with one run it is saved already.
            evaluation.save(folder := out / f"{number + 1}-{path.stem}")
        say(evaluation.notes, evaluation.unreadable)
        differ, figures = differences(evaluation), headlines(evaluation).to_dicts()
        of = {
            "system": evaluation.system,
            "benchmark": f"{evaluation.benchmark}:{evaluation.split}",
        }
        row = {"log": str(path), **of, "notes": evaluation.notes, "join": join_report(evaluation)}
        row |= {"headlines": figures, "differences": differ.to_dicts()}
        row |= {"why": dict(Counter(differ["why"]).most_common()), "out": folder and str(folder)}
        rows.append(row)
        title = "{system}, {benchmark}, {log}".format(**row)
        if of_formlab := [figure for figure in figures if figure["by"] == "formlab"]:
            title += ": {measure} {value:.4f} ({n} samples)".format(**of_formlab[-1])
        tables.append((title, figures))
        if differ.height:
            title = f"cases that the log and formlab count differently: {differ.height}"
            tables.append((title, differ if given["everything"] else []))
    return Rows(rows, tables)


@click.group()
def facts() -> None:
    """Financial facts: a model as judge, a filing as pages."""


@command(
    click.argument("raw", type=options.path),
    option("--root", "Folder of the gold pages.", options.path, required=True),
    option("--predictions", "Folder of pred_<i>.txt [ROOT/pred].", options.path),
    options.out("Folder for judge_checked.json and performance.json."),
    group=facts,
)
def check(raw: Path, out: Path | None, **given: Any) -> Rows:
    """Check a judge's answers in RAW as the released code does, and print its figures.

    The figures are in percent. *_acc is correct per found fact, *_missing_rate not found per gold
    fact; *_error, in spite of its published name, is about correct per gold fact.
    """
    from formlab.analysis import audit

    checked = audit.check(raw, **given)
    figures = dict(checked.performance)
    if out is not None:
        formlab.files.write_json(out / "judge_checked.json", checked.answers)
        formlab.files.write_json(out / "performance.json", figures)
    main = [{"figure": name, "percent": f"{value:.2f}"} for name, value in figures.items()]
    return Rows([figures], [("", main)], notes=checked.notes)


@command(
    click.argument("benchmark"),
    option("--model", "The model, as the server names it.", required=True),
    option("--predictions", "What the model judges.", options.path, required=True),
    options.out("File for the raw answers.", required=True),
    *(*options.BENCHMARK, *options.MODEL, options.PROMPT),
    group=facts,
)
def judge(benchmark: str, model: str, predictions: Path, out: Path, **given: Any) -> Rows:
    """Let a model judge predictions for BENCHMARK; run the same command again to resume.

    OUT has the answer on each page, or the reason why there is none; every answer is kept beside
    it in a file of the same name that ends in .sqlite. Printed are the judge's scores over the
    pages that it answered, its verdicts verified. Another --prompt is sent word for word, with the
    places {gold_html} and {generated_html}; --set view=text shows the pages as text, not as HTML.
    """
    from formlab.analysis import audit
    from formlab.systems import chat
    from formlab.systems.judge import judge_call

    settings = {"prompt": "judge", "view": "html"} | given["settings"]
    shown = {name: settings.pop(name) for name in ("prompt", "view")}
    corpus, counts = corpus_of(benchmark, given), Counter(judged=0, failed=0, not_asked=0)
    judged = formlab.read_predictions(predictions, corpus)
    chosen = chat.system(f"{chat.PREFIX}{model}").settings(settings)
    store = Path(chosen["store"] or out.with_suffix(".sqlite"))
    if store.resolve() == out.resolve():
        what = "the file for the raw answers is the store of answers"
        raise DataBroken(what, where=out, remedy="another --out, such as judge.json")
    call, answers = judge_call(model, store=store, settings=chosen), {}
    pages = audit.ask_judge(corpus, judged, call=call, workers=chosen["concurrency"], **shown)
    for page, answer, record in pages:
        if (status := record["status"]) == "missing":
            counts["not_asked"] += 1
            continue
        is_usable = status in formlab.tables.USABLE
        counts["judged" if is_usable else "failed"] += 1
        if not is_usable:
            click.echo(plain(f"{status}: {page}: {answer['error']}"), err=True)
        answers[page] = answer | {"judge": model}
        formlab.files.write_json(out, dict(sorted(answers.items())))
    scores = audit.judge_scores(corpus, judged, answers)
    scores = formlab.tables.only(scores, slice_by=None, mode="fixed")
    means = {
        metric: round(rows["hits"].sum() / rows["total"].sum(), 4)
        for (metric,), rows in scores.filter(scores["total"] > 0).group_by(
            "metric", maintain_order=True
        )
    }
    return Rows([{"model": model, **counts, **means, "out": str(out)}])


@command(
    click.argument("file", type=options.path),
    option("--pages", "Only this many pages with a fact.", options.COUNT),
    option("--dpi", kind=click.IntRange(36, 600), default=300),
    options.out("An empty or new folder.", required=True),
    group=facts,
)
def filing(file: Path, out: Path, pages: int | None, dpi: int) -> Rows:
    """Convert an inline-XBRL filing into pages whose gold facts are its own tags.

    The folder loads with `--root` as benchmark fincriticaled. Needs a browser, in which no script
    of the filing runs and which fetches nothing.
    """
    from formlab.benchmarks import ixbrl

    if any(out.glob("gold_*")):
        raise DataBroken("this folder holds gold pages already", where=out, remedy="another --out")
    notes = ixbrl.write_pages(file, out, limit=pages, dpi=dpi)
    names = ("pages", "pages not drawn", "facts", "requests blocked")
    row = {name: notes.pop(name) for name in names} | {"out": str(out)}
    return Rows([row], notes={f"in the whole filing, {name}": n for name, n in notes.items()})
