"""What a model is asked about each benchmark, and the rows its answer becomes."""

import json
import sqlite3

import polars as pl
import pytest

from formlab import benchmarks, tables
from formlab.systems import chat
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving


def test_boxes_are_taken_back_to_the_page(tmp_path):
    with serving(then=FORM) as server:
        found = ran(server, tmp_path, image_limit=100)
    page = benchmarks.load("formcraft").documents.row(0, named=True)
    base = sqlite3.connect(tmp_path / "answers.sqlite")
    (images,) = base.execute("SELECT images FROM answers").fetchone()
    base.close()
    row = found.records.filter(path="/Name").row(0, named=True)
    # 500 and 1000 thousandths of a page of 680 × 765, whatever was sent.
    assert [row[side] for side in tables.BOX] == [0, 0, page["width"] / 2, page["height"]]
    (image,) = json.loads(images)
    assert (image["size"], image["sent"]) == ([680.0, 765.0], [89, 100])


def test_questions_and_checks_are_answered_by_their_ids(tmp_path):
    def reply(body):
        (items,) = json.loads(body["messages"][1]["content"][0]["text"]).values()
        answers = [
            {"id": i["id"], "answer": "yes", "confidence": 0.5, "reason": "so"} for i in items
        ]
        return json.dumps({"answers": [*answers, {"id": "made up", "answer": "no"}]})

    asked = benchmarks.load("formcraft").records.filter(
        pl.col("task").is_in(["vqa", "consistency"])
    )
    with serving(then=reply) as server:
        found = ran(server, tmp_path, limit=None, tasks="vqa,consistency").records
    assert sorted(found["path"]) == sorted(asked["path"])
    assert set(found["confidence"]) == {0.5}


def test_gold_answers_are_never_shown_to_the_model():
    corpus = benchmarks.load("formcraft")
    prompts = {task.name: (task, "p") for task in chat.tasks_of("formcraft")}
    shown = [json.dumps(question.ask.asked) for question in chat.questions(corpus, prompts)]
    assert any('"question"' in text for text in shown)
    for word in ("rationale", "derivation", "expected", "value"):
        assert not any(f'"{word}"' in text for text in shown), word


def test_entities_of_vrdu_stand_where_the_gold_has_them(tmp_path):
    def reply(body):
        asked = json.loads(body["messages"][1]["content"][0]["text"])["ENTITIES"]
        value = {"text": "5", "page": 1, "box": [0, 0, 1000, 1000]}
        return json.dumps({
            name: [dict.fromkeys(kind, value)] * 2 if isinstance(kind, dict) else value
            for name, kind in asked.items()
        })  # fmt: skip

    gold = benchmarks.load("vrdu")
    with serving(then=reply) as server:
        records = ran(server, tmp_path, corpus=gold, image_limit=200).records
    entities = records.filter(pl.col("path").is_not_null())
    wanted = {"/advertiser", "/line_item/0/sub_amount", "/line_item/1/sub_amount"}
    assert wanted <= set(entities["path"])
    page, first = gold.documents.row(0, named=True), entities.row(0, named=True)
    assert (first["x1"], first["y1"]) == pytest.approx((page["width"], page["height"]))


def test_pieces_of_a_funsd_form_are_its_text_and_lines_with_boxes(tmp_path, funsd_root):
    piece = {"text": "Name:", "label": "question", "box": [50, 100, 300, 300]}
    reply = json.dumps({"entities": [piece, piece | {"text": "Ada", "box": None}]})
    corpus = benchmarks.load("funsd", root=funsd_root)
    with serving(then=reply) as server:
        found = ran(server, tmp_path, corpus=corpus)
    # A page of 200 × 100: 50 thousandths of 200 are 10, 300 of 100 are 30.
    assert found.records.select("path", "value", "subtype", "x0", "y1").rows() == [
        (None, "Name: Ada", None, None, None),
        ("/chat/entities/0", "Name:", "question", 10.0, 30.0),
        ("/chat/entities/1", "Ada", "question", None, None),
    ]
