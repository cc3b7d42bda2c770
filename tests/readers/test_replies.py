"""Replies of services of language models, in files of one document each, lines, and batches."""

import json

import pytest

from formlab import evaluate, open_log, readers
from formlab.readers.rows import leaves

GOLD = [{"doc_id": "a", "total": "9.00"}, {"doc_id": "b", "total": "12.50"}]
ANSWERS = {"a": '{"total": "9.00"}', "b": '```json\n{"total": "12.50"}\n```'}
CALL = {"id": "c", "type": "function", "function": {"name": "fill", "arguments": ""}}


def openai(text):
    message = {"role": "assistant", "content": text}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [{"message": message}]}


def called(text):
    """A chat completion whose answer is a tool call beside some talk."""
    arguments = json.dumps(json.loads(text.strip("`json\n")))
    call = CALL | {"function": {"name": "fill", "arguments": arguments}}
    message = {"role": "assistant", "content": '{"total": "1"}', "tool_calls": [call]}
    return {"choices": [{"message": message}]}


def responses(text):
    parts = [{"type": "output_text", "text": text}]
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "content": parts}]
    return {"id": "r", "object": "response", "output": output}


def anthropic(text):
    thought = {"type": "thinking", "thinking": '{"total": "1"}'}
    content = [thought, {"type": "text", "text": text}]
    return {"id": "m", "type": "message", "role": "assistant", "content": content}


def gemini(text):
    parts = [{"text": '{"total": "1"}', "thought": True}, {"text": text}]
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}


def ollama(text):
    return {"model": "m", "message": {"role": "assistant", "content": text}, "done": True}


def chat(text):
    said = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": text}]
    return {"messages": said}


SERVICES = [openai, called, responses, anthropic, gemini, ollama, chat]
REQUESTS = [
    lambda name, text: {"id": "1", "custom_id": name, "response": {"body": openai(text)}},
    lambda name, text: {"custom_id": name, "result": {"message": anthropic(text)}},
    lambda name, text: {"key": name, "response": gemini(text)},
    lambda name, text: {"doc_id": name, "answer": openai(text)},
    *(lambda name, text, of=of: {"doc_id": name} | of(text) for of in SERVICES),
]


def read(path):
    records = readers.read_predictions(path, readers.corpus(GOLD)).records
    return records.select("doc_id", "path", "value").sort("doc_id").rows()


@pytest.mark.parametrize("of", SERVICES, ids=lambda of: of.__name__)
def test_a_folder_of_replies_has_the_answers_that_stand_in_them(of, tmp_path):
    for name, text in ANSWERS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(of(text)))
    assert read(tmp_path) == [("a", "/total", "9.00"), ("b", "/total", "12.50")]


@pytest.mark.parametrize("of", REQUESTS)
def test_lines_of_requests_are_answers_of_the_documents_they_name(of, tmp_path):
    lines = [json.dumps(of(name, text)) for name, text in ANSWERS.items()]
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    assert read(tmp_path / "m.jsonl") == [("a", "/total", "9.00"), ("b", "/total", "12.50")]


@pytest.mark.parametrize("count", [1, 3])
def test_a_request_that_failed_is_an_answer_that_failed(count, tmp_path, monkeypatch):
    # A later piece of a file may have columns that the first has not.
    monkeypatch.setattr("formlab.readers.sources.ROWS", count)
    failed = {"custom_id": "a", "response": None, "error": {"code": "server_error"}}
    lines = [REQUESTS[0]("b", ANSWERS["b"]), failed]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, lines)))
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


def test_headers_in_capitals_and_lists_as_text_are_read():
    gold = [{"Document": "a", "Field Name": "n", "Ground Truth": "5"}]
    assert readers.read_values(gold)["path"].to_list() == ["/n"]
    gold = [{"doc_id": "a", "rows": "[{'n': 5}]", "tags": '["x", "y"]'}]
    given = [{"doc_id": "a", "rows": [{"n": 5}], "tags": ["y", "x"]}]
    assert evaluate(gold, given).fields["outcome"].to_list() == ["match"] * 2


def test_a_log_may_hold_replies():
    rows = [{"id": "a", "target": {"total": "9.00"}, "response": openai(ANSWERS["a"])}]
    rows.append({"id": "b", "target": {"total": "9.00"}, "response": openai(None)})
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
    rows = [{"doc_id": "a"} | form]
    found = readers.read_values(rows)["value"].to_list()
    assert len(found) == len(list(leaves(form)))
    assert sorted(found) == sorted(value for _, value in leaves(form))
