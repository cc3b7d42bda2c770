"""The commands of the arena: parse, call, print."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from formlab import resources
from formlab.cli_score import documents_of, scored, scoring, show_summary
from formlab.console import as_json, asked, asking, plain, show
from formlab.errors import DataBroken, FormlabError
from formlab.systems import CHAT

if TYPE_CHECKING:
    from formlab_arena.run import RunSettings

NOTEBOOK = resources.folder("notebooks") / "40_form_filling.ipynb"
_PATH = click.Path(path_type=Path)


@click.group("arena")
def arena() -> None:
    """Web forms to fill in, by hand or by an agent."""


@arena.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--database", type=_PATH, default=Path("runs/arena.sqlite"), show_default=True)
@click.option("--forms", "folder", type=_PATH, help="Folder of YAML forms [ours].")
@click.option("--public", is_flag=True, help="Allow a host that other machines can reach.")
def serve(host: str, port: int, database: Path, folder: Path | None, public: bool) -> None:
    """Show the forms in a browser until stopped."""
    resources.need("arena")
    from formlab_arena import server, spec
    from formlab_arena.store import SubmissionStore

    if not public and not server.is_loopback(host):
        raise click.UsageError(f"other machines can reach {host}; add --public if they may")
    app = server.create(SubmissionStore(database), folder=folder or spec.FOLDER, hosts=(host,))
    listening = server.listen(app, host=host, port=port)
    click.echo(f"forms at http://{host}:{listening.server_port}")
    sys.stdout.flush()
    listening.serve_forever()


@arena.command()
@click.option("--system", default="oracle", show_default=True, help="oracle, rules or chat:MODEL.")
@click.option("--forms", "codes", default="", help="Codes with commas, such as A11,B12; else all.")
@click.option("--instances", default=1, show_default=True, type=click.IntRange(1, 50))
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--policy", default="page", type=click.Choice(["page", "step"]), show_default=True,
    help="All actions of a look at once, or one.",
)  # fmt: skip
@click.option("--scale", default=1.0, type=click.FloatRange(0.1, 1), help="Size of screenshots.")
@click.option("--ruler", is_flag=True, help="Draw pixel axes on the screenshots.")
@click.option("--steps", default=200, show_default=True, type=click.IntRange(1), help="Most looks.")
@asking
@click.option("--url", help="Fill in the form at this address instead.")
@click.option("--text", "text_file", type=_PATH, help="With --url: file with the instructions.")
@click.option("--values", "values_file", type=_PATH, help="With --url: JSON for the oracle.")
@click.option("--allow", multiple=True, help="With --url: another server the page may reach.")
@click.option("--out", type=_PATH, required=True, help="The run's folder.")
@as_json
def fill(codes: str, instances: int, out: Path, as_json: bool, **options: Any) -> None:
    """Let a system fill in forms; prints how many answers were right.

    With --url it fills in one form at that address and prints the final contents of its fields;
    files can be uploaded from the folder `files` in --out only.
    """
    from formlab_arena import run, spec

    kept = ("system", "seed", "policy", "scale", "ruler", "steps")
    settings = run.RunSettings(**{name: options[name] for name in kept}, options=_changes(options))
    if options["url"]:
        _fill_at(settings, out, options, as_json=as_json)
        return
    if stray := [name for name in ("text_file", "values_file", "allow") if options[name]]:
        raise click.UsageError(f"--{stray[0].removesuffix('_file')} goes with --url")
    chosen = [code.strip() for code in codes.split(",") if code.strip()]
    with _progress(settings.system, (len(chosen) or len(spec.forms())) * instances) as tell:
        results = run.fill(out, settings, codes=chosen, count=instances, tell=tell)
    if as_json:
        show(results, as_json=True)
        return
    columns = ("doc_id", "form", "status", "right", "fields", "steps", "seconds", "error")
    rows = [{key: result[key] for key in columns} for result in results]
    show([row | {"seconds": round(row["seconds"])} for row in rows], as_json=False)
    right, asked = sum(r["right"] for r in results), sum(r["fields"] for r in results)
    done = sum(r["status"] == "submitted" for r in results)
    click.echo(f"{done} of {len(results)} submitted, {right} of {asked} answers right")


@arena.command("score")
@click.argument("folder", metavar="RUN", type=_PATH)
@scoring
@as_json
def score(folder: Path, as_json: bool, **options: Any) -> None:
    """Score the clicks, values and submissions of RUN, a folder of `formlab arena fill`."""
    from formlab_arena.evaluation import read_run

    corpus, predictions = read_run(folder)
    documents = documents_of(options["documents"], [corpus])
    summary = scored(corpus, predictions, options | {"documents": documents}, as_json=as_json)
    show_summary(summary, options, as_json=as_json)


def _changes(options: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model on the command line, each as its type."""
    changes = asked(options)
    if not options["system"].startswith(CHAT):
        return changes
    from formlab.systems import chat

    typed = chat.system(options["system"]).settings(changes)
    return {name: typed[name] for name in changes}


@contextlib.contextmanager
def _progress(system: str, total: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    from formlab.progress import progress

    with progress("forms, {task.fields[sent]} submitted") as bar:
        job, sent = bar.add_task(plain(system), total=total, sent=0), 0

        def tell(result: dict[str, Any]) -> None:
            nonlocal sent
            sent += result["status"] == "submitted"
            bar.update(job, advance=1, sent=sent)

        yield tell
        # With the episodes of earlier runs.
        bar.update(job, completed=total)


def _fill_at(settings: RunSettings, out: Path, options: dict[str, Any], *, as_json: bool) -> None:
    from formlab import files
    from formlab_arena.form_url import fill_url

    if options["system"] != "oracle" and not options["text_file"]:
        raise click.UsageError("--url needs --text, the file of instructions")
    values = files.read_json(options["values_file"]) if options["values_file"] else None
    if values is not None and not isinstance(values, dict):
        where, remedy = options["values_file"], '{"name": "Ada"}'
        raise DataBroken("a JSON object is expected", where=where, remedy=remedy)
    text = files.read_text(options["text_file"]) if options["text_file"] else ""
    result = fill_url(
        options["url"], out, settings, text=text, values=values, allow=options["allow"]
    )
    if as_json:
        show([result], as_json=True)
        return
    filled = result["filled"].items()
    show([{"field": name, "value": value} for name, value in filled], as_json=False)
    error = f": {plain(result['error'])}" if result["error"] else ""
    click.echo(f"{result['status']} after {result['steps']} looks{error}")


if __name__ == "__main__":
    try:
        arena()
    except FormlabError as problem:
        sys.exit(f"formlab: {problem}")
