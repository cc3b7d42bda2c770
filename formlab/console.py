"""What every command prints with: a table for people, or JSON for programs."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from formlab.errors import DataBroken

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
# Files that were left out are named, up to so many.
_LEFT_OUT = 10


class _Path(click.Path):
    """A path that a file could have."""

    def convert(self, value: Any, *context: Any) -> Any:
        try:
            os.lstat(value)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", errno.ENAMETOOLONG) == errno.ENAMETOOLONG:
                self.fail(f"{plain(str(value)[:80])}: no file can have this name", *context)
        return super().convert(value, *context)


path = _Path(path_type=Path)


class _Folder(_Path):
    """A folder that is read where it lies; an address is an error, not a path with a colon."""

    def convert(self, value: Any, *context: Any) -> Any:
        if "://" in str(value):
            self.fail(f"{value} is an address; copy or mount the folder, and name that", *context)
        return super().convert(value, *context)


# Whole, because an evaluation keeps it and may be opened from another folder.
_root = click.option(
    "--root", type=_Folder(path_type=Path, resolve_path=True), help="Folder of the official files."
)
strict = click.option(
    "--strict", is_flag=True, help="A document that cannot be read is an error [it is left out]."
)
split = click.option("--split", help="A split of the benchmark; its first if left out.")
prompt = click.option(
    "--prompt", metavar="NAME|FILE",
    help="chat: instructions for the task: formlab's of that name, or a file's, verbatim.",
)  # fmt: skip
_ASKING = (
    click.option(
        "--set", "changes", multiple=True, metavar="NAME=VALUE", help="A setting of the system."
    ),
    click.option("--base-url", help="chat: address of an OpenAI-compatible endpoint."),
    click.option(
        "--retry", help="chat: 'bad' repeats calls with malformed, refused or truncated answers."
    ),
    click.option("--max-cost", help="chat: stop before the calls cost more than this."),
    click.option(
        "--assume-cost",
        is_flag=True,
        flag_value="on",
        default=None,
        help="chat: where a server reports no tokens, count for --max-cost the most they can cost.",
    ),
    click.option("--max-calls", help="chat: stop after this many calls."),
    click.option("--prices", help="chat: CSV, YAML or JSON file with what models cost."),
)
_ANSWERING = (
    click.option(
        "--batch", help="chat: write the questions into files for a batch, in this folder."
    ),
    click.option("--batch-results", help="chat: file or folder with what came back of a batch."),
    click.option("--temperature", help="chat: 0 for the likeliest answer [0.0]."),
    click.option(
        "--logprobs", is_flag=True, flag_value="on", default=None,
        help="chat: confidences from the probabilities of tokens.",
    ),
    click.option(
        "--samples", help="chat: ask so often; confidences are the share of equal answers [1]."
    ),
)  # fmt: skip


def root(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--root`` and ``--strict``: where a benchmark's files are, and how they are read."""
    return _root(strict(command))


def workers_options(default: int | None = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--workers`` and ``--scheduler``, one value for `workers.each`; None: all processors."""
    shown = "one a processor" if default is None else default
    count = click.option(
        "--workers", type=click.IntRange(min=1), default=default,
        callback=lambda context, _, number: context.meta["formlab.scheduler"] or number,
        help=f"Processes on this machine [{shown}].",
    )  # fmt: skip
    scheduler = click.option(
        "--scheduler", metavar="ADDRESS", is_eager=True, expose_value=False,
        callback=lambda context, _, address: context.meta.update({"formlab.scheduler": address}),
        help="A Dask scheduler, whose workers are used instead.",
    )  # fmt: skip
    return lambda command: count(scheduler(command))


_FLAGS = (
    "prompt",
    "base_url",
    "retry",
    "max_cost",
    "assume_cost",
    "max_calls",
    "prices",
    "batch",
    "batch_results",
    "temperature",
    "logprobs",
    "samples",
)


def asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that may ask a model; `asked` reads them."""
    for option in reversed(_ASKING):
        command = option(command)
    return command


def answering(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that has a model read a whole corpus."""
    for option in reversed(_ANSWERING):
        command = option(command)
    return command


def asked(options: Mapping[str, Any]) -> dict[str, str]:
    """The settings in the options of a command that is `asking`, as they were typed.

    Examples
    --------
    >>> asked({"changes": ("boxes=none",), "retry": "bad", "max_cost": None})
    {'boxes': 'none', 'retry': 'bad'}
    """
    flags = {name: options.get(name) for name in _FLAGS}
    return pairs(options["changes"]) | {n: value for n, value in flags.items() if value is not None}


def pairs(changes: tuple[str, ...]) -> dict[str, str]:
    """The values of ``NAME=VALUE`` texts by name; `DataBroken` for a text of another shape.

    Examples
    --------
    >>> pairs(("a=1", "b=x=y"))
    {'a': '1', 'b': 'x=y'}
    """
    values = {}
    for change in changes:
        name, equal, value = change.partition("=")
        if not equal:
            raise DataBroken(f"{change!r} is not NAME=VALUE", remedy=f"{name}=…")
        values[name] = value
    return values


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
