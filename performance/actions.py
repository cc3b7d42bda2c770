"""Speed and memory of scoring clicks and values on a set of the released size.

Run: python performance/actions.py [--json]

One core, CPU time, best of three rounds; memory is the peak of a process that reads and scores.
Beside it the loop that one would write: each field against each line of the output, by the
functions for one pair of values. It gives the same figures, without the tables; both must agree on
all of them. Exit code 1 when they do not, or a target is missed.
"""

from __future__ import annotations

from measure import Row, apart, fastest, peak, report  # isort: skip

import json
import math
import random
import re
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import polars as pl
from PIL import Image
from scipy.optimize import linear_sum_assignment

from formlab import readers, text
from formlab.benchmarks import formfactory
from formlab.folders import Corpus
from formlab.metrics.actions import _stands as found_in
from formlab.scoring.causes import cause
from formlab.scoring.tasks import actions
from formlab.scoring.tasks._kit import TaskScores
from formlab.tables import LADDER

INSTANCES, FIELDS = 1_240, 10
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
    for index, form in enumerate(forms.values()):
        count = INSTANCES // len(forms) + (index < INSTANCES % len(forms))
        values = [
            {label: f"word {dice.getrandbits(40):x}" for label in labels} for _ in range(count)
        ]
        shots = root / "labeled-images" / form.code[0]
        for target in (root / "data1", shots):
            target.mkdir(parents=True, exist_ok=True)
        (root / "data1" / f"{form.file}.json").write_text(json.dumps(values))
        boxes = "".join(
            f"[{form.code}][{label}][0,{60 * n},900,{60 * n + 40}]\n"
            for n, label in enumerate(labels)
        )
        (shots / f"{form.code}.txt").write_text(boxes)
        Image.new("1", (1000, 60 * FIELDS)).save(shots / f"{form.code}.png")
        for number, gold in enumerate(values, start=1):
            lines = [_output(dice, n, value) for n, value in enumerate(gold.values())]
            (folder / f"{formfactory.doc_id(form, number)}.txt").write_text("\n".join(lines))


def _output(dice: random.Random, field: int, value: str) -> str:
    x = 950 if dice.random() < FAULTS else 500
    entered = "another" if dice.random() < FAULTS else value
    return f"[{x},{60 * field + 20}] {entered}"


def loop(corpus: Corpus, texts: dict[str, str], mode: str) -> dict[str, float]:
    """The sum of the hits of each metric, and the rungs that hold, field by field."""
    sums: Counter[str] = Counter()
    for (doc_id,), document in corpus.records.group_by("doc_id", maintain_order=True):
        fields = document.to_dicts()
        matches = [_LINE.match(line) for line in texts[doc_id].split("\n")]
        lines = [(int(m[1]), int(m[2]), m[3]) for m in matches]
        rungs = [[text.ladder(f["value"], entered, kind=f["kind"], accepted=f["accepted"] or ())
                  for f in fields] for _, _, entered in lines]  # fmt: skip
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
    assigned = {
        field: line
        for line, field in zip(*linear_sum_assignment(weights, maximize=True), strict=True)
        if weights[line][field] > 0
    }
    for index, field in enumerate(fields):
        line = assigned.get(index)
        hit = line is not None and gaps[line][index] == 0
        right = line is not None and same[line][index]
        sums["click_accuracy"] += hit
        stands = found_in([field["value"]], output, inside=mode == "official")
        sums["value_found_accuracy"] += right or stands
        sums["value_placed_accuracy"] += right and hit
        sums["action_match_rate"] += 2 * (right + hit)
        if line is not None:
            sums["click_distance"] += gaps[line][index]
        entered = lines[line][2] if line is not None else ""
        rungs = text.ladder(field["value"], entered, kind=field["kind"])
        for rung in LADDER:
            sums[rung] += getattr(rungs, rung)
        sums["causes"] += not rungs.exact or not hit
        if not rungs.exact:
            cause(field["value"], entered, right=rungs.typed)
    return sums


def ours(scored: TaskScores) -> dict[str, float]:
    """The same figures from the scorer's tables."""
    asked = scored.cases.filter(pl.col("gold").is_not_null())
    hits = scored.scores.group_by("metric").agg(pl.col("hits").sum())
    sums = {name: value for name, value in hits.rows() if value}
    sums |= {rung: asked[rung].sum() for rung in LADDER}
    return sums | {"causes": asked["cause"].count()}


def speed(root: Path, folder: Path) -> list[Row]:
    """Fields a second by mode, beside the loop."""
    corpus = formfactory.read("all", root)
    predictions = readers.read_predictions(folder, corpus)
    texts = {file.stem: file.read_text() for file in folder.glob("*.txt")}
    count = corpus.records.height
    rows = []
    for mode in ("official", "fixed"):
        score = partial(actions.score, corpus, predictions, mode=mode, threshold=0.8)
        taken, plain = fastest(score), fastest(partial(loop, corpus, texts, mode))
        rows.append({
            "what": f"{mode}: ten metrics, cases, ladder and causes of {count:,} fields",
            "fields_a_second": count / taken, "loop_fields_a_second": count / plain,
            "ratio": plain / taken, "target": TARGET, "holds": count / taken >= TARGET,
        })  # fmt: skip
        scored_sums, other = ours(score()), loop(corpus, texts, mode)
        wrong = [name for name in other if not math.isclose(scored_sums.get(name, 0), other[name])]
        what = f"{mode}: of {len(other)} figures, those that differ from the loop's"
        rows.append({"what": what, "figures": len(wrong), "target": 0, "holds": not wrong})
    return rows


def whole(root: Path, folder: Path) -> tuple[float, float]:
    """Seconds to read and score it all, and the peak in MiB."""
    start = time.perf_counter()
    corpus = formfactory.read("all", root)
    actions.score(corpus, readers.read_predictions(folder, corpus), mode="fixed", threshold=0.8)
    return time.perf_counter() - start, peak()


def main() -> int:
    """Measure, print, and say by the exit code whether every target holds."""
    with tempfile.TemporaryDirectory() as name:
        root, folder = Path(name) / "data", Path(name) / "outputs"
        write(root, folder)
        rows = speed(root, folder)
        seconds, most = apart(whole, root, folder)
    return report([*rows, {
        "what": f"read and score {INSTANCES:,} forms", "seconds": seconds, "peak_mib": most,
        "target_mib": MEBIBYTES, "holds": most < MEBIBYTES,
    }])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
