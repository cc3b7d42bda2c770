"""The commands of the arena: parse, call, print."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import resources
from formlab.cli_score import documents_of, scored, scoring, show_summary
from formlab.console import as_json, asked, asking, plain, show
from formlab.errors import DataBroken, FormlabError, UnknownName
from formlab.systems import CHAT

if TYPE_CHECKING:
    from formlab_arena.run import RunSettings
    from formlab_arena.texts import TaskSet

NOTEBOOK = resources.folder("notebooks") / "40_form_filling.ipynb"
_PATH = click.Path(path_type=Path)
_TASKS = (
    click.option(
        "--forms", "codes", default="", help="Codes with commas, such as A11,B12; else all."
    ),
    click.option("--instances", default=1, show_default=True, type=click.IntRange(1, 50)),
    click.option("--seed", default=0, show_default=True, help="Of the values."),
    click.option(
        "--texts", help="quoted, prose, or what arena write made: a folder or its file."
    ),
    click.option("--data", type=_PATH, help="FormFactory's release: its texts and its fields."),
)  # fmt: skip


def _of_tasks(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which instances, with which texts; `_tasks` reads them."""
    for option in reversed(_TASKS):
        command = option(command)
    return command


def _tasks(options: dict[str, Any], usual: str) -> tuple[TaskSet, str]:
    """The tasks of the options, and the word for their texts."""
    from formlab_arena import released, texts

    codes = [code.strip() for code in options["codes"].split(",") if code.strip()]
    count, name = options["instances"], options["texts"] or usual
    if options["data"]:
        if options["texts"]:
            raise click.UsageError("--data brings its own texts: leave out --texts")
        return released.task_set(options["data"], codes=codes, count=count), texts.RELEASED
    tasks = texts.task_set(name, codes=codes, count=count, seed=options["seed"])
    return tasks, name if name in (texts.QUOTED, texts.PROSE) else Path(name).stem


def _check_source(options: dict[str, Any]) -> None:
    """Either pages or texts, each with its own options."""
    others = ("texts", "data") if options["pages"] else ("root", "split", "limit", "reading")
    if stray := [name for name in others if options[name]]:
        raise click.UsageError(
            f"--{stray[0]} goes {'without' if options['pages'] else 'with'} --pages"
        )


def _page_tasks(options: dict[str, Any]) -> tuple[TaskSet, str]:
    """The tasks of --pages, and the word for their texts, with the system of --reading."""
    from formlab.folders import Predictions
    from formlab_arena import page_tasks, texts

    codes = [code.strip() for code in options["codes"].split(",") if code.strip()]
    root, split, limit = options["root"], options["split"], options["limit"]
    tasks = page_tasks.task_set(options["pages"], root=root, split=split, codes=codes, limit=limit)
    reading = options["reading"]
    system = f":{Predictions.manifest_of(reading)['system']}" if reading else ""
    return tasks, texts.PAGES + system


@click.group("arena")
def arena() -> None:
    """Web forms to fill in, by hand or by an agent."""


@arena.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--database", type=_PATH, default=Path("runs/arena.sqlite"), show_default=True)
@click.option("--forms", "folder", type=_PATH, help="Folder of YAML forms [ours].")
@click.option("--public", is_flag=True, help="Allow a host that other machines can reach.")
@click.option("--play/--no-play", default=True, help="Pages on which people are scored.")
@click.option("--texts", help="For people: prose [default], quoted, or what arena write made.")
@click.option("--data", type=_PATH, help="For people: FormFactory's release.")
@click.option("--codes", default="", help="For people: codes of forms with commas; else all.")
@click.option("--instances", default=1, type=click.IntRange(1, 50), help="For people: of a form.")
@click.option("--seed", default=0, help="For people: of the values.")
@click.option("--name", default="human", show_default=True, help="Name of people in results.")
@click.option("--out", type=_PATH, default=Path("runs/people"), show_default=True)
def serve(
    host: str, port: int, database: Path, folder: Path | None, public: bool, play: bool,
    name: str, out: Path, **options: Any,
) -> None:  # fmt: skip
    """Show the forms in a browser until stopped; at /play people fill them in from a text.

    What each of them does is a run in a folder of --out, which arena score reads.
    """
    resources.need("arena")
    from formlab_arena import server, spec
    from formlab_arena.store import SubmissionStore

    if not public and not server.is_loopback(host):
        raise click.UsageError(f"other machines can reach {host}; add --public if they may")
    people = None
    if play:
        from formlab_arena.people import People
        from formlab_arena.run import RunSettings

        tasks, texts = _tasks(options, "prose")
        people = People(out, tasks, RunSettings(name, seed=options["seed"], texts=texts))
    app = server.create(
        SubmissionStore(database), folder=folder or spec.FOLDER, hosts=(host,), people=people
    )
    listening = server.listen(app, host=host, port=port)
    address = f"http://{host}:{listening.server_port}"
    # The address is the last word of the first line: agents' runs read it there.
    click.echo(f"forms at {address}")
    if play:
        click.echo(f"for people, with texts and scores: {address}/play/")
    sys.stdout.flush()
    listening.serve_forever()


@arena.command()
@click.option("--system", default="oracle", show_default=True, help="oracle, rules or chat:MODEL.")
@_of_tasks
@click.option(
    "--policy", default="page", type=click.Choice(["page", "step"]), show_default=True,
    help="All actions of a look at once, or one.",
)  # fmt: skip
@click.option("--scale", default=1.0, type=click.FloatRange(0.1, 1), help="Size of screenshots.")
@click.option("--ruler", is_flag=True, help="Draw pixel axes on the screenshots.")
@click.option("--steps", default=200, show_default=True, type=click.IntRange(1), help="Most looks.")
@asking
@click.option("--pages", metavar="BENCHMARK", help="Fill in what its pages say; without a text.")
@click.option("--root", type=_PATH, help="With --pages: folder of the official files.")
@click.option("--split", help="With --pages: a split; the first if left out.")
@click.option("--limit", type=click.IntRange(1), help="With --pages: so many documents.")
@click.option("--reading", type=_PATH, help="With --pages: a run of a system that read them.")
@click.option("--url", help="Fill in the form at this address instead.")
@click.option("--text", "text_file", type=_PATH, help="With --url: file with the instructions.")
@click.option("--values", "values_file", type=_PATH, help="With --url: JSON for the oracle.")
@click.option("--allow", multiple=True, help="With --url: another server the page may reach.")
@click.option("--out", type=_PATH, required=True, help="The run's folder.")
@as_json
def fill(out: Path, as_json: bool, **options: Any) -> None:
    """Let a system fill in forms; prints how many answers were right.

    The texts quote labels and values (--texts quoted), imply values as people do (prose), were
    written by a model (a folder of arena write) or are those of FormFactory's release (--data).
    With --pages there is no text: a form is made of the gold fields of each document of BENCHMARK,
    and its pages are all that the system gets; --forms are then names of documents.
    With --url it fills in one form at that address and prints the final contents of its fields;
    files can be uploaded from the folder `files` in --out only.
    """
    from formlab_arena import run

    kept = ("system", "seed", "policy", "scale", "ruler", "steps")
    settings = run.RunSettings(**{name: options[name] for name in kept}, options=_changes(options))
    if options["url"]:
        _fill_at(settings, out, options, as_json=as_json)
        return
    if stray := [name for name in ("text_file", "values_file", "allow") if options[name]]:
        raise click.UsageError(f"--{stray[0].removesuffix('_file')} goes with --url")
    _check_source(options)
    tasks, texts = _page_tasks(options) if options["pages"] else _tasks(options, "quoted")
    settings = dataclasses.replace(settings, texts=texts)
    with _progress(settings.system, len(tasks.instances)) as tell:
        results = run.fill(out, settings, tasks=tasks, reading=options["reading"], tell=tell)
    if as_json:
        show(results, as_json=True)
        return
    columns = ("doc_id", "form", "status", "right", "fields", "steps", "seconds", "error")
    rows = [{key: result[key] for key in columns} for result in results]
    show([row | {"seconds": round(row["seconds"])} for row in rows], as_json=False)
    right, asked = sum(r["right"] for r in results), sum(r["fields"] for r in results)
    done = sum(r["status"] == "submitted" for r in results)
    click.echo(f"{done} of {len(results)} submitted, {right} of {asked} answers right")


@arena.command()
@click.option("--system", required=True, help="chat:MODEL.")
@_of_tasks
@click.option("--kind", help="letter, email, resume or notes for all texts; else each in turn.")
@click.option("--tries", default=3, show_default=True, type=click.IntRange(1), help="For a text.")
@asking
@click.option("--out", type=_PATH, required=True, help="Folder of the texts.")
@as_json
def write(out: Path, as_json: bool, **options: Any) -> None:
    """Let a model write texts in which the values of instances are implied.

    Each text is checked by rule: a value must stand in it, be equal to a date or number in it, or
    follow from a phrase of it that the model names. Where that fails after --tries, the instance
    keeps its plain text, with the status `plain`. Answers are kept and asked for once.
    """
    from formlab_arena import writing
    from formlab_arena.texts import KINDS

    if not options["system"].startswith(CHAT):
        raise click.UsageError(f"texts are written by {CHAT}MODEL")
    if options["kind"] not in (None, *KINDS):
        raise UnknownName.of("kind of text", options["kind"], KINDS)
    if options["texts"] or options["data"]:
        raise click.UsageError("texts are written for the instances that formlab makes")
    tasks, _ = _tasks(options, "quoted")
    with _progress(options["system"], len(tasks.instances), "texts", "written") as tell:
        entries = writing.write(
            out, tasks, system=options["system"], settings=_changes(options), tell=tell,
            kind=options["kind"], tries=options["tries"], seed=options["seed"],
        )  # fmt: skip
    columns = ("name", "kind", "status", "tries", "error")
    show(
        entries if as_json else [{key: e.get(key) for key in columns} for e in entries],
        as_json=as_json,
    )
    if not as_json:
        done = sum(entry["status"] == "written" for entry in entries)
        click.echo(f"{done} of {len(entries)} written; the others keep their plain text")


@arena.command("score")
@click.argument("folder", metavar="RUN", type=_PATH)
@scoring
@as_json
def score(folder: Path, as_json: bool, **options: Any) -> None:
    """Score the clicks, values and submissions of RUN, a folder of `formlab arena fill`."""
    from formlab_arena.evaluation import read_run

    corpus, predictions = read_run(folder)
    documents = documents_of(options["documents"], [corpus])
    summary = scored(corpus, predictions, options | {"documents": documents}, as_json=as_json)
    show_summary(summary, options, as_json=as_json)


def _changes(options: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model on the command line, each as its type."""
    changes = asked(options)
    if not options["system"].startswith(CHAT):
        return changes
    from formlab.systems import chat

    typed = chat.system(options["system"]).settings(changes)
    return {name: typed[name] for name in changes}


@contextlib.contextmanager
def _progress(
    system: str, total: int, what: str = "forms", status: str = "submitted"
) -> Iterator[Callable[[dict[str, Any]], None]]:
    from formlab.progress import progress

    with progress(f"{what}, {{task.fields[sent]}} {status}") as bar:
        job, sent = bar.add_task(plain(system), total=total, sent=0), 0

        def tell(result: dict[str, Any]) -> None:
            nonlocal sent
            sent += result["status"] == status
            bar.update(job, advance=1, sent=sent)

        yield tell
        # With the episodes of earlier runs.
        bar.update(job, completed=total)


def _fill_at(settings: RunSettings, out: Path, options: dict[str, Any], *, as_json: bool) -> None:
    from formlab import files
    from formlab_arena.form_url import fill_url

    if options["system"] != "oracle" and not options["text_file"]:
        raise click.UsageError("--url needs --text, the file of instructions")
    values = files.read_json(options["values_file"]) if options["values_file"] else None
    if values is not None and not isinstance(values, dict):
        where, remedy = options["values_file"], '{"name": "Ada"}'
        raise DataBroken("a JSON object is expected", where=where, remedy=remedy)
    text = files.read_text(options["text_file"]) if options["text_file"] else ""
    result = fill_url(
        options["url"], out, settings, text=text, values=values, allow=options["allow"]
    )
    if as_json:
        show([result], as_json=True)
        return
    filled = result["filled"].items()
    show([{"field": name, "value": value} for name, value in filled], as_json=False)
    error = f": {plain(result['error'])}" if result["error"] else ""
    click.echo(f"{result['status']} after {result['steps']} looks{error}")


if __name__ == "__main__":
    try:
        arena()
    except FormlabError as problem:
        sys.exit(f"formlab: {problem}")
