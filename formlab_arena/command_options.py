"""The options that commands of the arena share, and what is read in them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.cli import options
from formlab.cli.options import option
from formlab.show import plain
from formlab.systems import CHAT

if TYPE_CHECKING:
    from formlab_arena.texts import TaskSet

# Which instances, with which texts; `tasks_of` reads them.
TASKS = (
    option("--forms codes", "Codes with commas, such as A11,B12; else all.", default=""),
    option("--instances", kind=click.IntRange(1, 50), default=1),
    option("--seed", "Of the values.", default=0),
    option("--texts", "quoted, prose, or what arena write made: a folder or its file."),
    option("--data", "FormFactory's release: its texts and its fields.", options.path),
)
OBSERVE = option(
    "--observe",
    "What an agent is shown beside screenshots.",
    click.Choice(["pixels", "boxes", "tree"]),
)


def tasks_of(options: dict[str, Any], usual: str) -> tuple[TaskSet, str]:
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


def changes_of(options: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model on the command line, each as its type."""
    changes = options["settings"]
    if not options["system"].startswith(CHAT):
        return changes
    from formlab.systems import chat

    typed = chat.system(options["system"]).settings(changes)
    return {name: typed[name] for name in changes}


@contextlib.contextmanager
def progress_of(
    system: str, total: int, what: str = "forms", status: str = "submitted"
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A bar that counts results, and among them those of a status."""
    from formlab.show import progress

    with progress(f"{what}, {{task.fields[sent]}} {status}") as bar:
        job, sent = bar.add_task(plain(system), total=total, sent=0), 0

        def tell(result: dict[str, Any]) -> None:
            nonlocal sent
            sent += result["status"] == status
            bar.update(job, advance=1, sent=sent)

        yield tell
        # With the episodes of earlier runs.
        bar.update(job, completed=total)
