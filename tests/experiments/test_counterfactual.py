"""Copies of pages with one value changed, and what systems known by construction follow there."""

import dataclasses
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from PIL import Image, ImageChops

import formlab
from formlab import resources
from formlab.systems import System
from formlab_experiments import (
    Scans,
    counterfactual_corpus,
    follows,
    leaning,
    read_and_score,
    relations_of,
    shares,
)
from formlab_experiments.counterfactual import CHANGES, variants
from formlab_experiments.followed import FOLLOWED, interval
from formlab_experiments.forms.content import check
from formlab_experiments.forms.formcraft import Form
from formlab_experiments.forms.paper import Paper, Pen
from formlab_experiments.forms.scan import Scan, scan_page
from formlab_experiments.ink import replace_ink
from formlab_experiments.redrawn import Templates
from formlab_experiments.relations import apart

BILL = yaml.safe_load(Path(__file__).with_name("bill.yml").read_text("utf-8"))


def form(name="bill", **more):
    """A small form with relations; see `bill.yml`."""
    return check({"name": name} | BILL | more, Form, where="here")


NAMES = [f"bill{number}" for number in range(6)]
# In print, which is drawn sooner than a hand: of these pages nothing is looked at.
PLAIN = {"face": "sans", "fill": {"face": "upright-hand", "size": 15}}


@pytest.fixture(scope="module")
def pages():
    return Templates([form(name, pens=PLAIN) for name in NAMES], seed=1)


@pytest.fixture(scope="module")
def made(pages, tmp_path_factory):
    out = tmp_path_factory.mktemp("copies")
    return counterfactual_corpus(pages, out=out, seed=3, draw=False)


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
    corpus = made
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


# By what a system follows: what its answers equal in each copy.
BY_SYSTEM = {
    "ink": {"source": "ink", "dependent": "ink", "contradicted": "ink", "blank": "none"},
    "evidence": dict.fromkeys(("source", "dependent", "contradicted", "blank"), "evidence"),
    "prior": {"source": "ink", "dependent": "evidence", "contradicted": "prior", "blank": "prior"},
}


@pytest.mark.parametrize("name", BY_SYSTEM)
def test_system_that_follows_one_thing_comes_out_as_such(made, tmp_path, name):
    originals = made.documents.filter(change="original").to_dicts()
    prior = {(row["page_of"], row["item"]): row["prior"] for row in originals}

    def choose(row):
        return prior[row["page_of"], row["item"]] if name == "prior" else row[name]

    evaluation = read_and_score(made, following(made, choose), out=tmp_path)
    answers = follows(evaluation).filter(asked="field")
    found = {
        change: answers.filter(change=change)["follows"].unique().to_list()
        for change in (*BY_SYSTEM[name], "consistent")
    }
    assert found.pop("consistent") == ["both"] or name == "prior"
    assert found == {change: [what] for change, what in BY_SYSTEM[name].items()}
    assert name == "prior" or leaning(answers)["leans"].to_list() == [name]


def test_python_of_the_guide_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/experiments/counterfactual.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    folder = tmp_path / "my" / "templates"
    folder.mkdir(parents=True)
    (folder / "bill.yaml").write_text(yaml.safe_dump({"name": "bill"} | BILL, sort_keys=False))
    monkeypatch.chdir(tmp_path)
    silent = System("silent", "reads nothing", lambda *_: lambda *_: [], images=False)
    names = {"silent": silent}
    exec(code.replace('"chat:MODEL"', "silent").replace('"my/', f'"{tmp_path}/my/'), names)
    assert names["corpus"].documents.height == 20


COPY = {"page_of": "p", "relation": "sum", "item": "/consistency/c1", "dependent": "/total"}


def evaluated(copies):
    """Of copies with evidence, ink, prior and an answer each, as money."""
    gold = {str(n): {"total": ink or ""} for n, (_, ink, _, _) in enumerate(copies)}
    answers = {str(n): {"total": answer} for n, (*_, answer) in enumerate(copies)}
    done = formlab.evaluate(gold, answers)
    names = ("evidence", "ink", "prior")
    rows = [
        COPY | {"doc_id": str(n), "change": "contradicted"} | dict(zip(names, copy, strict=False))
        for n, copy in enumerate(copies)
    ]
    own = pl.DataFrame(rows, schema_overrides=dict.fromkeys(names, pl.String))
    documents = done.documents.join(own, on="doc_id", how="left", maintain_order="left")
    return dataclasses.replace(done, documents=documents)


# Evidence, ink, prior and the answer of a copy, and what the answer follows.
COPIES = {
    ("9.00", "7.00", "5.00", "9.00"): "evidence", ("9.00", "7.00", "5.00", "7.00"): "ink",
    ("9.00", "7.00", "5.00", "5.00"): "prior", ("9.00", "7.00", "5.00", "4.00"): "other",
    # The same amount, written otherwise.
    ("9.00", "7.00", "5.00", "9"): "evidence", ("9.00", "9.00", "5.00", "9.00"): "both",
    ("9.00", "7.00", "7.00", "7.00"): "ink", ("9.00", "", "5.00", "5.00"): "prior",
    (None, "7.00", "5.00", "5.00"): "prior", ("9.00", "7.00", None, "5.00"): "other",
}  # fmt: skip


def test_answer_follows_what_it_equals():
    found = follows(evaluated(COPIES)).sort(pl.col("doc_id").cast(int))
    assert found["follows"].to_list() == list(COPIES.values())


def test_shares_of_a_group_sum_to_one_and_count_pages():
    answers = pl.DataFrame(
        {"page_of": ["a", "a", "b"], "change": "source", "follows": ["ink", "evidence", "ink"]}
    )
    table = shares(answers, ["change"])
    assert table["follows"].to_list() == list(FOLLOWED)
    assert table["share"].sum() == pytest.approx(1)
    assert set(table["n_units"]) == {2}
    assert table.filter(follows="ink")["share"].item() == pytest.approx(2 / 3)
    one = shares(answers.filter(page_of="b"), ["change"])
    assert one["ci_low"].is_nan().all()


@pytest.mark.parametrize(("share", "spread"), [(0.5, 0.3), (0.9, 0.1), (0.05, 0.05)])
def test_interval_covers_the_share_over_500_seeds(share, spread):
    inside = 0
    for seed in range(500):
        draw = np.random.default_rng(seed)
        alpha = share * (share * (1 - share) / spread**2 - 1)
        beta = alpha * (1 - share) / share
        totals = draw.integers(3, 7, 14)
        hits = draw.binomial(totals, draw.beta(alpha, beta, 14))
        low, high = interval(hits, totals, 0.95)
        inside += low <= share <= high
    # At 95 %, 464 or fewer have a chance of 1.3 %.
    assert inside >= 465


def test_leaning_needs_pages_and_is_adjusted_for_all_groups():
    pages = [f"p{n}" for n in range(6)]
    rows = [
        {"page_of": page, "relation": relation, "change": "contradicted", "follows": follows}
        for relation, follows in (("sum", "ink"), ("date", "evidence"), ("copy", "other"))
        for page in pages
    ]
    table = leaning(pl.DataFrame(rows), ["relation"])
    by = {row["relation"]: row for row in table.to_dicts()}
    # 2 of the 2^6 ways to swap six pages are as extreme.
    assert by["sum"]["p"] == by["date"]["p"] == 2 / 64
    assert by["sum"]["p_adjusted"] == pytest.approx(3 * 2 / 64)
    assert by["sum"]["leans"] is None
    assert by["copy"]["difference"] == 0
    assert leaning(pl.DataFrame(rows[:6]), ["relation"])["leans"].to_list() == ["ink"]


def written(face="sans", size=17, *, shade=20, rule=False):
    """A grey page with an amount on it, and the box of the amount."""
    paper = Paper(320, 80, seed="1")
    paper.text("Total", 20, 20, Pen("serif", size))
    amount = paper.text("1,482.50", 120, 20, Pen(face, size, shade=shade))
    if rule:
        paper.rule(100, 46, 300, 46, width=2)
    (word,) = amount.words
    return scan_page(paper, Scan(blur=0.5, noise=0.04)), word.box


@pytest.mark.parametrize("face", ["serif", "mono", "narrow"])
def test_font_and_shade_are_those_of_the_ink(face):
    page, box = written(face, shade=90)
    done = replace_ink(page, box, "1,482.50", "7,936.50")
    assert done.match.face == face
    assert done.match.fit > 0.85
    before, after = (np.percentile(np.asarray(i)[10:50, 110:210], 3) for i in (page, done.image))
    assert after == pytest.approx(before, abs=25)


PATHS = ["/Bill/Total", "/Bill/Work"]


@pytest.fixture(scope="module")
def bill_pages():
    return Templates([form()], seed=1)


def drawn(bill_pages, values, legible=PATHS):
    page = bill_pages.page("bill", values, legible)
    fields = {row["path"]: row for row in page.fields}
    return page.images()[0], fields


@pytest.mark.parametrize("value", ["87.00", "", "1287.00"])
def test_nothing_but_the_value_is_changed(bill_pages, value):
    before, old = drawn(bill_pages, {})
    after, new = drawn(bill_pages, {"/Bill/Total": value})
    x0, y0, x1, y1 = ImageChops.difference(before, after).getbbox()
    places = [row["/Bill/Total"] for row in (old, new)]
    # The scan is blurred and turned.
    assert min(place["x0"] for place in places) - 3 <= x0
    assert min(place["y0"] for place in places) - 3 <= y0
    assert max(place["x1"] for place in places) + 3 >= x1
    assert max(place["y1"] for place in places) + 3 >= y1
    assert new.pop("/Bill/Total")["value"] == value
    # The group of the field ends where its fields do.
    same = {path: row for path, row in new.items() if path != "/Bill"}
    assert same == {path: old[path] for path in same}


def test_relations_of_a_form_are_those_that_can_be_computed():
    corpus = Templates([form()], seed=1).corpus
    found = {each.item: each for each in relations_of(corpus)}
    assert {item: each.relation for item, each in found.items()} == {
        "/consistency/c1": "sum", "/consistency/c2": "date", "/consistency/c3": "copy",
        "/vqa/q1": "product",
    }  # fmt: skip
    total = found["/consistency/c1"]
    assert total.paths == ["/Bill/Parts", "/Bill/Work", "/Bill/Total"]
    # 2.50 and 18.00.
    assert total.implied({"/Bill/Parts": "2.50", "/Bill/Work": "18.00"}) == "20.50"
    assert found["/consistency/c2"].implied({"/Drawn": "25 Dec 2019"}) == "04 Jan 2020"
    assert found["/vqa/q1"].dependent is None


SAMPLE = resources.folder("data") / "sample" / "funsd"


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    bill_pages = Scans(formlab.load("formcraft", root=SAMPLE, split="test"))
    out, kinds = tmp_path_factory.mktemp("scans"), ("date", "number")
    return bill_pages, counterfactual_corpus(bill_pages, out=out, alone=kinds, limit=1, each=1), out


def test_copies_of_scans_have_new_ink_at_their_field_alone(scans):
    bill_pages, corpus, out = scans
    assert set(corpus.documents["change"]) == {"original", "dependent", "blank"}
    for row in corpus.documents.filter(pl.col("change") != "original").to_dicts():
        field = corpus.records.filter(doc_id=row["doc_id"], path=row["dependent"])
        assert field["value"].item() == row["ink"] != row["prior"]
        before = bill_pages.page(row["page_of"], {}, ()).images()[0]
        with Image.open(out / row["image"]) as image:
            ys, xs = np.nonzero(np.asarray(image) != np.asarray(before))
        x0, y0, x1, y1 = field.select("x0", "y0", "x1", "y1").row(0)
        assert x0 - 40 < xs.min() <= xs.max() < x1 + 40
        assert y0 - 20 < ys.min() <= ys.max() < y1 + 20
