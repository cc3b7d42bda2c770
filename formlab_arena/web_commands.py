"""The commands for other web pages: tasks that people record, and what a score of them lacks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.console import as_json
from formlab.show import plain, show
from formlab_arena.command_options import PATH

if TYPE_CHECKING:
    from formlab.folders import Corpus


@click.command()
@click.option("--url", required=True, help="Address of the form.")
@click.option("--text", "text_file", type=PATH, help="File of the instructions for agents.")
@click.option("--name", default="", help="Of the task; else made of the address.")
@click.option("--file", "uploads", multiple=True, type=PATH, help="What file dialogs get, in turn.")
@click.option("--allow", multiple=True, help="Another server the page may reach.")
@click.option("--out", type=PATH, required=True, help="JSONL of tasks, made or added to.")
@as_json
def record(
    url: str, text_file: Path | None, name: str, uploads: tuple[Path, ...],
    allow: tuple[str, ...], out: Path, as_json: bool,
) -> None:  # fmt: skip
    """Open a form in a window, and make a task of what you fill in and send.

    What was sent is the gold, by the labels of the fields; passwords are left out. Close the
    window when you are done. `formlab arena fill --tasks` has agents do the same.
    """
    from formlab import files
    from formlab_arena import recorder

    text = files.read_text(text_file) if text_file else ""
    if not as_json:
        click.echo("fill in the form and send it; close the window when you are done", err=True)
    task = recorder.record(url, out, text=text, name=name, uploads=uploads, allow=allow)
    if as_json:
        row = dataclasses.asdict(task) | {"files": [file.name for file in task.files]}
        show([row], as_json=True)
        return
    gold = (task.gold or {}).items()
    show([{"label": key, "answer": value} for key, value in gold], as_json=False)
    click.echo(plain(f"{task.name}: {len(gold)} answers, added to {out}"))


def tell_unmatched(corpus: Corpus) -> None:
    """Print which labels of the gold no page had, and what was sent without gold."""
    for name, meta in corpus.documents.select("doc_id", "meta").iter_rows():
        known: dict[str, Any] = json.loads(meta)
        for key, what in (("missing", "on no page"), ("stray", "sent without gold")):
            if labels := known.get(key):
                click.echo(plain(f"{name}: {what}: {', '.join(labels)[:2000]}"), err=True)
