import json
import math
import os

import pytest

from formlab.benchmarks import formfactory as benchmark
from formlab.errors import DataBroken, FormlabError
from formlab.formats import formfactory, read_predictions
from formlab.formats.formfactory import parse_lines
from formlab.tables import only

from ..made_formfactory import make


@pytest.fixture
def corpus(tmp_path):
    return benchmark.read("all", make(tmp_path / "formfactory"))


def run(text, code="A12", **more):
    answer = {"model_response": text, "status": "success"}
    return {"template_used": code, "data_source": "grant_applications"} | more | {
        "model_response": answer
    }  # fmt: skip


def write(folder, name, content):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[640,585] Ada Berg", (640, 585, "Ada Berg")),
        ("  [640.5, -585 ]: Ada", (640.5, -585, "Ada")),
        ("- [1,2]Ada", (1, 2, "Ada")),
        ("3. [1,2] Ada", (1, 2, "Ada")),
        ("```json\n[1,2] Ada\n```", (1, 2, "Ada")),
        ("Here it is:\r\n[1,2] Ada\r\nBerg", (1, 2, "Ada\nBerg")),
        ("[1,2] a\u2028b\x00<b>", (1, 2, "a\u2028b\x00<b>")),
    ],
)
def test_line_is_a_point_and_a_value(text, expected):
    (line,) = parse_lines(text)
    assert (line.x, line.y, line.value) == expected
    assert math.isnan(line.page)


def test_line_may_name_its_screenshot():
    assert parse_lines("[A13_2][5,6] Fall 2024")[0].page == 2
    assert math.isnan(parse_lines("[A12][5,6] x")[0].page)


@pytest.mark.parametrize("text", ["", "no", "[1] x", "[a,b] x", "[1e9,2] x", "[nan,1] x", "[" * 99])
def test_text_without_a_point_has_no_line(text):
    assert parse_lines(text) == []


def test_single_run_is_read(corpus, tmp_path):
    name = "A12_json_grant_applications_20260102_030405.json"
    folder = write(tmp_path / "model", name, run("[15,20] Ada\n[120,20] Berg"))
    assert formfactory.is_one(folder)
    assert formfactory.is_one(folder / name)
    found = formfactory.read(folder, corpus)
    assert found.system == "model"
    assert found.records["doc_id"].unique().to_list() == ["A12-01"]
    line = only(found.records, path="/lines/1").row(0, named=True)
    assert (line["value"], line["x0"], line["x1"], line["y0"]) == ("Berg", 120, 120, 20)
    assert only(found.records, path=None)["value"][0] == "[15,20] Ada\n[120,20] Berg"
    assert found.check() is found


def test_batch_counts_the_instances_of_a_form_in_order(corpus, tmp_path):
    results = [run("[1,2] a"), run("[1,2] b"), run("[1,2] c", code="F12")]
    batch = {"batch_info": {"n": 3}, "results": results}
    found = formfactory.read(write(tmp_path / "m", "batch_x.json", batch), corpus)
    whole = only(found.records, path=None)
    assert whole["doc_id"].to_list() == ["A12-01", "A12-02", "F12-01"]
    assert found.notes == {"outputs without an instance number, taken in order": 3}


def test_instance_may_be_said(corpus, tmp_path):
    batch = {"batch_info": {}, "results": [run("[1,2] a", instance=2)]}
    found = formfactory.read(write(tmp_path / "m", "batch_x.json", batch), corpus)
    assert found.records["doc_id"].unique().to_list() == ["A12-02"]
    assert not found.notes


def test_failed_call_is_kept_as_such(corpus, tmp_path):
    failed = run("x") | {"model_response": {"status": "error", "error": "no key"}}
    found = formfactory.read(write(tmp_path / "m", "A12_json_x.json", failed), corpus)
    assert found.records["status"].to_list() == ["api_error"]


def test_raw_lines_are_of_the_document_that_the_file_is_named_for(corpus, tmp_path):
    folder = write(tmp_path / "m", "A12-02.txt", "[15,20] Bo")
    assert formfactory.is_one(folder)
    assert set(formfactory.read(folder, corpus).records["doc_id"]) == {"A12-02"}
    assert not formfactory.is_one(write(tmp_path / "other", "page.txt", "[15,20] Bo"))


def test_submissions_are_values_of_fields(corpus, tmp_path):
    sent = [{"First Name": "Ada", "age": 4, "submission_time": "2026-01-02"}]
    folder = tmp_path / "m"
    folder.mkdir()
    write(folder / "submission", "grant_applications.json", sent)
    found = formfactory.read(folder, corpus)
    rows = found.records.select("doc_id", "path", "value", "task").rows()
    assert rows == [("A12-01", "/First Name", "Ada", "value"), ("A12-01", "/age", "4", "value")]


def test_second_output_of_an_instance_and_other_shapes_are_errors(corpus, tmp_path):
    twice = {"batch_info": {}, "results": [run("a", instance=1), run("b", instance=1)]}
    with pytest.raises(DataBroken, match=r"second output of A12-01.*batch_x\.json#/1"):
        formfactory.read(write(tmp_path / "m", "batch_x.json", twice), corpus)
    with pytest.raises(DataBroken, match="neither an output"):
        formfactory.read(
            write(tmp_path / "n", "batch_x.json", {"batch_info": {}, "results": 3}), corpus
        )


def test_refusal_and_empty_text_are_outputs_too(corpus, tmp_path):
    folder = write(tmp_path / "m", "A12-01.txt", "I cannot help with that.")
    write(folder, "A12-02.txt", "")
    write(folder, "notes.txt", "[1,2] mine")
    write(folder, "A12-03.json.bak", "{}")
    assert formfactory.is_one(folder)
    found = formfactory.read(folder, corpus)
    whole = only(found.records, path=None).select("doc_id", "value", "status").rows()
    assert whole == [("A12-01", "I cannot help with that.", "ok"), ("A12-02", "", "ok")]
    assert found.notes == {
        "outputs without a line '[x, y] value'": 2,
        "files left out, called neither as outputs nor as submissions": 2,
    }


@pytest.mark.parametrize("name", ["A12_json_grants.json", "A12-01.txt", "batch_2.json"])
@pytest.mark.parametrize("kind", ["broken", "folder", "link", "pipe"])
def test_output_that_cannot_be_read_is_an_error_and_not_passed_over(corpus, tmp_path, name, kind):
    folder = write(tmp_path / "m", "A12-02.txt", "[1,2] a")
    file = folder / name
    if kind == "broken" and name.endswith("json"):
        file.write_text('{"template_used": "A12", "model_resp')
    elif kind == "folder":
        file.mkdir()
    elif kind == "link":
        file.symlink_to(tmp_path / "nothing")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        pytest.skip("any text is an output")
    with pytest.raises(FormlabError, match=name):
        read_predictions(folder, corpus)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"model_response": {"model_response": ["x"]}}, "model_response/model_response: a text or"),
        ({"model_response": 5}, "model_response: an object or a text or null expected, got"),
        ({"instance": "2"}, "instance: an integer or null expected, got the text '2'"),
        ({"instance": 2**64}, "instance: an integer or null expected"),
    ],
)
def test_output_of_another_structure_is_refused_with_file_and_path(
    corpus, tmp_path, entry, message
):
    folder = write(
        tmp_path / "m", "batch_x.json", {"batch_info": {}, "results": [run("a") | entry]}
    )
    with pytest.raises(DataBroken, match=rf"{message}.*batch_x\.json#/0"):
        formfactory.read(folder, corpus)


def test_reason_of_a_failed_call_is_in_its_response(corpus, tmp_path):
    failed = run("x") | {"model_response": {"status": "error", "error": "no key"}}
    found = formfactory.read(write(tmp_path / "m", "A12_json_x.json", failed), corpus)
    assert found.responses.select("doc_id", "status", "error").rows() == [
        ("A12-01", "api_error", "no key")
    ]
