"""Runs cases one after the other, in a process that may hang or die: a JSON line before and after.

On its standard input it is given a JSON object: `module` with the targets, `cases`, `seed`, and the
`seconds` that a case may take. A case is the name of a target, and a number or a case file's path.
"""

import faulthandler
import importlib
import json
import resource
import socket
import sys
import time
import warnings
from pathlib import Path

from formlab.metrics.tree import edit_script
from formlab.trees import Node
from tests.fuzz import mutations, verdicts

# An input that takes more memory than this would take a user's machine with it.
MEMORY = 12_000_000_000


def main() -> None:
    order = json.load(sys.stdin)
    lines, sys.stdout = sys.stdout, sys.stderr
    targets = importlib.import_module(order["module"]).TARGETS
    _alone()
    # Compiled at the first call, which takes longer than any case.
    edit_script(Node("form", children=[Node("a")]), Node("form", children=[Node("b")]))

    def say(**line: object) -> None:
        lines.write(json.dumps(line) + "\n")
        lines.flush()

    for name, number in order["cases"]:
        target = targets[name]
        # What is valid is made and read first, once a process: libraries are imported then.
        faulthandler.dump_traceback_later(10 * order["seconds"], exit=True)
        verdicts.valid(target)
        # Ends the process wherever it stands, in compiled code too, and says where that was.
        faulthandler.dump_traceback_later(order["seconds"], exit=True)
        if isinstance(number, str):
            made = verdicts.loaded(json.loads(Path(number).read_text())["changes"])
        else:
            made = mutations.changes_of(target, f"{order['seed']}/{number}")
        say(target=name, number=number, changes=verdicts.dumped(made))
        begun = time.monotonic()
        verdict, what = verdicts.tried(target, made)
        faulthandler.cancel_dump_traceback_later()
        say(verdict=verdict, what=what, seconds=time.monotonic() - begun)


def _alone() -> None:
    """No network, no warnings, no memory without end."""

    def refused(*_: object) -> None:
        raise ConnectionRefusedError("no network in the bench")

    for name in ("connect", "connect_ex", "bind"):
        setattr(socket.socket, name, refused)
    socket.getaddrinfo = refused  # type: ignore[assignment]
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
