import json

import pytest

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import lmms_eval

SAMPLES = [
    # `resps` is left out where it is the same as `filtered_resps`.
    {"doc_id": 4, "input": "Read the total.", "target": "118.40", "filtered_resps": "118.4",
     "resps": ["<think>..</think>118.4"], "doc_hash": "9f", "input_media": ["img/0004.png"],
     "token_counts": [{"input_tokens": 902, "output_tokens": 31}], "anls": 0.83, "acc": True},
    {"doc_id": 5, "input": "Read the name.", "target": "Ada Berg", "filtered_resps": ["Ada Berg"],
     "doc_hash": "a0", "input_media": ["img/0005.png"], "anls": {"score": 1.0, "id": "5"}},
    {"doc_id": 6, "input": "Read the date.", "target": "3 May", "filtered_resps": [],
     "doc_hash": "a1", "input_media": ["img/0005.png"], "anls": 0.0},
]  # fmt: skip
RESULTS = {
    "model_name": "qwen", "results": {"forms": {
        "alias": "forms", "anls,none": 0.61, "anls_stderr,none": 0.3}},
    "n-samples": {"forms": {"original": 3, "effective": 3}},
}  # fmt: skip


def write(folder, samples=SAMPLES, results=RESULTS):
    file = folder / "20260102_030405_samples_forms.jsonl"
    file.write_text("\n".join(json.dumps(sample) for sample in samples))
    if results:
        (folder / "20260102_030405_results.json").write_text(json.dumps(results))
    return file


def test_target_and_first_filtered_answer_are_gold_and_answer(tmp_path):
    file = write(tmp_path)
    assert lmms_eval.detect(file)
    assert lmms_eval.detect(tmp_path)
    (run,) = logs.read(file)
    assert (run.name, run.system) == ("forms", "qwen")
    assert run.gold["value"].to_list() == ["118.40", "Ada Berg", "3 May"]
    assert run.answers.select("value", "status").rows() == [
        ("118.4", "ok"), ("Ada Berg", "ok"), (None, "missing"),
    ]  # fmt: skip
    assert run.responses.select("tokens_in", "tokens_out").row(0) == (902, 31)


def test_image_names_a_document_where_it_is_its_own(tmp_path):
    (run,) = logs.read(write(tmp_path))
    # Two questions are of 0005.png: they keep the numbers that the log gives them.
    assert run.answers["doc_id"].to_list() == ["0004", "5", "6"]


def test_metric_is_a_number_or_has_a_score(tmp_path):
    (run,) = logs.read(write(tmp_path))
    assert run.scores.filter(scorer="anls")["value"].to_list() == [0.83, 1.0, 0.0]
    assert run.scores.filter(scorer="acc")["value"].to_list() == [1.0, None, None]


def test_figures_stand_in_the_results_beside_the_samples(tmp_path):
    (run,) = logs.read(write(tmp_path))
    assert run.headline == (
        {"scorer": "anls", "metric": "mean, filter none", "value": 0.61, "n": 3},
    )
    (tmp_path / "20260102_030405_results.json").unlink()
    (run,) = logs.read(tmp_path)
    assert run.headline == ()
    assert run.notes[lmms_eval.NO_RESULTS] == 1
    assert run.system == tmp_path.name


def test_number_with_two_contents_is_counted(tmp_path):
    again = SAMPLES[0] | {"doc_hash": "another"}
    (run,) = logs.read(write(tmp_path, [*SAMPLES, again]))
    assert run.notes[lmms_eval.CHANGED] == 1
    assert run.notes[logs.DUPLICATES] == 1


def test_line_that_is_no_sample_names_its_line(tmp_path):
    file = write(tmp_path)
    file.write_text(file.read_text() + "\nnonsense")
    with pytest.raises(DataBroken, match=r"samples_forms\.jsonl:4"):
        logs.read(file)


def test_differences_say_that_credit_is_partial(tmp_path):
    evaluation = logs.open_log(write(tmp_path))
    rows = logs.differences(evaluation).select("doc_id", "log_score", "formlab", "why").rows()
    # "118.4" for "118.40" is another text, though the same number.
    assert rows == [("0004", 0.83, 0.0, "partial credit in the log")]
