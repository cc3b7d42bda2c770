"""A file of gold that was left out is told, with the reason, wherever the scores go."""

import pytest

from formlab import benchmarks, charts, show
from formlab.folders import Corpus, Evaluation, Predictions
from formlab.scoring import many, part
from formlab.scoring.evaluate import evaluate
from formlab.tables import table

FILE = "testing_data/annotations/c.json"
WHAT = "Object missing required field `form`"
REASON = f"{WHAT} ({FILE}). Try: an object with a list 'form' of entities"


@pytest.fixture
def root(funsd_root):
    """Two forms that can be read, `a` and `b`, and one that cannot, `c`."""
    (funsd_root / FILE).write_text("{}")
    return funsd_root


@pytest.fixture
def run(root, tmp_path):
    """Answers to all three of them."""
    rows = [{"doc_id": doc, "path": "/entities/0", "value": "Name:"} for doc in "abc"]
    same = {"benchmark": "funsd", "split": "test", "role": "prediction", "system": "s"}
    records = table("records", rows, task="text", status="ok", **same)
    return Predictions(records, table("responses", []), "s").save(tmp_path / "run")


def test_it_stays_in_a_corpus_that_is_saved_cut_and_put_together(root, tmp_path):
    corpus = benchmarks.load("funsd", root=root, split="test")
    assert corpus.unreadable == {FILE: REASON}
    assert corpus.flaws["documents unreadable"] == 1
    assert Corpus.load(corpus.save(tmp_path / "corpus")).unreadable == corpus.unreadable
    for shards in (
        list(benchmarks.shards("funsd", root=root, split="test", records=1)),
        [benchmarks.open_shard(each) for each in
         benchmarks.shards_of("funsd", root=root, split="test", records=1)],
    ):  # fmt: skip
        assert len(shards) > 1
        assert {name: why for each in shards for name, why in each.unreadable.items()} == {
            FILE: REASON
        }
    assert "documents unreadable: 1" in show.html(corpus)
    assert f"left out: {FILE}: {WHAT}" in show.html(corpus)


def test_it_stays_in_an_evaluation_of_one_piece_and_of_shards(root, run, tmp_path):
    corpus, answers = benchmarks.load("funsd", root=root, split="test"), Predictions.load(run)
    whole = evaluate(corpus, answers)
    cut = many.score(many.pairs(corpus, answers), tmp_path / "cut")
    saved = Evaluation.load(whole.save(tmp_path / "whole"))
    assert whole.unreadable == cut.unreadable == saved.unreadable == {FILE: REASON}
    assert whole.notes["gold: documents unreadable"] == cut.notes["gold: documents unreadable"] == 1
    assert FILE in str(charts.first_screen(whole))
    assert FILE in str(charts.notes_table(whole))


def test_commands_say_it(root, run, tmp_path, formlab, monkeypatch):
    score = ("score", "funsd", "--root", root, "--predictions", run, "--resamples", "0", "--json")
    whole = formlab(*score)
    assert whole.exit_code == 0, whole.output
    assert f"left out: {FILE}: {WHAT}" in whole.stderr
    monkeypatch.setattr(part, "SHARD", 1)
    folders = [tmp_path / name for name in ("one", "two")]
    for workers, folder in enumerate(folders, start=1):
        cut = formlab(*score, "--workers", workers, "--out", folder)
        assert cut.exit_code == 0, cut.output
        assert cut.stdout == whole.stdout
        assert f"left out: {FILE}" in cut.stderr
        assert Evaluation.load(folder).unreadable == {FILE: REASON}
    one, two = (
        {f.relative_to(folder): f.read_bytes() for f in folder.rglob("*.parquet")}
        for folder in folders
    )
    assert one == two


def test_shards_of_which_none_can_be_read_are_an_error_with_the_first_reason(
    root, run, tmp_path, formlab, monkeypatch
):
    monkeypatch.setattr(part, "SHARD", 1)
    for stem in "abc":
        (root / f"testing_data/annotations/{stem}.json").write_text("{")
    done = formlab("score", "funsd", "--root", root, "--predictions", run, "--out", tmp_path / "e")
    assert done.exit_code == 2
    assert "no document can be read, the first of 3: broken JSON" in done.stderr
