"""The command `formlab arena fill`: parse, call, print."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab.cli import options
from formlab.cli.options import Rows, command, option
from formlab.errors import DataBroken
from formlab_arena.command_options import OBSERVE, TASKS, changes_of, progress_of, tasks_of

if TYPE_CHECKING:
    from formlab_arena.run import RunSettings
    from formlab_arena.texts import TaskSet
    from formlab_arena.web_tasks import WebTask

_WEB = ("url", "tasks_file", "miniwob")
_AGENTS = ("system", "agent", "drive")


class _Window(click.ParamType):
    name = "WIDTHxHEIGHT"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        sides = [int(side) if side.isdecimal() else 0 for side in value.split("x")]
        if len(sides) != 2 or not all(100 <= side <= 4_000 for side in sides):
            self.fail(f"{value!r} is not like 1280x800", param, ctx)
        return sides[0], sides[1]


_PLAYING = (
    option("--system", "oracle [default], rules, chat:MODEL, or an agent of a plug-in."),
    option("--agent", "Your own: module:Class, file.py:Class, or file.py with one agent."),
    option("--drive", "Your own, which drives the browser over CDP.", metavar="COMMAND"),
    *TASKS,
    option(
        "--policy", "All actions of a look at once, or one.", click.Choice(["page", "step"]), "page"
    ),
    OBSERVE,
    option("--scale", "Of screenshots.", click.FloatRange(0.1, 1), 1.0),
    option("--ruler", "Draw pixel axes on the screenshots.", bool),
    option("--steps", "Most looks.", options.COUNT, 200),
    option("--deadline", "Seconds that an episode may take.", click.FloatRange(1), 300.0),
    options.WORKERS,
    option("--viewport", "Of the window [1280x800].", _Window(), (1280, 800)),
    option("--device", 'Imitate a device of Playwright: "iPhone 15".', default=""),
    option("--headed", "Show the browser.", bool),
    option("--storage", "Playwright's file of cookies to begin with.", options.path),
    *options.MODEL,
)
_PAGES = (
    option("--pages", "Fill in what its pages say; without a text.", metavar="BENCHMARK"),
    *options.BENCHMARK,
    options.FIRST,
    option("--reading", "With --pages: a run of a system that read them.", options.file),
)
_OTHER_PAGES = (
    option("--url", "Fill in the form at this address instead."),
    option("--text text_file", "With --url: file with the instructions.", options.file),
    option("--values values_file", "With --url: JSON of right answers.", options.file),
    option("--tasks tasks_file", "Fill in the pages of a JSONL file.", options.file),
    option("--miniwob", "Tasks of MiniWoB++ with commas; all: forms.", metavar="NAMES"),
    option("--allow", "With --url, --tasks: a server pages may reach.", multiple=True),
)


@command(*_PLAYING, *_PAGES, *_OTHER_PAGES, options.out("The run's folder.", required=True))
def fill(out: Path, **options: Any) -> Rows:
    """Let a system fill in forms; prints how many answers were right.

    The texts quote labels and values (--texts quoted), imply values as people do (prose), were
    written by a model (a folder of arena write) or are those of FormFactory's release (--data).
    With --pages there is no text: a form is made of the gold fields of each document of BENCHMARK,
    and its pages are all that the system gets; --forms are then names of documents.
    With --url it fills in one form at that address and prints the final contents of its fields;
    files can be uploaded from the folder `files` in --out only. With --tasks it does so for each
    line of a file: address, text, files and gold.

    The exit code is 1 if an episode crashed, or ended without a form that was sent.
    """
    settings = _settings(options)
    if not any(options[name] for name in _WEB):
        return _fill_ours(settings, out, options)
    if isinstance(options["workers"], str):
        raise click.UsageError("a cluster goes with formlab's own forms, or --pages")
    return _fill_web(settings, out, options)


def _settings(options: dict[str, Any]) -> RunSettings:
    from formlab_arena import agent_registry, driving, run

    chosen = [name for name in _AGENTS if options[name]]
    if len(chosen) > 1:
        raise click.UsageError(f"--{chosen[0]} goes without --{chosen[1]}")
    if options["drive"]:
        options["system"] = driving.PREFIX + options["drive"]
    elif options["agent"]:
        options["system"] = agent_registry.load(options["agent"])
    options["system"] = options["system"] or "oracle"
    options["observe"] = options["observe"] or ""
    if options["storage"] and not options["storage"].is_file():
        raise DataBroken("no storage state", where=options["storage"], remedy="check --storage")
    kept = {field.name for field in dataclasses.fields(run.RunSettings)} - {"texts", "options"}
    return run.RunSettings(**{name: options[name] for name in kept}, options=changes_of(options))


def _fill_ours(settings: RunSettings, out: Path, options: dict[str, Any]) -> Rows:
    from formlab_arena import run

    if stray := [name for name in ("text_file", "values_file", "allow") if options[name]]:
        raise click.UsageError(f"--{stray[0].removesuffix('_file')} goes with --url")
    _check_source(options)
    tasks, texts = _page_tasks(options) if options["pages"] else tasks_of(options, "quoted")
    settings = dataclasses.replace(settings, texts=texts)
    with progress_of(settings.system, len(tasks.instances)) as tell:
        results = run.fill(
            out,
            settings,
            tasks=tasks,
            reading=options["reading"],
            tell=tell,
            storage=options["storage"],
            workers=options["workers"],
        )
    columns = ("doc_id", "form", "status", "right", "fields", "steps", "seconds", "error")
    short = [{key: result[key] for key in columns} for result in results]
    return _rows(results, [row | {"seconds": round(row["seconds"])} for row in short])


def _rows(results: list[dict[str, Any]], short: list[dict[str, Any]], hint: str = "") -> Rows:
    """The results, with how many were sent; the exit code is 1 unless all were."""
    right, asked = (sum(r.get(key) or 0 for r in results) for key in ("right", "fields"))
    done = sum(result["status"] == "submitted" for result in results)
    answers = f", {right} of {asked} answers right" if asked else ""
    hint = hint or f"{done} of {len(results)} submitted{answers}"
    return Rows(results, [("", short)], hints=[hint], ok=done == len(results))


def _check_source(options: dict[str, Any]) -> None:
    """Either pages or texts, each with its own options."""
    others = ("texts", "data") if options["pages"] else ("root", "split", "limit", "reading")
    if stray := [name for name in others if options[name]]:
        word = stray[0].replace("limit", "documents")
        raise click.UsageError(f"--{word} goes {'without' if options['pages'] else 'with'} --pages")


def _page_tasks(options: dict[str, Any]) -> tuple[TaskSet, str]:
    """The tasks of --pages, and the word for their texts, with the system of --reading."""
    from formlab.folders import Predictions, read_manifest
    from formlab_arena import page_tasks, texts

    codes = [code.strip() for code in options["codes"].split(",") if code.strip()]
    how = {name: options[name] for name in ("root", "split", "limit")}
    tasks = page_tasks.task_set(options["pages"], codes=codes, **how)
    reading = options["reading"]
    system = f":{read_manifest(Predictions, reading)[1]['system']}" if reading else ""
    return tasks, texts.PAGES + system


def _fill_web(settings: RunSettings, out: Path, options: dict[str, Any]) -> Rows:
    from formlab_arena import form_url

    if len(sources := [n.removesuffix("_file") for n in (*_WEB, "pages") if options[n]]) > 1:
        raise click.UsageError(f"--{sources[0]} goes without --{sources[1]}")
    shared = {name: options[name] for name in ("allow", "storage")}
    if options["url"]:
        result = form_url.fill_url(
            options["url"], out, settings, **_task_of(out, options), **shared
        )
        filled = [{"field": name, "value": value} for name, value in result["filled"].items()]
        error = f": {result['error']}" if result["error"] else ""
        sent = len((result["account"] or {}).get("submissions", ()))
        hint = f"{result['status']} after {result['steps']} looks, {sent} sent{error}"
        return _rows([result], filled, hint)
    if stray := [name for name in ("text_file", "values_file") if options[name]]:
        raise click.UsageError(f"--{stray[0].removesuffix('_file')} goes with --url")
    tasks = _web_tasks(options)
    with progress_of(settings.system, len(tasks)) as tell:
        results = form_url.fill_tasks(
            out, settings, tasks, workers=options["workers"], tell=tell, **shared
        )
    return _rows(results, _web_rows(results))


def _web_tasks(options: dict[str, Any]) -> tuple[WebTask, ...]:
    from formlab_arena import miniwob, web_tasks

    if options["tasks_file"]:
        return web_tasks.read(options["tasks_file"])
    names = [name.strip() for name in options["miniwob"].split(",") if name.strip() != "all"]
    return miniwob.tasks(names, instances=options["instances"], seed=options["seed"])


def _web_rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results for people; what none of them has is no column."""
    rows = []
    for result in results:
        scored = result["fields"] is not None
        rows.append({
            "name": result["doc_id"], "status": result["status"],
            "submissions": len((result["account"] or {}).get("submissions", ())),
            "right": f"{result['right']}/{result['fields']}" if scored else None,
            "reward": result["reward"], "looks": result["steps"],
            "seconds": round(result["seconds"]), "error": result["error"],
        })  # fmt: skip
    empty = {name for name in ("right", "reward") if all(row[name] is None for row in rows)}
    return [{name: cell for name, cell in row.items() if name not in empty} for row in rows]


def _task_of(out: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The text, the right answers and the files of the one form of --url."""
    from formlab import files
    from formlab_arena import web_tasks

    if options["system"] != "oracle" and not options["text_file"]:
        raise click.UsageError("--url needs --text, the file of instructions")
    file = options["values_file"]
    return {
        "text": files.read_text(options["text_file"]) if options["text_file"] else "",
        "values": web_tasks.gold(file, files.read_json(file)) if file else None,
        "uploads": sorted(path for path in (out / "files").glob("*") if path.is_file()),
    }
