"""The commands of the core: each parses, calls public functions and returns rows."""

from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click

import formlab
from formlab.cli import COLUMNS, options
from formlab.cli.options import Rows, command, corpus_of, option, pairs
from formlab.errors import DataBroken, FormlabError, NotAvailable


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

    from formlab.scoring.batches import decide

    reader = formlab.systems.get(system)
    settings, corpus = reader.settings(given["settings"]), corpus_of(gold, given)
    limit = documents if isinstance(documents, int) else None
    if limit is None:
        names = corpus.documents["doc_id"].to_list()
        chosen, *_ = decide(names, set(), documents, where=corpus.split)
        corpus = corpus.filtered(pl.col("doc_id").is_in(chosen))
    name = given["name"] or reader.run_name(settings)
    out = out or Path("runs", f"{corpus.benchmark}-{corpus.split}-{name}".replace("/", "-"))
    passed = {"settings": settings, "limit": limit, "name": name, "workers": given["workers"]}
    predictions = formlab.run(corpus, reader, out=out, **passed)
    responses = predictions.responses.select("status", "doc_id", "error")
    failed = responses.filter(~pl.col("status").is_in(formlab.tables.USABLE))
    row = {"system": predictions.system, "documents": responses.height, "failed": failed.height}
    row |= {"records": predictions.records.height, "out": str(out)}
    # Each reason once, without the document that it names.
    reasons: dict[str, list[str]] = {}
    for status, name, error in failed.rows():
        reasons.setdefault(f"{status}: {error}".removesuffix(f" ({name})"), []).append(name)
    hints = [f"{of}: {', '.join(n[:3])}{', …' * (len(n) > 3)}" for of, n in reasons.items()]
    # An answer that cannot be used was read; what waits for a batch, or for more money, may be yet.
    waits = pl.col("error").str.starts_with("not asked: ").fill_null(value=False)
    is_read = failed.filter(~waits, status="missing").height < max(1, responses.height)
    return Rows([row], None, predictions.notes, hints[:5], is_read)


@command(
    click.argument("gold", metavar="GOLD…", nargs=-1, required=True, type=options.gold),
    option("--predictions", "Answers, a run, or logs; see above.", options.file, multiple=True),
    *options.SOURCE,
    *options.SCORING,
    option("--allow-unmatched", "Score answers of which no field is in the gold.", bool),
    *(options.NAME, options.PROCESSES),
)
def score(gold: tuple[str | Path, ...], predictions: tuple[Path, ...], **given: Any) -> Rows:
    """Score --predictions against GOLD: a benchmark's name, or the path of your own gold.

    Without --predictions, GOLD brings its own: a finished run of formlab arena, or logs of Inspect,
    lmms-eval, VLMEvalKit, OmniAI, stickler, olmOCR-bench, or any table, whose own figures are set
    beside formlab's. With a benchmark and logs as --predictions, the gold is the benchmark's.
    """
    given["workers"] = given["workers"] or min(formlab.workers.cores(), 4)
    first, *others = gold
    benchmark = first if isinstance(first, str) else None
    are_logs = all(map(_is_log, predictions)) if benchmark else not predictions
    is_lacking = bool(benchmark or predictions) and (others or not predictions)
    if is_lacking or (len(predictions) > 1 and not are_logs):
        raise click.UsageError("one GOLD and one --predictions, or logs alone")
    if are_logs:
        reader = None if others or benchmark else formlab.readers.reader_of(first)
        if reader and reader.both:
            return scored(*reader.both(first), **given)
        return _logs(predictions or gold, benchmark, **given)
    answers = predictions[0]
    if benchmark:
        splits = [given["split"]] if given["split"] else formlab.readers.splits(answers) or [None]
        if len(splits) > 1:
            raise click.UsageError(f"--split: the predictions are for {', '.join(splits)}")
        first = formlab.benchmarks.corpora(first, root=given["root"], split=splits[0], apart=True)
    return scored(first, answers, **given)


def scored(gold: Any, answers: Any, **given: Any) -> Rows:
    """The scores of answers to gold, saved where `options.SCORING` have a folder for it."""
    from formlab.scoring.batches import NOTES, partial_note

    out, by, everything, old = given["out"], given["by"], given["everything"], {}
    names = ("documents", "mode", "reader", "workers", "out", "name", "images", "types", "columns")
    passed = {name: given[name] for name in names if given.get(name) is not None}
    if out:
        passed["fallback"] = out.name
        with suppress(FormlabError):
            _, old = formlab.saving.read_manifest(formlab.folders.Evaluation, out)
    evaluation = formlab.evaluate(gold, answers, **passed)
    notes, sources, unmet = evaluation.notes, old.get("sources") or {}, formlab.readers.UNMET
    if not given.get("allow_unmatched") and given["documents"] == "all" and unmet in notes:
        found = [note for note in notes if note.startswith(("gold fields that", "answer fields"))]
        remedy = "--columns for names of columns, or --allow-unmatched if it is meant"
        raise DataBroken(f"{unmet}: {'; '.join(found)}", remedy=remedy)
    hints = [partial_note(evaluation.documents.height, evaluation.settings, notes)]
    both = (old.get("system"), sources), (evaluation.system, evaluation.sources)
    before, after = (f"{system} ({', '.join(sorted(files))})" for system, files in both)
    if old and before != after:
        hints += [f"note: in {out}, the evaluation of {before} was replaced by {after}"]
    notes = {note: count for note, count in notes.items() if note not in NOTES}
    # Slices that were not asked for are summarised only where everything is wanted.
    usual = formlab.benchmarks.get(evaluation.benchmark).slices if everything else ()
    drawing = {"resamples": given["resamples"], "seed": given["seed"]}
    summary = formlab.summarise(evaluation, by=by or usual, **drawing)
    if everything:
        main = [("", formlab.tables.readable(summary).select(COLUMNS["all"]))]
    else:
        total, sliced = _first(summary.filter(average="pooled"), by)
        row, counted = total.row(0, named=True), formlab.analysis.finding.counted
        of = f"{counted(row['n_cases'], row['level'])}, {counted(row['n_docs'], 'document')}"
        title = "{system}, {benchmark}:{split}: {metric} {value:.4f} [{ci_low:.4f}, {ci_high:.4f}] "
        title = title.format(**row).replace("[nan, nan]", "[no interval]") + f"({of})"
        main = [(title, total[1:].select(COLUMNS["scores"]))]
        main += [("", sliced.select("slice", *COLUMNS["scores"]))]
        hints += [f"--all prints all {summary.height:,} scores and slices, --json every column"]
    return Rows(summary, main, notes, hints, left_out=evaluation.unreadable)


def _first(table: Any, by: tuple[str, ...], most: int | None = 6) -> list[Any]:
    """The main number over all and the scores beside it, and slices `by`; all scores of None."""
    import polars as pl

    metric, key, place = pl.col("metric"), ["task", "metric", "level"], pl.col("place")
    heads = formlab.analysis.headlines(table.with_columns(average=pl.lit("pooled")))
    heads = heads.select("metric", level="score_level", place="panel").unique(key[1:])
    ranked = table.join(heads, on=key[1:], how="left", maintain_order="left")
    # First what speaks for a level, then metrics of plug-ins, then shares of fields.
    is_builtin = metric.is_in([*formlab.metrics.METRICS.builtin])
    order = (place, is_builtin, pl.col("value").is_nan(), ~metric.str.ends_with("accuracy"))
    ranked = ranked.sort(*order, nulls_last=True, maintain_order=True)
    total = formlab.tables.only(ranked, slice_by=None)
    scores = total.select(key).unique(maintain_order=True)[:most]
    total = scores.join(total, on=key, nulls_equal=True, maintain_order="left_right")
    is_first = pl.lit(most is None) | place.is_not_null()
    sliced = ranked.filter(pl.col("slice_by").is_in([*by]), is_first)
    return [formlab.tables.readable(rows.select(table.columns)) for rows in (total, sliced)]


def _is_log(path: Path) -> bool:
    """Whether a file or folder has scores or gold of its own beside answers."""
    from formlab.readers import ODD, Source, logs, samples

    if (reader := formlab.readers.reader_of(path)) is None:
        return logs.is_table(path)
    with suppress(*ODD):
        run = next(samples.runs_of(islice(reader.read(source := Source(path)), 1000), source))
        return bool(run.rows["gold"].height or run.log["headline"] or run.log["scorer"])
    return False


def _logs(logs: tuple[Any, ...], benchmark: str | None, **given: Any) -> Rows:
    """An evaluation of each run in logs, with the log's own figures beside formlab's."""
    from formlab.readers.logs import differences, headlines, join_report, open_logs

    out, passed = given["out"], {k: given[k] for k in ("columns", "types", "root", "split", "name")}
    passed |= {"documents": "all" if given["documents"] == "all" else "asked"}
    paths = [log.resolve() for log in logs]
    # Processes are for several logs, or for the batches of one.
    of_one = {} if paths[1:] else {"workers": given["workers"], "out": out}
    opening = partial(open_logs, benchmark=benchmark, **passed, **of_one)
    found = dict(formlab.workers.each(opening, paths, workers=1 if of_one else given["workers"]))
    for path, result in found.items():
        if result is formlab.workers.LOST:
            raise NotAvailable(result, where=path, remedy="more memory, fewer --workers")
    # In the order in which they were named, whichever was read first.
    places, evaluations = zip(*((p, of) for p in paths for of in found[p]), strict=True)
    rows, tables, notes = [], [], Counter[str]()
    for number, evaluation in enumerate(formlab.analysis.named(evaluations)):
        path, folder = places[number], out
        if out and len(places) > 1:  # Of one log with one run it is saved already.
            evaluation.save(folder := out / f"{number + 1}-{path.stem}")
        notes += Counter(evaluation.notes)
        differ, figures = differences(evaluation), headlines(evaluation).to_dicts()
        row = {"log": str(path), "system": evaluation.system, "out": folder and str(folder)}
        row |= {"benchmark": f"{evaluation.benchmark}:{evaluation.split}"}
        row |= {"notes": evaluation.notes, "join": join_report(evaluation), "headlines": figures}
        row |= {"differences": differ.to_dicts(), "why": dict(Counter(differ["why"]).most_common())}
        rows.append(row)
        # The last figure is formlab's over all samples.
        value = f"{figures[-1]['value']:.4f}" if figures else "no sample"
        title = "{system}, {benchmark}, {log}: ".format(**row) + value
        title += f"; cases that the log counts differently: {differ.height}"
        tables += [(title, figures), ("", differ if given["everything"] else [])]
    return Rows(rows, tables, notes)


@command(
    click.argument("folders", metavar="EVAL…", nargs=-1, required=True, type=options.file),
    option("--metric", "Only this metric, or outcome: values right [all].", multiple=True),
    option("--average", "pooled [default] or macro: means over documents."),
    option("--reference", "Compare every system with this one [all pairs]."),
    option("--over-time", "EVAL is a folder of runs: what each changed.", bool),
    option("--resamples", "Draws for intervals [1000] and tests [9999].", options.FROM_ZERO),
    *(options.BY, options.SEED, options.EVERYTHING),
)
def compare(folders: tuple[Path, ...], everything: bool, over_time: bool, **given: Any) -> Rows:
    """Compare two or more systems that were scored on the same forms.

    EVAL are folders that formlab score wrote with --out. A difference is by how much the first
    system is better; p is that of a permutation test, which swaps whole documents. With --over-time
    EVAL are folders of evaluations, of which each is tested against the one saved before.
    """
    given["permutations"] = given["resamples"]
    given = {name: value for name, value in given.items() if value not in (None, ())}
    if over_time:
        named = {name: given[name] for name in given if name not in ("by", "reference")}
        table = formlab.analysis.history(formlab.analysis.open_history(folders), **named)
        main = table if everything else table.filter(metric=table["metric"].first())
        return Rows(table, [("", main.select(COLUMNS["changed"]))])
    evaluations = [formlab.folders.Evaluation.load(folder) for folder in folders]
    table = formlab.compare(evaluations, **given)
    pairs, count = table.select("system_a", "system_b").n_unique(), table["n_docs"].max() or 0
    needed = formlab.stats.tests.documents_needed(0.05 / max(1, pairs))
    documents = formlab.analysis.finding.counted(count, "document")
    title = f"{documents}: nothing can be shown, {needed} are needed" * (count < needed)
    # Null: no test supports that either system is better.
    main = table if title else table.with_columns(table["better"].fill_null("not shown"))
    notes, hints = formlab.analysis.common(evaluations).notes, []
    if everything:
        main = formlab.tables.readable(main)
    else:
        main = main.filter(average=given.get("average", "pooled")).with_columns(value="value_a")
        # Of several pairs as many rows as of one.
        most = None if "metric" in given else 1 + 5 // max(1, pairs)
        total, sliced = _first(main, given.get("by", ()), most)
        main = total.vstack(sliced)
        main = main.select(name for name in COLUMNS["compared"] if main[name].count())
        hints = [f"--all prints all {table.height:,} rows, --json every column"]
    return Rows(table, [(title, main)], notes, hints)


@command(
    click.argument("notebooks", nargs=-1, type=options.path),
    option("--eval evaluations", "An evaluation's folder [samples].", options.file, multiple=True),
    option("-p --parameter changes", "NAME=VALUE, as YAML: of the notebooks.", multiple=True),
    option("--manifest", "A YAML file that lists reports and how they are built.", options.path),
    *(options.out("Folder of the reports [reports]."), options.SET),
    option("--workers", "As elsewhere [a process a processor].", options.processes),
    option("--force", "Rebuild reports that have not changed, too.", bool),
)
def report(notebooks: Any, evaluations: Any, changes: Any, manifest: Any, **given: Any) -> Rows:
    """Run NOTEBOOKS (all, if none is named) and write one HTML page each, and an index.

    What has not changed since it was built is left as it is. The exit code is 1 if a report is not
    complete. Settings are timeout (seconds that a cell may take) and figures (on: as files, too).
    """
    usual, changed = {"timeout": 600, "figures": True}, given.pop("settings")
    settings = formlab.systems.System("a report", "", None, usual).settings(changed)
    formlab.systems.above_zero(settings, "timeout")
    given = {n: v for n, v in (given | {n: settings[n] for n in changed}).items() if v is not None}
    if manifest and (notebooks or evaluations or changes):
        raise click.UsageError("NOTEBOOKS, --eval and -p go into the manifest")
    if manifest:
        results = formlab.reports.build_manifest(manifest, **given)
    else:
        given = {"out": Path("reports"), "workers": None, "evaluations": evaluations} | given
        read = partial(formlab.files.parse_yaml, where="-p", remedy="quotes, as in a manifest")
        parameters = {name: read(text) for name, text in pairs(changes).items()}
        results = formlab.reports.build(notebooks or None, parameters=parameters, **given)
    rows, hints = [], list[str]()
    for result in results:
        row = {"report": result.html.name if result.html else result.name, "status": result.status}
        rows.append(row | {"seconds": round(result.seconds), "error": result.error or ""})
        hints += [f"note: {note}" for note in result.notes]
    return Rows(rows, hints=hints, ok=all(result.ok for result in results))


@command(click.argument("kind", type=options.LISTED), name="list")
def list_names(kind: str) -> Rows:
    """List benchmarks, systems, metrics or plug-ins; --json has all that is known of each."""
    if kind == "plugins":
        return Rows(formlab.registry.plugins())
    entries, data = formlab.registry.view(kind).values(), str | bool | float | tuple | dict
    rows = [{k: v for k, v in vars(entry).items() if isinstance(v, data)} for entry in entries]
    return Rows(rows, [("", [{"name": row["name"], "title": row["title"]} for row in rows])])


@command(click.argument("folder", type=options.path))
def init(folder: Path) -> Rows:
    """Copy the notebooks and a manifest of reports into FOLDER; nothing is overwritten."""
    from formlab.reports.plan import copy_notebooks

    manifest, books = copy_notebooks(folder)
    row = {"notebooks": len(books), "next": f"formlab report --manifest {manifest}"}
    return Rows([row], hints=["live: pip install 'formlab[lab]', then jupyter lab"])


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
    if out is not None:
        formlab.files.write_json(out / "judge_checked.json", checked.answers)
        formlab.files.write_json(out / "performance.json", checked.performance)
    main = [{"figure": n, "percent": f"{share:.2f}"} for n, share in checked.performance.items()]
    return Rows([dict(checked.performance)], [("", main)], notes=checked.notes)


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

    OUT has the answer on each page, or why there is none; the file beside it that ends in .sqlite
    keeps every answer. Scored are the pages that it answered, its verdicts verified. --prompt of
    your own has the places {gold_html} and {generated_html}.
    """
    from formlab.analysis import audit
    from formlab.systems import chat
    from formlab.systems.judge import judge_call

    settings = {"prompt": "judge"} | given["settings"]
    prompt = settings.pop("prompt")
    corpus, counts = corpus_of(benchmark, given), Counter(judged=0, failed=0, not_asked=0)
    judged = formlab.read_predictions(predictions, corpus)
    chosen = chat.system(f"{chat.PREFIX}{model}").settings(settings)
    store = Path(chosen["store"] or out.with_suffix(".sqlite"))
    if store.resolve() == out.resolve():
        raise click.UsageError("--out is the store of answers; another, such as judge.json")
    call, answers, hints = judge_call(model, store=store, settings=chosen), {}, []
    pages = audit.ask_judge(corpus, judged, call=call, workers=chosen["concurrency"], prompt=prompt)
    for page, answer in pages:
        status, is_usable = answer["status"], answer["status"] in formlab.tables.USABLE
        state = "judged" if is_usable else "not_asked" if status == "missing" else "failed"
        counts[state] += 1
        hints += [f"{status}: {page}: {answer['error']}"] if state == "failed" else []
        answers |= {page: answer | {"judge": model}} if state != "not_asked" else {}
    formlab.files.write_json(out, dict(sorted(answers.items())))
    scores = audit.judge_scores(corpus, judged, answers)
    scores = formlab.tables.only(scores, slice_by=None, mode="fixed")
    by_metric = scores.filter(scores["total"] > 0).group_by("metric", maintain_order=True)
    means = {m: round(rows["hits"].sum() / rows["total"].sum(), 4) for (m,), rows in by_metric}
    return Rows([{"model": model, **counts, **means, "out": str(out)}], hints=hints)


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
    return Rows([ixbrl.write_pages(file, out, limit=pages, dpi=dpi) | {"out": str(out)}])
