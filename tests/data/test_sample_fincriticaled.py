"""The committed sample pages: that they load, hold every kind, and are remade the same."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from data.sample.generate import fincriticaled
from data.sample.generate.command import TEMPLATES
from formlab.benchmarks._own import OWN
from formlab_experiments.forms.content import load_all
from formlab_review.fact_checks import problems

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "sample" / "fincriticaled"


def test_ten_pages_two_of_each_type_each_with_its_picture():
    corpus = OWN["fincriticaled"].load("test", SAMPLE)
    assert sorted(Counter(corpus.documents["domain"]).values()) == [2] * 5
    assert corpus.documents["image"].null_count() == 0
    kinds = set(corpus.records.filter(pl.col("path").is_not_null())["kind"])
    assert kinds == {"number", "temporal", "monetary_unit", "reporting_entity", "financial_concept"}


def test_both_vocabularies_occur_and_no_tag_is_malformed():
    pages = [file.read_text("utf-8") for file in sorted(SAMPLE.glob("gold_*.txt"))]
    assert sum("<Number>" in page for page in pages) == 3
    assert sum("<number>" in page for page in pages) == 7
    assert [problems(page) for page in pages] == [[]] * 10


def test_the_generator_writes_the_committed_text():
    for number, page in enumerate(load_all(TEMPLATES / "fincriticaled", fincriticaled.Document)):
        committed = (SAMPLE / f"gold_{number}.txt").read_text("utf-8")
        assert fincriticaled.markup(page, number, fincriticaled.SEED) == committed


@pytest.mark.browser
def test_the_generator_writes_the_committed_files(remade):
    again = remade("fincriticaled")
    for file in sorted(SAMPLE.glob("*.*")):
        assert (again / file.name).read_bytes() == file.read_bytes(), file.name
