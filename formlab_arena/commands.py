"""The commands of the arena: parse, call, print."""

import os
import socket
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import click

from formlab import resources
from formlab.cli import options
from formlab.cli.commands import scored
from formlab.cli.options import Rows, command, option
from formlab.errors import FormlabError, UnknownName
from formlab.systems import CHAT
from formlab_arena.command_options import TASKS, changes_of, progress_of, tasks_of
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
@option("--host", default="127.0.0.1")
@option("--port", kind=click.IntRange(0, 65535), default=8000)
@option("--database", kind=options.path, default=Path("runs/arena.sqlite"))
@option("--forms folder", "Folder of YAML forms [ours].", options.path)
@option("--public", "Allow a host that other machines can reach.", bool)
@option("--allow-host names", "Another name of this machine.", multiple=True)
@option("--play/--no-play", "Pages on which people are scored.", default=True)
@option("--texts", "For people: prose [default], quoted, or what arena write made.")
@option("--data", "For people: FormFactory's release.", options.path)
@option("--codes", "For people: codes of forms with commas; else all.", default="")
@option("--instances", "For people: of a form.", click.IntRange(1, 50), 1)
@option("--seed", "For people: of the values.", default=0)
@option("--name", "Name of people in results.", default="human")
@option("--out", kind=options.path, default=Path("runs/people"))
@option("--until-eof", "End with stdin.", bool, hidden=True)
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


@command(
    option("--system", "chat:MODEL.", required=True),
    *TASKS,
    option("--kind", "letter, email, resume or notes for all texts; else each in turn."),
    option("--tries", "For a text.", options.COUNT, 3),
    *options.MODEL,
    options.out("Folder of the texts.", required=True),
    group=arena,
)
def write(out: Path, **options: Any) -> Rows:
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
            out,
            tasks,
            system=options["system"],
            settings=changes_of(options),
            tell=tell,
            **{name: options[name] for name in ("kind", "tries", "seed")},
        )
    columns = ("name", "kind", "status", "tries", "error")
    short = [{key: entry.get(key) for key in columns} for entry in entries]
    done = sum(entry["status"] == "written" for entry in entries)
    hint = f"{done} of {len(entries)} written; the others keep their plain text"
    return Rows(entries, [("", short)], hints=[hint])


@command(
    click.argument("folder", metavar="RUN", type=options.path),
    option("--gold gold_file", "Other pages: JSON of answers by label.", options.path),
    *options.SCORING,
    group=arena,
)
def score(folder: Path, gold_file: Path | None, **options: Any) -> Rows:
    """Score the clicks, values and submissions of RUN, a folder of `formlab arena fill`.

    A run on other web pages is scored by the gold of its tasks, or by --gold: an object of labels
    and answers, or one of them for each task. Without --gold, `formlab score RUN` does the same.
    """
    from formlab import files
    from formlab_arena.evaluation import read_run

    corpus, predictions = read_run(folder, gold=files.read_json(gold_file) if gold_file else None)
    tell_unmatched(corpus)
    return scored(corpus, predictions, **options)


if __name__ == "__main__":
    # How episodes start their server.
    try:
        arena()
    except FormlabError as problem:
        sys.exit(f"formlab: {problem}")
