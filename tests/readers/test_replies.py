"""Replies of services of language models, in files of one document each, lines, and batches."""

import json
from pathlib import Path

import pytest
import yaml

from formlab import evaluate, open_log, readers
from formlab.trees import leaves
from tests.readers.reading import read_values

GOLD = [{"doc_id": "a", "total": "9.00"}, {"doc_id": "b", "total": "12.50"}]
ANSWERS = {"a": '{"total": "9.00"}', "b": '```json\n{"total": "12.50"}\n```'}
SERVICES = yaml.safe_load(Path(__file__).with_name("services.yml").read_text("utf-8"))
OPENAI = SERVICES["openai"]
REQUESTS = [
    {"id": "1", "custom_id": "NAME", "response": {"body": OPENAI}},
    {"custom_id": "NAME", "result": {"message": SERVICES["anthropic"]}},
    {"key": "NAME", "response": SERVICES["gemini"]},
    {"doc_id": "NAME", "answer": OPENAI},
    *({"doc_id": "NAME"} | service for service in SERVICES.values()),
]


def line(template, name, text):
    """What a service returned for a document, as JSON."""
    words = {"NAME": name, "TEXT": text, "CALL": text and text.strip("`json\n")}
    content = json.dumps(template)
    for word, meant in words.items():
        content = content.replace(f'"{word}"', json.dumps(meant))
    return content


def read(path):
    records = readers.read_predictions(path, readers.corpus(GOLD)).records
    return records.select("doc_id", "path", "value").sort("doc_id").rows()


def test_an_answer_that_names_no_field_beside_others_that_do_is_counted(tmp_path):
    (tmp_path / "a.txt").write_text(ANSWERS["a"])
    (tmp_path / "b.txt").write_text("I cannot read this document.")
    note = "documents answered by a text that names no field"
    assert evaluate(GOLD, tmp_path).notes[note] == 1
    # Of a document whose gold is a page's text, a text is all of the answer.
    gold = [{"doc_id": d, "path": p, "value": "9"} for d, p in (("a", "/total"), ("b", None))]
    assert note not in evaluate(gold, gold).notes


@pytest.mark.parametrize("service", SERVICES)
def test_a_folder_of_replies_has_the_answers_that_stand_in_them(service, tmp_path):
    for name, text in ANSWERS.items():
        (tmp_path / f"{name}.json").write_text(line(SERVICES[service], name, text))
    assert read(tmp_path) == [("a", "/total", "9.00"), ("b", "/total", "12.50")]


@pytest.mark.parametrize("request_", REQUESTS)
def test_lines_of_requests_are_answers_of_the_documents_they_name(request_, tmp_path):
    lines = [line(request_, name, text) for name, text in ANSWERS.items()]
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    assert read(tmp_path / "m.jsonl") == [("a", "/total", "9.00"), ("b", "/total", "12.50")]


@pytest.mark.parametrize("count", [1, 3])
def test_a_request_that_failed_is_an_answer_that_failed(count, tmp_path, monkeypatch):
    # A later piece of a file may have columns that the first has not.
    monkeypatch.setattr("formlab.readers.sources.ROWS", count)
    failed = {"custom_id": "a", "response": None, "error": {"code": "server_error"}}
    lines = [line(REQUESTS[0], "b", ANSWERS["b"]), json.dumps(failed)]
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    found = readers.read_predictions(tmp_path / "m.jsonl", readers.corpus(GOLD)).records
    assert found.sort("doc_id")["status"].to_list() == ["api_error", "repaired"]


@pytest.mark.parametrize(
    "around",
    [
        lambda answer: {"response": {"data": answer}},
        lambda answer: {"success": True, "data": answer, "error": None},
        lambda answer: {"reasoning": "It says so.", "answer": answer},
        lambda answer: {"extracted_data": answer, "metadata": {"pages": 2}},
        lambda answer: {"raw_output": json.dumps(answer)},
        lambda answer: {"extractions": [{"field": name, "value": answer[name]} for name in answer]},
    ],
)
def test_one_wrapper_may_stand_around_another(around, tmp_path):
    rows = [{"id": row["doc_id"]} | around({"total": row["total"]}) for row in GOLD]
    (tmp_path / "m.json").write_text(json.dumps({"data": {"results": rows}}))
    assert read(tmp_path / "m.json") == [("a", "/total", "9.00"), ("b", "/total", "12.50")]


ALIKE = {"{}": "missed", "[]": "missed", " ": "missed", '[{"total": "12.50"}]': None}


@pytest.mark.parametrize("text", ALIKE)
def test_an_answer_is_the_same_in_a_row_and_in_a_file_of_its_own(text, tmp_path):
    rows = [{"doc_id": "a", "text": ANSWERS["a"]}, {"doc_id": "b", "text": text}]
    for name in ("txt", "json"):
        (tmp_path / name).mkdir()
        for row in rows:
            (tmp_path / name / f"{row['doc_id']}.{name}").write_text(row["text"])
    for source in (rows, tmp_path / "txt", tmp_path / "json"):
        assert evaluate(GOLD, source).fields.filter(doc_id="b")["cause"].to_list() == [ALIKE[text]]


def test_headers_in_capitals_and_lists_as_text_are_read():
    gold = [{"Document": "a", "Field Name": "n", "Ground Truth": "5"}]
    assert read_values(gold)["path"].to_list() == ["/n"]
    gold = [{"doc_id": "a", "rows": "[{'n': 5}]", "tags": '["x", "y"]'}]
    given = [{"doc_id": "a", "rows": [{"n": 5}], "tags": ["y", "x"]}]
    assert evaluate(gold, given).fields["outcome"].to_list() == ["match"] * 2


def test_a_log_may_hold_replies():
    rows = [
        {"id": name, "target": {"total": "9.00"}, "response": json.loads(line(OPENAI, name, text))}
        for name, text in (("a", ANSWERS["a"]), ("b", None))
    ]
    cases = open_log(rows).cases.filter(path="/total")
    assert cases.select("pred", "outcome").rows() == [("9.00", "match"), (None, "missing")]


def test_targets_that_are_python_lists_as_text_are_accepted_answers(tmp_path):
    line = {"doc_id": 0, "target": "['A-204', 'A 204']", "filtered_resps": ["A 204"]}
    (tmp_path / "1_samples_forms.jsonl").write_text(json.dumps(line))
    cases = open_log(tmp_path / "1_samples_forms.jsonl").cases.filter(path="/answer")
    assert cases["outcome"].to_list() == ["match"]


@pytest.mark.parametrize(
    "form",
    [
        {"role": "manager", "content": "9.00"},
        {"choices": [{"text": "yes"}, {"text": "no"}]},
        {"custom_id": "7", "result": "paid"},
        {"message": {"role": "payer", "content": "late"}},
    ],
)
def test_a_form_with_fields_called_so_is_no_reply(form):
    found = read_values([{"doc_id": "a"} | form])["value"].to_list()
    assert sorted(found) == sorted(value for _, value in leaves(form))
