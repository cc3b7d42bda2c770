"""The commands of the arena: parse, call, print."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import click

from formlab import resources
from formlab.cli_score import documents_of, scored, scoring
from formlab.cli_summary import show_summary
from formlab.console import as_json, asking
from formlab.errors import FormlabError, UnknownName
from formlab.show import show
from formlab.systems import CHAT
from formlab_arena.command_options import PATH, changes_of, of_tasks, progress_of, tasks_of
from formlab_arena.design_command import design
from formlab_arena.fill_command import fill
from formlab_arena.web_commands import record, tell_unmatched

NOTEBOOK = resources.folder("notebooks") / "40_form_filling.ipynb"


@click.group("arena")
def arena() -> None:
    """Web forms to fill in, by hand or by an agent."""


arena.add_command(fill)
arena.add_command(design)
arena.add_command(record)


@arena.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--database", type=PATH, default=Path("runs/arena.sqlite"), show_default=True)
@click.option("--forms", "folder", type=PATH, help="Folder of YAML forms [ours].")
@click.option("--public", is_flag=True, help="Allow a host that other machines can reach.")
@click.option("--allow-host", "names", multiple=True, help="Another name of this machine.")
@click.option("--play/--no-play", default=True, help="Pages on which people are scored.")
@click.option("--texts", help="For people: prose [default], quoted, or what arena write made.")
@click.option("--data", type=PATH, help="For people: FormFactory's release.")
@click.option("--codes", default="", help="For people: codes of forms with commas; else all.")
@click.option("--instances", default=1, type=click.IntRange(1, 50), help="For people: of a form.")
@click.option("--seed", default=0, help="For people: of the values.")
@click.option("--name", default="human", show_default=True, help="Name of people in results.")
@click.option("--out", type=PATH, default=Path("runs/people"), show_default=True)
@click.option("--until-eof", is_flag=True, hidden=True, help="End with stdin.")
def serve(
    host: str, port: int, database: Path, folder: Path | None, public: bool,
    names: tuple[str, ...], play: bool, name: str, out: Path, until_eof: bool, **options: Any,
) -> None:  # fmt: skip
    """Show the forms in a browser until stopped; at /play people fill them in from a text.

    What each of them does is a run in a folder of --out, which arena score reads.
    """
    resources.need("arena")
    from formlab_arena import listening, server, spec
    from formlab_arena.store import SubmissionStore

    if until_eof:
        Thread(target=_end_with_stdin, daemon=True).start()
    if not public and not listening.is_loopback(host):
        raise click.UsageError(f"other machines can reach {host}; add --public if they may")
    people = None
    if play:
        from formlab_arena.people import People
        from formlab_arena.run import RunSettings

        tasks, texts = tasks_of(options, "prose")
        people = People(out, tasks, RunSettings(name, seed=options["seed"], texts=texts))
    app = server.create(
        SubmissionStore(database), folder=folder or spec.FOLDER, people=people,
        hosts=(host, socket.gethostname(), *names),
    )  # fmt: skip
    running = listening.listen(app, host=host, port=port)
    address = listening.address(host, running.server_port)
    # The address is the last word of the first line: agents' runs read it there.
    click.echo(f"forms at {address}")
    if play:
        click.echo(f"for people, with texts and scores: {address}/play/")
    sys.stdout.flush()
    running.serve_forever()


def _end_with_stdin() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)


@arena.command()
@click.option("--system", required=True, help="chat:MODEL.")
@of_tasks
@click.option("--kind", help="letter, email, resume or notes for all texts; else each in turn.")
@click.option("--tries", default=3, show_default=True, type=click.IntRange(1), help="For a text.")
@asking
@click.option("--out", type=PATH, required=True, help="Folder of the texts.")
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
    tasks, _ = tasks_of(options, "quoted")
    with progress_of(options["system"], len(tasks.instances), "texts", "written") as tell:
        entries = writing.write(
            out, tasks, system=options["system"], settings=changes_of(options), tell=tell,
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
@click.argument("folder", metavar="RUN", type=PATH)
@click.option("--gold", "gold_file", type=PATH, help="Other pages: JSON of answers by label.")
@scoring
@as_json
def score(folder: Path, gold_file: Path | None, as_json: bool, **options: Any) -> None:
    """Score the clicks, values and submissions of RUN, a folder of `formlab arena fill`.

    A run on other web pages is scored by the gold of its tasks, or by --gold: an object of labels
    and answers, or one of them for each task.
    """
    from formlab import files
    from formlab_arena.evaluation import read_run

    corpus, predictions = read_run(folder, gold=files.read_json(gold_file) if gold_file else None)
    documents = documents_of(options["documents"], [corpus])
    summary = scored(corpus, predictions, options | {"documents": documents}, as_json=as_json)
    show_summary(summary, options, as_json=as_json)
    tell_unmatched(corpus)


if __name__ == "__main__":
    try:
        arena()
    except FormlabError as problem:
        sys.exit(f"formlab: {problem}")
