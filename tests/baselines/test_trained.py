"""The systems that learn, `trained` and `template`, on the sample and on real PDFs."""

import json
from dataclasses import replace

import polars as pl
import pytest

from formlab import analysis, benchmarks, systems
from formlab.benchmarks import vrdu
from formlab.errors import DataBroken

NAMES = ("trained", "template")
MIXED, UNSEEN = (
    f"MadeAds-{task}_template-train_6-test_{count}-valid_2-SD_0"
    for task, count in (("mixed", 8), ("unk", 6))
)


def read(corpus, name, out, **changes):
    system = systems.get(name)
    return systems.run(corpus, system, out=out, settings=system.defaults | changes)


def micro_f1(corpus, predictions):
    summary = analysis.summarise(analysis.evaluate(corpus, predictions), by=(), resamples=0)
    return summary.filter(pl.col("slice_by").is_null(), metric="micro_f1", average="pooled")[
        "value"
    ].item()


@pytest.mark.parametrize("name", NAMES)
def test_known_templates_are_learnt_and_an_unseen_one_costs_much(name, tmp_path):
    scores = {}
    for split in (MIXED, UNSEEN):
        corpus = benchmarks.load("vrdu", split=split)
        predictions = read(corpus, name, tmp_path / split)
        assert predictions.notes == {"documents to learn from": 6}
        assert predictions.responses["error"].null_count() == corpus.documents.height
        scores[split] = micro_f1(corpus, predictions)
    assert scores[MIXED] > 0.9
    assert scores[UNSEEN] < scores[MIXED] - 0.2


@pytest.mark.parametrize("name", NAMES)
def test_values_are_read_at_their_place_with_whole_line_items(name, tmp_path):
    corpus = benchmarks.load("vrdu")
    predictions = read(corpus, name, tmp_path / "run")
    places = ["doc_id", "path", "value", "page"]
    both = corpus.records.join(predictions.records, on=["doc_id", "path"], suffix="_read")
    # The sample's first split is of one template: all that its gold has is read.
    assert both.height == corpus.records.height
    forms = pl.concat_list("value", pl.col("accepted").fill_null([]))
    assert both.filter(~forms.list.contains(pl.col("value_read"))).is_empty()
    right = both.filter(pl.col("value") == pl.col("value_read"))
    assert (right["x0"] - right["x0_read"]).abs().max() < 0.01
    assert (right["y1"] - right["y1_read"]).abs().max() < 0.01
    again = read(corpus, name, tmp_path / "again")
    assert again.records.select(places).equals(predictions.records.select(places))
    assert again.records["confidence"].equals(predictions.records["confidence"])


def test_published_values_stand_on_their_pages_and_are_learnt(shared, tmp_path):
    home = shared / "data/vrdu/ad-buy-form"
    split = "DeepForm-mixed_template-train_50-test_300-valid_100-SD_0"
    corpus = benchmarks.load("vrdu", root=home, split=split)
    shown = corpus.documents.filter(pl.col("image").is_not_null()).head(4)
    names = pl.col("doc_id").is_in(shown["doc_id"].to_list())
    some = replace(corpus, documents=shown, records=corpus.records.filter(names))
    predictions = read(some, "trained", tmp_path / "run")
    # Of fifty documents 47 have labels, and ten of these a PDF.
    assert predictions.notes["documents to learn from"] == 47
    assert predictions.notes["documents to learn from: PDFs missing"] == 37
    assert predictions.records.drop_nulls("path")["x0"].null_count() == 0
    assert micro_f1(some, predictions) > 0.5
    assert vrdu.words(shown.row(0, named=True), home) is None


def test_other_training_documents_are_another_run(tmp_path):
    seeds = [benchmarks.load("vrdu", split=f"{UNSEEN[:-1]}{seed}") for seed in (0, 1)]
    read(seeds[0], "template", tmp_path / "run")
    other = replace(seeds[1], split=UNSEEN)
    # The same name, but the split's file lists other documents now.
    assert benchmarks.training(other).split == f"{UNSEEN}-train"
    head = tmp_path / "run" / "run.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"examples": "of others"}))
    with pytest.raises(DataBroken, match="examples"):
        read(seeds[0], "template", tmp_path / "run")
