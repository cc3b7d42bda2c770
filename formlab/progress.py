"""How far a command is, on stderr: a bar in a terminal, a line now and then in a pipe or a log."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)  # fmt: skip

from formlab.console import plain

# Seconds between two lines.
EVERY = 5.0


class _Lines(Progress):
    """The state of the tasks, a line each, at most one in `EVERY` seconds and one at the end."""

    def __init__(self, text: str) -> None:
        super().__init__(disable=True)
        self._text, self._last, self._written = text, time.monotonic(), ""

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        if time.monotonic() - self._last >= EVERY:
            self._write()

    def stop(self) -> None:
        self._write(end=True)
        super().stop()

    def _write(self, *, end: bool = False) -> None:
        self._last = time.monotonic()
        for task in self.tasks:
            left = None if end or task.time_remaining is None else round(task.time_remaining)
            total = "?" if task.total is None else f"{task.total:.0f}"
            line = f"{task.description}: {task.completed:.0f}/{total} "
            line += self._text.format(task=task) + (f", about {left} s left" if left else "")
            if line != self._written:
                click.echo(plain(line), err=True)
            self._written = line


def progress(text: str, *, shown: bool = True) -> Progress:
    """How much is done of each task that is added, then `text`, with ``{task.fields[name]}``."""
    console = Console(stderr=True)
    # No moving bar in a report.
    shown = shown and os.environ.get("FORMLAB_REPORT") != "1"
    if shown and not (console.is_terminal or console.is_jupyter):
        return _Lines(text)
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn(text), TimeRemainingColumn(), console=console, disable=not shown,
    )  # fmt: skip


@contextmanager
def working(text: str) -> Iterator[None]:
    """While this runs, what it is and for how many seconds, where nothing can be counted."""
    console, start, done = Console(stderr=True), time.monotonic(), threading.Event()

    def tell() -> None:
        while not done.wait(EVERY):
            click.echo(f"{plain(text)}: {time.monotonic() - start:.0f} s", err=True)

    if os.environ.get("FORMLAB_REPORT") == "1":
        yield
    elif console.is_terminal:
        with console.status(escape(plain(text))):
            yield
    else:
        thread = threading.Thread(target=tell, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
