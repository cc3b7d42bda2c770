"""The command line: parses, calls, prints. Errors go to stderr; the user's mistakes exit with 2."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from formlab import registry
from formlab.errors import FormlabError
from formlab.show import plain

# Each batch needs again what the last one freed: polars keeps it, which spares one second in ten.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10000,muzzy_decay_ms:-1")
# Where a command is, and its help line: to list commands imports none.
_CORE = {
    "compare": ("comparing:compare", "Compare systems, or runs over time."),
    "facts": ("facts:facts", "Financial facts: judge, filings."),
    "init": ("comparing:init", "Copy the notebooks and a manifest of reports."),
    "list": ("comparing:list_names", "List benchmarks, systems, metrics …"),
    "report": ("comparing:report", "Run notebooks and write an HTML page each."),
    "run": ("scoring:run", "Run a system on forms."),
    "score": ("scoring:score", "Score predictions against gold, or a log."),
}
_ADD_ONS = {
    "annotate": "Annotate facts on pages with Label Studio.",
    "arena": "Web forms to fill in, by hand or by an agent.",
    "counterfactual": "Change values on pages, and see what answers follow.",
    "design": "Draw forms to a plan, and say what each factor does.",
    "formcraft": "Make data like FORMCRAFT's with a model and people.",
    "stress": "Make pages worse by known amounts, and see what is read.",
    "sweep": "Run a system with every combination of settings.",
}
HELP = {name: line for name, (_, line) in _CORE.items()} | _ADD_ONS
COMMANDS = registry.Registry("commands", {n: f"formlab.cli.{p}" for n, (p, _) in _CORE.items()})
# What commands and options of 0.2 are called now: until 0.4.
OLD_COMMANDS = {
    "benchmarks": "formlab list benchmarks",
    "cache": "gone: its folder is FORMLAB_CACHE, else formlab in the user's cache folder",
    "filing": "formlab facts filing",
    "history": "formlab compare DIR --over-time",
    "judge": "formlab facts judge, and formlab facts check",
    "open": "formlab score LOG, or formlab score BENCHMARK --predictions LOG",
    "plugins": "formlab list plugins",
    "sums": "gone: 0.3 looks for no sums on pages",
}
OLD_OPTIONS = {
    "--assume-cost": "--set max_calls=N",
    "--batch": "--plugin docs/plugins/batch.py --system batch",
    "--batch-results": "--plugin docs/plugins/batch.py --system batch",
    "--benchmark": "formlab score BENCHMARK --predictions LOG",
    "--figures": "--set figures=on",
    "--flips": "--metric outcome",
    "--gold": "GOLD, the first argument: formlab score FILE --predictions …",
    "--judge-prompt": "--prompt",
    "--judge-view": "--set view=text",
    "--layout": "gone: every report is one file",
    "--limit": "--documents N",
    "--logprobs": "--set logprobs=on",
    "--max-calls": "--set max_calls=N",
    "--no-cache": "FORMLAB_NO_CACHE=1 in the environment",
    "--no-figures": "--set figures=off",
    "--permutations": "--resamples, for intervals and tests",
    "--prices": "--set prices=FILE",
    "--retry": "--set retry=bad",
    "--samples": "--set samples=K",
    "--scheduler": "--workers ADDRESS",
    "--strict": "the count of documents that could not be read, which every command prints",
    "--system": "--name, where answers are scored",
    "--temperature": "--set temperature=0.7",
    "--timeout": "--set timeout=600",
}


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
        with formatter.section("Commands"):
            formatter.write_dl([(n, _help(n)) for n in self.list_commands(context)])

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except FormlabError as error:
            text = str(error)
        except click.ClickException as error:
            error.message = plain(error.message)
            if new := OLD_OPTIONS.get(getattr(error, "option_name", "")):
                error = click.UsageError(f"{error.option_name} is now: {new}", error.ctx)
            raise error from None
        except OSError as error:
            # What the system refuses: no room, no permission, a file where a folder should be. That
            # the reader of a pipe has gone is nothing wrong: click ends.
            if error.strerror is None or isinstance(error, BrokenPipeError):
                raise
            text = error.strerror + (f" ({error.filename})" if error.filename else "")
        click.echo(f"error: {plain(text)}", err=True)
        sys.exit(2)


def _help(name: str) -> str:
    if name in HELP and COMMANDS.source(name).name == "formlab":
        return HELP[name]
    if problem := COMMANDS.problem(name):
        return str(problem)
    command = COMMANDS[name]
    return (getattr(command, "help", None) or command.__doc__ or "").partition("\n")[0]


def _load(context: click.Context, _: click.Parameter, files: tuple[str, ...]) -> None:
    """Run the plug-ins named."""
    try:
        for file in files:
            registry.load(file)
    except FormlabError as error:
        raise click.BadParameter(plain(str(error)), ctx=context) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="formlab")
@click.option(
    "--plugin",
    multiple=True,
    metavar="FILE.py",
    callback=_load,
    expose_value=False,
    is_eager=True,
    help="A file with benchmarks, metrics, systems … of your own; also FORMLAB_PLUGINS.",
)
def main() -> None:
    """Show where and why models fail on forms."""
