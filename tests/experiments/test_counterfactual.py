"""Copies of pages with one value changed, and what systems known by construction follow there."""

import re
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
import yaml

from formlab.systems import System
from formlab_experiments import counterfactual_corpus, follows, leaning, read_and_score
from formlab_experiments.counterfactual import CHANGES, variants
from formlab_experiments.redrawn import Templates
from formlab_experiments.relations import apart, relations_of
from tests.made_relations import content, form

NAMES = [f"bill{number}" for number in range(6)]
# In print, which is drawn sooner than a hand: of these pages nothing is looked at.
PLAIN = {"face": "sans", "fill": {"face": "upright-hand", "size": 15}}


@pytest.fixture(scope="module")
def pages():
    return Templates([form(name, pens=PLAIN) for name in NAMES], seed=1)


@pytest.fixture(scope="module")
def made(pages, tmp_path_factory):
    out = tmp_path_factory.mktemp("copies")
    return counterfactual_corpus(pages, out=out, seed=3, draw=False), out


def following(corpus, choose):
    """A system that answers the field and the check by what `choose` makes of a document."""
    gold = corpus.records.filter(pl.col("task") != "layout")

    def read(document, root):
        rows = gold.filter(doc_id=document["doc_id"]).to_dicts()
        answer = choose(document)
        for row in rows:
            if row["path"] in (document["dependent"], document["item"]):
                row["value"] = answer
        names = ("task", "path", "kind", "page", "x0", "y0", "x1", "y1", "value")
        return [{name: row[name] for name in names} for row in rows if row["value"] is not None]

    return System("chosen", "follows", lambda settings, threads: read, images=False)


def test_each_copy_changes_what_it_says_and_all_values_are_apart(pages):
    for relation in relations_of(pages.corpus):
        copies = {each.change: each for each in variants(pages, relation, seed=3)}
        if relation.dependent is None:
            assert list(copies) == ["original", "source"]
            assert copies["source"].prior == relation.expected != copies["source"].evidence
            continue
        assert tuple(copies) == CHANGES
        last = copies["contradicted"]
        for value, other in combinations([last.evidence, last.ink, last.prior], 2):
            assert apart(value, [other])
        both = copies["consistent"]
        assert both.evidence == both.ink == last.evidence
        assert copies["source"].ink == copies["original"].ink
        assert copies["blank"].ink == ""
        assert relation.dependent not in copies["source"].values


def test_gold_is_what_stands_on_the_copy_and_the_check_expects_the_evidence(made):
    corpus, _ = made
    # Three checks with six copies and a question with two, on each page.
    assert corpus.documents.height == len(NAMES) * (3 * 6 + 2)
    rows = corpus.documents.filter(pl.col("dependent").is_not_null()).to_dicts()
    gold = corpus.records.select("doc_id", "path", "value").rows()
    values = {(doc_id, path): value for doc_id, path, value in gold}
    for row in rows:
        assert values[row["doc_id"], row["dependent"]] == row["ink"]
        assert values[row["doc_id"], row["item"]] == row["evidence"]
    sums = [row for row in rows if row["relation"] == "sum"]
    for row in sums:
        parts = [float(values[row["doc_id"], f"/Bill/{name}"]) for name in ("Parts", "Work")]
        assert f"{sum(parts):.2f}" == row["evidence"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # By change: what stands in the field, what the sources say, what stood there before.
        ("ink", {"source": "ink", "dependent": "ink", "contradicted": "ink", "blank": "none"}),
        ("evidence", dict.fromkeys(("source", "dependent", "contradicted", "blank"), "evidence")),
        ("prior", {"source": "ink", "dependent": "evidence", "contradicted": "prior",
                   "blank": "prior"}),
    ],
)  # fmt: skip
def test_system_that_follows_one_thing_comes_out_as_such(made, tmp_path, name, expected):
    corpus, _ = made
    prior = {
        (row["page_of"], row["item"]): row["prior"]
        for row in corpus.documents.filter(change="original").to_dicts()
    }

    def choose(row):
        return prior[row["page_of"], row["item"]] if name == "prior" else row[name]

    evaluation = read_and_score(corpus, following(corpus, choose), out=tmp_path)
    answers = follows(evaluation).filter(asked="field")
    for change, what in expected.items():
        assert answers.filter(change=change)["follows"].unique().to_list() == [what], change
    if name != "prior":
        (row,) = leaning(answers).to_dicts()
        assert row["leans"] == name
        assert answers.filter(change="consistent")["follows"].unique().to_list() == ["both"]


def test_python_of_the_guide_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/experiments/counterfactual.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    folder = tmp_path / "my" / "templates"
    folder.mkdir(parents=True)
    (folder / "bill.yaml").write_text(yaml.safe_dump(content(), sort_keys=False))
    monkeypatch.chdir(tmp_path)
    silent = System("silent", "reads nothing", lambda *_: lambda *_: [], images=False)
    names = {"silent": silent}
    exec(code.replace('"chat:MODEL"', "silent").replace('"my/', f'"{tmp_path}/my/'), names)
    assert names["corpus"].documents.height == 20
