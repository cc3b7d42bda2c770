"""What people see: rows as a table or JSON, notes, progress on stderr, and folders in notebooks."""

import json
import os
import sys
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Any

import click

# Files that were left out, rows of a table and characters of a line that are shown.
_FILES, ROWS, _LONGEST = 10, 5, 200


def plain(text: str) -> str:
    r"""`text` with control characters as escapes, as models and file names may have any."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def say(notes: Mapping[str, int], left_out: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print counts of what was odd and why files were `left_out` to stderr."""
    lines = [f"note: {note}: {count}" for note, count in notes.items()]
    lines += [f"left out: {file}: {reason}" for file, reason in [*left_out.items()][:_FILES]]
    lines += [f"left out: {len(left_out) - _FILES} more"] if len(left_out) > _FILES else []
    for line in lines:
        click.echo(plain(line), err=True)


def show(table: Any, *, as_json: bool, title: str = "") -> None:
    """Print a frame or rows under a title, or as a JSON array in which undefined is null."""
    rows = table if isinstance(table, list | tuple) else table.to_dicts()
    rows = [{name: None if value != value else value for name, value in r.items()} for r in rows]
    if as_json:
        # In ASCII, as a terminal obeys U+009B too; of its own characters JSON leaves one.
        click.echo(json.dumps(rows, indent=1).replace("\x7f", "\\u007f"))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    def cell(value: Any) -> str:
        if value is None or isinstance(value, bool):
            return {None: "–", True: "yes", False: "no"}[value]
        return f"{value:.4f}" if isinstance(value, float) else escape(plain(str(value)))

    if title:
        click.echo(plain(title))
    if not rows:
        return
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0]:
        numeric = all(isinstance(row[key], int | float | None) for row in rows)
        grid.add_column(cell(key), justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        grid.add_row(*map(cell, row.values()))
    # A file or a pipe has no width: nothing is cut or folded there.
    Console(width=None if sys.stdout.isatty() else 10_000, emoji=False).print(grid)


def progress(text: str) -> Any:
    """A `rich.progress.Progress` whose tasks end in `text`; in a pipe a line for each tenth."""
    from rich import progress as rich
    from rich.console import Console

    class Lines(rich.Progress):
        def update(self, task_id: rich.TaskID, **changes: Any) -> None:
            task = self._tasks[task_id]
            before = task.percentage // 10
            super().update(task_id, **changes)
            if task.percentage // 10 > before:
                done = f"{task.description}: {task.completed:.0f}/{task.total:.0f} "
                click.echo(plain(done + text.format(task=task)), err=True)

    console, is_report = Console(stderr=True), os.environ.get("FORMLAB_REPORT") == "1"
    if not (is_report or console.is_terminal or console.is_jupyter):
        return Lines(disable=True)
    name, done = rich.TextColumn("{task.description}", markup=False), rich.MofNCompleteColumn()
    columns = name, rich.BarColumn(), done, rich.TextColumn(text), rich.TimeRemainingColumn()
    return rich.Progress(*columns, console=console, disable=is_report)


def line(folder: Any) -> str:
    """What a folder is, with the count of rows of each table."""
    import polars as pl

    named = (getattr(folder, name, None) for name in ("system", "benchmark", "split", "mode"))
    counts = {name: folder.scan(name).select(pl.len()).collect().item() for name in folder.TABLES}
    rows = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return plain(f"{type(folder).__name__} of {', '.join(filter(None, named))}: {rows}")


def html(folder: Any) -> str:
    """The line of a folder, what was noted of it and its first values, as HTML; text is escaped."""
    notes = folder.flaws if hasattr(folder, "flaws") else folder.notes
    lines = [line(folder), *(f"{note}: {count:,}" for note, count in notes.items())]
    text = "".join(f"<p>{escape(plain(line)[:_LONGEST])}</p>" for line in lines)
    values = folder.scan("cases" if "cases" in folder.TABLES else "records").head(ROWS).collect()
    names = ("doc_id", "path", "kind", "value", "gold", "pred", "outcome", "cause")
    table = values.select(name for name in names if name in values.columns)._repr_html_()
    # Control characters of values stand within a line.
    return f"<div>{text}{chr(10).join(map(plain, table.splitlines()))}</div>"
