"""Which evaluations a history is of, and in which order."""

import os

import pytest

from formlab.analysis.history_folders import corpora, one_corpus, open_history
from formlab.errors import DataMissing, FormlabError, UnknownName
from tests.analysis.made_pairs import from_matrix, made, noise
from tests.analysis.test_history import at


def test_evaluations_open_in_the_order_in_which_they_were_first_saved(tmp_path):
    m = from_matrix("m", noise(0, 0.6))
    for name, time in (("x/late", "2026-02-01"), ("early", "2025-12-31"), ("b", "2026-01-01")):
        at(m, time).save(tmp_path / name)
    at(m, "2026-01-01").save(tmp_path / "a")
    names = ["early", "a", "b", "x/late"]
    assert list(open_history(tmp_path)) == names
    # Saved again under another name, an evaluation keeps its time.
    loaded = open_history(tmp_path / "x")["late"]
    assert loaded.made["at"] == "2026-02-01"
    loaded.save(tmp_path / "c")
    assert list(open_history([tmp_path / "c", tmp_path / "a"])) == ["a", "c"]


def test_an_evaluation_is_dated_when_saved_and_one_without_a_date_by_its_manifest(tmp_path):
    m = from_matrix("m", noise(0, 0.6))
    assert not m.made
    m.save(tmp_path / "new")
    m.save(tmp_path / "old")
    manifest = tmp_path / "old" / "manifest.json"
    text = manifest.read_text()
    start = text.index('"made"')
    manifest.write_text(text[:start] + text[text.index("}", start) + 2 :].lstrip())
    os.utime(manifest, (0, 0))
    opened = open_history(tmp_path)
    assert list(opened) == ["old", "new"]
    assert opened["old"].made["at"].startswith("1970-01-01T00:00:00")
    assert opened["new"].made["formlab"]


def test_a_folder_without_an_evaluation_is_one_error(tmp_path):
    with pytest.raises(DataMissing, match="no evaluation here or in its folders"):
        open_history(tmp_path)
    with pytest.raises(FormlabError, match="no such folder"):
        open_history(tmp_path / "none")


def test_a_corpus_is_a_benchmark_a_split_a_mode_and_its_documents():
    m, n = from_matrix("m", noise(0, 0.6)), from_matrix("m", noise(1, 0.6)[:5])
    other = made("m", [("1", "/a", 1), ("2", "/a", 0)], benchmark="c")
    runs = {"a": m, "few": n, "b": m, "other": other}
    groups = corpora(runs)
    assert {name: list(each) for name, each in groups.items()} == {
        "b:s": ["a", "b"], "b:s, 5 documents": ["few"], "c:s": ["other"],
    }  # fmt: skip
    assert list(one_corpus(runs)) == ["other"]
    assert list(one_corpus(runs, "b:s")) == ["a", "b"]
    with pytest.raises(UnknownName, match="unknown corpus 'b:t'"):
        one_corpus(runs, "b:t")
