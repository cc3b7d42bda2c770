"""Who beats whom: identical systems, systems that differ by chance, and systems that differ."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from formlab import analysis, charts
from formlab.analysis.compare import COMPARISON
from formlab.analysis.findings import tell_apart
from formlab.analysis.verdicts import identical, ranks, verdict_sentence, verdicts
from formlab.errors import DataBroken, UnknownName
from tests.analysis.made_pairs import from_matrix, made, noise, pages_alone, with_pages

FEW = {"resamples": 200, "permutations": 999}


def judged(*evaluations, reference=""):
    ground = analysis.common(evaluations).evaluations
    table = verdicts(ground, reference=reference, **FEW)
    ranked = ranks(ground, table, resamples=FEW["resamples"])
    return table, ranked, verdict_sentence(table, ranked)


def test_identical_systems_are_said_to_be_identical():
    table, _, sentence = judged(from_matrix("m", noise(0, 0.6)), from_matrix("n", noise(0, 0.6)))
    assert table["verdict"].to_list() == ["="]
    assert sentence == (
        "m and n are identical: every answer is the same (160 fields in 20 documents)."
    )
    three = [from_matrix(name, noise(0, 0.6)) for name in "mno"]
    assert judged(*three)[2].startswith("m, n and o are identical: every answer is the same")


def test_other_answers_that_are_as_wrong_are_no_identity():
    first, second = from_matrix("m", noise(0, 0.6)), from_matrix("n", noise(0, 0.6))
    other = second.cases.with_columns(pred=pl.col("pred").replace("?", "!"))
    second = dataclasses.replace(second, cases=other)
    assert not identical(first, second)
    table, _, sentence = judged(first, second)
    assert table["verdict"].to_list() == ["≈"]
    assert sentence.startswith("No difference in fields right was shown between m and n: ")


def test_whole_documents_stand_beside_fields_or_alone_with_the_p_that_compare_has():
    draw = np.random.default_rng(1)
    good, matrix = draw.uniform(0.05, 0.15, 12), noise(2, 0.6)[:12]
    bad = good + 0.5
    pair = with_pages(from_matrix("m", matrix), good), with_pages(from_matrix("n", matrix), bad)
    table, _, sentence = judged(*pair)
    assert table["metric"].to_list() == ["outcome", "cer"]
    assert ". m has the lower character error rate (CER) of whole documents" in sentence
    fields, pages = sorted(told(*pair), key=lambda one: "CER" in one.claim)
    rows = analysis.compare(pair, metric="cer", average="pooled", **FEW).filter(level="page")
    assert (fields.n_tested, pages.n_tested, pages.p_adjusted) == (1, 1, rows["p_holm"].item())
    pair = pages_alone("m", bad), pages_alone("n", good)
    table, ranked, sentence = judged(*pair)
    claim = "n has the lower character error rate (CER) of whole documents than"
    assert sentence.startswith(claim)
    assert ranked["system"].to_list() == ["n", "m"]
    (one,) = told(*pair)
    assert one.claim.startswith(claim)
    assert f"{good.mean():.3f} against {bad.mean():.3f} over 12 documents" in one.claim
    (same,) = told(pair[0], pages_alone("n", bad))
    assert same.claim.startswith("m and n are identical: every answer is the same (12 documents)")
    assert not same.holds


def test_one_document_is_no_test_and_nothing_scored_has_a_sentence():
    pair = made("m", [("1", "/a", 1)]), made("n", [("1", "/a", 0)])
    assert "a single document cannot be tested" in judged(*pair)[2] or "p = 1" in judged(*pair)[2]
    empty = pl.DataFrame(schema=COMPARISON | {"verdict": pl.String})
    assert verdict_sentence(empty, ranks(pair, empty)).startswith("Neither a field nor")


def told(*evaluations):
    ground = analysis.common(evaluations).evaluations
    return tell_apart(ground, verdicts(ground, **FEW))


def test_the_sentence_of_several_systems_names_the_best_and_from_whom_it_is_not_told_apart():
    rates = {"m": 0.9, "n": 0.88, "o": 0.3}
    systems = [from_matrix(name, noise(n, rate)) for n, (name, rate) in enumerate(rates.items())]
    _, ranked, sentence = judged(*systems)
    best, other, last = ranked["system"]
    assert (last, ranked["groups"].to_list()) == ("o", [[1], [1], []])
    assert sentence.startswith(f"{best} gets more fields right than o (by ")
    assert sentence.endswith(f"; no difference from {other} was shown.")


@pytest.mark.parametrize("cause", ["reader", "label_error"])
def test_no_verdict_rests_on_the_reading_rule_or_on_labels(cause):
    # Of each document two fields are right with n alone, and both are such cases of m.
    rows = [
        (f"{doc:02}", f"/{n}", int(n > 1), {"cause": cause if n < 2 else None})
        for doc in range(20) for n in range(6)
    ]  # fmt: skip
    first = made("m", rows)
    second = made("n", [(doc, path, 1) for doc, path, *_ in rows])
    (one,) = told(first, second)
    assert one.p < 0.01
    assert not one.holds
    assert one.claim.startswith("No difference in fields right was shown")
    runs = analysis.history([first, second], **FEW).filter(metric="outcome", run="run 2")
    assert (runs["verdict"][0], runs["p_adjusted"][0]) == ("not shown", one.p_adjusted)
    sound = first.cases.with_columns(pl.lit("digit").alias("cause"))
    (held,) = told(dataclasses.replace(first, cases=sound), second)
    assert held.holds


def test_a_verdict_that_depends_on_the_reading_rule_says_so():
    good, bad = from_matrix("m", noise(0, 0.85)), from_matrix("n", noise(1, 0.4))
    ground = analysis.common([good, bad]).evaluations
    unsure = {"rules": pl.lit("depends"), "better": pl.lit(None, pl.String)}
    (one,) = tell_apart(ground, verdicts(ground, **FEW).with_columns(**unsure))
    assert not one.holds
    assert one.claim.startswith("No difference in fields right was shown")
    assert "depends on the rule by which words go to fields" in one.claim


METRIC = "normalised_accuracy"


@pytest.fixture(scope="module")
def rows():
    """Twelve forms of four fields: `good` and `twin` are nearly alike, `bad` reads nothing."""
    right = np.ones((12, 4), dtype=int)
    twin = right.copy()
    twin[0, 0] = 0
    systems = {"good": right, "twin": twin, "bad": np.zeros_like(right)}
    made_of = [from_matrix(name, matrix) for name, matrix in systems.items()]
    return analysis.side_by_side(
        made_of, [METRIC], average="pooled", resamples=200, permutations=999
    )


def test_only_what_is_shown_to_be_worse_loses_its_mark(rows):
    assert dict(rows.select("system", "mark").rows()) == {
        "good": "best", "twin": "near", "bad": "worse",
    }  # fmt: skip
    values = dict(rows.select("system", "value").rows())
    assert values == {"good": 1, "twin": pytest.approx(47 / 48), "bad": 0}


def test_papers_table_has_own_rows_first_and_published_ones_in_another_style(rows):
    printed = pl.DataFrame({"system": ["GPT-5"], "metric": [METRIC], "value": [0.5]})
    table = charts.paper_table(rows, printed, {METRIC: "right"}, digits=2)
    assert table.frame["system"].to_list() == [
        "good", "twin", "bad", "GPT-5 (published)", "metric", "average",
    ]  # fmt: skip
    *own, theirs, metric, average = table.frame[METRIC]
    assert (theirs, metric, average) == ("0.50", METRIC, "pooled")
    # Twelve documents of four values.
    shares = [(text[:15], text.endswith("≈")) for text in own]
    assert shares == [
        (f"{value} (n = 48) [", value == "0.98") for value in ("1.00", "0.98", "0.00")
    ]
    payload = table.payload
    assert (payload["aside"], payload["bold"]) == ([3, 4, 5], [[0, 1]])
    assert "no difference from the best was shown" in payload["note"]
    assert table._repr_mimebundle_()["text/html"].count('<tr class="aside">') == 3
    # A value that no test compared is marked as such.
    own = pl.DataFrame({
        "system": ["m", "n", "o"], "metric": ["cer"] * 3, "value": [0.1, 0.2, math.nan],
        "ci_low": [None] * 3, "ci_high": [None] * 3, "mark": ["best", None, None],
    })  # fmt: skip
    untested = charts.paper_table(own, own.clear(), {"cer": "CER"}, digits=1)
    assert untested.frame["cer"].to_list() == ["0.1", "0.2 °", "–", "cer", "pooled"]
    assert "°: not tested against the best" in untested.data["note"]


def test_systems_are_marked_only_where_they_were_scored_on_the_same():
    """`c` has another metric than `a` and `b`; equal systems are both best, one alone is none."""
    cells, how = [(str(n), "/a", 1) for n in range(8)], {"average": "pooled", "permutations": 999}
    a, b = made("a", cells), made("b", [(doc, path, 0) for doc, path, _ in cells])
    c = made("c", cells)
    c = dataclasses.replace(c, scores=c.scores.with_columns(metric=pl.lit("fuzzy_accuracy")))
    table = analysis.side_by_side([a, b, c], resamples=99, **how)
    marks = dict(table.filter(metric=METRIC).select("system", "mark").rows())
    assert marks == {"a": "best", "b": "worse"}
    assert table.filter(metric="fuzzy_accuracy", system="c")["mark"].to_list() == [None]
    for systems, marks in (([a, made("n", cells)], ["best", "best"]), ([a], [None])):
        table = analysis.side_by_side(systems, [METRIC], resamples=0, **how)
        assert table["mark"].to_list() == marks
    assert not analysis.side_by_side([a], ["bleu"], resamples=0).height
    with pytest.raises(UnknownName, match="bleu_of_nothing"):
        analysis.side_by_side([a], ["bleu_of_nothing"], resamples=0)
    with pytest.raises(DataBroken, match="cannot be compared"):
        analysis.side_by_side([a, made("n", [("x", "/a", 1)])], resamples=0)
