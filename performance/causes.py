"""Causes of 30,000 wrong fields beside an alignment of their characters, and how time grows.

Run: python performance/causes.py [--json]. Exit code 1 when a target is missed.

Beside it, in the same run, what a user would reach for: the character alignments of jiwer, which
show each error and name none.
"""

from __future__ import annotations

from measure import beside, fastest, report  # isort: skip

import random
import sys

import jiwer

from formlab import tables
from formlab.scoring.causes import causes
from formlab.text.marks import unmarked

FIELDS = 30_000
# At most so many times jiwer's time, which looks at no document; and how much longer twice the
# input may take.
RATIO, GROWTH = 6.0, 3.0


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Values of a few words, each with one letter changed."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        letters = draw.choices("abdehkmnprsuvwz ", k=draw.randint(5, 30))
        wrong = list(letters)
        wrong[draw.randrange(len(wrong))] = draw.choice("cfgijloqtxy")
        made.append(("x" + "".join(letters), "x" + "".join(wrong)))
    return made


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
    values = pairs(FIELDS)
    table = cases(values, a_document=50)
    golds, preds = map(list, zip(*values, strict=True))
    own = fastest(lambda: causes(table))
    theirs = fastest(lambda: jiwer.process_characters(golds, preds))
    once, twice = (
        fastest(lambda one=one: causes(one))
        for one in (cases(values[:n], a_document=n) for n in (10_000, 20_000))
    )
    short, long = (fastest(lambda n=n: unmarked("<a " * n)) for n in (100_000, 200_000))
    row = beside(f"causes of {FIELDS:,} wrong fields", own, "jiwer", theirs, 1 / RATIO)
    growths = (("causes of one document", twice / once), ("marks of one value", long / short))
    return report([row] + [
        {"what": f"{what}, twice as long", "growth": growth, "target": GROWTH,
         "holds": growth <= GROWTH}
        for what, growth in growths
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
