"""Claims: one share right, one p, no untrue power, and nothing found where there is only chance."""

import re

import polars as pl

import formlab
from formlab import analysis
from formlab_experiments import leaning_findings


def forms(count, wrong="", of=16):
    texts = {n: ("beta", "bexa") if n < count else ("beta", "beta") for n in range(of)}
    return {f"f{n}": {f: f"{texts[n][f in wrong]} {n}" for f in "abcd"} for n in texts}


def compared(*systems):
    """What report 80 is made of: the matrix of fields, findings, verdicts, ranks, the sentence."""
    systems = analysis.common(systems).evaluations
    matrix = formlab.compare(systems, metric="outcome")
    verdicts = analysis.verdicts(systems)
    found = analysis.tell_apart(systems, verdicts)
    ranks = analysis.ranks(systems, verdicts)
    return matrix, found, verdicts, ranks, analysis.verdict_sentence(verdicts, ranks)


def test_n2_the_share_right_is_the_same_beside_any_other_system():
    gold = {"a": {"x": "1"}, "b": {"x": "2"}}
    invented = gold | {"a": {"x": "1", "y": "z"}}
    answers = gold, invented, invented | {"b": {"x": "9", "w": "q"}}
    first, second, third = systems = [formlab.evaluate(gold, each) for each in answers]
    # Of two gold values the first two systems have both right, the third has one.
    for other, share in ((first, 1.0), (third, 0.5)):
        matrix = formlab.compare([other, second], metric=["outcome", "exact_accuracy"])
        assert set(matrix.select("value_a", "value_b").rows()) == {(share, 1.0)}
        assert sorted(compared(other, second)[3]["value"]) == [share, 1.0]
    runs = analysis.history(systems, resamples=50).filter(metric="outcome")
    assert runs.select("value", "difference").rows() == [(1, None), (1, 0), (0.5, -0.5)]


def test_n3_a_comparison_has_one_p_one_verdict_and_one_sign_wherever_it_is_quoted():
    systems = [formlab.evaluate(forms(0), forms(*each)) for each in ((0,), (6, "a"), (16, "bc"))]
    matrix, found, verdicts, _, sentence = compared(*systems)
    # Of 2^6 swaps two are as extreme; of the other pairs p is by chance, which Holm counts thrice.
    assert matrix["p_holm"].to_list() == [2 / 2**6, *[3 * matrix["p"].min()] * 2]
    frames = matrix, verdicts, formlab.compare(systems, metric=["cer", "outcome"]).head(3)
    listed = {each.systems: each for each in analysis.findings(systems, most=None)}
    for row, verdict, other, finding in zip(*(f.to_dicts() for f in frames), found, strict=True):
        again = listed.get(finding.systems, finding).p_adjusted, finding.p_adjusted
        assert {verdict["p_holm"], other["p_holm"], *again} == {row["p_holm"]}
        assert verdict["better"] == row["better"] == other["better"]
        assert finding.holds == (finding.systems in listed) == (row["better"] is not None)
    for rows in (matrix, formlab.compare(systems), formlab.compare(systems[:2], by=["path"])):
        for row in rows.filter(pl.col("p").is_not_nan()).to_dicts():
            shown = max(row["ci_low"], -row["ci_high"]) > 0 and row["p_holm"] <= 0.05
            ahead = row["system_a"] if row["difference"] > 0 else row["system_b"]
            assert row["better"] == (ahead if shown else None)
    assert verdicts["difference"][1] == 32 / 64  # "by 50.0 points" in the sentence, who is said
    assert not re.findall("[+−][0-9]", sentence + compared(*systems[::2])[4])
    assert matrix["p"][1] in analysis.history(systems[::2]).filter(metric="outcome")["p_adjusted"]


def test_n4_with_too_few_documents_nothing_is_said_to_be_detectable():
    for count, few in ((2, True), (5, True), (6, False)):
        pair = [formlab.evaluate(forms(0, of=count), forms(n, "abcd", count)) for n in (0, count)]
        row = formlab.compare(pair, metric="match_accuracy").to_dicts()[0]
        # Of 2^n swaps two are as extreme: 2/2^5 is above 0.05 and 2/2^6 is not.
        assert (row["difference"], row["p"], row["better"] is None) == (1, 2 / 2**count, few)
        assert row["least_difference"] != row["least_difference"]  # undefined
        assert (" 6 are" in compared(*pair)[4]) == few


def test_n6_no_advice_on_pages_without_pages_and_no_tendency_below_five_cases():
    gold = forms(0) | {"g": {"code": "A71", "due": "2016-01-13", "sum": "1,200.50", "x": "rn"}}
    slips = {"g": {"code": "A17", "due": "2016-01-18", "sum": "120050", "x": "m"}}
    for count, wrong, often in ((1, "abcd", False), (2, "abc", False), (3, "ab", True)):
        found = analysis.findings([formlab.evaluate(gold, forms(count, wrong) | slips)])
        assert any("ften" in each.claim for each in found) == often
        assert not any(re.search("page|crop|image|scan", each.what_to_try) for each in found)


def test_n7_chance_is_no_weakness_of_a_kind_and_a_weak_kind_is_found():
    # 10 of 240 texts and none of 60 ticks: Fisher's p is 0.2. 20 of 60 ticks are weak.
    for texts, ticks in ((10, 0), (0, 20)):
        gold, given = forms(0, of=60), forms(texts, "a", of=60)
        for n, name in enumerate(gold):
            gold[name]["tick"] = ["yes", "no"][n % 2]
            given[name]["tick"] = "bexa" if n < ticks else gold[name]["tick"]
        found = analysis.findings([formlab.evaluate(gold, given)], most=None)
        assert [bool(re.search("tick|checkbox", each.claim)) for each in found] == [ticks > 0]


def test_n7_a_system_that_reads_nothing_follows_the_prior():
    for says in (*(followed := ("evidence", "ink", "prior")), None):
        # On the first two copies ink or evidence is the prior, and so they count as ink.
        given = [("source", "ink"), ("dependent", "ink"), ("contradicted", says)]
        rows = [(n, change, said or followed[n % 3]) for n in range(12) for change, said in given]
        answers = pl.DataFrame(rows, ["page_of", "change", "follows"], orient="row")
        (found,) = leaning_findings(answers.with_columns(system=pl.lit("s"), asked=pl.lit("field")))
        assert (f"follows the {says}" in found.claim) == found.holds == (says is not None)
