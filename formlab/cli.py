"""The command line: parses, calls, prints. Errors go to stderr; the user's mistakes exit with 2."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from formlab import registry
from formlab.console import as_json, plain, show
from formlab.errors import FormlabError, NotAvailable
from formlab.registry import Registry

COMMANDS = Registry(
    "commands",
    {
        "benchmarks": "formlab.cli:list_benchmarks",
        "cache": "formlab.cli:cache",
        "compare": "formlab.cli_compare:compare",
        "filing": "formlab.cli_facts:filing",
        "history": "formlab.cli_compare:history",
        "init": "formlab.cli_init:init",
        "judge": "formlab.cli_facts:judge",
        "open": "formlab.cli_open:open_logs",
        "plugins": "formlab.cli:list_plugins",
        "report": "formlab.cli_report:report",
        "run": "formlab.cli_score:run",
        "score": "formlab.cli_score:score",
        "sums": "formlab.cli_facts:sums",
    },
)


class _Group(click.Group):
    """Finds commands in the registry, and turns what a user can mend into one line on stderr."""

    def list_commands(self, _: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        command = COMMANDS.get(name)
        if command is None or isinstance(command, click.Command):
            return command
        # A plug-in's command may be a plain function, with click's options or without any.
        return click.command(name)(command)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FormlabError as error:
            click.echo(f"error: {plain(str(error))}", err=True)
            sys.exit(2)
        except click.ClickException as error:
            error.message = plain(error.message)
            raise
        except BrokenPipeError:
            # The reader of the output (head, less) has gone: nothing is wrong.
            sys.stderr.close()
            sys.exit(0)
        except OSError as error:
            # What the system refuses: no room, no permission, a file where a folder should be.
            if error.strerror is None:
                raise
            where = f" ({error.filename})" if error.filename else ""
            click.echo(f"error: {plain(error.strerror + where)}", err=True)
            sys.exit(2)


def _load(ctx: click.Context, _: click.Parameter, files: tuple[Path, ...]) -> None:
    """Run the plug-ins named; one that cannot be loaded is noted, and the command goes on."""
    for file in files:
        if not os.path.isfile(file):
            raise click.BadParameter(f"no such file: {plain(str(file))}", ctx=ctx)
        try:
            registry.load(file)
        except NotAvailable as error:
            click.echo(f"note: {plain(str(error))}", err=True)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(metadata.version("formlab"), package_name="formlab")
@click.option(
    "--plugin", multiple=True, type=click.Path(path_type=Path), metavar="FILE.py",
    callback=_load, expose_value=False, is_eager=True,
    help="A file with benchmarks, metrics, systems … of your own; also FORMLAB_PLUGINS.",
)  # fmt: skip
def main() -> None:
    """Show where and why models fail on forms."""


@click.command("benchmarks")
@as_json
def list_benchmarks(as_json: bool) -> None:
    """List the benchmarks: tasks, splits, licence, and whether a sample is there."""
    from formlab import benchmarks

    rows = [
        {
            "name": name,
            "title": benchmark.title,
            "tasks": ", ".join(benchmark.tasks),
            "splits": ", ".join(f"{s} ({n})" for s, n in benchmark.splits.items()),
            "modes": ", ".join(benchmark.modes),
            "licence": benchmark.licence,
            "source": benchmark.source,
            **({"citation": benchmark.citation} if as_json else {}),
            "sample": (benchmarks.SAMPLES / name).is_dir(),
        }
        for name, benchmark in benchmarks.BENCHMARKS.items()
    ]
    show(rows, as_json=as_json)
    for problem in registry.problems("benchmarks"):
        name, source, reason = (plain(problem[key]) for key in ("name", "source", "problem"))
        click.echo(f"note: plug-in that cannot be used: {name} ({source}): {reason}", err=True)


@click.command("plugins")
@as_json
def list_plugins(as_json: bool) -> None:
    """List the plug-ins: where each comes from, and why it cannot be used, if so."""
    show(registry.plugins(), as_json=as_json)


@click.command()
@click.option("--clear", is_flag=True, help="Drop all of it.")
@as_json
def cache(clear: bool, as_json: bool) -> None:
    """Show what is kept so that it is not computed again: pages read, runs over the samples.

    It is in FORMLAB_CACHE, else in the user's cache folder. What was not used for the longest time
    is dropped first, once there is no room.
    """
    from formlab import kept

    rows = []
    for name in (kept.PAGES, kept.RUNS):
        entries = kept.entries(kept.cache_folder() / name)
        megabytes = sum(entry.size for entry in entries) / 1e6
        row = {"name": name, "entries": len(entries), "megabytes": round(megabytes, 1)}
        row |= {"most": kept.GIGABYTES * 1000, "folder": str(kept.cache_folder() / name)}
        rows.append(row | ({"dropped": kept.clear(name)} if clear else {}))
    show(rows, as_json=as_json)


if __name__ == "__main__":
    main()
