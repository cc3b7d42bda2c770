"""Scoring shard by shard on disk gives what scoring in one piece gives."""

import hashlib
import os
import signal
import threading
import time

import polars as pl
import pytest

from formlab import analysis, files
from formlab.errors import DataBroken, DataMissing, UnknownName
from formlab.folders import Evaluation
from formlab.readers import gold as own
from formlab.scoring import many, part
from tests.cluster import cluster
from tests.states import LONG

FORMS, FIELDS = 42, 6
CASES = ["doc_id", "task", "level", "path", "pred_path"]


def files_of(folder):
    """The content of every file of an evaluation but its manifest, which has the time."""
    every = (file for file in folder.rglob("*") if file.is_file())
    named = {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in every}
    del named["manifest.json"]
    return named


def value(form, field):
    return (f"{form + field}.50", f"2024-05-{form % 28 + 1:02}", f"Ada Berg {form}")[field % 3]


def answer(form, field):
    """One in four is wrong in one way or another, and some forms have no answer."""
    right = value(form, field)
    return (right.upper(), right[1:], right + "0", right)[form % 4] if field % 2 else right


@pytest.fixture(scope="module")
def both():
    keys = [(form, field) for form in range(FORMS) for field in range(FIELDS)]
    gold = [
        {"doc_id": f"f{n * 5 % FORMS:02}", "path": f"/v{m}", "value": value(n, m), "who": n % 3}
        for n, m in keys
    ]
    answers = [
        {"doc_id": f"f{n * 5 % FORMS:02}", "path": f"/v{m}", "value": answer(n, m)}
        for n, m in keys
        if n % 9
    ]
    answers.append({"doc_id": "of another corpus", "path": "/v0", "value": "1"})
    return own.pair(pl.DataFrame(gold), pl.DataFrame(answers), columns={"own_who": "who"})


@pytest.fixture(scope="module")
def whole(both):
    return analysis.evaluate(*both)


def scored(both, out, monkeypatch, shards, **options):
    # A form has a record of its page too.
    monkeypatch.setattr(part, "SHARD", -(-FORMS // shards) * (FIELDS + 1))
    return many.score(many.pairs(*both), out, **options)


@pytest.mark.parametrize(("shards", "workers"), [(1, 1), (7, 1), (3, 2)])
def test_results_are_the_same_in_any_number_of_shards(
    both, whole, tmp_path, monkeypatch, shards, workers
):
    evaluation = scored(both, tmp_path / "e", monkeypatch, shards, workers=workers)
    # Beside the documents there is one of which only an answer is known.
    assert len(list(evaluation.shards())) == shards + 1
    assert (evaluation.notes, evaluation.settings) == (whole.notes, whole.settings)
    assert evaluation.documents.equals(whole.documents)
    assert evaluation.cases.sort(CASES).equals(whole.cases.sort(CASES))
    gold, expected = (e.corpus.records.sort("doc_id", "path") for e in (evaluation, whole))
    assert gold.equals(expected)
    for by in (("kind",), ("kind", "own_who", "path")):
        options = {"by": by, "resamples": 50}
        assert analysis.summarise(evaluation, **options).equals(
            analysis.summarise(whole, **options)
        )
    slices = analysis.find_slices(evaluation)
    assert slices.equals(analysis.find_slices(whole))


def test_two_systems_compare_as_in_one_piece(both, whole, tmp_path, monkeypatch):
    corpus = both[0]
    others = own.predictions(
        corpus.records.filter(pl.col("doc_id") < "f30").drop_nulls("path")
        .select("doc_id", "path", "value"), corpus, name="other",
    )  # fmt: skip
    pieces = scored(both, tmp_path / "a", monkeypatch, 7)
    second = scored((corpus, others), tmp_path / "b", monkeypatch, 3)
    monkeypatch.undo()
    table, expected = (
        analysis.compare(pair, metric="normalised_accuracy", by=("kind",), resamples=50)
        for pair in ([pieces, second], [whole, analysis.evaluate(corpus, others)])
    )
    assert table.equals(expected)


@pytest.mark.parametrize(
    "options", [{"limit": 9}, {"documents": "answered"}, {"documents": ["f03", "f40"]}]
)
def test_what_is_chosen_is_chosen_of_the_whole(both, tmp_path, monkeypatch, options):
    evaluation = scored(both, tmp_path / "e", monkeypatch, 7, **options)
    expected = analysis.evaluate(*both, **options)
    assert (evaluation.notes, evaluation.settings) == (expected.notes, expected.settings)
    assert evaluation.documents.equals(expected.documents)
    assert evaluation.cases.sort(CASES).equals(expected.cases.sort(CASES))


def test_errors_are_those_of_the_whole(both, tmp_path, monkeypatch):
    corpus, answers = both
    with pytest.raises(UnknownName, match="unknown document 'f99'"):
        scored(both, tmp_path, monkeypatch, 3, documents=["f99"])
    file = tmp_path / "list.txt"
    file.write_text("f01\nf98\n")
    with pytest.raises(UnknownName, match=r"list\.txt:2"):
        scored(both, tmp_path, monkeypatch, 3, documents=file)
    strangers = own.predictions([{"doc_id": "x", "path": "/v0", "value": "1"}], corpus)
    with pytest.raises(DataBroken) as caught:
        scored((corpus, strangers), tmp_path, monkeypatch, 3)
    with pytest.raises(DataBroken) as expected:
        analysis.evaluate(corpus, strangers)
    assert str(caught.value) == str(expected.value)
    assert not (tmp_path / "manifest.json").exists()
    twice = [(corpus, answers), (corpus, answers)]
    with pytest.raises(DataBroken, match="document 'f00' is in two shards"):
        many.score(twice, tmp_path / "twice")


def test_what_was_interrupted_goes_on_and_keeps_what_is_finished(both, tmp_path, monkeypatch):
    out = tmp_path / "e"
    scored(both, out, monkeypatch, 7)
    before = files_of(out)
    # As if it had been killed while two shards were scored.
    (out / "manifest.json").unlink()
    for name in ("00002", "00005"):
        (out / "shards" / name / "manifest.json").unlink()
        (out / "shards" / name / "cases.parquet").unlink()
        killed = files.part_name("cases").replace(f"-{os.getpid()}-", "-999999999-")
        (out / "shards" / name / killed).touch()
    times = {n: (out / "shards" / n / "scores.parquet").stat().st_mtime_ns for n in ("00001",)}
    with pytest.raises(DataMissing, match="not finished .* the same formlab score again"):
        Evaluation.load(out)
    scored(both, out, monkeypatch, 7)
    assert files_of(out) == before
    for name, written in times.items():
        assert (out / "shards" / name / "scores.parquet").stat().st_mtime_ns == written
    # Of other options or fewer shards nothing is kept.
    evaluation = scored(both, out, monkeypatch, 3, mode="fixed", threshold=0.5)
    assert len(list(evaluation.shards())) == len(list((out / "shards").iterdir())) == 4
    assert evaluation.settings["threshold"] == 0.5


def test_the_old_evaluation_stays_whole_until_a_new_one_takes_its_place(
    both, tmp_path, monkeypatch
):
    out = tmp_path / "e"
    scored(both, out, monkeypatch, 7)
    before = files_of(out)
    score_shard, calls = many.score_shard, []

    def killed(*arguments, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return score_shard(*arguments, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(many, "score_shard", killed)
        scored(both, out, patch, 7, threshold=0.5)
    assert Evaluation.load(out).settings["threshold"] != 0.5
    assert {name: made for name, made in files_of(out).items() if name in before} == before
    scored(both, out, monkeypatch, 7, threshold=0.5)
    assert Evaluation.load(out).settings["threshold"] == 0.5
    assert {path.name for path in out.iterdir()} == {"manifest.json", "shards"}
    # Nothing of what is begun stays beside a newer evaluation.
    (out / ".unfinished").mkdir()
    analysis.evaluate(*both).save(out)
    assert not (out / ".unfinished").exists()


@pytest.mark.complete
def test_on_a_cluster_of_which_a_worker_is_killed_the_files_are_the_same(
    both, tmp_path, monkeypatch
):
    pytest.importorskip("distributed")
    scored(both, tmp_path / "here", monkeypatch, 7)
    expected = files_of(tmp_path / "here")
    with cluster(tmp_path, 2) as (address, processes):
        scored(both, tmp_path / "there", monkeypatch, 7, workers=address)
        assert files_of(tmp_path / "there") == expected

        def kill():
            while not list(
                (tmp_path / "killed" / ".unfinished" / "shards").glob("*/tallies.parquet")
            ):
                time.sleep(0.001)
            os.kill(processes[0].pid, signal.SIGKILL)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        scored(both, tmp_path / "killed", monkeypatch, 7, workers=address)
        thread.join(LONG)
        assert not thread.is_alive()
        assert files_of(tmp_path / "killed") == expected
