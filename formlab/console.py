"""What every command prints with: a table for people, or JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

import click

# Files that were left out are named, up to so many.
_LEFT_OUT = 10


def plain(text: str) -> str:
    r"""`text` with control characters as escapes, as models and file names may have any.

    Examples
    --------
    >>> plain("a" + chr(27) + "[31m")
    'a\\x1b[31m'
    """
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def say(
    notes: Mapping[str, int],
    *,
    only: Collection[str] | None = None,
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print counts of what was odd to stderr, a line each, and files `left_out` with the reason.

    With `only`, print the counts of these names alone.
    """
    for note, count in notes.items():
        if only is None or note in only:
            click.echo(f"note: {plain(note)}: {count}", err=True)
    for file, reason in islice(left_out.items(), _LEFT_OUT):
        click.echo(f"left out: {plain(file)}: {plain(reason)}", err=True)
    if len(left_out) > _LEFT_OUT:
        click.echo(f"left out: {len(left_out) - _LEFT_OUT} more", err=True)


def show(rows: list[dict[str, Any]], *, as_json: bool, title: str = "") -> None:
    """Print rows as a table under a title, or as a JSON array in which undefined is null."""
    if as_json:
        known = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
            for row in rows
        ]
        text = json.dumps(known, indent=1, ensure_ascii=False)
        # A terminal obeys U+009B too, which JSON leaves as it is.
        shown = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
        click.echo("".join(shown))
        return
    from rich.console import Console
    from rich.table import Table

    if title:
        click.echo(plain(title))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0] if rows else ():
        numeric = all(isinstance(row[key], int | float) for row in rows)
        table.add_column(_cell(key), justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    # A file or a pipe has no width: nothing is cut or folded there.
    Console(width=None if sys.stdout.isatty() else 10_000, emoji=False).print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4f}"
    from rich.markup import escape

    return escape(plain(str(value)))
