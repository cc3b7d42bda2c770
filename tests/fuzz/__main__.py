"""The bench as a command: ``python -m tests.fuzz --minutes 5 --seed 0``."""

import argparse
import hashlib
import itertools
import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.fuzz import bench
from tests.fuzz.targets import TARGETS
from tests.fuzz.verdicts import HELD, VERDICTS

CASES = Path(__file__).parent / "cases"
# A case that is larger is told by its seed and number alone.
_LARGEST = 20_000


def main() -> int:
    given = _arguments()
    names = [name for name in TARGETS if re.search(given.target, name)]
    numbers = [given.case] if given.case is not None else itertools.count()
    cases = ((name, number) for number in numbers for name in names)
    if given.count:
        cases = itertools.islice(cases, given.count * len(names))
    failing: list[dict[str, Any]] = []
    tallies: dict[str, Counter[str]] = defaultdict(Counter)
    for row in bench.run(cases, seed=given.seed, seconds=given.seconds, minutes=given.minutes):
        tallies[row["target"]][row["verdict"]] += 1
        if row["verdict"] != HELD:
            failing.append(row)
            place = f"{row['target']} case {row['number']}"
            print(f"{row['verdict']} {place}: {row['what']}", file=sys.stderr)
    tallies["all"] = sum(tallies.values(), Counter())
    print(f"{'target':<32}{'tried':>8}" + "".join(f"{verdict:>9}" for verdict in VERDICTS))
    for name, tally in tallies.items():
        counts = [tally.total(), *(tally[verdict] for verdict in VERDICTS)]
        print(f"{name:<31}" + "".join(f"{count:>9}" for count in counts))
    failed = bench.failures(failing)
    if given.keep:
        for row in failed:
            _keep(row, given.seed)
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutated inputs for all that reads files.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--target", default="", help="a regular expression of names")
    parser.add_argument("--count", type=int, help="cases of each target")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--seconds", type=float, default=30, help="that one case may take")
    parser.add_argument("--keep", action="store_true", help="write failures into tests/fuzz/cases")
    return parser.parse_args()


def _keep(row: dict, seed: str) -> None:
    kept = {name: row[name] for name in ("target", "verdict", "what", "changes")}
    text = json.dumps(kept, indent=1) + "\n"
    if not row["changes"] or len(text) > _LARGEST:
        print(f"not kept: {row['target']}, seed {seed}, case {row['number']}", file=sys.stderr)
        return
    digest = hashlib.sha256(json.dumps(row["changes"]).encode()).hexdigest()[:8]
    CASES.mkdir(exist_ok=True)
    (CASES / f"{row['target'].replace('/', '-').replace(' ', '_')}-{digest}.json").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
