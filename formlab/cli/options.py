"""The options of commands, each written once, and how a function with options is a command."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from formlab.console import plain, say, show
from formlab.errors import DataBroken, UnknownName

if TYPE_CHECKING:
    import polars as pl

    from formlab.folders import Corpus

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Path(click.Path):
    """A path that a file could have."""

    def convert(self, value: Any, *context: Any) -> Any:
        try:
            os.lstat(value)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", errno.ENAMETOOLONG) == errno.ENAMETOOLONG:
                self.fail(f"{plain(str(value)[:80])}: no file can have this name", *context)
        return super().convert(value, *context)


class _Folder(_Path):
    """A folder that is read where it lies: an address is an error, not a path with a colon."""

    def convert(self, value: Any, *context: Any) -> Any:
        if "://" in str(value):
            self.fail(f"{value} is an address; copy or mount the folder, and name that", *context)
        return super().convert(value, *context)


class _Fetched(_Path):
    """A path, or an address such as ``s3://…`` whose files are fetched."""

    def convert(self, value: Any, *context: Any) -> Any:
        from formlab.addresses import local

        return local(super().convert(value, *context))


class _Gold(_Fetched):
    """The name of a registered benchmark, else the path of gold."""

    def convert(self, value: Any, *context: Any) -> Any:
        from formlab.benchmarks import BENCHMARKS

        path = super().convert(value, *context)
        if str(value) in BENCHMARKS:
            return value
        if not os.path.exists(path):
            raise UnknownName.of("benchmark or file", str(value), BENCHMARKS)
        return path


class _Workers(click.ParamType):
    """A number of processes, or a Dask scheduler: its address or its file."""

    name = "N|ADDRESS"

    def convert(self, value: Any, *context: Any) -> int | str:
        if str(value).isdecimal() and int(value) > 0:
            return int(value)
        if "://" not in value and not os.path.isfile(value):
            self.fail(
                f"{plain(value)} is neither a number from 1 up nor a Dask scheduler", *context
            )
        return value


class _Documents(click.ParamType):
    """Which documents: a word, the file that lists them, or how many."""

    name = "all|answered|FILE|N"

    def convert(self, value: Any, *context: Any) -> str | int | Path:
        if value in ("all", "answered"):
            return value
        if str(value).isdecimal():
            return int(value) or self.fail("0 documents", *context)
        return PATH.convert(value, *context)


def option(
    names: str, text: str = "", kind: Any = None, default: Any = None, *, many: bool = False,
    **settings: Any,
) -> Option:  # fmt: skip
    """A click option by its names, help line and type; of the type `bool` it is a flag.

    Examples
    --------
    >>> option("--all everything", "Print all.", bool).__class__.__name__
    'function'
    """
    if kind is bool:
        settings |= {"is_flag": True}
    else:
        settings |= {"type": kind, "default": default, "show_default": default is not None}
    return click.option(*names.split(), help=text, multiple=many, **settings)


PATH = _Path(path_type=Path)
FETCHED = _Fetched(path_type=Path)
COUNT = click.IntRange(min=1)
GOLD_TYPE = _Gold(path_type=Path)
GOLD = click.argument("gold", type=GOLD_TYPE)
GOLDS = click.argument("gold", metavar="GOLD…", nargs=-1, required=True, type=GOLD_TYPE)
# A whole path, because an evaluation keeps it and may be opened from another folder.
ROOT = option(
    "--root",
    "Folder of a benchmark's files [the sample].",
    _Folder(path_type=Path, resolve_path=True),
)
SPLIT = option("--split", "A split of the benchmark; its first if left out.")
OWN_GOLD = (
    option("--types", "Of your own gold: JSON Schema, YAML or module:Class that types the fields."),
    option(
        "--columns",
        "What columns are called, such as doc_id=id,gold=target,prediction=output.",
        callback=lambda _context, _option, text: pairs(text.split(",") if text else ()),
    ),
    option("--images", "Of your own gold: folder of scans or PDFs.", PATH),
)
BENCHMARK = (ROOT, SPLIT)
DOCUMENTS = option(
    "--documents", "FILE has one doc_id a line, N are the first so many.", _Documents(), "all"
)
FIRST = option("--documents limit", "Only the first so many documents.", COUNT, metavar="N")
NAME = option("--name", "What the system is called in tables and charts.")
SEED = option("--seed", kind=click.IntRange(min=0), default=0)
BY = option("--by", "Column to slice by.", many=True)
EVERYTHING = option("--all everything", "Print every row and column.", bool)


def out(help_text: str, **settings: Any) -> Option:
    """The option ``--out``."""
    return option("--out", help_text, PATH, **settings)


def workers(default: int | None = 1) -> Option:
    """The option ``--workers``; without a default, a process for each processor."""
    shown = "one a processor" if default is None else default
    help_text = f"Processes on this machine, or the address of a Dask scheduler [{shown}]."
    return option("--workers", help_text, _Workers(), default)


def resamples(default: int | None = 1000) -> Option:
    """The option ``--resamples``; without a default it is for tests, too."""
    end = "." if default else " [1000] and tests [9999]."
    return option("--resamples", f"Draws for intervals{end}", click.IntRange(min=0), default)


def _keep_setting(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Puts an option among the settings of a system, in which it goes before ``--set``."""
    settings = context.params.setdefault("settings", {})
    if parameter.name == "set":
        context.params["settings"] = pairs(value) | settings
    elif value is not None:
        settings[_batch(value) if parameter.name == "batch" else parameter.name] = value


def _batch(place: str) -> str:
    """Whether questions go into a folder, or what came back of them is there."""
    from formlab.systems.chat.batch import REQUESTS

    folder = Path(place)
    back = (file for file in folder.glob("*.jsonl") if not file.match(REQUESTS))
    return "batch_results" if folder.is_file() or any(back) else "batch"


def _setting(name: str, text: str, **settings: Any) -> Option:
    return option(name, text, callback=_keep_setting, expose_value=False, **settings)


SET = _setting("--set", "A setting; repeat it.", many=True, metavar="NAME=VALUE")
# A function with some of these has the argument `settings`, with what was typed by name.
MODEL = (
    SET,
    _setting("--base-url", "chat: address of an OpenAI-compatible endpoint."),
    _setting("--max-cost", "chat: stop before the calls cost more than this."),
)
PROMPT = _setting("--prompt", "chat: formlab's instructions of a name, or a file's, verbatim.")
BATCH = _setting("--batch", "chat: folder for questions in files; read once results are in it.")


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """The values of ``NAME=VALUE`` texts by name; `DataBroken` for a text of another shape.

    Examples
    --------
    >>> pairs(("a=1", "b=x=y"))
    {'a': '1', 'b': 'x=y'}
    """
    values = {}
    for text in texts:
        name, equal, value = text.partition("=")
        if not equal:
            raise DataBroken(f"{text!r} is not NAME=VALUE", remedy=f"{name}=…")
        values[name] = value
    return values


def levels(texts: Iterable[str]) -> dict[str, list[str]]:
    """The values of ``NAME=VALUE,VALUE`` texts, those of one name together.

    Examples
    --------
    >>> levels(("angle=on,off", "scale"))
    {'angle': ['on', 'off'], 'scale': []}
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        values.setdefault(name, []).extend(value for value in listed.split(",") if value)
    return values


def corpus_of(gold: str | Path, options: Mapping[str, Any]) -> Corpus:
    """The corpus that GOLD and its options name; files that cannot be read are said on stderr."""
    from formlab import benchmarks, own

    if isinstance(gold, Path):
        known = ("types", "columns", "images")
        corpus = own.corpus(gold, **{name: options[name] for name in known})
    else:
        known = ("root", "split")
        corpus = benchmarks.load(gold, **{n: options[n] for n in known if n in options})
    say({}, left_out=corpus.unreadable)
    return corpus


def spread(workers: int | str) -> dict[str, Any]:
    """The value of ``--workers`` as the functions take it that tell processes from a cluster."""
    is_number = isinstance(workers, int)
    return {"workers": workers if is_number else 1, "scheduler": None if is_number else workers}


Table = tuple[str, "Sequence[Mapping[str, Any]] | pl.DataFrame"]


class Rows(NamedTuple):
    """What a command gives to be printed.

    Attributes
    ----------
    frame
        All rows and columns: what ``--json`` prints.
    main
        Titles and tables for people instead; a table may be empty.
    notes, left_out
        Counts of what was odd, and files that could not be read with the reason: on stderr.
    hints
        Sentences for people after the tables, on stderr.
    ok
        Whether all went well; else the exit code is 1.
    """

    frame: Sequence[Mapping[str, Any]] | pl.DataFrame
    main: Sequence[Table] | None = None
    notes: Mapping[str, int] = MappingProxyType({})
    left_out: Mapping[str, str] = MappingProxyType({})
    hints: Sequence[str] = ()
    ok: bool = True

    def print(self, *, as_json: bool) -> None:
        """Print rows to stdout, and what is said about them to stderr."""
        say(self.notes, left_out=self.left_out)
        if as_json:
            show(_dicts(self.frame), as_json=True)
        else:
            for title, table in [("", self.frame)] if self.main is None else self.main:
                if title and not len(table):
                    click.echo(plain(title))
                else:
                    show(_dicts(table), as_json=False, title=title)
        for hint in () if as_json else self.hints:
            click.echo(plain(hint), err=True)


def _dicts(table: Any) -> list[dict[str, Any]]:
    return list(table) if isinstance(table, Sequence) else table.to_dicts()


def _with_options(function: Any, options: Any) -> Any:
    """A function with an option, or with the options of a group and of groups in it."""
    is_group = isinstance(options, tuple)
    return (
        functools.reduce(_with_options, options[::-1], function) if is_group else options(function)
    )


def command(
    *options: Option | tuple[Any, ...], name: str | None = None, group: Any = None
) -> Callable[[Callable[..., Rows]], click.Command]:
    """Make a function with options a command, of a `group` if one is given, that prints its rows.

    With ``--json``, `everything` is true for a function that has it.
    """
    as_json = option("--json as_json", "Print JSON for programs.", bool)

    def made(function: Callable[..., Rows]) -> click.Command:
        @functools.wraps(function)
        def printed(*, as_json: bool, **given: Any) -> None:
            if "everything" in given:
                given["everything"] |= as_json
            rows = function(**given)
            rows.print(as_json=as_json)
            if not rows.ok:
                click.get_current_context().exit(1)

        decorated = functools.reduce(_with_options, [as_json, *options[::-1]], printed)
        made = click.command(name or function.__name__.replace("_", "-"))(decorated)
        if group is not None:
            group.add_command(made)
        return made

    return made
