"""Speed and memory of scoring clicks and values on a set of the released size.

Run: python performance/actions.py [--json]

One core, CPU time, best of `ROUNDS`; memory is the peak of a process that reads and scores.
Beside it the loop that one would write: each field against each line of the output, by the
functions for one pair of values. It gives the same figures, without the tables; both must agree on
all of them. Exit code 1 when they do not, or a target is missed.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import json
import math
import multiprocessing
import random
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
from PIL import Image
from rich.console import Console
from rich.table import Table
from scipy.optimize import linear_sum_assignment

from formlab import text
from formlab.benchmarks import formfactory
from formlab.folders import Corpus
from formlab.formats import formfactory as outputs
from formlab.metrics.actions import found_in
from formlab.scoring.causes import cause
from formlab.scoring.tasks import actions
from formlab.scoring.tasks._kit import TaskScores
from formlab.tables import LADDER

INSTANCES, FIELDS, ROUNDS = 1_240, 10, 3
FAULTS = 0.1
# Fields a second, and MiB.
TARGET, MEBIBYTES = 10_000, 450
_LINE = re.compile(r"\[(\d+),(\d+)\] (.*)")


def write(root: Path, folder: Path) -> None:
    """A made-up set in the released layout, and an output for each instance, some with faults."""
    dice = random.Random(0)
    forms = formfactory.forms()
    labels = [f"Field {number}" for number in range(FIELDS)]
    rows = [f"{code},{label},string,{label}\n" for code in forms for label in labels]
    root.mkdir()
    (root / "fields.csv").write_text("code,label,kind,elements\n" + "".join(rows))
    folder.mkdir()
    for place, form in enumerate(forms.values()):
        count = INSTANCES // len(forms) + (place < INSTANCES % len(forms))
        values = [
            {label: f"word {dice.getrandbits(40):x}" for label in labels} for _ in range(count)
        ]
        shots = root / "labeled-images" / form.code[0]
        for part in (root / "data1", shots):
            part.mkdir(parents=True, exist_ok=True)
        (root / "data1" / f"{form.file}.json").write_text(json.dumps(values))
        boxes = "".join(
            f"[{form.code}][{label}][0,{60 * n},900,{60 * n + 40}]\n"
            for n, label in enumerate(labels)
        )
        (shots / f"{form.code}.txt").write_text(boxes)
        Image.new("1", (1000, 60 * FIELDS)).save(shots / f"{form.code}.png")
        for number, held in enumerate(values, start=1):
            lines = [_output(dice, n, value) for n, value in enumerate(held.values())]
            (folder / f"{formfactory.doc_id(form, number)}.txt").write_text("\n".join(lines))


def _output(dice: random.Random, field: int, value: str) -> str:
    x = 950 if dice.random() < FAULTS else 500
    said = "another" if dice.random() < FAULTS else value
    return f"[{x},{60 * field + 20}] {said}"


def loop(corpus: Corpus, texts: dict[str, str], mode: str) -> dict[str, float]:
    """The sum of the hits of each metric, and the rungs that hold, field by field."""
    sums: Counter[str] = Counter()
    for (doc_id,), part in corpus.records.group_by("doc_id", maintain_order=True):
        fields = part.to_dicts()
        matches = [_LINE.match(line) for line in texts[doc_id].split("\n")]
        lines = [(int(m[1]), int(m[2]), m[3]) for m in matches]
        rungs = [[text.ladder(f["value"], said, kind=f["kind"], accepted=f["accepted"] or ())
                  for f in fields] for _, _, said in lines]  # fmt: skip
        gaps = [[_gap(f, x, y) for f in fields] for x, y, _ in lines]
        same = [[r.exact if mode == "official" else r.typed for r in row] for row in rungs]
        weights = [
            [4 * s + 2 * (g == 0) + (r.similarity if r.fuzzy else 0)
             for s, g, r in zip(*row, strict=True)]
            for row in zip(same, gaps, rungs, strict=True)
        ]  # fmt: skip
        found = _form(fields, lines, gaps, same, weights, texts[doc_id], mode)
        sums["episodic_click"] += found["click_accuracy"] / len(fields)
        sums["episodic_value"] += found["value_found_accuracy"] / len(fields)
        sums["form_completed"] += found["value_placed_accuracy"] == len(fields)
        sums.update(found)
    return dict(sums)


def _gap(field: dict, x: float, y: float) -> float:
    across = max(field["x0"] - x, x - field["x1"], 0)
    return math.hypot(across, max(field["y0"] - y, y - field["y1"], 0))


def _form(
    fields: list[dict], lines: list[tuple], gaps: list, same: list, weights: list,
    output: str, mode: str,
) -> Counter[str]:  # fmt: skip
    """The hits of one form's fields."""
    sums: Counter[str] = Counter()
    meant = {
        field: line
        for line, field in zip(*linear_sum_assignment(weights, maximize=True), strict=True)
        if weights[line][field] > 0
    }
    for place, field in enumerate(fields):
        line = meant.get(place)
        hit = line is not None and gaps[line][place] == 0
        right = line is not None and same[line][place]
        sums["click_accuracy"] += hit
        stands = found_in([field["value"]], output, inside=mode == "official")
        sums["value_found_accuracy"] += right or stands
        sums["value_placed_accuracy"] += right and hit
        sums["action_match_rate"] += 2 * (right + hit)
        if line is not None:
            sums["click_distance"] += gaps[line][place]
        said = lines[line][2] if line is not None else ""
        rungs = text.ladder(field["value"], said, kind=field["kind"])
        for rung in LADDER:
            sums[rung] += getattr(rungs, rung)
        sums["causes"] += not rungs.exact or not hit
        if not rungs.exact:
            cause(field["value"], said, right=rungs.typed)
    return sums


def ours(scored: TaskScores) -> dict[str, float]:
    """The same figures from the scorer's tables."""
    asked = scored.cases.filter(pl.col("gold").is_not_null())
    hits = scored.scores.group_by("metric").agg(pl.col("hits").sum())
    sums = {name: value for name, value in hits.rows() if value}
    sums |= {rung: asked[rung].sum() for rung in LADDER}
    return sums | {"causes": asked["cause"].count()}


def fastest(work: Callable[[], object]) -> float:
    """The least CPU seconds that `work` took."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def row(what: str, measured: float, unit: str, target: float | None, holds: bool | None) -> dict:
    """One line of the result."""
    return {"what": what, "measured": measured, "unit": unit, "target": target, "holds": holds}


def speed(root: Path, folder: Path) -> list[dict]:
    """Fields a second by mode, beside the loop."""
    corpus = formfactory.read("all", root)
    predictions = outputs.read(folder, corpus)
    texts = {file.stem: file.read_text() for file in folder.glob("*.txt")}
    count = corpus.records.height
    rows = []
    for mode in ("official", "fixed"):
        score = partial(actions.score, corpus, predictions, mode=mode, threshold=0.8)
        taken, plain = fastest(score), fastest(partial(loop, corpus, texts, mode))
        held = count / taken >= TARGET
        what = f"{mode}: ten metrics, cases, ladder and causes of {count:,} fields"
        rows.append(row(what, count / taken, "fields/s", TARGET, held))
        rows.append(row(f"{mode}: the same by a loop", count / plain, "fields/s", None, None))
        rows.append(row(f"{mode}: times as fast as the loop", plain / taken, "×", None, None))
        one, other = ours(score()), loop(corpus, texts, mode)
        wrong = [name for name in other if not math.isclose(one.get(name, 0), other[name])]
        what = f"{mode}: of {len(other)} figures, those that differ from the loop's"
        rows.append(row(what, len(wrong), "", 0, not wrong))
    return rows


def whole(root: Path, folder: Path) -> tuple[float, float]:
    """Seconds to read and score it all in a process of its own, and its peak in MiB."""
    start = time.perf_counter()
    corpus = formfactory.read("all", root)
    actions.score(corpus, outputs.read(folder, corpus), mode="fixed", threshold=0.8)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(root: Path, folder: Path) -> list[dict]:
    """What reading and scoring the whole set takes."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak = pool.apply(whole, (root, folder))
    what = f"read and score {INSTANCES:,} forms"
    return [
        row(f"{what}: peak", peak, "MiB", MEBIBYTES, peak < MEBIBYTES),
        row(f"{what}: time", seconds, "s", None, None),
    ]


def main() -> None:
    """Measure, print, and say by the exit code whether every target holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as name:
        root, folder = Path(name) / "data", Path(name) / "outputs"
        write(root, folder)
        rows = speed(root, folder) + memory(root, folder)
    if as_json:
        print(json.dumps(rows, indent=1))
    else:
        table = Table("what", "measured", "unit", "target", "holds", box=None)
        for item in rows:
            measured, target = (
                "" if item[key] is None else f"{item[key]:,.0f}" for key in ("measured", "target")
            )
            holds = {True: "yes", False: "NO", None: ""}[item["holds"]]
            table.add_row(item["what"], measured, item["unit"], target, holds)
        Console().print(table)
    sys.exit(0 if all(item["holds"] in (True, None) for item in rows) else 1)


if __name__ == "__main__":
    main()
