"""The commands of the arena: parse, call, print."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from formlab import files
from formlab.arena import run, server, spec
from formlab.arena.agents import Oracle
from formlab.arena.store import Store
from formlab.errors import DataBroken, FormlabError

_PATH = click.Path(path_type=Path)


@click.group("arena")
def arena() -> None:
    """Web forms to fill in, by hand or by an agent."""


@arena.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--database", type=_PATH, default=Path("runs/arena.sqlite"), show_default=True)
@click.option("--forms", "folder", type=_PATH, default=spec.FOLDER, help="Folder of YAML forms.")
@click.option("--public", is_flag=True, help="Allow a host that other machines can reach.")
def serve(host: str, port: int, database: Path, folder: Path, public: bool) -> None:
    """Show the forms in a browser until stopped."""
    if not public and not server.is_loopback(host):
        raise click.UsageError(f"other machines can reach {host}; add --public if they may")
    app = server.create(Store(database), folder=folder, hosts=(host,))
    listening = server.listen(app, host=host, port=port)
    click.echo(f"forms at http://{host}:{listening.server_port}")
    sys.stdout.flush()
    listening.serve_forever()


@arena.command()
@click.option("--system", default="oracle", show_default=True)
@click.option("--forms", "codes", default="", help="Codes with commas, such as A11,B12; else all.")
@click.option("--instances", default=1, show_default=True, type=click.IntRange(1, 50))
@click.option("--seed", default=0, show_default=True)
@click.option("--policy", default="page", type=click.Choice(["page", "step"]), show_default=True)
@click.option("--scale", default=1.0, type=click.FloatRange(0.1, 1), help="Size of screenshots.")
@click.option("--ruler", is_flag=True, help="Draw pixel axes on the screenshots.")
@click.option("--url", help="Fill in the form at this address instead.")
@click.option("--text", "text_file", type=_PATH, help="With --url: what the agent is told.")
@click.option("--values", "values_file", type=_PATH, help="With --url: JSON of the answers.")
@click.option("--out", type=_PATH, required=True, help="The run's folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
def fill(
    codes: str, instances: int, url: str | None, text_file: Path | None,
    values_file: Path | None, out: Path, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Let a system fill in forms; says how many answers were right."""
    settings = run.Settings(**options)
    if url:
        _fill_url(url, text_file, values_file, out, settings)
        return
    results = run.fill(
        out,
        settings,
        codes=[code.strip() for code in codes.split(",") if code.strip()],
        count=instances,
        tell=lambda result: None if as_json else click.echo(_line(result)),
    )
    if as_json:
        click.echo(json.dumps(results, indent=1))
    else:
        right, asked = sum(r["right"] for r in results), sum(r["fields"] for r in results)
        done = sum(r["status"] == "submitted" for r in results)
        click.echo(f"{done} of {len(results)} submitted, {right} of {asked} answers right")


def _line(result: dict[str, Any]) -> str:
    line = f"{result['doc_id']}  {result['status']}  {result['right']}/{result['fields']}"
    return f"{line}  {result['error']}" if result["error"] else line


def _fill_url(
    url: str, text_file: Path | None, values_file: Path | None, out: Path, settings: run.Settings
) -> None:
    if settings.system != "oracle" or values_file is None:
        raise click.UsageError("--url needs --system oracle and --values")
    values = files.read_json(values_file)
    if not isinstance(values, dict):
        raise DataBroken("a JSON object is expected", where=values_file, remedy='{"name": "Ada"}')
    (out / "files").mkdir(parents=True, exist_ok=True)
    text = files.read_text(text_file) if text_file else ""
    with run.opened(url, out, text, settings) as session:
        looks = run.drive(session, Oracle(values), settings)
    click.echo(f"{looks} looks; every action is in {out / 'events.jsonl'}")


if __name__ == "__main__":
    try:
        arena()
    except FormlabError as problem:
        sys.exit(f"formlab: {problem}")
