"""Causes beside those that people gave to errors of a real engine, and the table in the docs."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import formlab
from formlab.scoring.align import judged
from formlab.scoring.causes import STAGES, cause
from formlab.tables import BOX
from tests.real_data import SHARED

DOCS = Path(__file__).parents[2] / "docs" / "causes.md"


def in_context(benchmark, split, rows):
    """The causes of labelled errors among their corpus's gold, read by the centres of words.

    What was read so lies in the field's box; of the other fields nothing is known but their gold.
    """
    corpus = formlab.load(benchmark, split=split, root=SHARED / "data" / benchmark)
    said = pl.DataFrame([{key: row[key] for key in ("doc_id", "path", "pred")} for row in rows])
    gold = corpus.records.filter(pl.col("task") == "text", pl.col("status") == "ok")
    gold = gold.select("benchmark", "split", "doc_id", "task", "path", "kind", *BOX, gold="value")
    joined = gold.join(said, on=["doc_id", "path"], how="left").with_columns(
        # What else the page's text had is not in the file.
        pl.when(pl.col("path").is_not_null()).then(pl.coalesce("pred", "gold")).alias("pred"),
        *(pl.col(side).alias(f"pred_{side}") for side in BOX),
        status=pl.lit("ok"),
    )
    cases = judged(joined, system="ocr", threshold=0.8).join(
        said.select("doc_id", "path"), on=["doc_id", "path"]
    )
    return {(row["doc_id"], row["path"]): row["cause"] for row in cases.to_dicts()}


@pytest.fixture(scope="module")
def judgements(shared):
    return judged_by_eye()


def judged_by_eye():
    """The labelled errors with the causes found from the pair alone and in their corpus."""
    lines = (SHARED / "golden" / "causes.jsonl").read_text().splitlines()
    rows, known = [json.loads(line) for line in lines], {}
    for benchmark, split in sorted({(row["benchmark"], row["split"]) for row in rows}):
        part = [row for row in rows if row["benchmark"] == benchmark]
        places = in_context(benchmark, split, part)
        known |= {(benchmark, *key): value for key, value in places.items()}
    for row in rows:
        row["alone"] = cause(row["gold"], row["pred"])
        row["found"] = known[row["benchmark"], row["doc_id"], row["path"]]
    return rows


def agreement(rows, which):
    return sum(row[which] == row["cause"] for row in rows), len(rows)


def test_causes_agree_with_those_that_people_gave(judgements):
    sure = [row for row in judgements if row["sure"]]
    right, count = agreement(sure, "found")
    assert count == 62
    assert right >= 0.9 * count, [row for row in sure if row["found"] != row["cause"]]
    # No benchmark carries the other.
    for benchmark in ("funsd", "sroie"):
        right, count = agreement([r for r in sure if r["benchmark"] == benchmark], "found")
        assert right >= 0.9 * count


def test_page_of_causes_has_the_table_as_measured(judgements):
    assert figures(judgements) in DOCS.read_text()


def test_page_of_causes_lists_every_cause_under_its_stage_and_its_examples_are_right():
    text = DOCS.read_text()
    listed = re.findall(r"^\| (?:`|\*\*)(\w+)(?:`|\*\*) \|", text, re.MULTILINE)
    assert listed == [name for stage, names in STAGES.items() for name in (stage, *names)]
    examples = re.findall(r"^\| `(\w+)` \|.* `(.+)` → `(.+)` \|$", text, re.MULTILINE)
    assert [cause(gold, pred) for _, gold, pred in examples] == [name for name, *_ in examples]


def figures(judgements):
    """The part of the page that is measured, as Markdown."""
    sure = [row for row in judgements if row["sure"]]
    lines = ["| errors | from the pair alone | with document and corpus |", "|---|---|---|"]
    parts = {"FUNSD test": "funsd", "SROIE train": "sroie"}
    groups = {title: [r for r in sure if r["benchmark"] == name] for title, name in parts.items()}
    groups |= {"both": sure}
    for title, rows in groups.items():
        (alone, count), (whole, _) = agreement(rows, "alone"), agreement(rows, "found")
        lines.append(f"| {title} | {alone} of {count} | {whole} of {count} |")
    return "\n".join(lines)
