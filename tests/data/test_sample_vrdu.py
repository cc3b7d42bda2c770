"""The committed sample of VRDU: that it is what the loader reads, and that it is remade."""

import filecmp
import gzip
import json
import re
from pathlib import Path

import pytest

from formlab.benchmarks import vrdu

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "sample" / "vrdu"


def test_every_split_is_read_without_a_flaw():
    splits = vrdu.splits(SAMPLE)
    known = [split for name in splits if (split := vrdu.decode(name))]
    ads = [split for split in known if split.dataset == "MadeAds"]
    # Three train sizes, each drawn twice, of mixed templates and of an unseen one.
    for task in ("mixed", "unseen"):
        drawn = [(split.train, split.seed) for split in ads if split.task == task]
        assert drawn == [(size, seed) for size in (1, 3, 6) for seed in (0, 1)]
    assert [split.task for split in known if split not in ads] == ["single", "mixed", "unseen"]
    assert (splits["MadeAds-pdfs"], splits["MadeFilings-pdfs"]) == (18, 12)
    for name, count in splits.items():
        corpus = vrdu.read(name, SAMPLE).check()
        assert corpus.documents.height == count
        assert not corpus.flaws
        assert corpus.records["x0"].null_count() == 0


def test_train_valid_and_test_share_no_document():
    for file in SAMPLE.glob("*/few_shot-splits/*.json"):
        split = json.loads(file.read_text())
        listed = split["train"] + split["valid"] + split["test"]
        assert len(set(listed)) == len(listed)
        others = file.parent.glob(re.sub(r"train_\d+(.*)SD_\d", r"train_*\1SD_*", file.name))
        tests = [json.loads(other.read_text())["test"] for other in others]
        assert tests == [split["test"]] * len(tests), "one test set for each task"


def test_spans_hold_the_values_in_the_text():
    for file in SAMPLE.glob("*/main/dataset.jsonl.gz"):
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            document = json.loads(line)
            text = document["ocr"]["text"]
            for name, forms in document["annotations"]:
                for value, _, ((start, end),) in forms if isinstance(name, str) else forms[0]:
                    assert text[start:end] == value


def test_sample_is_made_anew_byte_for_byte(remade):
    pytest.importorskip("reportlab")
    again = remade("vrdu")
    files = [
        f.relative_to(SAMPLE) for f in SAMPLE.rglob("*") if f.is_file() and f.name != "README.md"
    ]
    same, other, odd = filecmp.cmpfiles(SAMPLE, again, files, shallow=False)
    assert (len(same), other, odd) == (len(files), [], [])
