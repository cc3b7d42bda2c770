"""Speed of scoring extracted entities, and memory of loading a corpus of the full size.

Run: python performance/entities.py [--json]

One core, CPU time, best of three rounds. Exit code 1 when a target is missed.
"""

from __future__ import annotations

from measure import Row, apart, fastest, peak, report  # isort: skip

import gzip
import json
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from formlab.benchmarks import vrdu
from formlab.metrics.entities import match_entities
from formlab.readers import read_predictions
from formlab.readers.published import SUFFIX
from formlab.scoring.tasks import entities
from formlab.scoring.tasks._leaves import leaves

DOCUMENTS, LINE_ITEMS = 1_000, 23
# The registration forms: as many documents, with single entities alone.
FORMS, CHARACTERS = 1_915, 40_000
SPLIT = "Made-lv2-mixed_template-train_10-test_1000-valid_10-SD_0"
TARGET, MEBIBYTES, SECONDS = 60_000, 1_024, 20
SINGLE = {
    "advertiser": "GeneralStringMatch", "agency": "GeneralStringMatch",
    "contract_num": "NumericalStringMatch", "flight_from": "DateMatch", "flight_to": "DateMatch",
    "gross_amount": "PriceMatch", "tv_address": "AddressMatch", "property": "NameMatch",
}  # fmt: skip
PARTS = {
    "program_desc": "GeneralStringMatch", "program_start_date": "DateMatch",
    "program_end_date": "DateMatch", "sub_amount": "PriceMatch",
}  # fmt: skip


def value(function: str, generator: random.Random) -> str:
    """One made-up value of the type that the match function is for."""
    number = generator.randint(1, 9_999_999)
    if function == "DateMatch":
        day = (generator.randint(1, 12), generator.randint(1, 28), generator.randint(18, 22))
        return generator.choice(("%d/%d/%d", "%02d/%02d/20%02d", "%d-%d-%d")) % day
    if function == "PriceMatch":
        return f"${number / 100:,.2f}"
    if function == "NumericalStringMatch":
        return f"{number}-1"
    return f"{number % 900} Station {generator.choice('ABCDEFGH')} {number // 900:x}"


def annotations(generator: random.Random, line_items: int) -> list:
    """The gold of one document: eight single entities, and line items of four parts."""
    collected: list = [[name, [entity(value(kind, generator))]] for name, kind in SINGLE.items()]
    for _ in range(line_items):
        parts = [entity(value(kind, generator)) for kind in PARTS.values()]
        collected.append([list(PARTS), [parts]])
    return collected


def entity(text: str) -> list:
    """A value with a box and a span."""
    return [text, [0, 0.1, 0.2, 0.3, 0.4], [[0, len(text)]]]


def answers(gold: list, generator: random.Random) -> list:
    """Predictions for one document: the gold, one value in ten wrong."""
    flat = []
    for name, entities_ in gold:
        pairs = (
            [(name, entities_[0])]
            if isinstance(name, str)
            else zip(name, entities_[0], strict=True)
        )
        for entity_name, (text, *rest) in pairs:
            wrong = text[::-1] if generator.random() < 0.1 else text
            flat.append([entity_name, [wrong, *rest]])
    return flat


def write_corpus(root: Path, count: int, *, characters: int, line_items: int) -> dict[str, list]:
    """A data set in the released layout; gives back the gold."""
    generator = random.Random(0)
    (root / "main").mkdir(parents=True)
    (root / "few_shot-splits").mkdir()
    patterns = dict.fromkeys(SINGLE, "unrepeated") | dict.fromkeys(PARTS, "line_item")
    meta = {"entity_name_to_match_func": SINGLE | PARTS, "entity_appearance_pattern": patterns}
    (root / "main" / "meta.json").write_text(json.dumps(meta))
    golds = {f"{index:05d}.pdf": annotations(generator, line_items) for index in range(count)}
    words = " ".join(value("", generator) for _ in range(characters // 18))[:characters]
    tokens = [{"text": word, "bbox": [0.1, 0.1, 0.2, 0.2]} for word in words.split()]
    ocr = {"text": words, "pages": [{"width": 1700, "height": 2200, "tokens": tokens}]}
    with gzip.open(root / "main" / "dataset.jsonl.gz", "wt", compresslevel=1) as stream:
        for name, gold in golds.items():
            line = {"filename": name, "file_path": f"pdfs/{name}", "ocr": ocr, "annotations": gold}
            stream.write(json.dumps(line) + "\n")
    split = {"train": [], "valid": [], "test": list(golds)}
    (root / "few_shot-splits" / f"{SPLIT}.json").write_text(json.dumps(split))
    return golds


def speed(folder: Path) -> list[Row]:
    """Predicted entities a second, by step and mode."""
    golds = write_corpus(folder / "data", DOCUMENTS, characters=0, line_items=LINE_ITEMS)
    generator = random.Random(1)
    results = {name: answers(gold, generator) for name, gold in golds.items()}
    file = folder / f"{SPLIT}{SUFFIX}"
    file.write_text(json.dumps({"meta": {"model": "made"}, "results": results}))
    corpus = vrdu.read(SPLIT, folder / "data")
    predictions = read_predictions(file, corpus)
    schema = vrdu.Schema.of(corpus)
    collected = leaves(corpus, predictions, schema)
    count = collected.pred.height
    rows = []
    for mode in ("official", "fixed"):
        match = partial(match_entities, collected.gold, collected.pred, schema.matches, mode=mode)
        score = partial(entities.score, corpus, predictions, mode=mode, threshold=0.8)
        matched, scored = (count / fastest(work) for work in (match, score))
        rows.append({
            "what": f"{mode}: match {DOCUMENTS:,} documents, {count:,} predicted entities",
            "entities_a_second": matched, "target": TARGET,
            "with_tables_ladder_and_causes": scored, "holds": matched >= TARGET,
        })  # fmt: skip
    return rows


def load_all(root: Path) -> tuple[float, float]:
    """Seconds of processor time to load the corpus, and the peak in MiB."""
    start = time.process_time()
    vrdu.read(SPLIT, root)
    return time.process_time() - start, peak()


def main() -> int:
    """Measure, print, and say by the exit code whether every target holds."""
    with tempfile.TemporaryDirectory() as name:
        rows, root = speed(Path(name)), Path(name) / "large"
        write_corpus(root, FORMS, characters=CHARACTERS, line_items=0)
        seconds, most = apart(load_all, root)
    return report([*rows, {
        "what": f"load {FORMS:,} documents with {CHARACTERS:,} characters of OCR each",
        "seconds": seconds, "target": SECONDS, "peak_mib": most, "target_mib": MEBIBYTES,
        "holds": seconds < SECONDS and most < MEBIBYTES,
    }])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
