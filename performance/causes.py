"""Causes of 30,000 wrong fields beside an alignment of their characters, and how time grows;
how many fields a second `evaluate` scores, and in how much memory.

Run: python performance/causes.py [--json]. Exit code 1 when a target is missed.

Beside it, in the same run, what a user would reach for: the character alignments of jiwer, which
show each error and name none. A batch of fields is scored in a process of its own.
"""

from __future__ import annotations

from measure import apart, beside, fastest, peak, report  # isort: skip

import random
import sys
import tempfile
from pathlib import Path

import jiwer
import own_data

import formlab
from formlab import tables
from formlab.readers import gold as own
from formlab.scoring.causes import causes
from formlab.text.markup import unmarked

FIELDS = 30_000
# At most so many times jiwer's time, which looks at no document; and how much longer twice the
# input may take.
RATIO, GROWTH = 6.0, 3.0
# Fields of one's own in a batch: how many of them a second at least, in how many kB each at most.
BATCH, A_SECOND, MEMORY = 20_000, 100_000, 5.0


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


def scored() -> dict[str, object]:
    """`evaluate` of a batch of a user's own fields, loaded before."""
    with tempfile.TemporaryDirectory() as folder:
        both = own.pair(*own_data.write(Path(folder), BATCH))
    # The first call imports what it needs.
    formlab.evaluate(*both, limit=1)
    before = peak()
    formlab.evaluate(*both)
    grown = peak() - before
    rate = BATCH / fastest(lambda: formlab.evaluate(*both))
    return {
        "what": f"evaluate {BATCH:,} own fields", "fields_a_second": rate, "target": A_SECOND,
        "kilobytes_a_field": grown * 1024 / BATCH, "most_kilobytes": MEMORY,
        "holds": rate >= A_SECOND and grown * 1024 / BATCH <= MEMORY,
    }  # fmt: skip


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
    return report([row, apart(scored)] + [
        {"what": f"{what}, twice as long", "growth": growth, "target": GROWTH,
         "holds": growth <= GROWTH}
        for what, growth in growths
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
