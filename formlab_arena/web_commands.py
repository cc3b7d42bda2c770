"""The commands for other web pages: tasks that people record, and what a score of them lacks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.cli import options
from formlab.cli.options import Rows, command, option
from formlab.show import plain

if TYPE_CHECKING:
    from formlab.folders import Corpus


@command(
    option("--url", "Address of the form.", required=True),
    option("--text", "File of the instructions for agents.", options.path),
    option("--name", "Of the task; else made of the address.", default=""),
    option("--file uploads", "What file dialogs get, in turn.", options.path, multiple=True),
    option("--allow", "Another server the page may reach.", multiple=True),
    options.out("JSONL of tasks, made or added to.", required=True),
)
def record(url: str, text: Path | None, out: Path, **options: Any) -> Rows:
    """Open a form in a window, and make a task of what you fill in and send.

    What was sent is the gold, by the labels of the fields; passwords are left out. Close the
    window when you are done. `formlab arena fill --tasks` has agents do the same.
    """
    from formlab import files
    from formlab_arena import recorder

    click.echo("fill in the form and send it; close the window when you are done", err=True)
    instructions = files.read_text(text) if text else ""
    task = recorder.record(url, out, text=instructions, **options)
    row = dataclasses.asdict(task) | {"files": [file.name for file in task.files]}
    answers = [{"label": key, "answer": value} for key, value in (task.gold or {}).items()]
    hint = f"{task.name}: {len(answers)} answers, added to {out}"
    return Rows([row], [("", answers)], hints=[hint])


def tell_unmatched(corpus: Corpus) -> None:
    """Print which labels of the gold no page had, and what was sent without gold."""
    for name, meta in corpus.documents.select("doc_id", "meta").iter_rows():
        known: dict[str, Any] = json.loads(meta)
        for key, what in (("missing", "on no page"), ("stray", "sent without gold")):
            if labels := known.get(key):
                click.echo(plain(f"{name}: {what}: {', '.join(labels)[:2000]}"), err=True)
