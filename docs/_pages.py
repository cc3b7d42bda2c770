"""What the pages of the site take from the code: a hook of mkdocs.

A line ``<!-- made: NAME ARGUMENTS -->`` in a page is replaced by what the function `made_NAME`
writes, and each block ``python chart`` is run, with what it shows below it. So a page is as
current as the code, and an example that fails ends the build.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import altair as alt
import click
import nbformat
import polars as pl
import vl_convert
import yaml
from mkdocs.structure.files import File

import formlab
from formlab import benchmarks, metrics, readers, systems, tables
from formlab.cli import main
from formlab.systems import chat

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ROOT / "docs" / "reference" / "commands.md"
LOGS = ("inspect", "lmms_eval", "vlmevalkit", "omniai", "stickler", "docling_eval", "olmocr")
MADE = re.compile(r"^<!-- made: (.+?) -->.*$", re.MULTILINE)
CHART = re.compile(r"^```python chart\n(.+?)^```$", re.MULTILINE | re.DOTALL)
# Of metrics that a scorer counts: the tasks of the scorer.
COUNTED = {
    "actions": "click",
    "entities": "entity",
    "facts": "fact",
    "field": "marking, visual, cross",
    "json": "value",
    "judge": "fact",
    "marking": "marking, cross",
    "match": "text (your own forms)",
    "tree": "layout",
}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Mkdocs calls this for each page: its text with everything that the code gives."""
    markdown = MADE.sub(lambda match: made(*match[1].split()), markdown)
    markdown = with_pictures(markdown, page.file, config, files)
    # Names of files and marks for the tests, as superfences takes them.
    markdown = re.sub(r"^```(\w+) (\S+\.\w+)$", r'```\1 title="\2"', markdown, flags=re.MULTILINE)
    return re.sub(r"^```(\w+) [a-z-]+$", r"```\1", markdown, flags=re.MULTILINE)


def made(name: str, *arguments: str) -> str:
    """What stands in place of one line of a page."""
    return "\n".join(globals()[f"made_{name}"](*arguments))


def made_file(name: str) -> Iterator[str]:
    """A file of the project that is a page of the site, with its links as of the folder docs."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    yield re.sub(r"\]\(([A-Z]+\.md)", lambda match: f"]({match[1].lower()}", text)


def made_source(name: str) -> Iterator[str]:
    """The code of an example that is a file of its own."""
    code = (ROOT / "docs" / name).read_text(encoding="utf-8")
    yield f'```python title="{Path(name).name}"\n{code}```'


def made_licences() -> Iterator[str]:
    """The licence of each package that is pinned."""
    yield "| package | version | licence |\n|---|---|---|"
    for row in pl.read_csv(ROOT / "docs/licences.csv").iter_rows():
        yield f"| {' | '.join(row)} |"


def made_notebooks() -> Iterator[str]:
    """The question that each notebook asks, which is its heading."""
    yield "| notebook | question |\n|---|---|"
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        head = nbformat.read(file, as_version=4).cells[0].source.splitlines()[0]
        yield f"| `{file.stem}` | {head.removeprefix('# ')} |"


def made_tables() -> Iterator[str]:
    """The columns of every table; `columns.yml` must explain each, and none besides."""
    meanings = yaml.safe_load((ROOT / "docs/reference/columns.yml").read_text(encoding="utf-8"))
    for name, schema in tables.SCHEMAS.items():
        about, own = meanings[name].pop("about"), meanings.pop(name)
        texts = {column: own.pop(column, meanings["all"].get(column)) for column in schema}
        unknown = [column for column, text in texts.items() if not text]
        if unknown or own:
            raise ValueError(f"columns.yml, {name}: unexplained {unknown}, not there {[*own]}")
        yield f"## {name} {{#{name}}}\n\n{about}\n"
        if name in tables.KEYS:
            yield f"Key: {', '.join(f'`{column}`' for column in tables.KEYS[name])}.\n"
        yield "| column | type | meaning |\n|---|---|---|"
        for column, dtype in schema.items():
            yield f"| `{column}` | {_type(dtype)} | {texts[column]} |"
        yield ""
    used = {column for schema in tables.SCHEMAS.values() for column in schema}
    if spare := meanings["all"].keys() - used:
        raise ValueError(f"columns.yml, all: not there {sorted(spare)}")


def _type(dtype: Any) -> str:
    return "Struct" if dtype == tables.SETTINGS else str(dtype)


def made_words() -> Iterator[str]:
    """The words that columns of fixed words take."""
    yield "| words of | |\n|---|---|"
    for name in ("TASKS", "LEVELS", "STATUSES", "OUTCOMES", "LADDER", "DECIDED"):
        words = ", ".join(f"`{word}`" for word in getattr(tables, name))
        yield f"| {name.lower()} | {words} |"


def made_metrics() -> Iterator[str]:
    """Every registered metric by family, with the text at the head of the family's module."""
    families: dict[str, list[str]] = {}
    for name, entry in metrics.DECLARED.items():
        families.setdefault(entry["family"], []).append(name)
    for family, names in families.items():
        yield f"## {family.replace('_', ' ').capitalize()}\n\n{_doc(f'formlab.metrics.{family}')}\n"
        for name in names:
            metric = metrics.get(name)
            end = "up" if metric.high is None else f"to {metric.high:g}"
            better = {"up": "higher", "down": "lower"}[metric.direction]
            counted = metric.view == "counts" and metric.tasks == ("text",)
            scorer = name.partition("_")[0] if family == "counts" else family
            task = COUNTED.get(scorer, "all that a model answers") if counted else None
            need = f" Undefined unless: {metric.need.rule}." if metric.need else ""
            title = metric.title[0].upper() + metric.title[1:]
            yield f"### `{name}` {{#{name}}}\n\n{title}: {metric.unit}.{need}\n"
            yield f"- from {metric.low:g} {end}, {better} is better"
            yield f"- tasks: {task or ', '.join(metric.tasks)}; levels: {', '.join(metric.units)}"
            yield f"- source: {metric.source}\n"


def made_benchmarks() -> Iterator[str]:
    """Every registered benchmark, from its entry."""
    for name in benchmarks.BENCHMARKS.builtin:
        entry = benchmarks.BENCHMARKS[name]
        splits = ", ".join(f"`{split}` ({count:,})" for split, count in entry.splits.items())
        yield f"## `{name}` {{#{name}}}\n\n{entry.title}.\n"
        yield f"- splits: {splits or 'those of its files'}; tasks: {', '.join(entry.tasks)}"
        yield f"- modes: {', '.join(entry.modes)}; sliced by: {', '.join(entry.slices)}"
        yield f"- licence: {entry.licence}"
        yield f"- source: {entry.source}"
        sample = (benchmarks.SAMPLES / name).is_dir()
        yield f"- a sample comes with formlab: {'yes' if sample else 'no'}"
        yield f"- cite: {entry.citation}\n" if entry.citation else ""


def made_systems() -> Iterator[str]:
    """Every registered system with its settings."""
    yield "| system | what it is | settings | extra |\n|---|---|---|---|"
    for name in systems.SYSTEMS:
        entry = systems.SYSTEMS[name]
        settings = ", ".join(f"`{k}={systems.setting_text(v)}`" for k, v in entry.defaults.items())
        yield f"| `{name}` | {entry.title} | {settings} | {entry.extra or '–'} |"


def made_settings() -> Iterator[str]:
    """Every setting of a model."""
    yield "| setting | meaning |\n|---|---|"
    for name, setting in chat.SETTINGS.items():
        choices = ", ".join(filter(None, setting.get("choices", ())))
        meaning = setting["meaning"] + (f": {choices}" if choices else "")
        yield f"| `{name}={systems.setting_text(setting['default'])}` | {meaning} |"


def made_formats() -> Iterator[str]:
    """Every registered reader of predictions."""
    yield from _readers(name for name in readers.READERS.builtin if name not in LOGS)


def made_logs() -> Iterator[str]:
    """Every registered reader of logs."""
    yield from _readers(LOGS)


def _readers(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        reader, target = readers.READERS[name], readers.READERS.builtin[name]
        yield f"### `{name}` {{#{name}}}\n\n{reader.title[0].upper()}{reader.title[1:]}.\n"
        doc = inspect.getdoc(reader.read) if reader.read.__name__ == name else None
        yield f"{doc or _doc(target.partition(':')[0])}\n"


def _doc(module: str) -> str:
    return inspect.getdoc(importlib.import_module(module)) or ""


def made_commands() -> Iterator[str]:
    """What ``--help`` prints, of every command: the page that is committed."""
    yield "# Commands\n\n`formlab COMMAND --help` prints each. Made by `python docs/_pages.py`.\n"
    yield from _command(main, click.Context(main, info_name="formlab"), 2)


def _command(command: click.Command, context: click.Context, depth: int) -> Iterator[str]:
    context.terminal_width = context.max_content_width = 100
    text = command.get_help(context)
    yield f"{'#' * depth} {context.command_path}\n\n```text\n{text}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            inner = click.Context(below, info_name=name, parent=context)
            yield from _command(below, inner, min(depth + 1, 4))


def made_api(room: str, *names: str) -> Iterator[str]:
    """What a room offers, each with its docstring: its `__all__`, or the names themselves."""
    module = importlib.import_module(room)
    for name in sorted(names or module.__all__, key=lambda name: (name.lower(), name)):
        member = inspect.unwrap(getattr(module, name))
        if inspect.isfunction(member) or inspect.isclass(member):
            called = f"{room.removeprefix('formlab.')}.{name}"
            yield f'<a id="{room}.{name}"></a>\n'
            yield f"::: {member.__module__}.{member.__qualname__}"
            yield f"    options: {{heading: {called}, toc_label: {called}}}\n"


def with_pictures(markdown: str, file: Any, config: Any, files: Any) -> str:
    """A page with what its blocks ``python chart`` show; names made in one are known below it."""
    names: dict[str, Any] = {"formlab": formlab, "pl": pl}
    count = 0

    def shown(match: re.Match[str]) -> str:
        nonlocal count
        parts = [f"```python\n{match[1]}```\n"]
        value = run(match[1], f"{file.src_uri}:{match.start()}", names)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, alt.TopLevelMixin):
                count += 1
                name = f"pictures/chart{count:02}.svg"
                address = posixpath.join(posixpath.dirname(file.src_uri), name)
                # What a chart may not have, the tests of the charts find.
                spec = item.to_dict(validate=False)
                files.append(File.generated(config, address, content=picture(spec)))
                words = re.sub(r'[\[\]"\n]', " ", spec.get("description", "chart"))
                parts.append(f"![{words[:300]}]({name}){{.chart}}\n")
            elif hasattr(item, "_repr_mimebundle_") and not hasattr(item, "to_plotly_json"):
                page = item._repr_mimebundle_()["text/html"]
                page = re.sub(r"\s*\n\s*", " ", page)
                parts.append(f'<div class="shown">{page}</div>\n')
        return "\n".join(parts)

    return CHART.sub(shown, markdown)


def run(code: str, where: str, names: dict[str, Any]) -> Any:
    """The value of the last line of an example."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)  # noqa: S102 - the examples of these pages
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), where, "eval"), names)  # noqa: S307


def picture(spec: dict[str, Any]) -> str:
    """A chart as SVG on white, as in print."""
    # A browser's font may be wider than the one that the room for names is measured with.
    room = {"left": 24, "right": 24, "top": 5, "bottom": 5}
    spec = {**spec, "background": "white", "padding": room}
    return vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])


if __name__ == "__main__":
    COMMANDS.write_text(made("commands"), encoding="utf-8")
