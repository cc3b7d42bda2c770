"""The bench as a command: ``python -m tests.fuzz --minutes 5 --seed 0``.

All cases run in this process, without a network. One that takes more than `--seconds`, in compiled
code too, ends it with the stack of that moment on stderr, below the line that names the case.
"""

import argparse
import faulthandler
import hashlib
import itertools
import json
import re
import resource
import socket
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

from tests.fuzz import bench, mutations
from tests.fuzz.targets import TARGETS

CASES = Path(__file__).parent / "cases"
# An input that takes more memory than this would take a user's machine with it.
MEMORY = 12_000_000_000


def alone():
    """No network, no warnings, no memory without end."""

    def refused(*_):
        raise ConnectionRefusedError("no network in the bench")

    for name in ("connect", "connect_ex", "bind"):
        setattr(socket.socket, name, refused)
    socket.getaddrinfo = refused
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cases(given):
    """Target and changes of each case: of the files that once failed, or by numbers."""
    if given.kept:
        for file in sorted(CASES.glob("*.json")):
            case = json.loads(file.read_text())
            yield file.name, TARGETS[case["target"]], bench.loaded(case["changes"])
    numbers = [given.case] if given.case is not None else itertools.count()
    names = [name for name in TARGETS if re.search(given.target, name)]
    for number in itertools.islice(numbers, given.count):
        for name in names:
            files = bench.valid(TARGETS[name]).files
            changes = mutations.changes_of(files, f"{given.seed}/{number}/{name}")
            yield f"case {number}", TARGETS[name], changes


def main():
    parser = argparse.ArgumentParser(description="Mutated inputs for all that reads files.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--target", default="", help="a regular expression of names")
    parser.add_argument("--count", type=int, help="cases of each target")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--seconds", type=float, default=60, help="that one case may take")
    parser.add_argument("--kept", action="store_true", help="first all of tests/fuzz/cases")
    parser.add_argument("--keep", action="store_true", help="write failures into tests/fuzz/cases")
    given, tallies = parser.parse_args(), Counter()
    until = time.monotonic() + 60 * given.minutes
    alone()
    for name, target, changes in cases(given):
        print(f"{target.name}, {name}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(given.seconds, exit=True)
        verdict, what = bench.tried(target, changes)
        faulthandler.cancel_dump_traceback_later()
        tallies[verdict] += 1
        if verdict != bench.HELD:
            print(f"{verdict} {target.name}, {name}, seed {given.seed}: {what}")
            if given.keep:
                keep({"target": target.name, "verdict": verdict, "what": what}, changes)
        if time.monotonic() > until:
            break
    print(*(f"{tallies[verdict]} {verdict}" for verdict in bench.VERDICTS), sep=", ")
    return int(tallies.total() > tallies[bench.HELD])


def keep(row, changes):
    text = json.dumps(row | {"changes": bench.dumped(changes)}, indent=1) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    name = re.sub(r"[/ ]", "-", row["target"])
    (CASES / f"{name}-{digest}.json").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
