"""Examples before the question: which documents, what is sent of them, and what stands in a run."""

import json

import polars as pl
import pytest

from formlab import benchmarks, readers
from formlab.systems import chat
from formlab.systems.chat.images import PageImage
from formlab.systems.chat.ocr_lines import OcrLines
from formlab.systems.chat.shots import Shots, drawn
from tests.systems.chat.made_runs import ran
from tests.systems.scripted_server import serving

SPLITS = benchmarks.get("vrdu").splits_in(benchmarks.SAMPLES / "vrdu")
SIX = "MadeAds-mixed_template-train_6-test_8-valid_2-SD_0"
NOTHING = json.dumps({"advertiser": None})


def settings(**changed):
    return {"shots": 2, "shots_as": "text", "shots_seed": 0} | changed


def lines():
    return OcrLines(unit="thousandths")


def shown_in(server):
    """The turns before the question of the first call, and the question."""
    first, *turns, last = server.calls[0]["body"]["messages"]
    assert first["role"] == "system"
    return first["content"], turns, last


@pytest.mark.parametrize("split", [name for name in SPLITS if not name.endswith("-pdfs")])
def test_no_example_is_a_test_document_whatever_the_seed(split):
    corpus = benchmarks.load("vrdu", split=split)
    test = set(corpus.documents["doc_id"])
    for seed in range(5):
        chosen = drawn(corpus, settings(shots=1, shots_seed=seed)).documents["doc_id"]
        assert chosen.len() == 1
        assert not test & set(chosen)


def test_an_example_is_read_back_as_its_gold(tmp_path):
    corpus = benchmarks.load("vrdu", split=SIX)
    examples = drawn(corpus, settings(shots=6))
    (task,) = chat.tasks_of("vrdu")
    turns = Shots(examples, task, chat.PageView(), lines()).turns(chat.PageView().in_key)
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 6
    for document, turn in zip(examples.documents.to_dicts(), turns[1::2], strict=True):
        page = PageImage(None, 1, (document["width"], document["height"]), (1, 1), "")

        def locate(number, box, page=page):
            return {"page": number} | page.located(box, unit="thousandths")

        read = [row for row in task.make(document, []).read(json.loads(turn["content"]), locate)
                if row["path"]]  # fmt: skip
        gold = examples.records.filter(pl.col("doc_id") == document["doc_id"])
        gold = {row["path"]: row for row in gold.drop_nulls("value").to_dicts()}
        values = {path: row["value"] for path, row in gold.items()}
        assert {row["path"]: row["value"] for row in read} == values
        for row in read:
            # A thousandth of 792 points.
            assert row["y1"] == pytest.approx(gold[row["path"]]["y1"], abs=0.8)


def test_examples_go_before_the_question_as_text_and_the_run_names_them(tmp_path):
    corpus = benchmarks.load("vrdu", split=SIX)
    with serving(then=NOTHING) as server:
        made = ran(server, tmp_path, corpus=corpus, tasks="", image_limit=300, shots=3)
        system, turns, last = shown_in(server)
        again = ran(server, tmp_path, corpus=corpus, tasks="", image_limit=300, shots=3)
        assert len(server.calls) == 1
    assert "examples" in system
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 3
    assert '"LINES"' in turns[0]["content"]
    train = benchmarks.training(corpus).records
    names = made.settings["shots documents"]
    advertiser = train.filter(pl.col("doc_id") == names[0], path="/advertiser")["value"].item()
    assert advertiser in turns[0]["content"]
    assert json.loads(turns[1]["content"])["advertiser"]["text"] == advertiser
    assert last["content"][-1]["type"] == "image_url"
    assert (made.settings["shots"], made.settings["shots_seed"], len(names)) == (3, 0, 3)
    assert set(names) <= set(train["doc_id"])
    assert made.system == again.system
    assert "shots=3" in made.system
    assert made.responses["status"].to_list() == ["ok"]
    read = readers.read_predictions(tmp_path, corpus)
    assert read.settings["shots documents"] == names
