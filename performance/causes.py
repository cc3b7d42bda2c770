"""Causes of 30,000 wrong fields beside an alignment of their characters, and how time grows.

Run: python performance/causes.py [--json]. Exit code 1 when a target is missed.

Beside it, in the same run, what a user would reach for: the character alignments of jiwer, which
show each error and name none.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable

import jiwer

from formlab import tables
from formlab.scoring.causes import causes
from formlab.text.marks import unmarked

FIELDS = 30_000
# Times jiwer's time, which looks at no document, and how much longer twice the input may take.
RATIO, GROWTH = 6.0, 3.0


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of three runs."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Values of a few words, each with one letter changed."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        letters = draw.choices("abdehkmnprsuvwz ", k=draw.randint(5, 30))
        wrong = list(letters)
        wrong[draw.randrange(len(wrong))] = draw.choice("cfgijloqtxy")
        found.append(("x" + "".join(letters), "x" + "".join(wrong)))
    return found


def cases(values: list[tuple[str, str]], *, a_document: int) -> object:
    """Wrong fields, so many in each document."""
    base = {"benchmark": "b", "split": "s", "system": "x", "task": "text", "status": "ok"}
    base |= {"outcome": "mismatch", "exact": False, "typed": False}
    rows = [
        base | {"doc_id": str(n // a_document), "path": f"/{n}", "gold": gold, "pred": pred}
        for n, (gold, pred) in enumerate(values)
    ]
    return tables.table("cases", rows)


def main() -> int:
    """Measure, print, compare with the targets."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    values = pairs(FIELDS)
    table = cases(values, a_document=50)
    own = seconds(lambda: causes(table))
    golds, preds = map(list, zip(*values, strict=True))
    theirs = seconds(lambda: jiwer.process_characters(golds, preds))
    once, twice = (
        seconds(lambda one=one: causes(one))
        for one in (cases(values[:n], a_document=n) for n in (10_000, 20_000))
    )
    short, long = (seconds(lambda n=n: unmarked("<a " * n)) for n in (100_000, 200_000))
    result = {
        "causes": own, "jiwer": theirs, "ratio": own / theirs,
        "growth_one_document": twice / once, "growth_marks": long / short,
    }  # fmt: skip
    if parser.parse_args().json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:22}{value:8.2f}")
    grown = max(result["growth_one_document"], result["growth_marks"])
    return int(result["ratio"] > RATIO or grown > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
