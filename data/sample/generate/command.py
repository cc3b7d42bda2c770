"""The command line that the generators share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formlab.errors import FormlabError

TEMPLATES = Path(__file__).parent / "templates"


def run(write: Callable[..., Any], description: str | None, *, seed: int | None = None) -> int:
    """Read ``--out`` (and ``--seed``, if there is one) and write; 2 if something is missing.

    `write` takes the folder and, if there is one, the seed.
    """
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    if seed is not None:
        parser.add_argument("--seed", type=int, default=seed)
    try:
        write(*vars(parser.parse_args()).values())
    except FormlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
