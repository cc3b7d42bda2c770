"""Facts of financial pages matched: 100,000 over 2,000 pages, and the memory that grows with pages.

Run: python performance/facts.py [--json]. Exit code 1 when a target is missed.

Beside it, in the same run, what a user would write instead: each fact's text looked for in the
page's (which cannot tell a row from another).
"""

from __future__ import annotations

from measure import peak, report  # isort: skip

import argparse
import random
import sys
import time
from collections.abc import Iterator

from formlab import tables
from formlab.benchmarks.fincriticaled import FACTS, tagged
from formlab.metrics.facts import locate, match_facts
from formlab.metrics.places import Places
from formlab.text.flow import Flow, read
from formlab.text.markup import visible_text, written_events

# Targets: facts a second on one core, and what memory may grow by from 100 pages on.
PAGES, FACTS_A_SECOND, MEBIBYTES = 2_000, 30_000, 32
FACTS_PER_PAGE = 50
LABELS = [
    "net", "sales", "cost", "margin", "income", "tax", "interest", "debt", "equity", "assets",
    "cash", "rent", "fees",
]  # fmt: skip


def page(seed: int) -> tuple[str, str]:
    """A statement of 25 rows with two tagged amounts each, and a prediction with 1 in 20 wrong."""
    draw = random.Random(seed)
    rows, predicted = [], []
    for row in range(FACTS_PER_PAGE // 2):
        label = " ".join(draw.sample(LABELS, 3)) + f" {'abcdefghij'[row % 10]}"
        amounts = [f"{draw.randrange(1, 1_000_000):,}" for _ in range(2)]
        cells = "".join(f'<td class="nump">$ <number>{amount}</number></td>' for amount in amounts)
        rows.append(f"<tr><td>{label}</td>{cells}</tr>")
        read = [amount if draw.random() > 0.05 else amount[::-1] for amount in amounts]
        predicted.append(f"<tr><td>{label}</td><td>$ {read[0]}</td><td>$ {read[1]}</td></tr>")
    head = "<table><tr><th></th><th>2025</th><th>2024</th></tr>"
    return f"<html><body>{head}{''.join(rows)}</table>", f"{head}{''.join(predicted)}</table>"


@tables.uncollected()
def matched(pages: Iterator[tuple[str, str]]) -> tuple[int, int]:
    """Facts and correct facts, the gold parsed and each page matched on its own, as `evaluate`."""
    total = right = 0
    for gold, pred in pages:
        events = written_events(gold)
        places = Places(Flow(events, tags=FACTS))
        facts = [locate(places, fact.kind, fact.value, fact.mark) for fact in tagged(events)]
        verdicts = match_facts(places, facts, Places(read(pred)))
        total += len(verdicts)
        right += sum(verdict.correct for verdict in verdicts)
    return total, right


def searched(pages: Iterator[tuple[str, str]]) -> tuple[int, int]:
    """The same by a plain search in the visible text."""
    total = right = 0
    for gold, pred in pages:
        text = visible_text(pred)
        matches = [fact.value in text for fact in tagged(written_events(gold))]
        total += len(matches)
        right += sum(matches)
    return total, right


def main() -> int:
    """Print facts, seconds of processor time and memory; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--json", action="store_true")
    pages = parser.parse_args().pages
    matched(map(page, range(100)))
    few = peak()
    rows = []
    for name, work in (("rule matcher", matched), ("plain search", searched)):
        total = right = seconds = 0
        for first in range(0, pages, 100):
            # Pages are made before the clock starts, a hundred at a time.
            made = list(map(page, range(first, min(first + 100, pages))))
            start = time.process_time()
            facts, correct = work(iter(made))
            seconds += time.process_time() - start
            total, right = total + facts, right + correct
        row = {"what": name, "facts": total, "correct": right, "seconds": seconds}
        rows.append(row | {"facts_a_second": total / seconds})
    holds = rows[0]["facts_a_second"] >= FACTS_A_SECOND
    rows[0] |= {"target": FACTS_A_SECOND, "holds": holds}
    grown = peak() - few
    return report([*rows, {
        "what": "peak memory", "mib_after_100_pages": few, "mib_after_all": few + grown,
        "target": MEBIBYTES, "holds": grown <= MEBIBYTES,
    }])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
