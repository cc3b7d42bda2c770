"""The options of commands, each written once, and how a function with options is a command."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click

import formlab
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.files import local
from formlab.show import plain, say, show

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

# Types of options, of which functions are given what was typed.
path = click.Path(path_type=Path)


def file(text: str) -> Path:
    """A path, or an address such as ``s3://…`` whose files are fetched."""
    return local(text)


def gold(text: str) -> str | Path:
    """The name of a registered benchmark, else the path of gold."""
    found = text if text in formlab.benchmarks.BENCHMARKS else file(text)
    if found is text or os.path.exists(found):
        return found
    near = formlab.files.near(found)
    if near or not {".", "/"}.isdisjoint(text):
        raise DataMissing("no such file or folder", where=text, remedy=near or "check the path")
    raise UnknownName.of("benchmark or file", text, formlab.benchmarks.BENCHMARKS)


def processes(text: str) -> int | str:
    """A number of processes, or a Dask scheduler: its address or its file."""
    number = text.isdecimal() and int(text)
    if not number and "://" not in text and not os.path.isfile(text):
        raise click.BadParameter(f"{text} is neither a number from 1 up nor a Dask scheduler")
    return number or text


def documents(text: str) -> str | int | Path:
    """Which documents: a word, how many, or the file that lists them."""
    return (text.isdecimal() and int(text)) or (text if text in ("all", "answered") else Path(text))


def option(names: str, text: str = "", kind: Any = None, default: Any = None, **more: Any) -> Any:
    """A click option by its names, help line and type; of the type `bool` it is a flag."""
    typed = {"type": kind, "default": default, "show_default": default is not None}
    more |= {"is_flag": True} if kind is bool else typed
    return click.option(*names.split(), help=text, **more)


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """The values of ``NAME=VALUE`` texts by name; `DataBroken` for a text of another shape."""
    split = [text.split("=", 1) for text in texts]
    for text in (text for text, *value in split if not value):
        raise DataBroken(f"{text!r} is not NAME=VALUE", remedy=f"{text}=…")
    return dict(split)


out = partial(option, "--out", kind=path)
COUNT, FROM_ZERO = click.IntRange(min=1), click.IntRange(min=0)
LISTED = click.Choice(["benchmarks", "systems", "metrics", "plugins"])
GOLD = click.argument("gold", type=gold)
# A whole path, as what keeps it may move.
_FOLDER = {"kind": lambda text: file(text).resolve(), "metavar": "PATH"}
ROOT = option("--root", "Folder of a benchmark's official files [the sample].", **_FOLDER)
BENCHMARK = (ROOT, option("--split", "A split of the benchmark; its first if left out."))
_COLUMNS = "NAME=COLUMN,…: what columns are called, such as gold=target,prediction=output."
SOURCE = (
    *BENCHMARK,
    option("--types", "Of your own gold: JSON Schema or YAML that types the fields."),
    option("--columns", _COLUMNS, callback=lambda *v: pairs(v[-1].split(",") if v[-1] else ())),
    option("--images", "Of your own gold: folder of scans or PDFs.", path),
)
_CHOICE = {"kind": documents, "default": "all", "metavar": "all|answered|FILE|N"}
DOCUMENTS = option("--documents", "FILE has a doc_id a line.", **_CHOICE)
FIRST = option("--documents limit", "Only the first so many documents.", COUNT, metavar="N")
SYSTEM = option("--system", "What reads the forms: ocr, rules, chat:MODEL.", required=True)
NAME = option("--name", "What the system is called in tables and charts.")
SEED = option("--seed", kind=FROM_ZERO, default=0)
BY = option("--by", "Column to slice by.", multiple=True)
EVERYTHING = option("--all everything", "Print every row and column.", bool)
JSON = option("--json as_json", "Print JSON for programs.", bool)
_WHERE = {"kind": processes, "metavar": "N|ADDRESS"}
WORKERS = option("--workers", "Processes, or a Dask scheduler.", default="1", **_WHERE)
PROCESSES = option("--workers", "Processes [a processor each, 4 at most], or Dask.", **_WHERE)
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
SCORING = (
    DOCUMENTS,
    option("--mode", "How to score: official (as published) or fixed."),
    option("--reader", "How fields are read from a page's words: centre, overlap, cut."),
    out("Folder for the evaluation; of several, a folder each inside of it."),
    *(BY, RESAMPLES, SEED, EVERYTHING),
)
# Of experiments whose factors vary on their own; `factors` and `more` are one list.
_LEVELS = {"multiple": True, "metavar": "NAME=LEVEL,LEVEL…"}
PLAN = (
    option("--factors", "What varies; further factors may follow.", **_LEVELS),
    click.argument("more", nargs=-1, metavar="[NAME=LEVEL,LEVEL…]…"),
    option("--replicates", "Forms of each combination.", COUNT, 1),
    option("--runs", "A balanced fraction of so many combinations.", COUNT),
    SEED,
)


def corpus_of(gold: str | Path, options: Mapping[str, Any]) -> "formlab.folders.Corpus":
    """The corpus that GOLD and its options name; files that cannot be read are said on stderr."""
    load, names = formlab.load, ("root", "split")
    if isinstance(gold, Path):
        load, names = formlab.readers.corpus, ("types", "columns", "images")
    corpus = load(gold, **{name: options[name] for name in names if name in options})
    say({}, left_out=corpus.unreadable)
    return corpus


class Rows(NamedTuple):
    """What a command gives to be printed: a frame or dicts, and what is told beside them."""

    frame: Any  # For ``--json``: all columns.
    main: Sequence[tuple[str, Any]] | None = None  # For people: titles and tables.
    notes: Mapping[str, int] = MappingProxyType({})  # Counts of what was odd.
    hints: Sequence[str] = ()  # Sentences, on stderr.
    ok: bool = True  # Else the exit code is 1.
    left_out: Mapping[str, str] = MappingProxyType({})  # Why files were.


class _Command(click.Command):
    """Prints the rows that its function returns."""

    def invoke(self, context: click.Context) -> None:
        given = context.params
        as_json = given.pop("as_json")
        if "everything" in given:
            given["everything"] |= as_json  # As JSON has all.
        if "set" in given:
            named = {name: text for name in _SETTINGS if (text := given.pop(name, None))}
            given["settings"] = pairs(given.pop("set")) | named
        rows: Rows = super().invoke(context)
        say(rows.notes, left_out=rows.left_out)
        for title, table in rows.main if rows.main and not as_json else [("", rows.frame)]:
            show(table, as_json=as_json, title=title)
        for hint in filter(None, rows.hints):
            click.echo(plain(hint), err=True)
        if not rows.ok:
            context.exit(1)


def command(*options: Option, name: str | None = None, group: Any = click) -> Option:
    """Make a function with options a command, perhaps of a `group`, that prints its rows."""

    def made(function: Callable[..., Rows]) -> click.Command:
        for decorate in (JSON, *reversed(options)):
            function = decorate(function)
        return group.command(name, cls=_Command)(function)

    return made
