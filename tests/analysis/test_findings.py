"""The findings of evaluations: plants found at their size, nothing where nothing is, and counts."""

import itertools
import math
import os
import re

import numpy as np
import polars as pl
import pytest

import formlab
from formlab import analysis, tables
from formlab.analysis.slices import SLICES, Weakness, find_slices, slice_cases
from formlab.analysis.summarise import summarise
from formlab.errors import UnknownName
from tests.analysis import planted as plants
from tests.analysis.made_pairs import from_matrix, made, noise, pages_alone, with_pages
from tests.analysis.test_overview import FIELDS as RUN
from tests.analysis.test_overview import evaluation

SEEDS = 20 if os.environ.get("FORMLAB_TESTS") == "all" else 2
# Of 20 seeds so many must show a plant; of few all but one may fail.
PLANTS = {
    "A1": ("field is /order and scanner is B", 16),
    "A2": ("the year is 2016 or later, none of", 18),
    "A3": ("the amount is ", 18),
    "A4": ("3 of 60 documents hold ", 18),
    "A5": ("/items/*/amount and the number of the item is 4 or more", 18),
}
CAUSES = {
    "A2": "errors the date is 1 day early",
    "A3": "a separator was lost",
    "A4": "the answer is another document's",
    "A5": "the answer is from the wrong row",
}
IN_FUNSD = {
    "B1": "stands in the bottom third of the page",
    "B2": "the value has 26 characters or more",
    "B3": "kind is header and the value has all capitals",
}


def least(of_20):
    return of_20 * SEEDS // 20


def shown(*evaluations, most=5):
    return [str(each) for each in analysis.findings(evaluations, resamples=50, most=most)]


@pytest.mark.parametrize("plant", PLANTS)
def test_a_weakness_planted_alone_is_found_with_its_cause_and_nothing_beside_it(plant):
    words, of_20 = PLANTS[plant]
    said = [shown(plants.planted(plant, seed=seed)) for seed in range(SEEDS)]
    alone = [one for (one, *others) in said if not others and words in one]
    assert len(alone) >= least(of_20), said
    assert all(CAUSES.get(plant, "") in one for one in alone)


def test_of_five_weaknesses_at_once_all_five_are_shown():
    said = [shown(plants.planted(*PLANTS, seed=seed)) for seed in range(SEEDS)]
    for words, _ in PLANTS.values():
        assert sum(any(words in one for one in each) for each in said) >= least(14), (words, said)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("plant", IN_FUNSD)
def test_a_weakness_planted_in_real_forms_is_found(plant):
    said = [shown(plants.planted_in_funsd(plant, seed=seed)) for seed in range(SEEDS)]
    assert sum(IN_FUNSD[plant] in each[0] for each in said) >= least(18), said


def test_of_two_systems_the_kind_that_one_reads_worse_is_named():
    said = [shown(*plants.numbers_worse(seed, noise=0.02), most=None) for seed in range(SEEDS)]
    words = "one gets more number values right than two"
    assert sum(any(words in one for one in each) for each in said) >= least(16), said


def test_of_two_systems_a_cause_is_named_if_one_of_them_has_it_more_often():
    gold, columns = plants.forms(0)
    clean = plants.noisy(gold, 0.03, 0)
    cut = {
        key: text[:-2] if key[1] in ("/name", "/street") else text for key, text in clean.items()
    }
    more = plants.noisy(gold, 0.12, 0)
    for answers, cause in ((cut, "the answer is clipped"), (more, None)):
        pair = [plants.scored(gold, of, columns, n) for n, of in (("one", clean), ("two", answers))]
        found = analysis.findings(pair, resamples=50, most=None)
        (claim,) = (str(one) for one in found if " more fields right " in one.claim)
        causes = re.findall("; in [0-9]+ of [0-9]+ errors of two (.*), of one in", claim)
        assert causes == [cause] * bool(cause)


def said(gold, answers):
    """What is found in tables of values by document and path, and the causes of errors."""
    rows = ([{"doc_id": d, "path": p, "value": v} for (d, p), v in each.items()]
            for each in (gold, answers))  # fmt: skip
    scored = formlab.evaluate(*rows)
    return shown(scored, most=None), scored.fields["cause"].drop_nulls().to_list()


@pytest.mark.parametrize("count", [5, 19, 20])
def test_r4_a_field_that_is_wrong_on_every_form_is_named(count):
    gold = {(f"f{i}", f"field{j}"): f"alpha beta {i} {j}" for i in range(count) for j in range(20)}
    given = {k: v.replace("beta", "bexa") if k[1] == "field7" else v for k, v in gold.items()}
    (found,), _ = said(gold, given)
    start = f"Where the field is /field7, none of {count} values is right, 100 % else"
    assert found.startswith(start)


def test_a_field_that_is_never_given_and_values_nobody_asked_for_are_told():
    gold = {(f"f{i}", f"field{j}"): f"alpha {i} {j}" for i in range(12) for j in range(8)}
    given = {k: v for k, v in gold.items() if k[1] != "field3"}
    given |= {("f1", "other"): "x", ("f2", "other"): "y"}
    never, extra = said(gold, given)[0]
    assert never.startswith("answers never gives a value where the field is /field3: all 12, in 12")
    assert extra.startswith("answers gives 2 values that the gold does not have, in 2 of 12 doc")
    assert extra.endswith(": f1 /other, f2 /other")
    # In three documents no test can show it.
    few = {key: value for key, value in gold.items() if key[0] in ("f0", "f1", "f2")}
    (missed,), _ = said(few, {key: few[key] for key in few if key[1] > "field4"})
    assert missed.endswith("(not tested); answers never gives /field0, /field1 and 3 more fields")


FIELDS = [*RUN, ("3", "a", "missing", "bad_json", "bad_json"), ("4", "a", "match", "ok", None)]


def random(seed, *, docs=16, fields=9, name="m", cause=lambda right: None, low=0.3, high=0.9):
    """Fields of three kinds and two modalities; the fields of a document hang together."""
    draw = np.random.default_rng(seed)
    rows = []
    for doc in range(docs):
        ease = draw.uniform(low, high)
        for n in range(fields):
            right = int(draw.random() < ease)
            case = {"kind": "abc"[n % 3], "modality": "xy"[n % 2], "cause": cause(right)}
            rows.append((f"{doc:02}", f"/{n}", right, case))
    return made(name, rows)


def test_counts_say_how_many_values_and_documents():
    several = analysis.findings([evaluation(FIELDS)], most=None)
    found = {one.about: one for one in reversed(several)}
    # Document 3 has no usable answer; the refused value of document 2 stands beside a usable one.
    lost, cause = found["documents"].claim, found["cause"]
    assert lost == "1 of 4 documents has no usable answer, which loses 1 of 7 values"
    told = "2 of 3 wrong fields of usable answers (2 without one), in 1 document: a digit was "
    assert cause.claim == told + "misread (1 /1, 1 /2)"
    assert (cause.effect, cause.n_cases) == (pytest.approx(2 / 7), 2)
    assert cause.cases["path"].to_list() == ["/1", "/2"]


def test_values_typed_into_screens_are_not_looked_for_on_them():
    typed = analysis.open_evaluation(benchmark="formfactory", system="rules(texts=prose)")
    tips = [one.what_to_try for one in analysis.findings([typed], resamples=50)]
    assert "Look whether the system knows the field at all, or its answer breaks off." in tips


# Of a value: outcome, status and cause, and what is said of it beside one that is right.
WRONG = {
    ("missing", "refused", "refused"): "For 1 of 2 values the answer cannot be used (status “ref",
    # What was not given is no answer that cannot be used.
    ("missing", "missing", "missed"): "1 of 1 wrong fields, in 1 document: the value was missed",
    # No count of causes rests on the reading rule or on labels.
    ("mismatch", "ok", "reader"): "",
    ("mismatch", "ok", "label_error"): "",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_one_wrong_value_beside_a_right_one_is_told_by_its_status_or_cause(wrong):
    rows = [("1", "a", "match", "ok", None), ("1", "a", *wrong)]
    found = [str(one) for one in analysis.findings([evaluation(rows)])]
    assert (len(found), "".join(found).startswith(WRONG[wrong])) == (bool(WRONG[wrong]), True)


def test_causes_that_tie_are_not_called_the_largest():
    rows = [("1", "a", "mismatch", "ok", "digit"), ("1", "a", "mismatch", "ok", "case")]
    # Beside another system none of them vanishes.
    right = evaluation([("1", "a", "match", "ok", None)], system="y")
    one, other = analysis.findings([evaluation(rows), right])
    assert other.claim == "1 of 2 wrong fields, in 1 document: a digit was misread (1 /0)"
    assert one.claim.startswith("1 of 2 wrong fields, in 1 document: only the case of letters di")


def test_no_more_than_two_findings_of_one_evaluation_and_most_in_all():
    several = [evaluation(FIELDS, system=name) for name in "abc"]
    assert len(analysis.findings(several, most=None, **FEW_DRAWS)) == 6
    assert len(analysis.findings(several, most=1, **FEW_DRAWS)) == 1
    assert analysis.findings(several, **FEW_DRAWS) == analysis.findings(several, **FEW_DRAWS)


def test_findings_stand_by_the_values_they_surely_concern():
    rows = [("2", "a", "missing", "bad_json", "bad_json")] * 2
    rows += [("1", "a", "mismatch", "ok", "digit")] * 6 + [("1", "a", "spurious", "ok", "spurious")]
    counts = [(one.about, one.at_least) for one in analysis.findings([evaluation(rows)])]
    assert counts == [("documents", 2), ("cause", 6), ("extra", 1)]
    found = analysis.findings([random(0), evaluation(FIELDS)], most=None)
    assert [one.at_least for one in found] == sorted((o.at_least for o in found), reverse=True)
    for one in found:
        assert one.at_least <= one.n_cases + 1e-9
        assert math.isnan(one.ci_low) or one.ci_low <= one.effect <= one.ci_high


def test_systems_of_one_corpus_are_compared_and_others_are_not():
    good, bad = noise(0, 0.9), noise(1, 0.4)
    for other, claims in ((bad, ["m gets more fields right than n"]), (bad[:10], [])):
        found = analysis.findings([from_matrix("m", good), from_matrix("n", other)], most=None)
        told = [(one.claim[:31], one.system) for one in found if one.about == "systems"]
        assert told == [(claim, "m, n") for claim in claims]


def test_pages_of_a_parser_have_findings_though_no_field_was_scored():
    one = pages_alone("parser", [0.9] * 12 + [0.1] * 38)
    (found,) = analysis.findings([one])
    # Each page is one character against a hundred: less than half of its text.
    assert found.claim == (
        "12 of 50 pages have a CER of at least 0.5; the mean is 0.292; at least half of the text "
        "is missing from 12 of them"
    )
    assert analysis.runs([one])["page_cer"].to_list() == [pytest.approx(0.292)]
    assert analysis.findings([pages_alone("parser", [0.1] * 9)]) == []


def test_bad_pages_concern_the_values_that_are_wrong_on_them_and_no_others():
    # Every page has a CER of 0.9, and of its ten values one is wrong, the same share on each.
    rows = [(f"{doc:02}", f"/{n}", int(n > 0), {}) for doc in range(6) for n in range(10)]
    one = with_pages(made("m", rows), [0.9] * 6)
    found = {each.about: each for each in analysis.findings([one], most=None)}
    assert found["pages"].at_least == pytest.approx(6)


def test_nothing_and_one_document_are_no_error():
    assert analysis.findings([]) == []
    assert analysis.findings([evaluation([("1", "a", "match", "ok", None)])]) == []
    (lone,) = analysis.findings([evaluation([("1", "a", "missing", "missing", "missed")])])
    assert lone.about == "documents"
    assert math.isnan(lone.ci_low)
    empty = made("m", [], documents=["1"])
    assert analysis.findings([empty, empty]) == []
    assert tables.check("cases", empty.cases).height == 0


FEW_DRAWS = {"resamples": 50}


def forms_of_kinds(documents, fields, *, rate=0.3, seed=0, planted=0.0, name="m", spread=0.0):
    """Fields of random kind, subtype and page; wrong at `rate`, more so where a slice is planted.

    The planted slice is kind=k1 & subtype=s1. `spread` lets whole documents be better or worse.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for d in range(documents):
        own = generator.normal(0, spread)
        for f in range(fields):
            kind, subtype, page = (int(x) for x in generator.integers((3, 3, 2)))
            bad = rate + own + (planted if (kind, subtype) == (1, 1) else 0)
            right = int(generator.uniform() >= bad)
            labels = {"kind": f"k{kind}", "subtype": f"s{subtype}", "page": page}
            rows.append((f"{d:03}", f"/{f}", right, labels))
    return made(name, rows)


def test_values_counts_and_interval_equal_a_plain_count_and_the_summary():
    one = forms_of_kinds(60, 20, planted=0.5)
    row = find_slices(one, columns=["kind", "subtype"]).row(0, named=True)
    inside = (pl.col("kind") == "k1") & (pl.col("subtype") == "s1")
    cases = one.cases.with_columns((pl.col("outcome") == "match").alias("right"))
    part, rest = cases.filter(inside), cases.filter(~inside)
    assert (row["n_cases"], row["n_docs"]) == (part.height, part["doc_id"].n_unique())
    assert slice_cases(one, row, wrong=False).height == part.height
    assert row["value"] == pytest.approx(part["right"].mean())
    assert row["rest"] == pytest.approx(rest["right"].mean())
    assert row["excess"] == pytest.approx(abs(row["difference"]) * part.height)
    assert row["difference_low"] < row["difference"] < row["difference_high"] < 0
    single = find_slices(one, columns=["kind"]).filter(pl.col("slice_value") == ["k1"])
    summary = summarise(one, average="pooled").filter(
        metric="normalised_accuracy", slice_value="k1"
    )
    for name in ("value", "ci_low", "ci_high"):
        assert single[name].item() == pytest.approx(summary[name].item())


def test_few_documents_that_fail_alike_are_no_proof():
    # Of eight documents of one kind two fail; in others all four fields of a kind fail together.
    for kind_of in (lambda d, f: d < 8, lambda d, f: f < 4):
        rows = [
            (f"{d:02}", f"/{f}", int(d > 1 or not kind_of(d, f)), {"kind": f"k{kind_of(d, f)}"})
            for d in range(30) for f in range(8)
        ]  # fmt: skip
        assert find_slices(made("m", rows), columns=["kind"]).height == 0


def test_every_conjunction_with_support_is_tried_once():
    one = forms_of_kinds(30, 12)
    found = find_slices(one, columns=["kind", "subtype"], alpha=1.0)
    expected = 1  # The documents that are mostly wrong.
    for size in (1, 2):
        for names in itertools.combinations(["kind", "subtype"], size):
            groups = one.cases.group_by(names).agg(pl.len(), pl.col("doc_id").n_unique())
            expected += groups.filter(pl.col("len") >= 5, pl.col("doc_id") >= 3).height
    assert found["n_tested"].max() == expected


def test_columns_that_hold_the_same_fields_are_one_slice():
    one = forms_of_kinds(60, 20, planted=0.6)
    twin = one.cases.with_columns(pl.col("subtype").alias("modality"))
    object.__setattr__(one, "cases", twin)
    found = find_slices(one, columns=["kind", "subtype", "modality"])
    assert found["slice_value"][0].to_list() == ["k1", "s1"]
    assert not found.filter(pl.col("slice_by").list.contains("modality")).height


def test_each_system_is_searched_alone_and_by_no_column_that_follows_from_the_error():
    bad, good = forms_of_kinds(60, 20, planted=0.5), forms_of_kinds(60, 20, name="n", seed=9)
    found = find_slices([good, bad], columns=["kind", "subtype"])
    assert (set(found["system"]), dict(found.schema)) == ({"m"}, SLICES)
    with pytest.raises(UnknownName, match="column to search slices in 'cause'"):
        find_slices(good, columns=["kind", "cause"])


@pytest.mark.parametrize("cause", ["reader", "label_error"])
def test_no_slice_rests_on_the_reading_rule_or_on_labels(cause):
    # Kind k1 fails in every document, and only by such cases.
    rows = [
        (f"{d:02}", f"/{n}", int(n % 3 != 1), {"kind": f"k{n % 3}", "cause": None})
        for d in range(20) for n in range(9)
    ]  # fmt: skip
    plain = made("m", rows)
    assert find_slices(plain, columns=["kind"], **FEW_DRAWS)["slice_value"].to_list() == [["k1"]]
    wrong = pl.when(pl.col("outcome") != "match").then(pl.lit(cause)).alias("cause")
    odd = type(plain)(**vars(plain) | {"cases": plain.cases.with_columns(wrong)})
    assert find_slices(odd, columns=["kind"], **FEW_DRAWS).height == 0


def test_one_character_is_said_in_the_singular():
    weakness = Weakness(("length",), ("at least 1",), np.ones(1, bool), 0.0, 0.0, 1)
    assert weakness.name == "the value has 1 character or more"
