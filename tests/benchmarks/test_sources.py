"""What benchmarks publish: a table of files with the rows of their gold and what is counted."""

import json
from pathlib import Path

import pytest
import yaml

from formlab import benchmarks

from .. import made_vrdu
from ..fuzz.inputs import put

CASES = yaml.safe_load(Path(__file__).with_name("sources.yml").read_text("utf-8"))


def make(root, case):
    if "annotations" in case:
        text = json.dumps(case["annotations"]).replace('"BOX"', json.dumps(made_vrdu.BOX))
        made_vrdu.put(made_vrdu.make(root), json.loads(text))
    for name, content in case.get("files", {}).items():
        put(root / name, content)
    for name in case.get("images", ()):
        put(root / name, (200, 100))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_files_have_these_rows_and_flaws(case, tmp_path):
    make(root := tmp_path / "root", case)
    split = made_vrdu.SPLIT if case["benchmark"] == "vrdu" else case.get("split")
    corpus = benchmarks.load(case["benchmark"], split=split, root=root).check()
    for frame, expected in (
        (corpus.records, case["rows"]),
        (corpus.documents, case.get("documents", [["doc_id"]])),
    ):
        columns, *rows = expected
        rows = [tuple(row + [None] * (len(columns) - len(row))) for row in rows]
        assert not rows or frame.select(columns).rows() == rows
    assert corpus.flaws == case["flaws"]
