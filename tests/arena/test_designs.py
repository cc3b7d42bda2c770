import itertools
import json

import polars as pl
import pytest
from click.testing import CliRunner

from formlab.cli import main
from formlab.folders import Evaluation
from formlab_arena import instances, spec
from formlab_arena.designs import FACTORS, KINDS, web_form, web_plan

PLAN = {"fields": [5, 10], "kinds": [1, 4], "pages": [1, 2], "widgets": ["native", "custom"]}


def test_a_plan_has_every_combination_and_a_fraction_pairs_almost_equally_often():
    plan = web_plan(dict.fromkeys(FACTORS, ()) | {"fields": [8, 16]}, replicates=2)
    assert plan.height == plan["doc_id"].n_unique() == 2 * 4 * 2 * 2 * 2
    assert plan.group_by(list(FACTORS)).len()["len"].unique().to_list() == [2]
    assert plan["doc_id"][0] == "f8k1p1wnativer1"
    half = web_plan(PLAN, runs=8, seed=3)
    for pair in itertools.combinations(FACTORS, 2):
        assert half.group_by(pair).len()["len"].to_list() == [2] * 4


@pytest.mark.parametrize("seed", range(5))
def test_forms_have_the_fields_of_their_plan_and_texts_that_name_every_value(seed, tmp_path):
    plan = web_plan({"fields": [8, 40], "kinds": [1, 8], "pages": [1, 3]}, seed=seed)
    for row in plan.to_dicts():
        form = web_form(row, seed)
        assert form == web_form(row, seed)
        spec.write(form, tmp_path / "form.yaml")
        assert spec.load(tmp_path / "form.yaml") == form
        labels = {field.label for field in form.fields}
        assert len(form.fields) == len(labels) == row["fields"]
        assert len({field.type for field in form.fields}) == row["kinds"]
        sizes = [len(page.fields) for page in form.pages]
        assert len(sizes) == row["pages"]
        assert max(sizes) - min(sizes) <= 1
        task = instances.make(form, 1, seed=seed)
        assert None not in task.values.values()
        assert all(label in task.text for label in labels)


def invoked(*asked):
    return CliRunner().invoke(main, ["arena", "design", *map(str, asked)])


@pytest.mark.browser
@pytest.mark.complete
def test_oracle_fills_in_every_control_of_both_libraries_and_gold_is_complete(tmp_path):
    asked = ("--factors", "fields=8", "kinds=8", "pages=2", "widgets", "--out", tmp_path)
    done = invoked(*asked, "--system", "oracle", "--workers", 2)
    assert done.exit_code == 0, done.output
    head, native, custom, *_ = (line.split() for line in done.stdout.splitlines())
    assert head[:3] == ["term", "value", "share"]
    assert (native[:3], custom[:3]) == (
        ["widgets", "native", "1.0000"], ["widgets", "custom", "1.0000"],
    )  # fmt: skip
    evaluation = Evaluation.load(tmp_path / "evals" / "oracle")
    assert evaluation.documents.select("page_of", "fields", "kinds", "pages", "widgets").rows() == [
        ("f8k8p2wcustomr1", 8, 8, 2, "custom"), ("f8k8p2wnativer1", 8, 8, 2, "native"),
    ]  # fmt: skip
    fields = evaluation.fields.filter(pl.col("gold").is_not_null())
    assert fields.group_by("doc_id").len()["len"].to_list() == [8, 8]
    assert fields["content"].n_unique() == len(KINDS)
    # A list that a script opens, and ticks of which the label alone is seen, have their places.
    assert evaluation.scores.filter(metric="click_accuracy")["value"].min() == 1
    again = invoked(*asked, "--system", "oracle", "--json")
    assert len(json.loads(again.stdout)) == 2 + len(KINDS)
