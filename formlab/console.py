"""What every command prints with: a table for people, or JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
# Whole, because an evaluation keeps it and may be opened from another folder.
root = click.option(
    "--root",
    type=click.Path(path_type=Path, resolve_path=True),
    help="Folder of the official files.",
)
split = click.option("--split", help="A split of the benchmark; its first if left out.")


def plain(text: str) -> str:
    r"""`text` with what would steer a terminal spelt out: a model or a file name may hold it.

    Examples
    --------
    >>> plain("a" + chr(27) + "[31m")
    'a\\x1b[31m'
    """
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def say(notes: Mapping[str, int]) -> None:
    """Print counts of what was odd to stderr, a line each."""
    for note, count in notes.items():
        click.echo(f"note: {plain(note)}: {count}", err=True)


def show(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print rows as a table, or as a JSON array in which undefined is null."""
    if as_json:
        known = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
            for row in rows
        ]
        click.echo(json.dumps(known, indent=1, ensure_ascii=False))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0] if rows else ():
        numeric = all(isinstance(row[key], int | float) for row in rows)
        table.add_column(key, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    # A file or a pipe has no width: nothing is cut or folded there.
    Console(width=None if sys.stdout.isatty() else 10_000).print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4f}"
    return escape(plain(str(value)))
