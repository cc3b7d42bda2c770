"""Examples before the question: which documents, what is sent of them, and what stands in a run."""

import dataclasses
import json
import shutil
from types import SimpleNamespace

import polars as pl
import pytest

from formlab import benchmarks, readers
from formlab.errors import DataMissing, NotAvailable, UnknownName
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


def test_examples_as_images_and_in_a_batch(tmp_path):
    corpus = benchmarks.load("vrdu", split=SIX)
    with serving(then=NOTHING) as server:
        options = {"corpus": corpus, "tasks": "", "image_limit": 300, "shots": 1}
        ran(server, tmp_path / "run", shots_as="image", **options)
        _, turns, _ = shown_in(server)
    assert turns[0]["content"][-1]["image_url"]["url"].startswith("data:image/jpeg")
    ran(server, tmp_path / "put", shots_as="image", batch=str(tmp_path / "batch"), **options)
    (line,) = (tmp_path / "batch/requests-0001.jsonl").read_text().splitlines()
    assert json.loads(line)["body"]["messages"][1:3] == turns


def test_other_shots_are_another_question(tmp_path):
    corpus = benchmarks.load("vrdu", split=SIX)
    options = {"corpus": corpus, "tasks": "", "image_limit": 300}
    store = {"store": str(tmp_path / "answers.sqlite")}
    with serving(then=NOTHING) as server:
        for number, changed in enumerate([{}, {"shots": 1}, {"shots": 1, "shots_seed": 3}]):
            ran(server, tmp_path / str(number), **options, **store, **changed)
        assert len(server.calls) == 3


def test_what_cannot_be_shown_is_one_clear_error(tmp_path):
    corpus = benchmarks.load("vrdu", split=SIX)
    with pytest.raises(DataMissing, match="7 examples .* of 6 documents .* 6 can"):
        drawn(corpus, settings(shots=7))
    with pytest.raises(UnknownName, match="pictures"):
        drawn(corpus, settings(shots_as="pictures"))
    with pytest.raises(DataMissing, match="no documents to learn from"):
        drawn(benchmarks.load("formcraft"), settings())
    (task, *_) = chat.tasks_of("fincriticaled")
    with pytest.raises(NotAvailable, match="no examples can be shown"):
        Shots(corpus, task, chat.PageView(), lines())


def test_pieces_of_a_funsd_form_are_an_example_too(funsd_root, tmp_path):
    corpus = benchmarks.load("funsd", root=funsd_root)
    (task,) = chat.tasks_of("funsd")
    view = chat.PageView()
    example, answer = Shots(corpus, task, view, lines()).turns(view.in_key)[:2]
    pieces = json.loads(answer["content"])["entities"]
    # The third piece of the form has no text.
    assert [piece["text"] for piece in pieces] == ["Name:", "Ada Berg"]
    assert pieces[0]["text"].split()[0] in example["content"]


def test_only_documents_with_a_page_are_drawn_and_words_are_read_where_none_come(tmp_path):
    root = tmp_path / "vrdu"
    shutil.copytree(benchmarks.SAMPLES / "vrdu", root)
    train = benchmarks.load("vrdu", root=root, split=SIX, part="train").documents
    for image in train["image"][1:]:
        (root / image).unlink()
    corpus = benchmarks.load("vrdu", root=root, split=SIX)
    examples = drawn(corpus, settings(shots=1, shots_as="image"))
    assert examples.documents["doc_id"].to_list() == train["doc_id"].head(1).to_list()
    with pytest.raises(DataMissing, match="of 6 documents to learn from 1 can be shown"):
        drawn(corpus, settings(shots_as="image"))
    # The supplied words need no image.
    assert drawn(corpus, settings(shots=6)).documents.height == 6
    # Without them the page is read.
    plain = pl.col("meta").str.replace('"ocr": "[^"]*"', '"ocr": null')
    examples = dataclasses.replace(examples, documents=examples.documents.with_columns(plain))
    read = SimpleNamespace(text=lambda page: f"read on page {page.number}")
    (task,), view = chat.tasks_of("vrdu"), chat.PageView()
    assert "read on page 1" in Shots(examples, task, view, read).turns(view.in_key)[0]["content"]
