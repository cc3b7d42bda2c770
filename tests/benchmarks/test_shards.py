"""Shards of a split are its corpus, wherever it is cut and whoever opens them."""

import json
from collections import Counter
from functools import partial

import polars as pl
import pytest

from formlab import benchmarks
from formlab.benchmarks import Benchmark, funsd, omniai
from formlab.errors import DataBroken

REAL = {
    "funsd": ("funsd", "test"), "sroie": ("sroie", "train"), "formfactory": ("formfactory", "all"),
    "formcraft": ("funsd", "test"), "vrdu": ("vrdu", None),
}  # fmt: skip


def together(shards):
    """Documents, records, flaws and sources of corpora that follow one another."""
    shards, flaws, sources = list(shards), Counter(), {}
    for shard in shards:
        flaws.update(shard.flaws)
        sources |= shard.sources
    documents, records = (pl.concat([getattr(s, t) for s in shards]) for t in shards[0].TABLES)
    return documents, records, dict(sorted(flaws.items())), sources


def same(corpus, shards):
    documents, records, flaws, sources = together(shards)
    assert documents.equals(corpus.documents)
    assert records.equals(corpus.records)
    assert flaws == corpus.flaws
    assert sources == corpus.sources


def opened(name, **how):
    """What workers open that get the shards as plain data."""
    return map(benchmarks.open_shard, json.loads(json.dumps(benchmarks.shards_of(name, **how))))


@pytest.mark.parametrize("records", [1, 300, 1e9])
@pytest.mark.parametrize("name", ["fincriticaled", "formcraft", "formfactory", "funsd", "vrdu"])
def test_shards_of_samples_are_the_corpus(name, records):
    corpus = benchmarks.load(name)
    shards = list(benchmarks.shards(name, records=records))
    same(corpus, shards)
    same(corpus, opened(name, records=records))
    large = [s for s in shards if s.records.height > records]
    assert all(shard.documents.height == 1 for shard in large)
    assert len(shards) == (corpus.documents.height if records == 1 else 1) or records == 300


@pytest.mark.parametrize("name", REAL)
def test_shards_of_real_data_are_the_corpus(name, shared):
    folder, split = REAL[name]
    how = {"root": shared / "data" / folder, "split": split}
    corpus = benchmarks.load(name, **how)
    same(corpus, benchmarks.shards(name, records=1_000, **how))
    same(corpus, opened(name, records=5_000, **how))


def test_shards_of_a_plugin_that_reads_whole_corpora_are_cut(monkeypatch):
    corpus = benchmarks.load("funsd")
    plugin = Benchmark(name="funsd", read=funsd.read, splits={"test": 8})
    monkeypatch.setattr(benchmarks, "get", lambda _: plugin)
    for records in (1, 300, 1e9):
        same(corpus, benchmarks.shards("funsd", records=records))
    assert len(list(benchmarks.shards("funsd", records=1))) == corpus.documents.height
    same(corpus, opened("funsd"))


def test_items_of_equal_names_keep_them_in_every_shard(tmp_path):
    item = {"trueJsonOutput": {"a": 1}, "trueMarkdownOutput": "1", "imageUrl": "x/form.png"}
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps([item, item]))
    reader = omniai.reader("test", tmp_path)
    names = [name for shard in reader.shards(1) for name in shard.documents["doc_id"]]
    assert names == ["form", "form_2", "form_3", "form_4"]
    assert reader.corpus(1, 2).documents["doc_id"].to_list() == names[2:]


def test_what_is_broken_is_reported_when_its_shard_is_opened(tmp_path):
    folder = tmp_path / "testing_data" / "annotations"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"form": []}')
    (folder / "b.json").write_text('{"form": []}')
    (folder / "c.json").write_text("{")
    shards = benchmarks.shards("funsd", root=tmp_path, records=1, strict=True)
    assert next(shards).documents["doc_id"].to_list() == ["a"]
    with pytest.raises(DataBroken, match=r"c\.json:1"):
        next(shards)


def test_a_split_without_documents_is_an_error_as_a_whole_only(tmp_path):
    (tmp_path / "testing_data" / "annotations").mkdir(parents=True)
    for load in (benchmarks.load, lambda *a, **k: list(benchmarks.shards(*a, **k))):
        with pytest.raises(DataBroken, match="no annotation files"):
            partial(load, "funsd", root=tmp_path, split="test")()
