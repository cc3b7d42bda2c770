"""Time of `formlab score` on a user's own tables: 100,000 rows of CSV, end to end.

Run: python performance/own_data.py [--json]
"""

from __future__ import annotations

import csv
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS, FIELDS, LIMIT = 100_000, 10, 10.0


def write(folder: Path) -> tuple[Path, Path]:
    """Gold, and answers of which one in ten is wrong and one in fifty is not there."""
    draw = random.Random(0)
    gold, answers = folder / "gold.csv", folder / "answers.csv"
    with gold.open("w", newline="") as one, answers.open("w", newline="") as other:
        writers = csv.writer(one), csv.writer(other)
        for writer in writers:
            writer.writerow(("doc_id", "path", "value"))
        for document in range(ROWS // FIELDS):
            for field in range(FIELDS):
                key = (f"form_{document}", f"/field_{field}")
                value = _value(draw, field)
                writers[0].writerow((*key, value))
                if draw.random() >= 0.02:
                    wrong = draw.random() < 0.1
                    writers[1].writerow((*key, value[:-1] + "x" if wrong else value))
    return gold, answers


def _value(draw: random.Random, field: int) -> str:
    if field < 3:
        return f"{draw.randint(1, 90_000) / 100:.2f}"
    if field < 5:
        return f"20{draw.randint(10, 25)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
    return " ".join(draw.choice(("Ada", "Berg", "Quay", "Tea", "Lane")) for _ in range(3))


def main() -> None:
    """Print the seconds of the whole command, start of Python included."""
    with tempfile.TemporaryDirectory() as name:
        gold, answers = write(Path(name))
        command = [sys.executable, "-m", "formlab.cli", "score", "--gold", str(gold)]
        begin, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "--predictions", str(answers)], check=True, capture_output=True)
        seconds, now = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    # Beside the time on the clock, that of the processor: other programs may run.
    busy = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    row = {"rows": ROWS, "seconds": round(seconds, 2), "processor_seconds": round(busy, 2)}
    row |= {"limit": LIMIT, "ok": seconds < LIMIT}
    print(json.dumps(row) if "--json" in sys.argv else row)


if __name__ == "__main__":
    main()
