"""The committed sample of VRDU: that it is what the loader reads, and that it is remade."""

import filecmp
import gzip
import json
from pathlib import Path

import pytest

from formlab.benchmarks import vrdu

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "sample" / "vrdu"


def test_every_split_is_read_without_a_flaw():
    splits = vrdu.splits(SAMPLE)
    tasks = [split.task for name in splits if (split := vrdu.decode(name))]
    assert tasks == ["single", "mixed", "unseen"] * 2
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
