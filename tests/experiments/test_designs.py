"""Designed forms: plans, contents, gold on ink, and what the planted system shows on them."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest

import formlab
from formlab import pictures, text
from formlab.folders import Corpus
from formlab.tables import table
from formlab_experiments.designs import (
    FACTORS,
    _fields,
    design,
    design_plan,
    drawn,
)  # fmt: skip
from formlab_experiments.form_contents import Cell, filled
from tests.seeds import ALL

SMALL = {"fields": [6, 12], "kinds": [2, 6], "print": [6, 12]}


def pairs_of(plan, names=tuple(FACTORS)):
    return {
        (a, b): plan.group_by(a, b).len()["len"].to_list()
        for a, b in itertools.combinations(names, 2)
    }


def test_a_full_plan_has_every_combination_equally_often_under_its_own_name():
    plan = design_plan(dict.fromkeys(FACTORS, ()), replicates=2)
    assert plan.height == plan["doc_id"].n_unique() == 4 * 3 * 3 * 4 * 2 * 2
    assert plan.group_by(list(FACTORS)).len()["len"].unique().to_list() == [2]
    assert plan["doc_id"][0] == "f5-k1-n0-p6-h0-r1"


@pytest.mark.parametrize("seed", range(2))
def test_a_fraction_has_pairs_of_levels_almost_equally_often(seed):
    plan = design_plan(dict.fromkeys(FACTORS, ()), runs=48, seed=seed)
    assert plan.height == plan["doc_id"].n_unique() == 48
    for name in FACTORS:
        counts = plan.group_by(name).len()["len"]
        assert counts.max() - counts.min() <= 2
    for counts in pairs_of(plan).values():
        assert max(counts) - min(counts) <= 3
    half = design_plan({"nesting": [0, 1], "print": [6, 12], "handwriting": [0, 1]}, runs=4)
    assert all(set(c) == {1} for c in pairs_of(half, ["nesting", "print", "handwriting"]).values())


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize(("fields", "kinds"), [(5, 1), (7, 3), (40, 4), (40, 6)])
def test_a_form_has_its_fields_and_kinds_and_totals_add_up(fields, kinds, first):
    made = filled(Cell(fields=fields, kinds=kinds), "1/a", first)
    counts = Counter(field.content for field in made)
    assert (len(made), len(counts)) == (fields, kinds)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({field.label for field in made}) == fields
    amounts = {field.label: text.money(field.value)[0] for field in made if "$" in field.value}
    for field in made:
        if field.parts:
            assert amounts[field.label] == sum(amounts[part] for part in field.parts)
    if counts["amount"] > 1:
        assert all(len(field.parts) > 1 for field in made if field.content == "total")
    assert made == filled(Cell(fields=fields, kinds=kinds), "1/a", first)
    assert made != filled(Cell(fields=fields, kinds=kinds), "2/a", first)


def test_the_largest_form_fits_the_page_and_no_two_values_overlap():
    cell = Cell(fields=40, kinds=6, nesting=2, print=12, handwriting=1)
    row = cell._asdict() | {"doc_id": "largest", "first": 0}
    _, page = drawn(row, seed=4)
    (sheet,) = page.sheets
    boxes = [w.box for e in sheet.entities if e.label == "answer" for w in e.words]
    assert all(0 <= x0 < x1 <= 1400 and 0 <= y0 < y1 <= 1700 for x0, y0, x1, y1 in boxes)
    answers = [e.words for e in sheet.entities if e.label == "answer"]
    assert len(answers) == 40
    for one, other in itertools.combinations(answers, 2):
        assert not any(
            min(a.box[2], b.box[2]) - max(a.box[0], b.box[0]) > 0
            and min(a.box[3], b.box[3]) - max(a.box[1], b.box[1]) > 3
            for a in one
            for b in other
        )


@pytest.fixture(scope="module", params=["funsd", "formcraft"] if ALL else ["funsd"])
def experiment(request, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param)
    return out, design(SMALL, out=out, runs=4, seed=2, layout=request.param), request.param


def test_gold_has_the_factors_and_each_value_its_content(experiment):
    out, corpus, layout = experiment
    again = formlab.load(layout, root=out / "forms", split="test")
    assert again.documents["doc_id"].equals(corpus.documents["doc_id"])
    assert not corpus.flaws, corpus.flaws
    assert Corpus.load(out / "corpus").records.equals(corpus.records)
    plan = design_plan(SMALL, runs=4, seed=2)
    for row in plan.to_dicts():
        fields = _fields(row, 2)
        gold = corpus.records.filter(
            pl.col("doc_id") == row["doc_id"], pl.col("content").is_not_null()
        )
        pairs = Counter(zip(gold["content"], gold["value"], strict=True))
        # FUNSD has the mark of a choice, FORMCRAFT the option.
        choice = {"funsd": "x"}.get(layout)
        expected = Counter(
            (f.content, choice if choice and f.content == "choice" else f.value) for f in fields
        )
        assert pairs == expected
        document = corpus.documents.filter(doc_id=row["doc_id"]).row(0, named=True)
        assert {name: document[name] for name in FACTORS} == {name: row[name] for name in FACTORS}
        assert document["page_of"] == row["doc_id"]


def test_gold_lies_on_ink(experiment):
    _, corpus, _ = experiment
    values = corpus.records.filter(pl.col("content").is_not_null())
    images = dict(corpus.documents.select("doc_id", "image").rows())
    for name, image in images.items():
        light = np.asarray(pictures.read_image(corpus.root / image).convert("L"))
        boxes = values.filter(doc_id=name).select("x0", "y0", "x1", "y1").rows()
        for x0, y0, x1, y1 in boxes:
            assert light[int(y0) : int(y1) + 1, int(x0) : int(x1) + 1].min() < 170


def made_gold(plan, seed):
    """The corpus of a plan, of which nothing is drawn."""
    base = {"benchmark": "formcraft", "split": "test"}
    records = [
        (base | {"doc_id": row["doc_id"], "role": "gold", "task": "text", "status": "ok",
                 "path": f"/{field.label}", "kind": "string", "value": field.value}, field.content)
        for row in plan.to_dicts()
        for field in _fields(row, seed)
    ]  # fmt: skip
    contents = pl.Series("content", [content for _, content in records])
    documents = table("documents", [base | {"doc_id": name} for name in plan["doc_id"]])
    own = plan.select("doc_id", pl.col("doc_id").alias("page_of"), *FACTORS)
    return Corpus(
        documents=documents.join(own, on="doc_id", maintain_order="left"),
        records=table("records", [row for row, _ in records]).with_columns(contents),
        benchmark="formcraft", split="test",
    )  # fmt: skip
