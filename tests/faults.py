"""Seeded faults: each is put into a copy of the checkout, and the contract has to turn red.

    python -m tests.faults [ROOM]

A fault is an entry in `tests/contract/faults/*.yml`: its `name`, the `file` and the `text` in it
that `other` replaces, and `found_by`, the case that should find it. That case runs first; where it
stays green the whole contract runs, up to its first red case. A text not found exactly once is an
error, as is a case that is red without any fault.
"""

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import Queue

import yaml

from tests.real_data import SHARED

ROOT = Path(__file__).parents[1]
CONTRACT = "tests/contract"
GREEN, RED = 0, 1  # exit codes of pytest
CLOCK = itertools.count(1)


def read_faults(room=None):
    """All faults, or those of one room: the name of the file they stand in."""
    files = sorted((ROOT / CONTRACT / "faults").glob("*.yml"))
    if room and room not in (names := [file.stem for file in files]):
        sys.exit(f"no faults for room {room!r}: there are {', '.join(names)}")
    return [
        {"room": file.stem} | fault
        for file in files
        if room in (None, file.stem)
        for fault in yaml.safe_load(file.read_text("utf-8")) or ()
    ]


def copy_checkout(target):
    """The files that git tracks or would track, without anything that was built of them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    return target


def run_contract(checkout, *cases):
    """Exit code of pytest and its first red case, with the packages of that checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "FORMLAB_SHARED": str(SHARED)}
    options = ["-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--durations=0"]
    command = [sys.executable, "-m", "pytest", *options, *(cases or [CONTRACT])]
    run = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=900
    )
    red = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("FAILED ")]
    return run.returncode, red[0].removeprefix(f"{CONTRACT}/") if red else "", run.stdout


def write(file, text):
    """Write with a time of its own, so that no compiled file of the other text is taken."""
    file.write_text(text, "utf-8")
    stamp = file.stat().st_mtime + next(CLOCK)
    os.utime(file, (stamp, stamp))


def try_fault(checkout, fault, contract_is_green):
    """The first red case, and whether it is an answer: the fault is undone at the end."""
    file = checkout / fault["file"]
    code = file.read_text("utf-8") if file.is_file() else ""
    if (count := code.count(fault["text"])) != 1:
        return f"error: its text stands {count} times in {fault['file']}", False
    write(file, code.replace(fault["text"], fault["other"]))
    try:
        status, red, output = run_contract(checkout, f"{CONTRACT}/{fault['found_by']}")
        if status == GREEN:
            status, red, output = run_contract(checkout)
            red = f"{red} (not by {fault['found_by']})"
            if status == RED and not contract_is_green():
                return "error: the contract is red without any fault", False
    except subprocess.TimeoutExpired:
        return "error: hangs", False
    finally:
        write(file, code)
    if status == GREEN:
        return "NOT FOUND", False
    return (red, True) if status == RED else (f"error: pytest ended with {output[-500:]}", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("room", nargs="?", help="a file of tests/contract/faults [all]")
    faults = read_faults(parser.parse_args().room)
    with tempfile.TemporaryDirectory() as folder:
        copies = Queue()
        for number in range(2):
            copies.put(copy_checkout(Path(folder) / str(number)))
        spare = copy_checkout(Path(folder) / "spare")
        cases = sorted({f"{CONTRACT}/{fault['found_by']}" for fault in faults})
        status, red, output = run_contract(spare, *cases)
        if status != GREEN:
            sys.exit(f"without any fault the cases are not green: {red or output[-2000:]}")

        @cache
        def contract_is_green():
            return run_contract(spare)[0] == GREEN

        def attempt(fault):
            checkout, start = copies.get(), time.monotonic()
            try:
                result, found = try_fault(checkout, fault, contract_is_green)
            finally:
                copies.put(checkout)
            print(
                f"{fault['room']:12} {fault['name']:64} {result}  {time.monotonic() - start:.0f} s",
                flush=True,
            )
            return found

        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(attempt, faults))
    print(f"{sum(found)} of {len(found)} faults found")
    sys.exit(not all(found))


if __name__ == "__main__":
    main()
