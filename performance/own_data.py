"""A user's own tables on one core: fields a second, read, cut into batches, scored, end to end.

100,000 fields of 10,000 documents, with answers to most of them. The last line is the command
`formlab score` on 300,000 fields, start of Python included.

Run: python performance/own_data.py [--json]
"""

from __future__ import annotations

from measure import Row, fastest, report  # isort: skip

import csv
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

import formlab
from formlab.readers import gold as own
from formlab.scoring.batches import batches, own_gold

FIELDS, MANY, OF_A_DOCUMENT = 100_000, 300_000, 10
# Fields a second that each step has to reach.
READ = {"csv": 280_000, "parquet": 280_000, "jsonl": 100_000, "wide.csv": 200_000}
CUT, SCORED = 100_000, 40_000


def write(folder: Path, fields: int = FIELDS) -> tuple[Path, Path]:
    """Gold, and answers of which one in ten is wrong and one in fifty is not there."""
    draw = random.Random(0)
    gold, answers = folder / "gold.csv", folder / "answers.csv"
    with gold.open("w", newline="") as one, answers.open("w", newline="") as other:
        writers = csv.writer(one), csv.writer(other)
        for writer in writers:
            writer.writerow(("doc_id", "path", "value"))
        for document in range(fields // OF_A_DOCUMENT):
            for field in range(OF_A_DOCUMENT):
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


def write_others(file: Path) -> None:
    """The same table in the other forms."""
    frame = pl.read_csv(file, infer_schema=False)
    frame.write_parquet(file.with_suffix(".parquet"))
    frame.write_ndjson(file.with_suffix(".jsonl"))
    named = frame.with_columns(pl.col("path").str.strip_prefix("/"))
    wide = named.pivot("path", index="doc_id", values="value")
    wide.write_csv(file.with_suffix(".wide.csv"))


def _rate(what: str, seconds: float, target: float, fields: int = FIELDS) -> Row:
    rate = fields / seconds
    return {
        "what": what, "seconds": seconds, "fields_per_second": rate, "target": target,
        "holds": rate >= target,
    }  # fmt: skip


def command(gold: Path, answers: Path) -> float:
    """The processor seconds of `formlab score`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "formlab", "score", str(gold)]
    subprocess.run([*words, "--predictions", str(answers)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, print, and say by the exit code whether every target is reached."""
    with tempfile.TemporaryDirectory() as name:
        gold, answers = write(Path(name))
        for file in (gold, answers):
            write_others(file)
        rows = []
        for form, target in READ.items():
            pair = [file.with_suffix(f".{form}") for file in (gold, answers)]
            rows.append(_rate(f"read {form}", fastest(lambda pair=pair: own.pair(*pair)), target))

        def cut() -> None:
            with tempfile.TemporaryDirectory() as folder:
                cut_up = batches(own_gold(gold, folder / "own"), answers, folder)
                for batch in cut_up.batches:
                    batch.opened()

        rows.append(_rate("cut into batches and read each, csv", fastest(cut, 2), CUT))
        score = lambda: formlab.evaluate(gold, answers)  # noqa: E731
        rows.append(_rate("read and score", fastest(score, 2), SCORED))
        seconds = command(*write(Path(name), MANY))
        rows.append(_rate(f"formlab score of {MANY:,} fields", seconds, SCORED, MANY))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
