import json
import math

import pytest

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import funsd_bench

BLOCKS = [{"type": "Text", "content": text, "bbox": {"page": 1}} for text in ("Name:", "Ada Berg")]


def parse(name, **more):
    return {"filename": f"{name}.png", "success": True, "duration_ms": 5100, **more}


@pytest.fixture
def results(tmp_path):
    """Parses of the two forms of `funsd_root`: `a` is right, `b` failed."""
    folder = tmp_path / "results"
    (folder / "parses").mkdir(parents=True)
    result = {"type": "full", "chunks": [{"content": "whole", "blocks": BLOCKS}]}
    whole = parse("a", extracted_text="", response={"data": {"result": result}})
    failed = parse("b", success=False, error="time-out")
    for one in (whole, failed):
        name = one["filename"].replace(".png", ".json")
        (folder / "parses" / name).write_text(json.dumps(one))
    stated = {
        "summary": {"successful_parses": 1}, "cer_stats": {"mean": 0.25}, "wer_stats": {"mean": 0},
        "word_match_accuracy": {"mean": 93.7},
        "entity_level": {"exact_match": {"micro_overall": 71.5}},
        "documents": [
            {"filename": "a", "success": True, "cer": 0.25, "wer": 0.0, "word_match_accuracy": 1,
             "ref_text": "Name: Ada", "hyp_text": "Name: Ada"},
        ],
    }  # fmt: skip
    (folder / "results.json").write_text(json.dumps(stated))
    return folder


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"response": {"result": {"chunks": [{"blocks": BLOCKS}]}}}, "Name: Ada Berg"),
        ({"response": {"data": {"result": {"chunks": [{"content": "c"}]}}}}, "c"),
        ({"extracted_text": "e", "response": {}}, "e"),
        ({"extracted_text": "", "response": None}, None),
    ],
)  # fmt: skip
def test_text_is_that_of_the_blocks_else_what_was_extracted(more, text):
    assert funsd_bench.text_of(parse("a", **more)) == text


def test_folder_of_parses_is_found_from_where_it_stands(results):
    for path in (results, results / "parses", results.parent):
        assert funsd_bench.detect(path)
        (run,) = logs.read(path)
        assert run.answers.select("doc_id", "value", "status").rows() == [
            ("a", "Name: Ada Berg", "ok"), ("b", None, "api_error"),
        ]  # fmt: skip
    assert run.responses["seconds"].to_list() == [5.1, 5.1]
    assert [(f["scorer"], f["metric"], f["value"], f["n"]) for f in run.headline] == [
        ("cer", "mean", 0.25, 1), ("wer", "mean", 0, 1),
        ("word_match_accuracy", "mean percent", 93.7, 1),
        ("entity_exact_match", "micro, percent", 71.5, 1),
    ]  # fmt: skip


def test_texts_of_the_figures_are_cut_so_that_the_gold_is_funsd(results, funsd_root):
    with pytest.raises(DataBroken, match="the log has no gold.*--benchmark"):
        logs.open_log(results)
    evaluation = logs.open_log(results, "funsd", root=funsd_root)
    assert logs.join_report(evaluation)["failed"] == 1
    rows = logs.headlines(evaluation).filter(measure="cer").select("by", "over", "value", "n")
    # b failed: the tool leaves it out, and an unread page has an error rate of 1.
    assert rows.rows() == [
        ("log", "scored", 0.25, 1), ("log", "all", 0.625, 2),
        ("formlab", "scored", 0.0, 1), ("formlab", "all", 0.5, 2),
    ]  # fmt: skip
    assert evaluation.fields.filter(doc_id="a", path="/entities/1")["outcome"].item() == "match"


def test_parse_that_cannot_be_read_keeps_its_document(results, funsd_root):
    (results / "parses" / "b.json").write_text('{"filename": "b.png", "success": tr')
    evaluation = logs.open_log(results, "funsd", root=funsd_root)
    assert logs.join_report(evaluation)["unreadable"] == 1
    assert evaluation.documents["doc_id"].to_list() == ["a", "b"]


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"filename": '])
def test_parse_keeps_its_document_whatever_its_file_holds(results, content):
    (results / "parses" / "b.json").write_text(content)
    (run,) = logs.read(results.parent)
    assert run.responses.select("doc_id", "status").rows() == [("a", "ok"), ("b", "api_error")]
    assert run.notes[logs.UNREADABLE] == 1


def test_a_parse_whose_name_is_no_text_is_that_of_its_file(results):
    (results / "parses" / "b.json").write_text(json.dumps(parse("b") | {"filename": math.nan}))
    (run,) = logs.read(results)
    assert run.answers["doc_id"].to_list() == ["a", "b"]
