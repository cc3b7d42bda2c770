"""The options of commands, each written once, and how a function with options is a command."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from formlab.errors import DataBroken, UnknownName
from formlab.show import plain, say, show

if TYPE_CHECKING:
    from formlab.folders import Corpus

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


# Types of options, of which functions are given what was typed.
path = click.Path(path_type=Path)


def file(text: str) -> Path:
    """A path, or an address such as ``s3://…`` whose files are fetched."""
    from formlab.files import local

    return local(text)


def folder(text: str) -> Path:
    """A whole path, as what keeps it may move, or an address."""
    return file(text).resolve()


def gold(text: str) -> str | Path:
    """The name of a registered benchmark, else the path of gold."""
    from formlab.benchmarks import BENCHMARKS

    if text in BENCHMARKS:
        return text
    if os.path.exists(found := file(text)):
        return found
    raise UnknownName.of("benchmark or file", text, BENCHMARKS)


def processes(text: str) -> int | str:
    """A number of processes, or a Dask scheduler: its address or its file."""
    if text.isdecimal() and int(text):
        return int(text)
    if "://" in text or os.path.isfile(text):
        return text
    raise click.BadParameter(f"{plain(text)} is neither a number from 1 up nor a Dask scheduler")


def documents(text: str) -> str | int | Path:
    """Which documents: a word, how many, or the file that lists them."""
    if text.isdecimal() and int(text):
        return int(text)
    return text if text in ("all", "answered") else Path(text)


def option(
    names: str, text: str = "", kind: Any = None, default: Any = None, **more: Any
) -> Option:
    """A click option by its names, help line and type; of the type `bool` it is a flag."""
    typed = {"type": kind, "default": default, "show_default": default is not None}
    more |= {"is_flag": True} if kind is bool else typed
    return click.option(*names.split(), help=text, **more)


COUNT, FROM_ZERO = click.IntRange(min=1), click.IntRange(min=0)
GOLD = click.argument("gold", type=gold)
_ROOT = {"kind": folder, "metavar": "PATH"}
ROOT = option("--root", "Folder of a benchmark's official files [the sample].", **_ROOT)
BENCHMARK = (ROOT, option("--split", "A split of the benchmark; its first if left out."))
_COLUMNS = "NAME=COLUMN,…: what columns are called, such as gold=target,prediction=output."
OWN_GOLD = (
    option("--types", "Of your own gold: JSON Schema, YAML or module:Class that types the fields."),
    option("--columns", _COLUMNS, callback=lambda *v: pairs(v[-1].split(",") if v[-1] else ())),
    option("--images", "Of your own gold: folder of scans or PDFs.", path),
)
_CHOICE = {"kind": documents, "default": "all", "metavar": "all|answered|FILE|N"}
DOCUMENTS = option("--documents", "FILE has a doc_id a line.", **_CHOICE)
FIRST = option("--documents limit", "Only the first so many documents.", COUNT, metavar="N")
NAME = option("--name", "What the system is called in tables and charts.")
SEED = option("--seed", kind=FROM_ZERO, default=0)
BY = option("--by", "Column to slice by.", multiple=True)
EVERYTHING = option("--all everything", "Print every row and column.", bool)
_WHERE = {"kind": processes, "metavar": "N|ADDRESS"}
WORKERS = option("--workers", "Processes, or a Dask scheduler.", default="1", **_WHERE)
RESAMPLES = option("--resamples", "Draws for intervals.", FROM_ZERO, 1000)
# A function with `SET` has the argument `settings`: what was typed of it and of these, by name.
_SETTINGS = ("base_url", "max_cost", "prompt")
SET = option("--set", "A setting; repeat it.", multiple=True, metavar="NAME=VALUE")
MODEL = (
    SET,
    option("--base-url", "chat: address of an OpenAI-compatible endpoint."),
    option("--max-cost", "chat: stop before the calls cost more than this."),
)
PROMPT = option("--prompt", "chat: formlab's instructions of a name, or a file's, verbatim.")

# Of experiments whose factors vary on their own; `factors` and `more` are one list.
_LEVELS = {"multiple": True, "metavar": "NAME=LEVEL,LEVEL…"}
PLAN = (
    option("--factors", "What varies; further factors may follow.", **_LEVELS),
    click.argument("more", nargs=-1, metavar="[NAME=LEVEL,LEVEL…]…"),
    option("--replicates", "Forms of each combination.", COUNT, 1),
    option("--runs", "A balanced fraction of so many combinations.", COUNT),
    SEED,
)


def out(text: str, **settings: Any) -> Option:
    """The option ``--out``."""
    return option("--out", text, path, **settings)


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """The values of ``NAME=VALUE`` texts by name; `DataBroken` for a text of another shape."""
    for text in (texts := list(texts)):
        if "=" not in text:
            raise DataBroken(f"{text!r} is not NAME=VALUE", remedy=f"{text}=…")
    return dict(text.split("=", 1) for text in texts)


def corpus_of(gold: str | Path, options: Mapping[str, Any]) -> Corpus:
    """The corpus that GOLD and its options name; files that cannot be read are said on stderr."""
    from formlab import benchmarks, readers

    names = ("types", "columns", "images") if isinstance(gold, Path) else ("root", "split")
    load = readers.corpus if isinstance(gold, Path) else benchmarks.load
    corpus = load(gold, **{name: options[name] for name in names if name in options})
    say({}, left_out=corpus.unreadable)
    return corpus


class Rows(NamedTuple):
    """What a command gives to be printed.

    `frame`, a polars frame or rows as dicts, has all columns, for ``--json``; `main` has titles and
    tables for people instead, of which some may be empty. Counts of what was odd (`notes`) come
    before, sentences (`hints`) after them, on stderr. Unless all is `ok`, the exit code is 1.
    """

    frame: Any
    main: Sequence[tuple[str, Any]] | None = None
    notes: Mapping[str, int] = MappingProxyType({})
    hints: Sequence[str] = ()
    ok: bool = True


def command(
    *options: Option, name: str | None = None, group: Any = None
) -> Callable[[Callable[..., Rows]], click.Command]:
    """Make a function with options a command, of a `group` if one is given, that prints its rows.

    With ``--json``, `everything` is true for a function that has it.
    """

    def made(function: Callable[..., Rows]) -> click.Command:
        @functools.wraps(function)
        def printed(*, as_json: bool, **given: Any) -> None:
            if "everything" in given:
                given["everything"] |= as_json
            if "set" in given:
                named = {name: given.pop(name, None) for name in _SETTINGS}
                named = {name: value for name, value in named.items() if value is not None}
                given["settings"] = pairs(given.pop("set")) | named
            rows = function(**given)
            say(rows.notes)
            for title, table in rows.main if rows.main and not as_json else [("", rows.frame)]:
                cells = list(table) if isinstance(table, Sequence) else table.to_dicts()
                show(cells, as_json=as_json, title=title)
            for hint in () if as_json else rows.hints:
                click.echo(plain(hint), err=True)
            if not rows.ok:
                click.get_current_context().exit(1)

        decorated: Any = printed
        as_json = option("--json as_json", "Print JSON for programs.", bool)
        for decorate in [*options, as_json][::-1]:
            decorated = decorate(decorated)
        made = click.command(name or function.__name__.replace("_", "-"))(decorated)
        if group is not None:
            group.add_command(made)
        return made

    return made
