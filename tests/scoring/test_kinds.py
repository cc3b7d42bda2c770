"""What scoring decides by all documents is the same for shards of them."""

import dataclasses
import random

import polars as pl
import pytest

import formlab
from formlab import analysis, tables
from formlab.scoring import part
from formlab.scoring.causes import causes
from formlab.scoring.kinds import Kinds

COLUMNS = list(tables.KEYS["cases"])


@pytest.fixture
def shards_of(monkeypatch):
    """A corpus and predictions scored in shards of at most so many records."""

    def scored(corpus, predictions, records, **how):
        monkeypatch.setattr(part, "SHARD", records)
        return formlab.evaluate(corpus, predictions, **how)

    return scored


# What comes with formlab: no engine reads a page here.
READ = {"funsd": "ocr", "formcraft": "rules", "vrdu": "rules", "fincriticaled": "ocr"}


@pytest.mark.parametrize(("benchmark", "system"), READ.items(), ids=READ)
def test_shards_are_scored_as_the_whole(benchmark, system, shards_of):
    sample = analysis.open_evaluation(benchmark=benchmark, system=system)
    both = sample.corpus, sample.predictions
    whole, split = (shards_of(*both, size, mode=sample.mode) for size in (10**6, 1))
    assert len(list(whole.shards())) == 1
    assert len(list(split.shards())) == sample.documents.height
    assert split.documents.equals(whole.documents)
    key = [*COLUMNS, "metric", "slice_by", "slice_value"]
    order = {"cases": COLUMNS, "scores": [name for name in key if name in tables.SCORES]}
    for table, by in order.items():
        sides = [getattr(each, table).sort(by) for each in (whole, split)]
        assert sides[0].equals(sides[1]), table
    assert (split.notes, split.settings) == (whole.notes, whole.settings)


def test_strange_documents_and_a_choice_are_those_of_the_whole(shards_of):
    gold = [{"doc_id": name, "total": "1"} for name in "abc"]
    answers = [{"doc_id": name, "total": "1"} for name in "bcxy"]
    corpus, predictions = formlab.readers.pair(gold, answers)
    whole = formlab.evaluate(corpus, predictions, documents="answered")
    split = shards_of(corpus, predictions, 1, documents="answered")
    assert len(list(split.shards())) == 2
    assert split.notes == whole.notes
    assert split.cases.sort(COLUMNS).equals(whole.cases.sort(COLUMNS))
    assert set(split.cases.filter(outcome="unscored")["doc_id"]) == {"b", "c", "x", "y"}
    assert split.scores["settings"].struct.field("documents").null_count() == 0


def test_kinds_of_shards_are_those_of_the_whole():
    gold = [{"doc_id": "a", "total": "1", "items": [{"name": "Tea"}]}, {"doc_id": "b", "total": ""}]
    answers = [{"doc_id": "a", "total": "1"}, {"doc_id": "b", "items": [{"name": "x"}]}]
    corpus, predictions = formlab.readers.pair(gold, answers)
    whole = Kinds.of(corpus, predictions)
    several = []
    for doc in corpus.documents["doc_id"]:
        both = (
            dataclasses.replace(side, records=side.records.filter(doc_id=doc))
            for side in (corpus, predictions)
        )
        several.append(Kinds.of(*both))
    for order in (several, several[::-1]):
        together = Kinds.together(order)
        assert together.gold.equals(whole.gold)
        assert together.answers.equals(whole.answers)
        assert together.words.table.equals(Kinds.together([whole]).words.table)
        assert together.fields == whole.fields
    assert whole.fields["/items/*/name"] == "string"
    assert whole.gold.filter(pl.col("path") == "").height == 1


def test_dates_are_read_as_in_the_whole_corpus(shards_of):
    # Three forms show that the day comes first; the last one shows nothing.
    dates = ["31/12/2020", "30/11/2020", "29/10/2020", "05/06/2020"]
    gold = [{"doc_id": str(n), "due": date} for n, date in enumerate(dates)]
    answers = [{"doc_id": str(n), "due": "5 June 2020"} for n in range(4)]
    both = formlab.readers.pair(gold, answers, types={"due": "date"})
    for records in (10**6, 1):
        assert shards_of(*both, records).cases.filter(path="/due", doc_id="3")["typed"].item()


def _named(doc: int) -> dict:
    return {"doc_id": str(doc), "number": f"no{doc:05}x", "name": "Ada Berg", "total": f"{doc}.50"}


def test_words_kept_do_not_grow_with_right_fields():
    heights = []
    for count in (30, 300):
        gold = [_named(doc) for doc in range(count)]
        # Wrong in a letter, in case alone, and wholly.
        wrong = {1: {"number": "no0o001x"}, 2: {"name": "ADA BERG"}, 3: {"name": "Adu Berg"}}
        answers = [form | wrong.get(doc, {}) for doc, form in enumerate(gold)]
        shards = [
            Kinds.of(*formlab.readers.pair(gold[at:end], answers[at:end])).counted()
            for at, end in ((0, count // 2), (count // 2, count))
        ]
        heights.append(Kinds.together(shards).words.table.height)
    assert heights[0] == heights[1] <= 3


@pytest.mark.parametrize("listed", [False, True])
def test_words_kept_name_the_causes_that_all_words_name(listed):
    draw = random.Random(int(listed))
    known = ["Adler", "adler", "Bergs", "(Quay)", "Moss-7", "x12345", "999999", "Straße", "Teas"]

    values = [[draw.choices(known, k=draw.randint(1, 3)) for _ in range(4)] for _ in range(60)]

    def slipped(words: list[str]) -> str:
        words = list(words)
        if draw.random() < 0.3:
            words[0] = words[0][:-1] + draw.choice("aeZ1") + draw.choice("kvw")
        return " ".join(words)

    def forms() -> list[dict]:
        made = []
        for doc, drawn in enumerate(values):
            texts = list(map(slipped, drawn))
            fields = {f"field{place}x": text for place, text in enumerate(texts)}
            fields = {"items": [{"name": text} for text in texts]} if listed else fields
            made.append({"doc_id": str(doc)} | fields)
        return made

    both = formlab.readers.pair(forms(), forms())
    corpus, predictions = both
    cases = formlab.evaluate(*both).cases
    shards = []
    for docs in (pl.col("doc_id").cast(pl.Int64) % 3 == place for place in range(3)):
        sides = (dataclasses.replace(s, records=s.records.filter(docs)) for s in both)
        shards.append(Kinds.of(*sides).counted())
    words = Kinds.together(shards).words
    assert words.table.height < Kinds.of(corpus, predictions).words.table.height
    named = causes(cases, words=words)
    assert named == causes(cases) == cases["cause"].to_list()
    assert named.count("label_error") > 2
