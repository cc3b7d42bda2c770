"""What commands and options of 0.2 are called now: kept for one release, as a hint to people."""

from __future__ import annotations

import click

COMMANDS = {
    "benchmarks": "formlab list benchmarks",
    "cache": "gone: its folder is FORMLAB_CACHE, else formlab in the user's cache folder",
    "filing": "formlab facts filing",
    "history": "formlab compare DIR --over-time",
    "judge": "formlab facts judge, and formlab facts check",
    "open": "formlab score LOG, or formlab score BENCHMARK --predictions LOG",
    "plugins": "formlab list plugins",
    "sums": "gone: 0.3 looks for no sums on pages",
}
OPTIONS = {
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


def explain(error: click.NoSuchOption) -> None:
    """Say what to write instead of an option that there is no longer, if there ever was."""
    if new := OPTIONS.get(error.option_name):
        error.message, error.possibilities = f"{error.option_name} is now: {new}", None
