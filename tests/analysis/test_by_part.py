"""What looks at cases says the same of an evaluation in one piece and of its parts."""

from functools import cache

import polars as pl
import pytest

from formlab import analysis, charts, explore, gallery
from formlab.analysis.compare import flips
from formlab.analysis.finding import finding_table
from formlab.analysis.overview import answers, failures, runs, select, worst_pages
from formlab_arena import click_and_value, loss_stages, misses, propagation
from tests.analysis.made_pairs import in_parts
from tests.analysis.test_findings import random
from tests.made_parts import cut, only

FEW = {"resamples": 20}
KEY = ("doc_id", "task", "level", "path", "pred_path", "gold", "pred")


def listed(evaluation):
    """The findings with the cases behind them."""
    found = analysis.findings([evaluation], most=None, resamples=20)
    return [*finding_table(found).rows(), *(row for each in found for row in each.cases.rows())]


SAME = {
    # The many kinds of VRDU would take most of the time of these tests.
    "findings": lambda e: listed(e) if e.benchmark != "vrdu" else 0,
    "first screen": lambda e: str(charts.first_screen(e)),
    "slices": lambda e: analysis.find_slices(e, alpha=1, **FEW),
    "runs": lambda e: [runs([e]).rows(), answers([e]).rows(), failures(e)],
    "faults": lambda e: [propagation(e, required=False), loss_stages(e, required=False)],
    "clicks": lambda e: [click_and_value(e), misses(e)],
    "pages": lambda e: worst_pages(e, limit=None),
    "selected": lambda e: select(e, "outcome=mismatch").sort(KEY),
    "rates": lambda e: explore.rates(e, by="outcome", measure="errors", resamples=20),
    "cases": lambda e: explore.cases(e, "outcome=mismatch").sort(KEY),
}
# What takes long is asked for once; made-up documents are cut in more ways below.
SIZES = {"findings": (3,), "slices": (3,)}


@cache
def first(benchmark):
    """Four documents of a sample."""
    systems = {"vrdu": "rules", "formfactory": "rules"}
    sample = analysis.open_evaluation(benchmark=benchmark, system=systems.get(benchmark, "ocr"))
    return only(sample, sample.documents["doc_id"].head(4))


def text(result):
    """A result as text that shows every digit."""
    if isinstance(result, pl.DataFrame):
        return repr(result.rows())
    return "\n".join(map(text, result)) if isinstance(result, list) else repr(result)


@pytest.mark.parametrize("what", SAME)
@pytest.mark.parametrize("name", ["funsd", "vrdu", "fincriticaled", "formfactory"])
def test_parts_say_what_the_whole_says(what, name):
    whole = first(name)
    expected = text(SAME[what](whole))
    for size in SIZES.get(what, (1, 3)):
        assert text(SAME[what](cut(whole, size))) == expected


@pytest.mark.parametrize(("name", "size"), [("formcraft", 3), ("funsd", 1)])
def test_gallery_and_explorer_of_parts_show_the_same_cases(name, size):
    # Without page images, which take most of the time to cut.
    whole = first(name).changed(root=None)
    found = analysis.findings([whole], resamples=20)
    expected = gallery.errors(whole.cases, of=whole, findings=found, most=7)
    assert gallery.errors(whole, findings=found, most=7).payload == expected.payload
    shown = gallery.errors(cut(whole, size), findings=found, most=7)
    names = ("total", "asked", "claims")
    assert [getattr(shown, n) for n in names] == [getattr(expected, n) for n in names]
    assert {case["key"] for case in shown.cases} == {case["key"] for case in expected.cases}
    shown = [explore.Explorer([e], most=9).payload["gallery"] for e in (whole, cut(whole, size))]
    keys = [sorted(case["key"] for case in each["cases"]) for each in shown]
    assert keys[0] == keys[1]


def test_sample_of_errors_is_of_keys_and_each_cause_in_proportion():
    whole = random(1, docs=30, cause=lambda right: None if right else "digit")
    mixed = in_parts(whole, 4, seed=3)
    first, second = (
        {case["key"] for case in gallery.errors(each, most=20).cases} for each in (whole, mixed)
    )
    assert first == second
    assert len(first) == 20


def test_parts_and_order_of_documents_change_no_slice_and_no_finding():
    whole = random(2, docs=40, fields=12, low=0.2)
    wrong = pl.col("kind") == "a"
    right = pl.when(wrong).then(pl.lit("mismatch")).otherwise("outcome").alias("outcome")
    whole = whole.changed({"cases": lambda e: e.cases.with_columns(right)}, scores=whole.scores)
    expected = [text(SAME[what](whole)) for what in ("slices", "findings")]
    for count in (1, 7):
        mixed = in_parts(whole, count, seed=count)
        assert [text(SAME[what](mixed)) for what in ("slices", "findings")] == expected
    assert analysis.find_slices(whole)["slice_value"][0].to_list() == ["a"]


@pytest.mark.parametrize("sizes", [(1, 4), (100, 2)])
def test_flips_of_two_systems_whose_parts_differ(sizes):
    pair = [random(3, docs=8), random(4, docs=8, name="n")]
    expected = flips(*pair)
    own = [cut(each, size) for each, size in zip(pair, sizes, strict=True)]
    assert text(flips(*own)) == text(expected)
    draws = {"resamples": 20, "permutations": 50, "by": ["kind"], "metric": "outcome"}
    assert text(analysis.compare(own, **draws)) == text(analysis.compare(pair, **draws))
    several = [analysis.findings(each, resamples=20) for each in (pair, own)]
    assert finding_table(several[0]).rows() == finding_table(several[1]).rows()
