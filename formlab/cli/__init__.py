"""The command line: parses, calls, prints. Errors go to stderr; the user's mistakes exit with 2."""

import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from formlab import registry
from formlab.errors import FormlabError
from formlab.show import plain

_TABLES = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
_CORE, _ADD_ONS, COLUMNS, OLD_COMMANDS, OLD_OPTIONS = _TABLES.values()
HELP = {name: line for name, (_, line) in _CORE.items()} | _ADD_ONS
COMMANDS = registry.Registry("commands", {n: f"formlab.cli.{p}" for n, (p, _) in _CORE.items()})


class _Group(click.Group):
    """Finds commands in the registry, and turns what a user can mend into one line on stderr."""

    def list_commands(self, _: click.Context) -> list[str]:
        return sorted(COMMANDS.names())

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS and name in OLD_COMMANDS:
            context.fail(f"{name} is now: {OLD_COMMANDS[name]}")
        command = COMMANDS.get(name)
        # A plug-in's command may be a plain function, with click's options or without any.
        is_made = command is None or isinstance(command, click.Command)
        return command if is_made else click.command(name)(command)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(context)
        with formatter.section("Commands"):
            formatter.write_dl([(name, HELP.get(name, "Of a plug-in.")) for name in names])

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except click.ClickException as error:
            error.message = plain(error.message).replace("integer range", "whole number")
            if new := OLD_OPTIONS.get(getattr(error, "option_name", "")):
                error = click.UsageError(f"{error.option_name} is now: {new}", error.ctx)
            raise error from None

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().main(*arguments, **options)
        except (FormlabError, OSError) as error:
            click.echo(f"error: {plain(str(error))}", err=True)
            sys.exit(2)


_PLUGIN = "A file with benchmarks, metrics, systems … of your own; also FORMLAB_PLUGINS."
# Loaded before the command is looked for, which may be the plug-in's.
_LOADED = {"callback": lambda *v: list(map(registry.load, v[-1])), "is_eager": True}


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="formlab")
@click.option("--plugin", multiple=True, metavar="FILE.py", help=_PLUGIN, **_LOADED)
def main(plugin: tuple[str, ...]) -> None:
    """Show where and why models fail on forms."""
