import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from backports.zstd import zipfile

from formlab import logs
from formlab.errors import DataBroken
from formlab.logs import inspect

DATA = Path(__file__).parent / "data"
# Written in `generate.py` by Inspect itself: what each sample of form.eval was given.
LONG = "A clause of the lease. " * 20


@pytest.fixture(scope="module")
def run():
    (one,) = inspect.read(DATA / "form.eval")
    return one


def answer(run, doc_id):
    return run.answers.filter(doc_id=doc_id).row(0, named=True)


def test_members_packed_with_zstd_are_read(run):
    with zipfile.ZipFile(DATA / "form.eval") as archive:
        assert {member.compress_type for member in archive.infolist()} == {93}
    assert (run.system, run.name, run.responses.height) == ("mockllm/model", "forms", 11)
    assert answer(run, "plain")["value"] == "Ada Berg."


def test_same_log_in_one_json_is_the_same_run(run):
    (other,) = inspect.read(DATA / "form.json")
    order = ["doc_id", "path"]
    for table in ("gold", "scores"):
        left, right = getattr(run, table).sort(order), getattr(other, table).sort(order)
        # The archive has the long text under `attachments`, where the JSON has it in place.
        assert left.equals(right)
    assert run.headline == other.headline


def test_long_text_is_put_back_from_the_attachments(run):
    assert run.gold.filter(doc_id="long")["value"].item() == LONG
    assert answer(run, "long")["value"] == LONG


def test_every_target_of_a_list_is_accepted(run):
    gold = run.gold.filter(doc_id="accepted").row(0, named=True)
    assert gold["accepted"] == ["12 May 2021", "2021-05-12"]
    evaluation = logs.open_log(DATA / "form.eval")
    assert evaluation.fields.filter(doc_id="accepted")["outcome"].item() == "match"


def test_object_is_asked_for_by_its_fields_with_numbers_as_written(run):
    assert run.gold.filter(doc_id="object").select("path", "value").rows() == [
        ("/total", "9.50"), ("/items/0/name", "tea"),
    ]  # fmt: skip
    # The empty list names no value.
    assert run.answers.filter(doc_id="object").select("path", "value").rows() == [
        ("/total", "9.50")
    ]
    assert answer(run, "bad")["status"] == "bad_json"


def test_place_in_the_metadata_is_where_a_sample_stands(run):
    assert answer(run, "scan_7")["path"] == "/total"
    assert run.gold.filter(doc_id="plain").select("writing", "fields").row(0) == ("hand", "9")


@pytest.mark.parametrize(
    ("doc_id", "status", "error"),
    [
        ("failed", "api_error", "the server closed the connection"),
        ("cut", "truncated", "max_tokens"),
        ("refused", "refused", "content_filter"),
    ],
)
def test_failed_sample_keeps_its_row_and_its_reason(run, doc_id, status, error):
    row = answer(run, doc_id)
    assert (row["status"], row["value"]) == (status, None)
    assert error in run.responses.filter(doc_id=doc_id)["error"].item()


def test_letters_and_scores_of_several_values_are_numbers(run):
    value = dict(run.scores.filter(scorer="match").select("doc_id", "value").rows())
    assert (value["plain"], value["wrong"], value["half"], value["refused"]) == (1, 0, 0.5, 0)
    assert value["failed"] is None
    correct = dict(run.scores.filter(scorer="match").select("doc_id", "correct").rows())
    assert (correct["plain"], correct["wrong"], correct["half"]) == (True, False, None)
    assert set(run.scores["scorer"]) == {"match", "close/letters", "close/words"}
    # The scorer that says how a model graded is one that asked a model.
    assert run.judged == {"close"}


def test_what_is_stated_is_over_the_samples_that_did_not_fail(run):
    # C: plain, accepted, scan_7; P: half; I or N: wrong, object, bad, long, cut, refused.
    stated = {figure["metric"]: figure for figure in run.headline if figure["scorer"] == "match"}
    assert stated["accuracy"]["value"] == pytest.approx(3.5 / 10)
    assert stated["accuracy"]["n"] == 10


def test_epochs_are_runs_of_their_own():
    first, second = inspect.read(DATA / "epochs.eval")
    assert (first.system, second.system) == ("mockllm/model, epoch 1", "mockllm/model, epoch 2")
    assert first.answers.height == second.answers.height == 2
    with pytest.raises(DataBroken, match="holds 2 runs: mockllm/model, epoch 1"):
        logs.open_log(DATA / "epochs.eval")
    evaluation = logs.open_log(DATA / "epochs.eval", run=second.system, system="second")
    assert evaluation.system == evaluation.cases["system"].unique().item() == "second"


def test_run_that_has_not_ended_is_read_from_its_journal():
    (run,) = inspect.read(DATA / "unfinished.eval")
    assert run.headline == ()
    assert run.notes == {inspect.UNFINISHED: 1, logs.MISSING: 7}
    assert logs.join_report(logs.open_log(DATA / "unfinished.eval")) == {
        "matched": 4, "missing": 7, "duplicate": 0, "failed": 2, "unreadable": 0,
    }  # fmt: skip


def repack(source, target, change):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)


def test_sample_that_cannot_be_read_is_counted_and_the_others_are_there(tmp_path):
    file = tmp_path / "broken.eval"
    repack(DATA / "form.eval", file, lambda name, data: b"{" if "wrong" in name else data)
    report = logs.join_report(logs.open_log(file))
    assert (report["unreadable"], report["missing"], report["matched"]) == (1, 1, 10)


def test_log_that_was_cut_off_is_one_clear_error(tmp_path):
    file = tmp_path / "cut.eval"
    file.write_bytes((DATA / "form.eval").read_bytes()[:4000])
    with pytest.raises(DataBroken, match=r"no zip file.*cut\.eval.*Try: a whole copy"):
        logs.read(file)


def test_member_without_header_or_samples_is_one_clear_error(tmp_path):
    file = tmp_path / "a.eval"
    repack(DATA / "form.eval", file, lambda n, d: None if n.startswith(("header", "_j")) else d)
    with pytest.raises(DataBroken, match=r"has header\.json or"):
        logs.read(file)
    repack(DATA / "form.eval", file, lambda n, d: None if n.startswith("samples") else d)
    with pytest.raises(DataBroken, match="the log has no samples"):
        logs.read(file)


def test_older_log_with_one_score_and_no_completion_is_read(tmp_path):
    def older(name, data):
        if not name.startswith("samples/plain"):
            return data if not name.startswith("samples/") else None
        sample = json.loads(data)
        sample["score"] = sample.pop("scores")["match"] | {"value": "yes"}
        del sample["output"]["completion"]
        message = sample["output"]["choices"][0]["message"]
        message["content"] = [{"type": "text", "text": "Ada Berg"}, {"type": "image"}]
        return json.dumps(sample)

    repack(DATA / "form.eval", tmp_path / "old.eval", older)
    (run,) = inspect.read(tmp_path / "old.eval")
    assert run.scores.select("scorer", "value").rows() == [("score", 1.0)]
    assert run.answers["value"].item() == "Ada Berg"


def test_names_and_contents_tell_the_format(tmp_path):
    assert inspect.detect(DATA / "form.eval")
    assert inspect.detect(DATA / "form.json")
    shutil.copy(DATA / "form.json", tmp_path / "a.eval")
    assert not inspect.detect(tmp_path / "a.eval")
    (tmp_path / "a.json").write_text('{"eval": 1}')
    assert not inspect.detect(tmp_path / "a.json")


# Both logs have 228 samples of fields of FUNSD, of which 23 failed: counted in the archives by
# hand. The figures are those that Inspect printed: .7024 and .8537 over the other 205.
@pytest.mark.parametrize(("name", "right"), [("gamma", 144), ("delta", 175)])
def test_real_log_has_both_figures(shared, name, right):
    evaluation = logs.open_log(shared / "data" / "logs" / "inspect" / f"{name}.eval")
    figures = logs.headlines(evaluation)
    rows = {(row["by"], row["over"]): (row["value"], row["n"]) for row in figures.to_dicts()}
    assert rows["log, as stated", "scored"] == (pytest.approx(right / 205), 205)
    assert rows["log", "scored"] == (pytest.approx(right / 205), 205)
    assert rows["log", "all"] == (pytest.approx(right / 228), 228)
    assert rows["formlab", "scored"][1] == 205
    assert rows["formlab", "all"][1] == 228
    # What failed is wrong for formlab, so that both of its figures have the same numerator.
    counts = {over: value * n for (by, over), (value, n) in rows.items() if by == "formlab"}
    assert counts["scored"] == pytest.approx(counts["all"])


def test_real_log_joins_with_funsd(shared):
    file = shared / "data" / "logs" / "inspect" / "gamma.eval"
    own = logs.open_log(file)
    joined = logs.open_log(file, "funsd", root=shared / "data" / "funsd")
    # Of 199 forms the samples ask for 12, all of the training set.
    assert (joined.benchmark, joined.split, joined.documents.height) == ("funsd", "train", 12)
    assert logs.join_report(joined) == logs.join_report(own) == {
        "matched": 228, "missing": 0, "duplicate": 0, "failed": 23, "unreadable": 0,
    }  # fmt: skip
    # The gold of both is the same, and so is every figure.
    assert logs.headlines(joined).equals(logs.headlines(own))
    boxes = joined.fields.filter(pl.col("x0").is_null())
    assert boxes.height == 0
    why = logs.differences(joined)["why"].value_counts(sort=True).rows()
    assert why == [
        ("api_error: left out of the log's mean, counted as wrong by formlab", 23),
        ("normalisation: punctuation", 17),
    ]


def test_real_log_joins_by_the_names_of_its_samples(shared, tmp_path):
    file = tmp_path / "gamma.eval"

    def without(name, data):
        if not name.startswith("samples/"):
            return data
        sample = json.loads(data)
        return json.dumps(sample | {"metadata": {}, "events": []})

    repack(shared / "data" / "logs" / "inspect" / "gamma.eval", file, without)
    # The ids alone, such as 0000971160/entities/11, spell document and field.
    root = shared / "data" / "funsd"
    joined = logs.open_log(file, "funsd", root=root, split="train", documents="all")
    assert logs.join_report(joined)["matched"] == 228
    # With all documents, what the log does not ask for is missing.
    assert joined.documents.height == 149
    assert joined.fields.height > 5000
    assert joined.fields.filter(pl.col("log_scorer").is_not_null()).height == 228
