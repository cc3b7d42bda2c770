"""Who beats whom: identical systems, systems that differ by chance, and systems that differ."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from formlab import analysis
from formlab.analysis.verdicts import _groups, identical, ranks, verdict_sentence, verdicts
from tests.analysis.made_pairs import from_matrix, made
from tests.analysis.test_finding_systems import FEW, noise, pages_alone, with_pages


def judged(*evaluations, reference=""):
    ground = analysis.common(evaluations).evaluations
    matrix = analysis.flip_matrices(ground, reference=reference, **FEW)
    found = analysis.tell_apart(ground, matrix, reference=reference, **FEW)
    table = verdicts(ground, found, reference=reference)
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


def test_chance_is_called_no_difference_with_what_would_have_been_seen():
    pair = from_matrix("m", noise(2, 0.6)), from_matrix("n", noise(3, 0.6))
    table, ranked, sentence = judged(*pair)
    (row,) = table.to_dicts()
    assert (row["verdict"], row["better"]) == ("≈", None)
    assert sentence.startswith("No difference in fields right was shown between m and n: ")
    assert f"about {100 * row['least_difference']:.2g} points would have been seen" in sentence
    assert ranked["groups"].to_list() == [[1], [1]]


def test_the_better_of_two_is_named_with_effect_interval_n_and_p_whatever_their_order():
    good, bad = from_matrix("m", noise(0, 0.85)), from_matrix("n", noise(1, 0.4))
    for pair, sign in (((good, bad), ">"), ((bad, good), "<")):
        table, ranked, sentence = judged(*pair)
        (row,) = table.to_dicts()
        assert (row["verdict"], row["better"]) == (sign, "m")
        gain = noise(0, 0.85).mean() - noise(1, 0.4).mean()
        assert sentence.startswith(
            f"m gets more fields right than n: {100 * noise(0, 0.85).mean():.1f} % against "
            f"{100 * noise(1, 0.4).mean():.1f} % of 160 fields in 20 documents are right "
            f"(difference {100 * gain:.1f} points, 95 % interval "
        )
        assert "; p = 0.001" in sentence
        assert ranked["system"].to_list() == ["m", "n"]
        assert ranked["groups"].to_list() == [[], []]
        assert ranked["value"].to_list() == pytest.approx(
            [noise(0, 0.85).mean(), noise(1, 0.4).mean()]
        )


def test_of_several_systems_each_pair_has_a_verdict_and_the_sentence_names_the_best():
    systems = [from_matrix("m", noise(0, 0.9)), from_matrix("n", noise(1, 0.88))]
    systems += [from_matrix("o", noise(2, 0.3)), from_matrix("p", noise(0, 0.9))]
    table, ranked, sentence = judged(*systems)
    signs = {(row["system_a"], row["system_b"]): row["verdict"] for row in table.to_dicts()}
    assert signs == {
        ("m", "n"): "≈", ("m", "o"): ">", ("m", "p"): "=", ("n", "o"): ">", ("n", "p"): "≈",
        ("o", "p"): "<",
    }  # fmt: skip
    assert set(table["n_tested"]) == {6}
    assert ranked["system"][-1] == "o"
    assert ranked["groups"].to_list() == [[1], [1], [1], []]
    best = ranked["system"][0]
    rest = " and ".join(name for name in ranked["system"].to_list()[1:3])
    assert sentence.startswith(f"{best} gets more fields right than o (by ")
    assert sentence.endswith(f"; no difference from {rest} was shown.")
    first, *_ = judged(*systems, reference="o")
    assert first.select("system_a", "verdict").unique().rows() == [("o", "<")]


def test_groups_are_the_longest_runs_of_which_no_pair_is_apart():
    apart = {frozenset(pair) for pair in ("ac", "ad", "bd")}
    assert _groups("abcd", apart) == [["a", "b"], ["b", "c"], ["c", "d"]]
    assert _groups("abcd", {frozenset("ad")}) == [["a", "b", "c"], ["b", "c", "d"]]
    assert _groups("ab", {frozenset("ab")}) == []


def test_whole_documents_stand_beside_fields_or_alone():
    good, bad = np.full(12, 0.1), np.full(12, 0.6)
    matrix = noise(2, 0.6)[:12]
    pair = with_pages(from_matrix("m", matrix), good), with_pages(from_matrix("n", matrix), bad)
    table, _, sentence = judged(*pair)
    assert table["metric"].to_list() == ["outcome", "cer"]
    assert ". In character error rate (CER) of whole documents m beats n (by 0.500, " in sentence
    table, ranked, sentence = judged(pages_alone("m", bad), pages_alone("n", good))
    assert sentence.startswith("n has the lower character error rate (CER) of whole documents than")
    assert ranked.select("system", "value").rows() == [("n", 0.1), ("m", 0.6)]


def test_one_document_is_no_test_and_nothing_scored_has_a_sentence():
    pair = made("m", [("1", "/a", 1)]), made("n", [("1", "/a", 0)])
    assert "a single document cannot be tested" in judged(*pair)[2] or "p = 1" in judged(*pair)[2]
    empty = verdicts(pair, [])
    assert verdict_sentence(empty, ranks(pair, empty)).startswith("Neither a field nor")
