"""The command that makes evaluations of the logs of other harnesses."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import benchmarks
from formlab.addresses import fetched
from formlab.console import as_json, pairs, plain, root, say, show, split, workers_options
from formlab.errors import NotAvailable

if TYPE_CHECKING:
    from formlab.folders import Evaluation

# How many of the cases on which log and formlab differ are printed.
_SHOWN = 10


@click.command("open")
@click.argument("logs", nargs=-1, required=True, metavar="LOG…", type=fetched)
@click.option("--benchmark", help="The benchmark whose gold is used [the gold in the log].")
@root
@split
@click.option(
    "--columns",
    metavar="NAME=COLUMN,…",
    help="Of a table: its columns, such as doc_id=id,gold=target,value=output.",
)
@click.option(
    "--documents",
    type=click.Choice(["asked", "all"]),
    default="asked",
    show_default=True,
    help="With --benchmark: only what the log asks for, or all; the rest counts as missing.",
)
@click.option("--types", help="Types of the log's own gold, as for formlab score.")
@click.option("--system", help="What the system is called [as the log calls it].")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder to save the evaluation in; of several, a folder each inside of it.",
)
@workers_options()
@as_json
def open_logs(logs: tuple[Path, ...], as_json: bool, out: Path | None, **options: Any) -> None:
    """Make evaluations of LOGs of other harnesses, with the log's own figures beside formlab's.

    Reads logs of Inspect, lmms-eval, VLMEvalKit, OmniAI, stickler and olmOCR-bench,
    and any table.
    """
    from formlab import workers
    from formlab.readers.logs import called

    columns, strict = options.pop("columns"), options.pop("strict")
    options["columns"] = pairs(tuple(columns.split(","))) if columns else None
    system = options.pop("system")
    count = options.pop("workers")
    if isinstance(count, int):
        count = min(count, len(logs))
    jobs = [(number, log.resolve()) for number, log in enumerate(logs)]
    # In the order in which they were named, whichever was read first.
    by_number = {}
    for (number, log), evaluations in workers.each(partial(_opened, options), jobs, workers=count):
        if isinstance(evaluations, workers.Lost):
            what = f"the log cannot be read: {evaluations.reason}"
            raise NotAvailable(what, where=log, remedy="more memory")
        by_number[number] = evaluations
    opened = [
        (log, benchmarks.strictly(strict, each))
        for number, log in enumerate(logs)
        for each in by_number[number]
    ]
    names = [system or evaluation.system for _, evaluation in opened]
    # Two logs of one model are told apart by their files.
    opened = [
        (log, called(evaluation, name if names.count(name) == 1 else f"{name} ({log.stem})"))
        for (log, evaluation), name in zip(opened, names, strict=True)
    ]
    rows = []
    for (log, evaluation), folder in zip(opened, _folders(opened, out), strict=True):
        if folder:
            evaluation.save(folder)
        rows.append(_row(log, evaluation, folder))
    if as_json:
        show(rows, as_json=True)
        return
    for row, (_, evaluation) in zip(rows, opened, strict=True):
        _print(row, evaluation)


def _opened(options: dict[str, Any], job: tuple[int, Path]) -> list[Evaluation]:
    """The evaluations of one log."""
    from formlab.readers import logs

    return logs.open_logs(job[1], **options)


def _folders(opened: list[tuple[Path, Evaluation]], out: Path | None) -> list[Path | None]:
    """Where each evaluation goes: `out` itself, or for several a folder of a name of its own."""
    if out is None or len(opened) == 1:
        return [out] * len(opened)
    stems = Counter(log.stem for log, _ in opened)
    names = [log.stem if stems[log.stem] == 1 else f"{log.stem}-{e.system}" for log, e in opened]
    clean = ["".join(c if c.isalnum() or c in "-_." else "-" for c in name) for name in names]
    taken: Counter[str] = Counter()
    folders: list[Path | None] = []
    for name in clean:
        taken[name] += 1
        folders.append(out / (name if taken[name] == 1 else f"{name}-{taken[name]}"))
    return folders


def _row(log: Path, evaluation: Evaluation, folder: Path | None) -> dict[str, Any]:
    from formlab.readers.beside import differences, headlines, join_report, stated

    differ = differences(evaluation)
    counts = Counter(differ["why"].to_list() if differ.width and differ.height else [])
    return {
        "log": str(log), "format": stated(evaluation).get("format"), "system": evaluation.system,
        "benchmark": f"{evaluation.benchmark}:{evaluation.split}",
        "join": join_report(evaluation), "notes": evaluation.notes,
        "headlines": headlines(evaluation).to_dicts(), "differences": differ.to_dicts(),
        "why": dict(counts.most_common()), "out": None if folder is None else str(folder),
    }  # fmt: skip


def _print(row: dict[str, Any], evaluation: Evaluation) -> None:
    where = plain(f"{row['log']}: {row['system']}, {row['benchmark']}")
    click.secho(where, bold=True, err=True)
    if row["format"]:
        counts = ", ".join(f"{count} {word}" for word, count in row["join"].items())
        click.echo(plain(f"samples: {counts}"), err=True)
    say(evaluation.notes, left_out=evaluation.unreadable)
    show(row["headlines"], as_json=False)
    if row["differences"]:
        click.echo(f"\n{len(row['differences'])} cases that the log and formlab count differently:")
        show([{"cases": n, "why": why} for why, n in row["why"].items()], as_json=False)
        click.echo(f"\nThe first {min(_SHOWN, len(row['differences']))} of them:")
        show(row["differences"][:_SHOWN], as_json=False)
    if row["out"]:
        click.echo(f"\nsaved in {plain(row['out'])}", err=True)
