"""The commands on financial facts: a judge, a filing as pages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from formlab.cli import options
from formlab.cli.options import Rows, command, corpus_of, option
from formlab.errors import DataBroken
from formlab.show import plain


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
def check(raw: Path, root: Path, predictions: Path | None, out: Path | None) -> Rows:
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
    figures = checked.performance
    main = [{"figure": name, "percent": f"{value:.2f}"} for name, value in figures.items()]
    return Rows([dict(figures)], [("", main)], notes=checked.notes)


@command(
    click.argument("benchmark"),
    option("--model", "The model, as the server names it.", required=True),
    option("--predictions", "What the model judges.", options.path, required=True),
    *options.BENCHMARK,
    *options.MODEL,
    options.PROMPT,
    options.out("File for the raw answers.", required=True),
    group=facts,
)
def judge(
    benchmark: str, model: str, predictions: Path, out: Path, settings: dict[str, str], **given: Any
) -> Rows:
    """Let a model judge predictions for BENCHMARK; run the same command again to resume.

    OUT has the answer on each page, or the reason why there is none; every answer is kept beside
    it in a file of the same name that ends in .sqlite. Printed are the judge's scores over the
    pages that it answered, its verdicts verified. Another --prompt is sent word for word, with the
    places {gold_html} and {generated_html}; --set view=text shows the pages as text, not as HTML.
    """
    import polars as pl

    from formlab import files, readers
    from formlab.analysis import audit
    from formlab.systems import chat
    from formlab.systems.judge import judge_call
    from formlab.tables import USABLE

    shown = {"prompt": settings.pop("prompt", "judge"), "view": settings.pop("view", "html")}
    corpus = corpus_of(benchmark, given)
    judged = readers.read_predictions(predictions, corpus)
    chosen = chat.system(f"{chat.PREFIX}{model}").settings(settings)
    store = Path(chosen["store"] or out.with_suffix(".sqlite"))
    if store.resolve() == out.resolve():
        what = "the file for the raw answers is the store of answers"
        raise DataBroken(what, where=out, remedy="another --out, such as judge.json")
    call = judge_call(model, store=store, settings=chosen)
    pages = audit.ask_judge(corpus, judged, call=call, workers=chosen["concurrency"], **shown)
    answers, states = {}, Counter({"judged": 0, "failed": 0, "not_asked": 0})
    for page, answer, record in pages:
        status = record["status"]
        state = {"missing": "not_asked"}.get(status, "judged" if status in USABLE else "failed")
        states[state] += 1
        if state == "failed":
            click.echo(plain(f"{status}: {page}: {answer['error']}"), err=True)
        if state != "not_asked":
            answers[page] = answer | {"judge": model}
            files.write_json(out, dict(sorted(answers.items())))
    scores = audit.judge_scores(corpus, judged, answers)
    scores = scores.filter(pl.col("slice_by").is_null(), pl.col("total") > 0, mode="fixed")
    mean = (pl.col("hits").sum() / pl.col("total").sum()).round(4)
    means = scores.group_by("metric", maintain_order=True).agg(mean)
    return Rows([{"model": model, **states, **dict(means.rows()), "out": str(out)}])


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
