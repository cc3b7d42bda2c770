"""Commands about financial facts: a judge's answers, a filing as pages, figures that add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from formlab import benchmarks, readers
from formlab.console import as_json, asked, asking, path, root, split
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.show import plain, say, show


@click.group()
def judge() -> None:
    """A language model as the judge of facts: check its answers, or ask it."""


@judge.command()
@click.argument("raw", type=path)
@click.option("--root", type=path, required=True, help="Folder of the gold pages.")
@click.option("--predictions", type=path, help="Folder of pred_<i>.txt [ROOT/pred].")
@click.option("--out", type=path, help="Folder for judge_checked.json and performance.json.")
@as_json
def check(raw: Path, root: Path, predictions: Path | None, out: Path | None, as_json: bool) -> None:
    """Check a judge's answers in RAW as the released code does, and print its figures.

    The figures are in percent. *_acc is correct per found fact, *_missing_rate not found per gold
    fact; *_error, in spite of its published name, is about correct per gold fact.
    """
    from formlab import files
    from formlab.analysis import audit

    checked = audit.check(raw, root=root, predictions=predictions)
    if out is not None:
        files.write_json(out / "judge_checked.json", checked.answers)
        files.write_json(out / "performance.json", checked.performance)
    say(checked.notes)
    figures = checked.performance
    rows = [{"figure": name, "percent": f"{value:.2f}"} for name, value in figures.items()]
    show([dict(figures)] if as_json else rows, as_json=as_json)


@judge.command("run")
@click.argument("benchmark")
@click.option("--model", required=True, help="The model, as the server names it.")
@click.option("--predictions", type=path, required=True)
@root
@split
@asking
@click.option(
    "--judge-prompt", "prompt", default="judge", show_default=True, metavar="NAME|FILE",
    help="Another prompt, word for word; places: {gold_html} and {generated_html}.",
)  # fmt: skip
@click.option(
    "--judge-view", "view", type=click.Choice(("html", "text")), default="html", show_default=True,
    help="Show the judge both pages as HTML, or as their text.",
)  # fmt: skip
@click.option("--out", type=path, required=True, help="File for the raw answers.")
@as_json
def ask(
    benchmark: str, model: str, predictions: Path, out: Path, as_json: bool, **options: Any
) -> None:
    """Let a model judge predictions for BENCHMARK; run the same command again to resume.

    OUT has the answer on each page, or the reason why there is none; every answer is kept beside
    it in a file of the same name that ends in .sqlite. Printed are the judge's scores over the
    pages that it answered, its verdicts verified.
    """
    import polars as pl

    from formlab import files
    from formlab.analysis import audit
    from formlab.analysis._fact_pages import texts_of
    from formlab.analysis.judge_scores import judge_scores
    from formlab.show import progress
    from formlab.systems import chat, prompts
    from formlab.systems.judge import has_places, judge_call
    from formlab.tables import USABLE

    known = [name for name, entry in benchmarks.BENCHMARKS.items() if "fact" in entry.tasks]
    if benchmark not in known:
        raise UnknownName.of("benchmark with facts", benchmark, known)
    corpus = benchmarks.asked(benchmark, options)
    judged = readers.read_predictions(predictions, corpus)
    settings = chat.system(f"{chat.PREFIX}{model}").settings(asked(options))
    store = Path(settings["store"] or out.with_suffix(".sqlite"))
    if store.resolve() == out.resolve():
        what = "the file for the raw answers is the store of answers"
        raise DataBroken(what, where=out, remedy="another --out, such as judge.json")
    call = judge_call(model, store=store, settings=settings)
    how = {"prompt": options["prompt"], "view": options["view"]}
    has_places(prompts.read(how["prompt"]).text)
    answers: dict[str, Any] = {}
    counts = dict.fromkeys(("judged", "failed", "not_asked"), 0)
    asked_pages = audit.ask_judge(corpus, judged, call=call, workers=settings["concurrency"], **how)
    with progress("pages, {task.fields[failed]} failed") as bar:
        bar.add_task("judge", total=len(texts_of(judged)), failed=0)
        for page, answer, record in asked_pages:
            if record["status"] == "missing":
                counts["not_asked"] += 1
                continue
            if record["status"] in USABLE:
                counts["judged"] += 1
            else:
                counts["failed"] += 1
                click.echo(f"{record['status']}: {plain(page)}: {plain(answer['error'])}", err=True)
            answers[page] = answer | {"judge": model}
            files.write_json(out, answers)
            bar.update(bar.task_ids[0], advance=1, failed=counts["failed"])
    scores = judge_scores(corpus, judged, answers)
    scores = scores.filter(pl.col("slice_by").is_null(), pl.col("total") > 0, mode="fixed")
    means = scores.group_by("metric", maintain_order=True).agg(
        (pl.col("hits").sum() / pl.col("total").sum()).round(4)
    )
    show([{"model": model, **counts, **dict(means.rows()), "out": str(out)}], as_json=as_json)


@click.command()
@click.argument("file", type=path)
@click.option("--out", type=path, required=True, help="An empty or new folder.")
@click.option("--pages", type=click.IntRange(min=1), help="Only this many pages with a fact.")
@click.option("--dpi", type=click.IntRange(36, 600), default=300, show_default=True)
@as_json
def filing(file: Path, out: Path, pages: int | None, dpi: int, as_json: bool) -> None:
    """Convert an inline-XBRL filing into pages whose gold facts are its own tags.

    The folder loads with `--root` as benchmark fincriticaled. Needs a browser, in which no script
    of the filing runs and which fetches nothing.
    """
    from formlab.benchmarks import ixbrl

    if any(out.glob("gold_*")):
        raise DataBroken("this folder holds gold pages already", where=out, remedy="another --out")
    notes = ixbrl.write_pages(file, out, limit=pages, dpi=dpi)
    row = {
        name: notes.pop(name) for name in ("pages", "pages not drawn", "facts", "requests blocked")
    }
    say({f"in the whole filing, {name}": count for name, count in notes.items()})
    show([row | {"out": str(out)}], as_json=as_json)


@click.command()
@click.argument("pages", type=path)
@click.option("--filing", "tagged", type=path, help="An inline-XBRL filing with the same rows.")
@click.option("--links", type=path, help="Its calculation links, the file that ends in _cal.xml.")
@click.option("--all", "every", is_flag=True, help="Also the sums that hold.")
@as_json
def sums(pages: Path, tagged: Path | None, links: Path | None, every: bool, as_json: bool) -> None:
    """Find figures that do not add up on PAGES, without gold.

    PAGES is what formlab run wrote, or a folder of pages as .html, .md or .txt. The filing and its
    calculation links say which rows are sums; they may be of another quarter.
    """
    from formlab import files
    from formlab.analysis import check_sums
    from formlab.benchmarks.calculations import known_sums
    from formlab.folders import Predictions

    if (tagged is None) != (links is None):
        raise UnknownName("one of --filing and --links alone", remedy="name both")
    read: Predictions | dict[str, str]
    if (pages / "manifest.json").is_file():
        read = Predictions.load(pages)
    else:
        endings = (".html", ".htm", ".md", ".txt")
        texts = sorted(file for file in pages.rglob("*") if file.suffix.lower() in endings)
        if not texts:
            remedy = f"files that end in {', '.join(endings)}"
            raise DataMissing("no pages here", where=pages, remedy=remedy)
        read = {file.relative_to(pages).as_posix(): files.read_text(file) for file in texts}
    known = known_sums(tagged, links) if tagged and links else ()
    table = check_sums(read, known, every=True)
    none = table.filter(table["holds"].is_null())["doc_id"].n_unique()
    broken = table.filter(~table["holds"]).height
    sums_found = table.height - none
    say({"sums found": sums_found, "of them broken": broken, "pages without a sum": none})
    table = table.drop_nulls("holds")
    show((table if every else table.filter(~table["holds"])).to_dicts(), as_json=as_json)
