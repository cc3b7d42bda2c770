"""The command that builds reports, one by one or from a manifest, and says how each went."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import click

from formlab.addresses import fetched
from formlab.console import as_json, pairs, path, plain, show, workers_options
from formlab.errors import DataBroken

_BUILDING = ("out", "layout", "workers", "timeout", "figures")


@click.command()
@click.argument("notebooks", nargs=-1, type=path)
@click.option(
    "--eval", "evaluations", multiple=True, type=fetched,
    help="Folder of an evaluation; without NOTEBOOKS, those made for it are run.",
)  # fmt: skip
@click.option(
    "-p", "--parameter", "changes", multiple=True, metavar="NAME=VALUE",
    help="A parameter of the notebooks.",
)  # fmt: skip
@click.option("--manifest", type=path, help="A YAML file that lists the reports.")
@click.option("--out", type=path, help="Folder of the reports [reports].")
@click.option(
    "--layout", type=click.Choice(("single", "site")),
    help="Everything inside each file, or shared files once for the folder [single].",
)  # fmt: skip
@workers_options(default=None)
@click.option("--timeout", type=click.IntRange(min=1), help="Seconds that one cell may take.")
@click.option(
    "--figures/--no-figures", default=None,
    help="Save each figure as SVG, PNG and CSV, and thumbnails [yes].",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Rebuild reports that have not changed, too.")
@as_json
def report(notebooks: tuple[Path, ...], as_json: bool, force: bool, **options: Any) -> None:
    """Run NOTEBOOKS (all, if none is named) and write one HTML page each, and an index.

    What has not changed since it was built is left as it is. The exit code is 1 if a report is
    not complete.
    """
    from formlab import reports

    settings = {name: options[name] for name in _BUILDING if options[name] is not None}
    if options["manifest"]:
        listed = {"NOTEBOOKS": notebooks, "--eval": options["evaluations"]}
        for name, value in (listed | {"-p": options["changes"]}).items():
            if value:
                raise DataBroken(f"{name} beside --manifest", remedy="put it into the manifest")
        results = reports.build_manifest(options["manifest"], force=force, **settings)
    else:
        parameters = {name: _literal(text) for name, text in pairs(options["changes"]).items()}
        results = reports.build(
            notebooks or None, parameters=parameters, evaluations=options["evaluations"],
            force=force, **{"out": Path("reports"), "workers": None} | settings,
        )  # fmt: skip
    for note in dict.fromkeys(note for result in results for note in result.notes):
        click.echo(f"note: {plain(note)}", err=True)
    rows = [
        {"report": r.html.name if r.html else r.name, "status": r.status,
         "seconds": round(r.seconds, 1), "error": r.error or ""}
        for r in results
    ]  # fmt: skip
    if not as_json:  # Numbers of a table have four places.
        rows = [row | {"seconds": f"{row['seconds']:.1f}"} for row in rows]
    show(rows, as_json=as_json)
    if not all(result.ok for result in results):
        sys.exit(1)


def _literal(text: str) -> Any:
    """A number, list, … where `text` is one as Python writes it, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
