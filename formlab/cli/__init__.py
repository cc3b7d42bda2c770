"""The command line: parses, calls, prints. Errors go to stderr; the user's mistakes exit with 2."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from formlab import registry
from formlab.cli import renamed
from formlab.errors import FormlabError, NotAvailable
from formlab.registry import Registry
from formlab.show import plain

COMMANDS = Registry(
    "commands",
    {
        "compare": ("formlab.cli.comparing:compare", "Compare systems, or runs over time."),
        "facts": ("formlab.cli.facts:facts", "Financial facts: judge, filings."),
        "init": ("formlab.cli.comparing:init", "Copy the notebooks and a manifest of reports."),
        "list": ("formlab.cli.comparing:list_known", "List benchmarks, systems, metrics …"),
        "report": ("formlab.cli.comparing:report", "Run notebooks and write an HTML page each."),
        "run": ("formlab.cli.scoring:run", "Run a system on forms."),
        "score": ("formlab.cli.scoring:score", "Score predictions against gold, or a log."),
    },
    {
        "annotate": "Annotate facts on pages with Label Studio.",
        "arena": "Web forms to fill in, by hand or by an agent.",
        "counterfactual": "Change values on pages, and see what answers follow.",
        "design": "Draw forms to a plan, and say what each factor does.",
        "formcraft": "Make data like FORMCRAFT's with a model and people.",
        "stress": "Make pages worse by known amounts, and see what is read.",
        "sweep": "Run a system with every combination of settings.",
    },
)


class _Group(click.Group):
    """Finds commands in the registry, and turns what a user can mend into one line on stderr."""

    def list_commands(self, _: click.Context) -> list[str]:
        return sorted(COMMANDS.names())

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS and name in renamed.COMMANDS:
            context.fail(f"{name} is now: {renamed.COMMANDS[name]}")
        command = COMMANDS.get(name)
        # A plug-in's command may be a plain function, with click's options or without any.
        is_made = command is None or isinstance(command, click.Command)
        return command if is_made else click.command(name)(command)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(n, COMMANDS.help(n)) for n in self.list_commands(context)])

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except FormlabError as error:
            _end(str(error))
        except click.NoSuchOption as error:
            renamed.explain(error)
            raise
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
            _end(error.strerror + (f" ({error.filename})" if error.filename else ""))


def _end(text: str) -> None:
    click.echo(f"error: {plain(text)}", err=True)
    sys.exit(2)


def _load(context: click.Context, _: click.Parameter, files: tuple[Path, ...]) -> None:
    """Run the plug-ins named; one that cannot be loaded is noted, and the command goes on."""
    for file in files:
        if not os.path.isfile(file):
            raise click.BadParameter(f"no such file: {plain(str(file))}", ctx=context)
        try:
            registry.load(file)
        except NotAvailable as error:
            click.echo(f"note: {plain(str(error))}", err=True)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="formlab")
@click.option(
    "--plugin",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE.py",
    callback=_load,
    expose_value=False,
    is_eager=True,
    help="A file with benchmarks, metrics, systems … of your own; also FORMLAB_PLUGINS.",
)
def main() -> None:
    """Show where and why models fail on forms."""
